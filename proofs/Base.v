(* Finite sums of Coq's reals, distributions on finite sets, and what "eps-DP" (Definition 10) and "eps-bounded range"
   (Definition 13) mean for two of them. Everything else rests on these definitions. *)
From Coq Require Export Reals Lra Psatz.
From mathcomp Require Export ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun tuple bigop finset.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
#[global] Open Scope R_scope.

Fact RplusA : associative Rplus. Proof. move=> x y z; ring. Qed.
Fact RplusC : commutative Rplus. Proof. move=> x y; ring. Qed.
Fact Rplus0 : left_id 0 Rplus. Proof. move=> x; ring. Qed.
Fact Rplusx0 : right_id 0 Rplus. Proof. move=> x; ring. Qed.
Fact RmultA : associative Rmult. Proof. move=> x y z; ring. Qed.
Fact RmultC : commutative Rmult. Proof. move=> x y; ring. Qed.
Fact Rmult1 : left_id 1 Rmult. Proof. move=> x; ring. Qed.
Fact Rmultx1 : right_id 1 Rmult. Proof. move=> x; ring. Qed.
Fact Rmult0x : left_zero 0 Rmult. Proof. move=> x; ring. Qed.
Fact Rmultx0 : right_zero 0 Rmult. Proof. move=> x; ring. Qed.
Fact RmultDl : left_distributive Rmult Rplus. Proof. move=> x y z; ring. Qed.
Fact RmultDr : right_distributive Rmult Rplus. Proof. move=> x y z; ring. Qed.
Canonical Rplus_monoid := Monoid.Law RplusA Rplus0 Rplusx0.
Canonical Rplus_comoid := Monoid.ComLaw RplusC.
Canonical Rmult_monoid := Monoid.Law RmultA Rmult1 Rmultx1.
Canonical Rmult_comoid := Monoid.ComLaw RmultC.
Canonical Rmult_muloid := Monoid.MulLaw Rmult0x Rmultx0.
Canonical Rplus_addoid := Monoid.AddLaw RmultDl RmultDr.

Notation "\rsum_ ( i 'in' A ) F" := (\big[Rplus/0%R]_(i in A) F%R)
  (at level 41, F at level 41, i, A at level 50) : R_scope.
Notation "\rsum_ i F" := (\big[Rplus/0%R]_i F%R) (at level 41, F at level 41, i at level 0) : R_scope.
Notation "\rsum_ ( i | P ) F" := (\big[Rplus/0%R]_(i | P) F%R)
  (at level 41, F at level 41, i at level 50) : R_scope.

Section Sums.
Variables (I : Type) (r : seq I) (P : pred I).
Lemma rsum_le (F G : I -> R) : (forall i, P i -> F i <= G i) ->
  \big[Rplus/0]_(i <- r | P i) F i <= \big[Rplus/0]_(i <- r | P i) G i.
Proof. move=> H; elim/big_ind2: _ => //; [lra | move=> *; lra]. Qed.
Lemma rsum_ge0 (F : I -> R) : (forall i, P i -> 0 <= F i) -> 0 <= \big[Rplus/0]_(i <- r | P i) F i.
Proof. move=> H; elim/big_ind: _ => //; [lra | move=> *; lra]. Qed.
Lemma rsum_scale c (F : I -> R) :
  \big[Rplus/0]_(i <- r | P i) (c * F i) = c * \big[Rplus/0]_(i <- r | P i) F i.
Proof. by rewrite big_distrr. Qed.
Lemma rprod_ge0 (F : I -> R) : (forall i, P i -> 0 <= F i) -> 0 <= \big[Rmult/1]_(i <- r | P i) F i.
Proof. move=> H; elim/big_ind: _ => //; [lra | move=> *; exact: Rmult_le_pos]. Qed.
Lemma rprod_le (F G : I -> R) : (forall i, P i -> 0 <= F i <= G i) ->
  \big[Rmult/1]_(i <- r | P i) F i <= \big[Rmult/1]_(i <- r | P i) G i.
Proof.
move=> H; suff: 0 <= \big[Rmult/1]_(i <- r | P i) F i <= \big[Rmult/1]_(i <- r | P i) G i by case.
elim/big_ind2: _ => //; [lra | move=> x1 x2 y1 y2 [? ?] [? ?]; split; [exact: Rmult_le_pos | exact: Rmult_le_compat]].
Qed.
Lemma rprod_le1 (F : I -> R) : (forall i, P i -> 0 <= F i <= 1) -> 0 <= \big[Rmult/1]_(i <- r | P i) F i <= 1.
Proof. move=> H; elim/big_ind: _ => //; [lra | move=> x y ? ?; nra]. Qed.
End Sums.

Lemma rsum_gt0 (I : finType) (F : I -> R) (i0 : I) : (forall i, 0 < F i) -> 0 < \rsum_i F i.
Proof.
move=> H; rewrite (bigD1 i0) //=.
have := H i0; have : 0 <= \rsum_(i | i != i0) F i by apply: rsum_ge0 => i _; apply: Rlt_le.
lra.
Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. case=> [H|->]; [exact/Rlt_le/exp_increasing | exact: Rle_refl]. Qed.
Lemma exp_div x y : exp x / exp y = exp (x - y).
Proof. by rewrite /Rdiv -exp_Ropp -exp_plus. Qed.

(* Distributions on a finite set *)
Definition distribution (T : finType) (P : T -> R) := (forall o, 0 <= P o) /\ \rsum_o P o = 1.
Definition prob (T : finType) (P : T -> R) (S : {set T}) := \rsum_(o in S) P o.
(* Definition 10, pure: for events; Definition 13: log ratios of outcomes in one window of width eps *)
Definition pure (T : finType) eps (P Q : T -> R) := forall S : {set T}, prob P S <= exp eps * prob Q S.
Definition pureDP (T : finType) eps (P Q : T -> R) := pure eps P Q /\ pure eps Q P.
Definition brange (T : finType) eps (P Q : T -> R) :=
  exists t, forall o, exp (t - eps) * Q o <= P o <= exp t * Q o.

Lemma pointwise_pure (T : finType) eps (P Q : T -> R) : (forall o, P o <= exp eps * Q o) -> pure eps P Q.
Proof. by move=> H S; rewrite /prob -rsum_scale; apply: rsum_le. Qed.
Lemma pure_pointwise (T : finType) eps (P Q : T -> R) : pure eps P Q -> forall o, P o <= exp eps * Q o.
Proof. by move=> H o; have := H [set o]; rewrite /prob !big_set1. Qed.

(* Definition 13: the window contains 0, so bounded range implies pure DP, in both orders. *)
Lemma brange_window (T : finType) eps (P Q : T -> R) : distribution P -> distribution Q -> 0 <= eps -> brange eps P Q ->
  exists t, 0 <= t <= eps /\ forall o, exp (t - eps) * Q o <= P o <= exp t * Q o.
Proof.
move=> [_ P1] [Q0 Q1] e0 [t H]; exists t; split=> //.
have lo : exp (t - eps) <= 1.
  have : exp (t - eps) * (\rsum_o Q o) <= \rsum_o P o by rewrite -rsum_scale; apply: rsum_le => o _; case: (H o).
  by rewrite P1 Q1; lra.
have hi : 1 <= exp t.
  have : (\rsum_o P o) <= exp t * (\rsum_o Q o) by rewrite -rsum_scale; apply: rsum_le => o _; case: (H o).
  by rewrite P1 Q1; lra.
split; apply: Rnot_lt_le => h.
- by have := exp_increasing _ _ h; rewrite exp_0; lra.
- have /exp_increasing : 0 < t - eps by lra.
  by rewrite exp_0; lra.
Qed.

Lemma brange_sym (T : finType) eps (P Q : T -> R) : brange eps P Q -> brange eps Q P.
Proof.
move=> [t H]; exists (eps - t) => o; have [lo hi] := H o; split.
- have -> : eps - t - eps = - t by ring.
  rewrite exp_Ropp; have tp := exp_pos t; apply: (Rmult_le_reg_l (exp t)) => //.
  by rewrite -Rmult_assoc Rinv_r; lra.
- have -> : eps - t = - (t - eps) by ring.
  rewrite exp_Ropp; have tp := exp_pos (t - eps); apply: (Rmult_le_reg_l (exp (t - eps))) => //.
  by rewrite -Rmult_assoc Rinv_r; lra.
Qed.

Theorem brange_pure (T : finType) eps (P Q : T -> R) : distribution P -> distribution Q -> 0 <= eps ->
  brange eps P Q -> pureDP eps P Q.
Proof.
have half (A B : T -> R) : distribution A -> distribution B -> 0 <= eps -> brange eps A B -> pure eps A B.
  move=> lA lB e0 /(brange_window lA lB e0) [t [[t0 te] H]]; apply: pointwise_pure => o.
  case: (H o) => _ hi; apply: Rle_trans hi _; apply: Rmult_le_compat_r; [by case: lB | exact: exp_le].
by move=> lP lQ e0 H; split; apply: half => //; exact: brange_sym.
Qed.

(* post-processing *)
Definition push (T U : finType) (f : T -> U) (P : T -> R) (u : U) := \rsum_(o | f o == u) P o.
Lemma push_pure (T U : finType) (f : T -> U) eps (P Q : T -> R) : pure eps P Q -> pure eps (push f P) (push f Q).
Proof.
by move=> /pure_pointwise H; apply: pointwise_pure => u; rewrite /push -rsum_scale; apply: rsum_le.
Qed.
