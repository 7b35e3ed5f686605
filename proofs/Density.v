(* Definition 7 and Lemma 8 with densities: the slope condition implies a hazard of at most 1, and the five named
   kinds have it. A density f of S is a function whose integral from a to b is S(a) - S(b) = P[a < N <= b]. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Race Hazard Noise.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition density (f S : R -> R) := forall a b, a <= b -> is_RInt f a b (S a - S b).
Definition slope_condition (f : R -> R) := forall t c, 0 <= c -> exp (- c) * f t <= f (t + c).
Theorem slope_hazard f S : survival S -> density f S -> slope_condition f -> hazard_at_most 1 S.
Proof.
move=> [rng mono _ lim] D L t c c0; rewrite Rmult_1_l; have ec := exp_pos (- c).
(* up to b: integrate f(u + c) and f(u) from t to b *)
have upto b : t <= b -> exp (- c) * (S t - S b) <= S (t + c) - S (b + c).
  move=> tb; have D2 : is_RInt f (1 * t + c) (1 * b + c) (S (t + c) - S (b + c)).
    by rewrite !Rmult_1_l; apply: D; lra.
  have i2 := is_RInt_comp_lin f 1 c t b _ D2.
  have i1 := is_RInt_scal (V := R_NormedModule) f t b (exp (- c)) _ (D t b tb).
  apply: (is_RInt_le _ _ _ _ _ _ tb i1 i2) => u _.
  by have := L u c c0; rewrite /scal /= /mult /= !Rmult_1_l.
apply: Rnot_lt_le => lt; have [b1 h1] := lim (exp (- c) * S t - S (t + c)) ltac:(lra).
have m := Rmax_l t b1; have m' := Rmax_r t b1.
have := upto (Rmax t b1) m; have := mono b1 (Rmax t b1) m'.
have [_ s1] := rng (Rmax t b1); have [s0 _] := rng (Rmax t b1); have [s2 _] := rng (Rmax t b1 + c).
have e1 : exp (- c) <= 1 by rewrite -[X in _ <= X]exp_0; apply: exp_le; lra.
nra.
Qed.

Definition exponential_density t := if Rle_dec 0 t then exp (- t) else 0.
Definition gumbel_density t := exp (- t) * exp (- exp (- t)).
Definition laplace_density t := if Rle_dec 0 t then exp (- t) / 2 else exp t / 2.
Definition logistic_density t := exp t / ((1 + exp t) * (1 + exp t)).
Definition half_logistic_density t := if Rle_dec 0 t then 2 * exp t / ((1 + exp t) * (1 + exp t)) else 0.

(* a density of one piece, and of two pieces that meet at 0 *)
Lemma smooth (S f : R -> R) a b : (forall t, is_derive S t (- f t)) -> (forall t, continuous f t) ->
  is_RInt f a b (S a - S b).
Proof.
move=> D C; have : is_RInt f a b (minus ((fun t => - S t) b) ((fun t => - S t) a)).
  apply: (is_RInt_derive (fun t => - S t) f) => t _; last exact: C.
  by have := is_derive_opp _ _ _ (D t); rewrite /opp /= Ropp_involutive.
by rewrite /minus /plus /opp /=; congr (is_RInt _ _ _ _); rring.
Qed.
Lemma pieces (f fl fr S Sl Sr : R -> R) : (forall t, t < 0 -> f t = fl t) -> (forall t, 0 < t -> f t = fr t) ->
  (forall t, t <= 0 -> S t = Sl t) -> (forall t, 0 <= t -> S t = Sr t) ->
  (forall a b, is_RInt fl a b (Sl a - Sl b)) -> (forall a b, is_RInt fr a b (Sr a - Sr b)) -> density f S.
Proof.
move=> hl hr sl sr il ir a b ab.
have left x y : x <= y -> y <= 0 -> is_RInt f x y (S x - S y).
  move=> xy y0; rewrite !sl; try lra; apply: (is_RInt_ext fl) => [t|]; last exact: il.
  by rewrite Rmin_left ?Rmax_right // => tt; rewrite hl //; lra.
have right x y : x <= y -> 0 <= x -> is_RInt f x y (S x - S y).
  move=> xy x0; rewrite !sr; try lra; apply: (is_RInt_ext fr) => [t|]; last exact: ir.
  by rewrite Rmin_left ?Rmax_right // => tt; rewrite hr //; lra.
case: (Rle_dec b 0) => hb; first exact: left.
case: (Rle_dec 0 a) => ha; first exact: right.
have := is_RInt_Chasles f a 0 b _ _ (left a 0 ltac:(lra) ltac:(lra)) (right 0 b ltac:(lra) ltac:(lra)).
by rewrite /plus /=; congr (is_RInt _ _ _ _); rring.
Qed.
Ltac cont := move=> ?; apply: ex_derive_continuous; auto_derive => //.

Theorem exponential_has_density : density exponential_density exponential.
Proof.
apply: (pieces (fl := fun _ => 0) (fr := fun t => exp (- t)) (Sl := fun _ => 1) (Sr := fun t => exp (- t))).
- by move=> t h; rewrite /exponential_density; case: Rle_dec => // h'; lra.
- by move=> t h; rewrite /exponential_density; case: Rle_dec => // h'; lra.
- move=> t h; rewrite /exponential; case: Rle_dec => //= h'; have -> : t = 0 by lra.
  by rewrite /= Ropp_0 exp_0.
- by move=> t h; rewrite /exponential; case: Rle_dec.
- move=> a b; have -> : 1 - 1 = scal (b - a) 0 by rewrite /scal /= /mult /=; rring.
  exact: is_RInt_const.
- by move=> a b; apply: (smooth (S := fun t => exp (- t)) (f := fun t => exp (- t))); [move=> t; auto_derive => //;
  ring | cont].
Qed.
Theorem exponential_slope : slope_condition exponential_density.
Proof.
move=> t c c0; rewrite /exponential_density; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
- by rewrite -exp_plus; apply: exp_le; lra.
- by rewrite Rmult_0_r; exact/Rlt_le/exp_pos.
Qed.

Theorem gumbel_has_density : density gumbel_density gumbel.
Proof.
move=> a b _; apply: smooth; last by rewrite /gumbel_density; cont.
by move=> t; rewrite /gumbel /gumbel_density; auto_derive => //; ring.
Qed.
Theorem gumbel_slope : slope_condition gumbel_density.
Proof.
move=> t c c0; rewrite /gumbel_density -!exp_plus; apply: exp_le.
have h : exp (- (t + c)) <= exp (- t) by apply: exp_le; lra.
lra.
Qed.

Theorem laplace_has_density : density laplace_density laplace.
Proof.
apply: (pieces (fl := fun t => exp t / 2) (fr := fun t => exp (- t) / 2) (Sl := fun t => 1 - exp t / 2) (Sr :=
  fun t => exp (- t) / 2)).
- by move=> t h; rewrite /laplace_density; case: Rle_dec => // h'; lra.
- by move=> t h; rewrite /laplace_density; case: Rle_dec => // h'; lra.
- move=> t h; rewrite /laplace; case: Rle_dec => //= h'; have -> : t = 0 by lra.
  by rewrite /= Ropp_0 exp_0; lra.
- by move=> t h; rewrite /laplace; case: Rle_dec.
- by move=> a b; apply: (smooth (S := fun t => 1 - exp t / 2) (f := fun t => exp t / 2)); [move=> t; auto_derive =>
  //; field | cont].
- by move=> a b; apply: (smooth (S := fun t => exp (- t) / 2) (f := fun t => exp (- t) / 2)); [move=> t;
  auto_derive => //; field | cont].
Qed.
Theorem laplace_slope : slope_condition laplace_density.
Proof.
move=> t c c0; rewrite /laplace_density.
have ee x y : exp (- c) * (exp x / 2) <= exp y / 2 <-> exp (- c + x) <= exp y by rewrite exp_plus; split; lra.
case: Rle_dec => h; case: Rle_dec => h' /=; try lra; apply/ee; apply: exp_le; lra.
Qed.

Theorem logistic_has_density : density logistic_density logistic.
Proof.
have p t := exp_pos t; move=> a b _; apply: smooth.
  by move=> t; rewrite /logistic /logistic_density; auto_derive; [have := p t; lra | field; have := p t; lra].
move=> t; apply: ex_derive_continuous; rewrite /logistic_density; auto_derive; have := p t; nra.
Qed.
(* e^t / (1 + e^t)^2 = 1 / (e^(t/2) + e^(-t/2))^2 *)
Lemma logistic_step t c : 0 <= c ->
  exp (- c) * (exp t / ((1 + exp t) * (1 + exp t))) <= exp (t + c) / ((1 + exp (t + c)) * (1 + exp (t + c))).
Proof.
move=> c0; rewrite exp_Ropp exp_plus; set x := exp t; set y := exp c.
have x0 : 0 < x by exact: exp_pos.
have y1 : 1 <= y by exact: exp_ge1.
have h : (1 + x * y) * (1 + x * y) <= (y * (1 + x)) * (y * (1 + x)) by apply: Rmult_le_compat; nra.
apply: (Rmult_le_reg_r (y * ((1 + x) * (1 + x)) * ((1 + x * y) * (1 + x * y)))); first by repeat apply:
  Rmult_lt_0_compat; nra.
have -> : / y * (x / ((1 + x) * (1 + x))) * (y * ((1 + x) * (1 + x)) * ((1 + x * y) * (1 + x * y))) =
          x * ((1 + x * y) * (1 + x * y)) by field; lra.
have -> : x * y / ((1 + x * y) * (1 + x * y)) * (y * ((1 + x) * (1 + x)) * ((1 + x * y) * (1 + x * y))) =
          x * ((y * (1 + x)) * (y * (1 + x))) by field; nra.
by apply: Rmult_le_compat_l; lra.
Qed.
Theorem logistic_slope : slope_condition logistic_density.
Proof. by move=> t c c0; exact: logistic_step. Qed.

Theorem half_logistic_has_density : density half_logistic_density half_logistic.
Proof.
have p t := exp_pos t.
apply: (pieces (fl := fun _ => 0) (fr := fun t => 2 * exp t / ((1 + exp t) * (1 + exp t))) (Sl := fun _ => 1)
               (Sr := fun t => 2 / (1 + exp t))).
- by move=> t h; rewrite /half_logistic_density; case: Rle_dec => // h'; lra.
- by move=> t h; rewrite /half_logistic_density; case: Rle_dec => // h'; lra.
- move=> t h; rewrite /half_logistic; case: Rle_dec => //= h'; have -> : t = 0 by lra.
  by rewrite /= exp_0; lra.
- by move=> t h; rewrite /half_logistic; case: Rle_dec.
- move=> a b; have -> : 1 - 1 = scal (b - a) 0 by rewrite /scal /= /mult /=; rring.
  exact: is_RInt_const.
- move=> a b; apply: (smooth (S := fun t => 2 / (1 + exp t)) (f := fun t => 2 * exp t / ((1 + exp t) * (1 + exp t)))).
    by move=> t; auto_derive; [have := p t; lra | field; have := p t; lra].
  by move=> t; apply: ex_derive_continuous; auto_derive; have := p t; nra.
Qed.
Theorem half_logistic_slope : slope_condition half_logistic_density.
Proof.
move=> t c c0; rewrite /half_logistic_density; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
- have := logistic_step t c0; rewrite /Rdiv !Rmult_assoc; lra.
- rewrite Rmult_0_r; apply/Rlt_le/Rdiv_lt_0_compat; have := exp_pos (t + c); nra.
Qed.
