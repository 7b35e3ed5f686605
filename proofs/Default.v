(* What top_k releases by default for a set from public candidates under a pure budget (Definitions 62 and 72):
   guarded top-k, drawn of the losers where they are fewer; canonical top-k with exponential noise where there is no
   guard; permute-and-flip for k = 1; everybody for k = d. The flag is part of the output. Candidates whose score is
   minus infinity take no part.

   One theorem for all of it: default_release. *)
From mathcomp Require Import binomial.
From Shortlist Require Import Base Scores Shifting Canonical Race RaceTotal PermuteFlip OneShot OneShotTotal Guarded
  Release.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma sum_option (T : finType) (F : option T -> R) : \rsum_c F c = F None + \rsum_y F (Some y).
Proof.
rewrite (bigD1 None) //=; congr (_ + _).
rewrite (reindex_omap Some id) /=; first by apply: eq_bigl => y; rewrite eqxx.
by case.
Qed.

(* guarded top-k is a distribution on (flag, set), and eps-DP *)
Section Guarded.
Variables (T : finType) (k : nat) (g a tau r eps : R) (junk : {set 'I_k * 'I_(#|T| - k)}).
Hypotheses (k0 : (0 < k)%N) (kd : (k < #|T|)%N) (g01 : 0 <= g <= 1) (a01 : 0 < a <= 1) (r0 : 0 < r) (eps0 : 0 <= eps)
  (junk0 : junk != set0).
Theorem guarded_distribution (x : T -> R) : distribution (guarded (k := k) g a tau r eps junk x).
Proof.
have h0 (c : option (kset T k)) : 0 < hazard a c by case: c => [y|] /=; lra.
have [w0 w1] := race_distribution (value g tau r eps junk x) None h0.
split=> [[y|y]|] /=; [exact: w0 | by apply: Rmult_le_pos; [exact: w0 | exact: set_ge0] |].
rewrite big_sumType /= rsum_scale.
have [_ s1] := one_shot_distribution (fun i => (1 - a) * eps / (INR k * r) * x i) (ltnW kd).
have [_ ->] := push_distribution (fun l : k.-tuple T => [set i in l]) (one_shot_distribution (fun i =>
  (1 - a) * eps / (INR k * r) * x i) (ltnW kd)).
by rewrite -[RHS]w1 sum_option Rmult_1_r Rplus_comm.
Qed.
(* without a guard: canonical top-k with exponential noise *)
Definition canonical_exponential (x : T -> R) : kset T k -> R := win (fun _ => 1) (fun y => eps / r * u_gap g x y).
Theorem canonical_distribution (x : T -> R) : distribution (canonical_exponential x).
Proof. by apply: race_distribution => [|_]; [exact: a_kset | lra]. Qed.
End Guarded.

(* the way it went, and the set *)
Section Release.
Variable T : finType.
Notation output := (bool * {set T})%type.
Definition flagged (k : nat) (o : kset T k + {set T}) : output :=
  match o with inl y => (true, val y) | inr y => (false, y) end.
Definition losers (k : nat) (o : kset T k + {set T}) : output :=
  match o with inl y => (true, ~: val y) | inr y => (false, ~: y) end.
Variant way := Everybody | One | Unguarded | Guarded | Mirrored.
(* which way it goes is a public rule of k and d (and of whether the set of junk classes is empty); here it is any
   rule *)
Variables (k : nat) (g a tau r eps : R).
Variables (junk : {set 'I_k * 'I_(#|T| - k)}) (junk' : {set 'I_(#|T| - k) * 'I_(#|T| - (#|T| - k))}).
Definition default_output (w : way) (x : T -> R) : output -> R :=
  match w with
  | Everybody => fun o => if o == (true, setT) then 1 else 0
  | One => push (fun i => (true, [set i])) (pf (fun i => eps / r * x i))
  | Unguarded => push (fun y => (true, val y)) (canonical_exponential (k := k) g r eps x)
  | Guarded => push (@flagged k) (guarded (k := k) g a tau r eps junk x)
  | Mirrored => push (@losers (#|T| - k)) (guarded (k := #|T| - k) g a tau r eps junk' (fun i => - x i))
  end.
(* where each way may be taken *)
Definition fits (w : way) :=
  match w with
  | Everybody => k = #|T|
  | One => k = 1%N
  | Unguarded => (0 < k)%N /\ (k < #|T|)%N
  | Guarded => [/\ (0 < k)%N, (k < #|T|)%N & junk != set0]
  | Mirrored => [/\ (0 < k)%N, (k < #|T|)%N & junk' != set0]
  end.
Hypotheses (k0 : (0 < k)%N) (kT : (k <= #|T|)%N) (g01 : 0 <= g <= 1) (a01 : 0 < a <= 1) (r0 : 0 < r) (eps0 : 0 <= eps).
Lemma candidate : T.
Proof. exact: (enum_val (Ordinal (leq_trans k0 kT) : 'I_#|T|)). Qed.
Lemma fewer : (0 < k)%N -> (k < #|T|)%N -> (0 < #|T| - k)%N /\ (#|T| - k < #|T|)%N.
Proof. by move=> h0 h1; rewrite subn_gt0 ltn_subrL h0 (leq_trans h0 kT). Qed.
Theorem default_distribution w x : fits w -> distribution (default_output w x).
Proof.
case: w => /=.
- move=> _; split=> [o|]; first by case: ifP => _; lra.
  by rewrite (bigD1 (true, setT)) //= eqxx big1 ?Rplus_0_r // => o /negbTE ->.
- by move=> _; apply: push_distribution; apply: pf_distribution; exact: candidate.
- by move=> [h0 h1]; apply: push_distribution; exact: canonical_distribution.
- by move=> [h0 h1 j]; apply: push_distribution; exact: guarded_distribution.
- move=> [h0 h1 j]; have [p q] := fewer h0 h1; apply: push_distribution; exact: guarded_distribution.
Qed.
Theorem default_pure w x x' : fits w -> moves_within r x x' -> pureDP eps (default_output w x) (default_output w x').
Proof.
have c0 : 0 <= eps / r by rewrite /Rdiv; apply: Rmult_le_pos => //; exact/Rlt_le/Rinv_0_lt_compat.
have e : eps / r * r = eps by field; lra.
case: w => /= F M.
- have D := @default_distribution Everybody x F.
  by apply: (pureDP_le _ _ eps0 (constant_pure _)); exact: D.
- by apply: push_pureDP; apply: pf_pure; have := moves_within_scale c0 M; rewrite e.
- by case: F => h0 h1; apply: push_pureDP; exact: theorem63_exponential.
- by case: F => h0 h1 j; apply: push_pureDP; exact: theorem73.
- case: F => h0 h1 j; have [p q] := fewer h0 h1; apply: push_pureDP; apply: theorem73 => //; exact: moves_within_neg.
Qed.
(* k = d: nothing is spent *)
Theorem everybody_free x x' : pureDP 0 (default_output Everybody x) (default_output Everybody x').
Proof. exact: constant_pure. Qed.
(* what comes out is a set of k *)
Theorem default_size w x b (y : {set T}) : fits w -> #|y| <> k -> default_output w x (b, y) = 0.
Proof.
have none (U : finType) (f : U -> output) (P : U -> R) : (forall o, P o = 0 \/ #|(f o).2| = k) -> #|y| <> k ->
    push f P (b, y) = 0.
  by move=> H yk; rewrite /push big1 // => o /eqP fo; case: (H o) => // h; case: yk; rewrite -h fo.
have sets j (z : j.-tuple T) s : list_distribution s z = 0 \/ #|[set i in z]| = j.
  rewrite /list_distribution; case: ifP => u; last by left.
  by right; rewrite cardsE (card_uniqP u) size_tuple.
have sized j s (z : {set T}) : set_distribution j s z = 0 \/ #|z| = j.
  case: (eqVneq #|z| j) => [|zj]; [by right | left; rewrite /set_distribution /push big1 // => l /eqP lz].
  by case: (sets j l s) => // h; move: zj; rewrite -lz h eqxx.
case: w => /= F yk.
- by case: ifP => // /eqP [_ yT]; case: yk; rewrite yT cardsT.
- by apply: none yk => i; right; rewrite cards1 F.
- by apply: none yk => z; right; apply/eqP; case: z.
- apply: none yk => -[z|z]; first by right; apply/eqP; case: z.
  by case: (sized k (fun i => (1 - a) * eps / (INR k * r) * x i) z) => h; [left; rewrite /= h Rmult_0_r | right].
- case: F => h0 h1 _; apply: none yk => -[z|z].
    right; rewrite /= cardsCs setCK; have /eqP -> : #|val z| == (#|T| - k)%N by case: z.
    by rewrite subKn.
  case: (sized (#|T| - k)%N (fun i => (1 - a) * eps / (INR (#|T| - k) * r) * - x i) z) => h.
    by left; rewrite /= h Rmult_0_r.
  by right; rewrite /= cardsCs setCK h subKn.
Qed.
End Release.

(* Candidates whose score is minus infinity (Definition 1): which ones have a score is public, the set `finite`; x is
   read there alone. The race is one of the others, and what is released is named among all. *)
Section Infinite.
Variables (T : finType) (finite : {set T}).
Notation some := {i : T | i \in finite}.
Variables (k : nat) (g a tau r eps : R).
Variables (junk : {set 'I_k * 'I_(#|[finType of some]| - k)})
          (junk' : {set 'I_(#|[finType of some]| - k) * 'I_(#|[finType of some]| - (#|[finType of some]| - k))}).
Hypotheses (k0 : (0 < k)%N) (kT : (k <= #|finite|)%N) (g01 : 0 <= g <= 1) (a01 : 0 < a <= 1) (r0 : 0 < r) (eps0 : 0 <=
  eps).
Definition named (o : bool * {set [finType of some]}) : bool * {set T} := (o.1, [set val i | i in o.2]).
Definition default_release w (x : T -> R) : bool * {set T} -> R :=
  push named (default_output g a tau r eps junk junk' w (fun i : [finType of some] => x (val i))).
Let kS : (k <= #|[finType of some]|)%N. Proof. by rewrite card_sig. Qed.
Theorem default_release_private (w : way) (x x' : T -> R) : fits junk junk' w ->
  (exists b, forall i, i \in finite -> b <= x' i - x i <= b + r) ->
  [/\ distribution (default_release w x), distribution (default_release w x') &
      pureDP eps (default_release w x) (default_release w x')].
Proof.
move=> F [b H]; split; try by apply: push_distribution; exact: default_distribution.
by apply: push_pureDP; apply: default_pure => //; exists b => i; apply: H; exact: valP.
Qed.
Theorem infinite_never_chosen w x b (y : {set T}) i : i \in y -> i \notin finite -> default_release w x (b, y) = 0.
Proof.
move=> iy ni; rewrite /default_release /push big1 // => -[b' z] /eqP [_ zy].
by move: iy; rewrite -zy => /imsetP [j _ ij]; move: ni; rewrite ij (valP j).
Qed.
End Infinite.
