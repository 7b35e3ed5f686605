(* Theorem 73: guarded top-k is eps-DP for the set together with its flag. Before it order statistics x_[j] (for Lemma
   5), the score V of the guard (Definition 72), and Theorem 63 for exponential noise. *)
From Shortlist Require Import Base Scores Shifting Canonical Race OneShot.
From mathcomp Require Import binomial.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* ---- the j-th largest score of the candidates in A (j = 1, 2, ..) ---- *)
Section Order.
Variable T : finType.
Implicit Types (A : {set T}) (x : T -> R).
Definition jsubs (A : {set T}) (j : nat) := [pred z : {set T} | (z \subset A) && (#|z| == j)].
Definition kth (A : {set T}) (j : nat) (x : T -> R) :=
  if [pick z | jsubs A j z] is Some z0 then \big[Rmax/lowest z0 x]_(z | jsubs A j z) lowest z x else 0.
Lemma jsub_exists (A : {set T}) j : (j <= #|A|)%N -> exists z, jsubs A j z.
Proof.
move=> jA; exists [set i in take j (enum A)]; rewrite /jsubs /=; apply/andP; split.
  by apply/subsetP => i; rewrite inE => /mem_take; rewrite mem_enum.
by rewrite cardsE (card_uniqP _) ?take_uniq ?enum_uniq // size_takel // -cardE.
Qed.
Lemma jsub_n0 A j z : (0 < j)%N -> jsubs A j z -> z != set0.
Proof. by move=> j0 /andP [_ /eqP h]; apply: contraTneq j0 => z0; rewrite -h z0 cards0. Qed.
Lemma shifting_kth A j : (0 < j)%N -> (j <= #|A|)%N -> shifting (kth A j).
Proof.
move=> j0 jA; have [z hz] := jsub_exists jA; rewrite /kth; case: pickP => [z0 hz0|/(_ z)]; last by rewrite hz.
by apply: shifting_bigmax => [|z' hz']; apply: shifting_lowest; exact: jsub_n0 hz0 || exact: jsub_n0 hz'.
Qed.
Lemma kth_max A j x z : jsubs A j z -> lowest z x <= kth A j x.
Proof.
move=> hz; rewrite /kth; case: pickP => [z0 hz0|/(_ z)]; last by rewrite hz.
rewrite -big_filter; have : z \in [seq z <- index_enum _ | jsubs A j z] by rewrite mem_filter hz mem_index_enum.
elim: [seq _ <- _ | _] => // a s IH; rewrite inE big_cons => /orP [/eqP ->|/IH]; first exact: Rmax_l.
by move/Rle_trans; apply; exact: Rmax_r.
Qed.
Lemma kth_attained A j x : (j <= #|A|)%N -> exists2 z, jsubs A j z & kth A j x = lowest z x.
Proof.
move=> jA; have [z hz] := jsub_exists jA; rewrite /kth; case: pickP => [z0 hz0|/(_ z)]; last by rewrite hz.
elim/big_ind: _ => [|a b [i1 h1 ->] [i2 h2 ->]|i h]; [by exists z0 | | by exists i].
by rewrite /Rmax; case: Rle_dec => _; [exists i2 | exists i1].
Qed.
(* it is the j-th largest: at least j scores reach it and fewer than j exceed it *)
Definition reach (A : {set T}) (x : T -> R) t := [set i in A | if Rle_dec t (x i) then true else false].
Definition exceed (A : {set T}) (x : T -> R) t := [set i in A | if Rlt_dec t (x i) then true else false].
Theorem kthP A j x : (0 < j)%N -> (j <= #|A|)%N ->
  (j <= #|reach A x (kth A j x)|)%N /\ (#|exceed A x (kth A j x)| < j)%N.
Proof.
move=> j0 jA; split.
- have [z hz e] := kth_attained x jA; have zn := jsub_n0 j0 hz; have /andP [/subsetP zA /eqP zc] := hz; rewrite -{1}zc.
  apply: subset_leq_card; apply/subsetP => i iz; rewrite inE zA //=.
  by case: Rle_dec => // h; case: h; rewrite e; have [_ l] := lowestP x zn; exact: l.
- rewrite ltnNge; apply/negP => big; have [z hz] := jsub_exists big; have /andP [/subsetP zE zj] := hz.
  have hA : jsubs A j z.
    by rewrite /jsubs /= zj andbT; apply/subsetP => i /zE; rewrite inE => /andP [].
  have [[i iz e] _] := lowestP x (jsub_n0 j0 hA).
  have := kth_max x hA; rewrite e; move: (zE i iz); rewrite inE => /andP [_]; case: Rlt_dec => // h _ hm; lra.
Qed.
End Order.

(* Theorem 63 for exponential noise: all hazards 1, no guard; both losses *)
Section Unguarded.
Variables (T : finType) (k : nat) (g r eps : R).
Hypotheses (k0 : (0 < k)%N) (kd : (k < #|T|)%N) (g01 : 0 <= g <= 1) (r0 : 0 < r) (eps0 : 0 <= eps).
Lemma race_pure (u : (T -> R) -> kset T k -> R) (x x' : T -> R) : moves_within r (u x) (u x') ->
  pureDP eps (win (fun _ => 1) (fun y => eps / r * u x y)) (win (fun _ => 1) (fun y => eps / r * u x' y)).
Proof.
have half v v' : moves_within eps v v' -> pure eps (win (fun _ : kset T k => 1) v') (win (fun _ => 1) v).
  move=> M; apply: pointwise_pure => y; have h0 : forall _ : kset T k, 0 < 1 by move=> _; lra.
  by have := race_hazard h0 y eps0 M; rewrite Rmult_1_l.
move=> M; have c0 : 0 <= eps / r by rewrite /Rdiv; apply: Rmult_le_pos => //; exact/Rlt_le/Rinv_0_lt_compat.
have := moves_within_scale c0 M; have -> : eps / r * r = eps by field; lra.
by move=> M'; split; apply: half => //; exact: moves_within_sym.
Qed.
Theorem theorem63_exponential (x x' : T -> R) : moves_within r x x' ->
  pureDP eps (win (fun _ => 1) (fun y => eps / r * u_gap (k := k) g x y)) (win (fun _ => 1) (fun y =>
    eps / r * u_gap g x' y)).
Proof. by move=> M; apply: (race_pure (u := u_gap g)); exact: lipschitz_gap. Qed.
Theorem theorem63_exponential_paper (x x' : T -> R) : moves_within r x x' ->
  pureDP eps (win (fun _ => 1) (fun y => eps / r * u_paper (k := k) g x y)) (win (fun _ => 1) (fun y =>
    eps / r * u_paper g x' y)).
Proof. by move=> M; apply: (race_pure (u := u_paper g)); exact: lipschitz_paper. Qed.
End Unguarded.

Section Guarded.
Variables (T : finType) (k : nat) (g a tau r eps : R).
Hypothesis k0 : (0 < k)%N.
Hypothesis kd : (k < #|T|)%N.
Hypothesis g01 : 0 <= g <= 1.
Hypothesis a01 : 0 < a <= 1.
Hypothesis r0 : 0 < r.
Hypothesis eps0 : 0 <= eps.
Implicit Types (x : T -> R).
Definition rank (j : nat) x := kth setT j x. (* x_[j] *)
Let d := #|T|.
Lemma dk : (0 < d - k)%N. Proof. by rewrite subn_gt0. Qed.

(* the public classes (i, j) of the junk, 0 <= i < k, 0 <= j < d - k *)
Notation class := ('I_k * 'I_(d - k))%type.
Variable junk : {set class}.
Hypothesis junk0 : junk != set0.
Definition members (c : class) : R := if c \in junk then INR 'C(c.1 + c.2, c.1) else 0.
Definition exponent x (c : class) := eps / r * (g * rank (k + 1 + c.2) x - (1 - g) * rank (k - c.1) x).
Definition V x := tau + ln (\rsum_c members c * exp (exponent x c)).
(* the race: Some y a set, None the guard *)
Definition value x (c : option (kset T k)) := if c is Some y then eps / r * u_gap g x y else V x.
Definition hazard (c : option (kset T k)) := if c is Some _ then 1 else a.

Lemma scaled_interval c p q b : 0 <= c -> b <= q - p <= b + r -> c * r = eps -> c * b <= c * q - c * p <= c * b + eps.
Proof. by move=> c0 H <-; nra. Qed.
Theorem value_moves x x' : moves_within r x x' -> moves_within eps (value x) (value x').
Proof.
move=> [b H]; have c0 : 0 <= eps / r by rewrite /Rdiv; apply: Rmult_le_pos => //; apply/Rlt_le/Rinv_0_lt_compat.
have cr : eps / r * r = eps by field; lra.
set B := g * b - (1 - g) * (b + r); exists (eps / r * B) => -[y|].
- apply: (scaled_interval c0 _ cr).
  by apply: lemma5_difference; [| apply: shifting_lowest; exact: kset_n0 | apply: shifting_highest; exact: kset_c0 |].
- rewrite /value /V.
  have E c : eps / r * B <= exponent x' c - exponent x c <= eps / r * B + eps.
    apply: (scaled_interval c0 _ cr); apply: lemma5_difference => //; apply: shifting_kth.
    + by rewrite addn1 addSn.
    + by rewrite cardsT addn1 addSn; have := ltn_ord c.2; rewrite ltn_subRL.
    + by rewrite subn_gt0; exact: ltn_ord.
    + by rewrite cardsT; apply: leq_trans (leq_subr _ _) _; exact: ltnW.
  have [c cj] := set0Pn _ junk0.
  have m0 c' : 0 <= members c' by rewrite /members; case: ifP => _; [exact: pos_INR | lra].
  have mc : 0 < members c.
    by rewrite /members cj; apply: lt_0_INR; apply/ltP; rewrite bin_gt0 leq_addr.
  by have := lemma5 (shifting_logsumexp m0 mc) E; lra.
Qed.

(* Theorem 73. inl y: "canonical", the set y; inr y: "one-shot", the set y. One-shot runs at (1 - a) eps. *)
Definition guarded x (o : kset T k + {set T}) : R :=
  match o with
  | inl y => win hazard (value x) (Some y)
  | inr y => win hazard (value x) None * set_distribution k (fun i => (1 - a) * eps / (INR k * r) * x i) y
  end.
Theorem theorem73 x x' : moves_within r x x' -> pureDP eps (guarded x) (guarded x').
Proof.
have kp : 0 < INR k by apply: lt_0_INR; exact/ltP.
have h0 c : 0 < hazard c by case: c => [y|] /=; lra.
have half z z' : moves_within r z z' -> pure eps (guarded z') (guarded z).
  move=> H; have M := value_moves H; apply: pointwise_pure => -[y|y] /=.
    by have := race_hazard h0 (Some y) eps0 M; rewrite /= Rmult_1_l.
  have R := race_hazard h0 None eps0 M; rewrite /= in R.
  have S : moves_within ((1 - a) * eps / INR k) (fun i => (1 - a) * eps / (INR k * r) * z i)
                        (fun i => (1 - a) * eps / (INR k * r) * z' i).
    have -> : (1 - a) * eps / INR k = (1 - a) * eps / (INR k * r) * r by field; lra.
    apply: moves_within_scale => //; apply: Rmult_le_pos; first by apply: Rmult_le_pos; lra.
    by apply/Rlt_le/Rinv_0_lt_compat; nra.
  have [_ S'] := one_shot_set_pure k0 S.
  have := pure_pointwise S' y.
  set p := set_distribution _ _ _; set q := set_distribution _ _ _ => pq.
  have p0 : 0 <= p by apply: set_ge0.
  have split_eps : exp eps = exp (a * eps) * exp ((1 - a) * eps) by rewrite -exp_plus; congr exp; ring.
  have -> : exp eps * (win hazard (value z) None * q) =
            exp (a * eps) * win hazard (value z) None * (exp ((1 - a) * eps) * q) by rewrite split_eps; ring.
  by apply: Rmult_le_compat => //; exact: win_ge0.
by move=> H; split; apply: half => //; exact: moves_within_sym.
Qed.
End Guarded.

