(* The two ways to write the probability that i wins agree: by the threshold that i's noise has to exceed (Hazard.v),
   and by i's own noise, as Proposition 54 and Race.v have it. Both are areas of one part of the unit square, seen from
   its two sides. So under exponential noise the distribution of Hazard.v is that of Race.v and of permute-and-flip,
   and under Gumbel noise it is that of the exponential mechanism. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Expmech Shifting Canonical Monotone Hazard Noise Race Gumbel PermuteFlip
  PermuteFlipRun OneShot.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma indicator_below (p : R -> bool) c : 0 <= c <= 1 -> (forall u, 0 < u < 1 -> p u -> u <= c) ->
  ex_RInt (fun u => indicator (p u)) 0 1 -> RInt (fun u => indicator (p u)) 0 1 <= c.
Proof.
move=> c01 H ex.
have e1 := ex_RInt_Chasles_1 (V := R_CompleteNormedModule) _ 0 c 1 c01 ex.
have e2 := ex_RInt_Chasles_2 (V := R_CompleteNormedModule) _ 0 c 1 c01 ex.
rewrite -(RInt_Chasles (V := R_CompleteNormedModule) _ 0 c 1 e1 e2).
have -> : RInt (fun u => indicator (p u)) c 1 = 0.
  rewrite (RInt_ext _ (fun _ => 0)); first by rewrite RInt_const /scal /= /mult /=; ring.
  move=> u; rewrite Rmin_left ?Rmax_right; [|lra|lra] => uc; rewrite /indicator; case pu: (p u) => //.
  by have := H u ltac:(lra) pu; lra.
have : RInt (fun u => indicator (p u)) 0 c <= RInt (fun _ => 1) 0 c.
  apply: RInt_le => //; [lra | exact: ex_RInt_const | move=> u _; rewrite /indicator; case: (p u); lra].
by rewrite RInt_const /scal /= /mult /plus /=; lra.
Qed.
Section Sides.
Variables f g : R -> R.
Hypotheses (ff : falling f) (fg : falling g).
Hypotheses (f01 : forall u, 0 < u < 1 -> 0 <= f u <= 1) (g01 : forall u, 0 < u < 1 -> 0 <= g u <= 1).
Hypothesis sides : forall u w, 0 < u < 1 -> 0 < w < 1 -> w <= f u -> u <= g w.
Variable n : nat.
Hypothesis n0 : (0 < n)%N.
Let N := INR n.
Let Np : 0 < N. Proof. by apply: lt_0_INR; exact/ltP. Qed.
Lemma step_part m : (m < n)%N -> ex_RInt (fun u => indicator (if Rle_dec (INR m) (N * f u) then true else false)) 0 1.
Proof.
move=> _; apply: step_integrable => u v u0 uv v1; have := ff u0 uv v1.
by case: Rle_dec => // a b _; case: Rle_dec => // c; case: c; nra.
Qed.
Fixpoint lower_sum m : R := if m is m'.+1 then lower_sum m' + g (INR m'.+1 / N) else 0.
Lemma inside m : (m.+1 < n)%N -> 0 < INR m.+1 / N < 1.
Proof.
move=> mn; have a : 0 < INR m.+1 by apply: lt_0_INR; exact/ltP.
have b : INR m.+1 < N by apply: lt_INR; exact/ltP.
split; first exact: Rdiv_lt_0_compat.
by apply: (Rmult_lt_reg_r N) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.
Lemma steps_below m : (m < n)%N -> ex_RInt (fun u => steps m (N * f u)) 0 1 /\
  RInt (fun u => steps m (N * f u)) 0 1 <= lower_sum m.
Proof.
elim: m => [_|m IH mn].
  by split; [exact: ex_RInt_const | rewrite RInt_const /scal /= /mult /=; lra].
have [e l] := IH (ltnW mn); have e' := step_part mn; split.
  exact: (ex_RInt_plus (V := R_NormedModule)) e e'.
have -> : RInt (fun u => steps m.+1 (N * f u)) 0 1 = RInt (fun u => steps m (N * f u)) 0 1 +
    RInt (fun u => indicator (if Rle_dec (INR m.+1) (N * f u) then true else false)) 0 1.
  exact: (RInt_plus (V := R_CompleteNormedModule)) e e'.
apply: Rplus_le_compat => //; have w := inside mn; apply: indicator_below => //; first exact: g01.
move=> u u01; case: Rle_dec => // h _; apply: sides => //.
by apply: (Rmult_le_reg_r N) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.
Lemma sum_below m : (m < n)%N -> lower_sum m <= N * RInt g 0 (INR m / N).
Proof.
have eg : ex_RInt g 0 1 by exact: falling_integrable.
elim: m => [_|m IH mn].
  by rewrite /= /Rdiv Rmult_0_l RInt_point /zero /=; lra.
have w := inside mn; have x : INR m.+1 / N = INR m / N + / N by rewrite S_INR; field; lra.
have ni : 0 < / N by exact: Rinv_0_lt_compat.
have m0 : 0 <= INR m / N by apply: Rmult_le_pos; [exact: pos_INR | lra].
have e1 : ex_RInt g 0 (INR m.+1 / N) by apply: (ex_RInt_Chasles_1 (V := R_CompleteNormedModule) _ 0 _ 1) => //; lra.
have e2 : ex_RInt g 0 (INR m / N).
  by apply: (ex_RInt_Chasles_1 (V := R_CompleteNormedModule) _ 0 _ (INR m.+1 / N)) => //; lra.
have e3 : ex_RInt g (INR m / N) (INR m.+1 / N).
  by apply: (ex_RInt_Chasles_2 (V := R_CompleteNormedModule) _ 0 _ (INR m.+1 / N)) => //; lra.
rewrite -(RInt_Chasles (V := R_CompleteNormedModule) _ 0 (INR m / N) _ e2 e3) /plus /= -/(INR m.+1) Rmult_plus_distr_l.
apply: Rplus_le_compat; first exact: IH (ltnW mn).
have : RInt (fun _ => g (INR m.+1 / N)) (INR m / N) (INR m.+1 / N) <= RInt g (INR m / N) (INR m.+1 / N).
  apply: RInt_le => //; [lra | exact: ex_RInt_const | move=> u u01; apply: fg; lra].
rewrite RInt_const /scal /= /mult /= -/(INR m.+1) => h.
have -> : g (INR m.+1 / N) = N * ((INR m.+1 / N - INR m / N) * g (INR m.+1 / N)) by rewrite {2}x; field; lra.
by apply: Rmult_le_compat_l; lra.
Qed.
Lemma one_side : RInt f 0 1 <= RInt g 0 1 + 2 * / N.
Proof.
have ef : ex_RInt f 0 1 by exact: falling_integrable.
have eg : ex_RInt g 0 1 by exact: falling_integrable.
have ni : 0 < / N by exact: Rinv_0_lt_compat.
have [m mE] : exists m, n = m.+1 by case: (n) n0 => // m _; exists m.
have mn : (m < n)%N by rewrite mE.
have [e l] := steps_below mn; have s := sum_below mn.
have mN : 0 <= INR m / N <= 1.
  split; first by apply: Rmult_le_pos; [exact: pos_INR | lra].
  apply: (Rmult_le_reg_r N) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last lra.
  by rewrite Rmult_1_r Rmult_1_l; apply: le_INR; apply/leP; exact: ltnW.
have tail : RInt g 0 (INR m / N) <= RInt g 0 1.
  have e1 := ex_RInt_Chasles_1 (V := R_CompleteNormedModule) _ 0 _ 1 mN eg.
  have e2 := ex_RInt_Chasles_2 (V := R_CompleteNormedModule) _ 0 _ 1 mN eg.
  rewrite -(RInt_Chasles (V := R_CompleteNormedModule) _ 0 (INR m / N) 1 e1 e2) /plus /=.
  have : 0 <= RInt g (INR m / N) 1.
    by apply: RInt_ge_0 => //; [lra | move=> u u01; case: (@g01 u ltac:(lra))].
  lra.
have up : RInt f 0 1 <= RInt (fun u => / N * (steps m (N * f u) + 2)) 0 1.
  apply: RInt_le => //; [lra | | ].
    apply: (ex_RInt_scal (V := R_NormedModule)); apply: (ex_RInt_plus (V := R_NormedModule)) => //; exact:
      ex_RInt_const.
  move=> u u01; have fu := f01 u01; have nf : 0 <= N * f u <= INR m + 1 by rewrite -S_INR -mE -/N; nra.
  suff : N * f u - 2 <= steps m (N * f u).
    move=> h; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ ni) h; have -> :
      / N * (N * f u - 2) = f u - 2 * / N by field; lra.
    lra.
  case: (Rle_dec (N * f u) (INR m)) => h; first by have := @steps_floor m (N * f u) ltac:(lra); lra.
  by rewrite steps_all; lra.
have sc : RInt (fun u => / N * (steps m (N * f u) + 2)) 0 1 = / N * (RInt (fun u => steps m (N * f u)) 0 1 + 2).
  have e3 : ex_RInt (fun u => steps m (N * f u) + 2) 0 1.
    by apply: (ex_RInt_plus (V := R_NormedModule)) => //; exact: ex_RInt_const.
  have -> : RInt (fun u => / N * (steps m (N * f u) + 2)) 0 1 = / N * RInt (fun u => steps m (N * f u) + 2) 0 1.
    exact: (RInt_scal (V := R_CompleteNormedModule)).
  congr (_ * _); have -> : RInt (fun u => steps m (N * f u) + 2) 0 1 =
      RInt (fun u => steps m (N * f u)) 0 1 + RInt (fun _ => 2) 0 1.
    by apply: (RInt_plus (V := R_CompleteNormedModule)) => //; exact: ex_RInt_const.
  by rewrite RInt_const /scal /= /mult /=; ring.
rewrite sc in up; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ ni) (Rle_trans _ _ _ l s).
have -> : / N * (N * RInt g 0 (INR m / N)) = RInt g 0 (INR m / N) by field; lra.
lra.
Qed.
End Sides.
Lemma small_gap x y : (forall n, (0 < n)%N -> x <= y + 2 * / INR n) -> x <= y.
Proof.
move=> H; apply: Rnot_lt_le => lt; have [n [h n0]] := archimed_cor1 ((x - y) / 2) ltac:(lra).
by have := H n (introT ltP n0); lra.
Qed.
Theorem swap f g : falling f -> falling g -> (forall u, 0 < u < 1 -> 0 <= f u <= 1) ->
  (forall u, 0 < u < 1 -> 0 <= g u <= 1) -> (forall u w, 0 < u < 1 -> 0 < w < 1 -> (w <= f u <-> u <= g w)) ->
  RInt f 0 1 = RInt g 0 1.
Proof.
move=> ff fg f01 g01 H; apply: Rle_antisym; apply: small_gap => n n0; apply: one_side => // u w u01 w01.
- by case: (H u w u01 w01).
- by case: (H w u w01 u01).
Qed.

Section Own.
Variables (T : finType) (S : T -> R -> R).
Hypothesis survives : forall i, survival (S i).
Hypothesis hazard1 : forall i, hazard_at_most 1 (S i).
Lemma product_near (l : seq T) (P : pred T) (a b : T -> R) c : 0 <= c -> (forall j, 0 <= a j <= 1) ->
  (forall j, 0 <= b j <= 1) -> (forall j, b j <= a j + c) ->
  \big[Rmult/1]_(j <- l | P j) b j <= \big[Rmult/1]_(j <- l | P j) a j + INR (size l) * c.
Proof.
move=> c0 a01 b01 ab; elim: l => [|j l IH]; first by rewrite !big_nil /=; lra.
rewrite !big_cons [size _]/= S_INR; case: (P j); last by have := IH; nra.
set x := \big[_/_]_(i <- l | _) b i in IH *; set y := \big[_/_]_(i <- l | _) a i in IH *.
have x01 : 0 <= x <= 1 by apply: rprod_le1 => i _.
have aj := a01 j; have bj := b01 j; have abj := ab j; have s0 := pos_INR (size l).
have h1 : b j * x <= a j * x + c * x by nra.
have h2 : a j * x <= a j * (y + INR (size l) * c) by apply: Rmult_le_compat_l; lra.
have h3 : 0 <= INR (size l) * c by apply: Rmult_le_pos.
by nra.
Qed.
Lemma below_near s y z c : 0 <= c -> below S s y (z + c) <= below S s y z + INR (size (index_enum T)) * c.
Proof.
move=> c0; apply: product_near => // j.
- by have := S01 survives j (z - s j); lra.
- by have := S01 survives j (z + c - s j); lra.
- have := hazard1 j (z - s j) c0; rewrite Rmult_1_l; have := exp_ineq1_le (- c); have := S01 survives j (z - s j).
  have -> : z - s j + c = z + c - s j by ring.
  by set x := S j (z - s j); set e := exp (- c) => x01 e1 h; nra.
Qed.
Lemma quantile_galois s (y : {set T}) u z : (exists j, j \notin y) -> 0 < u < 1 -> (quantile S s y u <= z <->
  u <= below S s y z).
Proof.
move=> out u01; have [ub lb] := quantile_lub survives out s u01; split=> h.
- apply: Rnot_lt_le => lt; set m := INR (size (index_enum T)); have m0 : 0 <= m by exact: pos_INR.
  set c := (u - below S s y z) / (m + 1); have c0 : 0 < c by apply: Rdiv_lt_0_compat; lra.
  have mc : m * c < u - below S s y z.
    have -> : u - below S s y z = (m + 1) * c by rewrite /c; field; lra.
    nra.
  have := ub (z + c); have := below_near s y z (Rlt_le _ _ c0); rewrite -/m => h1 h2.
  by have := h2 ltac:(lra); lra.
- apply: lb => z' hz; apply: Rnot_lt_le => lt; have := below_mono survives s y (Rlt_le _ _ lt); lra.
Qed.
Hypothesis two : forall i : T, exists j, j != i.
Theorem own_noise s i (Q : R -> R) : (forall w t, 0 < w < 1 -> (w <= S i t <-> t <= Q w)) ->
  wins S s i = RInt (fun w => below S s [set i] (s i + Q w)) 0 1.
Proof.
move=> gal; have out := another two i.
have e u : above S s [set i] (quantile S s [set i] u) = S i (quantile S s [set i] u - s i) by rewrite /above big_set1.
apply: swap => [u v u0 uv v1|u v u0 uv v1|u _|u _|u w u01 w01].
- by apply: above_mono => //; exact: quantile_mono.
- apply: below_mono => //; suff : Q v <= Q u by lra.
  by apply/(gal u); [lra | have [_ h] := gal v (Q v) ltac:(lra); have := h (Rle_refl _); lra].
- exact: above_range.
- exact: below_range.
- rewrite e; split=> h.
  + by apply/(quantile_galois s _ out u01); have /(gal w _ w01) := h; lra.
  + by apply/(gal w _ w01); have /(quantile_galois s _ out u01) := h; lra.
Qed.
End Own.

(* exponential noise: the race of Race.v, and permute-and-flip *)
Theorem wins_exponential (T : finType) (s : T -> R) i : (forall i : T, exists j, j != i) ->
  wins (fun _ => exponential) s i = win (fun _ => 1) s i /\ wins (fun _ => exponential) s i = pf s i.
Proof.
move=> two; suff e : wins (fun _ => exponential) s i = win (fun _ => 1) s i by rewrite -theorem53_i.
rewrite (@own_noise T (fun _ => exponential) (fun _ => exponential_survival) (fun _ => exponential_hazard) two s i
  (fun w => - ln w)); last first.
  move=> w t w01; rewrite /exponential; have l0 : ln w < 0 by rewrite -ln_1; apply: ln_increasing; lra.
  case: Rle_dec => h /=; last by split=> _; lra.
  split=> h1; first by have := Rcomplements.ln_le _ _ (proj1 w01) h1; rewrite ln_exp; lra.
  by rewrite -{1}(exp_ln w); [apply: exp_le; lra | lra].
apply: RInt_ext => w; rewrite Rmin_left ?Rmax_right; [|lra|lra] => w01.
rewrite /below /others; apply: eq_big => [j|j _]; first by rewrite inE.
rewrite /beaten Rmult_1_l /Rdiv Rmult_1_l Rinv_1; have -> : pw w 1 = w.
  by rewrite /pw; case: Rle_dec => h /=; [lra | rewrite Rpower_1; lra].
have x : exp (- (s i + - ln w - s j)) = exp (s j - s i) * w.
  have -> : - (s i + - ln w - s j) = (s j - s i) + ln w by ring.
  by rewrite exp_plus exp_ln; lra.
rewrite /exponential; case: Rle_dec => h /=; first rewrite x Rmax_right //.
  by have := @exp_le1 (- (s i + - ln w - s j)) ltac:(lra); rewrite x; lra.
rewrite Rmax_left; first by ring.
by have := @exp_ge1 (- (s i + - ln w - s j)) ltac:(lra); rewrite x; lra.
Qed.

(* a one-shot list of one, as OneShot.v writes it, is permute-and-flip too *)
Theorem one_shot_one (T : finType) (s : T -> R) i : one_shot s [:: i] = pf s i.
Proof.
have h0 : forall _ : T, 0 < 1 by move=> _; lra.
rewrite -theorem53_i /one_shot /=; set w := exp (s i); have w0 : 0 < w by exact: exp_pos.
have := @RInt_dilate (others (fun _ => 1) s i) w (/ w) (@others_cont _ _ h0 s i); rewrite Rinv_r; last lra.
rewrite /win => <-; congr (_ * _); have i0 : 0 < / w by exact: Rinv_0_lt_compat.
apply: RInt_ext => t; rewrite Rmin_left ?Rmax_right; [|lra|lra] => t0; rewrite Rmult_1_l /behind /others.
apply: eq_big => [j|j _]; first by rewrite inE.
rewrite /beaten Rmult_1_l /Rdiv Rmult_1_l Rinv_1; have wt0 : 0 < w * t by apply: Rmult_lt_0_compat; lra.
have -> : pw (w * t) 1 = w * t by rewrite /pw; case: Rle_dec => h /=; [lra | rewrite Rpower_1].
congr Rmax; congr (_ - _); rewrite -Rmult_assoc; congr (_ * _).
by rewrite /w -exp_plus; congr exp; ring.
Qed.

(* Gumbel noise: the exponential mechanism *)
Theorem wins_gumbel (T : finType) (s : T -> R) i : (forall i : T, exists j, j != i) ->
  wins (fun _ => gumbel) s i = softmax s i.
Proof.
move=> two; rewrite -theorem52 (@own_noise T (fun _ => gumbel) (fun _ => gumbel_survival) (fun _ =>
  gumbel_hazard) two s i
  (fun w => gumbel_quantile (1 - w))); last first.
  move=> w t w01; rewrite /gumbel /gumbel_quantile.
  have l0 : 0 < - ln (1 - w) by have := ln_increasing (1 - w) 1; rewrite ln_1; lra.
  split=> h.
  - have h1 : exp (- exp (- t)) <= 1 - w by lra.
    have := Rcomplements.ln_le _ _ (exp_pos _) h1; rewrite ln_exp => h2.
    by have := Rcomplements.ln_le (- ln (1 - w)) (exp (- t)) l0 ltac:(lra); rewrite ln_exp; lra.
  - have h1 : ln (- ln (1 - w)) <= - t by lra.
    have h2 := exp_le h1; rewrite exp_ln // in h2.
    have h3 := @exp_le (- exp (- t)) (ln (1 - w)) ltac:(lra); rewrite exp_ln in h3; lra.
rewrite /gumbel_win; set F := fun u => \big[Rmult/1]_(j | j != i) gumbel_cdf (s i + gumbel_quantile u - s j).
have -> : RInt (fun w => below (fun _ => gumbel) s [set i] (s i + gumbel_quantile (1 - w))) 0 1 =
          RInt (fun w => F (1 - w)) 0 1.
  apply: RInt_ext => w _; rewrite /below /F; apply: eq_big => [j|j _]; first by rewrite inE.
  by rewrite /gumbel /gumbel_cdf; rring.
have fall : forall u v, 0 < u -> u <= v -> v < 1 -> F u <= F v.
  move=> u v u0 uv v1; rewrite /F; apply: rprod_le => j _; split; first exact/Rlt_le/exp_pos.
  rewrite !gumbel_below; [|lra|lra]; rewrite /pw; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
  by apply: exp_le; apply: Rmult_le_compat_l; [exact/Rlt_le/exp_pos | apply: Rcomplements.ln_le; lra].
have F01 u : 0 < u < 1 -> 0 <= F u <= 1.
  move=> u01; apply: rprod_le1 => j _; rewrite /gumbel_cdf.
  by have := @exp_le1 (- exp (- (s i + gumbel_quantile u - s j))); have :=
    exp_pos (- (s i + gumbel_quantile u - s j)); lra.
have eF : ex_RInt F 0 1 by exact: rising_integrable.
have eF' : ex_RInt F (-1 * 0 + 1) (-1 * 1 + 1).
  have -> : -1 * 0 + 1 = 1 by ring.
  have -> : -1 * 1 + 1 = 0 by ring.
  exact: ex_RInt_swap.
have := RInt_comp_lin F (-1) 1 0 1 eF'.
have -> : -1 * 0 + 1 = 1 by ring.
have -> : -1 * 1 + 1 = 0 by ring.
rewrite -(opp_RInt_swap F 0 1) // => h.
have ex2 : ex_RInt (fun w => F (1 - w)) 0 1.
  apply: falling_integrable => [u v u0 uv v1|u u01]; last by apply: F01; lra.
  by apply: fall; lra.
have : RInt (fun y => scal (-1) (F (-1 * y + 1))) 0 1 = -1 * RInt (fun w => F (1 - w)) 0 1.
  rewrite (RInt_ext _ (fun w => scal (-1) (F (1 - w)))); first exact: (RInt_scal (V := R_CompleteNormedModule)).
  by move=> w _; have -> : -1 * w + 1 = 1 - w by ring.
by move=> e; rewrite e in h; move: h; rewrite /opp /=; lra.
Qed.
