(* Composition: n rounds, each chosen from the answers before (Theorem 24). A history is the sequence of answers, the
   newest first; answers are from one finite set (a disjoint union, where they differ in kind). *)
From Shortlist Require Import Base Renyi Thinning.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Rounds.
Variable O : finType.
Implicit Types (M : seq O -> O -> R) (h : seq O).
(* M h: the distribution of the next answer; chain M h: the probability of the history h *)
Fixpoint chain M h : R := if h is o :: h' then chain M h' * M h' o else 1.
Lemma chain_ge0 M h : (forall h, distribution (M h)) -> 0 <= chain M h.
Proof. by move=> D; elim: h => [|o h IH] /=; [lra | apply: Rmult_le_pos => //; case: (D h)]. Qed.
(* sums over histories of n + 1 answers, by the last *)
Lemma sum_histories n (F : seq O -> R) :
  \big[Rplus/0]_(h : n.+1.-tuple O) F h = \big[Rplus/0]_(t : n.-tuple O) \rsum_o F (o :: t).
Proof.
rewrite (reindex (fun p : n.-tuple O * O => [tuple of p.2 :: p.1])) /=; last first.
  exists (fun h : n.+1.-tuple O => ([tuple of behead h] : n.-tuple O, thead h)) => [[t o] _|h _] /=.
    by congr (_, _); apply: val_inj.
  by apply: val_inj; rewrite /= [in RHS](tuple_eta h).
by rewrite -(pair_bigA _ (fun (t : n.-tuple O) o => F (o :: t))).
Qed.
Lemma sum_empty (F : seq O -> R) : \big[Rplus/0]_(h : 0.-tuple O) F h = F [::].
Proof. by rewrite (big_pred1 [tuple]) //= => h; rewrite [h]tuple0 /pred1 /=; apply/esym/eqP. Qed.
Lemma chain_distribution M n : (forall h, distribution (M h)) -> distribution (fun h : n.-tuple O => chain M h).
Proof.
move=> D; split=> [h|]; first exact: chain_ge0.
elim: n => [|n IH]; first by rewrite sum_empty.
rewrite sum_histories -IH; apply: eq_bigr => t _ /=; rewrite rsum_scale.
by case: (D t) => _ ->; ring.
Qed.

Lemma pointwise_comp e1 e2 p q p2 q2 : 0 <= p -> 0 <= q -> 0 <= p2 -> 0 <= q2 ->
  p <= exp e1 * q -> p2 <= exp e2 * q2 -> p * p2 <= exp (e1 + e2) * (q * q2).
Proof.
move=> *; rewrite exp_plus; have -> : exp e1 * exp e2 * (q * q2) = (exp e1 * q) * (exp e2 * q2) by ring.
exact: Rmult_le_compat.
Qed.
(* the price of a history, if round i costs e i *)
Fixpoint price_of (e : nat -> R) n : R := if n is n'.+1 then price_of e n' + e n' else 0.
Theorem theorem24_pure M M' (e : nat -> R) n : (forall h, distribution (M h)) -> (forall h, distribution (M' h)) ->
  (forall h, pureDP (e (size h)) (M h) (M' h)) ->
  pureDP (price_of e n) (fun h : n.-tuple O => chain M h) (fun h : n.-tuple O => chain M' h).
Proof.
have half A B : (forall h, distribution (A h)) -> (forall h, distribution (B h)) ->
    (forall h, pure (e (size h)) (A h) (B h)) -> forall h, chain A h <= exp (price_of e (size h)) * chain B h.
  move=> DA DB H; elim=> [|o h IH] /=; first by rewrite exp_0; lra.
  apply: pointwise_comp => //; try exact: chain_ge0; last exact: pure_pointwise (H h) o.
  - by case: (DA h).
  - by case: (DB h).
move=> DM DM' H; split; apply: pointwise_pure => h.
- by have := half M M' DM DM' (fun h => proj1 (H h)) h; rewrite size_tuple.
- by have := half M' M DM' DM (fun h => proj2 (H h)) h; rewrite size_tuple.
Qed.

(* Renyi divergences of one order, and rhos *)
Lemma chain_dominated M M' : (forall h, distribution (M h)) -> (forall h, distribution (M' h)) ->
  (forall h, dominated (M h) (M' h)) -> forall h, chain M' h = 0 -> chain M h = 0.
Proof.
move=> DM DM' H; elim=> [|o h IH] //= e.
have [z|z] := Rmult_integral _ _ e; first by rewrite IH // Rmult_0_l.
by rewrite (H h o z) Rmult_0_r.
Qed.
(* one more round: a history of probabilities p and q, and its next answer *)
Lemma moment_point a p q (P Q : O -> R) o : 0 <= p -> 0 <= q -> (q = 0 -> p = 0) -> distribution P -> distribution Q ->
  dominated P Q ->
  p * P o * exp ((a - 1) * ln (p * P o / (q * Q o))) = p * exp ((a - 1) * ln (p / q)) * (P o * exp ((a - 1) * loss P Q
    o)).
Proof.
move=> p0 q0 pq [P0 _] [Q0 _] D.
case: (Req_dec p 0) => [->|pn]; first by ring.
case: (Req_dec (P o) 0) => [->|Pn]; first by ring.
have pp : 0 < p by lra.
have qp : 0 < q by case: q0 => // e; case: pn; apply: pq.
have Pp : 0 < P o by have := P0 o; lra.
have Qp : 0 < Q o by have := Q0 o; case=> // e; case: Pn; apply: D.
have -> : p * P o / (q * Q o) = p / q * (P o / Q o) by field; lra.
rewrite ln_mult; [|exact: Rdiv_lt_0_compat|exact: Rdiv_lt_0_compat].
by rewrite Rmult_plus_distr_l exp_plus /loss; ring.
Qed.
Lemma moment_step a p q (P Q : O -> R) : 0 <= p -> 0 <= q -> (q = 0 -> p = 0) -> distribution P -> distribution Q ->
  dominated P Q ->
  \rsum_o (p * P o * exp ((a - 1) * ln (p * P o / (q * Q o)))) = p * exp ((a - 1) * ln (p / q)) * moment a P Q.
Proof. by move=> *; rewrite /moment -rsum_scale; apply: eq_bigr => o _; exact: moment_point. Qed.
Theorem theorem24_renyi M M' a (r : nat -> R) n : (forall h, distribution (M h)) -> (forall h, distribution (M' h)) ->
  (forall h, renyi a (r (size h)) (M h) (M' h)) ->
  renyi a (price_of r n) (fun h : n.-tuple O => chain M h) (fun h : n.-tuple O => chain M' h).
Proof.
move=> DM DM' H; have dom := chain_dominated DM DM' (fun h => proj1 (H h)).
split; first by move=> h; exact: dom.
suff : forall n, \big[Rplus/0]_(h : n.-tuple O) (chain M h * exp ((a - 1) * ln (chain M h / chain M' h)))
                 <= exp ((a - 1) * price_of r n) by apply.
elim=> [|m IH].
  rewrite (sum_empty (fun h => chain M h * exp ((a - 1) * ln (chain M h / chain M' h)))) /=.
  by rewrite /Rdiv Rinv_1 Rmult_1_r ln_1 !Rmult_0_r exp_0; lra.
rewrite (sum_histories _ (fun h => chain M h * exp ((a - 1) * ln (chain M h / chain M' h)))) /=.
rewrite Rmult_plus_distr_l exp_plus Rmult_comm.
apply: Rle_trans (Rmult_le_compat_l _ _ _ (Rlt_le _ _ (exp_pos _)) IH); rewrite -rsum_scale; apply: rsum_le => t _.
rewrite moment_step //; try exact: chain_ge0; last by case: (H t).
  rewrite Rmult_comm; apply: Rmult_le_compat_r; last by have := proj2 (H t); rewrite size_tuple.
  by apply: Rmult_le_pos; [exact: chain_ge0 | exact/Rlt_le/exp_pos].
by exact: dom.
Qed.
Lemma price_of_scale c r n : price_of (fun i => c * r i) n = c * price_of r n.
Proof. by elim: n => [|n /= ->]; [rewrite /=; ring | ring]. Qed.
Theorem theorem24_zcdp M M' (r : nat -> R) n : (forall h, distribution (M h)) -> (forall h, distribution (M' h)) ->
  (forall h, zcdp (r (size h)) (M h) (M' h)) ->
  zcdp (price_of r n) (fun h : n.-tuple O => chain M h) (fun h : n.-tuple O => chain M' h).
Proof.
move=> DM DM' H; split=> a a1; rewrite -price_of_scale; apply: (theorem24_renyi (r := fun i => a * r i)) => // h.
- by case: (H h) => h1 _; exact: h1.
- by case: (H h) => _ h1; exact: h1.
Qed.

(* (iii): thinnings. Round i keeps at least 1 - delta i; the transcript keeps at least the product of these. *)
Fixpoint kept_of (delta : nat -> R) n : R := if n is n'.+1 then kept_of delta n' * (1 - delta n') else 1.
Theorem theorem24_thinning M M' A A' (s : seq O -> O -> R) (delta : nat -> R) n :
  (forall h, distribution (A h)) -> (forall h, distribution (A' h)) -> (forall i, 0 <= delta i <= 1) ->
  (forall h, thinning (delta (size h)) (M h) (M' h) (A h) (A' h) (s h)) ->
  thinning (1 - kept_of delta n) (fun h : n.-tuple O => chain M h) (fun h : n.-tuple O => chain M' h)
    (fun h : n.-tuple O => chain A h) (fun h : n.-tuple O => chain A' h) (fun h : n.-tuple O => chain s h).
Proof.
move=> DA DA' d01 H; have s01 h : 0 <= chain s h <= 1.
  elim: h => [|o h IH] /=; first lra.
  by case: (H h) => k _ _ _; have := k o; nra.
have below B N : (forall h, distribution (B h)) -> (forall h o, s h o * B h o <= N h o) ->
    forall h, chain s h * chain B h <= chain N h.
  move=> DB L; elim=> [|o h IH] /=; first lra.
  have -> : chain s h * s h o * (chain B h * B h o) = (chain s h * chain B h) * (s h o * B h o) by ring.
  have c0 := chain_ge0 h DB; have [x0 _] := s01 h; have b0 : 0 <= B h o by case: (DB h).
  by case: (H h) => k _ _ _; have := k o => -[k0 _]; apply: Rmult_le_compat => //; exact: Rmult_le_pos.
have mass B : (forall h, distribution (B h)) -> (forall h, 1 - delta (size h) <= \rsum_o s h o * B h o) ->
    forall m, kept_of delta m <= \big[Rplus/0]_(h : m.-tuple O) (chain s h * chain B h).
  move=> DB L; elim=> [|m IH]; first by rewrite (sum_empty (fun h => chain s h * chain B h)) /=; lra.
  rewrite (sum_histories _ (fun h => chain s h * chain B h)) /= Rmult_comm.
  have dm := d01 m; apply: Rle_trans (Rmult_le_compat_l (1 - delta m) _ _ ltac:(lra) IH) _; rewrite -rsum_scale.
  apply: rsum_le => t _; have -> : \rsum_o (chain s t * s t o * (chain B t * B t o)) =
      chain s t * chain B t * \rsum_o s t o * B t o by rewrite -rsum_scale; apply: eq_bigr => o _; ring.
  rewrite Rmult_comm; have := L t; rewrite size_tuple => Lt; apply: Rmult_le_compat_l => //.
  by apply: Rmult_le_pos; [case: (s01 t) | exact: chain_ge0].
have e : 1 - (1 - kept_of delta n) = kept_of delta n by ring.
split=> [h|h|h|]; first exact: s01.
- by apply: below => // h' o; case: (H h').
- by apply: below => // h' o; case: (H h').
by split; rewrite e; apply: mass => // h; case: (H h) => _ _ _ [].
Qed.
(* prod (1 - delta_i) >= 1 - sum delta_i *)
Lemma kept_of_sum delta n : (forall i, 0 <= delta i <= 1) -> 0 <= kept_of delta n <= 1 /\ 1 - price_of delta n <=
  kept_of delta n.
Proof. by move=> d; elim: n => [|n [IH1 IH2]] /=; [lra | have := d n; nra]. Qed.
End Rounds.
