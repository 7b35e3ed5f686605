(* Theorem 52, the distribution: Gumbel noise. With i's own noise -ln(-ln u), u uniform, j stays below with
   probability F(s_i - ln(-ln u) - s_j) = u^{e^{s_j - s_i}}, F(z) = exp(-e^-z); so P[i wins] = Int_0^1 prod_{j != i}
   u^{w_j/w_i} du. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Expmech Race.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition gumbel_cdf z := exp (- exp (- z)).
Definition gumbel_quantile u := - ln (- ln u).
Lemma gumbel_quantileK u : 0 < u < 1 -> gumbel_cdf (gumbel_quantile u) = u.
Proof.
move=> u01; have l0 : 0 < - ln u by have := ln_increasing u 1; rewrite ln_1; lra.
by rewrite /gumbel_cdf /gumbel_quantile Ropp_involutive exp_ln // Ropp_involutive exp_ln //; lra.
Qed.
Lemma gumbel_below u a b : 0 < u < 1 -> gumbel_cdf (a + gumbel_quantile u - b) = pw u (exp (b - a)).
Proof.
move=> u01; have l0 : 0 < - ln u by have := ln_increasing u 1; rewrite ln_1; lra.
rewrite /pw; case: (Rle_dec u 0) => [h|h]; first by exfalso; lra.
rewrite /= /Rpower /gumbel_cdf /gumbel_quantile.
have -> : - (a + - ln (- ln u) - b) = (b - a) + ln (- ln u) by ring.
by rewrite exp_plus exp_ln //; congr exp; ring.
Qed.
Lemma pw_int p : 0 < p -> is_RInt (fun u => pw u p) 0 1 (/ (p + 1)).
Proof.
move=> p0; have p1 : 0 < p + 1 by lra.
(* the primitive pw u (p+1) / (p+1) is continuous on [0, 1]; integrate from e to 1 and let e tend to 0: here by
   comparison *)
have ei a b : ex_RInt (fun u => pw u p) a b by apply: ex_RInt_continuous => z _; exact: pw_cont.
have val e : 0 < e -> RInt (fun u => pw u p) e 1 = / (p + 1) - pw e (p + 1) / (p + 1).
  move=> e0; apply: is_RInt_unique.
  have -> : / (p + 1) - pw e (p + 1) / (p + 1) = minus (pw 1 (p + 1) / (p + 1)) (pw e (p + 1) / (p + 1)).
    rewrite /minus /plus /opp /= /pw; case: (Rle_dec 1 0) => [h|h]; first by exfalso; lra.
    by rewrite /= /Rpower ln_1 Rmult_0_r exp_0; lra.
  apply: (is_RInt_derive (fun u => pw u (p + 1) / (p + 1))) => [z hz|z _]; last exact: pw_cont.
  have z0 : 0 < z by move: hz; rewrite /Rmin; case: Rle_dec; lra.
  apply: (is_derive_ext_loc (fun u => exp ((p + 1) * ln u) / (p + 1))).
    exists (mkposreal _ z0) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
    by rewrite /pw; case: (Rle_dec y 0) => [y0|//]; exfalso; move: hy; split_Rabs; lra.
  auto_derive; first by repeat split; lra.
  rewrite /pw; case: (Rle_dec z 0) => [h|h]; first by exfalso; lra.
  rewrite /= /Rpower; have -> : (p + 1) * ln z = p * ln z + ln z by ring.
  by rewrite exp_plus exp_ln //; field; lra.
have lim : is_RInt (fun u => pw u p) 0 1 (RInt (fun u => pw u p) 0 1) by apply: RInt_correct.
suff -> : / (p + 1) = RInt (fun u => pw u p) 0 1 by [].
apply: cond_eq => e e0.
(* |Int_0^1 - 1/(p+1)| <= Int_0^d + d^(p+1)/(p+1) <= 2 d *)
pose dl := Rmin (e / 4) (/ 2).
have d0 : 0 < dl by rewrite /dl /Rmin; case: Rle_dec; lra.
have d1 : dl < 1 by rewrite /dl /Rmin; case: Rle_dec; lra.
have de : dl <= e / 4 by exact: Rmin_l.
have le1 z q : 0 <= z <= 1 -> 0 < q -> 0 <= pw z q <= 1.
  move=> z01 q0; split; first exact: pw_ge0.
  rewrite /pw; case: (Rle_dec z 0) => h /=; first lra.
  rewrite -exp_0 /Rpower; apply: exp_le; have : ln z <= ln 1.
    by case: (proj2 z01) => [h1|->]; [apply/Rlt_le/ln_increasing; lra | lra].
  rewrite ln_1; nra.
rewrite -(RInt_Chasles (V := R_CompleteNormedModule) (fun u => pw u p) 0 dl 1) // val // /plus /=.
have i0 : 0 <= RInt (fun u => pw u p) 0 dl by apply: RInt_ge_0 => //; [lra | move=> z _; exact: pw_ge0].
have i1 : RInt (fun u => pw u p) 0 dl <= dl.
  apply: (Rle_trans _ (RInt (fun _ => 1) 0 dl)); last by rewrite RInt_const /scal /= /mult /=; lra.
  apply: RInt_le => //; [lra | exact: ex_RInt_const | move=> z z01; have := le1 z p; lra].
have b0 : 0 <= pw dl (p + 1) / (p + 1) by apply: Rmult_le_pos; [exact: pw_ge0 | apply/Rlt_le/Rinv_0_lt_compat].
have b1 : pw dl (p + 1) / (p + 1) <= dl.
  have h : pw dl (p + 1) <= dl.
    rewrite /pw; case: (Rle_dec dl 0) => h; first by exfalso; lra.
    rewrite /= Rpower_plus Rpower_1 //; have := le1 dl p; rewrite /pw; case: (Rle_dec dl 0) => //= _ h'.
    have := h' (conj (Rlt_le _ _ d0) (Rlt_le _ _ d1)) p0; nra.
  have i : / (p + 1) <= 1 by rewrite -{2}Rinv_1; apply: Rinv_le_contravar; lra.
  have i' : 0 < / (p + 1) by exact: Rinv_0_lt_compat.
  rewrite /Rdiv; have := pw_ge0 dl (p + 1); nra.
split_Rabs; lra.
Qed.

Section Distribution.
Variable T : finType.
Definition gumbel_win (s : T -> R) i :=
  RInt (fun u => \big[Rmult/1]_(j | j != i) gumbel_cdf (s i + gumbel_quantile u - s j)) 0 1.
Lemma pw_prod (r : seq T) (P : pred T) (e : T -> R) u : 0 < u ->
  \big[Rmult/1]_(j <- r | P j) pw u (e j) = Rpower u (\big[Rplus/0]_(j <- r | P j) e j).
Proof.
move=> u0; elim: r => [|a r IH]; first by rewrite !big_nil Rpower_O.
rewrite !big_cons; case: (P a) => //; rewrite IH Rpower_plus; congr (_ * _).
by rewrite /pw; case: (Rle_dec u 0) => // h; exfalso; lra.
Qed.
Theorem theorem52 (s : T -> R) i : gumbel_win s i = softmax s i.
Proof.
pose q := \rsum_(j | j != i) exp (s j - s i).
have q0 : 0 <= q by apply: rsum_ge0 => j _; exact/Rlt_le/exp_pos.
have e : softmax s i = / (q + 1).
  rewrite /softmax (bigD1 i) //= /q.
  have -> : \rsum_(j | j != i) exp (s j - s i) = (\rsum_(j | j != i) exp (s j)) / exp (s i).
    by rewrite /Rdiv big_distrl /=; apply: eq_bigr => j _; rewrite -exp_div.
  have h : 0 <= \rsum_(j | j != i) exp (s j) by apply: rsum_ge0 => j _; exact/Rlt_le/exp_pos.
  have p0 := exp_pos (s i); set z := \rsum_(j | j != i) exp (s j) in h *; field; lra.
have rel u : 0 < u < 1 -> \big[Rmult/1]_(j | j != i) gumbel_cdf (s i + gumbel_quantile u - s j) = Rpower u q.
  move=> u01; rewrite -pw_prod; last lra.
  by apply: eq_bigr => j _; rewrite gumbel_below //; congr pw; congr exp; ring.
rewrite e /gumbel_win; case: (Req_dec q 0) => [qz|qz].
  rewrite (RInt_ext _ (fun _ => 1)); first by rewrite RInt_const /scal /= /mult /= qz; lra.
  move=> u; rewrite Rmin_left ?Rmax_right; [|lra|lra] => u01; rewrite rel // qz Rpower_O //; lra.
rewrite (RInt_ext _ (fun u => pw u q)); last first.
  move=> u; rewrite Rmin_left ?Rmax_right; [|lra|lra] => u01; rewrite rel // /pw.
  by case: (Rle_dec u 0) => // h; exfalso; lra.
by apply: is_RInt_unique; apply: pw_int; lra.
Qed.
End Distribution.

