(* Definition 19, Theorems 20 and 21: an (eps, delta) guarantee is a thinning of an eps-DP one, and a thinning costs
   delta. *)
From Shortlist Require Import Base Renyi.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* Definition 19: what M and M' keep of the laws A and A', the same part s of both *)
Definition thinning (T : finType) delta (M M' A A' s : T -> R) :=
  [/\ forall o, 0 <= s o <= 1, forall o, s o * A o <= M o, forall o, s o * A' o <= M' o
    & 1 - delta <= \rsum_o s o * A o /\ 1 - delta <= \rsum_o s o * A' o].

Lemma thinning_sym (T : finType) delta (M M' A A' s : T -> R) : thinning delta M M' A A' s ->
  thinning delta M' M A' A s.
Proof. by move=> [a b c [d e]]. Qed.
Lemma rsum_sub (T : finType) (S : {set T}) (F G : T -> R) :
  \rsum_(o in S) (F o - G o) = \rsum_(o in S) F o - \rsum_(o in S) G o.
Proof.
have -> : \rsum_(o in S) (F o - G o) = \rsum_(o in S) (F o + -1 * G o) by apply: eq_bigr => o _; ring.
by rewrite big_split /= rsum_scale; ring.
Qed.
Lemma rsum_subT (T : finType) (F G : T -> R) : \rsum_o (F o - G o) = \rsum_o F o - \rsum_o G o.
Proof.
have -> : \rsum_o (F o - G o) = \rsum_o (F o + -1 * G o) by apply: eq_bigr => o _; ring.
by rewrite big_split /= rsum_scale; ring.
Qed.
Lemma rsum_subset (T : finType) (P Q : pred T) (F : T -> R) : (forall o, P o -> Q o) -> (forall o, Q o -> 0 <= F o) ->
  \rsum_(o | P o) F o <= \rsum_(o | Q o) F o.
Proof.
move=> PQ F0; rewrite big_mkcond [X in _ <= X]big_mkcond; apply: rsum_le => o _.
case p: (P o); first by rewrite PQ //; lra.
by case q: (Q o); [exact: F0 | lra].
Qed.

(* Theorem 20, and with Renyi.theorem18 its second sentence *)
Theorem theorem20 (T : finType) eps delta d (M M' A A' s : T -> R) : distribution M -> distribution M' ->
  distribution A -> distribution A' -> thinning delta M M' A A' s -> approx eps d A A' -> approx eps (delta + d) M M'.
Proof.
move=> [m0 m1] [m0' _] [a0 _] [a0' _] [s01 sA sA' [k _]] H S; rewrite /prob.
have ep := exp_pos eps.
have h1 : \rsum_(o in S) (M o - s o * A o) <= delta.
  apply: (Rle_trans _ (\rsum_o (M o - s o * A o))); last by rewrite rsum_subT m1; lra.
  by apply: rsum_subset => // o _; have := sA o; lra.
pose S' := [set o in S | if Rlt_dec (exp eps * A' o) (A o) then true else false].
have h2 : \rsum_(o in S) (s o * (A o - exp eps * A' o)) <= d.
  apply: (Rle_trans _ (\rsum_(o in S') (A o - exp eps * A' o))); last first.
    by have := H S'; rewrite /prob rsum_sub rsum_scale; lra.
  rewrite big_mkcond [X in _ <= X]big_mkcond; apply: rsum_le => o _; rewrite inE.
  case oS: (o \in S) => /=; last by lra.
  by have := s01 o; case: Rlt_dec => h /=; nra.
have h3 : \rsum_(o in S) (s o * A' o) <= \rsum_(o in S) M' o by apply: rsum_le.
have e : \rsum_(o in S) M o = \rsum_(o in S) (M o - s o * A o) + \rsum_(o in S) (s o * (A o - exp eps * A' o)) +
                              exp eps * \rsum_(o in S) (s o * A' o).
  by rewrite -rsum_scale -!big_split /=; apply: eq_bigr => o _; ring.
rewrite e; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ ep) h3; lra.
Qed.

(* Theorem 21 *)
Section Theorem21.
Variables (T : finType) (c : T -> R) (delta : R).
Hypotheses (c0 : forall o, 0 <= c o) (d1 : 0 <= delta < 1).
Definition excess (M M' : T -> R) := \rsum_o Rmax 0 (M o - exp (c o) * M' o).
(* what both can keep *)
Definition lower (M M' : T -> R) o := Rmin (M o) (exp (c o) * M' o).
Lemma lower_mass M M' : distribution M -> excess M M' <= delta -> 1 - delta <= \rsum_o lower M M' o.
Proof.
move=> [_ m1] x; have -> : \rsum_o lower M M' o = \rsum_o M o - excess M M'.
  by rewrite -rsum_subT; apply: eq_bigr => o _; rewrite /lower /Rmin /Rmax; do 2 case: Rle_dec; lra.
lra.
Qed.
Lemma exp1 o : 1 <= exp (c o). Proof. by rewrite -exp_0; exact: exp_le. Qed.
Lemma lower_ratio M M' o : 0 <= M o -> 0 <= M' o -> lower M M' o <= exp (c o) * lower M' M o.
Proof.
move=> m m'; have e := exp1 o; have l1 := Rmin_l (M o) (exp (c o) * M' o); have l2 := Rmin_r (M o) (exp (c o) * M' o).
rewrite /lower /(Rmin (M' o)); case: Rle_dec => _; first exact: l2.
by have h := Rmult_le_compat_r _ _ _ m e; have h2 : exp (c o) * M o <= exp (c o) * (exp (c o) * M o) by [nra]; lra.
Qed.
Lemma lower_ge0 M M' o : 0 <= M o -> 0 <= M' o -> 0 <= lower M M' o.
Proof. by move=> m m'; have e := exp1 o; rewrite /lower /Rmin; case: Rle_dec; nra. Qed.
Lemma common M M' : distribution M -> distribution M' -> excess M M' <= delta -> excess M' M <= delta ->
  \rsum_o lower M' M o <= \rsum_o lower M M' o ->
  exists P Q s, [/\ distribution P, distribution Q, thinning delta M M' P Q (fun _ => s)
    & forall o, P o <= exp (c o) * Q o /\ Q o <= exp (c o) * P o].
Proof.
move=> DM DM' x x' le; have [m0 _] := DM; have [m0' _] := DM'.
set a := lower M M' in le *; set b := lower M' M in le *; set s := \rsum_o b o in le *.
have a0 o : 0 <= a o by exact: lower_ge0.
have b0 o : 0 <= b o by exact: lower_ge0.
have sd : 1 - delta <= s by exact: lower_mass.
have s0 : 0 < s by lra.
have aM o : a o <= M o by exact: Rmin_l.
have bM o : b o <= M' o by exact: Rmin_l.
have ab o : a o <= exp (c o) * b o by exact: lower_ratio.
have ba o : b o <= exp (c o) * a o by exact: lower_ratio.
(* lower a towards b where it is larger *)
pose more o := Rmax 0 (a o - b o); set W := \rsum_o more o.
have W0 : 0 <= W by apply: rsum_ge0 => o _; exact: Rmax_l.
have WA : \rsum_o a o - s <= W by rewrite /s -rsum_subT; apply: rsum_le => o _; exact: Rmax_r.
pose lam := if Rle_dec W 0 then 0 else (\rsum_o a o - s) / W.
have lam01 : 0 <= lam <= 1.
  rewrite /lam; case: Rle_dec => h /=; first lra.
  have Wp : 0 < W by lra.
  split; first by apply: Rmult_le_pos; [lra | exact/Rlt_le/Rinv_0_lt_compat].
  by apply: (Rmult_le_reg_r W) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
have lamW : lam * W = \rsum_o a o - s.
  rewrite /lam; case: Rle_dec => h /=; first by have -> : W = 0 by [lra]; lra.
  by field; lra.
pose a' o := a o - lam * more o.
have between o : a' o <= a o /\ (b o <= a' o \/ a' o = a o).
  have m := Rmax_l 0 (a o - b o); rewrite -/(more o) in m; split; first by rewrite /a'; nra.
  rewrite /a' /more /Rmax; case: Rle_dec => h; last by right; ring.
  by left; have : 0 <= (1 - lam) * (a o - b o) by [apply: Rmult_le_pos; lra]; lra.
have a'0 o : 0 <= a' o by have [_ [h|->]] := between o; [have := b0 o; lra | exact: a0].
have a's : \rsum_o a' o = s by rewrite rsum_subT rsum_scale -/W lamW; ring.
have si := Rinv_0_lt_compat _ s0; have ss : / s * s = 1 by rewrite Rinv_l; lra.
have s1 : s <= 1.
  by case: DM' => _ <-; rewrite /s; apply: rsum_le => o _; exact: bM.
exists (fun o => / s * a' o), (fun o => / s * b o), s; split.
- split=> [o|]; first by apply: Rmult_le_pos; [lra | exact: a'0].
  by rewrite rsum_scale a's.
- split=> [o|]; first by apply: Rmult_le_pos; [lra | exact: b0].
  by rewrite rsum_scale.
- have e z : s * (/ s * z) = z by field; lra.
  split=> [o|o|o|].
  + lra.
  + by rewrite e; have [h _] := between o; have := aM o; lra.
  + by rewrite e; exact: bM.
  + have -> : \rsum_o (s * (/ s * a' o)) = s by rewrite -[RHS]a's; apply: eq_bigr => o _; exact: e.
    have -> : \rsum_o (s * (/ s * b o)) = s by apply: eq_bigr => o _; exact: e.
    by [].
- move=> o; have e1 := exp1 o; have [h1 h2] := between o.
  have up : a' o <= exp (c o) * b o by have := ab o; lra.
  have dn : b o <= exp (c o) * a' o by case: h2 => [h|->]; [have := a'0 o; nra | exact: ba].
  split.
  + have -> : exp (c o) * (/ s * b o) = / s * (exp (c o) * b o) by ring.
    by apply: Rmult_le_compat_l; lra.
  + have -> : exp (c o) * (/ s * a' o) = / s * (exp (c o) * a' o) by ring.
    by apply: Rmult_le_compat_l; lra.
Qed.
Theorem theorem21 M M' : distribution M -> distribution M' -> excess M M' <= delta -> excess M' M <= delta ->
  exists P Q s, [/\ distribution P, distribution Q, thinning delta M M' P Q (fun _ => s)
    & forall o, P o <= exp (c o) * Q o /\ Q o <= exp (c o) * P o].
Proof.
move=> DM DM' x x'; case: (Rle_dec (\rsum_o lower M' M o) (\rsum_o lower M M' o)) => h; first exact: common.
have [|P [Q [s [DP DQ th pq]]]] := common DM' DM x' x; first lra.
by exists Q, P, s; split=> // [|o]; [exact: thinning_sym | have [] := pq o].
Qed.
End Theorem21.
(* with a constant: (eps, delta)-DP is a thinning of mass delta of eps-DP *)
Theorem theorem21_constant (T : finType) eps delta (M M' : T -> R) : 0 <= eps -> 0 <= delta < 1 -> distribution M ->
  distribution M' -> approxDP eps delta M M' ->
  exists P Q s, [/\ distribution P, distribution Q, thinning delta M M' P Q (fun _ => s) & pureDP eps P Q].
Proof.
have ex (A B : T -> R) : approx eps delta A B -> excess (fun _ => eps) A B <= delta.
  move=> H; pose S := [set o | if Rlt_dec (exp eps * B o) (A o) then true else false].
  have := H S; rewrite /prob -rsum_scale => h.
  have -> : excess (fun _ => eps) A B = \rsum_(o in S) (A o - exp eps * B o).
    rewrite /excess [RHS]big_mkcond; apply: eq_bigr => o _; rewrite inE /Rmax.
    by case: Rle_dec; case: Rlt_dec => //=; lra.
  by rewrite rsum_sub; lra.
move=> e0 d01 DM DM' [h h']; have [P [Q [s [DP DQ th pq]]]] := theorem21 (fun _ =>
  e0) d01 DM DM' (ex _ _ h) (ex _ _ h').
by exists P, Q, s; split=> //; split; apply: pointwise_pure => o; case: (pq o).
Qed.
