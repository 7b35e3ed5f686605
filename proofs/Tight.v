(* Theorem 16 (i), the greatest Renyi divergence of pure DP, and Theorem 164 (ii), its least rho: eps tanh(eps / 2). *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Noise Renyi Release.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* Theorem 16 (i): the chord of r^a over [e^-eps, e^eps], at r = 1 *)
Section Chord.
Variables (T : finType) (P Q : T -> R) (a eps : R).
Hypotheses (DP : distribution P) (DQ : distribution Q) (a1 : 1 < a) (e0 : 0 < eps) (H : pureDP eps P Q).
(* (p/q)^a q, below the chord *)
Lemma chord p q : 0 < p -> 0 < q -> p <= exp eps * q -> q <= exp eps * p ->
  p * exp ((a - 1) * ln (p / q)) <=
  ((p - exp (- eps) * q) * exp (a * eps) + (exp eps * q - p) * exp (- (a * eps))) / (exp eps - exp (- eps)).
Proof.
move=> p0 q0 h1 h2; set u := exp eps in h1 h2 *; set v := exp (- eps).
have uv : u * v = 1 by rewrite -exp_plus Rplus_opp_r exp_0.
have u1 : 1 < u by rewrite /u -[X in X < _]exp_0; exact: exp_increasing.
have v0 : 0 < v by exact: exp_pos.
have D : 0 < u - v by nra.
have m0 : 0 < p / q by exact: Rdiv_lt_0_compat.
have E0 := exp_pos ((a - 1) * ln (p / q)).
(* tangents at p / q, seen from u and from v *)
have t1 := tangent a1 (exp_pos eps) Rlt_0_1 m0; have t2 := tangent a1 (exp_pos (- eps)) Rlt_0_1 m0.
rewrite !Rdiv_1 !ln_exp -!exp_plus in t1 t2.
have x1 : eps + (a - 1) * eps = a * eps by ring.
have x2 : - eps + (a - 1) * - eps = - (a * eps) by ring.
rewrite x1 -/u in t1; rewrite x2 -/v in t2.
have w1 : 0 <= p - v * q.
  have : v * q <= v * (u * p) by apply: Rmult_le_compat_l; lra.
  by rewrite -Rmult_assoc (Rmult_comm v u) uv Rmult_1_l; lra.
have w2 : 0 <= u * q - p by lra.
apply: (Rmult_le_reg_r (u - v)) => //.
rewrite [X in _ <= X](_ : _ = (p - v * q) * exp (a * eps) + (u * q - p) * exp (- (a * eps))); last by field; lra.
have s1 := Rmult_le_compat_l _ _ _ w1 t1; have s2 := Rmult_le_compat_l _ _ _ w2 t2.
apply: (Rle_trans _ ((p - v * q) * (exp ((a - 1) * ln (p / q)) * (a * u - (a - 1) * (p / q) * 1)) +
                     (u * q - p) * (exp ((a - 1) * ln (p / q)) * (a * v - (a - 1) * (p / q) * 1)))); last by lra.
set E := exp ((a - 1) * ln (p / q)); apply: Req_le; field; lra.
Qed.
Theorem theorem16_pure : moment a P Q <= (exp (a * eps) + exp ((1 - a) * eps)) / (1 + exp eps).
Proof.
case: H => /pure_pointwise h /pure_pointwise h'; case: DP => p p1; case: DQ => q q1.
set u := exp eps; set v := exp (- eps).
have uv : u * v = 1 by rewrite -exp_plus Rplus_opp_r exp_0.
have u1 : 1 < u by rewrite /u -[X in X < _]exp_0; exact: exp_increasing.
have v0 : 0 < v by exact: exp_pos.
have D : 0 < u - v by nra.
set A := exp (a * eps); set B := exp (- (a * eps)).
have A0 : 0 < A by exact: exp_pos.
have B0 : 0 < B by exact: exp_pos.
have point o : P o * exp ((a - 1) * loss P Q o) <= ((A - B) / (u - v)) * P o + ((u * B - v * A) / (u - v)) * Q o.
  case: (Req_dec (P o) 0) => [z|Pn].
    have qz : Q o = 0 by have := h' o; rewrite z; have := q o; lra.
    by rewrite z qz; lra.
  have Pp : 0 < P o by have := p o; lra.
  have Qp : 0 < Q o by have := q o; case=> // e; have := h o; rewrite -e; lra.
  apply: Rle_trans (chord Pp Qp (h o) (h' o)) _; rewrite -/u -/v -/A -/B; apply: Req_le; field; lra.
apply: (Rle_trans _ (\rsum_o (((A - B) / (u - v)) * P o + ((u * B - v * A) / (u - v)) * Q o))).
  by apply: rsum_le => o _; exact: point.
rewrite big_split /= !rsum_scale p1 q1 !Rmult_1_r.
have -> : exp ((1 - a) * eps) = u * B by rewrite -exp_plus; congr exp; ring.
have -> : (A - B) / (u - v) + (u * B - v * A) / (u - v) = (A * (1 - v) + B * (u - 1)) / (u - v) by field; lra.
have vu : v = / u by apply: (Rmult_eq_reg_l u); [rewrite uv Rinv_r; lra | lra].
apply: Req_le; rewrite vu; field; repeat split; try lra; nra.
Qed.
End Chord.

(* hyperbolic functions: ln cosh is concave as a function of the square *)
Lemma cosh_pos x : 0 < cosh x.
Proof. by rewrite /cosh; have := exp_pos x; have := exp_pos (- x); lra. Qed.
Lemma cosh_sinh x : cosh x * cosh x - sinh x * sinh x = 1.
Proof.
rewrite /cosh /sinh; have := Rplus_opp_r x => e; have : exp x * exp (- x) = 1 by rewrite -exp_plus e exp_0.
by move=> h; have -> : (exp x + exp (- x)) / 2 * ((exp x + exp (- x)) / 2) - (exp x - exp (- x)) / 2 * ((exp x - exp
  (- x)) / 2) = exp x * exp (- x) by field.
Qed.
Lemma cosh_derive x : is_derive cosh x (sinh x).
Proof. by rewrite /cosh /sinh; auto_derive => //; field. Qed.
Lemma sinh_derive x : is_derive sinh x (cosh x).
Proof. by rewrite /cosh /sinh; auto_derive => //; field. Qed.
Lemma tanh_derive x : is_derive tanh x (/ (cosh x * cosh x)).
Proof.
have c := cosh_pos x; have -> : / (cosh x * cosh x) = (cosh x * cosh x - sinh x * sinh x) / (cosh x) ^ 2.
  by rewrite cosh_sinh /=; field; lra.
by apply: (is_derive_div sinh cosh); [exact: sinh_derive | exact: cosh_derive | lra].
Qed.
Lemma lncosh_derive x : is_derive (fun y => ln (cosh y)) x (tanh x).
Proof.
have c := cosh_pos x; have dl : is_derive ln (cosh x) (/ cosh x) by auto_derive => //; ring.
have := is_derive_comp ln cosh x _ _ dl (cosh_derive x).
by rewrite /scal /= /mult /= /tanh /Rdiv.
Qed.
Lemma cosh_ge1 x : 1 <= cosh x.
Proof. by have := cosh_sinh x; have := cosh_pos x; have := Rle_0_sqr (sinh x); rewrite /Rsqr; nra. Qed.
Lemma sinh_ge x : 0 <= x -> x <= sinh x.
Proof.
move=> x0; have s0 : sinh 0 = 0 by rewrite /sinh Ropp_0; field.
have [c [_ e]] := @mean_value sinh cosh 0 x x0 sinh_derive.
by have := cosh_ge1 c; rewrite s0 in e; nra.
Qed.
Lemma cosh_mono x y : 0 <= x -> x <= y -> cosh x <= cosh y.
Proof.
move=> x0 xy; have [c [cx e]] := @mean_value cosh sinh x y xy cosh_derive.
by have := @sinh_ge c ltac:(lra); nra.
Qed.
(* tanh(y) / y falls *)
Lemma tanh_falls x y : 0 < x -> x <= y -> x * tanh y <= y * tanh x.
Proof.
move=> x0 xy; have cx := cosh_pos x.
have slope : x * / (cosh x * cosh x) <= tanh x.
  rewrite /tanh; apply: (Rmult_le_reg_r (cosh x * cosh x)); first nra.
  rewrite Rmult_assoc Rinv_l; last nra.
  have -> : sinh x / cosh x * (cosh x * cosh x) = sinh x * cosh x by field; lra.
  by have := @sinh_ge x ltac:(lra); have := cosh_ge1 x; nra.
have [c [cxy e]] := @mean_value tanh (fun z => / (cosh z * cosh z)) x y xy tanh_derive.
have le : / (cosh c * cosh c) <= / (cosh x * cosh x).
  by apply: Rinv_le_contravar; [nra | have := @cosh_mono x c ltac:(lra) ltac:(lra); nra].
have := Rmult_le_compat_r (y - x) _ _ ltac:(lra) le; rewrite -e => h.
have h2 := Rmult_le_compat_l x _ _ (Rlt_le _ _ x0) h.
have h3 := Rmult_le_compat_r (y - x) _ _ ltac:(lra) slope.
lra.
Qed.
Lemma lncosh_concave x y : 0 < x -> x <= y -> ln (cosh y) - ln (cosh x) <= (y * y - x * x) * (tanh x / (2 * x)).
Proof.
move=> x0 xy; pose f z := z * z * (tanh x / (2 * x)) - ln (cosh z).
have df z : is_derive f z (z * (tanh x / x) - tanh z).
  apply: (is_derive_minus (V := R_NormedModule)); last exact: lncosh_derive.
  by auto_derive => //; field; lra.
have [c [cxy e]] := @mean_value f _ x y xy df.
have h := tanh_falls x0 (proj1 cxy).
have h2 : 0 <= c * (tanh x / x) - tanh c.
  apply: (Rmult_le_reg_l x) => //; rewrite Rmult_0_r.
  by have -> : x * (c * (tanh x / x) - tanh c) = c * tanh x - x * tanh c by [field; lra]; lra.
have : 0 <= f y - f x by rewrite e; apply: Rmult_le_pos; lra.
by rewrite /f; lra.
Qed.
Theorem theorem164_pure (T : finType) eps (P Q : T -> R) : distribution P -> distribution Q -> 0 <= eps ->
  pureDP eps P Q -> zcdp (eps * tanh (eps / 2)) P Q.
Proof.
move=> DP DQ [e0|<-] H; last first.
  have := theorem15_pure DP DQ (Rle_refl 0) H.
  by have -> : 0 * 0 / 2 = 0 * tanh (0 / 2) by field.
have half A B a : distribution A -> distribution B -> pureDP eps A B -> 1 < a ->
  renyi a (a * (eps * tanh (eps / 2))) A B.
  move=> DA DB HAB a1; have [_ z] := theorem15_pure DA DB (Rlt_le _ _ e0) HAB.
  split; first by have [z' _] := theorem15_pure DA DB (Rlt_le _ _ e0) HAB; case: (z' a a1).
  apply: Rle_trans (theorem16_pure DA DB a1 e0 HAB) _.
  set x := eps / 2; set y := (2 * a - 1) * x.
  have x0 : 0 < x by rewrite /x; lra.
  have xy : x <= y by rewrite /y; nra.
  have -> : (exp (a * eps) + exp ((1 - a) * eps)) / (1 + exp eps) = cosh y / cosh x.
    have -> : a * eps = x + y by rewrite /y /x; field.
    have -> : (1 - a) * eps = x + - y by rewrite /y /x; field.
    have e : eps = x + x by rewrite /x; field.
    rewrite e !exp_plus /cosh; have p := exp_pos x; have p' := exp_pos (- x).
    have xx : exp x * exp (- x) = 1 by rewrite -exp_plus Rplus_opp_r exp_0.
    have -> : 1 + exp x * exp x = exp x * (exp x + exp (- x)) by rewrite Rmult_plus_distr_l xx; ring.
    by field; split; lra.
  have cx := cosh_pos x; have cy := cosh_pos y.
  rewrite -(exp_ln (cosh y / cosh x)); last exact: Rdiv_lt_0_compat.
  apply: exp_le; rewrite /Rdiv ln_mult ?ln_Rinv //; last exact: Rinv_0_lt_compat.
  have := lncosh_concave x0 xy.
  have -> : (y * y - x * x) * (tanh x / (2 * x)) = (a - 1) * (a * (eps * tanh x)).
    by rewrite /y; have -> : eps = 2 * x by [rewrite /x; field]; field; lra.
  lra.
by split=> a a1; apply: half => //; case: H.
Qed.
