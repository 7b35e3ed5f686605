(* What may be done with a release: post-processing, with or without coins of its own (any function of the output
   keeps what the output keeps), and Theorem 230 for pure budgets and for zCDP: all groups together cost what the
   groups of one user cost. *)
From Shortlist Require Import Base Noise Renyi.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Post.
Variables T U : finType.
Implicit Types (P Q : T -> R).
Lemma push_distribution (f : T -> U) P : distribution P -> distribution (push f P).
Proof.
move=> [p0 p1]; split=> [u|]; first by apply: rsum_ge0 => o _; exact: p0.
by rewrite -p1 /push [RHS](partition_big f xpredT).
Qed.
Lemma push_pureDP (f : T -> U) eps P Q : pureDP eps P Q -> pureDP eps (push f P) (push f Q).
Proof. by move=> [h h']; split; exact: push_pure. Qed.
(* K o: what is made of the output o, a distribution that does not depend on the data otherwise *)
Definition randomize (K : T -> U -> R) P u := \rsum_o P o * K o u.
Lemma randomize_distribution K P : distribution P -> (forall o, distribution (K o)) -> distribution (randomize K P).
Proof.
move=> [p0 p1] DK; split=> [u|].
  by apply: rsum_ge0 => o _; apply: Rmult_le_pos => //; case: (DK o).
rewrite /randomize exchange_big /= -p1; apply: eq_bigr => o _; rewrite rsum_scale.
by case: (DK o) => _ ->; ring.
Qed.
Theorem randomize_pure eps K P Q : (forall o, distribution (K o)) -> pureDP eps P Q ->
  pureDP eps (randomize K P) (randomize K Q).
Proof.
have half A B : (forall o, distribution (K o)) -> pure eps A B -> pure eps (randomize K A) (randomize K B).
  move=> DK /pure_pointwise H; apply: pointwise_pure => u; rewrite /randomize -rsum_scale; apply: rsum_le => o _.
  by rewrite -Rmult_assoc; apply: Rmult_le_compat_r => //; case: (DK o).
by move=> DK [h h']; split; exact: half.
Qed.
End Post.
Lemma pureDP_le (T : finType) e e' (P Q : T -> R) : distribution P -> distribution Q -> e <= e' ->
  pureDP e P Q -> pureDP e' P Q.
Proof.
have half (A B : T -> R) : distribution B -> e <= e' -> pure e A B -> pure e' A B.
  move=> [b0 _] ee /pure_pointwise H; apply: pointwise_pure => o; apply: Rle_trans (H o) _.
  by apply: Rmult_le_compat_r => //; exact: exp_le.
by move=> DP DQ ee [h h']; split; apply: half.
Qed.
(* a release that ignores the data: all candidates, where k = d *)
Lemma constant_pure (T : finType) (P : T -> R) : pureDP 0 P P.
Proof. by split; apply: pointwise_pure => o; rewrite exp_0; lra. Qed.

(* Theorem 230, pure budgets. G: the groups; O: the outputs of all groups (a disjoint union, where they differ in
   kind). *)
Section Groups.
Variables G O : finType.
Definition product (P : G -> O -> R) (f : {ffun G -> O}) := \big[Rmult/1]_g P g (f g).
Lemma product_distribution P : (forall g, distribution (P g)) -> distribution (product P).
Proof.
move=> D; split=> [f|]; first by apply: rprod_ge0 => g _; case: (D g).
rewrite /product -(bigA_distr_bigA P) /= big1 // => g _; by case: (D g).
Qed.
Lemma product_pure (e : G -> R) P Q : (forall g, distribution (P g)) -> (forall g, distribution (Q g)) ->
  (forall g, pureDP (e g) (P g) (Q g)) -> pureDP (\rsum_g e g) (product P) (product Q).
Proof.
have half A B : (forall g, distribution (A g)) -> (forall g, distribution (B g)) ->
    (forall g, pure (e g) (A g) (B g)) -> pure (\rsum_g e g) (product A) (product B).
  move=> DA DB H; apply: pointwise_pure => f; rewrite /product.
  have -> : exp (\rsum_g e g) * (\big[Rmult/1]_g B g (f g)) = \big[Rmult/1]_g (exp (e g) * B g (f g)).
    rewrite big_split /=; congr (_ * _); elim/big_rec2: _ => [|g u1 u2 _ <-]; [exact: exp_0 | exact: exp_plus].
  by apply: rprod_le => g _; split; [case: (DA g) | exact: pure_pointwise (H g) (f g)].
by move=> DP DQ H; split; apply: half => // g; case: (H g).
Qed.
(* x g: the scores of group g, of any type; M g: its mechanism, which looks at nothing else. One user moves the scores
   of the groups in A, at most m of them. *)
Theorem theorem230_pure (X : Type) (M : G -> X -> O -> R) (x x' : G -> X) (A : {set G}) m eps : 0 <= eps ->
  (forall g y, distribution (M g y)) -> (#|A| <= m)%N -> (forall g, g \notin A -> x g = x' g) ->
  (forall g, g \in A -> pureDP eps (M g (x g)) (M g (x' g))) ->
  [/\ distribution (product (fun g => M g (x g))), distribution (product (fun g => M g (x' g))) &
      pureDP (INR m * eps) (product (fun g => M g (x g))) (product (fun g => M g (x' g)))].
Proof.
move=> e0 D Am out inside.
have DP := @product_distribution (fun g => M g (x g)) (fun g => D g _).
have DQ := @product_distribution (fun g => M g (x' g)) (fun g => D g _).
split=> //; have H g : pureDP (if g \in A then eps else 0) (M g (x g)) (M g (x' g)).
  by case: ifP => [/inside //|/negbT /out ->]; exact: constant_pure.
apply: pureDP_le (product_pure (fun g => D g _) (fun g => D g _) H) => //.
rewrite -big_mkcond big_const; have -> : iter #|A| (Rplus eps) 0 = INR #|A| * eps.
  by elim: #|A| => [|n IH]; [rewrite /=; ring | rewrite iterS IH S_INR; ring].
by apply: Rmult_le_compat_r => //; apply: le_INR; exact/leP.
Qed.

(* zCDP: the moment of a product is the product of the moments *)
Lemma product_zero P (f : {ffun G -> O}) : product P f = 0 -> exists g, P g (f g) = 0.
Proof.
move=> z; apply: Classical_Prop.NNPP => none; move: z; rewrite /product.
suff : \big[Rmult/1]_g P g (f g) <> 0 by [].
elim/big_ind: _ => [|x y x0 y0|g _]; [lra | exact: Rmult_integral_contrapositive_currified |].
by move=> e; apply: none; exists g.
Qed.
Lemma product_moment a P Q : (forall g, distribution (P g)) -> (forall g, distribution (Q g)) ->
  (forall g, dominated (P g) (Q g)) -> moment a (product P) (product Q) = \big[Rmult/1]_g moment a (P g) (Q g).
Proof.
move=> DP DQ D; rewrite /moment (bigA_distr_bigA (fun g o => P g o * exp ((a - 1) * loss (P g) (Q g) o))) /=.
apply: eq_bigr => f _; rewrite big_split /=.
case: (Req_dec (product P f) 0) => [z|nz]; first by rewrite -/(product P f) z; ring.
congr (_ * _).
have pos g : 0 < P g (f g) /\ 0 < Q g (f g).
  have pn : P g (f g) <> 0 by move=> z; case: nz; rewrite /product (bigD1 g) //= z; ring.
  split; first by case: (DP g) => p _; have := p (f g); lra.
  by case: (DQ g) => q _; have := q (f g); case=> // e; case: pn; apply: D.
have ln_prod (F : G -> R) : (forall g, 0 < F g) -> ln (\big[Rmult/1]_g F g) = \rsum_g ln (F g).
  move=> F0; suff [_ ->] : 0 < \big[Rmult/1]_g F g /\ ln (\big[Rmult/1]_g F g) = \rsum_g ln (F g) by [].
  elim/big_rec2: _ => [|g u v _ [v0 <-]]; first by split; [lra | exact: ln_1].
  by split; [exact: Rmult_lt_0_compat | rewrite ln_mult].
have -> : \big[Rmult/1]_g exp ((a - 1) * loss (P g) (Q g) (f g)) = exp (\rsum_g ((a - 1) * loss (P g) (Q g) (f g))).
  by elim/big_rec2: _ => [|g u v _ ->]; [rewrite exp_0 | rewrite exp_plus].
rewrite rsum_scale; congr (exp (_ * _)); rewrite /loss.
have pp : 0 < product P f.
  by rewrite /product; elim/big_ind: _ => [|x y|g _]; [lra | exact: Rmult_lt_0_compat | case: (pos g)].
have qq : 0 < product Q f.
  by rewrite /product; elim/big_ind: _ => [|x y|g _]; [lra | exact: Rmult_lt_0_compat | case: (pos g)].
rewrite /Rdiv ln_mult ?ln_Rinv //; last exact: Rinv_0_lt_compat.
rewrite /product !ln_prod; try by move=> g; case: (pos g).
have -> : \rsum_g ln (P g (f g) * / Q g (f g)) = \rsum_g (ln (P g (f g)) + -1 * ln (Q g (f g))).
  apply: eq_bigr => g _; case: (pos g) => p q; rewrite ln_mult ?ln_Rinv //; [lra | exact: Rinv_0_lt_compat].
by rewrite big_split /= rsum_scale; lra.
Qed.
Lemma product_renyi a (r : G -> R) P Q : (forall g, distribution (P g)) -> (forall g, distribution (Q g)) ->
  (forall g, renyi a (r g) (P g) (Q g)) -> renyi a (\rsum_g r g) (product P) (product Q).
Proof.
move=> DP DQ H; split.
  move=> f /product_zero [g z]; rewrite /product (bigD1 g) //=.
  by have [d _] := H g; rewrite (d (f g) z); ring.
rewrite product_moment // => [|g]; last by case: (H g).
have -> : exp ((a - 1) * (\rsum_g r g)) = \big[Rmult/1]_g exp ((a - 1) * r g).
  by rewrite -rsum_scale; elim/big_rec2: _ => [|g u v _ <-]; [rewrite exp_0 | rewrite exp_plus].
apply: rprod_le => g _; case: (H g) => _ m; split=> //.
apply: rsum_ge0 => o _; apply: Rmult_le_pos; [by case: (DP g) | exact/Rlt_le/exp_pos].
Qed.
Theorem theorem230_zcdp (X : Type) (M : G -> X -> O -> R) (x x' : G -> X) (A : {set G}) m rho : 0 <= rho ->
  (forall g y, distribution (M g y)) -> (#|A| <= m)%N -> (forall g, g \notin A -> x g = x' g) ->
  (forall g, g \in A -> zcdp rho (M g (x g)) (M g (x' g))) ->
  zcdp (INR m * rho) (product (fun g => M g (x g))) (product (fun g => M g (x' g))).
Proof.
have half (y y' : G -> X) a : 0 <= rho -> (forall g z, distribution (M g z)) -> (#|A| <= m)%N ->
    (forall g, g \notin A -> y g = y' g) -> (forall g, g \in A -> renyi a (a * rho) (M g (y g)) (M g (y' g))) ->
    1 < a -> renyi a (a * (INR m * rho)) (product (fun g => M g (y g))) (product (fun g => M g (y' g))).
  move=> r0 D Am out inside a1.
  have H g : renyi a (if g \in A then a * rho else 0) (M g (y g)) (M g (y' g)).
    by case: ifP => [/inside //|/negbT /out ->]; exact: renyi_same.
  have [d h] := product_renyi (fun g => D g _) (fun g => D g _) H; split=> //; apply: Rle_trans h _; apply: exp_le.
  rewrite -big_mkcond big_const; have -> : iter #|A| (Rplus (a * rho)) 0 = INR #|A| * (a * rho).
    by elim: #|A| => [|n IH]; [rewrite /=; ring | rewrite iterS IH S_INR; ring].
  have am : INR #|A| <= INR m by apply: le_INR; exact/leP.
  by apply: Rmult_le_compat_l; [lra | have := Rmult_le_compat_r (a * rho) _ _ ltac:(nra) am; lra].
move=> r0 D Am out inside; split=> a a1; apply: half => //.
- by move=> g /inside [h _]; exact: h.
- by move=> g /out.
- by move=> g /inside [_ h]; exact: h.
Qed.
End Groups.

(* Post-processing keeps Renyi divergences: a function of the output, then coins. *)
Section PostRenyi.
Variables (T U : finType) (a : R).
Hypothesis a1 : 1 < a.
Implicit Types (P Q : T -> R).
(* x^a lies above its tangent at m: for p, q > 0 and the ratio m of the whole *)
Lemma tangent p q m : 0 < p -> 0 < q -> 0 < m ->
  exp ((a - 1) * ln m) * (a * p - (a - 1) * m * q) <= p * exp ((a - 1) * ln (p / q)).
Proof.
move=> p0 q0 m0; set z := ln (p / q) - ln m.
have pq : p = q * (m * exp z).
  have -> : exp z = p / q / m by rewrite /z /Rminus exp_plus exp_Ropp !exp_ln //; exact: Rdiv_lt_0_compat.
  by field; lra.
have -> : exp ((a - 1) * ln (p / q)) = exp ((a - 1) * ln m) * exp ((a - 1) * z).
  by rewrite -exp_plus /z; congr exp; ring.
have E0 := exp_pos ((a - 1) * ln m); rewrite {1 2}pq.
have ai : 0 < / a by apply: Rinv_0_lt_compat; lra.
have ai1 : / a < 1 by rewrite -Rinv_1; apply: Rinv_lt_contravar; lra.
have := @exp_chord (/ a) (- (a * z)) ltac:(lra); rewrite Ropp_involutive.
have -> : - (/ a * - (a * z)) = z by field; lra.
have -> : a * z = z + (a - 1) * z by ring.
rewrite exp_plus; set w := exp z; set v := exp ((a - 1) * z) => H.
have H2 : a * w <= w * v + (a - 1).
  have := Rmult_le_compat_l a _ _ ltac:(lra) H.
  by have -> : a * (/ a * (w * v) + (1 - / a)) = w * v + (a - 1) by [field; lra].
have qm : 0 < q * m by exact: Rmult_lt_0_compat.
have -> : exp ((a - 1) * ln m) * (a * (q * (m * w)) - (a - 1) * m * q) =
          exp ((a - 1) * ln m) * (q * m) * (a * w - (a - 1)) by ring.
have -> : q * (m * w) * (exp ((a - 1) * ln m) * v) = exp ((a - 1) * ln m) * (q * m) * (w * v) by ring.
by apply: Rmult_le_compat_l; [apply: Rmult_le_pos; lra | lra].
Qed.
Theorem push_renyi (f : T -> U) r P Q : distribution P -> distribution Q -> renyi a r P Q ->
  renyi a r (push f P) (push f Q).
Proof.
move=> [p _] [q _] [D M]; have ge (F : T -> R) u : (forall o, 0 <= F o) -> 0 <= push f F u.
  by move=> F0; apply: rsum_ge0 => o _; exact: F0.
have D' : dominated (push f P) (push f Q).
  move=> u z; rewrite /push big1 // => o /eqP fo; apply: D.
  have := q o; have : 0 <= \rsum_(i | (f i == u) && (i != o)) Q i by apply: rsum_ge0 => i _; exact: q.
  by move: z; rewrite /push (bigD1 o) ?fo //=; lra.
split=> //; apply: Rle_trans M; rewrite /moment [X in _ <= X](partition_big f xpredT) //=.
apply: rsum_le => u _; case: (Req_dec (push f P u) 0) => [z|nz].
  rewrite z Rmult_0_l; apply: rsum_ge0 => o _; apply: Rmult_le_pos; [exact: p | exact/Rlt_le/exp_pos].
have pu : 0 < push f P u by have := ge P u p; lra.
have qu : 0 < push f Q u by have := ge Q u q; case=> // e; case: nz; apply: D'.
have lm : loss (push f P) (push f Q) u = ln (push f P u / push f Q u) by [].
rewrite lm; set m := push f P u / push f Q u; have m0 : 0 < m by exact: Rdiv_lt_0_compat.
have point o : exp ((a - 1) * ln m) * (a * P o - (a - 1) * m * Q o) <= P o * exp ((a - 1) * loss P Q o).
  case: (Req_dec (P o) 0) => [->|Pn].
    have := exp_pos ((a - 1) * ln m); have := q o; move=> h1 h2; rewrite Rmult_0_l Rmult_0_r.
    by have h3 : 0 <= (a - 1) * m * Q o by [apply: Rmult_le_pos => //; nra]; nra.
  apply: tangent => //; first by have := p o; lra.
  by have := q o; case=> // e; case: Pn; apply: D.
apply: (Rle_trans _ (\rsum_(o | f o == u) exp ((a - 1) * ln m) * (a * P o - (a - 1) * m * Q o))).
  set E := exp ((a - 1) * ln m).
  have -> : \rsum_(o | f o == u) E * (a * P o - (a - 1) * m * Q o) = E * a * push f P u + - (E * (a - 1) * m) * push f
    Q u.
    rewrite /push -[X in _ = X + _]rsum_scale -[X in _ = _ + X]rsum_scale -big_split /=.
    by apply: eq_bigr => o _; ring.
  have -> : - (E * (a - 1) * m) * push f Q u = - (E * (a - 1)) * push f P u by rewrite /m; field; lra.
  by apply: Req_le; ring.
by apply: rsum_le => o _; exact: point.
Qed.
End PostRenyi.
Theorem push_zcdp (T U : finType) (f : T -> U) rho (P Q : T -> R) : distribution P -> distribution Q -> zcdp rho P Q ->
  zcdp rho (push f P) (push f Q).
Proof. by move=> DP DQ [h h']; split=> a a1; apply: push_renyi => //; [exact: h | exact: h']. Qed.

(* with coins: K o is what is made of the output o *)
Section RandomizeZcdp.
Variables (T U : finType) (K : T -> U -> R).
Hypothesis DK : forall o, distribution (K o).
Definition joint (P : T -> R) (ou : T * U) := P ou.1 * K ou.1 ou.2.
Lemma joint_distribution P : distribution P -> distribution (joint P).
Proof.
move=> [p p1]; split=> [[o u]|]; first by apply: Rmult_le_pos => //; case: (DK o).
rewrite /joint -(pair_bigA _ (fun o u => P o * K o u)) /= -p1; apply: eq_bigr => o _.
by rewrite rsum_scale; case: (DK o) => _ ->; ring.
Qed.
Lemma joint_renyi a r P Q : renyi a r P Q -> renyi a r (joint P) (joint Q).
Proof.
move=> [d m]; split.
  move=> [o u]; rewrite /joint /= => z; case: (Rmult_integral _ _ z) => z'; first by rewrite (d o z') Rmult_0_l.
  by rewrite z' Rmult_0_r.
apply: Rle_trans m; rewrite /moment.
rewrite -(pair_bigA _ (fun o u => joint P (o, u) * exp ((a - 1) * loss (joint P) (joint Q) (o, u)))) /=.
apply: rsum_le => o _; have [k0 k1] := DK o.
have -> : P o * exp ((a - 1) * loss P Q o) = \rsum_u (P o * exp ((a - 1) * loss P Q o) * K o u).
  by rewrite rsum_scale k1; ring.
apply: Req_le; apply: eq_bigr => u _; rewrite /loss /joint /=.
case: (Req_dec (P o) 0) => [->|pn]; first by ring.
case: (Req_dec (K o u) 0) => [->|kn]; first by ring.
have qn : Q o <> 0 by move=> z; case: pn; exact: d.
have -> : P o * K o u / (Q o * K o u) = P o / Q o by field.
ring.
Qed.
Theorem randomize_zcdp rho P Q : distribution P -> distribution Q -> zcdp rho P Q ->
  zcdp rho (randomize K P) (randomize K Q).
Proof.
move=> DP DQ [h h']; have e F : randomize K F = push snd (joint F).
  apply: FunctionalExtensionality.functional_extensionality => u; rewrite /randomize /push /joint.
  rewrite -(pair_big_dep xpredT (fun _ u' => u' == u) (fun o u' => F o * K o u')) /=; apply: eq_bigr => o _.
  by rewrite (big_pred1 u).
rewrite !e; apply: push_zcdp; try exact: joint_distribution.
by split=> a a1; apply: joint_renyi; [exact: h | exact: h'].
Qed.
End RandomizeZcdp.
