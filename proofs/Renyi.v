(* Renyi divergences of distributions on finite sets, zCDP, and two conversions: Theorem 15 (eps-bounded range gives
   eps^2/8-zCDP, eps-DP gives eps^2/2-zCDP) and Theorem 18 (from a Renyi divergence to epsilon and delta). *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base RaceTotal.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Definitions.
Variable T : finType.
Implicit Types (P Q : T -> R).
Definition dominated P Q := forall o, Q o = 0 -> P o = 0.
(* Definitions 10 and 12. D_a(P, Q) <= r says that the moment E_P[e^((a-1) L)] is at most e^((a-1) r); outputs that P
   cannot give count for 0, and P may not give what Q cannot. *)
Definition loss P Q o := ln (P o / Q o).
Definition moment a P Q := \rsum_o P o * exp ((a - 1) * loss P Q o).
Definition renyi a r P Q := dominated P Q /\ moment a P Q <= exp ((a - 1) * r).
Definition zcdp rho P Q :=
  (forall a, 1 < a -> renyi a (a * rho) P Q) /\ (forall a, 1 < a -> renyi a (a * rho) Q P).
Definition approx eps delta P Q := forall S : {set T}, prob P S <= exp eps * prob Q S + delta.
Definition approxDP eps delta P Q := approx eps delta P Q /\ approx eps delta Q P.
End Definitions.

Lemma renyi_same (T : finType) a (P : T -> R) : distribution P -> renyi a 0 P P.
Proof.
move=> [p p1]; split=> //; rewrite /moment Rmult_0_r exp_0 -p1; apply: Req_le; apply: eq_bigr => o _.
case: (Req_dec (P o) 0) => [->|Pn]; first by ring.
by rewrite /loss /Rdiv Rinv_r // ln_1 Rmult_0_r exp_0; ring.
Qed.

(* Theorem 15 *)
Section BoundedRange.
Variables (T : finType) (P Q : T -> R) (e t : R).
Hypotheses (DP : distribution P) (DQ : distribution Q) (e0 : 0 <= e).
Hypothesis window : forall o, exp (t - e) * Q o <= P o <= exp t * Q o.
Let l o := loss P Q o.
Lemma window_positive o : P o <> 0 -> 0 < P o /\ 0 < Q o.
Proof.
move=> Pn; have Pp : 0 < P o by case: DP => p _; have := p o; lra.
split=> //; have := window o; have := exp_pos t; case: DQ => q _; have := q o; nra.
Qed.
Lemma window_loss o : P o <> 0 -> t - e <= l o <= t.
Proof.
move=> /window_positive [Pp Qp]; have [lo hi] := window o; have e1 := Rinv_0_lt_compat _ Qp.
rewrite /l /loss; split.
- rewrite -(ln_exp (t - e)); apply: Rcomplements.ln_le; first exact: exp_pos.
  by apply: (Rmult_le_reg_r (Q o)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
- rewrite -[X in _ <= X](ln_exp t); apply: Rcomplements.ln_le; first exact: Rdiv_lt_0_compat.
  by apply: (Rmult_le_reg_r (Q o)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.
Lemma window_dominated : dominated P Q.
Proof. by move=> o q; have := window o; rewrite q !Rmult_0_r; lra. Qed.
(* the moments of L under P, tilted by s *)
Definition m0 s := \rsum_o P o * exp (s * l o).
Definition m1 s := \rsum_o P o * l o * exp (s * l o).
Definition m2 s := \rsum_o P o * l o * l o * exp (s * l o).
Lemma m0_pos s : 0 < m0 s.
Proof.
case: DP => p p1; have [o Po] : exists o, P o <> 0.
  apply: Classical_Pred_Type.not_all_not_ex => none; have : \rsum_o P o = 0.
    by rewrite big1 // => o _; apply: Classical_Prop.NNPP; exact: none.
  by rewrite p1; lra.
rewrite /m0 (bigD1 o) //=; have : 0 < P o * exp (s * l o).
  by apply: Rmult_lt_0_compat; [case: (window_positive Po) | exact: exp_pos].
have : 0 <= \rsum_(i | i != o) P i * exp (s * l i).
  by apply: rsum_ge0 => i _; apply: Rmult_le_pos; [exact: p | exact/Rlt_le/exp_pos].
lra.
Qed.
Lemma m0_derive s : is_derive m0 s (m1 s).
Proof.
apply: (bigsum_derive (f := fun o s => P o * exp (s * l o)) (df := fun o s => P o * l o * exp (s * l o))) => o.
by auto_derive => //; ring.
Qed.
Lemma m1_derive s : is_derive m1 s (m2 s).
Proof.
apply: (bigsum_derive (f := fun o s => P o * l o * exp (s * l o)) (df := fun o s =>
  P o * l o * l o * exp (s * l o))) => o.
by auto_derive => //; ring.
Qed.
(* a variable in a window of width e has a variance of at most e^2/4 *)
Lemma variance s : m2 s * m0 s - m1 s * m1 s <= e * e / 4 * (m0 s * m0 s).
Proof.
have h : m2 s <= (2 * t - e) * m1 s - t * (t - e) * m0 s.
  have -> : (2 * t - e) * m1 s - t * (t - e) * m0 s =
            \rsum_o ((2 * t - e) * l o - t * (t - e)) * (P o * exp (s * l o)).
    rewrite /m1 /m0 -!rsum_scale /Rminus -[- (\big[_/_]_o _)]Rmult_1_l -Ropp_mult_distr_r Ropp_mult_distr_l -rsum_scale.
    by rewrite -big_split /=; apply: eq_bigr => o _; ring.
  apply: rsum_le => o _; case: (Req_dec (P o) 0) => [->|Pn]; first by ring_simplify; lra.
  have [lo hi] := window_loss Pn; have [Pp _] := window_positive Pn.
  have w : 0 <= P o * exp (s * l o) by apply: Rmult_le_pos; [lra | exact/Rlt_le/exp_pos].
  have -> : P o * l o * l o * exp (s * l o) = l o * l o * (P o * exp (s * l o)) by ring.
  by apply: Rmult_le_compat_r => //; nra.
have p := m0_pos s; have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ p) h.
by have := Rle_0_sqr (m1 s - (t - e / 2) * m0 s); rewrite /Rsqr; lra.
Qed.
Let g s := ln (m0 s) - s * (s + 1) * (e * e / 8).
Let g1 s := m1 s / m0 s - (2 * s + 1) * (e * e / 8).
Let g2 s := (m2 s * m0 s - m1 s * m1 s) / (m0 s) ^ 2 - e * e / 4.
Lemma g_derive s : is_derive g s (g1 s).
Proof.
have p := m0_pos s; apply: (is_derive_minus (V := R_NormedModule)); last by auto_derive => //; lra.
have dl : is_derive ln (m0 s) (/ m0 s) by auto_derive => //; ring.
have := is_derive_comp ln m0 s _ _ dl (m0_derive s).
by rewrite /scal /= /mult /=.
Qed.
Lemma g1_derive s : is_derive g1 s (g2 s).
Proof.
have p := m0_pos s; apply: (is_derive_minus (V := R_NormedModule)); last by auto_derive => //; lra.
by apply: is_derive_div; [exact: m1_derive | exact: m0_derive | lra].
Qed.
Lemma g2_le0 s : g2 s <= 0.
Proof.
have p := m0_pos s; have v := variance s; rewrite /g2 /= Rmult_1_r.
suff : (m2 s * m0 s - m1 s * m1 s) / (m0 s * m0 s) <= e * e / 4 by lra.
apply: (Rmult_le_reg_r (m0 s * m0 s)); first nra.
by rewrite /Rdiv Rmult_assoc Rinv_l; [rewrite Rmult_1_r; exact: v | nra].
Qed.
Lemma mean_value (f f' : R -> R) a b : a <= b -> (forall x, is_derive f x (f' x)) ->
  exists c, a <= c <= b /\ f b - f a = f' c * (b - a).
Proof.
move=> ab D; have [||c [h1 h2]] := @MVT_gen f a b f'.
- by move=> x _; exact: D.
- by move=> x _; apply/continuity_pt_filterlim; apply: ex_derive_continuous; exists (f' x); exact: D.
- by exists c; move: h1; rewrite Rmin_left ?Rmax_right.
Qed.
Lemma m0_at_0 : m0 0 = 1.
Proof. by case: DP => _ <-; apply: eq_bigr => o _; rewrite Rmult_0_l exp_0; ring. Qed.
Lemma m0_at_m1 : m0 (-1) = 1.
Proof.
case: DQ => q <-; apply: eq_bigr => o _; case: (Req_dec (P o) 0) => [z|Pn].
  have [lo _] := window o; rewrite z Rmult_0_l; rewrite z in lo; have := exp_pos (t - e); have := q o; nra.
have [Pp Qp] := window_positive Pn; rewrite /l /loss.
have -> : -1 * ln (P o / Q o) = ln (Q o / P o).
  by rewrite /Rdiv !ln_mult ?ln_Rinv //; try exact: Rinv_0_lt_compat; ring.
by rewrite exp_ln; [field; lra | exact: Rdiv_lt_0_compat].
Qed.
Lemma g_le0 s : 0 <= s -> g s <= 0.
Proof.
move=> s0; have z0 : g 0 = 0 by rewrite /g m0_at_0 ln_1; ring.
have z1 : g (-1) = 0 by rewrite /g m0_at_m1 ln_1; ring.
have [x [x01 hx]] := @mean_value g g1 (-1) 0 ltac:(lra) g_derive.
have gx : g1 x = 0 by move: hx; rewrite z0 z1; lra.
have [c [cs hc]] := @mean_value g g1 0 s s0 g_derive.
have [d [ds hd]] := @mean_value g1 g2 x c ltac:(lra) g1_derive.
have := g2_le0 d; have h : g1 c <= 0 by have := g2_le0 d; nra.
by move=> _; move: hc; rewrite z0; nra.
Qed.
Lemma window_renyi a : 1 < a -> renyi a (a * (e * e / 8)) P Q.
Proof.
move=> a1; split; first exact: window_dominated.
have := @g_le0 (a - 1) ltac:(lra); rewrite /g => h.
rewrite -/(m0 (a - 1)) -[X in X <= _](exp_ln _ (m0_pos _)); apply: exp_le.
have -> : (a - 1) * (a * (e * e / 8)) = (a - 1) * (a - 1 + 1) * (e * e / 8) by ring.
lra.
Qed.
End BoundedRange.
Theorem theorem15 (T : finType) eps (P Q : T -> R) : distribution P -> distribution Q -> 0 <= eps ->
  brange eps P Q -> zcdp (eps * eps / 8) P Q.
Proof.
move=> DP DQ e0 B; have [t H] := B; have [t' H'] := brange_sym B.
by split=> a a1; [apply: (window_renyi (t := t)) | apply: (window_renyi (t := t'))].
Qed.
Theorem theorem15_pure (T : finType) eps (P Q : T -> R) : distribution P -> distribution Q -> 0 <= eps ->
  pureDP eps P Q -> zcdp (eps * eps / 2) P Q.
Proof.
move=> DP DQ e0 [/pure_pointwise h /pure_pointwise h'].
have -> : eps * eps / 2 = (2 * eps) * (2 * eps) / 8 by field.
apply: theorem15 => //; first lra; exists eps => o; split; last exact: h.
have -> : eps - 2 * eps = - eps by ring.
have := h' o; have ep := exp_pos (- eps); have e1 : exp (- eps) * exp eps = 1 by rewrite -exp_plus Rplus_opp_l exp_0.
move=> H; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ ep) H; rewrite -Rmult_assoc e1; lra.
Qed.

(* Theorem 18 *)
Section Conversion.
Variables (T : finType) (P Q : T -> R) (a r eps : R).
Hypotheses (DP : distribution P) (DQ : distribution Q) (a1 : 1 < a).
Lemma ln_le_sub1 x : 0 < x -> ln x <= x - 1.
Proof. by move=> x0; have := exp_ineq1_le (ln x); rewrite exp_ln //; lra. Qed.
(* (1 - u) u^(a-1) is at most (1 - 1/a)^a / (a - 1), for u = e^z *)
Lemma best_factor z : (1 - exp z) * exp ((a - 1) * z) <= Rpower (1 - / a) a / (a - 1).
Proof.
have ai : 0 < / a by apply: Rinv_0_lt_compat; lra.
have ai1 : / a < 1 by rewrite -Rinv_1; apply: Rinv_lt_contravar; lra.
have cp : 0 < Rpower (1 - / a) a / (a - 1) by apply: Rdiv_lt_0_compat; [exact: exp_pos | lra].
case: (Rle_lt_dec 0 z) => z0.
  have : 1 <= exp z by rewrite -exp_0; exact: exp_le.
  by have := exp_pos ((a - 1) * z); nra.
have u1 : exp z < 1 by rewrite -exp_0; exact: exp_increasing.
have u0 := exp_pos z.
rewrite -[X in X * _](exp_ln (1 - exp z)); last lra.
rewrite -exp_plus -(exp_ln _ cp); apply: exp_le.
have -> : ln (Rpower (1 - / a) a / (a - 1)) = a * ln (1 - / a) - ln (a - 1).
  by rewrite /Rdiv ln_mult; [rewrite ln_Rinv; [rewrite /Rpower ln_exp; ring | lra] | exact: exp_pos | apply:
    Rinv_0_lt_compat; lra].
have e : ln (1 - / a) = ln (a - 1) - ln a.
  have -> : 1 - / a = (a - 1) * / a by field; lra.
  by rewrite ln_mult ?ln_Rinv; lra.
have h1 := @ln_le_sub1 (a * (1 - exp z)) ltac:(nra).
have h2 := @ln_le_sub1 (exp z * (a / (a - 1))) ltac:(by apply: Rmult_lt_0_compat => //; apply: Rdiv_lt_0_compat; lra).
rewrite ln_mult in h1; [|lra|lra].
rewrite ln_mult in h2; [|lra|by apply: Rdiv_lt_0_compat; lra].
rewrite ln_exp /Rdiv ln_mult in h2; [|lra|by apply: Rinv_0_lt_compat; lra].
rewrite ln_Rinv in h2; last lra.
have h3 := Rmult_le_compat_l (a - 1) _ _ ltac:(lra) h2.
have h4 : (a - 1) * (exp z * (a * / (a - 1)) - 1) = a * exp z - (a - 1) by field; lra.
rewrite h4 in h3; rewrite e; nra.
Qed.
(* for single probabilities p and q: the loss is ln(p / q) *)
Lemma best_factor_point p q : 0 < p -> 0 < q ->
  p <= exp eps * q + Rpower (1 - / a) a / (a - 1) * exp (- ((a - 1) * eps)) * (p * exp ((a - 1) * ln (p / q))).
Proof.
move=> pp qp; set c := Rpower (1 - / a) a / (a - 1).
have := best_factor (eps - ln (p / q)); rewrite -/c.
have -> : exp (eps - ln (p / q)) = exp eps * (q / p).
  rewrite /Rminus exp_plus exp_Ropp exp_ln; last exact: Rdiv_lt_0_compat.
  by congr (_ * _); field; lra.
set E := exp ((a - 1) * (eps - ln (p / q))); have Ep : 0 < E by exact: exp_pos.
have Einv : exp (- ((a - 1) * eps)) * exp ((a - 1) * ln (p / q)) = / E.
  by rewrite -exp_plus /E -exp_Ropp; congr exp; ring.
move=> H; have H2 : 1 - exp eps * (q / p) <= c * / E.
  by apply: (Rmult_le_reg_r E) => //; rewrite Rmult_assoc Rinv_l; lra.
have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ pp) H2.
have -> : (1 - exp eps * (q / p)) * p = p - exp eps * q by field; lra.
have -> : c * exp (- ((a - 1) * eps)) * (p * exp ((a - 1) * ln (p / q))) =
          c * (exp (- ((a - 1) * eps)) * exp ((a - 1) * ln (p / q))) * p by ring.
rewrite Einv; lra.
Qed.
Definition delta_of := exp ((a - 1) * (r - eps)) * (Rpower (1 - / a) a / (a - 1)).
Theorem theorem18 : renyi a r P Q -> approx eps delta_of P Q.
Proof.
move=> [dom mom] S; set c := Rpower (1 - / a) a / (a - 1).
have cp : 0 < c by apply: Rdiv_lt_0_compat; [exact: exp_pos | lra].
case: DP => p _; case: DQ => q _.
have point o : P o <= exp eps * Q o + c * exp (- ((a - 1) * eps)) * (P o * exp ((a - 1) * loss P Q o)).
  case: (Req_dec (P o) 0) => [z|Pn].
    by rewrite z; have := exp_pos eps; have := q o; nra.
  apply: best_factor_point; first by have := p o; lra.
  by have := q o; case=> // e; case: Pn; apply: dom.
apply: (Rle_trans _ (\rsum_(o in S) (exp eps * Q o + c * exp (- ((a - 1) * eps)) * (P o * exp ((a - 1) * loss P Q
  o))))).
  by apply: rsum_le => o _; exact: point.
rewrite big_split /= !rsum_scale; apply: Rplus_le_compat_l.
have -> : delta_of = c * exp (- ((a - 1) * eps)) * exp ((a - 1) * r).
  by rewrite /delta_of -/c Rmult_assoc -exp_plus Rmult_comm; congr (_ * exp _); ring.
apply: Rmult_le_compat_l; first by apply: Rmult_le_pos; [lra | exact/Rlt_le/exp_pos].
apply: Rle_trans mom; rewrite /moment [X in _ <= X](bigID (mem S)) /=.
have : 0 <= \rsum_(o | o \notin S) P o * exp ((a - 1) * loss P Q o).
  by apply: rsum_ge0 => o _; apply: Rmult_le_pos; [exact: p | exact/Rlt_le/exp_pos].
lra.
Qed.
End Conversion.
(* the weaker closed form *)
Theorem theorem18_closed (T : finType) (P Q : T -> R) rho delta : distribution P -> distribution Q -> 0 < rho ->
  0 < delta < 1 -> zcdp rho P Q -> approxDP (rho + 2 * sqrt (rho * ln (/ delta))) delta P Q.
Proof.
have half (A B : T -> R) : distribution A -> distribution B -> 0 < rho -> 0 < delta < 1 ->
    (forall a, 1 < a -> renyi a (a * rho) A B) -> approx (rho + 2 * sqrt (rho * ln (/ delta))) delta A B.
  move=> DA DB r0 d01 H S; set L := ln (/ delta).
  have Lp : 0 < L.
    rewrite /L -ln_1; apply: ln_increasing; first lra.
    by rewrite -Rinv_1; apply: Rinv_lt_contravar; lra.
  set b := sqrt (L / rho); have bp : 0 < b by apply: sqrt_lt_R0; exact: Rdiv_lt_0_compat.
  have bb : b * b = L / rho by apply: sqrt_sqrt; exact/Rlt_le/Rdiv_lt_0_compat.
  have sq : sqrt (rho * L) = rho * b.
    have -> : rho * L = (rho * b) * (rho * b).
      by have -> : rho * b * (rho * b) = rho * rho * (b * b) by [ring]; rewrite bb; field; lra.
    by apply: sqrt_square; nra.
  rewrite sq; have := @theorem18 _ A B (1 + b) ((1 + b) * rho) (rho + 2 * (rho * b)) DA DB ltac:(lra) (H (1 + b)
    ltac:(lra)) S.
  suff : delta_of (1 + b) ((1 + b) * rho) (rho + 2 * (rho * b)) <= delta by lra.
  rewrite /delta_of.
  have e1 : exp ((1 + b - 1) * ((1 + b) * rho - (rho + 2 * (rho * b)))) = delta.
    have -> : (1 + b - 1) * ((1 + b) * rho - (rho + 2 * (rho * b))) = - (rho * (b * b)) by ring.
    rewrite bb; have -> : - (rho * (L / rho)) = - L by field; lra.
    by rewrite /L ln_Rinv ?Ropp_involutive ?exp_ln; lra.
  rewrite e1; set a := 1 + b.
  have a1 : 1 < a by rewrite /a; lra.
  have ai : 0 < / a by apply: Rinv_0_lt_compat; lra.
  have e2 : 1 - / a = (a - 1) * / a by field; lra.
  have h : Rpower (1 - / a) a / (a - 1) <= 1.
    have y0 : 0 < 1 - / a by rewrite e2; apply: Rmult_lt_0_compat; lra.
    have -> : Rpower (1 - / a) a = Rpower (1 - / a) (a - 1) * (1 - / a).
      by rewrite -{3}(Rpower_1 (1 - / a) y0) -Rpower_plus; congr Rpower; ring.
    have p1 : Rpower (1 - / a) (a - 1) <= 1.
      rewrite /Rpower -[X in _ <= X]exp_0; apply: exp_le.
      have h : ln (1 - / a) <= 0 by rewrite -ln_1; apply: Rcomplements.ln_le; lra.
      have am : 0 <= a - 1 by lra.
      by have := Rmult_le_compat_l _ _ _ am h; rewrite Rmult_0_r.
    have p0 : 0 < Rpower (1 - / a) (a - 1) by exact: exp_pos.
    set w := Rpower (1 - / a) (a - 1) in p0 p1 *; rewrite e2; have -> :
      w * ((a - 1) * / a) / (a - 1) = w * / a by field; lra.
    have : / a < 1 by rewrite -Rinv_1; apply: Rinv_lt_contravar; lra.
    by nra.
  by nra.
by move=> DP DQ r0 d01 [h h']; split; apply: half.
Qed.
