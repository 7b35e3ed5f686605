(* Theorem 71 for exponential noise of unequal hazards (with all hazards 1 this is Theorem 51 for exponential noise):
   candidate c finishes at v_c + Exp(1)/h_c, the largest finish wins. With c's own noise written -ln(u)/h_c, u uniform,
   P[c wins] = Int_0^1 prod_{c' != c} (1 - e^{-h_c' (v_c - ln(u)/h_c - v_c')})_+ du
             = Int_0^1 prod_{c' != c} (1 - e^{h_c' (v_c' - v_c)} u^{h_c'/h_c})_+ du. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* equations whose type is R seen through Coquelicot's structures *)
Ltac rring := lazymatch goal with |- @eq _ ?a ?b => change (@eq R a b); ring end.

(* u^p for u >= 0 and p > 0, with 0^p = 0 *)
Definition pw (u p : R) := if Rle_dec u 0 then 0 else Rpower u p.
Lemma pw_ge0 u p : 0 <= pw u p.
Proof. by rewrite /pw; case: (Rle_dec u 0) => ? /=; [lra | exact/Rlt_le/exp_pos]. Qed.
Lemma pw_scale k u p : 0 < k -> pw (k * u) p = Rpower k p * pw u p.
Proof.
move=> k0; rewrite /pw; case: (Rle_dec (k * u) 0) => h /=; case: (Rle_dec u 0) => h' /=; try nra.
by rewrite Rpower_mult_distr //; nra.
Qed.
Lemma pw_cont p u : 0 < p -> continuous (fun u => pw u p) u.
Proof.
move=> p0; case: (Rtotal_order u 0) => [h|[->|h]].
- apply: (continuous_ext_loc _ (fun _ => 0)); last exact: continuous_const.
  have d0 : 0 < - u by lra.
  exists (mkposreal _ d0) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
  by rewrite /pw; case: (Rle_dec y 0) => //= y0; case: y0; move: hy; split_Rabs; lra.
- apply/filterlim_locally => e; have d0 : 0 < Rpower e (/ p) by exact: exp_pos.
  exists (mkposreal _ d0) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
  rewrite /pw; case: (Rle_dec 0 0) => [z0|z0] /=; last by case: z0; lra.
  case: (Rle_dec y 0) => [?|ny] /=; last have y0 := Rnot_le_lt _ _ ny.
    by rewrite Ropp_0 Rplus_0_r Rabs_R0; exact: cond_pos.
  rewrite Ropp_0 Rplus_0_r Rabs_right; last exact/Rle_ge/Rlt_le/exp_pos.
  have -> : pos e = Rpower (Rpower e (/ p)) p.
    by rewrite Rpower_mult Rinv_l; [rewrite Rpower_1 //; exact: cond_pos | lra].
  by apply: Rlt_Rpower_l => //; split=> //; move: hy; split_Rabs; lra.
- apply: (continuous_ext_loc _ (fun y => exp (p * ln y))).
    exists (mkposreal _ h) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
    by rewrite /pw; case: (Rle_dec y 0) => // y0; move: hy; split_Rabs; lra.
  by apply: ex_derive_continuous; auto_derive.
Qed.

Section Race.
Variables (C : finType) (h : C -> R).
Hypothesis h0 : forall c, 0 < h c.
Implicit Types (v : C -> R) (c : C).
Definition beaten v c c' (u : R) := Rmax 0 (1 - exp (h c' * (v c' - v c)) * pw u (h c' / h c)).
Definition others v c (u : R) := \big[Rmult/1]_(c' | c' != c) beaten v c c' u.
Definition win v c := RInt (others v c) 0 1.

Lemma beaten_range v c c' u : 0 <= beaten v c c' u <= 1.
Proof.
rewrite /beaten; split; first exact: Rmax_l.
apply: Rmax_lub; first lra.
have := Rmult_le_pos _ _ (Rlt_le _ _ (exp_pos (h c' * (v c' - v c)))) (pw_ge0 u (h c' / h c)); lra.
Qed.
Lemma others_ge0 v c u : 0 <= others v c u.
Proof. by apply: rprod_ge0 => c' _; case: (beaten_range v c c' u). Qed.
Lemma rmax_cont (f : R -> R) u : continuous f u -> continuous (fun u => Rmax 0 (f u)) u.
Proof.
move=> cf; apply: (continuous_ext (fun u => (f u + Rabs (f u)) * / 2)).
  by move=> z; rewrite /Rmax; case: Rle_dec; split_Rabs; lra.
apply: (continuous_mult (fun u => f u + Rabs (f u)) (fun _ => / 2)); last exact: continuous_const.
by apply: (continuous_plus (V := R_NormedModule)) => //; apply: continuous_comp => //; exact: continuous_Rabs.
Qed.
Lemma others_cont v c u : continuous (others v c) u.
Proof.
rewrite /others; elim: (index_enum C) => [|a l IH].
  by apply: (continuous_ext (fun _ => 1)); [move=> z; rewrite big_nil | exact: continuous_const].
case Pa: (a != c); last by apply: continuous_ext IH => z; rewrite big_cons Pa.
apply: (continuous_ext (fun z => beaten v c a z * \big[Rmult/1]_(c' <- l | c' != c) beaten v c c' z)).
  by move=> z; rewrite big_cons Pa.
apply: (continuous_mult (beaten v c a)) => //; apply: rmax_cont.
apply: (continuous_minus (fun _ => 1)); first exact: continuous_const.
apply: (continuous_mult (fun _ => exp _)); first exact: continuous_const.
by apply: pw_cont; apply: Rdiv_lt_0_compat.
Qed.
Lemma others_int v c a b : ex_RInt (others v c) a b.
Proof. by apply: ex_RInt_continuous => z _; exact: others_cont. Qed.
Lemma win_ge0 v c : 0 <= win v c.
Proof. by apply: RInt_ge_0; [lra | exact: others_int | move=> z _; exact: others_ge0]. Qed.

(* Theorem 71 *)
Theorem race_hazard eps v v' c : 0 <= eps -> moves_within eps v v' -> win v' c <= exp (h c * eps) * win v c.
Proof.
move=> e0 [b H]; set k := exp (- (h c * eps)).
have k0 : 0 < k by exact: exp_pos.
have k1 : k <= 1 by rewrite -exp_0; apply: exp_le; have := h0 c; nra.
have step u : others v' c u <= others v c (k * u).
  apply: rprod_le => c' _; split; first by case: (beaten_range v' c c' u).
  apply: Rle_max_compat_l; suff : exp (h c' * (v c' - v c)) * pw (k * u) (h c' / h c) <=
                                  exp (h c' * (v' c' - v' c)) * pw u (h c' / h c) by lra.
  rewrite pw_scale // -Rmult_assoc; apply: Rmult_le_compat_r; first exact: pw_ge0.
  have -> : Rpower k (h c' / h c) = exp (- (h c' * eps)).
    by rewrite /Rpower /k ln_exp; congr exp; field; have := h0 c; lra.
  rewrite -exp_plus; apply: exp_le; have := h0 c'; have := H c; have := H c'; nra.
have lin := @RInt_comp_lin _ (others v c) k 0 0 1 (others_int v c _ _).
have ek : ex_RInt (fun u => others v c (k * u)) 0 1.
  apply: ex_RInt_continuous => z _; apply: continuous_comp; last exact: others_cont.
  by apply: (continuous_mult (fun _ => k) id); [exact: continuous_const | exact: continuous_id].
have scaled : k * RInt (fun u => others v c (k * u)) 0 1 = RInt (others v c) 0 k.
  rewrite Rmult_0_r Rmult_1_r !Rplus_0_r in lin; rewrite -lin RInt_scal; last first.
    by apply: ex_RInt_ext ek => z _; rewrite Rplus_0_r.
  by rewrite /scal /= /mult /=; congr (_ * _); apply: RInt_ext => z _; rewrite Rplus_0_r.
have le1 : win v' c <= RInt (fun u => others v c (k * u)) 0 1.
  by apply: RInt_le => //; [lra | exact: others_int].
have le2 : RInt (others v c) 0 k <= win v c.
  rewrite /win -(@RInt_Chasles _ (others v c) 0 k 1); try exact: others_int.
  have : 0 <= RInt (others v c) k 1 by apply: RInt_ge_0 => // [|z _]; [exact: others_int | exact: others_ge0].
  by rewrite /plus /=; lra.
have -> : exp (h c * eps) = / k by rewrite /k exp_Ropp Rinv_inv; have := exp_pos (h c * eps); lra.
apply: (Rmult_le_reg_l k) => //; rewrite -Rmult_assoc Rinv_r; last lra.
have := Rmult_le_compat_l k _ _ (Rlt_le _ _ k0) le1; lra.
Qed.
End Race.

