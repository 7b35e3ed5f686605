(* Winners and sets under any noise of hazard at most 1: Theorems 51, 59, 63, 71 and 241.

   The noise of candidate i is any real random variable, given by its survival function S_i(t) = P[N_i > t]; nothing
   is assumed of it but that it is one and that its hazard is at most h_i. How probabilities are stated: a set y of
   candidates wins if each of its members finishes above Z, the largest finish outside y. Z has the distribution
   function G(z) = prod_{j not in y} (1 - S_j(z - s_j)); with its quantile function q and U uniform on (0, 1), q(U)
   has the distribution of Z, and it is independent of the noise inside y. So

       P[y wins] = Int_0^1 prod_{i in y} S_i(q(u) - s_i) du.

   One winner is the case y = {i}: then q(U) is the threshold of the proof of Theorem 51. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Shifting Canonical Monotone.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* Definition 7 *)
Definition survival (S : R -> R) :=
  [/\ forall t, 0 <= S t <= 1, forall t t', t <= t' -> S t' <= S t,
      (forall e, 0 < e -> exists t, 1 - e < S t) & (forall e, 0 < e -> exists t, S t < e)].
Definition hazard_at_most (h : R) (S : R -> R) := forall t c, 0 <= c -> exp (- (h * c)) * S t <= S (t + c).

Section Noise.
Variables (T : finType) (S : T -> R -> R).
Hypothesis survives : forall i, survival (S i).
Implicit Types (s : T -> R) (y : {set T}).
(* the largest finish outside y: its distribution function and its quantile function *)
Definition below s y (z : R) := \big[Rmult/1]_(j | j \notin y) (1 - S j (z - s j)).
Definition quantile s y (u : R) := real (Lub_Rbar (fun z => below s y z < u)).
(* that all members of y finish above z *)
Definition above s y (z : R) := \big[Rmult/1]_(i in y) S i (z - s i).
Definition set_wins s y := RInt (fun u => above s y (quantile s y u)) 0 1.

Lemma S01 i t : 0 <= S i t <= 1. Proof. by case: (survives i). Qed.
Lemma below_range s y z : 0 <= below s y z <= 1.
Proof. by apply: rprod_le1 => j _; have := S01 j (z - s j); lra. Qed.
Lemma below_mono s y z z' : z <= z' -> below s y z <= below s y z'.
Proof.
move=> zz; apply: rprod_le => j _; have := S01 j (z - s j); case: (survives j) => _ m _ _.
by have := m (z - s j) (z' - s j); lra.
Qed.
Lemma above_range s y z : 0 <= above s y z <= 1.
Proof. by apply: rprod_le1 => j _; have := S01 j (z - s j); lra. Qed.
Lemma above_mono s y z z' : z <= z' -> above s y z' <= above s y z.
Proof.
move=> zz; apply: rprod_le => j _; have := S01 j (z' - s j); case: (survives j) => _ m _ _.
by have := m (z - s j) (z' - s j); lra.
Qed.
(* the quantiles are finite *)
Lemma below_small s y : (exists j, j \notin y) -> forall u, 0 < u -> exists z, below s y z < u.
Proof.
move=> [j jy] u u0; case: (survives j) => r m h _; have [t ht] := h u u0; exists (t + s j).
rewrite /below (bigD1 j) //=; have -> : t + s j - s j = t by ring.
have := @rprod_le1 T (index_enum T) (fun i => (i \notin y) && (i != j)) (fun i => 1 - S i (t + s j - s i)).
move=> H; have {H} : 0 <= \big[Rmult/1]_(i | (i \notin y) && (i != j)) (1 - S i (t + s j - s i)) <= 1.
  by apply: H => i _; have := S01 i (t + s j - s i); lra.
by have := r t; nra.
Qed.
Lemma below_large s y u : u < 1 -> exists z, u <= below s y z.
Proof.
move=> u1; rewrite /below.
suff H (l : seq T) (P : pred T) e : 0 < e -> exists z, 1 - e <= \big[Rmult/1]_(j <- l | P j) (1 - S j (z - s j)).
  by have [|z hz] := H (index_enum T) (fun j => j \notin y) (1 - u); [lra | exists z; lra].
elim: l e => [|a l IH] e e0; first by exists 0; rewrite big_nil; lra.
have [|z1 h1] := IH (e / 2); first lra.
case: (survives a) => r m _ h; have [|t ht] := h (e / 2); first lra.
exists (Rmax z1 (t + s a)); rewrite big_cons.
set p := \big[_/_]_(j <- l | _) _; have p1 : 0 <= p <= 1.
  by apply: rprod_le1 => j _; have := S01 j (Rmax z1 (t + s a) - s j); lra.
have hp : 1 - e / 2 <= p.
  apply: Rle_trans h1 _; apply: rprod_le => j _; have := S01 j (z1 - s j).
  case: (survives j) => _ mj _ _; have := mj (z1 - s j) (Rmax z1 (t + s a) - s j); have := Rmax_l z1 (t + s a); lra.
case: (P a); last by lra.
have : S a (Rmax z1 (t + s a) - s a) <= S a t by apply: m; have := Rmax_r z1 (t + s a); lra.
by have := r (Rmax z1 (t + s a) - s a); nra.
Qed.
Section Outside.
Variable y : {set T}.
Hypothesis outside : exists j, j \notin y.
Lemma quantile_lub s u : 0 < u < 1 -> is_lub (fun z => below s y z < u) (quantile s y u).
Proof.
move=> u01; have [z0 h0] := below_small s outside (proj1 u01); have [z1 h1] := below_large s y (proj2 u01).
have bd : bound (fun z => below s y z < u).
  exists z1 => z hz; apply: Rnot_lt_le => h; have := below_mono s y (Rlt_le _ _ h); lra.
have [l hl] := completeness _ bd (ex_intro _ z0 h0).
rewrite /quantile (is_lub_Rbar_unique _ (Finite l)) //.
case: hl => ub lb; split=> [z hz|b hb]; first exact: ub.
case: b hb => [b||] hb //=; last exact: (hb z0 h0).
by apply: lb => z hz; exact: (hb z hz).
Qed.
Lemma quantile_mono s u v : 0 < u -> u <= v -> v < 1 -> quantile s y u <= quantile s y v.
Proof.
move=> u0 uv v1; have [|_ lb] := @quantile_lub s u; first lra.
by have [|ub _] := @quantile_lub s v; first lra; apply: lb => z hz; apply: ub; lra.
Qed.
Lemma set_wins_int s : ex_RInt (fun u => above s y (quantile s y u)) 0 1.
Proof.
apply: falling_integrable => [u v u0 uv v1|u _]; last exact: above_range.
by apply: above_mono; exact: quantile_mono.
Qed.
(* if the scores outside rise by at most b + r, the quantiles do *)
Lemma quantile_shift s s' c u : 0 < u < 1 -> (forall j, s' j <= s j + c) -> quantile s' y u <= quantile s y u + c.
Proof.
move=> u01 H; have [_ lb] := quantile_lub s' u01; have [ub _] := quantile_lub s u01.
apply: lb => z hz; suff : z - c <= quantile s y u by lra.
apply: ub; apply: Rle_lt_trans hz; apply: rprod_le => j _; have := S01 j (z - c - s j).
case: (survives j) => _ m _ _; have := m (z - c - s j) (z - s' j); have := H j; lra.
Qed.
(* the core of Theorems 51, 59 and 71: members with hazards h_i, scores that move within an interval of length r *)
Theorem set_hazard (h : T -> R) r s s' : (forall i, i \in y -> hazard_at_most (h i) (S i)) ->
  (forall i, i \in y -> 0 <= h i) -> moves_within r s s' ->
  set_wins s y <= exp (r * \rsum_(i in y) h i) * set_wins s' y.
Proof.
move=> hz h0 [b H].
have step u : 0 < u < 1 -> above s y (quantile s y u) <= exp (r * \rsum_(i in y) h i) * above s' y (quantile s' y u).
  move=> u01; have q : quantile s' y u <= quantile s y u + (b + r).
    by apply: quantile_shift => // j; have := H j; lra.
  have e (z : R) : exp (r * \rsum_(i in y) h i) * \big[Rmult/1]_(i in y) S i (z - s' i) =
                   \big[Rmult/1]_(i in y) (exp (r * h i) * S i (z - s' i)).
    rewrite big_split /=; congr (_ * _); rewrite -rsum_scale.
    by elim/big_rec2: _ => [|i u1 u2 _ <-]; [exact: exp_0 | exact: exp_plus].
  rewrite /above e; apply: rprod_le => i iy; split; first by case: (S01 i (quantile s y u - s i)).
  have hi := h0 i iy; have Hi := H i; set c := r - (s' i - s i - b).
  have c0 : 0 <= c <= r by rewrite /c; lra.
  case: (survives i) => rng m _ _.
  have h1 := hz i iy (quantile s y u - s i) c (proj1 c0).
  have h2 : S i (quantile s y u - s i + c) <= S i (quantile s' y u - s' i) by apply: m; rewrite /c; lra.
  have h3 : exp (- (h i * r)) <= exp (- (h i * c)) by apply: exp_le; nra.
  have h4 : exp (r * h i) * exp (- (h i * r)) = 1 by rewrite -exp_plus -exp_0; congr exp; ring.
  have h5 := exp_pos (r * h i); have h6 := rng (quantile s y u - s i); have h7 := exp_pos (- (h i * r)).
  set p := S i (quantile s y u - s i) in h1 h6 *; set p' := S i (quantile s' y u - s' i) in h2 *.
  have h8 : exp (- (h i * r)) * p <= p' by nra.
  by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ h5) h8; rewrite -Rmult_assoc h4; lra.
have sc : RInt (fun u => exp (r * \rsum_(i in y) h i) * above s' y (quantile s' y u)) 0 1 =
          exp (r * \rsum_(i in y) h i) * RInt (fun u => above s' y (quantile s' y u)) 0 1.
  by apply: (RInt_scal (V := R_CompleteNormedModule)); exact: set_wins_int.
rewrite /set_wins -sc; apply: RInt_le => //; [lra | exact: set_wins_int | ].
by apply: (ex_RInt_scal (V := R_NormedModule)); exact: set_wins_int.
Qed.
End Outside.

(* one winner, out of at least two candidates *)
Definition wins s i := set_wins s [set i].
Hypothesis two : forall i : T, exists j, j != i.
Lemma another (i : T) : exists j, j \notin [set i].
Proof. by have [j ji] := two i; exists j; rewrite inE. Qed.
(* Theorem 71, its first claim *)
Theorem theorem71_winner (h : T -> R) eps s s' i : hazard_at_most (h i) (S i) -> 0 <= h i -> moves_within eps s s' ->
  wins s' i <= exp (h i * eps) * wins s i.
Proof.
move=> hz h0 /moves_within_sym M; have := set_hazard (another i) (h := h) _ _ M; rewrite big_set1 (Rmult_comm eps).
by apply=> j; rewrite inE => /eqP ->.
Qed.
(* Theorem 51: s is eps x / R, with public offsets (Theorem 241, its last sentence) *)
Theorem theorem51_units eps s s' : (forall i, hazard_at_most 1 (S i)) -> moves_within eps s s' ->
  pureDP eps (wins s) (wins s').
Proof.
have half a b : (forall i, hazard_at_most 1 (S i)) -> moves_within eps a b -> pure eps (wins b) (wins a).
  move=> hz M; apply: pointwise_pure => i.
  by have := @theorem71_winner (fun _ => 1) eps a b i (hz i) Rle_0_1 M; rewrite Rmult_1_l.
by move=> hz M; split; apply: half => //; exact: moves_within_sym.
Qed.
Theorem theorem51 eps r (w x x' : T -> R) : 0 < r -> 0 <= eps -> (forall i, hazard_at_most 1 (S i)) ->
  moves_within r x x' ->
  pureDP eps (wins (fun i => eps / r * x i + w i)) (wins (fun i => eps / r * x' i + w i)).
Proof.
move=> r0 e0 hz M; apply: theorem51_units => //; apply: moves_within_offset.
have -> : eps = eps / r * r by field; lra.
have -> : eps / r * r / r = eps / r by field; lra.
by apply: moves_within_scale => //; rewrite /Rdiv; apply: Rmult_le_pos => //; exact/Rlt_le/Rinv_0_lt_compat.
Qed.
(* Theorem 71: the victory of c is followed by a release with a distribution of its own *)
Definition followed (O : finType) s (Y : T -> O -> R) (o : T * O) := wins s o.1 * Y o.1 o.2.
Lemma wins_ge0 s i : 0 <= wins s i.
Proof.
apply: RInt_ge_0; [lra | exact: set_wins_int (another i) s | move=> u _].
by case: (above_range s [set i] (quantile s [set i] u)).
Qed.
Theorem theorem71 (O : finType) (h : T -> R) eps s s' (Y Y' : T -> O -> R) :
  (forall c, 0 <= h c <= 1) -> (forall c, hazard_at_most (h c) (S c)) -> moves_within eps s s' ->
  (forall c, distribution (Y c) /\ distribution (Y' c)) -> (forall c, pureDP ((1 - h c) * eps) (Y c) (Y' c)) ->
  pureDP eps (followed s Y) (followed s' Y').
Proof.
have half (a b : T -> R) (A B : T -> O -> R) : (forall c, 0 <= h c <= 1) -> (forall c, hazard_at_most (h c) (S c)) ->
    moves_within eps a b -> (forall c o, 0 <= B c o) -> (forall c, pure ((1 - h c) * eps) (B c) (A c)) ->
    pure eps (followed b B) (followed a A).
  move=> h01 hz M B0 HY; apply: pointwise_pure => -[c o]; rewrite /followed /=.
  have -> : eps = h c * eps + (1 - h c) * eps by ring.
  rewrite exp_plus; have R1 := theorem71_winner (h := h) (hz c) (proj1 (h01 c)) M.
  have R2 := pure_pointwise (HY c) o.
  apply: Rle_trans (Rmult_le_compat _ _ _ _ (wins_ge0 b c) (B0 c o) R1 R2) _; apply: Req_le; ring.
move=> h01 hz M D HY; split; apply: half => //; try exact: moves_within_sym.
- by move=> c o; case: (D c) => [[p _] _].
- by move=> c; case: (HY c).
- by move=> c o; case: (D c) => [_ [p _]].
- by move=> c; case: (HY c).
Qed.
End Noise.

(* Theorem 59: the sets of k. s is x over the scale k R / eps, so scores move within eps / k. *)
Section Sets.
Variables (T : finType) (S : T -> R -> R) (k : nat).
Hypothesis survives : forall i, survival (S i).
Hypothesis hazard1 : forall i, hazard_at_most 1 (S i).
Hypothesis k0 : (0 < k)%N.
Hypothesis kd : (k < #|T|)%N.
Definition best_set s (y : kset T k) := set_wins S s (val y).
Theorem theorem59 eps r (x x' : T -> R) : 0 < r -> 0 <= eps -> moves_within r x x' ->
  pureDP eps (best_set (fun i => x i / (INR k * r / eps))) (best_set (fun i => x' i / (INR k * r / eps))).
Proof.
have kp : 0 < INR k by apply: lt_0_INR; exact/ltP.
have half s s' : moves_within (eps / INR k) s s' -> pure eps (best_set s) (best_set s').
  move=> M; apply: pointwise_pure => y; rewrite /best_set.
  have out : exists j, j \notin val y.
    by have /set0Pn [j] := kset_c0 kd y; rewrite inE; exists j.
  have := set_hazard survives out (h := fun _ => 1) (fun i _ => hazard1 i) (fun _ _ => Rle_0_1) M.
  have -> : \rsum_(i in val y) 1 = INR k.
    rewrite big_const; have -> : #|val y| = k by apply/eqP; case: y {out}.
    by elim: k => // n IH; rewrite iterS IH S_INR; ring.
  by have -> : eps / INR k * INR k = eps by field; lra.
move=> r0 e0 M.
have M' : moves_within (eps / INR k) (fun i => x i / (INR k * r / eps)) (fun i => x' i / (INR k * r / eps)).
  have e z : z / (INR k * r / eps) = eps / (INR k * r) * z.
    case: e0 => [e0|<-]; first by field; lra.
    by rewrite /Rdiv Rinv_0 !Rmult_0_r Rinv_0; ring.
  have -> : eps / INR k = eps / (INR k * r) * r by field; lra.
  have [b Hb] : moves_within (eps / (INR k * r) * r) (fun i => eps / (INR k * r) * x i) (fun i =>
    eps / (INR k * r) * x' i).
    apply: moves_within_scale => //; rewrite /Rdiv; apply: Rmult_le_pos => //; apply/Rlt_le/Rinv_0_lt_compat; nra.
  by exists b => i; rewrite !e.
by split; apply: half => //; exact: moves_within_sym.
Qed.
End Sets.

(* Theorem 63: canonical sets under any noise of hazard at most 1, one noise for each set *)
Section Canonical.
Variables (T : finType) (k : nat) (g : R).
Hypothesis k0 : (0 < k)%N.
Hypothesis kd : (k < #|T|)%N.
Hypothesis g01 : 0 <= g <= 1.
Variable S : kset T k -> R -> R.
Hypothesis survives : forall y, survival (S y).
Hypothesis hazard1 : forall y, hazard_at_most 1 (S y).
Lemma two_sets (y : kset T k) : exists y' : kset T k, y' != y.
Proof.
have /set0Pn [a ay] := kset_n0 k0 y; have /set0Pn [b] := kset_c0 kd y; rewrite inE => by_.
have c : #|b |: (val y :\ a)| == k.
  rewrite cardsU1 !inE (negbTE by_) andbF /=; have := cardsD1 a (val y).
  by rewrite ay; case: y {ay by_} => y /= /eqP -> <-.
exists (exist _ (b |: (val y :\ a)) c); apply/eqP => /(congr1 val) /= e.
have h : b \in sval y by rewrite -e !inE eqxx.
by move/negP: by_; apply.
Qed.
Theorem theorem63_hazard eps r (x x' : T -> R) : 0 < r -> 0 <= eps -> moves_within r x x' ->
  pureDP eps (wins S (fun y => eps / r * u_gap g x y)) (wins S (fun y => eps / r * u_gap g x' y)).
Proof.
move=> r0 e0 M; apply: (theorem51_units survives two_sets hazard1).
have -> : eps = eps / r * r by field; lra.
have -> : eps / r * r / r = eps / r by field; lra.
apply: moves_within_scale; last exact: lipschitz_gap.
by rewrite /Rdiv; apply: Rmult_le_pos => //; exact/Rlt_le/Rinv_0_lt_compat.
Qed.
Theorem theorem63_hazard_paper eps r (x x' : T -> R) : 0 < r -> 0 <= eps -> moves_within r x x' ->
  pureDP eps (wins S (fun y => eps / r * u_paper g x y)) (wins S (fun y => eps / r * u_paper g x' y)).
Proof.
move=> r0 e0 M; apply: (theorem51_units survives two_sets hazard1).
have -> : eps = eps / r * r by field; lra.
have -> : eps / r * r / r = eps / r by field; lra.
apply: moves_within_scale; last exact: lipschitz_paper.
by rewrite /Rdiv; apply: Rmult_le_pos => //; exact/Rlt_le/Rinv_0_lt_compat.
Qed.
End Canonical.
