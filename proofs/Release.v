(* What may be done with a release: post-processing, with or without coins of its own (any function of the output keeps what the
   output keeps), and Theorem 230 for pure budgets: releases of groups that do not share users. *)
From Shortlist Require Import Base.
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

(* Theorem 230, pure budgets. G: the groups; O: the outputs of all groups (a disjoint union, where they differ in kind). *)
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
(* x g: the scores of group g, of any type; M g: its mechanism, which looks at nothing else. One user moves the scores of the
   groups in A, at most m of them. *)
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
End Groups.
