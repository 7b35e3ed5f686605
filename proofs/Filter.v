(* The filter of a ledger (Theorem 37), for budgets PureDP(B) and ZCDP(B) without deltas: an analyst chooses the next mechanism
   AND its price from the transcript so far; a charge is admitted if and only if the exact sum of rationals stays within B. *)
From Coq Require Import QArith Qreals.
From Shortlist Require Import Base Renyi Compose.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Filter.
Variable O : finType.
(* what an analyst may ask: a price, and the distributions of the answer on the two neighbors *)
Record question := Question { price : Q; dist0 : O -> R; dist1 : O -> R }.
Definition sound (q : question) := [/\ (0 <= price q)%Q, distribution (dist0 q) & distribution (dist1 q)].
Definition adversary := seq O -> option question. (* from the transcript, newest answer first; None: nothing more is asked *)

Variables (B : Q) (A : adversary) (no : O). (* the answer "no" stands for what is refused *)
(* is this one admitted, given what was spent? *)
Definition admitted (spent : Q) (q : question) := Qle_bool (spent + price q)%Q B.
Fixpoint spent (h : seq O) : Q :=
  if h is _ :: h' then
    if A h' is Some q then if admitted (spent h') q then (spent h' + price q)%Q else spent h' else spent h'
  else 0%Q.
Definition refuse (o : O) : R := if o == no then 1 else 0.
Definition answer (side : bool) (h : seq O) (o : O) : R :=
  if A h is Some q then if admitted (spent h) q then (if side then dist1 q o else dist0 q o) else refuse o else refuse o.
(* the probability of a transcript, on either neighbor *)
Definition transcript (side : bool) (h : seq O) : R := chain (answer side) h.

Hypothesis B0 : (0 <= B)%Q.
Hypothesis A_sound : forall h q, A h = Some q -> sound q.

(* the sum never exceeds the budget, on every transcript *)
Theorem spent_within h : (0 <= spent h)%Q /\ (spent h <= B)%Q.
Proof.
elim: h => [|o h [IH0 IH]] /=; first by split=> //; exact: Qle_refl.
case Ah: (A h) => [q|//]; case ad: (admitted _ q) => //; have [p0 _ _] := A_sound Ah.
split; last exact: Qle_bool_imp_le.
exact: (Qplus_le_compat 0 _ 0 _ IH0 p0).
Qed.
Lemma refuse_distribution : distribution refuse.
Proof.
split=> [o|]; rewrite /refuse; first by case: ifP => _; lra.
by rewrite (bigD1 no) //= eqxx big1 ?Rplus_0_r // => i /negbTE ->.
Qed.
Lemma answer_distribution side h : distribution (answer side h).
Proof.
rewrite /answer; case Ah: (A h) => [q|]; last exact: refuse_distribution.
by case: (admitted _ q); [have [_ l0 l1] := A_sound Ah; case: side | exact: refuse_distribution].
Qed.
Lemma transcript_distribution side n : distribution (fun h : n.-tuple O => transcript side h).
Proof. exact: chain_distribution (answer_distribution side). Qed.
(* what the next answer costs: its price, or nothing where it is refused *)
Definition cost h : R := if A h is Some q then if admitted (spent h) q then Q2R (price q) else 0 else 0.
Lemma spent_next o h : Q2R (spent (o :: h)) = Q2R (spent h) + cost h.
Proof.
rewrite /= /cost; case: (A h) => [q|]; last by ring.
by case: (admitted _ q); [exact: Qreals.Q2R_plus | ring].
Qed.
Lemma within h : Q2R (spent h) <= Q2R B.
Proof. by apply: Qreals.Qle_Rle; case: (spent_within h). Qed.

(* PureDP *)
Section Pure.
Hypothesis A_pure : forall h q, A h = Some q -> pureDP (Q2R (price q)) (dist0 q) (dist1 q).
Lemma answer_pure side h : pure (cost h) (answer side h) (answer (~~ side) h).
Proof.
have same : pure 0 refuse refuse by apply: pointwise_pure => o; rewrite exp_0; lra.
rewrite /answer /cost; case Ah: (A h) => [q|]; last by case: side.
by case: (admitted _ q) => //; have [h01 h10] := A_pure Ah; case: side.
Qed.
Lemma transcript_spent side h : transcript side h <= exp (Q2R (spent h)) * transcript (~~ side) h.
Proof.
elim: h => [|o h IH]; first by rewrite /transcript /= RMicromega.Q2R_0 exp_0; lra.
rewrite spent_next /transcript /=; apply: pointwise_comp => //.
- exact: chain_ge0 (answer_distribution side).
- exact: chain_ge0 (answer_distribution (~~ side)).
- by case: (answer_distribution side h).
- by case: (answer_distribution (~~ side) h).
- exact: pure_pointwise (answer_pure side h) o.
Qed.
Theorem filter_pure n :
  pureDP (Q2R B) (fun h : n.-tuple O => transcript false h) (fun h : n.-tuple O => transcript true h).
Proof.
have half side (h : n.-tuple O) : transcript side h <= exp (Q2R B) * transcript (~~ side) h.
  apply: Rle_trans (transcript_spent side h) _; apply: Rmult_le_compat_r; last exact: exp_le (within h).
  exact: chain_ge0 (answer_distribution (~~ side)).
by split; apply: pointwise_pure => h; exact: half.
Qed.
End Pure.

(* ZCDP *)
Section Zcdp.
Hypothesis A_zcdp : forall h q, A h = Some q -> zcdp (Q2R (price q)) (dist0 q) (dist1 q).
Lemma answer_renyi side h a : 1 < a -> renyi a (a * cost h) (answer side h) (answer (~~ side) h).
Proof.
move=> a1; have same : renyi a (a * 0) refuse refuse by rewrite Rmult_0_r; exact: renyi_same refuse_distribution.
rewrite /answer /cost; case Ah: (A h) => [q|]; last by case: side.
by case: (admitted _ q) => //; have [h01 h10] := A_zcdp Ah; case: side => /=; [exact: h10 | exact: h01].
Qed.
Let dom side : forall h, transcript (~~ side) h = 0 -> transcript side h = 0.
Proof.
apply: chain_dominated; try exact: answer_distribution.
by move=> h; have [d _] := @answer_renyi side h 2 ltac:(lra).
Qed.
(* the supermartingale of the proof: e^((a-1) L - a (a-1) spent) has a mean of at most 1 *)
Lemma supermartingale side a n : 1 < a -> \big[Rplus/0]_(h : n.-tuple O)
  (transcript side h * exp ((a - 1) * ln (transcript side h / transcript (~~ side) h))
   * exp (- ((a - 1) * (a * Q2R (spent h))))) <= 1.
Proof.
move=> a1; elim: n => [|n IH].
  rewrite (sum_empty (fun h => transcript side h * exp ((a - 1) * ln (transcript side h / transcript (~~ side) h))
     * exp (- ((a - 1) * (a * Q2R (spent h)))))) /transcript /=.
  by rewrite RMicromega.Q2R_0 /Rdiv Rinv_1 Rmult_1_r ln_1 !Rmult_0_r Ropp_0 exp_0; lra.
rewrite (sum_histories _ (fun h => transcript side h * exp ((a - 1) * ln (transcript side h / transcript (~~ side) h))
     * exp (- ((a - 1) * (a * Q2R (spent h)))))).
apply: Rle_trans IH; apply: rsum_le => t _.
have p0 := chain_ge0 (val t) (answer_distribution side).
have q0 := chain_ge0 (val t) (answer_distribution (~~ side)).
set c := exp (- ((a - 1) * (a * (Q2R (spent t) + cost t)))).
have e : \rsum_o (transcript side (o :: t) * exp ((a - 1) * ln (transcript side (o :: t) / transcript (~~ side) (o :: t)))
            * exp (- ((a - 1) * (a * Q2R (spent (o :: t)))))) =
         transcript side t * exp ((a - 1) * ln (transcript side t / transcript (~~ side) t))
            * moment a (answer side t) (answer (~~ side) t) * c.
  rewrite -moment_step //; [|exact: dom|exact: answer_distribution|exact: answer_distribution|].
    by rewrite big_distrl /=; apply: eq_bigr => o _; rewrite spent_next.
  by have [] := @answer_renyi side t a a1.
rewrite e Rmult_assoc; apply: Rmult_le_compat_l.
  by apply: Rmult_le_pos; [exact: p0 | exact/Rlt_le/exp_pos].
have [_ m] := @answer_renyi side t a a1.
apply: Rle_trans (Rmult_le_compat_r _ _ _ (Rlt_le _ _ (exp_pos _)) m) _.
by rewrite /c -exp_plus; apply: exp_le; lra.
Qed.
Theorem filter_zcdp n :
  zcdp (Q2R B) (fun h : n.-tuple O => transcript false h) (fun h : n.-tuple O => transcript true h).
Proof.
have half side a : 1 < a ->
    renyi a (a * Q2R B) (fun h : n.-tuple O => transcript side h) (fun h : n.-tuple O => transcript (~~ side) h).
  move=> a1; split; first by move=> h; exact: dom.
  have s := @supermartingale side a n a1; rewrite -[X in _ <= X]Rmult_1_r.
  apply: Rle_trans (Rmult_le_compat_l _ _ _ (Rlt_le _ _ (exp_pos _)) s).
  rewrite /moment -rsum_scale; apply: rsum_le => h _; rewrite /loss.
  set m := transcript side h * _; have m0 : 0 <= m.
    by apply: Rmult_le_pos; [exact: chain_ge0 (answer_distribution side) | exact/Rlt_le/exp_pos].
  have -> : exp ((a - 1) * (a * Q2R B)) * (m * exp (- ((a - 1) * (a * Q2R (spent h))))) =
            m * (exp ((a - 1) * (a * Q2R B)) * exp (- ((a - 1) * (a * Q2R (spent h))))) by ring.
  rewrite -{1}(Rmult_1_r m); apply: Rmult_le_compat_l => //; rewrite -exp_plus -[X in X <= _]exp_0; apply: exp_le.
  have h1 : a * Q2R (spent h) <= a * Q2R B by apply: Rmult_le_compat_l; [lra | exact: within].
  have h2 : (a - 1) * (a * Q2R (spent h)) <= (a - 1) * (a * Q2R B) by apply: Rmult_le_compat_l; lra.
  lra.
by split=> a a1; exact: half.
Qed.
End Zcdp.
End Filter.
