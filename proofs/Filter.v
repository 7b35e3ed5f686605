(* Item 6: sequential composition (Theorem 24 (i)) and the pure filter (Theorem 37 for PureDP): an adversary chooses the next
   mechanism AND its price from the transcript so far; a charge is admitted iff the exact sum of rationals stays within B. *)
From Coq Require Import QArith Qreals.
From Shortlist Require Import Base.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* Theorem 24 (i): two rounds, the second chosen from the outcome of the first *)
Definition seqcomp (T U : finType) (P : T -> R) (P2 : T -> U -> R) (o : T * U) := P o.1 * P2 o.1 o.2.
Lemma seqcomp_distribution (T U : finType) (P : T -> R) (P2 : T -> U -> R) : distribution P -> (forall o, distribution (P2 o)) -> distribution (seqcomp P P2).
Proof.
move=> [p0 p1] L2; split=> [[o o2]|]; first by apply: Rmult_le_pos => //; case: (L2 o).
rewrite /seqcomp -(pair_bigA _ (fun o o2 => P o * P2 o o2)) /= -p1; apply: eq_bigr => o _.
by rewrite rsum_scale; case: (L2 o) => _ ->; ring.
Qed.
Lemma pointwise_comp e1 e2 p q p2 q2 : 0 <= p -> 0 <= q -> 0 <= p2 -> 0 <= q2 ->
  p <= exp e1 * q -> p2 <= exp e2 * q2 -> p * p2 <= exp (e1 + e2) * (q * q2).
Proof.
move=> *; rewrite exp_plus; have -> : exp e1 * exp e2 * (q * q2) = (exp e1 * q) * (exp e2 * q2) by ring.
exact: Rmult_le_compat.
Qed.
Theorem seqcomp_pure (T U : finType) e1 e2 (P Q : T -> R) (P2 Q2 : T -> U -> R) : distribution P -> distribution Q ->
  (forall o, distribution (P2 o)) -> (forall o, distribution (Q2 o)) -> pureDP e1 P Q -> (forall o, pureDP e2 (P2 o) (Q2 o)) ->
  pureDP (e1 + e2) (seqcomp P P2) (seqcomp Q Q2).
Proof.
move=> [p0 _] [q0 _] L2 M2 [h h'] H; split; apply: pointwise_pure => -[o o2]; apply: pointwise_comp => //=;
  by [case: (L2 o) | case: (M2 o) | exact: pure_pointwise | case: (H o) => a b; exact: pure_pointwise].
Qed.

(* The filter *)
Section Filter.
Variable O : finType.
(* what an adversary may ask: a price, and the distributions of the answer on the two neighbours *)
Record question := Question { price : Q; dist0 : O -> R; dist1 : O -> R }.
Definition honest (q : question) :=
  [/\ (0 <= price q)%Q, distribution (dist0 q), distribution (dist1 q) & pureDP (Q2R (price q)) (dist0 q) (dist1 q)].
Definition adversary := seq O -> option question. (* from the transcript, newest answer first; None: it stops *)

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
Fixpoint transcript (side : bool) (h : seq O) : R := if h is o :: h' then transcript side h' * answer side h' o else 1.

Hypothesis B0 : (0 <= B)%Q.
Hypothesis A_honest : forall h q, A h = Some q -> honest q.

(* the sum never exceeds the budget, on every transcript *)
Theorem spent_within h : (0 <= spent h)%Q /\ (spent h <= B)%Q.
Proof.
elim: h => [|o h [IH0 IH]] /=; first by split=> //; exact: Qle_refl.
case Ah: (A h) => [q|//]; case ad: (admitted _ q) => //; have [p0 _ _ _] := A_honest Ah.
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
by case: (admitted _ q); [have [_ l0 l1 _] := A_honest Ah; case: side | exact: refuse_distribution].
Qed.
Lemma transcript_ge0 side h : 0 <= transcript side h.
Proof. by elim: h => [|o h IH] /=; [lra | apply: Rmult_le_pos => //; case: (answer_distribution side h)]. Qed.
Lemma transcript_spent side h : transcript side h <= exp (Q2R (spent h)) * transcript (~~ side) h.
Proof.
elim: h => [|o h IH] /=; first by rewrite RMicromega.Q2R_0 exp_0; lra.
have step e : answer side h o <= exp e * answer (~~ side) h o ->
    transcript side h * answer side h o <= exp (Q2R (spent h) + e) * (transcript (~~ side) h * answer (~~ side) h o).
  move=> he; apply: pointwise_comp => //; try exact: transcript_ge0.
  - by case: (answer_distribution side h).
  - by case: (answer_distribution (~~ side) h).
have same : answer side h o = answer (~~ side) h o ->
    transcript side h * answer side h o <= exp (Q2R (spent h)) * (transcript (~~ side) h * answer (~~ side) h o).
  by move=> e; rewrite -(Rplus_0_r (Q2R _)); apply: step; rewrite e exp_0; lra.
rewrite /answer in step same *; case Ah: (A h) step same => [q|] step same; last exact: same.
case ad: (admitted _ q) step same => step same; last exact: same.
rewrite Qreals.Q2R_plus; apply: step.
have [_ _ _ [h01 h10]] := A_honest Ah; case: side {same IH} => /=; exact: pure_pointwise.
Qed.
Theorem filter_pointwise side h : transcript side h <= exp (Q2R B) * transcript (~~ side) h.
Proof.
apply: Rle_trans (transcript_spent side h) _; apply: Rmult_le_compat_r; first exact: transcript_ge0.
by apply: exp_le; apply: Qreals.Qle_Rle; case: (spent_within h).
Qed.
(* transcripts of n answers: a distribution on a finite set, and B-DP *)
Lemma transcript_distribution side n : distribution (fun h : n.-tuple O => transcript side h).
Proof.
split=> [h|]; first exact: transcript_ge0.
elim: n => [|n IH].
  by rewrite (big_pred1 [tuple]) //= => h; rewrite [h]tuple0 /pred1 /=; apply/esym/eqP.
rewrite (reindex (fun p : n.-tuple O * O => [tuple of p.2 :: p.1])) /=; last first.
  exists (fun h : n.+1.-tuple O => ([tuple of behead h] : n.-tuple O, thead h)) => [[t o] _|h _] /=.
    by congr (_, _); apply: val_inj.
  by apply: val_inj; rewrite /= [in RHS](tuple_eta h).
rewrite -(pair_bigA _ (fun (t : n.-tuple O) o => transcript side t * answer side t o)) /= -IH.
by apply: eq_bigr => t _; rewrite rsum_scale; case: (answer_distribution side t) => _ ->; ring.
Qed.
Theorem filter_pure n : pureDP (Q2R B) (fun h : n.-tuple O => transcript false h) (fun h => transcript true h).
Proof. by split; apply: pointwise_pure => h; exact: filter_pointwise. Qed.
End Filter.
