(* Lemma 5: what is monotone and commutes with shifts stays inside the interval of the scores. The functions that have
   both properties: coordinates, minima, maxima, weighted means, log-sum-exp; order statistics are in Guarded.v. *)
From Shortlist Require Import Base Scores.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Lemma5.
Variable I : Type.
Definition shifting (phi : (I -> R) -> R) :=
  (forall x x', (forall i, x i <= x' i) -> phi x <= phi x') /\ (forall x c, phi (fun i => x i + c) = phi x + c).
Theorem lemma5 phi b r (x x' : I -> R) : shifting phi -> (forall i, b <= x' i - x i <= b + r) ->
  b <= phi x' - phi x <= b + r.
Proof.
move=> [mono shift] H.
have h1 : phi (fun i => x i + b) <= phi x' by apply: mono => i; have := H i; lra.
have h2 : phi x' <= phi (fun i => x i + (b + r)) by apply: mono => i; have := H i; lra.
by rewrite !shift in h1 h2; lra.
Qed.
Corollary lemma5_difference g phi psi b r (x x' : I -> R) : 0 <= g <= 1 -> shifting phi -> shifting psi ->
  (forall i, b <= x' i - x i <= b + r) ->
  g * b - (1 - g) * (b + r) <= (g * phi x' - (1 - g) * psi x') - (g * phi x - (1 - g) * psi x)
    <= (g * b - (1 - g) * (b + r)) + r.
Proof.
by move=> g01 sphi spsi H; have := lemma5 sphi H; have := lemma5 spsi H; nra.
Qed.
(* the corollary, its first half *)
Corollary lemma5_plain_difference phi psi b r (x x' : I -> R) : shifting phi -> shifting psi ->
  (forall i, b <= x' i - x i <= b + r) -> - r <= (phi x' - psi x') - (phi x - psi x) <= r.
Proof. by move=> sphi spsi H; have := lemma5 sphi H; have := lemma5 spsi H; lra. Qed.
Lemma shifting_coordinate i : shifting (fun x : I -> R => x i).
Proof. by split=> [x x' H|]. Qed.
Lemma shifting_minus phi c : shifting phi -> shifting (fun x => phi x - c).
Proof. by move=> [m s]; split=> [x x' /m|x d]; [lra | rewrite s; ring]. Qed.
Lemma shifting_max phi psi : shifting phi -> shifting psi -> shifting (fun x => Rmax (phi x) (psi x)).
Proof.
move=> [m s] [m' s']; split=> [x x' H|x c]; first by have := m _ _ H; have := m' _ _ H; rewrite /Rmax; do 2 case:
  Rle_dec; lra.
by rewrite s s' /Rmax; do 2 case: Rle_dec; lra.
Qed.
Lemma shifting_min phi psi : shifting phi -> shifting psi -> shifting (fun x => Rmin (phi x) (psi x)).
Proof.
move=> [m s] [m' s']; split=> [x x' H|x c]; first by have := m _ _ H; have := m' _ _ H; rewrite /Rmin; do 2 case:
  Rle_dec; lra.
by rewrite s s' /Rmin; do 2 case: Rle_dec; lra.
Qed.
Lemma shifting_bigmin (J : Type) (s : seq J) (P : pred J) (F : J -> (I -> R) -> R) phi : shifting phi ->
  (forall j, P j -> shifting (F j)) -> shifting (fun x => \big[Rmin/phi x]_(j <- s | P j) F j x).
Proof.
move=> sp sF; elim: s => [|a s IH].
  by split=> [x x'|x c]; rewrite !big_nil; [case: sp => m _; apply: m | case: sp].
case Pa: (P a); last by split=> [x x' H|x c]; rewrite !big_cons Pa; case: IH => m s0; [exact: m | exact: s0].
by have [m s0] := shifting_min (sF a Pa) IH; split=> [x x' H|x c]; rewrite !big_cons Pa; [exact: m | exact: s0].
Qed.
Lemma shifting_bigmax (J : Type) (s : seq J) (P : pred J) (F : J -> (I -> R) -> R) phi : shifting phi ->
  (forall j, P j -> shifting (F j)) -> shifting (fun x => \big[Rmax/phi x]_(j <- s | P j) F j x).
Proof.
move=> sp sF; elim: s => [|a s IH].
  by split=> [x x'|x c]; rewrite !big_nil; [case: sp => m _; apply: m | case: sp].
case Pa: (P a); last by split=> [x x' H|x c]; rewrite !big_cons Pa; case: IH => m s0; [exact: m | exact: s0].
by have [m s0] := shifting_max (sF a Pa) IH; split=> [x x' H|x c]; rewrite !big_cons Pa; [exact: m | exact: s0].
Qed.
Lemma shifting_mean (J : finType) (w : J -> R) (F : J -> (I -> R) -> R) : (forall j, 0 <= w j) -> \rsum_j w j = 1 ->
  (forall j, shifting (F j)) -> shifting (fun x => \rsum_j w j * F j x).
Proof.
move=> w0 w1 sF; split=> [x x' H|x c].
  by apply: rsum_le => j _; apply: Rmult_le_compat_l => //; case: (sF j) => m _; exact: m.
rewrite -[c in RHS]Rmult_1_l -w1 big_distrl -big_split /=; apply: eq_bigr => j _.
by case: (sF j) => _ ->; ring.
Qed.
End Lemma5.

(* log-sum-exp with public coefficients n_j >= 0, not all 0 *)
Lemma shifting_logsumexp (J : finType) (n : J -> R) (j0 : J) : (forall j, 0 <= n j) -> 0 < n j0 ->
  shifting (fun v : J -> R => ln (\rsum_j n j * exp (v j))).
Proof.
move=> n0 nj; have pos (v : J -> R) : 0 < \rsum_j n j * exp (v j).
  rewrite (bigD1 j0) //=; have : 0 < n j0 * exp (v j0) by apply: Rmult_lt_0_compat => //; exact: exp_pos.
  have : 0 <= \rsum_(j | j != j0) n j * exp (v j).
    by apply: rsum_ge0 => j _; apply: Rmult_le_pos => //; exact/Rlt_le/exp_pos.
  lra.
split=> [v v' H|v c].
- have : (\rsum_j n j * exp (v j)) <= \rsum_j n j * exp (v' j).
    by apply: rsum_le => j _; apply: Rmult_le_compat_l => //; exact: exp_le.
  by case=> [h|->]; [exact/Rlt_le/ln_increasing | exact: Rle_refl].
- have -> : \rsum_j n j * exp (v j + c) = exp c * (\rsum_j n j * exp (v j)).
    by rewrite -rsum_scale; apply: eq_bigr => j _; rewrite exp_plus; ring.
  by rewrite ln_mult // ?ln_exp; [ring | exact: exp_pos].
Qed.
(* the form of Lemma 5: ln(sum_j w_j e^(a v_j)) / a with a > 0 *)
Lemma shifting_logsumexp_scaled (J : finType) (n : J -> R) (j0 : J) a : 0 < a -> (forall j, 0 <= n j) -> 0 < n j0 ->
  shifting (fun v : J -> R => ln (\rsum_j n j * exp (a * v j)) / a).
Proof.
move=> a0 n0 nj; have [m s] := shifting_logsumexp n0 nj; split=> [v v' H|v c].
  apply: Rmult_le_compat_r; first exact/Rlt_le/Rinv_0_lt_compat.
  by apply: (m (fun j => a * v j) (fun j => a * v' j)) => j; have := H j; nra.
have := s (fun j => a * v j) (a * c).
have -> : \rsum_j n j * exp (a * v j + a * c) = \rsum_j n j * exp (a * (v j + c)).
  by apply: eq_bigr => j _; congr (_ * exp _); ring.
by move=> ->; field; lra.
Qed.
