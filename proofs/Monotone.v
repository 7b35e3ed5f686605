(* Monotone bounded functions are Riemann integrable: they are uniform limits of sums of steps. The distributions of
   general noise are stated as such integrals (Hazard.v). *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

(* a function that is 1 on an initial segment of (0, 1), and 0 after it *)
Definition step_down (P : R -> Prop) := forall u v, 0 < u -> u <= v -> v < 1 -> P v -> P u.
Definition indicator (b : bool) : R := if b then 1 else 0.
Lemma step_integrable (p : R -> bool) : step_down p -> ex_RInt (fun u => indicator (p u)) 0 1.
Proof.
move=> H; pose E u := 0 < u < 1 /\ p u.
case: (Classical_Prop.classic (exists u, E u)) => [[u0 Eu0]|none]; last first.
  apply: (ex_RInt_ext (fun _ => 0)); last exact: ex_RInt_const.
  move=> u; rewrite Rmin_left ?Rmax_right; [|lra|lra] => u01; rewrite /indicator.
  by case pu: (p u) => //; case: none; exists u.
have [c [ub lb]] : { c | is_lub E c }.
  by apply: completeness; [exists 1 => u [h _]; lra | exists u0].
have c0 : 0 < c by have := ub u0 Eu0; case: Eu0 => [[h _] _]; lra.
have c1 : c <= 1 by apply: lb => u [h _]; lra.
apply: (ex_RInt_Chasles _ 0 c 1).
  apply: (ex_RInt_ext (fun _ => 1)); last exact: ex_RInt_const.
  move=> u; rewrite Rmin_left ?Rmax_right; [|lra|lra] => u0c; rewrite /indicator.
  case pu: (p u) => //; exfalso; suff : c <= u by lra.
  apply: lb => v [v01 pv]; apply: Rnot_lt_le => uv; move: pu; rewrite (H u v) //; lra.
apply: (ex_RInt_ext (fun _ => 0)); last exact: ex_RInt_const.
move=> u; rewrite Rmin_left ?Rmax_right; [|lra|lra] => uc1; rewrite /indicator.
case pu: (p u) => //; exfalso; have : u <= c by apply: ub; split=> //; lra.
lra.
Qed.

(* how many of the whole numbers 1 .. n are at most z: floor(z) for 0 <= z <= n *)
Fixpoint steps (n : nat) (z : R) : R :=
  if n is m.+1 then steps m z + indicator (if Rle_dec (INR m.+1) z then true else false) else 0.
Lemma steps_all n z : INR n <= z -> steps n z = INR n.
Proof.
elim: n => [//|n IH]; rewrite S_INR => h; rewrite [steps _ _]/= -/(INR n.+1) IH; last lra.
by case: Rle_dec => // b; case: b; rewrite S_INR.
Qed.
Lemma steps_floor n z : 0 <= z <= INR n -> z - 1 <= steps n z <= z.
Proof.
elim: n => [|n IH] [z0 zn]; first by move: zn; rewrite /=; lra.
rewrite [steps _ _]/= -/(INR n.+1); case: (Rle_dec (INR n.+1) z) => h /=.
  by rewrite steps_all; move: zn h; rewrite S_INR; lra.
case: (Rle_dec z (INR n)) => hn; first by have := IH (conj z0 hn); lra.
by rewrite steps_all; move: zn h; rewrite S_INR; lra.
Qed.
Definition layers (f : R -> R) n u := / INR n * steps n (INR n * f u).
Lemma layers_near f n u : (0 < n)%N -> 0 <= f u <= 1 -> f u - / INR n <= layers f n u <= f u.
Proof.
move=> n0 fu; have np : 0 < INR n by apply: lt_0_INR; exact/ltP.
have ip : 0 < / INR n by exact: Rinv_0_lt_compat.
have i1 : / INR n * INR n = 1 by rewrite Rinv_l; lra.
have [|l h] := @steps_floor n (INR n * f u); first by nra.
by rewrite /layers; split; nra.
Qed.

Definition falling (f : R -> R) := forall u v, 0 < u -> u <= v -> v < 1 -> f v <= f u.
Theorem falling_integrable f : falling f -> (forall u, 0 < u < 1 -> 0 <= f u <= 1) -> ex_RInt f 0 1.
Proof.
move=> mono f01; pose F u := if Rle_dec u 0 then 0 else if Rle_dec 1 u then 0 else f u.
have FE u : 0 < u < 1 -> F u = f u.
  by rewrite /F => h; case: Rle_dec => a /=; [lra | case: Rle_dec => b //=; lra].
have F01 u : 0 <= F u <= 1.
  by rewrite /F; case: Rle_dec => a /=; [lra | case: Rle_dec => b /=; [lra | apply: f01; lra]].
apply: (ex_RInt_ext F); first by move=> u; rewrite Rmin_left ?Rmax_right; [exact: FE | lra | lra].
have int n : ex_RInt (layers F n) 0 1.
  apply: (ex_RInt_scal (V := R_NormedModule)); move: (INR n) (pos_INR n) => c c0.
  elim: n => [|n IH]; first exact: ex_RInt_const.
  apply: (ex_RInt_plus (V := R_NormedModule)) => //.
  apply: step_integrable => u v u0 uv v1; rewrite !FE; [|lra|lra]; have := mono u v u0 uv v1.
  by case: Rle_dec => // a b _; case: Rle_dec => // c'; case: c'; nra.
have [||I [_ h]] := filterlim_RInt (V := R_CompleteNormedModule) (fun n => layers F n.+1) 0 1 _ _ F
    (fun n => RInt (layers F n.+1) 0 1); [move=> n; apply: (RInt_correct (V := R_CompleteNormedModule)); exact:
      int | | by exists I].
apply/filterlim_locally => e; have [N HN] : exists N, / INR N.+1 < e.
  have [N [h N0]] := archimed_cor1 e (cond_pos e); exists N; apply: Rle_lt_trans h.
  by apply: Rinv_le_contravar; [exact: lt_0_INR | apply: le_INR; exact/leP].
exists N => n /leP nN u; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /=.
have := @layers_near F n.+1 u isT (F01 u).
have : / INR n.+1 <= / INR N.+1.
  by apply: Rinv_le_contravar; [apply: lt_0_INR; exact/ltP | apply: le_INR; exact/leP].
by move=> a [b c]; split_Rabs; lra.
Qed.
Corollary rising_integrable f : (forall u v, 0 < u -> u <= v -> v < 1 -> f u <= f v) ->
  (forall u, 0 < u < 1 -> 0 <= f u <= 1) -> ex_RInt f 0 1.
Proof.
move=> mono f01; apply: (ex_RInt_ext (fun u => minus 1 (1 - f u))).
  by move=> u _; rewrite /minus /plus /opp /=; lra.
apply: (ex_RInt_minus (V := R_NormedModule)); first exact: ex_RInt_const.
by apply: falling_integrable => [u v u0 uv v1|u u01]; [have := mono u v u0 uv v1; lra | have := f01 u u01; lra].
Qed.
