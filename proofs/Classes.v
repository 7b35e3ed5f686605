(* Lemma 64: with ranked scores the sets other than the top k fall into k (d - k) classes of C(i+j, i) sets of equal
   score, so that the mass of all sets is 1 + sum_ij C(i+j, i) e^{-w_ij} times that of the top k. Ranks are 0 .. d-1
   here. *)
From Shortlist Require Import Base Scores Shifting Canonical.
From mathcomp Require Import binomial.
From mathcomp Require Import zify.
From Coq Require Import Lia.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Classes.
Variables (d k : nat).
Hypotheses (k0 : (0 < k)%N) (kd : (k < d)%N).
Notation rk := 'I_d.
Implicit Types (y A : {set rk}).
Definition topk : {set rk} := [set r : rk | (r < k)%N].
Lemma card_below n : (n <= d)%N -> #|[set r : rk | (r < n)%N]| = n.
Proof.
move=> nd; have -> : [set r : rk | (r < n)%N] = [set widen_ord nd i | i in [set: 'I_n]].
  apply/setP => r; rewrite inE; apply/idP/imsetP => [h|[i _ ->]]; last by rewrite /= ltn_ord.
  by exists (Ordinal h); [rewrite inE | apply: val_inj].
by rewrite card_imset ?cardsT ?card_ord // => i j /(congr1 val) /= h; apply: val_inj.
Qed.
(* the best rank missing is p, the worst rank held is q *)
Definition in_class (p q : nat) y :=
  [&& [forall r : rk, (r < p)%N ==> (r \in y)], [forall r : rk, (r == p :> nat) ==> (r \notin y)],
      [forall r : rk, (r == q :> nat) ==> (r \in y)] & [forall r : rk, (q < r)%N ==> (r \notin y)]].
Definition class (i : 'I_k) (j : 'I_(d - k)) := [set y : {set rk} | (#|y| == k) && in_class (k - i.+1) (k + j) y].

Lemma in_classP p q y : reflect
  [/\ forall r : rk, (r < p)%N -> r \in y, forall r : rk, r = p :> nat -> r \notin y,
      forall r : rk, r = q :> nat -> r \in y & forall r : rk, (q < r)%N -> r \notin y] (in_class p q y).
Proof.
apply: (iffP and4P) => [[/forallP a /forallP b /forallP c /forallP e]|[a b c e]].
  split=> r; [exact/implyP/a | by move/eqP; exact/implyP/b | by move/eqP; exact/implyP/c | exact/implyP/e].
by split; apply/forallP => r; apply/implyP => h; [exact: a | exact/b/eqP | exact/c/eqP | exact: e].
Qed.

Theorem class_size (i : 'I_k) (j : 'I_(d - k)) : #|class i j| = 'C(i + j, i).
Proof.
have ik := ltn_ord i; have jd := ltn_ord j.
set p := (k - i.+1)%N; set q := (k + j)%N.
have pk : (p < k)%N by rewrite /p; lia.
have qd : (q < d)%N by rewrite /q; lia.
pose low := [set r : rk | (r < p)%N]; pose base := low :|: [set Ordinal qd].
pose mid := [set r : rk | (p < r < q)%N].
have clow : #|low| = p by apply: card_below; lia.
have cmid : #|mid| = (i + j)%N.
  have : #|[set r : rk | (r < q)%N]| = (#|[set r : rk | (r < p.+1)%N]| + #|mid|)%N.
    rewrite -cardsUI [X in (_ + X)%N](_ : _ = 0%N) ?addn0; last first.
      by apply/eqP; rewrite cards_eq0; apply/eqP/setP => r; rewrite !inE; apply/negP; lia.
    by congr #|pred_of_set _|; apply/setP => r; rewrite !inE; apply/idP/idP; lia.
  rewrite !card_below; rewrite /p /q; lia.
have cbase : #|base| = p.+1.
  rewrite /base setUC cardsU1 clow inE -[X in (_ + X)%N]/p; have -> : (q < p)%N = false by lia.
  by rewrite add1n.
have dis A : A \subset mid -> [disjoint A & base].
  move=> /subsetP s; rewrite disjoint_subset; apply/subsetP => r /s; rewrite !inE => h.
  by rewrite negb_or; apply/andP; split; [lia | apply/eqP => e; move: h; rewrite e /=; lia].
have -> : class i j = [set A :|: base | A in [set A : {set rk} | A \subset mid & #|A| == i]].
  apply/setP => y; rewrite inE; apply/andP/imsetP => [[/eqP cy /in_classP [h1 h2 h3 h4]]|[A]].
    exists (y :&: mid); last first.
      apply/setP => r; rewrite !inE; apply/idP/idP => [ry|/orP [/andP [] //|/orP [/h1 //|/eqP ->]]]; last exact: h3.
      rewrite ry /=; case: (ltngtP r p) => hp; rewrite ?orbT //=.
      - case: (ltngtP r q) => hq; rewrite ?orbT //=; first by have := h4 r hq; rewrite ry.
        by apply/eqP/val_inj.
      - by have := h2 r hp; rewrite ry.
    rewrite inE subsetIr /=; have := cardsUI (y :&: mid) base.
    have -> : #|y :&: mid :&: base| = 0%N by rewrite (disjoint_setI0 (dis _ (subsetIr y mid))) cards0.
    have -> : y :&: mid :|: base = y.
      apply/setP => r; rewrite !inE; apply/idP/idP => [/orP [/andP [] //|/orP [/h1 //|/eqP ->]]|ry]; first exact: h3.
      rewrite ry /=; case: (ltngtP r p) => hp; rewrite ?orbT //=.
      - case: (ltngtP r q) => hq; rewrite ?orbT //=; first by have := h4 r hq; rewrite ry.
        by apply/eqP/val_inj.
      - by have := h2 r hp; rewrite ry.
    rewrite cy cbase addn0 => e; apply/eqP; move: e; rewrite /p; move: #|_ :&: _| => c; clear -ik; lia.
  rewrite inE => /andP [Am /eqP cA] ->; split.
    have := cardsUI A base; have -> : A :&: base = set0 by apply: disjoint_setI0; exact: dis.
    by rewrite cards0 addn0 cA cbase => ->; rewrite /p; clear -ik; lia.
  have s := subsetP Am; apply/in_classP; split=> r hr; rewrite !inE.
  - by rewrite hr orbT.
  - apply/negP => /or3P [/s|h|/eqP e]; [by rewrite inE; lia | by lia | by move: hr; rewrite e /=; lia].
  - by rewrite (_ : r = Ordinal qd) ?eqxx ?orbT //; apply: val_inj.
  - apply/negP => /or3P [/s|h|/eqP e]; [by rewrite inE; lia | by lia | by move: hr; rewrite e /=; lia].
rewrite card_in_imset; first by rewrite cards_draws cmid.
move=> A B; rewrite !inE => /andP [sA _] /andP [sB _] e.
have cut (D : {set rk}) : D \subset mid -> (D :|: base) :\: base = D.
  by move=> sD; rewrite setDUl setDv setU0; apply/setDidPl; exact: dis.
by rewrite -(cut A sA) e cut.
Qed.
(* every other set is in one class and in one only *)
Theorem class_cover y : #|y| = k -> y != topk -> exists ij : 'I_k * 'I_(d - k), y \in class ij.1 ij.2.
Proof.
move=> cy yt.
have ct : #|topk| = k by apply: card_below; lia.
have [r0 h0] : exists r, (r \notin y) && (r < k)%N.
  apply/existsP; apply: contraNT yt; rewrite negb_exists => /forallP h.
  rewrite eq_sym eqEcard cy ct leqnn andbT; apply/subsetP => r; rewrite inE => rk.
  by have := h r; rewrite rk andbT negbK.
have [p hp pmin] := @arg_minnP _ r0 (fun r : rk => r \notin y) (fun r : rk => r : nat) (proj1 (andP h0)).
have pk : (p < k)%N by have := pmin r0 (proj1 (andP h0)); have := proj2 (andP h0); lia.
have [s0 g0] : exists r, (r \in y) && (k <= r)%N.
  apply/existsP; apply: contraNT yt; rewrite negb_exists => /forallP h.
  rewrite eqEcard cy ct leqnn andbT; apply/subsetP => r ry; rewrite inE.
  by have := h r; rewrite ry /=; lia.
have [q hq qmax] := @arg_maxnP _ s0 (fun r : rk => r \in y) (fun r : rk => r : nat) (proj1 (andP g0)).
have kq : (k <= q)%N by have := qmax s0 (proj1 (andP g0)); have := proj2 (andP g0); lia.
have iP : (k - p.+1 < k)%N by lia.
have jP : (q - k < d - k)%N by have := ltn_ord q; lia.
exists (Ordinal iP, Ordinal jP); rewrite inE cy eqxx; apply/in_classP => /=.
have -> : (k - (k - p.+1).+1)%N = p by lia.
have -> : (k + (q - k))%N = q by lia.
split=> r hr.
- by apply: contraLR hr => /pmin; lia.
- by have -> : r = p by exact: val_inj.
- by have -> : r = q by exact: val_inj.
- by apply/negP => /qmax; lia.
Qed.
Theorem class_disjoint (ij ij' : 'I_k * 'I_(d - k)) y : y \in class ij.1 ij.2 -> y \in class ij'.1 ij'.2 -> ij = ij'.
Proof.
case: ij ij' => [i j] [i' j']; rewrite !inE => /andP [_ /in_classP /= [a1 a2 a3 a4]] /andP [_ /in_classP /= [b1 b2 b3
  b4]].
have ik := ltn_ord i; have ik' := ltn_ord i'; have jd := ltn_ord j; have jd' := ltn_ord j'.
have pd : (k - i.+1 < d)%N by lia.
have pd' : (k - i'.+1 < d)%N by lia.
have qd : (k + j < d)%N by lia.
have qd' : (k + j' < d)%N by lia.
have ei : (k - i.+1 = k - i'.+1)%N.
  case: (ltngtP (k - i.+1) (k - i'.+1)) => // h.
    by have := a2 (Ordinal pd) erefl; rewrite (b1 (Ordinal pd) h).
  by have := b2 (Ordinal pd') erefl; rewrite (a1 (Ordinal pd') h).
have ej : (k + j = k + j')%N.
  case: (ltngtP (k + j) (k + j')) => // h.
    by have := a4 (Ordinal qd') h; rewrite (b3 (Ordinal qd') erefl).
  by have := b4 (Ordinal qd) h; rewrite (a3 (Ordinal qd) erefl).
by congr (_, _); apply: val_inj => /=; lia.
Qed.

(* with g = 1 only the worst rank matters: the sets of k that end at rank q *)
Theorem worst_rank_size (q : rk) :
  #|[set y : {set rk} | [&& #|y| == k, q \in y & [forall r : rk, (q < r)%N ==> (r \notin y)]]]| = 'C(q, k.-1).
Proof.
pose B := [set r : rk | (r < q)%N]; have cB : #|B| = q by apply: card_below; exact: ltnW.
have nq A : A \subset B -> q \notin A by move=> /subsetP s; apply/negP => /s; rewrite inE ltnn.
have -> : [set y : {set rk} | [&& #|y| == k, q \in y & [forall r : rk, (q < r)%N ==> (r \notin y)]]] =
          [set q |: A | A in [set A : {set rk} | A \subset B & #|A| == k.-1]].
  apply/setP => y; rewrite inE; apply/and3P/imsetP => [[/eqP c qy /forallP h]|[A]].
    exists (y :\ q); last by rewrite setD1K.
    rewrite inE; apply/andP; split; last by have := cardsD1 q y; rewrite qy c add1n => ->.
    apply/subsetP => r; rewrite !inE => /andP [rq ry]; rewrite ltn_neqAle rq /= leqNgt; apply/negP => l.
    by have /implyP /(_ l) := h r; rewrite ry.
  rewrite inE => /andP [sA /eqP cA] ->; split.
  - by rewrite cardsU1 nq // cA add1n prednK.
  - by rewrite setU11.
  - apply/forallP => r; apply/implyP => l; rewrite !inE negb_or; apply/andP; split.
      by apply: contraTneq l => ->; rewrite ltnn.
    by apply/negP => /(subsetP sA); rewrite inE => l'; have := ltn_trans l l'; rewrite ltnn.
rewrite card_in_imset ?cards_draws ?cB // => A A'; rewrite !inE => /andP [sA _] /andP [sA' _] e.
by rewrite -(setU1K (nq _ sA)) e setU1K // nq.
Qed.

(* ranked scores: the best first *)
Variable x : rk -> R.
Hypothesis ranked : forall r r' : rk, (r <= r')%N -> x r' <= x r.
Definition at_rank (n : nat) : R := if insub n is Some r then x r else 0.
Lemma at_rankE (r : rk) n : r = n :> nat -> at_rank n = x r.
Proof. by move=> <-; rewrite /at_rank valK. Qed.
Lemma class_scores (i : 'I_k) (j : 'I_(d - k)) y : y \in class i j ->
  lowest y x = at_rank (k + j) /\ highest (~: y) x = at_rank (k - i.+1).
Proof.
rewrite inE => /andP [_ /in_classP [h1 h2 h3 h4]]; have ik := ltn_ord i; have jd := ltn_ord j.
have pd : (k - i.+1 < d)%N by lia.
have qd : (k + j < d)%N by lia.
rewrite (at_rankE (r := Ordinal qd)) // (at_rankE (r := Ordinal pd)) //.
have hq := h3 (Ordinal qd) erefl; have hp := h2 (Ordinal pd) erefl.
have y0 : y != set0 by apply/set0Pn; exists (Ordinal qd).
have c0 : ~: y != set0 by apply/set0Pn; exists (Ordinal pd); rewrite inE.
have [[a ay ea] lo] := lowestP x y0; have [[b by_ eb] hi] := highestP x c0; split.
- apply: Rle_antisym; first exact: lo.
  by rewrite ea; apply: ranked => /=; rewrite leqNgt; apply/negP => /h4; rewrite ay.
- apply: Rle_antisym; last by apply: hi; rewrite inE.
  by rewrite eb; apply: ranked => /=; rewrite leqNgt; apply/negP => /h1; move: by_; rewrite inE => /negP.
Qed.
Variable g : R.
Definition u y := g * lowest y x - (1 - g) * highest (~: y) x.
Definition u_class (i : 'I_k) (j : 'I_(d - k)) := g * at_rank (k + j) - (1 - g) * at_rank (k - i.+1).
(* against the top k a class loses w_ij (in units of eps / R), with the anchor a = x_[k+1]; ranks count from 0 here *)
Theorem class_loss (i : 'I_k) (j : 'I_(d - k)) : u topk - u_class i j =
  (1 - g) * (at_rank (k - i.+1) - at_rank k) + g * (at_rank k.-1 - at_rank (k + j)).
Proof.
have pk : (k.-1 < d)%N by lia.
have lo : lowest topk x = at_rank k.-1.
  rewrite (at_rankE (r := Ordinal pk)) //; apply/esym/(lowest_unique (i := Ordinal pk)) => //;
    first by rewrite inE /=; lia.
  by move=> r; rewrite inE => rk'; apply: ranked => /=; lia.
have hi : highest (~: topk) x = at_rank k.
  rewrite (at_rankE (r := Ordinal kd)) //; apply/esym/(highest_unique (i := Ordinal kd)) => //;
    first by rewrite !inE /=; lia.
  by move=> r; rewrite !inE => rk'; apply: ranked => /=; lia.
by rewrite /u /u_class lo hi; ring.
Qed.
(* and with the loss of the paper, a = x_[k] *)
Definition u_of_paper y := g * lowest y x - (1 - g) * Rmax (highest (~: y) x) (lowest y x).
Theorem class_loss_paper (i : 'I_k) (j : 'I_(d - k)) y : y \in class i j -> u_of_paper topk - u_of_paper y =
  (1 - g) * (at_rank (k - i.+1) - at_rank k.-1) + g * (at_rank k.-1 - at_rank (k + j)).
Proof.
move=> yc; have [ly hy] := class_scores yc; have := class_loss i j; rewrite /u /u_class /u_of_paper ly hy => e.
have ik := ltn_ord i; have jd := ltn_ord j.
have pk : (k.-1 < d)%N by lia.
have pi : (k - i.+1 < d)%N by lia.
have pj : (k + j < d)%N by lia.
have lo : lowest topk x = at_rank k.-1.
  rewrite (at_rankE (r := Ordinal pk)) //; apply/esym/(lowest_unique (i := Ordinal pk)) => //;
    first by rewrite inE /=; lia.
  by move=> r; rewrite inE => rk'; apply: ranked => /=; lia.
have hi : highest (~: topk) x = at_rank k.
  rewrite (at_rankE (r := Ordinal kd)) //; apply/esym/(highest_unique (i := Ordinal kd)) => //;
    first by rewrite !inE /=; lia.
  by move=> r; rewrite !inE => rk'; apply: ranked => /=; lia.
have a1 : at_rank k <= at_rank k.-1.
  by rewrite (at_rankE (r := Ordinal kd)) // (at_rankE (r := Ordinal pk)) //; apply: ranked => /=; lia.
have a2 : at_rank (k + j) <= at_rank (k - i.+1).
  by rewrite (at_rankE (r := Ordinal pj)) // (at_rankE (r := Ordinal pi)) //; apply: ranked => /=; lia.
rewrite lo hi (Rmax_right (at_rank k)) // (Rmax_left (at_rank (k - i.+1))) //; ring.
Qed.
(* w_ij does not fall in i and in j *)
Theorem class_loss_grows (i i' : 'I_k) (j j' : 'I_(d - k)) : 0 <= g <= 1 -> (i <= i')%N -> (j <= j')%N ->
  u_class i' j' <= u_class i j.
Proof.
move=> g01 ii jj; rewrite /u_class; have h1 := ltn_ord i; have h2 := ltn_ord i'; have h3 := ltn_ord j; have h4 :=
  ltn_ord j'.
have r1 : (k - i.+1 < d)%N by lia.
have r2 : (k - i'.+1 < d)%N by lia.
have r3 : (k + j < d)%N by lia.
have r4 : (k + j' < d)%N by lia.
have -> : at_rank (k - i.+1) = x (Ordinal r1) by exact: at_rankE.
have -> : at_rank (k - i'.+1) = x (Ordinal r2) by exact: at_rankE.
have -> : at_rank (k + j) = x (Ordinal r3) by exact: at_rankE.
have -> : at_rank (k + j') = x (Ordinal r4) by exact: at_rankE.
have a1 : x (Ordinal r1) <= x (Ordinal r2) by apply: ranked => /=; lia.
have a2 : x (Ordinal r4) <= x (Ordinal r3) by apply: ranked => /=; lia.
by nra.
Qed.
(* the mass of all sets, class by class *)
Theorem total_mass c :
  \big[Rplus/0]_(y : {set rk} | #|y| == k) exp (c * u y) =
  exp (c * u topk) + \big[Rplus/0]_(i < k) \big[Rplus/0]_(j < d - k) (INR 'C(i + j, i) * exp (c * u_class i j)).
Proof.
have ct : #|topk| = k by apply: card_below; lia.
rewrite (bigD1 topk) ?ct ?eqxx //=; congr (_ + _).
rewrite (pair_bigA _ (fun (i : 'I_k) (j : 'I_(d - k)) => INR 'C(i + j, i) * exp (c * u_class i j))) /=.
have [ij0 _|none] := pickP (fun ij : 'I_k * 'I_(d - k) => true); last first.
  have i0 : 'I_k by exact: (Ordinal k0).
  have dk : (0 < d - k)%N by lia.
  by have := none (i0, Ordinal dk).
pose f y := if [pick ij | y \in class ij.1 ij.2] is Some ij then ij else ij0.
rewrite (partition_big f xpredT) //=; apply: eq_bigr => -[i j] _ /=.
rewrite (eq_bigl (fun y => y \in class i j)); last first.
  move=> y; apply/idP/idP => [/andP [/andP [/eqP cy yt]]|yc].
    rewrite /f; have [ij hij] := class_cover cy yt; case: pickP => [ij' h /eqP e|/(_ ij)]; last by rewrite hij.
    by rewrite e in h.
  have := yc; rewrite inE => /andP [-> /in_classP [h1 h2 _ _]] /=; apply/andP; split.
    have pd : (k - i.+1 < d)%N by lia.
    apply/eqP => e; have := h2 (Ordinal pd) erefl; rewrite e inE /=; have := ltn_ord i; lia.
  rewrite /f; case: pickP => [ij h|/(_ (i, j))]; last by rewrite yc.
  by apply/eqP; apply: (class_disjoint (y := y)).
rewrite (eq_bigr (fun _ => exp (c * u_class i j))); last first.
  by move=> y /class_scores [e1 e2]; rewrite /u e1 e2.
rewrite big_const class_size; elim: 'C(_, _) => [|n IH]; first by rewrite /=; ring.
by rewrite iterS IH S_INR; ring.
Qed.
End Classes.

(* Lemma 65: sizes of runs and of rectangles of classes *)
Theorem run_size i a b : (a <= b)%N -> (\sum_(a <= j < b.+1) 'C(i + j, i) = 'C(i + b.+1, i.+1) - 'C(i + a, i.+1))%N.
Proof.
move=> ab; have step j : ('C(i + j.+1, i.+1) = 'C(i + j, i.+1) + 'C(i + j, i))%N by rewrite addnS binS.
elim: b ab => [|b IH] ab.
  have -> : a = 0%N by lia.
  by rewrite big_nat1 step; lia.
case: (ltngtP a b.+1) ab => // [lt _|-> _].
  have le : ('C(i + a, i.+1) <= 'C(i + b.+1, i.+1))%N by apply: leq_bin2l; lia.
  by rewrite big_nat_recr /= ?IH; [rewrite [in RHS]step; lia | lia | lia].
by rewrite big_nat1 step; lia.
Qed.
Definition rectangle I J := (\sum_(i < I.+1) \sum_(j < J.+1) 'C(i + j, i))%N.
Theorem rectangle_size I J : (rectangle I J = 'C(I + J + 2, I.+1) - 1)%N.
Proof.
have row i : (\sum_(j < J.+1) 'C(i + j, i) = 'C(i + J.+1, i.+1))%N.
  have := @run_size i 0 J (leq0n J); rewrite big_mkord addn0 => ->.
  by rewrite [('C(i, i.+1))%N]bin_small ?subn0.
rewrite /rectangle (eq_bigr (fun i : 'I_I.+1 => 'C(i + J.+1, i.+1))) => [|i _]; last exact: row.
elim: I => [|I IH]; first by rewrite big_ord_recr big_ord0 /= !bin1; lia.
rewrite big_ord_recr /= IH; have p : (0 < 'C(I + J + 2, I.+1))%N by rewrite bin_gt0; lia.
have -> : (I.+1 + J + 2 = (I + J + 2).+1)%N by lia.
have -> : (I.+1 + J.+1 = I + J + 2)%N by lia.
by rewrite [in RHS]binS; lia.
Qed.

