(* The probabilities of a race with unequal hazards add up to 1: `win` of Race.v is a distribution, and Theorem 71 is
   about a mechanism. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Shifting Canonical Race.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma bigprod_derive (T : finType) (f df : T -> R -> R) (l : seq T) t : uniq l ->
  (forall i, is_derive (f i) t (df i t)) ->
  is_derive (fun t => \big[Rmult/1]_(j <- l) f j t) t
            (\big[Rplus/0]_(i <- l) (df i t * \big[Rmult/1]_(j <- l | j != i) f j t)).
Proof.
move=> + Df; elim: l => [_|a l IH /= /andP [al ul]].
  by apply: (is_derive_ext (fun _ => 1)); [move=> z; rewrite big_nil | rewrite big_nil; exact: is_derive_const].
apply: (is_derive_ext (fun z => f a z * \big[Rmult/1]_(j <- l) f j z)); first by move=> z; rewrite big_cons.
have := is_derive_mult _ _ _ _ _ (Df a) (IH ul) Rmult_comm.
rewrite /plus /mult /=; congr (is_derive _ _ _).
rewrite big_cons [\big[Rmult/1]_(j <- a :: l | j != a) _]big_cons eqxx /=; congr (_ + _).
  congr (_ * _); rewrite [LHS]big_seq_cond [RHS]big_seq_cond; apply: eq_bigl => j; case jl: (j \in l) => //=.
  by apply/esym/negP => /eqP e; move: al; rewrite -e jl.
rewrite -rsum_scale big_seq_cond [RHS]big_seq_cond; apply: eq_bigr => i /andP [il _].
by rewrite big_cons ifT; [rring | apply: contraNneq al => ->].
Qed.
Lemma bigsum_derive (T : Type) (f df : T -> R -> R) (l : seq T) t : (forall i, is_derive (f i) t (df i t)) ->
  is_derive (fun t => \big[Rplus/0]_(j <- l) f j t) t (\big[Rplus/0]_(i <- l) df i t).
Proof.
move=> Df; elim: l => [|a l IH].
  by apply: (is_derive_ext (fun _ => 0)); [move=> z; rewrite big_nil | rewrite big_nil; exact: is_derive_const].
apply: (is_derive_ext (fun z => plus (f a z) (\big[Rplus/0]_(j <- l) f j z))); first by move=> z; rewrite big_cons.
by rewrite big_cons; apply: is_derive_plus.
Qed.
Lemma bigsum_cont (T : Type) (f : T -> R -> R) (l : seq T) t : (forall i, continuous (f i) t) ->
  continuous (fun t => \big[Rplus/0]_(j <- l) f j t) t.
Proof.
move=> cf; elim: l => [|a l IH]; first by apply: (continuous_ext (fun _ => 0)); [move=> z; rewrite big_nil | exact:
  continuous_const].
apply: (continuous_ext (fun z => plus (f a z) (\big[Rplus/0]_(j <- l) f j z))); first by move=> z; rewrite big_cons.
by apply: (continuous_plus (V := R_NormedModule)).
Qed.
Lemma bigprod_cont (T : Type) (f : T -> R -> R) (l : seq T) t : (forall i, continuous (f i) t) ->
  continuous (fun t => \big[Rmult/1]_(j <- l) f j t) t.
Proof.
move=> cf; elim: l => [|a l IH]; first by apply: (continuous_ext (fun _ => 1)); [move=> z; rewrite big_nil | exact:
  continuous_const].
apply: (continuous_ext (fun z => f a z * (\big[Rmult/1]_(j <- l) f j z))); first by move=> z; rewrite big_cons.
by apply: (continuous_mult (f a)).
Qed.

Section RaceTotal.
Variables (C : finType) (h v : C -> R) (c0 : C).
Hypothesis h0 : forall c, 0 < h c.
(* c has arrived by time t = e^-finish with probability arr c t *)
Definition arr c t := pw (exp (v c) * t) (h c).
Let vmax := highest setT v.
Let tau := exp (- vmax).
Lemma vmaxP : (exists2 c, c \in [set: C] & vmax = v c) /\ forall c, v c <= vmax.
Proof.
have ne : [set: C] != set0 by apply/set0Pn; exists c0.
by have [e hi] := highestP v ne; split=> // c; exact: hi.
Qed.
Lemma arr_pos c t : 0 < t -> arr c t = exp (h c * (v c + ln t)).
Proof.
move=> t0; rewrite /arr /pw; have p := exp_pos (v c).
case: (Rle_dec (exp (v c) * t) 0) => [hh|hh]; first by exfalso; nra.
by rewrite /= /Rpower ln_mult // ln_exp.
Qed.
Lemma arr0 c : arr c 0 = 0.
Proof. by rewrite /arr Rmult_0_r /pw; case: (Rle_dec 0 0) => // hh; case: hh; lra. Qed.
Lemma arr_cont c t : continuous (arr c) t.
Proof.
apply: (continuous_comp (fun t => exp (v c) * t) (fun u => pw u (h c))); last exact: pw_cont.
by apply: ex_derive_continuous; auto_derive.
Qed.
Lemma arr_derive c t : 0 < t -> is_derive (arr c) t (h c / t * arr c t).
Proof.
move=> t0; apply: (is_derive_ext_loc (fun t => exp (h c * (v c + ln t)))).
  exists (mkposreal _ t0) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
  by rewrite arr_pos //; move: hy; split_Rabs; lra.
by rewrite arr_pos //; auto_derive => //; field; lra.
Qed.
Lemma arr_le1 c t : 0 < t <= tau -> arr c t <= 1.
Proof.
move=> [t0 tt]; rewrite arr_pos // -exp_0; apply: exp_le.
have : ln t <= - vmax by rewrite -(ln_exp (- vmax)); case: tt => [hh|->]; [apply/Rlt_le/ln_increasing | exact:
  Rle_refl].
by have [_ hi] := vmaxP; have := hi c; have := h0 c; nra.
Qed.
Lemma beaten_arr c c' t : 0 < t -> exp (h c' * (v c' - v c)) * pw (arr c t) (h c' / h c) = arr c' t.
Proof.
move=> t0; rewrite !arr_pos // /pw; have p := exp_pos (h c * (v c + ln t)).
case: (Rle_dec _ 0) => [hh|hh]; first by exfalso; lra.
rewrite /= /Rpower ln_exp -exp_plus; congr exp; field; have := h0 c; lra.
Qed.
Lemma others_arr c t : 0 < t <= tau -> others h v c (arr c t) = \big[Rmult/1]_(c' | c' != c) (1 - arr c' t).
Proof.
move=> tt; apply: eq_bigr => c' _; rewrite /beaten beaten_arr; last lra.
by rewrite Rmax_right //; have := arr_le1 c' tt; lra.
Qed.
Let K t := \rsum_c RInt (others h v c) 0 (arr c t) + \big[Rmult/1]_c (1 - arr c t).
Lemma K_derive t : 0 < t < tau -> is_derive K t 0.
Proof.
move=> tt; have t0 : 0 < t by lra.
have d1 : is_derive (fun t => \rsum_c RInt (others h v c) 0 (arr c t)) t
    (\rsum_c (h c / t * arr c t) * others h v c (arr c t)).
  apply: (bigsum_derive (f := fun c t => RInt (others h v c) 0 (arr c t))
            (df := fun c t => (h c / t * arr c t) * others h v c (arr c t))) => c.
  apply: (is_derive_comp (fun b => RInt (others h v c) 0 b) (arr c)); last exact: arr_derive.
  apply: (is_derive_RInt (others h v c) (fun b => RInt (others h v c) 0 b) 0); last exact: others_cont.
  by exists (mkposreal 1 Rlt_0_1) => b _; apply: RInt_correct; exact: others_int.
have d2 : is_derive (fun t => \big[Rmult/1]_c (1 - arr c t)) t
    (\rsum_c (- (h c / t * arr c t)) * \big[Rmult/1]_(c' | c' != c) (1 - arr c' t)).
  apply: (bigprod_derive (f := fun c t => 1 - arr c t) (df := fun c t => - (h c / t * arr c t))); first exact:
    index_enum_uniq.
  move=> c; have := is_derive_minus _ _ _ _ _ (is_derive_const 1 t) (arr_derive c t0).
  by rewrite /minus /plus /opp /zero /= Rplus_0_l.
have := is_derive_plus _ _ _ _ _ d1 d2; congr (is_derive _ _ _); rewrite /plus /= -big_split /= big1 // => c _.
by rewrite others_arr; [rring | lra].
Qed.
Lemma K_cont t : continuous K t.
Proof.
apply: (continuous_plus (V := R_NormedModule)).
  apply: (bigsum_cont (f := fun c t => RInt (others h v c) 0 (arr c t))) => c.
  apply: (continuous_comp (arr c) (fun b => RInt (others h v c) 0 b)); first exact: arr_cont.
  apply: ex_derive_continuous; exists (others h v c (arr c t)).
  apply: (is_derive_RInt (others h v c) (fun b => RInt (others h v c) 0 b) 0); last exact: others_cont.
  by exists (mkposreal 1 Rlt_0_1) => b _; apply: RInt_correct; exact: others_int.
apply: (bigprod_cont (f := fun c t => 1 - arr c t)) => c.
by apply: (continuous_minus (fun _ => 1)); [exact: continuous_const | exact: arr_cont].
Qed.
Lemma win_upto c : win h v c = RInt (others h v c) 0 (arr c tau).
Proof.
have tp : 0 < tau by exact: exp_pos.
have a1 : arr c tau <= 1 by apply: arr_le1; lra.
have a0 : 0 < arr c tau by rewrite arr_pos //; exact: exp_pos.
rewrite /win -(RInt_Chasles (V := R_CompleteNormedModule) (others h v c) 0 (arr c tau) 1); try exact: others_int.
suff -> : RInt (others h v c) (arr c tau) 1 = 0 by rewrite /plus /=; ring.
rewrite (RInt_ext _ (fun _ => 0)); first by rewrite RInt_const /scal /= /mult /=; ring.
move=> u; rewrite Rmin_left // Rmax_right // => -[u1 u2].
have [[b _ vb] _] := vmaxP.
have arr_b : arr b tau = 1 by rewrite arr_pos // /tau ln_exp vb Rplus_opp_r Rmult_0_r exp_0.
have bc : b != c by apply: contraTneq isT => e; exfalso; move: arr_b u1 u2; rewrite e; lra.
rewrite /others (bigD1 b) //= {1}/beaten Rmax_left ?Rmult_0_l //.
suff : 1 <= exp (h b * (v b - v c)) * pw u (h b / h c) by lra.
rewrite -arr_b -(beaten_arr c b tp); apply: Rmult_le_compat_l; first exact/Rlt_le/exp_pos.
rewrite /pw; case: (Rle_dec (arr c tau) 0) => [hh|_ /=]; first by exfalso; lra.
case: (Rle_dec u 0) => [hh|_ /=]; first by exfalso; lra.
by apply: Rle_Rpower_l; [apply/Rlt_le/Rdiv_lt_0_compat | lra].
Qed.
Theorem race_distribution : distribution (win h v).
Proof.
split=> [c|]; first exact: win_ge0.
have tp : 0 < tau by exact: exp_pos.
have K0 : K 0 = 1.
  rewrite /K big1 => [|c _]; last by rewrite arr0 RInt_point.
  by rewrite big1 => [|c _]; [ring | rewrite arr0; ring].
have K1 : K tau = \rsum_c win h v c.
  have [[b _ vb] _] := vmaxP.
  have arr_b : arr b tau = 1 by rewrite arr_pos // /tau ln_exp vb Rplus_opp_r Rmult_0_r exp_0.
  rewrite /K [X in _ + X](bigD1 b) //= arr_b.
  have -> : \rsum_c RInt (others h v c) 0 (arr c tau) = \rsum_c win h v c by apply: eq_bigr => c _; rewrite win_upto.
  by rewrite Rminus_eq_0 Rmult_0_l Rplus_0_r.
have [||c [_ e]] := @MVT_gen K 0 tau (fun _ => 0).
- by move=> t; rewrite Rmin_left ?Rmax_right; [exact: K_derive | lra | lra].
- by move=> t _; apply/continuity_pt_filterlim; exact: K_cont.
- by rewrite K0 K1 Rmult_0_l in e; lra.
Qed.
End RaceTotal.

