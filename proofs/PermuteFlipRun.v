(* Permute-and-flip: Theorem 53 (i), the largest of s_i + Exp(1) has the distribution pf of PermuteFlip.v; and (ii),
   so has the algorithm "visit the candidates in random order, accept i with probability p_i, stop at the first
   acceptance", written as a recursion over the set of those not yet visited. (iii), eps-DP, is in PermuteFlip.v;
   (iv), that it is not of bounded range, with the numbers of two candidates. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Shifting Canonical Race RaceTotal OneShot PermuteFlip.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma RInt_bigsum (I : Type) (l : seq I) (f : I -> R -> R) a b : (forall i t, continuous (f i) t) ->
  (forall t, continuous (fun t => \big[Rplus/0]_(i <- l) f i t) t) /\
  RInt (fun t => \big[Rplus/0]_(i <- l) f i t) a b = \big[Rplus/0]_(i <- l) RInt (f i) a b.
Proof.
move=> cf; elim: l => [|i l [C E]].
  split=> [t|]; first by apply: (continuous_ext (fun _ => 0)); [move=> y; rewrite big_nil | exact: continuous_const].
  rewrite big_nil (RInt_ext _ (fun _ => 0)); last by move=> z _; rewrite big_nil.
  by rewrite RInt_const /scal /= /mult /=; ring.
have ext t : f i t + \big[Rplus/0]_(i0 <- l) f i0 t = \big[Rplus/0]_(i0 <- i :: l) f i0 t by rewrite big_cons.
split=> [t|].
  by apply: (continuous_ext _ _ _ ext); apply: (continuous_plus (V := R_NormedModule)) => //; exact: cf.
rewrite big_cons -E -(RInt_ext _ _ _ _ (fun t _ => ext t)).
rewrite (RInt_plus (V := R_CompleteNormedModule)) //; apply: ex_RInt_continuous => z _; [exact: cf | exact: C].
Qed.

Section Run.
Variable T : finType.
Implicit Types (p : T -> R) (A S : {set T}).
Definition phi p A (t : R) := \big[Rmult/1]_(j in A) (1 - p j * t).
Lemma phi_cont p A t : continuous (phi p A) t. Proof. exact: prod_cont. Qed.
Lemma phi_int p A a b : ex_RInt (phi p A) a b.
Proof. by apply: ex_RInt_continuous => z _; exact: phi_cont. Qed.
Lemma phi_split p A j t : j \in A -> phi p A t = (1 - p j * t) * phi p (A :\ j) t.
Proof.
by move=> jA; rewrite /phi (bigD1 j) //=; congr (_ * _); apply: eq_bigl => i; rewrite !inE andbC.
Qed.
Lemma phi_derive p A t : is_derive (phi p A) t (- \rsum_(i in A) p i * phi p (A :\ i) t).
Proof.
have := @prod_derive T p (enum A) t (enum_uniq _).
rewrite big_enum; have -> : \rsum_(i in A) p i * phi p (A :\ i) t =
    \rsum_(i in A) (p i * \big[Rmult/1]_(j <- enum A | j != i) (1 - p j * t)).
  apply: eq_bigr => i iA; congr (_ * _); rewrite /phi -[RHS]big_filter -(big_filter _ (mem (A :\ i))).
  apply: perm_big; apply: uniq_perm; try exact/filter_uniq/enum_uniq; first exact/filter_uniq/index_enum_uniq.
  by move=> j; rewrite mem_filter mem_index_enum [in RHS]mem_filter mem_enum !inE andbT.
by apply: is_derive_ext => z; rewrite /phi big_enum.
Qed.
Lemma phi_recursion p A :
  INR #|A|.+1 * RInt (phi p A) 0 1 = 1 + \rsum_(j in A) (1 - p j) * RInt (phi p (A :\ j)) 0 1.
Proof.
pose F t := (t - 1) * phi p A t.
pose D t := phi p A t + \big[Rplus/0]_(j <- enum A) (phi p A t - (1 - p j) * phi p (A :\ j) t).
have cj j t : continuous (fun t => phi p A t - (1 - p j) * phi p (A :\ j) t) t.
  apply: (continuous_minus (phi p A)); first exact: phi_cont.
  by apply: (continuous_mult (fun _ => 1 - p j)); [exact: continuous_const | exact: phi_cont].
have [cs es] := RInt_bigsum (enum A) 0 1 cj.
have dF t : is_derive F t (D t).
  have d1 : is_derive (fun t => t - 1) t 1 by auto_derive => //; ring.
  have := is_derive_mult _ _ _ _ _ d1 (phi_derive p A t) Rmult_comm.
  rewrite /plus /mult /= Rmult_1_l; congr (is_derive _ _ _); rewrite /D; congr (_ + _).
  have -> : (t - 1) * - (\rsum_(i in A) p i * phi p (A :\ i) t) = (1 - t) * (\rsum_(i in A) p i * phi p (A :\ i) t) by
    ring.
  by rewrite -rsum_scale big_enum; apply: eq_bigr => j jA; rewrite (phi_split p t jA); ring.
have one : RInt D 0 1 = 1.
  have e : minus (F 1) (F 0) = 1.
    rewrite /minus /plus /opp /= /F; have -> : phi p A 0 = 1 by rewrite /phi big1 // => j _; ring.
    by ring.
  rewrite -[RHS]e; apply: is_RInt_unique; apply: (is_RInt_derive F D) => z _; first exact: dF.
  by apply: (continuous_plus (V := R_NormedModule)); [exact: phi_cont | exact: cs].
have ij j : RInt (fun t => phi p A t - (1 - p j) * phi p (A :\ j) t) 0 1 = RInt (phi p A) 0 1 - (1 - p j) * RInt (phi
  p (A :\ j)) 0 1.
  have es' : ex_RInt (fun t => (1 - p j) * phi p (A :\ j) t) 0 1.
    by apply: ex_RInt_continuous => z _; apply: (continuous_mult (fun _ => 1 - p j)); [exact:
      continuous_const | exact: phi_cont].
  rewrite (RInt_minus (V := R_CompleteNormedModule)) //; last exact: phi_int.
  by rewrite /minus /plus /opp /= (RInt_scal (V := R_CompleteNormedModule)) //; exact: phi_int.
have total : RInt D 0 1 = RInt (phi p A) 0 1 + \rsum_(j in A) (RInt (phi p A) 0 1 - (1 - p j) * RInt (phi p (A :\ j))
  0 1).
  rewrite /D (RInt_plus (V := R_CompleteNormedModule)); [|exact: phi_int|by apply: ex_RInt_continuous => z _; exact:
    cs].
  by rewrite es big_enum /plus /=; congr (_ + _); apply: eq_bigr => j _; exact: ij.
have spread : \rsum_(j in A) (RInt (phi p A) 0 1 - (1 - p j) * RInt (phi p (A :\ j)) 0 1) =
    INR #|A| * RInt (phi p A) 0 1 - \rsum_(j in A) (1 - p j) * RInt (phi p (A :\ j)) 0 1.
  have -> : INR #|A| * RInt (phi p A) 0 1 = \rsum_(j in A) RInt (phi p A) 0 1.
    rewrite big_const; elim: #|A| => [|n IH]; first by rewrite /=; ring.
    by rewrite iterS -IH S_INR; ring.
  rewrite -big_enum -[X in _ = X - _]big_enum -[X in _ = _ - X]big_enum /=.
  elim: (enum A) => [|j l IH]; first by rewrite !big_nil; ring.
  by rewrite !big_cons IH; ring.
by rewrite S_INR; rewrite total spread in one; lra.
Qed.

(* the probability that i is accepted, S not yet visited; n bounds #|S| *)
Fixpoint run p n S (i : T) : R :=
  if n is n'.+1 then / INR #|S| * (p i + \rsum_(j in S :\ i) (1 - p j) * run p n' (S :\ j) i) else 0.
Lemma run_integral p n S i : #|S| = n -> i \in S -> run p n S i = p i * RInt (phi p (S :\ i)) 0 1.
Proof.
elim: n S => [S c iS|n IH S c iS]; first by move: iS; rewrite (cards0_eq c) inE.
have cA : #|S :\ i| = n by have := cardsD1 i S; rewrite iS c => -[].
have n0 : INR #|S| <> 0 by rewrite c; exact: not_0_INR.
apply: (Rmult_eq_reg_l (INR #|S|)) => //; rewrite /= -Rmult_assoc Rinv_r // Rmult_1_l.
have -> : INR #|S| * (p i * RInt (phi p (S :\ i)) 0 1) = p i * (INR #|S :\ i|.+1 * RInt (phi p (S :\ i)) 0 1) by
  rewrite cA c; ring.
rewrite phi_recursion Rmult_plus_distr_l Rmult_1_r -rsum_scale; congr (_ + _); apply: eq_bigr => j; rewrite !inE =>
  /andP [ji jS].
rewrite IH; [|by have := cardsD1 j S; rewrite jS c => -[]|by rewrite !inE eq_sym ji iS].
have -> : S :\ j :\ i = S :\ i :\ j by apply/setP => z; rewrite !inE andbCA.
ring.
Qed.
Theorem theorem53_ii s i : run (pf_p s) #|T| setT i = pf s i.
Proof.
rewrite run_integral ?cardsT ?inE // /pf /probability; congr (_ * _).
by apply: RInt_ext => t _; apply: eq_bigl => j; rewrite !inE andbT.
Qed.
End Run.

(* (i): `win` is the distribution of the largest s_i + Exp(1), the integral over i's own noise (Race.v) *)
Theorem theorem53_i (T : finType) (s : T -> R) i : win (fun _ => 1) s i = pf s i.
Proof.
have h0 : forall _ : T, 0 < 1 by move=> _; lra.
rewrite (win_upto s i h0); set tau := exp (- highest setT s).
have tp : 0 < tau by exact: exp_pos.
have p0 : 0 < pf_p s i by exact: exp_pos.
have -> : arr (fun _ => 1) s i tau = pf_p s i.
  by rewrite arr_pos // Rmult_1_l /tau ln_exp exp_plus /pf_p /Rminus exp_plus.
have := @RInt_dilate (others (fun _ => 1) s i) (pf_p s i) 1 (@others_cont _ _ h0 s i); rewrite Rmult_1_r => <-.
rewrite /pf /probability; congr (_ * _); apply: RInt_ext => t; rewrite Rmin_left ?Rmax_right; [|lra|lra] => t01.
apply: eq_bigr => j _; rewrite /beaten Rmult_1_l.
have -> : pw (pf_p s i * t) (1 / 1) = pf_p s i * t.
  rewrite /pw; case: (Rle_dec _ 0) => [h|_ /=]; first by exfalso; nra.
  by rewrite /Rdiv Rinv_1 Rmult_1_r Rpower_1 //; nra.
have e : exp (s j - s i) * (pf_p s i * t) = pf_p s j * t.
  by rewrite -Rmult_assoc /pf_p -exp_plus; congr (exp _ * _); ring.
rewrite e Rmax_right //.
have : pf_p s j <= 1 by rewrite -exp_0; apply: exp_le; have := top s j; lra.
by have := exp_pos (s j - highest setT s); rewrite -/(pf_p s j); nra.
Qed.

(* (iv): two candidates, one ahead by e/2 in noise units, which falls behind by as much. The log ratios are ln(2
   e^(e/2) - 1) and its negative, so that they do not lie in a window of length e. *)
Lemma pf_two e (s : bool -> R) : 0 <= e -> s true - s false = e / 2 ->
  pf s false = exp (- (e / 2)) / 2 /\ pf s true = 1 - exp (- (e / 2)) / 2.
Proof.
move=> e0 d; have hi : highest setT s = s true.
  have [[b _ hb] all] := highestP s (introT (set0Pn _) (ex_intro _ true (in_setT true))).
  apply: Rle_antisym; last exact: all.
  by rewrite hb; case: b {hb} => //; lra.
have pt : pf_p s true = 1 by rewrite /pf_p hi Rminus_eq_0 exp_0.
have pff : pf_p s false = exp (- (e / 2)) by rewrite /pf_p hi; congr exp; lra.
have f : pf s false = exp (- (e / 2)) / 2.
  rewrite /pf /probability pff; congr (_ * _).
  rewrite (RInt_ext _ (fun t => 1 - t)); last first.
    by move=> t _; rewrite /miss (big_pred1 true) ?pt; [rring | case].
  apply: is_RInt_unique; have -> : / 2 = minus (1 - 1 * 1 / 2) (0 - 0 * 0 / 2) by rewrite /minus /plus /opp /=; lra.
  apply: (is_RInt_derive (fun t => t - t * t / 2) (fun t => 1 - t)) => t _.
    by auto_derive => //; lra.
  by apply: ex_derive_continuous; auto_derive.
split=> //; have [_] := pf_distribution s true.
by rewrite big_bool /= f; lra.
Qed.
Theorem theorem53_iv e (s s' : bool -> R) : 0 < e -> s true - s false = e / 2 -> s' true - s' false = - (e / 2) ->
  moves_within e s s' /\ ~ brange e (pf s) (pf s').
Proof.
move=> e0 d d'; split; first by exists (Rmin (s' true - s true) (s' false - s false)) => -[]; rewrite /Rmin; case:
  Rle_dec; lra.
have [sf st] := pf_two (Rlt_le _ _ e0) d.
have [sf' st'] : pf s' true = exp (- (e / 2)) / 2 /\ pf s' false = 1 - exp (- (e / 2)) / 2.
  have [a b] := @pf_two e (fun b => s' (~~ b)) (Rlt_le _ _ e0) ltac:(rewrite /=; lra).
  have sw (b' : bool) : pf (fun b => s' (~~ b)) b' = pf s' (~~ b').
    have hsw : highest setT (fun b => s' (~~ b)) = highest setT s'.
      have ne : [set: bool] != set0 by apply/set0Pn; exists true.
      have [[c _ hc] all] := highestP (fun b => s' (~~ b)) ne; have [[c' _ hc'] all'] := highestP s' ne.
      apply: Rle_antisym; first by rewrite hc; apply: all'.
      by rewrite hc' -{1}(negbK c'); exact: (all (~~ c')).
    rewrite /pf /probability /pf_p hsw; congr (_ * _); apply: RInt_ext => t _; rewrite /miss.
    by case: b'; rewrite /= big_mkcond big_bool /= [RHS]big_mkcond big_bool /=; rring.
  by rewrite -(sw false) -(sw true) a b.
move=> [t H]; have [h1 _] := H false; have [_ h2] := H true.
rewrite sf st' in h1; rewrite st sf' in h2; set q := exp (- (e / 2)) in h1 h2.
have q1 : q < 1 by rewrite -exp_0; apply: exp_increasing; lra.
have q0 : 0 < q by exact: exp_pos.
have E : exp (t - e) = exp t * (q * q) by rewrite /q -!exp_plus; congr exp; lra.
have tp := exp_pos t; rewrite E in h1; set w := exp t in h1 h2 tp.
(* h1: w q^2 (1 - q/2) <= q/2;  h2: 1 - q/2 <= w q/2 *)
have h3 : w * (q * (2 - q)) <= 1 by nra.
have h4 : 2 - q <= w * q by nra.
nra.
Qed.
