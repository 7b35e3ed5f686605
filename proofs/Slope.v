(* Theorem 60 with its gaps, for any noise that has the slope condition.

   The joint noise of all candidates is any finitely additive measure `P` on the subsets of R^T that are events. Of
   the slope condition it is used what it says of the joint distribution: if a set A of noise vectors is moved up by c
   >= 0 along one candidate's coordinate, its probability falls by at most the factor e^-c,

       P {N : N + c e_i in A}  <=  e^c P A.

   (Independent noises with densities f_i and f_i(t + c) >= e^-c f_i(t) have this: integrate along coordinate i first,
   for each value of the others. That step, Fubini's theorem, is not part of this development.) *)
From Shortlist Require Import Base Scores.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Slope.
Variable T : finType.
Notation noise := (T -> R).
Implicit Types (N x s c : noise) (A B : noise -> Prop).
Variables (event : (noise -> Prop) -> Prop) (P : (noise -> Prop) -> R).
(* N with its coordinate i moved by t *)
Definition move i (t : R) N : noise := fun j => if j == i then N j + t else N j.
Hypothesis event_move : forall A i t, event A -> event (fun N => A (move i t N)).
Hypothesis P_ge0 : forall A, event A -> 0 <= P A.
Hypothesis P_mono : forall A B, event A -> event B -> (forall N, A N -> B N) -> P A <= P B.
Hypothesis slope : forall A i t, event A -> 0 <= t -> P (fun N => A (move i t N)) <= exp t * P A.

(* all coordinates of a sequence moved, one after the other *)
Definition moves (l : seq T) c N : noise := foldr (fun i M => move i (c i) M) N l.
Lemma moves_event A (l : seq T) c : event A -> event (fun N => A (moves l c N)).
Proof. by elim: l A => // i l IH A eA; apply: (IH (fun N => A (move i (c i) N))); exact: event_move. Qed.
Lemma moves_slope A (l : seq T) c : event A -> (forall i, i \in l -> 0 <= c i) ->
  P (fun N => A (moves l c N)) <= exp (\big[Rplus/0]_(i <- l) c i) * P A.
Proof.
elim: l A => [|i l IH] A eA c0; first by rewrite big_nil exp_0 Rmult_1_l; exact: Rle_refl.
rewrite big_cons Rplus_comm exp_plus Rmult_assoc.
apply: (Rle_trans _ (exp (\big[Rplus/0]_(j <- l) c j) * P (fun N => A (move i (c i) N)))).
  apply: (IH (fun N => A (move i (c i) N))); first exact: event_move.
  by move=> j jl; apply: c0; rewrite inE jl orbT.
apply: Rmult_le_compat_l; first exact/Rlt_le/exp_pos.
by apply: slope => //; apply: c0; rewrite inE eqxx.
Qed.
Lemma movesE (l : seq T) c N i : uniq l -> moves l c N i = if i \in l then N i + c i else N i.
Proof.
elim: l => //= j l IH /andP [jl ul]; rewrite /move inE IH //.
by case: (eqVneq i j) jl => [->|ij] jl //=; rewrite (negbTE jl).
Qed.

(* The list l wins, best first, and the gaps between its members are as G says: each member finishes above the next,
   all members above everybody else. G may look at all differences of members' finishes (0 stands for the others). *)
Definition finish x N i := x i + N i.
Definition gaps x N (l : seq T) : T -> T -> R :=
  fun i j => if (i \in l) && (j \in l) then finish x N i - finish x N j else 0.
Definition list_with_gaps x (l : seq T) (G : (T -> T -> R) -> Prop) N :=
  [/\ forall i j, i \in l -> j \in l -> (index i l < index j l)%N -> finish x N j < finish x N i,
      forall i j, i \in l -> j \notin l -> finish x N j < finish x N i & G (gaps x N l)].

(* one list: scores in units of the scale move against each other by at most r *)
Lemma list_with_gaps_le r x x' (l : seq T) (G : (T -> T -> R) -> Prop) : 0 <= r -> uniq l -> moves_within r x x' ->
  event (list_with_gaps x l G) -> event (list_with_gaps x' l G) ->
  (forall d d' : T -> T -> R, (forall i j, d i j = d' i j) -> G d -> G d') ->
  P (list_with_gaps x l G) <= exp (INR (size l) * r) * P (list_with_gaps x' l G).
Proof.
move=> r0 ul [b H] ev ev' ext; pose c : noise := fun i => b + r - (x' i - x i).
have c0 i : 0 <= c i <= r by rewrite /c; have := H i; lra.
have fin N i : i \in l -> finish x' (moves l c N) i = finish x N i + (b + r).
  by move=> il; rewrite /finish movesE // il /c; ring.
have out N j : j \notin l -> finish x' (moves l c N) j <= finish x N j + (b + r).
  by move=> jl; rewrite /finish movesE // (negbTE jl); have := H j; lra.
apply: (Rle_trans _ (P (fun N => list_with_gaps x' l G (moves l c N)))).
  apply: P_mono => // [|N [h1 h2 h3]]; first by apply: moves_event.
  split=> [i j il jl ij|i j il jl|].
  - by rewrite !fin //; have := h1 i j il jl ij; lra.
  - by rewrite (fin N i il); have := out N j jl; have := h2 i j il jl; lra.
  - by apply: ext h3 => i j; rewrite /gaps; case: ifP => // /andP [il jl]; rewrite !fin //; ring.
apply: Rle_trans (moves_slope (l := l) (c := c) ev' _) _; first by move=> i _; case: (c0 i).
apply: Rmult_le_compat_r; first exact: P_ge0.
apply: exp_le; elim: (l) => [|i l' IH]; first by rewrite big_nil /=; lra.
by rewrite big_cons [size _]/= S_INR; have := c0 i; lra.
Qed.

(* Theorem 60. For every set of (list, gaps), B: its probability is the sum over the lists of k, which exclude each
   other. *)
Variable k : nat.
Definition list_and_gaps x (E : k.-tuple T -> (T -> T -> R) -> Prop) :=
  \big[Rplus/0]_(l : k.-tuple T | uniq l) P (list_with_gaps x l (E l)).
Theorem theorem60 eps r x x' (E : k.-tuple T -> (T -> T -> R) -> Prop) : (0 < k)%N -> 0 < r -> 0 < eps ->
  moves_within r x x' ->
  (forall l : k.-tuple T, event (list_with_gaps (fun i => x i / (INR k * r / eps)) l (E l)) /\
             event (list_with_gaps (fun i => x' i / (INR k * r / eps)) l (E l))) ->
  (forall l (d d' : T -> T -> R), (forall i j, d i j = d' i j) -> E l d -> E l d') ->
  list_and_gaps (fun i => x i / (INR k * r / eps)) E <= exp eps * list_and_gaps (fun i => x' i / (INR k * r / eps)) E.
Proof.
move=> k0 r0 e0 [b H] ev ext; rewrite /list_and_gaps -rsum_scale; apply: rsum_le => l ul.
have kp : 0 < INR k by apply: lt_0_INR; exact/ltP.
have q0 : 0 < eps / (INR k * r) by apply: Rdiv_lt_0_compat => //; nra.
have q z : z / (INR k * r / eps) = eps / (INR k * r) * z by field; lra.
have M : moves_within (eps / INR k) (fun i => x i / (INR k * r / eps)) (fun i => x' i / (INR k * r / eps)).
  exists (eps / (INR k * r) * b) => i; rewrite !q.
  have -> : eps / INR k = eps / (INR k * r) * r by field; lra.
  by have := H i; nra.
have [ev1 ev2] := ev l; have := list_with_gaps_le (r := eps / INR k) _ ul M ev1 ev2 (ext l); rewrite size_tuple.
have -> : INR k * (eps / INR k) = eps by field; lra.
by apply; apply/Rlt_le/Rdiv_lt_0_compat.
Qed.
End Slope.
