(* Programs on whole numbers and rationals that compute what the theorems are about, each with the theorem that it
   does: cases that proofs/cases.py writes from the library are compared with them by vm_compute. *)
From Coq Require Import ZArith QArith Qreals Qminmax Lia.
From mathcomp Require Import binomial.
From Shortlist Require Import Base Scores Shifting Canonical Classes.
From Shortlist Require Ledger.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition zlow (s : seq Z) : Z := if s is a :: s' then foldr Z.min a s' else 0%Z.
Definition zhigh (s : seq Z) : Z := if s is a :: s' then foldr Z.max a s' else 0%Z.
Definition u_exec (g : Q) (s : seq Z) (m : seq bool) : Q :=
  (g * inject_Z (zlow (mask m s)) - (1 - g) * inject_Z (zhigh (mask (map negb m) s)))%Q.

Canonical Z_eqType := EqType Z (EqMixin (fun x y => Z.eqb_spec x y)).
Lemma zlowP (s : seq Z) : s != [::] -> zlow s \in s /\ forall a, a \in s -> (zlow s <= a)%Z.
Proof.
case: s => // a s _ /=; elim: s => [|b s [IH1 IH2]] /=; first by rewrite !inE eqxx; split=> // c; rewrite inE =>
  /eqP ->; lia.
split.
  rewrite !inE in IH1 *; case: (Z.min_spec b (foldr Z.min a s)) => -[_ ->]; first by rewrite eqxx orbT.
  by case/orP: IH1 => ->; rewrite ?orbT.
move=> c; rewrite !inE => /or3P [h|/eqP ->|h]; [| lia |].
- by have := IH2 c; rewrite inE h => /(_ isT); lia.
- by have := IH2 c; rewrite inE h orbT => /(_ isT); lia.
Qed.
Lemma zhighP (s : seq Z) : s != [::] -> zhigh s \in s /\ forall a, a \in s -> (a <= zhigh s)%Z.
Proof.
case: s => // a s _ /=; elim: s => [|b s [IH1 IH2]] /=; first by rewrite !inE eqxx; split=> // c; rewrite inE =>
  /eqP ->; lia.
split.
  rewrite !inE in IH1 *; case: (Z.max_spec b (foldr Z.max a s)) => -[_ ->]; last by rewrite eqxx orbT.
  by case/orP: IH1 => ->; rewrite ?orbT.
move=> c; rewrite !inE => /or3P [h|/eqP ->|h]; [| lia |].
- by have := IH2 c; rewrite inE h => /(_ isT); lia.
- by have := IH2 c; rewrite inE h orbT => /(_ isT); lia.
Qed.

Section Link.
Variables (n : nat) (s : n.-tuple Z).
Let x (i : 'I_n) : R := IZR (tnth s i).
Lemma mask_tuple (P : 'I_n -> bool) (b : seq bool) : b = map P (enum 'I_n) ->
  mask b s = map (tnth s) (enum [set i | P i]).
Proof.
move=> ->; rewrite -{1}(map_tnth_enum s) -map_mask -filter_mask; congr map.
by rewrite {1}enumT; apply: eq_filter => i; rewrite -[RHS]/(i \in [set i0 | P i0]) inE.
Qed.
Lemma mask_n0 (P : 'I_n -> bool) : [set i | P i] != set0 -> map (tnth s) (enum [set i | P i]) != [::].
Proof. by case/set0Pn => i; rewrite -mem_enum; case: (enum _). Qed.
Lemma zlow_lowest (P : 'I_n -> bool) b : b = map P (enum 'I_n) -> [set i | P i] != set0 ->
  IZR (zlow (mask b s)) = lowest [set i | P i] x.
Proof.
move=> eb ne; rewrite (mask_tuple eb); have [/mapP [j jy e] all] := zlowP (mask_n0 ne).
rewrite mem_enum in jy; apply: (lowest_unique jy); first by rewrite e.
by move=> i iy; apply: IZR_le; apply: all; apply: map_f; rewrite mem_enum.
Qed.
Lemma zhigh_highest (P : 'I_n -> bool) b : b = map P (enum 'I_n) -> [set i | P i] != set0 ->
  IZR (zhigh (mask b s)) = highest [set i | P i] x.
Proof.
move=> eb ne; rewrite (mask_tuple eb); have [/mapP [j jy e] all] := zhighP (mask_n0 ne).
rewrite mem_enum in jy; apply: (highest_unique jy); first by rewrite e.
by move=> i iy; apply: IZR_le; apply: all; apply: map_f; rewrite mem_enum.
Qed.
Theorem u_exec_gap (m : n.-tuple bool) (g : Q) k (y : kset [finType of 'I_n] k) : val y = [set i | tnth m i] ->
  val y != set0 -> ~: val y != set0 -> Q2R (u_exec g s m) = u_gap (Q2R g) x y.
Proof.
move=> ey y0 yc; rewrite /u_exec /u_gap ey.
have i2q z : Q2R (inject_Z z) = IZR z by rewrite /Q2R /= Rinv_1 Rmult_1_r.
have -> : ~: [set i | tnth m i] = [set i | ~~ tnth m i] by apply/setP => i; rewrite !inE.
rewrite Q2R_minus !Q2R_mult Q2R_minus !i2q.
have e1 : tval m = map (fun i => tnth m i) (enum 'I_n) by rewrite map_tnth_enum.
have e2 : map negb m = map (fun i => ~~ tnth m i) (enum 'I_n) by rewrite -{1}(map_tnth_enum m) -map_comp.
rewrite (zlow_lowest e1) -?ey // (zhigh_highest e2) //.
by move: yc; rewrite ey; congr (_ != _); apply/setP => i; rewrite !inE.
Qed.
End Link.

(* ---- classes (Lemma 64): sizes and losses, from ranked scores ---- *)
Definition class_loss_exec (g : Q) (s : seq Z) (k i j : nat) : Q :=
  let at_ n := inject_Z (nth 0%Z s n) in
  ((1 - g) * (at_ (k - i.+1)%N - at_ k) + g * (at_ k.-1 - at_ (k + j)%N))%Q.
Section ClassLink.
Variables (d k : nat) (s : d.-tuple Z).
Hypotheses (k0 : (0 < k)%N) (kd : (k < d)%N).
Let x (r : 'I_d) : R := IZR (tnth s r).
Hypothesis ranked : forall r r' : 'I_d, (r <= r')%N -> x r' <= x r.
Theorem class_loss_exec_correct (g : Q) (i : 'I_k) (j : 'I_(d - k)) :
  Q2R (class_loss_exec g s k i j) = u x (Q2R g) (topk d k) - u_class x (Q2R g) i j.
Proof.
rewrite (class_loss k0 kd ranked); have ik := ltn_ord i; have jd := ltn_ord j.
have i2q z : Q2R (inject_Z z) = IZR z by rewrite /Q2R /= Rinv_1 Rmult_1_r.
have at_ n : (n < d)%N -> at_rank x n = IZR (nth 0%Z s n).
  by move=> nd; rewrite (at_rankE x (r := Ordinal nd)) // /x (tnth_nth 0%Z).
have p1 : (k - i.+1 < d)%N by rewrite (leq_ltn_trans (leq_subr _ _)).
have p2 : (k.-1 < d)%N by rewrite (leq_ltn_trans (leq_pred _)).
have p3 : (k + j < d)%N by rewrite -ltn_subRL.
by rewrite /class_loss_exec Q2R_plus !Q2R_mult !Q2R_minus !i2q !at_.
Qed.
End ClassLink.

(* ---- the range sensitivity of what a caller states (Lemma 3) ---- *)
Definition range_exec (down up : Q) (monotone : bool) : Q := if monotone then Qmax down up else (down + up)%Q.
Theorem range_exec_correct (T : Type) (down up : Q) (monotone : bool) (x x' : T -> R) :
  (forall i, - Q2R down <= x' i - x i <= Q2R up) -> (monotone -> monotone_move x x') ->
  moves_within (Q2R (range_exec down up monotone)) x x'.
Proof.
rewrite /range_exec; case: monotone => H M; last by rewrite Q2R_plus; exact: range_pair.
have := range_monotone_pair H (M isT); have : Rmax (Q2R down) (Q2R up) <= Q2R (Qmax down up).
  by apply: Rmax_lub; apply: Qle_Rle; [exact: Q.le_max_l | exact: Q.le_max_r].
by move=> h [b Hb]; exists b => i; have := Hb i; lra.
Qed.

(* ---- counts of units (Proposition 4): each unit is a mask over the candidates ---- *)
Definition counts_exec (d : nat) (units : seq (seq bool)) : seq nat :=
  [seq count (fun m : seq bool => nth false m i) units | i <- iota 0 d].
Theorem counts_exec_correct (d : nat) (units : seq (d.-tuple bool)) (i : 'I_d) :
  INR (nth 0%N (counts_exec d (map val units)) i) = counts [seq [set i | tnth m i] | m <- units] i.
Proof.
rewrite /counts_exec (nth_map 0%N) ?size_iota // nth_iota // add0n /counts !count_map; congr INR; apply: eq_count =>
  m /=.
by rewrite inE (tnth_nth false).
Qed.

(* ---- the rules of a ledger (Definition 36, Theorems 37 and 38): charges of an epsilon or none, a rho or none, and a
   delta; and what is kept of each, if it was admitted and answered ---- *)
Definition amounts := (option Q * option Q * Q)%type.
Definition plus_amounts (x y : amounts) : amounts := (Ledger.add x.1.1 y.1.1, Ledger.add x.1.2 y.1.2, (x.2 + y.2)%Q).
Section Program.
Variable limits : amounts.
Let fits := Ledger.fits limits.1.1 limits.1.2 limits.2.
Fixpoint ledger_exec (spent : amounts) (charges : seq (amounts * amounts)) : seq bool :=
  if charges is c :: rest then
    let ok := fits (plus_amounts spent c.1) in
    ok :: ledger_exec (if ok then plus_amounts spent c.2 else spent) rest
  else [::].
Fixpoint spent_exec (spent : amounts) (charges : seq (amounts * amounts)) : amounts :=
  if charges is c :: rest then
    spent_exec (if fits (plus_amounts spent c.1) then plus_amounts spent c.2 else spent) rest
  else spent.
Lemma ledger_exec_rcons s l c :
  ledger_exec s (rcons l c) = rcons (ledger_exec s l) (fits (plus_amounts (spent_exec s l) c.1)).
Proof. by elim: l s => [|a l IH] s //=; rewrite IH. Qed.
Lemma spent_exec_rcons s l c : spent_exec s (rcons l c) =
  if fits (plus_amounts (spent_exec s l) c.1) then plus_amounts (spent_exec s l) c.2 else spent_exec s l.
Proof. by elim: l s => [|a l IH] s //=; rewrite IH. Qed.
End Program.
Section LedgerLink.
Variables (O : finType) (E C : option Q) (G : Q) (questions : nat -> Ledger.question O).
(* whoever asks these questions in this order, whatever is answered; h is what was answered, the newest first *)
Let A : Ledger.analyst O := fun h => Some (questions (size h)).
Let cost i : amounts := (Ledger.epsilon (questions i), Ledger.rho (questions i), Ledger.delta (questions i)).
Let used i o : amounts :=
  (Ledger.some_of (Ledger.epsilon (questions i)) (Ledger.used_epsilon (questions i) o),
   Ledger.some_of (Ledger.rho (questions i)) (Ledger.used_rho (questions i) o), Ledger.delta (questions i)).
Fixpoint charges (h : seq O) : seq (amounts * amounts) :=
  if h is o :: h' then rcons (charges h') (cost (size h'), used (size h') o) else [::].
(* which questions were admitted, the first of them first *)
Fixpoint ledger_decisions (h : seq O) : seq bool :=
  if h is _ :: h' then rcons (ledger_decisions h') (isSome (Ledger.admitted E C G A h')) else [::].
Let zero : amounts := (Some 0%Q, Some 0%Q, 0%Q).
Theorem ledger_exec_correct (h : seq O) : ledger_exec (E, C, G) zero (charges h) = ledger_decisions h.
Proof.
have charge_is s i : Ledger.charge s (questions i) = plus_amounts s (cost i) by [].
have settle_is s i o : Ledger.settle s (questions i) o = plus_amounts s (used i o) by [].
have spentE h' : Ledger.spent E C G A h' = spent_exec (E, C, G) zero (charges h').
  elim: h' => // o h' IH; rewrite [charges _]/= spent_exec_rcons -IH /= /Ledger.asked /A charge_is.
  by case: (Ledger.fits E C G _).
elim: h => // o h IH; rewrite [charges _]/= ledger_exec_rcons IH -spentE /= /Ledger.admitted /Ledger.asked /A charge_is.
by case: (Ledger.fits E C G _).
Qed.
End LedgerLink.

(* ---- what is compared, kind by kind: a case is what the library was asked and what it said ---- *)
(* g, scores, a set as a mask, the top k as a mask, what the set loses against the top k *)
Definition agrees_loss (c : Q * seq Z * seq bool * seq bool * Q) : bool :=
  let: (g, s, m, top, loss) := c in Qeq_bool (u_exec g s top - u_exec g s m)%Q loss.
(* g, ranked scores, k, class (i, j), its loss, its size *)
Definition agrees_class (c : Q * seq Z * nat * nat * nat * Q * nat) : bool :=
  let: (g, s, k, i, j, loss, size) := c in Qeq_bool (class_loss_exec g s k i j) loss && ('C(i + j, i) == size).
(* what the caller states, and the R of the library *)
Definition agrees_range (c : Q * Q * bool * Q) : bool :=
  let: (down, up, monotone, R) := c in Qeq_bool (range_exec down up monotone) R.
(* the units, the counts of the library, the counts with one unit more, and the R of the library: no two counts move
   against each other by more than R *)
Definition agrees_counts (c : seq (seq bool) * seq nat * seq bool * seq nat * Q) : bool :=
  let: (units, before, unit_, after, R) := c in
  let moves := [seq (Z.of_nat p.2 - Z.of_nat p.1)%Z | p <- zip before after] in
  [&& counts_exec (size before) units == before, counts_exec (size after) (unit_ ::
    units) == after, size before == size after
    & all (fun a => all (fun b => Qle_bool (inject_Z (a - b)%Z) R) moves) moves].
(* the limits of a ledger, charges with what is kept of each, and which of them its rules admit *)
Definition agrees_ledger (c : amounts * seq (amounts * amounts) * seq bool) : bool :=
  let: (limits, charges, admitted) := c in ledger_exec limits (Some 0%Q, Some 0%Q, 0%Q) charges == admitted.
(* epsilon, k of the race, and the public constants of the guard: g, a, and e of one-shot. They are as Theorem 73
   asks. *)
Definition agrees_constants (c : Q * nat * Q * Q * Q) : bool :=
  let: (eps, k, g, a, e) := c in
  [&& Qle_bool 0 g, Qle_bool g 1, ~~ Qle_bool a 0, Qle_bool a 1
    & Qeq_bool (e * inject_Z (Z.of_nat k)) ((1 - a) * eps)]%Q.
(* a budget, the number of groups of one user, and the epsilon of each group's list: together they are within the
   budget *)
Definition agrees_groups (c : Q * nat * Q) : bool :=
  let: (B, m, e) := c in Qle_bool (inject_Z (Z.of_nat m) * e)%Q B && Qle_bool 0 e.
