(* Canonical sets: the score of a set moves no further than the scores (both losses of Definition 62), and Theorem 63
   for Gumbel noise, as a distribution over all C(d, k) sets. Theorem 63 for exponential noise is in Guarded.v, for
   general noise in Hazard.v. *)
From Shortlist Require Import Base Scores Expmech Shifting.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Sets.
Variable T : finType.
Implicit Types (x : T -> R) (y : {set T}).
(* the least and the largest score in a set *)
Definition lowest y x := if [pick i in y] is Some i0 then \big[Rmin/x i0]_(i in y) x i else 0.
Definition highest y x := if [pick i in y] is Some i0 then \big[Rmax/x i0]_(i in y) x i else 0.

Lemma lowestP y x : y != set0 -> (exists2 i, i \in y & lowest y x = x i) /\ forall i, i \in y -> lowest y x <= x i.
Proof.
rewrite /lowest => /set0Pn [j jy]; case: pickP => [i0 iy|/(_ j)]; last by rewrite jy.
have lb i : i \in y -> \big[Rmin/x i0]_(i in y) x i <= x i.
  move=> h; rewrite -big_filter; have : i \in [seq i <- index_enum T | i \in y] by rewrite mem_filter h mem_index_enum.
  elim: [seq _ <- _ | _] => // a s IH; rewrite inE big_cons => /orP [/eqP ->|/IH]; first exact: Rmin_l.
  by apply: Rle_trans; exact: Rmin_r.
split=> //; elim/big_ind: _ => [|a b [i1 h1 ->] [i2 h2 ->]|i h]; [by exists i0 | | by exists i].
by rewrite /Rmin; case: Rle_dec => _; [exists i1 | exists i2].
Qed.
Lemma highestP y x : y != set0 -> (exists2 i, i \in y & highest y x = x i) /\ forall i, i \in y -> x i <= highest y x.
Proof.
rewrite /highest => /set0Pn [j jy]; case: pickP => [i0 iy|/(_ j)]; last by rewrite jy.
have ub i : i \in y -> x i <= \big[Rmax/x i0]_(i in y) x i.
  move=> h; rewrite -big_filter; have : i \in [seq i <- index_enum T | i \in y] by rewrite mem_filter h mem_index_enum.
  elim: [seq _ <- _ | _] => // a s IH; rewrite inE big_cons => /orP [/eqP ->|/IH]; first exact: Rmax_l.
  by move/Rle_trans; apply; exact: Rmax_r.
split=> //; elim/big_ind: _ => [|a b [i1 h1 ->] [i2 h2 ->]|i h]; [by exists i0 | | by exists i].
by rewrite /Rmax; case: Rle_dec => _; [exists i2 | exists i1].
Qed.
Lemma shifting_lowest y : y != set0 -> shifting (lowest y).
Proof.
rewrite /lowest => /set0Pn [j jy]; case: pickP => [i0 iy|/(_ j)]; last by rewrite jy.
by apply: shifting_bigmin => [|i _]; exact: shifting_coordinate.
Qed.
Lemma shifting_highest y : y != set0 -> shifting (highest y).
Proof.
rewrite /highest => /set0Pn [j jy]; case: pickP => [i0 iy|/(_ j)]; last by rewrite jy.
by apply: shifting_bigmax => [|i _]; exact: shifting_coordinate.
Qed.

(* Definition 62: the score of a set *)
Variables (k : nat) (g : R).
Definition kset := {y : {set T} | #|y| == k}.
Definition u_gap x (y : kset) := g * lowest (val y) x - (1 - g) * highest (~: val y) x.
Definition u_paper x (y : kset) := g * lowest (val y) x - (1 - g) * Rmax (highest (~: val y) x) (lowest (val y) x).

Hypothesis k0 : (0 < k)%N.
Hypothesis kd : (k < #|T|)%N.
Hypothesis g01 : 0 <= g <= 1.
Lemma kset_n0 (y : kset) : val y != set0.
Proof. by case: y => y /= /eqP h; apply: contraTneq k0 => y0; rewrite -h y0 cards0. Qed.
Lemma kset_c0 (y : kset) : ~: val y != set0.
Proof.
case: y => y /= /eqP h; apply: contraTneq kd => y0; have := cardsC y.
by rewrite y0 cards0 addn0 h => ->; rewrite ltnn.
Qed.

(* The Lipschitz theorem: one interval of length R for all sets. *)
Theorem lipschitz_gap r x x' : moves_within r x x' -> moves_within r (u_gap x) (u_gap x').
Proof.
move=> [b H]; exists (g * b - (1 - g) * (b + r)) => y.
by apply: lemma5_difference; [| apply: shifting_lowest; exact: kset_n0 | apply: shifting_highest; exact: kset_c0 |].
Qed.
Theorem lipschitz_paper r x x' : moves_within r x x' -> moves_within r (u_paper x) (u_paper x').
Proof.
move=> [b H]; exists (g * b - (1 - g) * (b + r)) => y.
have sl : shifting (lowest (val y)) by apply: shifting_lowest; exact: kset_n0.
have sh : shifting (highest (~: val y)) by apply: shifting_highest; exact: kset_c0.
exact: (lemma5_difference g01 sl (shifting_max sh sl) H).
Qed.

(* Theorem 63, Gumbel noise: the distribution over sets of Theorem 52 *)
Definition canonical_gumbel r eps x : kset -> R := expmech (fun _ => 1) r eps (u_gap x).
Lemma a_kset : kset.
Proof.
pose s := [set i in take k (enum T)].
have h : #|s| == k.
  by rewrite cardsE (card_uniqP _) ?take_uniq ?enum_uniq // size_takel // -cardE ltnW.
exact: (exist _ s h).
Qed.
Theorem theorem63_gumbel r eps x x' : 0 < r -> 0 <= eps -> moves_within r x x' ->
  [/\ distribution (canonical_gumbel r eps x), brange eps (canonical_gumbel r eps x) (canonical_gumbel r eps x') &
      pureDP eps (canonical_gumbel r eps x) (canonical_gumbel r eps x')].
Proof.
move=> r0 e0 H; apply: expmech_private => //; [exact: a_kset | by move=> _; lra | exact: lipschitz_gap].
Qed.
(* with the loss of the paper *)
Definition canonical_gumbel_paper r eps x : kset -> R := expmech (fun _ => 1) r eps (u_paper x).
Theorem theorem63_gumbel_paper r eps x x' : 0 < r -> 0 <= eps -> moves_within r x x' ->
  [/\ distribution (canonical_gumbel_paper r eps x),
      brange eps (canonical_gumbel_paper r eps x) (canonical_gumbel_paper r eps x') &
      pureDP eps (canonical_gumbel_paper r eps x) (canonical_gumbel_paper r eps x')].
Proof.
move=> r0 e0 H; apply: expmech_private => //; [exact: a_kset | by move=> _; lra | exact: lipschitz_paper].
Qed.
End Sets.
(* what is attained and bounds all scores of a set is the least, or the largest *)
Lemma lowest_unique (T : finType) (y : {set T}) x i z : i \in y -> z = x i -> (forall j, j \in y -> z <= x j) ->
  z = lowest y x.
Proof.
move=> iy e H; have ne : y != set0 by apply/set0Pn; exists i.
have [[j jy ej] lo] := lowestP x ne; apply: Rle_antisym; first by rewrite ej; exact: H.
by rewrite e; exact: lo.
Qed.
Lemma highest_unique (T : finType) (y : {set T}) x i z : i \in y -> z = x i -> (forall j, j \in y -> x j <= z) ->
  z = highest y x.
Proof.
move=> iy e H; have ne : y != set0 by apply/set0Pn; exists i.
have [[j jy ej] hi] := highestP x ne; apply: Rle_antisym; last by rewrite ej; exact: H.
by rewrite e; exact: hi.
Qed.
