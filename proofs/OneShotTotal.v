(* The probabilities of all ordered lists of k add up to 1: given who came first, somebody comes next. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Shifting Canonical Race RaceTotal OneShot.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Next.
Variables (T : finType) (w : T -> R).
Hypothesis w0 : forall i, 0 < w i.
Variable l : seq T.
Hypothesis left_over : exists j, j \notin l.
Definition polyB (l : seq T) (t : R) := \big[Rmult/1]_(j | j \notin l) (1 - w j * t).
(* tau: when the best candidate outside has surely arrived *)
Lemma best_outside : exists2 b, b \notin l & forall j, j \notin l -> w j <= w b.
Proof.
have ne : [set j | j \notin l] != set0 by case: left_over => j hj; apply/set0Pn; exists j; rewrite inE.
have [[b hb e] hi] := highestP w ne; rewrite inE in hb; exists b => // j hj; rewrite -e; apply: hi; by rewrite inE.
Qed.
Lemma behind_poly (l' : seq T) t b : (forall j, j \notin l' -> w j <= w b) -> 0 <= t <= / w b ->
  behind w l' t = polyB l' t.
Proof.
move=> hb [t0 tb]; apply: eq_bigr => j jl; rewrite Rmax_right //.
have := hb j jl; have wb := w0 b; have : w b * t <= 1.
  by have := Rmult_le_compat_l (w b) _ _ (Rlt_le _ _ wb) tb; rewrite Rinv_r; lra.
by move=> h1 h2; nra.
Qed.
Lemma behind_late (l' : seq T) t b : b \notin l' -> / w b <= t -> behind w l' t = 0.
Proof.
move=> hb tb; rewrite /behind (bigD1 b) //= Rmax_left ?Rmult_0_l //.
by have wb := w0 b; have := Rmult_le_compat_l (w b) _ _ (Rlt_le _ _ wb) tb; rewrite Rinv_r; lra.
Qed.
Lemma polyB_cont l' t : continuous (polyB l') t.
Proof.
rewrite /polyB; elim: (index_enum T) => [|a r IH].
  by apply: (continuous_ext (fun _ => 1)); [move=> z; rewrite big_nil | exact: continuous_const].
case Pa: (a \notin l'); last by apply: continuous_ext IH => z; rewrite big_cons Pa.
apply: (continuous_ext (fun z => (1 - w a * z) * \big[Rmult/1]_(j <- r | j \notin l') (1 - w j * z))).
  by move=> z; rewrite big_cons Pa.
by apply: (continuous_mult (fun z => 1 - w a * z)) => //; apply: ex_derive_continuous; auto_derive.
Qed.
Lemma polyB_derive t : is_derive (polyB l) t (- \rsum_(j | j \notin l) w j * polyB (j :: l) t).
Proof.
pose r := [seq j <- index_enum T | j \notin l].
have ur : uniq r by exact/filter_uniq/index_enum_uniq.
have := @bigprod_derive T (fun j t => 1 - w j * t) (fun j _ => - w j) r t ur.
move=> H; have {H} := H (fun i => ltac:(auto_derive => //; ring)).
have -> : \big[Rplus/0]_(i <- r) (- w i * \big[Rmult/1]_(j <- r | j != i) (1 - w j * t)) =
          - \rsum_(j | j \notin l) w j * polyB (j :: l) t.
  rewrite -[RHS]Rmult_1_l -Ropp_mult_distr_r Ropp_mult_distr_l -rsum_scale /r big_filter; apply: eq_bigr => i il.
  rewrite /polyB big_filter_cond -Rmult_assoc; congr (_ * _); first by rring.
  by apply: eq_bigl => j; rewrite inE negb_or andbC.
by apply: is_derive_ext => z; rewrite /r big_filter.
Qed.

(* f: continuous, f' = g before m and constant after; then  sum_j w_j Int f B_j = f(0) + Int_0^min(tau, m) g B *)
Variables (f g : R -> R) (m : R).
Hypothesis m0 : 0 < m.
Hypothesis cf : forall t, continuous f t.
Hypothesis cg : forall t, continuous g t.
Hypothesis f_early : forall t, t < m -> is_derive f t (g t).
Hypothesis f_late : forall t, m <= t -> f t = f m.
Lemma next_balance :
  \rsum_(j | j \notin l) w j * RInt (fun t => f t * behind w (j :: l) t) 0 (/ w j) =
  f 0 + RInt (fun t => g t * behind w l t) 0 m.
Proof.
have [b bl hb] := best_outside; have wb := w0 b; pose tau := / w b.
have tp : 0 < tau by exact: Rinv_0_lt_compat.
have cj j t : continuous (fun t => f t * polyB (j :: l) t) t by apply: (continuous_mult f) => //; exact: polyB_cont.
have cB t : continuous (fun t => g t * polyB l t) t by apply: (continuous_mult g) => //; exact: polyB_cont.
have cj' j t : continuous (fun t => f t * behind w (j :: l) t) t by apply: (continuous_mult f) => //; exact:
  behind_cont.
have cB' t : continuous (fun t => g t * behind w l t) t by apply: (continuous_mult g) => //; exact: behind_cont.
have ex (f' : R -> R) a c : (forall t, continuous f' t) -> ex_RInt f' a c by move=> cf'; apply: ex_RInt_continuous =>
  z _; exact: cf'.
(* cut both sides at tau *)
have L j : j \notin l -> RInt (fun t => f t * behind w (j :: l) t) 0 (/ w j) = RInt (fun t => f t * polyB (j ::
  l) t) 0 tau.
  move=> jl; have wj := w0 j; have tj : tau <= / w j by apply: Rinv_le_contravar => //; exact: hb.
  rewrite -(RInt_Chasles (V := R_CompleteNormedModule) _ 0 tau (/ w j)); try exact: ex.
  have -> : RInt (fun t => f t * behind w (j :: l) t) tau (/ w j) = 0.
    case: (eqVneq j b) => [->|jb]; first by rewrite RInt_point.
    rewrite (RInt_ext _ (fun _ => 0)); first by rewrite RInt_const /scal /= /mult /=; ring.
    move=> t; rewrite Rmin_left // Rmax_right // => -[t1 _].
    have bj : b \notin j :: l by rewrite inE negb_or eq_sym jb.
    by rewrite (behind_late bj) ?Rmult_0_r // -/tau; lra.
  rewrite /plus /= Rplus_0_r; apply: RInt_ext => t; rewrite Rmin_left ?Rmax_right; [|lra|lra] => tt.
  rewrite (behind_poly (b := b)) //; last by rewrite -/tau; lra.
  by move=> j'; rewrite inE negb_or => /andP [_]; exact: hb.
have Rr : RInt (fun t => g t * behind w l t) 0 m = RInt (fun t => g t * polyB l t) 0 (Rmin m tau).
  have mt : 0 < Rmin m tau by rewrite /Rmin; case: Rle_dec.
  rewrite -(RInt_Chasles (V := R_CompleteNormedModule) _ 0 (Rmin m tau) m); try exact: ex.
  have -> : RInt (fun t => g t * behind w l t) (Rmin m tau) m = 0.
    rewrite (RInt_ext _ (fun _ => 0)); first by rewrite RInt_const /scal /= /mult /=; ring.
    move=> t; rewrite (Rmin_left (Rmin m tau)) ?(Rmax_right (Rmin m tau)); try exact: Rmin_l.
    move=> [t1 t2]; rewrite (behind_late bl) ?Rmult_0_r // -/tau.
    by move: t1; rewrite /Rmin; case: Rle_dec; lra.
  rewrite /plus /= Rplus_0_r; apply: RInt_ext => t; rewrite (Rmin_left 0) ?(Rmax_right 0); [|lra|lra] => tt.
  by rewrite (behind_poly (b := b)) // -/tau; have := Rmin_r m tau; lra.
rewrite Rr (eq_bigr (fun j => w j * RInt (fun t => f t * polyB (j :: l) t) 0 tau)); last by move=> j jl; rewrite L.
pose K t := \rsum_(j | j \notin l) (w j * RInt (fun t => f t * polyB (j :: l) t) 0 t) + f t * polyB l t
            - RInt (fun t => g t * polyB l t) 0 (Rmin t m).
have dI (f' : R -> R) t : (forall t, continuous f' t) -> is_derive (fun b => RInt f' 0 b) t (f' t).
  move=> cf'; apply: (is_derive_RInt f' (fun b => RInt f' 0 b) 0); last exact: cf'.
  by exists (mkposreal 1 Rlt_0_1) => z _; apply: RInt_correct; exact: ex.
have dS t : is_derive (fun t => \rsum_(j | j \notin l) (w j * RInt (fun t => f t * polyB (j :: l) t) 0 t)) t
                      (f t * \rsum_(j | j \notin l) w j * polyB (j :: l) t).
  rewrite -rsum_scale -big_filter; apply: (is_derive_ext (fun t => \big[Rplus/0]_(j <- [seq j <- index_enum T | j
    \notin l])
     (w j * RInt (fun t => f t * polyB (j :: l) t) 0 t))); first by move=> z; rewrite big_filter.
  apply: (bigsum_derive (f := fun j t => w j * RInt (fun t => f t * polyB (j :: l) t) 0 t)
           (df := fun j t => f t * (w j * polyB (j :: l) t))) => j.
  have -> : f t * (w j * polyB (j :: l) t) = w j * (f t * polyB (j :: l) t) by rring.
  by apply: is_derive_scal; apply: (dI (fun t => f t * polyB (j :: l) t)).
have KC t : continuous K t.
  apply: (continuous_minus (fun t => \rsum_(j | j \notin l) (w j * RInt (fun t => f t * polyB (j ::
    l) t) 0 t) + f t * polyB l t)).
    apply: (continuous_plus (V := R_NormedModule)); last by apply: (continuous_mult f) => //; exact: polyB_cont.
    by apply: ex_derive_continuous; eexists; exact: dS.
  exact: RInt_upto_cont.
have K_early t : t < m -> is_derive K t 0.
  move=> tm.
  have d3 : is_derive (fun t => RInt (fun t => g t * polyB l t) 0 (Rmin t m)) t (g t * polyB l t).
    apply: (is_derive_ext_loc (fun t => RInt (fun t => g t * polyB l t) 0 t)); last exact: (dI (fun t =>
      g t * polyB l t)).
    have d0 : 0 < m - t by lra.
    exists (mkposreal _ d0) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
    by rewrite Rmin_left //; move: hy; split_Rabs; lra.
  have d2 := is_derive_mult _ _ _ _ _ (f_early tm) (polyB_derive t) Rmult_comm.
  have := is_derive_minus _ _ _ _ _ (is_derive_plus _ _ _ _ _ (dS t) d2) d3.
  by congr (is_derive _ _ _); rewrite /minus /plus /opp /mult /=; ring.
have K_late t : m < t -> is_derive K t 0.
  move=> tm.
  have near : forall y, ball t (mkposreal (t - m) ltac:(lra)) y -> m <= y.
    by move=> y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /=; split_Rabs; lra.
  have d3 : is_derive (fun t => RInt (fun t => g t * polyB l t) 0 (Rmin t m)) t 0.
    apply: (is_derive_ext_loc (fun _ => RInt (fun t => g t * polyB l t) 0 m)); last exact: is_derive_const.
    by exists (mkposreal (t - m) ltac:(lra)) => y /near h; rewrite Rmin_right.
  have df : is_derive f t 0.
    apply: (is_derive_ext_loc (fun _ => f m)); last exact: is_derive_const.
    by exists (mkposreal (t - m) ltac:(lra)) => y /near h; rewrite f_late.
  have d2 := is_derive_mult _ _ _ _ _ df (polyB_derive t) Rmult_comm.
  have := is_derive_minus _ _ _ _ _ (is_derive_plus _ _ _ _ _ (dS t) d2) d3.
  by congr (is_derive _ _ _); rewrite /minus /plus /opp /mult /=; ring.
have const a c : a <= c -> (c <= m \/ m <= a) -> K c = K a.
  move=> ac H; have [||z [_ e]] := @MVT_gen K a c (fun _ => 0).
  - move=> t; rewrite Rmin_left // Rmax_right // => tt; case: H => H; [apply: K_early | apply: K_late]; lra.
  - by move=> t _; apply/continuity_pt_filterlim; exact: KC.
  - by rewrite Rmult_0_l in e; lra.
have KE : K tau = K 0.
  case: (Rle_lt_dec tau m) => h; first by apply: const; [lra | left].
  have e1 : K m = K 0 by apply: const; [lra | left; lra].
  have e2 : K tau = K m by apply: const; [lra | right; lra].
  by rewrite e2.
have z0 : \rsum_(j | j \notin l) (w j * RInt (fun t => f t * polyB (j :: l) t) 0 0) = 0.
  by rewrite big1 // => j _; rewrite RInt_point /zero /=; ring.
have B0 : polyB l 0 = 1 by rewrite /polyB big1 // => j _; ring.
have Bt : polyB l tau = 0 by rewrite /polyB (bigD1 b) //= /tau Rinv_r; [ring | lra].
move: KE; rewrite /K z0 B0 Bt (Rmin_left 0) ?RInt_point /zero /=; last lra.
rewrite (Rmin_comm tau); lra.
Qed.
End Next.

Section Distribution.
Variables (T : finType) (w : T -> R).
Hypothesis w0 : forall i, 0 < w i.
(* given the first ones, somebody is next *)
Lemma next (l : seq T) : (exists j, j \notin l) -> \rsum_(j | j \notin l) list_probability w (j ::
  l) = list_probability w l.
Proof.
move=> left_over; case: l left_over => [|i l] left_over.
  have e := @next_balance T w w0 [::] left_over (fun _ => 1) (fun _ => 0) 1 Rlt_0_1
     (fun t => continuous_const _ _) (fun t => continuous_const _ _) (fun t _ => is_derive_const _ _) (fun t _ =>
       erefl).
  rewrite /list_probability [LHS]e (RInt_ext _ (fun _ => 0)); last by move=> t _; rewrite Rmult_0_l.
  by rewrite RInt_const /scal /= /mult /=; ring.
have wi := w0 i; have m0 : 0 < / w i by exact: Rinv_0_lt_compat.
have ex t : ex_RInt (ahead w l) 0 t by apply: ex_RInt_continuous => z _; exact: ahead_cont.
rewrite [LHS](@next_balance T w w0 (i :: l) left_over (ahead w (i :: l)) (fun t => w i * ahead w l t) (/ w i) m0
   (fun t => @ahead_cont T w (i :: l) t)).
- rewrite /list_probability; have -> : ahead w (i :: l) 0 = 0 by rewrite /= Rmin_left ?RInt_point /zero /=;
  [ring | lra].
  rewrite Rplus_0_l (RInt_ext _ (fun t => scal (w i) (ahead w l t * behind w (i :: l) t))); last by move=> t _;
    rewrite /scal /= /mult /=; ring.
  rewrite (RInt_scal (V := R_CompleteNormedModule)) //; apply: ex_RInt_continuous => z _; exact: last_cont.
- by move=> t; apply: (continuous_mult (fun _ => w i)); [exact: continuous_const | exact: ahead_cont].
- move=> t tm; apply: (is_derive_ext_loc (fun t => w i * RInt (ahead w l) 0 t)).
    have d0 : 0 < / w i - t by lra.
    exists (mkposreal _ d0) => y; rewrite /ball /= /AbsRing_ball /= /abs /minus /plus /opp /= => hy.
    by rewrite Rmin_left //; move: hy; split_Rabs; lra.
  apply: is_derive_scal; apply: (is_derive_RInt (ahead w l) (fun b => RInt (ahead w l) 0 b) 0); last exact: ahead_cont.
  exists (mkposreal 1 Rlt_0_1) => z _; apply: (RInt_correct (V := R_CompleteNormedModule)); exact: (ex z).
- by move=> t tm /=; rewrite !Rmin_right //; lra.
Qed.
Lemma lists_total k : (k <= #|T|)%N -> \big[Rplus/0]_(l : k.-tuple T | uniq l) list_probability w l = 1.
Proof.
elim: k => [_|k IH kT].
  by rewrite (big_pred1 [tuple]) //= => h; rewrite [h]tuple0 /=; apply/esym/eqP.
rewrite -(IH (ltnW kT)).
rewrite (reindex (fun p : k.-tuple T * T => [tuple of p.2 :: p.1])) /=; last first.
  exists (fun h : k.+1.-tuple T => ([tuple of behead h] : k.-tuple T, thead h)) => [[t o] _|h _] /=.
    by congr (_, _); apply: val_inj.
  by apply: val_inj; rewrite /= [in RHS](tuple_eta h).
rewrite (eq_bigl (fun p : k.-tuple T * T => uniq p.1 && (p.2 \notin p.1))); last by move=> [l j] /=; rewrite andbC.
rewrite -(pair_big_dep (fun l : k.-tuple T => uniq l) (fun (l : k.-tuple T) j => j \notin l) (fun (l :
  k.-tuple T) j => list_probability w (j :: l))) /=.
apply: eq_bigr => l ul; apply: next.
have : (#|l| < #|T|)%N by rewrite (card_uniqP ul) size_tuple.
by rewrite -(cardC (mem l)) -{1}(addn0 #|l|) ltn_add2l => /card_gt0P [j]; rewrite !inE => hj; exists j.
Qed.
End Distribution.
Theorem one_shot_distribution (T : finType) k (s : T -> R) : (k <= #|T|)%N -> distribution (list_distribution (k :=
  k) s).
Proof.
move=> kT; have w0 i : 0 < exp (s i) by exact: exp_pos.
split=> [l|]; first by rewrite /list_distribution; case: ifP => _; [exact: list_ge0 | lra].
rewrite -(lists_total w0 kT) /list_distribution -big_mkcond /= (reindex_inj (h := fun l : k.-tuple T =>
  [tuple of rev l])) /=.
  by apply: eq_big => l; rewrite ?rev_uniq // /one_shot revK.
by move=> l l' /(congr1 val) /= e; apply: val_inj; rewrite -[val l]revK -[val l']revK e.
Qed.

