(* How far one unit moves scores against each other: the range sensitivity R. Covers Definition 2 (its last sentence),
   Lemma 3, Lemma 6, Proposition 4 and Proposition 214. *)
From Shortlist Require Import Base.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* all moves in one interval of length r: Definition 2, the last sentence *)
Definition moves_within (T : Type) (r : R) (x x' : T -> R) := exists b, forall i, b <= x' i - x i <= b + r.

Lemma moves_within_sym (T : Type) r (x x' : T -> R) : moves_within r x x' -> moves_within r x' x.
Proof. by move=> [b H]; exists (- b - r) => i; have := H i; lra. Qed.
Lemma moves_within_scale (T : Type) c r (x x' : T -> R) : 0 <= c -> moves_within r x x' ->
  moves_within (c * r) (fun i => c * x i) (fun i => c * x' i).
Proof. by move=> c0 [b H]; exists (c * b) => i; have := H i; nra. Qed.
Lemma moves_within_neg (T : Type) r (x x' : T -> R) : moves_within r x x' ->
  moves_within r (fun i => - x i) (fun i => - x' i).
Proof. by move=> [b H]; exists (- b - r) => i; have := H i; lra. Qed.
Lemma moves_within_sub (T U : Type) (f : U -> T) r (x x' : T -> R) : moves_within r x x' ->
  moves_within r (fun i => x (f i)) (fun i => x' (f i)).
Proof. by move=> [b H]; exists b => i; exact: H. Qed.
Lemma moves_within_offset (T : Type) r (x x' w : T -> R) : moves_within r x x' ->
  moves_within r (fun i => x i + w i) (fun i => x' i + w i).
Proof. by move=> [b H]; exists b => i; have := H i; lra. Qed.
(* the largest s_i - s_j: over a finite non-empty set the two readings of R agree *)
Lemma moves_within_pairs (T : finType) (i0 : T) r (x x' : T -> R) :
  moves_within r x x' <-> (forall i j, (x' i - x i) - (x' j - x j) <= r).
Proof.
split=> [[b H] i j|H]; first by have := H i; have := H j; lra.
suff [j Hj] : exists j, forall i, x' j - x j <= x' i - x i.
  by exists (x' j - x j) => i; have := Hj i; have := H i j; lra.
suff [j [_ Hj]] : exists j, (j \in i0 :: enum T) /\ forall i, i \in i0 :: enum T -> x' j - x j <= x' i - x i.
  by exists j => i; apply: Hj; rewrite inE mem_enum orbT.
elim: (enum T) => [|a s [j [js Hj]]].
  by exists i0; rewrite inE eqxx; split=> // i; rewrite inE => /eqP ->; lra.
case: (Rle_lt_dec (x' j - x j) (x' a - x a)) => h.
  exists j; split; first by move: js; rewrite !inE => /orP [->|->] //; rewrite !orbT.
  move=> i; rewrite !inE => /or3P [/eqP ->|/eqP ->|h']; [by apply: Hj; rewrite inE eqxx | lra |].
  by apply: Hj; rewrite inE h' orbT.
exists a; split; first by rewrite !inE eqxx orbT.
move=> i; rewrite !inE => /or3P [/eqP ->|/eqP ->|h']; last 1 first.
- by have := Hj i; rewrite inE h' orbT => /(_ isT); lra.
- by have := Hj i0; rewrite inE eqxx => /(_ isT); lra.
- lra.
Qed.

(* Lemma 3 *)
Definition monotone_move (T : Type) (x x' : T -> R) := (forall i, x i <= x' i) \/ (forall i, x' i <= x i).
Lemma range_general (T : Type) D (x x' : T -> R) : (forall i, Rabs (x' i - x i) <= D) -> moves_within (2 * D) x x'.
Proof. by move=> H; exists (- D) => i; have := H i; split_Rabs; lra. Qed.
Lemma range_monotone (T : Type) D (x x' : T -> R) : (forall i, Rabs (x' i - x i) <= D) -> monotone_move x x' ->
  moves_within D x x'.
Proof.
by move=> H [M|M]; [exists 0 | exists (- D)] => i; have := H i; have := M i; split_Rabs; lra.
Qed.
Lemma range_pair (T : Type) dn up (x x' : T -> R) : (forall i, - dn <= x' i - x i <= up) -> moves_within (dn + up) x x'.
Proof. by move=> H; exists (- dn) => i; have := H i; lra. Qed.
Lemma range_monotone_pair (T : Type) dn up (x x' : T -> R) : (forall i, - dn <= x' i - x i <= up) ->
  monotone_move x x' -> moves_within (Rmax dn up) x x'.
Proof.
move=> H [M|M]; have := Rmax_l dn up; have := Rmax_r dn up => h1 h2.
- by exists 0 => i; have := H i; have := M i; lra.
- by exists (- Rmax dn up) => i; have := H i; have := M i; lra.
Qed.

(* Lemma 3, the last sentence: the interval may be taken to contain 0 *)
Definition moves_around_0 (T : Type) (r : R) (x x' : T -> R) :=
  exists b, b <= 0 <= b + r /\ forall i, b <= x' i - x i <= b + r.
Lemma range_around_0 (T : Type) dn up (x x' : T -> R) : 0 <= dn -> 0 <= up -> (forall i, - dn <= x' i - x i <= up) ->
  moves_around_0 (dn + up) x x'.
Proof. by move=> d0 u0 H; exists (- dn); split=> [|i]; [lra | have := H i; lra]. Qed.
Lemma range_around_0_monotone (T : Type) dn up (x x' : T -> R) : 0 <= dn -> 0 <= up ->
  (forall i, - dn <= x' i - x i <= up) -> monotone_move x x' -> moves_around_0 (Rmax dn up) x x'.
Proof.
move=> d0 u0 H [M|M]; have := Rmax_l dn up; have := Rmax_r dn up => h1 h2.
- by exists 0; split=> [|i]; [lra | have := H i; have := M i; lra].
- by exists (- Rmax dn up); split=> [|i]; [lra | have := H i; have := M i; lra].
Qed.

(* Lemma 6: a mechanism that sees only differences of scores keeps for all neighbors of range r what it keeps for
   moves in [0, r]. "Promise" is any relation between the outputs on the two score vectors, in this order. *)
Theorem lemma6 (T O : Type) (M : (T -> R) -> O) (promise : O -> O -> Prop) r :
  (forall x c, M (fun i => x i + c) = M x) ->
  (forall x x', (forall i, 0 <= x' i - x i <= r) -> promise (M x) (M x')) ->
  forall x x', moves_within r x x' -> promise (M x) (M x').
Proof.
move=> shift H x x' [b Hb]; rewrite -(shift x' (- b)); apply: H => i; have := Hb i; lra.
Qed.

(* Proposition 214: "s is how neighbors move" is any symmetric relation between score vectors that only sees
   differences. A promise that holds for all of them in both orders holds for the negated scores. *)
Theorem proposition214 (T O : Type) (M : (T -> R) -> O) (promise : O -> O -> Prop) (allowed : (T -> R) -> Prop) :
  (forall x x', allowed (fun i => x' i - x i) -> promise (M x) (M x') /\ promise (M x') (M x)) ->
  (forall s s' : T -> R, (forall i, s i = s' i) -> allowed s -> allowed s') ->
  forall x x', allowed (fun i => x' i - x i) ->
  promise (M (fun i => - x i)) (M (fun i => - x' i)) /\ promise (M (fun i => - x' i)) (M (fun i => - x i)).
Proof.
move=> H ext x x' ok; suff [h h'] : promise (M (fun i => - x' i)) (M (fun i => - x i)) /\
    promise (M (fun i => - x i)) (M (fun i => - x' i)) by split.
by apply: H; apply: ext ok => i; ring.
Qed.

(* Proposition 4: units are sets of candidates, a data set is a sequence of units, x_i counts who holds i *)
Definition counts (T : finType) (D : seq {set T}) (i : T) : R := INR (count (fun y : {set T} => i \in y) D).
Lemma counts_add (T : finType) (D : seq {set T}) u i :
  counts (u :: D) i - counts D i = if i \in u then 1 else 0.
Proof. by rewrite /counts [count _ (_ :: _)]/= -plusE plus_INR; case: (i \in u); rewrite [INR (nat_of_bool _)]/=;
  lra. Qed.
Theorem counts_range (T : finType) (D : seq {set T}) u : moves_within 1 (counts D) (counts (u :: D)).
Proof. by exists 0 => i; rewrite counts_add; case: ifP => _; lra. Qed.
Theorem counts_replace_range (T : finType) (D : seq {set T}) u v :
  moves_within 2 (counts (u :: D)) (counts (v :: D)).
Proof.
exists (-1) => i; have := counts_add D u i; have := counts_add D v i.
by case: ifP => _; case: ifP => _; lra.
Qed.
(* R = 1 cannot be smaller *)
Theorem counts_range_tight (T : finType) (D : seq {set T}) (i j : T) : i != j ->
  (counts ([set i] :: D) i - counts D i) - (counts ([set i] :: D) j - counts D j) = 1.
Proof. by move=> ij; rewrite !counts_add !inE eqxx eq_sym (negbTE ij); ring. Qed.
(* under replacement the scores are not monotone, and R = 2 cannot be smaller *)
Theorem counts_replace_tight (T : finType) (i j : T) : i != j ->
  (counts [:: [set j]] i - counts [:: [set i]] i) - (counts [:: [set j]] j - counts [:: [set i]] j) = -2 /\
  ~ monotone_move (counts [:: [set i]]) (counts [:: [set j]]).
Proof.
move=> ij; have ji : j != i by rewrite eq_sym.
have e a b : counts [:: [set a]] b = if b == a then 1 else 0.
  by rewrite /counts /= inE; case: (b == a) => /=; lra.
split; first by rewrite !e !eqxx (negbTE ij) (negbTE ji); lra.
case=> H; [have := H i | have := H j]; rewrite !e !eqxx ?(negbTE ij) ?(negbTE ji); lra.
Qed.
