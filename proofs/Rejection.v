(* Lemma 48: integer shares W_c >= K m_c and a coin of probability K m_c / W_c, started again until it falls: c comes
   out with probability m_c / sum m, and it ends with probability 1. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.
Section Lemma48.
Variables (C : finType) (c0 : C) (m : C -> R) (W : C -> nat) (K : R).
Hypotheses (K0 : 0 < K) (m0 : forall c, 0 <= m c) (pos : 0 < \rsum_c m c) (shares : forall c, K * m c <= INR (W c)).
Let total := \rsum_c INR (W c).
(* one trial: propose c with probability W_c / total, accept with probability K m_c / W_c (never proposed where W_c =
   0) *)
Definition coin c := if W c == 0%N then 0 else K * m c / INR (W c).
Definition trial c := INR (W c) / total * coin c.
Definition again := 1 - \rsum_c trial c.
(* c comes out of trial n + 1 *)
Definition out c (n : nat) := again ^ n * trial c.
Lemma coin_range c : 0 <= coin c <= 1.
Proof.
rewrite /coin; case: eqP => [_|w0]; first lra.
have wp : 0 < INR (W c) by apply: lt_0_INR; apply/ltP; rewrite lt0n; apply/eqP.
split; first by apply: Rmult_le_pos; [have := m0 c; nra | exact/Rlt_le/Rinv_0_lt_compat].
by apply: (Rmult_le_reg_r (INR (W c))) => //; rewrite /Rdiv Rmult_assoc Rinv_l; [have := shares c; lra | lra].
Qed.
Lemma total_pos : 0 < total.
Proof.
have : K * (\rsum_c m c) <= total by rewrite -rsum_scale; apply: rsum_le => c _; exact: shares.
by have := Rmult_lt_0_compat _ _ K0 pos; lra.
Qed.
Lemma trialE c : trial c = K / total * m c.
Proof.
have tp := total_pos; rewrite /trial /coin; case: eqP => [w0|w0].
  have := shares c; rewrite w0 /= => h; have -> : m c = 0 by have := m0 c; nra.
  by rewrite /Rdiv; ring.
by have w1 : INR (W c) <> 0 by [apply: not_0_INR]; field; lra.
Qed.
Theorem lemma48 c : is_series (out c) (m c / \rsum_c m c).
Proof.
have tp := total_pos; have s : \rsum_c trial c = K / total * (\rsum_c m c).
  by rewrite -rsum_scale; apply: eq_bigr => c' _; exact: trialE.
have p0 : 0 < K / total * (\rsum_c m c) by apply: Rmult_lt_0_compat => //; exact: Rdiv_lt_0_compat.
have p1 : K / total * (\rsum_c m c) <= 1.
  have : K * (\rsum_c m c) <= total by rewrite -rsum_scale; apply: rsum_le => c' _; exact: shares.
  move=> h; apply: (Rmult_le_reg_l total) => //; have -> : total * (K / total * (\rsum_c m c)) = K * (\rsum_c m c) by
    field; lra.
  lra.
have a1 : Rabs again < 1 by rewrite /again s; split_Rabs; lra.
have := is_series_scal_r (trial c) _ _ (is_series_geom again a1).
have -> : / (1 - again) * trial c = m c / \rsum_c m c.
  rewrite /again s trialE; have p := pos; set M := \rsum_c m c in p *.
  have -> : 1 - (1 - K / total * M) = K / total * M by ring.
  by field; repeat split; lra.
by apply: is_series_ext.
Qed.
End Lemma48.
