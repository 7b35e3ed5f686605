(* Permute-and-flip, as the distribution p_i Int_0^1 prod_{j != i} (1 - p_j s) ds: it is one, and it is eps-DP
   (Theorem 53 (iii)). That it is the largest of s_i + Exp(1), and what the algorithm returns, is in PermuteFlipRun.v.
   *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Shifting Canonical Race.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section PF.
Variable T : finType.
Implicit Types (s w : T -> R).
Definition miss w (i : T) (t : R) := \big[Rmult/1]_(j | j != i) (1 - w j * t).
Definition probability w i tau := w i * RInt (miss w i) 0 tau.
(* s: scores in noise units, eps x / R *)
Definition pf_p s (j : T) := exp (s j - highest setT s).
Definition pf s (i : T) := probability (pf_p s) i 1.

Lemma prod_cont w (l : seq T) (P : pred T) t : continuous (fun t => \big[Rmult/1]_(j <- l | P j) (1 - w j * t)) t.
Proof.
elim: l => [|a l IH].
  by apply: (continuous_ext (fun _ => 1)); [move=> z; rewrite big_nil | exact: continuous_const].
case Pa: (P a); last by apply: continuous_ext IH => z; rewrite big_cons Pa.
apply: (continuous_ext (fun z => (1 - w a * z) * \big[Rmult/1]_(j <- l | P j) (1 - w j * z))).
  by move=> z; rewrite big_cons Pa.
apply: (continuous_mult (fun z => 1 - w a * z)) => //.
apply: (continuous_minus (fun _ => 1) (fun z => w a * z)); first exact: continuous_const.
by apply: (continuous_mult (fun _ => w a) id); [exact: continuous_const | exact: continuous_id].
Qed.
Lemma miss_int w i a b : ex_RInt (miss w i) a b.
Proof. by apply: ex_RInt_continuous => z _; exact: prod_cont. Qed.

(* scaling all weights by c > 0 and the horizon by 1/c *)
Lemma probability_scale w c i tau : 0 < c -> probability (fun j => c * w j) i tau = probability w i (c * tau).
Proof.
move=> c0; rewrite /probability.
have := @RInt_comp_lin _ (miss w i) c 0 0 tau; rewrite Rmult_0_r !Rplus_0_r => h.
rewrite -h; last exact: miss_int.
rewrite RInt_scal; last first.
  apply: (ex_RInt_ext (miss (fun j => c * w j) i)); last exact: miss_int.
  by move=> z _; apply: eq_bigr => j _; rring.
rewrite /scal /= /mult /= (Rmult_comm c) Rmult_assoc; congr (_ * _); congr (_ * _).
by apply: RInt_ext => z _; apply: eq_bigr => j _; rring.
Qed.
Lemma pfE s i : pf s i = probability (fun j => exp (s j)) i (exp (- highest setT s)).
Proof.
rewrite /pf -(Rmult_1_r (exp (- _))) -probability_scale; last exact: exp_pos.
have e j : pf_p s j = exp (- highest setT s) * exp (s j) by rewrite /pf_p -exp_plus; congr exp; ring.
by rewrite /probability e; congr (_ * _); apply: RInt_ext => z _; apply: eq_bigr => j _; rewrite e.
Qed.
Lemma top s (i : T) : s i <= highest setT s.
Proof. by have [_ h] := @highestP T setT s (introT (set0Pn _) (ex_intro _ i (in_setT i))); exact: h. Qed.
Lemma top_shift s (i : T) c : highest setT (fun j => s j + c) = highest setT s + c.
Proof. by have [_ h] := @shifting_highest T setT (introT (set0Pn _) (ex_intro _ i (in_setT i))); exact: h. Qed.
Lemma top_mono s s' (i : T) : (forall j, s j <= s' j) -> highest setT s <= highest setT s'.
Proof. by have [h _] := @shifting_highest T setT (introT (set0Pn _) (ex_intro _ i (in_setT i))); exact: h. Qed.
Lemma pf_shift s i c : pf (fun j => s j + c) i = pf s i.
Proof.
have e j : pf_p (fun j => s j + c) j = pf_p s j by rewrite /pf_p (top_shift s i c); congr exp; ring.
by rewrite /pf /probability e; congr (_ * _); apply: RInt_ext => z _; apply: eq_bigr => j _; rewrite e.
Qed.

(* weights grow by at most e^eps and the horizon shrinks: the probability grows by at most e^eps *)
Lemma probability_le eps w w' i tau tau' : (forall j, 0 <= w j <= w' j) -> w' i <= exp eps * w i ->
  0 <= tau' <= tau -> (forall j, w j * tau <= 1) -> (forall j, w' j * tau' <= 1) ->
  probability w' i tau' <= exp eps * probability w i tau.
Proof.
move=> ww we [t0 tt] h h'; rewrite /probability -Rmult_assoc; apply: Rmult_le_compat => //.
- by have := ww i; lra.
- apply: RInt_ge_0 => // [|z z01]; first exact: miss_int.
  by apply: rprod_ge0 => j _; have := ww j; have := h' j; nra.
- apply: (Rle_trans _ (RInt (miss w i) 0 tau')).
    apply: RInt_le => //; try exact: miss_int.
    move=> z z01; apply: rprod_le => j _; have := ww j; have := h' j; nra.
  rewrite -(@RInt_Chasles _ (miss w i) 0 tau' tau); try exact: miss_int.
  suff : 0 <= RInt (miss w i) tau' tau by rewrite /plus /=; lra.
  apply: RInt_ge_0 => // [|z z01]; first exact: miss_int.
  by apply: rprod_ge0 => j _; have := ww j; have := h j; nra.
Qed.

(* Theorem 53 (iii) *)
Theorem pf_pointwise eps s s' i : moves_within eps s s' -> pf s' i <= exp eps * pf s i.
Proof.
move=> [b H]; rewrite -(pf_shift s' i (- b)) !pfE.
have pos z : 0 <= exp z by exact/Rlt_le/exp_pos.
apply: probability_le.
- by move=> j; split=> //; apply: exp_le; have := H j; lra.
- by rewrite -exp_plus; apply: exp_le; have := H i; lra.
- split=> //; apply/exp_le/Ropp_le_contravar; rewrite top_shift //.
  by rewrite -(top_shift s' i); apply: top_mono => // j; have := H j; lra.
- by move=> j; rewrite -exp_plus -exp_0; apply: exp_le; have := top s j; lra.
- by move=> j; rewrite -exp_plus -exp_0; apply: exp_le; have := top (fun j => s' j + - b) j; lra.
Qed.
Theorem pf_pure eps s s' : moves_within eps s s' -> pureDP eps (pf s) (pf s').
Proof.
by move=> H; split; apply: pointwise_pure => i; apply: pf_pointwise => //; exact: moves_within_sym.
Qed.

(* it is a distribution *)
Lemma prod_derive w (l : seq T) t : uniq l ->
  is_derive (fun t => \big[Rmult/1]_(j <- l) (1 - w j * t)) t
            (- \big[Rplus/0]_(i <- l) (w i * \big[Rmult/1]_(j <- l | j != i) (1 - w j * t))).
Proof.
elim: l => [_|a l IH /= /andP [al ul]].
  apply: (is_derive_ext (fun _ => 1)); first by move=> z; rewrite big_nil.
  by rewrite big_nil Ropp_0; exact: is_derive_const.
apply: (is_derive_ext (fun z => (1 - w a * z) * \big[Rmult/1]_(j <- l) (1 - w j * z))).
  by move=> z; rewrite big_cons.
have d1 : is_derive (fun z => 1 - w a * z) t (- w a) by auto_derive => //; ring.
have := is_derive_mult _ _ _ _ _ d1 (IH ul) Rmult_comm.
rewrite /plus /mult /=; congr (is_derive _ _ _).
rewrite big_cons [\big[Rmult/1]_(j <- a :: l | j != a) _]big_cons eqxx /=.
have -> : \big[Rmult/1]_(j <- l | j != a) (1 - w j * t) = \big[Rmult/1]_(j <- l) (1 - w j * t).
  rewrite big_seq_cond [RHS]big_seq_cond; apply: eq_bigl => j; case jl: (j \in l) => //=.
  by apply/negP => /eqP e; move: al; rewrite -e jl.
have -> : \big[Rplus/0]_(j <- l) (w j * \big[Rmult/1]_(j0 <- a :: l | j0 != j) (1 - w j0 * t)) =
          (1 - w a * t) * \big[Rplus/0]_(i <- l) (w i * \big[Rmult/1]_(j <- l | j != i) (1 - w j * t)).
  rewrite -rsum_scale big_seq_cond [RHS]big_seq_cond; apply: eq_bigr => i /andP [il _].
  by rewrite big_cons ifT; [ring | apply: contraNneq al => ->].
ring.
Qed.
Theorem pf_distribution s (i0 : T) : distribution (pf s).
Proof.
set p := pf_p s.
have p01 j : 0 < p j <= 1.
  by split; [exact: exp_pos | rewrite -exp_0; apply: exp_le; have := top s j; lra].
split=> [o|].
  apply: Rmult_le_pos; first by have := p01 o; rewrite /p; lra.
  apply: RInt_ge_0; [lra | exact: miss_int |] => z z01; apply: rprod_ge0 => j _; have := p01 j; rewrite /p; nra.
have -> : \rsum_i pf s i = RInt (fun t => \rsum_i p i * miss p i t) 0 1.
  have gen (l : seq T) : ex_RInt (fun t => \big[Rplus/0]_(i <- l) (p i * miss p i t)) 0 1 /\
      \big[Rplus/0]_(i <- l) pf s i = RInt (fun t => \big[Rplus/0]_(i <- l) (p i * miss p i t)) 0 1.
    elim: l => [|a l [E IH]].
      split; first by apply: (ex_RInt_ext (fun _ => 0)); [move=> z _; rewrite big_nil | exact: ex_RInt_const].
      rewrite big_nil (RInt_ext _ (fun _ => 0)); last by move=> z _; rewrite big_nil.
      by rewrite RInt_const /scal /= /mult /=; ring.
    have Ea : ex_RInt (fun t => p a * miss p a t) 0 1 by apply: (ex_RInt_scal (V := R_NormedModule)); exact: miss_int.
    split.
      apply: (ex_RInt_ext (fun t => plus (p a * miss p a t) (\big[Rplus/0]_(i <- l) (p i * miss p i t)))).
        by move=> z _; rewrite big_cons.
      exact: (ex_RInt_plus (V := R_NormedModule)).
    rewrite big_cons IH (RInt_ext (fun t => \big[Rplus/0]_(i <- a :: l) (p i * miss p i t))
      (fun t => plus (p a * miss p a t) (\big[Rplus/0]_(i <- l) (p i * miss p i t)))); last by move=> z _;
        rewrite big_cons.
    rewrite RInt_plus // /plus /=; congr (_ + _).
    by rewrite /pf /probability -/p (RInt_scal (V := R_CompleteNormedModule)) //; exact: miss_int.
  by case: (gen (index_enum T)).
pose F t := - \big[Rmult/1]_j (1 - p j * t).
have D t : is_derive F t (\rsum_i p i * miss p i t).
  have := is_derive_opp _ _ _ (@prod_derive p (index_enum T) t (index_enum_uniq T)).
  by rewrite /opp /= Ropp_involutive.
have -> : RInt (fun t => \rsum_i p i * miss p i t) 0 1 = F 1 - F 0.
  apply: is_RInt_unique; apply: (is_RInt_derive F (fun t => \rsum_i p i * miss p i t)) => [z _|z _]; first exact: D.
  have gen (l : seq T) : continuous (fun t => \big[Rplus/0]_(i <- l) (p i * miss p i t)) z.
    elim: l => [|a l IH]; first by apply: (continuous_ext (fun _ => 0)); [move=> y; rewrite big_nil | exact:
      continuous_const].
    apply: (continuous_ext (fun t => plus (p a * miss p a t) (\big[Rplus/0]_(i <- l) (p i * miss p i t)))).
      by move=> y; rewrite big_cons.
    apply: (continuous_plus (V := R_NormedModule)) => //.
    by apply: (continuous_mult (fun _ => p a)); [exact: continuous_const | exact: prod_cont].
  exact: gen.
have [[m _ hm] _] := @highestP T setT s (introT (set0Pn _) (ex_intro _ i0 (in_setT i0))).
have F1 : F 1 = 0.
  have pm : 1 - p m * 1 = 0 by rewrite /p /pf_p hm Rminus_eq_0 exp_0; ring.
  by rewrite /F (bigD1 m) //= pm; ring.
have F0 : F 0 = -1.
  by rewrite /F (eq_bigr (fun _ => 1)) ?big1 // => j _; ring.
by rewrite F1 F0; ring.
Qed.
End PF.


