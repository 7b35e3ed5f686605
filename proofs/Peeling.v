(* Theorem 58 for peeling: k rounds of the exponential mechanism, each on the candidates left, by the product formula
   of Theorem 57. That the k largest under Gumbel noise, in order, have this distribution is not proved here. *)
From Shortlist Require Import Base Scores Renyi Thinning Compose.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Peeling.
Variables (T : finType) (o0 : T).
Implicit Types (s : T -> R) (h : seq T).
(* the next winner after those of h; where nobody is left it is o0 *)
Definition next s h (o : T) : R :=
  if [exists j, j \notin h] then if o \in h then 0 else exp (s o) / \rsum_(j | j \notin h) exp (s j)
  else if o == o0 then 1 else 0.
Lemma left_pos s h : [exists j, j \notin h] -> 0 < \rsum_(j | j \notin h) exp (s j).
Proof.
case/existsP => j jh; rewrite (bigD1 j) //=; apply: Rplus_lt_le_0_compat; first exact: exp_pos.
by apply: rsum_ge0 => i _; exact/Rlt_le/exp_pos.
Qed.
Lemma next_left s h o : [exists j, j \notin h] ->
  next s h o = if o \in h then 0 else exp (s o) / \rsum_(j | j \notin h) exp (s j).
Proof. by rewrite /next => ->. Qed.
Lemma next_none s h o : [exists j, j \notin h] = false -> next s h o = if o == o0 then 1 else 0.
Proof. by rewrite /next => ->. Qed.
Lemma next_distribution s h : distribution (next s h).
Proof.
case ex: [exists j, j \notin h]; last first.
  split=> [o|]; first by rewrite next_none //; case: ifP => _; lra.
  rewrite (eq_bigr (fun o => if o == o0 then 1 else 0)) => [|o _]; last exact: next_none.
  by rewrite (bigD1 o0) //= eqxx big1 ?Rplus_0_r // => i /negbTE ->.
have W := left_pos s ex; split=> [o|].
  rewrite next_left //; case: ifP => _; first lra.
  by apply/Rlt_le/Rdiv_lt_0_compat => //; exact: exp_pos.
rewrite (bigID (fun o => o \in h)) /= big1 => [|o oh]; last by rewrite next_left // oh.
rewrite Rplus_0_l (eq_bigr (fun o => exp (s o) * / \rsum_(j | j \notin h) exp (s j))) => [|o /negbTE oh].
  rewrite -big_distrl /=; apply: Rinv_r; exact: (Rgt_not_eq _ _ W).
by rewrite next_left // oh.
Qed.
Lemma next_brange e s s' h : 0 <= e -> moves_within e s s' -> brange e (next s h) (next s' h).
Proof.
move=> e0 [b H]; case ex: [exists j, j \notin h]; last first.
  exists 0 => o; have l : exp (0 - e) <= 1 by rewrite -[X in _ <= X]exp_0; apply: exp_le; lra.
  by rewrite !next_none // exp_0; case: ifP => _; lra.
have W := left_pos s ex; have W' := left_pos s' ex.
set w := \rsum_(j | j \notin h) exp (s j) in W *; set w' := \rsum_(j | j \notin h) exp (s' j) in W' *.
exists (ln (w' / w) - b) => o; rewrite !next_left // -/w -/w'; case: ifP => _; first by lra.
have q0 : 0 < w' / w by exact: Rdiv_lt_0_compat.
have key : exp (s o) / w = exp (s o - s' o) * (w' / w) * (exp (s' o) / w').
  by rewrite -exp_div; have := exp_pos (s' o) => p; field; lra.
have p0 : 0 < exp (s' o) / w' by apply: Rdiv_lt_0_compat => //; exact: exp_pos.
have e1 (z : R) : exp (ln (w' / w) + z) = exp z * (w' / w) by rewrite exp_plus exp_ln // Rmult_comm.
rewrite key; split; apply: Rmult_le_compat_r; try lra.
- have -> : ln (w' / w) - b - e = ln (w' / w) + (- b - e) by ring.
  by rewrite e1; apply: Rmult_le_compat_r; [lra | apply: exp_le; have := H o; lra].
- by rewrite /Rminus e1; apply: Rmult_le_compat_r; [lra | apply: exp_le; have := H o; lra].
Qed.
(* the list, its last member first *)
Definition peeling s h := chain (next s) h.
Lemma price_of_constant c n : price_of (fun _ => c) n = INR n * c.
Proof. by elim: n => [|n IH]; [rewrite /=; ring | rewrite S_INR /= IH; ring]. Qed.
Theorem theorem58 e s s' k : 0 <= e -> moves_within e s s' ->
  [/\ distribution (fun h : k.-tuple T => peeling s h),
      pureDP (INR k * e) (fun h : k.-tuple T => peeling s h) (fun h : k.-tuple T => peeling s' h) &
      zcdp (INR k * (e * e / 8)) (fun h : k.-tuple T => peeling s h) (fun h : k.-tuple T => peeling s' h)].
Proof.
move=> e0 M; have B h := next_brange h e0 M; split.
- exact: chain_distribution (next_distribution s).
- rewrite -price_of_constant; apply: (theorem24_pure (e := fun _ => e)); try exact: next_distribution.
  by move=> h; apply: brange_pure => //; exact: next_distribution.
- rewrite -price_of_constant; apply: (theorem24_zcdp (r := fun _ => e * e / 8)); try exact: next_distribution.
  by move=> h; apply: theorem15 => //; exact: next_distribution.
Qed.
End Peeling.
