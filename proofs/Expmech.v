(* The exponential mechanism over a finite set of outcomes: bounded range and pure DP, with public weights. Covers the
   second half of Theorem 52 (bounded range, hence eps-DP) and Theorem 241. That Gumbel noise has this distribution is
   in Gumbel.v. *)
From Shortlist Require Import Base Scores.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* The distribution of Theorem 52 *)
Section Soft.
Variable (T : finType) (o0 : T).
Definition softmax (u : T -> R) (o : T) := exp (u o) / \rsum_j exp (u j).
Lemma weight_pos (u : T -> R) : 0 < \rsum_j exp (u j).
Proof. by apply: rsum_gt0 => // i; exact: exp_pos. Qed.
Lemma softmax_pos u o : 0 < softmax u o.
Proof. by apply: Rdiv_lt_0_compat; [exact: exp_pos | exact: weight_pos]. Qed.
Lemma softmax_distribution u : distribution (softmax u).
Proof.
split=> [o|]; first exact/Rlt_le/softmax_pos.
rewrite /softmax /Rdiv -big_distrl /=; apply: Rinv_r; have := weight_pos u; lra.
Qed.

(* exponents that move within an interval of length eps: bounded range, and so pure DP *)
Theorem softmax_brange eps (u u' : T -> R) : moves_within eps u u' -> brange eps (softmax u) (softmax u').
Proof.
move=> [b H]; set W := \rsum_j exp (u j); set W' := \rsum_j exp (u' j).
have W0 : 0 < W by exact: weight_pos.
have W0' : 0 < W' by exact: weight_pos.
exists (ln (W' / W) - b) => o.
have q0 : 0 < W' / W by exact: Rdiv_lt_0_compat.
have key : softmax u o = exp (u o - u' o) * (W' / W) * softmax u' o.
  rewrite /softmax -/W -/W' -exp_div; have := exp_pos (u' o) => h; field; lra.
have p0 : 0 < softmax u' o by exact: softmax_pos.
have e1 (z : R) : exp (ln (W' / W) + z) = exp z * (W' / W) by rewrite exp_plus exp_ln // Rmult_comm.
rewrite key; split; apply: Rmult_le_compat_r; try lra.
- have -> : ln (W' / W) - b - eps = ln (W' / W) + (- b - eps) by ring.
  by rewrite e1; apply: Rmult_le_compat_r; [lra | apply: exp_le; have := H o; lra].
- by rewrite /Rminus e1; apply: Rmult_le_compat_r; [lra | apply: exp_le; have := H o; lra].
Qed.
Theorem softmax_pure eps (u u' : T -> R) : 0 <= eps -> moves_within eps u u' -> pureDP eps (softmax u) (softmax u').
Proof. by move=> e0 H; apply: brange_pure => //; [exact: softmax_distribution | exact: softmax_distribution | exact:
  softmax_brange]. Qed.

(* The exponential mechanism at scale R/eps, with public weights (w = 1 without). *)
Definition expmech (w : T -> R) (r eps : R) (x : T -> R) (o : T) :=
  w o * exp (eps * x o / r) / \rsum_j w j * exp (eps * x j / r).
Lemma expmechE w r eps x o : (forall j, 0 < w j) -> expmech w r eps x o = softmax (fun j => eps / r * x j + ln (w j)) o.
Proof.
move=> w0; rewrite /expmech /softmax.
have e j : w j * exp (eps * x j / r) = exp (eps / r * x j + ln (w j)).
  rewrite exp_plus exp_ln // Rmult_comm; congr (exp _ * _); rewrite /Rdiv; ring.
by rewrite e; congr (_ / _); apply: eq_bigr => j _; rewrite e.
Qed.
Theorem expmech_private w r eps (x x' : T -> R) : (forall j, 0 < w j) -> 0 < r -> 0 <= eps -> moves_within r x x' ->
  [/\ distribution (expmech w r eps x), brange eps (expmech w r eps x) (expmech w r eps x') &
      pureDP eps (expmech w r eps x) (expmech w r eps x')].
Proof.
move=> w0 r0 e0 H.
have c0 : 0 <= eps / r by rewrite /Rdiv; apply: Rmult_le_pos => //; apply/Rlt_le/Rinv_0_lt_compat.
have L y : distribution (expmech w r eps y).
  case: (softmax_distribution (fun j => eps / r * y j + ln (w j))) => p s; split=> [o|]; first by rewrite expmechE.
  by rewrite -s; apply: eq_bigr => o _; rewrite expmechE.
have B : brange eps (expmech w r eps x) (expmech w r eps x').
  have M : moves_within eps (fun j => eps / r * x j + ln (w j)) (fun j => eps / r * x' j + ln (w j)).
    have -> : eps = eps / r * r by field; lra.
    have -> : eps / r * r / r = eps / r by field; lra.
    by apply: moves_within_offset; exact: moves_within_scale.
  by have [t Ht] := softmax_brange M; exists t => o; rewrite !expmechE.
by split=> //; apply: brange_pure.
Qed.
Corollary expmech_monotone r eps (x x' : T -> R) : 0 < r -> 0 <= eps ->
  (forall i, Rabs (x' i - x i) <= r) -> monotone_move x x' ->
  pureDP eps (expmech (fun _ => 1) r eps x) (expmech (fun _ => 1) r eps x').
Proof. by move=> r0 e0 H M; case: (@expmech_private (fun _ => 1) r eps x x') => // [_|]; [lra | exact:
  range_monotone]. Qed.
Corollary expmech_general r eps (x x' : T -> R) : 0 < r -> 0 <= eps ->
  (forall i, Rabs (x' i - x i) <= r) ->
  pureDP eps (expmech (fun _ => 1) (2 * r) eps x) (expmech (fun _ => 1) (2 * r) eps x').
Proof. by move=> r0 e0 H; case: (@expmech_private (fun _ => 1) (2 * r) eps x x') => // [_||]; [lra | lra | exact:
  range_general]. Qed.
End Soft.
