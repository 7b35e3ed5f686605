(* Theorem 170 for exponential noise: a race whose winner is followed by an approximately private release, and guarded
   top-k with any ((1 - a) eps, delta)-DP release after the guard. *)
From mathcomp Require Import binomial.
From Shortlist Require Import Base Scores Shifting Canonical Race RaceTotal OneShot Guarded Renyi.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Followed.
Variables (C O : finType) (c0 : C) (h : C -> R) (eps delta : R).
Hypotheses (h01 : forall c, 0 < h c <= 1) (eps0 : 0 <= eps) (delta0 : 0 <= delta).
Definition followed (v : C -> R) (Y : C -> O -> R) (o : C * O) := win h v o.1 * Y o.1 o.2.
Theorem theorem170 v v' (Y Y' : C -> O -> R) : moves_within eps v v' ->
  (forall c, distribution (Y c) /\ distribution (Y' c)) -> (forall c, approxDP ((1 - h c) * eps) delta (Y c) (Y' c)) ->
  approxDP eps delta (followed v Y) (followed v' Y').
Proof.
have h0 c : 0 < h c by case: (h01 c).
have half (x y : C -> R) (A B : C -> O -> R) : moves_within eps x y -> (forall c o, 0 <= A c o) ->
    (forall c, approx ((1 - h c) * eps) delta (B c) (A c)) -> approx eps delta (followed y B) (followed x A).
  move=> M A0 H S; rewrite /prob.
  have parts (F : C * O -> R) : \rsum_(p in S) F p = \rsum_c \big[Rplus/0]_(o | (c, o) \in S) F (c, o).
    by rewrite pair_big_dep /=; apply: eq_big => [[c o]|[c o] _].
  have [w0 w1] := race_distribution y c0 h0.
  rewrite !parts -rsum_scale -[delta]Rmult_1_l -w1 big_distrl -big_split /=; apply: rsum_le => c _.
  pose Sc := [set o | (c, o) \in S].
  have := H c Sc; rewrite /prob.
  have inSc (F : O -> R) : \big[Rplus/0]_(o | (c, o) \in S) F o = \rsum_(o in Sc) F o.
    by apply: eq_bigl => o; rewrite inE.
  rewrite /followed /= !rsum_scale !inSc => Hc.
  have p0 : 0 <= \rsum_(o in Sc) A c o by apply: rsum_ge0 => o _; exact: A0.
  have R := race_hazard h0 c eps0 M.
  have e1 : exp eps = exp (h c * eps) * exp ((1 - h c) * eps) by rewrite -exp_plus; congr exp; ring.
  have s1 := Rmult_le_compat_l _ _ _ (w0 c) Hc.
  have s2 : win h y c * (exp ((1 - h c) * eps) * \rsum_(o in Sc) A c o) <=
            exp (h c * eps) * win h x c * (exp ((1 - h c) * eps) * \rsum_(o in Sc) A c o).
    by apply: Rmult_le_compat_r => //; apply: Rmult_le_pos => //; exact/Rlt_le/exp_pos.
  rewrite e1; lra.
move=> M D H; split; apply: half => //; try exact: moves_within_sym.
- by move=> c o; case: (D c) => _ [].
- by move=> c; case: (H c).
- by move=> c o; case: (D c) => [[]].
- by move=> c; case: (H c).
Qed.
End Followed.

Section Guarded.
Variables (T : finType) (k : nat) (g a tau r eps delta : R) (junk : {set 'I_k * 'I_(#|T| - k)}).
Hypotheses (k0 : (0 < k)%N) (kd : (k < #|T|)%N) (g01 : 0 <= g <= 1) (a01 : 0 < a <= 1) (r0 : 0 < r) (eps0 : 0 <= eps)
  (delta0 : 0 <= delta) (junk0 : junk != set0).
(* what follows the guard: Y x *)
Variables (U : finType) (Y : (T -> R) -> U -> R).
Hypothesis DY : forall x, distribution (Y x).
Definition guarded_by x (o : kset T k + U) : R :=
  match o with
  | inl y => win (hazard a (k := k)) (value g tau r eps junk x) (Some y)
  | inr u => win (hazard a (k := k)) (value g tau r eps junk x) None * Y x u
  end.
Theorem theorem170_guarded x x' : moves_within r x x' -> approxDP ((1 - a) * eps) delta (Y x) (Y x') ->
  approxDP eps delta (guarded_by x) (guarded_by x').
Proof.
have h0 (c : option (kset T k)) : 0 < hazard a c by case: c => [y|] /=; lra.
have half z z' : moves_within r z z' -> approx ((1 - a) * eps) delta (Y z') (Y z) ->
    approx eps delta (guarded_by z') (guarded_by z).
  move=> H HY S; rewrite /prob !big_sumType /=.
  have M := value_moves tau k0 kd g01 r0 eps0 junk0 H.
  have [w0 w1] := race_distribution (value g tau r eps junk z') None h0.
  have wle : win (hazard a (k := k)) (value g tau r eps junk z') None <= 1.
    rewrite -[X in _ <= X]w1 (bigD1 None) //= -[X in X <= _]Rplus_0_r; apply: Rplus_le_compat_l.
    by apply: rsum_ge0 => c _; exact: w0.
  have sets : \big[Rplus/0]_(y | inl y \in S) win (hazard a (k := k)) (value g tau r eps junk z') (Some y) <=
      exp eps * \big[Rplus/0]_(y | inl y \in S) win (hazard a (k := k)) (value g tau r eps junk z) (Some y).
    by rewrite -rsum_scale; apply: rsum_le => y _; have := race_hazard h0 (Some y) eps0 M; rewrite /= Rmult_1_l.
  pose Su := [set u | inr u \in S].
  have inSu (F : U -> R) : \big[Rplus/0]_(u | inr u \in S) F u = \rsum_(u in Su) F u by apply: eq_bigl => u;
    rewrite inE.
  rewrite !rsum_scale !inSu; have := HY Su; rewrite /prob => Hu.
  have R := race_hazard h0 None eps0 M; rewrite /= in R.
  have p0 : 0 <= \rsum_(u in Su) Y z u by apply: rsum_ge0 => u _; case: (DY z).
  have e1 : exp eps = exp (a * eps) * exp ((1 - a) * eps) by rewrite -exp_plus; congr exp; ring.
  have s1 := Rmult_le_compat_l _ _ _ (w0 None) Hu.
  have s2 : win (hazard a (k := k)) (value g tau r eps junk z') None * (exp ((1 - a) * eps) * \rsum_(u in Su) Y z u) <=
      exp (a * eps) * win (hazard a (k := k)) (value g tau r eps junk z) None * (exp ((1 - a) * eps) * \rsum_(u in Su)
        Y z u).
    by apply: Rmult_le_compat_r => //; apply: Rmult_le_pos => //; exact/Rlt_le/exp_pos.
  have s3 : win (hazard a (k := k)) (value g tau r eps junk z') None * delta <= delta by nra.
  rewrite Rmult_plus_distr_l {2}e1 Rplus_assoc; apply: Rplus_le_compat; first exact: sets.
  apply: Rle_trans s1 _; rewrite Rmult_plus_distr_l; apply: Rle_trans (Rplus_le_compat _ _ _ _ s2 s3) _.
  apply: Req_le; rewrite Rmult_assoc (Rmult_assoc (exp (a * eps)) (exp _)); congr (_ * _ + _).
  by rewrite -!Rmult_assoc; congr (_ * _); exact: Rmult_comm.
by move=> H [h1 h2]; split; apply: half => //; exact: moves_within_sym.
Qed.
End Guarded.
