(* Lemma 8: the five named kinds of noise have hazard at most 1 and are given by survival functions (Definition 7), so
   that Theorems 51, 59, 63 and 71 of Hazard.v apply to them; and with noise N, b N + c has hazard h / b. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Hazard.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition exponential t := if Rle_dec 0 t then exp (- t) else 1.
Definition gumbel t := 1 - exp (- exp (- t)).
Definition laplace t := if Rle_dec 0 t then exp (- t) / 2 else 1 - exp t / 2.
Definition logistic t := / (1 + exp t).
Definition half_logistic t := if Rle_dec 0 t then 2 / (1 + exp t) else 1.

Lemma exp_le1 t : t <= 0 -> 0 < exp t <= 1.
Proof. by move=> h; split; [exact: exp_pos | rewrite -exp_0; exact: exp_le]. Qed.
Lemma exp_ge1 t : 0 <= t -> 1 <= exp t.
Proof. by move=> h; rewrite -exp_0; exact: exp_le. Qed.
Lemma exp_small e : 0 < e -> exists t, 0 <= t /\ exp (- t) < e.
Proof.
move=> e0; have m := Rmax_l 0 (- ln e + 1); have m' := Rmax_r 0 (- ln e + 1).
exists (Rmax 0 (- ln e + 1)); split=> //.
by rewrite -{2}(exp_ln e e0); apply: exp_increasing; lra.
Qed.

Theorem exponential_survival : survival exponential.
Proof.
rewrite /exponential; split.
- by move=> t; case: Rle_dec => h /=; [have := @exp_le1 (- t); lra | lra].
- move=> t t' tt; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
  + by apply: exp_le; lra.
  + by have := @exp_le1 (- t'); lra.
- by move=> e e0; exists (-1); case: Rle_dec => h /=; lra.
- by move=> e e0; have [t [t0 ht]] := exp_small e0; exists t; case: Rle_dec.
Qed.
Theorem exponential_hazard : hazard_at_most 1 exponential.
Proof.
move=> t c c0; rewrite /exponential Rmult_1_l; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
- by rewrite -exp_plus; apply: exp_le; lra.
- by rewrite Rmult_1_r; apply: exp_le; lra.
- by rewrite Rmult_1_r; have := @exp_le1 (- c); lra.
Qed.

Theorem gumbel_survival : survival gumbel.
Proof.
rewrite /gumbel; split.
- by move=> t; have := @exp_le1 (- exp (- t)); have := exp_pos (- t); lra.
- move=> t t' tt; suff : exp (- exp (- t)) <= exp (- exp (- t')) by lra.
  by apply: exp_le; suff : exp (- t') <= exp (- t) by [lra]; apply: exp_le; lra.
- move=> e e0; have [s [s0 hs]] := exp_small e0; exists (- ln (s + 1)).
  rewrite Ropp_involutive exp_ln; last lra.
  by have := @exp_le (- (s + 1)) (- s) ltac:(lra); lra.
- move=> e e0; have [t [t0 ht]] := exp_small e0; exists t; have := exp_ineq1_le (- exp (- t)); lra.
Qed.
Lemma exp_tangent p x : exp p * (1 + x - p) <= exp x.
Proof.
have -> : exp x = exp p * exp (x - p) by rewrite -exp_plus; congr exp; ring.
by apply: Rmult_le_compat_l; [exact/Rlt_le/exp_pos | have := exp_ineq1_le (x - p); lra].
Qed.
(* e^-z lies below its chord from 0 to y *)
Lemma exp_chord a y : 0 <= a <= 1 -> exp (- (a * y)) <= a * exp (- y) + (1 - a).
Proof.
move=> a01; have h1 := exp_tangent (- (a * y)) (- y); have h2 := exp_tangent (- (a * y)) 0.
rewrite exp_0 in h2; have p := exp_pos (- (a * y)); set E := exp (- (a * y)) in h1 h2 p *.
have h3 := Rmult_le_compat_l a _ _ (proj1 a01) h1.
have h4 : (1 - a) * (E * (1 + 0 - - (a * y))) <= (1 - a) * 1 by apply: Rmult_le_compat_l => //; lra.
have -> : E = a * (E * (1 + - y - - (a * y))) + (1 - a) * (E * (1 + 0 - - (a * y))) by ring.
lra.
Qed.
Theorem gumbel_hazard : hazard_at_most 1 gumbel.
Proof.
move=> t c c0; rewrite /gumbel Rmult_1_l; have [a0 a1] := @exp_le1 (- c) ltac:(lra).
have -> : exp (- (t + c)) = exp (- c) * exp (- t) by rewrite -exp_plus; congr exp; ring.
by have := @exp_chord (exp (- c)) (exp (- t)) ltac:(lra); lra.
Qed.

Theorem laplace_survival : survival laplace.
Proof.
rewrite /laplace; split.
- by move=> t; case: Rle_dec => h /=; [have := @exp_le1 (- t); lra | have := @exp_le1 t; lra].
- move=> t t' tt; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
  + by have := @exp_le (- t') (- t); lra.
  + by have := @exp_le1 (- t'); have := @exp_le1 t; lra.
  + by have := @exp_le t t'; lra.
- move=> e e0; have [t [t0 ht]] := exp_small e0; exists (- t - 1); case: Rle_dec => h /=; first lra.
  by have := @exp_le (- t - 1) (- t); lra.
- move=> e e0; have [t [t0 ht]] := exp_small e0; exists t; case: Rle_dec => h //=.
  by have := exp_pos (- t); lra.
Qed.
Theorem laplace_hazard : hazard_at_most 1 laplace.
Proof.
move=> t c c0; rewrite /laplace Rmult_1_l; have [a0 a1] := @exp_le1 (- c) ltac:(lra).
case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
- by have -> : - (t + c) = - c + - t by [ring]; rewrite exp_plus; lra.
- have [b0 b1] := @exp_le1 t ltac:(lra).
  have -> : - (t + c) = - c + - t by ring.
  rewrite exp_plus (exp_Ropp t); have i : 1 <= / exp t by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
  have : 0 < / exp t by lra.
  have e : exp t * / exp t = 1 by rewrite Rinv_r; lra.
  (* 2 <= b + 1/b *)
  move=> _; have : 2 <= exp t + / exp t.
    have -> : exp t + / exp t = 2 + / exp t * ((1 - exp t) * (1 - exp t)) by field; lra.
    by have : 0 <= / exp t * ((1 - exp t) * (1 - exp t)) by [apply: Rmult_le_pos; nra]; lra.
  move=> h2; apply: (Rle_trans _ (exp (- c) * (/ exp t / 2))); last by lra.
  by apply: Rmult_le_compat_l; lra.
- have b1 : exp (t + c) <= 1 by have := @exp_le1 (t + c); lra.
  rewrite exp_plus in b1 *.
  have ec : exp c * exp (- c) = 1 by rewrite -exp_plus Rplus_opp_r exp_0.
  have bt := exp_pos t; have cp := exp_pos c; set a := exp (- c) in a0 a1 ec *; set p := exp c in b1 ec cp *.
  have ba : exp t <= a by have := Rmult_le_compat_r a _ _ (Rlt_le _ _ a0) b1; rewrite Rmult_assoc ec; lra.
  have pa : a <= p by nra.
  have := Rmult_le_compat_r (p - a) _ _ ltac:(lra) ba; nra.
Qed.

Theorem logistic_survival : survival logistic.
Proof.
have p t := exp_pos t; rewrite /logistic; split.
- move=> t; split; first by apply/Rlt_le/Rinv_0_lt_compat; have := p t; lra.
  by rewrite -[X in _ <= X]Rinv_1; apply: Rinv_le_contravar; have := p t; lra.
- by move=> t t' tt; apply: Rinv_le_contravar; [have := p t; lra | have := exp_le tt; lra].
- move=> e e0; have [t [t0 ht]] := exp_small e0; exists (- t); have q := p (- t).
  apply: (Rlt_le_trans _ (1 - exp (- t))); first lra.
  apply: (Rmult_le_reg_r (1 + exp (- t))); first lra.
  by rewrite Rinv_l; nra.
- move=> e e0; have [t [t0 ht]] := exp_small e0; exists t; apply: Rle_lt_trans ht.
  by rewrite exp_Ropp; apply: Rinv_le_contravar; have := p t; lra.
Qed.
Theorem logistic_hazard : hazard_at_most 1 logistic.
Proof.
move=> t c c0; rewrite /logistic Rmult_1_l exp_Ropp exp_plus; have h := exp_ge1 c0; have p := exp_pos t.
have pc := exp_pos c; rewrite -Rinv_mult; apply: Rinv_le_contravar; nra.
Qed.

Theorem half_logistic_survival : survival half_logistic.
Proof.
have p t := exp_pos t; rewrite /half_logistic; split.
- move=> t; case: Rle_dec => h /=; last lra.
  have q := exp_ge1 h; split; first by apply/Rlt_le/Rdiv_lt_0_compat; lra.
  by apply: (Rmult_le_reg_r (1 + exp t)); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
- move=> t t' tt; case: Rle_dec => h; case: Rle_dec => h' /=; try lra.
  + by apply: Rmult_le_compat_l; [lra | apply: Rinv_le_contravar; [have := p t; lra | have := exp_le tt; lra]].
  + have q := exp_ge1 h.
    by apply: (Rmult_le_reg_r (1 + exp t')); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
- by move=> e e0; exists (-1); case: Rle_dec => h /=; lra.
- move=> e e0; have [t [t0 ht]] := @exp_small (e / 2) ltac:(lra); exists t; case: Rle_dec => h' //=.
  have : / (1 + exp t) <= exp (- t) by rewrite exp_Ropp; apply: Rinv_le_contravar; have := p t; lra.
  by rewrite /Rdiv; lra.
Qed.
Theorem half_logistic_hazard : hazard_at_most 1 half_logistic.
Proof.
move=> t c c0; rewrite /half_logistic Rmult_1_l; have h := exp_ge1 c0; have p := exp_pos t; have pc := exp_pos c.
have [a0 a1] := @exp_le1 (- c) ltac:(lra).
case: Rle_dec => b; case: Rle_dec => b' /=; try lra.
- rewrite exp_Ropp exp_plus; apply: (Rle_trans _ (2 * (/ exp c * / (1 + exp t)))); first by rewrite /Rdiv; lra.
  by apply: Rmult_le_compat_l; [lra | rewrite -Rinv_mult; apply: Rinv_le_contravar; nra].
- (* t < 0 <= t + c: e^-c <= 2 / (1 + e^(t+c)) *)
  rewrite Rmult_1_r exp_Ropp; have q : exp (t + c) <= exp c by apply: exp_le; lra.
  apply: (Rle_trans _ (2 / (1 + exp c))).
    apply: (Rmult_le_reg_r (exp c * (1 + exp c))); first nra.
    have -> : / exp c * (exp c * (1 + exp c)) = 1 + exp c by field; lra.
    have -> : 2 / (1 + exp c) * (exp c * (1 + exp c)) = 2 * exp c by field; lra.
    lra.
  by apply: Rmult_le_compat_l; [lra | apply: Rinv_le_contravar; [have := exp_pos (t + c); lra | lra]].
Qed.

(* (Theorem 71) noise N / a has hazard a times that of N: the guard's Exp(1)/a *)
Lemma scaled_survival (S : R -> R) a : 0 < a -> survival S -> survival (fun t => S (a * t)).
Proof.
move=> a0 [r m l h]; split=> [t|t t' tt|e e0|e e0]; first exact: r.
- by apply: m; nra.
- have [t ht] := l e e0; exists (t / a); have -> : a * (t / a) = t by field; lra.
  exact: ht.
- have [t ht] := h e e0; exists (t / a); have -> : a * (t / a) = t by field; lra.
  exact: ht.
Qed.
Lemma scaled_hazard (S : R -> R) a : 0 < a -> hazard_at_most 1 S -> hazard_at_most a (fun t => S (a * t)).
Proof.
move=> a0 H t c c0; have ac : 0 <= a * c by nra.
by have := H (a * t) (a * c) ac; rewrite Rmult_1_l Rmult_plus_distr_l.
Qed.
