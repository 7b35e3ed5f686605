(* The K-norm mechanism of count vectors on Z^K, P(z) in proportion to e^(-eps N(z)), N(z) = max(0, max z) - min(0,
   min z). Infinite sums are suprema of sums over finite lists without repetition. *)
From Coq Require Import ZArith Lia.
From Shortlist Require Import Base.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Canonical Z_eqType := EqType Z (EqMixin (fun x y => Z.eqb_spec x y)).

(* ---- nonnegative functions on a set with decidable equality: total mass and mass of an event ---- *)
Section Mass.
Variable A : eqType.
Implicit Types (f : A -> R) (S : pred A).
Definition partial f S (s : R) := exists l : seq A, [/\ uniq l, all S l & s = \big[Rplus/0]_(a <- l) f a].
Definition mass f S (m : R) := is_lub (partial f S) m.
Lemma mass_exists f S M : (forall l, uniq l -> \big[Rplus/0]_(a <- l) f a <= M) -> exists m, mass f S m.
Proof.
move=> H; have [||m hm] := completeness (partial f S); last by exists m.
- by exists M => s [l [u _ ->]]; exact: H.
- by exists 0, [::]; split=> //; rewrite big_nil.
Qed.
Lemma mass_unique f S m m' : mass f S m -> mass f S m' -> m = m'.
Proof. by move=> [u l] [u' l']; apply: Rle_antisym; [exact: l | exact: l']. Qed.
Lemma mass_scale f S c m : 0 <= c -> mass f S m -> mass (fun a => c * f a) S (c * m).
Proof.
move=> c0 [u l]; split=> [s [x [ux ax ->]]|b hb].
  by rewrite rsum_scale; apply: Rmult_le_compat_l => //; apply: u; exists x.
case: c0 => [c0|c0]; last by rewrite -c0 Rmult_0_l; apply: hb; exists [::]; rewrite big_nil.
apply: (Rmult_le_reg_l (/ c)); first exact: Rinv_0_lt_compat.
rewrite -Rmult_assoc Rinv_l ?Rmult_1_l; last lra.
apply: l => s [x [ux ax ->]]; apply: (Rmult_le_reg_l c) => //.
by rewrite -Rmult_assoc Rinv_r ?Rmult_1_l -?rsum_scale; [apply: hb; exists x | lra].
Qed.
Lemma mass_le f f' S m m' : (forall a, f a <= f' a) -> mass f S m -> mass f' S m' -> m <= m'.
Proof.
move=> H [_ l] [u _]; apply: l => s [x [ux ax ->]].
by apply: Rle_trans (u _ _); [apply: rsum_le => a _; exact: H | exists x].
Qed.
Lemma mass_bij f (h h' : A -> A) m : cancel h h' -> cancel h' h -> mass f xpredT m -> mass (fun a => f (h a)) xpredT m.
Proof.
move=> hh hh' [u l]; split=> [s [x [ux _ ->]]|b hb].
  apply: u; exists (map h x); split; [by rewrite map_inj_uniq //; exact:
    can_inj hh | by apply/allP | by rewrite big_map].
apply: l => s [x [ux _ ->]]; apply: hb; exists (map h' x); split; [by rewrite map_inj_uniq //; exact:
  can_inj hh' | by apply/allP |].
by rewrite big_map; apply: eq_bigr => a _; rewrite hh'.
Qed.
End Mass.

Section KNorm.
Unset Implicit Arguments. (* Z.le unfolds to an implication, which confuses them *)
Variable K : finType.
Notation vec := {ffun K -> Z}.
Implicit Types (z v x y : vec).
Local Open Scope Z_scope.
Definition up z := \big[Z.max/0]_i z i.
Definition down z := \big[Z.min/0]_i z i.
Definition N z := up z - down z.
Definition addv z v : vec := [ffun i => z i + v i].
Definition subv z v : vec := [ffun i => z i - v i].

Lemma subvK x y : addv (subv y x) x = y.
Proof. by apply/ffunP => i; rewrite !ffunE; lia. Qed.
Lemma addvK x y : subv (addv y x) x = y.
Proof. by apply/ffunP => i; rewrite !ffunE; lia. Qed.
Lemma up_ge z i : z i <= up z.
Proof.
rewrite /up; have : i \in index_enum K by exact: mem_index_enum.
elim: (index_enum K) => // a s IH; rewrite inE big_cons => /orP [/eqP ->|/IH]; lia.
Qed.
Lemma up_ge0 z : 0 <= up z.
Proof. by rewrite /up; elim/big_rec: _ => [|i m _ h]; lia. Qed.
Lemma up_le z m : 0 <= m -> (forall i, z i <= m) -> up z <= m.
Proof. by move=> m0 H; rewrite /up; elim/big_rec: _ => [|i n _ h]; [lia | have := H i; lia]. Qed.
Lemma down_le z i : down z <= z i.
Proof.
rewrite /down; have : i \in index_enum K by exact: mem_index_enum.
elim: (index_enum K) => // a s IH; rewrite inE big_cons => /orP [/eqP ->|/IH]; lia.
Qed.
Lemma down_le0 z : down z <= 0.
Proof. by rewrite /down; elim/big_rec: _ => [|i m _ h]; lia. Qed.
Lemma down_ge z m : m <= 0 -> (forall i, m <= z i) -> m <= down z.
Proof. by move=> m0 H; rewrite /down; elim/big_rec: _ => [|i n _ h]; [lia | have := H i; lia]. Qed.

(* N is a norm of which counts of one person are in the unit ball *)
Theorem N_subadditive z v : N (addv z v) <= N z + N v.
Proof.
have u : up (addv z v) <= up z + up v.
  apply: up_le => [|i]; first by have := up_ge0 z; have := up_ge0 v; lia.
  by rewrite ffunE; have := up_ge z i; have := up_ge v i; lia.
have d : down z + down v <= down (addv z v).
  apply: down_ge => [|i]; first by have := down_le0 z; have := down_le0 v; lia.
  by rewrite ffunE; have := down_le z i; have := down_le v i; lia.
rewrite /N; lia.
Qed.
Lemma N_opp v : N [ffun i => - v i] = N v.
Proof.
have h (w : vec) : up [ffun i => - w i] = - down w.
  apply: Z.le_antisymm.
    by apply: up_le => [|i]; [have := down_le0 w; lia | rewrite ffunE; have := down_le w i; lia].
  suff : - up [ffun i => - w i] <= down w by lia.
  apply: down_ge => [|i]; first by have := up_ge0 [ffun i => - w i]; lia.
  by have := up_ge [ffun i => - w i] i; rewrite ffunE; lia.
have h' (w : vec) : down [ffun i => - w i] = - up w.
  have := h [ffun i => - w i]; have -> : [ffun i => - [ffun i => - w i] i] = w by apply/ffunP => i; rewrite !ffunE; lia.
  by lia.
rewrite /N h h'; lia.
Qed.
Lemma N_unit v : (forall i, 0 <= v i <= 1) \/ (forall i, -1 <= v i <= 0) -> N v <= 1.
Proof.
case=> H.
- have : up v <= 1 by apply: up_le => // i; have := H i; lia.
  have : 0 <= down v by apply: down_ge => // i; have := H i; lia.
  rewrite /N; lia.
- have : up v <= 0 by apply: up_le => // i; have := H i; lia.
  have : -1 <= down v by apply: down_ge => // i; have := H i; lia.
  rewrite /N; lia.
Qed.
Lemma N_range v m : 0 <= m -> (exists b, b <= 0 <= b + m /\ forall i, b <= v i <= b + m) -> N v <= m.
Proof.
move=> m0 [b [b0 H]]; have : up v <= b + m by apply: up_le => [|i]; [lia | have := H i; lia].
have : b <= down v by apply: down_ge => [|i]; [lia | have := H i; lia].
rewrite /N; lia.
Qed.
Lemma N_coord z i : Z.abs (z i) <= N z.
Proof. by have := up_ge z i; have := down_le z i; have := up_ge0 z; have := down_le0 z; rewrite /N; lia. Qed.

Local Open Scope R_scope.
Variable eps : R.
Hypothesis eps0 : 0 < eps.
Definition wt z := exp (- eps * IZR (N z)).

(* the weights are summable: e^(-eps N) <= prod e^(-(eps/K)|z_i|) *)
Lemma geometric (q : R) (n : nat) : 0 <= q < 1 -> \big[Rplus/0]_(m < n) q ^ m <= / (1 - q).
Proof.
move=> q01; have e : (1 - q) * \big[Rplus/0]_(m < n) q ^ m = 1 - q ^ n.
  elim: n => [|n IH]; first by rewrite big_ord0 /=; ring.
  by rewrite big_ord_recr /= Rmult_plus_distr_l IH; ring.
apply: (Rmult_le_reg_l (1 - q)); first lra.
rewrite e Rinv_r; last lra.
by have := pow_le q n; lra.
Qed.
Lemma exp_INR a n : exp (a * INR n) = exp a ^ n.
Proof. by elim: n => [|n IH]; [rewrite Rmult_0_r exp_0 | rewrite S_INR Rmult_plus_distr_l Rmult_1_r exp_plus IH /=;
  ring]. Qed.

Section Summable.
Variable i0 : K.
Let c := eps / INR #|K|.
Let q := exp (- c).
Lemma K_pos : 0 < INR #|K|.
Proof. by apply: lt_0_INR; apply/ltP/card_gt0P; exists i0. Qed.
Lemma c_pos : 0 < c. Proof. by apply: Rdiv_lt_0_compat => //; exact: K_pos. Qed.
Lemma q01 : 0 <= q < 1.
Proof.
split; first exact/Rlt_le/exp_pos.
by rewrite -exp_0; apply: exp_increasing; have := c_pos; lra.
Qed.
Lemma rsum_const (s : seq K) a : \big[Rplus/0]_(i <- s) a = INR (size s) * a.
Proof. by elim: s => [|b s IH]; [rewrite big_nil /=; ring | rewrite big_cons IH [size (_ :: _)]/= S_INR; ring]. Qed.
Lemma exp_sum (F : K -> R) (s : seq K) : exp (\big[Rplus/0]_(i <- s) F i) = \big[Rmult/1]_(i <- s) exp (F i).
Proof. by elim: s => [|a s IH]; [rewrite !big_nil exp_0 | rewrite !big_cons exp_plus IH]. Qed.
Lemma wt_prod z : wt z <= \big[Rmult/1]_i q ^ Z.abs_nat (z i).
Proof.
have e : \big[Rmult/1]_i q ^ Z.abs_nat (z i) = exp (- c * \big[Rplus/0]_i IZR (Z.abs (z i))).
  rewrite -rsum_scale exp_sum; apply: eq_bigr => i _.
  by rewrite -exp_INR INR_IZR_INZ Zabs2Nat.id_abs.
rewrite e; apply: exp_le.
suff : \big[Rplus/0]_(i : K) IZR (Z.abs (z i)) <= INR #|K| * IZR (N z).
  have := c_pos; have := K_pos => kp cp h.
  have -> : - eps * IZR (N z) = - c * (INR #|K| * IZR (N z)) by rewrite /c; field; lra.
  nra.
have -> : INR #|K| * IZR (N z) = \big[Rplus/0]_(i : K) IZR (N z).
  by rewrite rsum_const; congr (INR _ * _); rewrite cardE enumT.
by apply: rsum_le => i _; apply: IZR_le; exact: N_coord.
Qed.
Definition bound := (2 * / (1 - q)) ^ #|K|.
Lemma wt_bounded (l : seq vec) : uniq l -> \big[Rplus/0]_(z <- l) wt z <= bound.
Proof.
move=> ul.
have [n Hn] : exists n, forall z, z \in l -> forall i, (Z.abs_nat (z i) < n.+1)%N.
  elim: l {ul} => [|a l [n Hn]]; first by exists 0%N.
  exists (maxn n (\max_i Z.abs_nat (a i))) => z; rewrite inE => /orP [/eqP -> i|/Hn h i].
    by rewrite ltnS leq_max (leq_bigmax i) orbT.
  by have := h i; rewrite !ltnS leq_max => ->.
pose J := (bool * 'I_n.+1)%type.
pose enc z : {ffun K -> [finType of J]} := [ffun i => ((z i <? 0)%Z, inord (Z.abs_nat (z i)))].
pose F (e : {ffun K -> [finType of J]}) := \big[Rmult/1]_i q ^ (e i).2.
have encF z : z \in l -> wt z <= F (enc z).
  move=> zl; apply: Rle_trans (wt_prod z) _; apply: Req_le; apply: eq_bigr => i _.
  by rewrite ffunE /= inordK //; exact: Hn.
have inj : {in l &, injective enc}.
  move=> z z' zl zl' /ffunP e; apply/ffunP => i; have := e i; rewrite !ffunE => -[s /(congr1 val)].
  by rewrite /= !inordK; [move=> h | exact: Hn | exact: Hn]; move: s; case: Z.ltb_spec; case: Z.ltb_spec => //; lia.
apply: (Rle_trans _ (\big[Rplus/0]_(z <- l) F (enc z))).
  by rewrite big_seq_cond [X in _ <= X]big_seq_cond; apply: rsum_le => z /andP [zl _]; exact: encF.
rewrite -(big_map enc xpredT F).
have ue : uniq (map enc l) by rewrite map_inj_in_uniq.
have F0 e : 0 <= F e by apply: rprod_ge0 => i _; apply: pow_le; have := q01; lra.
apply: (Rle_trans _ (\big[Rplus/0]_e F e)).
  rewrite big_uniq //= [X in _ <= X](bigID (mem (map enc l))) /=.
  have rest : 0 <= \big[Rplus/0]_(e | e \notin map enc l) F e by apply: rsum_ge0 => e _.
  rewrite -[X in X <= _]Rplus_0_r; apply: Rplus_le_compat_l; exact: rest.
rewrite /F -(bigA_distr_bigA (fun (i : K) (j : [finType of J]) => q ^ j.2)) /=.
rewrite (eq_bigr (fun _ => \big[Rplus/0]_(j : [finType of J]) q ^ j.2)) //.
have h : 0 <= \big[Rplus/0]_(j : [finType of J]) q ^ j.2 <= 2 * / (1 - q).
  split; first by apply: rsum_ge0 => j _; apply: pow_le; have := q01; lra.
  rewrite -(pair_bigA _ (fun (b : bool) (m : 'I_n.+1) => q ^ m)) /= big_bool /=.
  have G := geometric q n.+1 q01; apply: Rle_trans (Rplus_le_compat _ _ _ _ G G) _; lra.
rewrite /bound; have -> : #|K| = size (index_enum K) by rewrite cardE enumT.
elim: (index_enum K) => [|a s IH]; first by rewrite big_nil /=; lra.
rewrite big_cons [size (_ :: _)]/= -tech_pow_Rmult; apply: Rmult_le_compat; try lra => //.
by apply: rprod_ge0 => i _; lra.
Qed.

(* The mechanism: the true vector plus z. Its normaliser is the same for every x, its distribution has mass 1, and it
   is eps-DP. *)
Theorem knorm_total : exists C, 0 < C /\ mass wt xpredT C.
Proof.
have [C hC] := mass_exists xpredT wt_bounded; exists C; split=> //.
have [u _] := hC; pose z0 : vec := [ffun _ => 0%Z].
apply: (Rlt_le_trans _ (wt z0)); first exact: exp_pos.
by apply: u; exists [:: z0]; rewrite big_seq1.
Qed.
Definition knorm C x y := / C * wt (subv y x).
Theorem knorm_mass C x : 0 < C -> mass wt xpredT C -> mass (knorm C x) xpredT 1.
Proof.
move=> C0 hC; have -> : 1 = / C * C by rewrite Rinv_l; lra.
apply: mass_scale; first exact/Rlt_le/Rinv_0_lt_compat.
apply: (mass_bij (h := fun y => subv y x) (h' := fun y => addv y x)) hC => y /=; [exact: subvK | exact: addvK].
Qed.
Definition one_person x x' := (forall i, (0 <= x' i - x i <= 1)%Z) \/ (forall i, (-1 <= x' i - x i <= 0)%Z).
Lemma one_person_sym x x' : one_person x x' -> one_person x' x.
Proof. by move=> [H|H]; [right | left] => i; have := H i; lia. Qed.
Lemma knorm_pointwise C x x' y : 0 < C -> one_person x x' -> knorm C x y <= exp eps * knorm C x' y.
Proof.
move=> C0 H; rewrite /knorm; have -> : exp eps * (/ C * wt (subv y x')) = / C * (exp eps * wt (subv y x')) by ring.
apply: Rmult_le_compat_l; first exact/Rlt_le/Rinv_0_lt_compat.
rewrite /wt -exp_plus; apply: exp_le.
have h : (N (subv y x') <= N (subv y x) + 1)%Z.
  have -> : subv y x' = addv (subv y x) (subv x x') by apply/ffunP => i; rewrite !ffunE; lia.
  apply: Z.le_trans (N_subadditive _ _) _; apply: Zplus_le_compat_l; apply: N_unit.
  by case: H => H; [right | left] => i; rewrite ffunE; have := H i; lia.
by have := IZR_le _ _ h; rewrite plus_IZR; nra.
Qed.
Lemma knorm_event C x (S : pred vec) : 0 < C -> mass wt xpredT C -> exists p, mass (knorm C x) S p.
Proof.
move=> C0 hC; apply: (mass_exists S (M := 1)) => l ul; have [u _] := knorm_mass C x C0 hC.
by apply: u; exists l; split=> //; apply/allP.
Qed.
(* for every event, finite or not *)
Theorem knorm_pure C x x' (S : pred vec) p p' : 0 < C -> one_person x x' ->
  mass (knorm C x) S p -> mass (knorm C x') S p' -> p <= exp eps * p'.
Proof.
move=> C0 H hp hp'; apply: (mass_le (f := knorm C x) (f' := fun y => exp eps * knorm C x' y)) hp _.
  by move=> y; exact: knorm_pointwise.
by apply: mass_scale => //; exact/Rlt_le/exp_pos.
Qed.
End Summable.
End KNorm.
