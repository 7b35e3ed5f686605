(* Theorem 60 for exponential noise: the ordered list of the k best finishes s_i + Exp(1), by its distribution. In the
   times T_i = e^-finish, uniform on [0, 1/w_i], w_i = e^{s_i}, the list (i_1, .., i_k) is T_{i_1} < .. < T_{i_k} <
   all others. *)
From Coquelicot Require Import Coquelicot.
From Shortlist Require Import Base Scores Race.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma RInt_sub (f g : R -> R) a b : (forall t, continuous f t) -> (forall t, continuous g t) -> 0 <= a <= b ->
  (forall t, 0 <= t -> 0 <= f t <= g t) -> 0 <= RInt f 0 a <= RInt g 0 b.
Proof.
move=> cf cg ab H; have ei (f' : R -> R) c d : (forall t, continuous f' t) -> ex_RInt f' c d.
  by move=> cf'; apply: ex_RInt_continuous => z _; exact: cf'.
split; first by apply: RInt_ge_0; [lra | exact: ei | move=> t t0; have := H t; lra].
apply: (Rle_trans _ (RInt g 0 a)).
  by apply: RInt_le; [lra | exact: ei | exact: ei | move=> t t0; have := H t; lra].
rewrite -(@RInt_Chasles _ g 0 a b); try exact: ei.
have : 0 <= RInt g a b by apply: RInt_ge_0; [lra | exact: ei | move=> t t0; have := H t; lra].
by rewrite /plus /=; lra.
Qed.
Lemma RInt_upto_cont (f : R -> R) c t : (forall t, continuous f t) -> continuous (fun t => RInt f 0 (Rmin t c)) t.
Proof.
move=> cf; apply: (continuous_comp (fun t => Rmin t c) (fun b => RInt f 0 b)).
  apply: (continuous_ext (fun t => (t + c - Rabs (t - c)) * / 2)).
    by move=> z; rewrite /Rmin; case: Rle_dec; split_Rabs; lra.
  apply: (continuous_mult (fun t => t + c - Rabs (t - c)) (fun _ => / 2)); last exact: continuous_const.
  apply: (continuous_minus (fun t => t + c)); first by apply: ex_derive_continuous; auto_derive.
  by apply: continuous_comp; [apply: ex_derive_continuous; auto_derive | exact: continuous_Rabs].
apply: ex_derive_continuous; exists (f (Rmin t c)).
apply: (is_derive_RInt f (fun b => RInt f 0 b) 0); last exact: cf.
by exists (mkposreal 1 Rlt_0_1) => b _; apply: RInt_correct; apply: ex_RInt_continuous => z _; exact: cf.
Qed.
Lemma RInt_dilate (f : R -> R) c b : (forall t, continuous f t) -> c * RInt (fun t => f (c * t)) 0 b = RInt f 0 (c * b).
Proof.
move=> cf; have ei : ex_RInt f (c * 0 + 0) (c * b + 0) by apply: ex_RInt_continuous => z _; exact: cf.
have := @RInt_comp_lin _ f c 0 0 b ei; rewrite Rmult_0_r !Rplus_0_r => <-.
have cd z : continuous (fun t => f (c * t)) z.
  by apply: continuous_comp; [apply: ex_derive_continuous; auto_derive | exact: cf].
rewrite RInt_scal; last first.
  by apply: (ex_RInt_ext (fun t => f (c * t))) => [z _|]; [rewrite Rplus_0_r | apply: ex_RInt_continuous => z _;
    exact: cd].
by rewrite /scal /= /mult /=; congr (_ * _); apply: RInt_ext => z _; rewrite Rplus_0_r.
Qed.

Section OneShot.
Variable T : finType.
Implicit Types (w s : T -> R) (l : seq T).
(* P[the candidates of l, last first, arrive in order and all before t] *)
Fixpoint ahead w l (t : R) : R := if l is i :: l' then w i * RInt (ahead w l') 0 (Rmin t (/ w i)) else 1.
Definition behind w l (t : R) := \big[Rmult/1]_(j | j \notin l) Rmax 0 (1 - w j * t).
(* the distribution of the list whose last member is i: everybody of l before it, all others after it *)
Definition list_probability w l := if l is i :: l' then w i * RInt (fun t =>
  ahead w l' t * behind w l t) 0 (/ w i) else 1.

Lemma ahead_cont w l t : continuous (ahead w l) t.
Proof.
elim: l t => [|i l IH] t; first exact: continuous_const.
by apply: (continuous_mult (fun _ => w i)); [exact: continuous_const | exact: RInt_upto_cont].
Qed.
Lemma behind_cont w l t : continuous (behind w l) t.
Proof.
rewrite /behind; elim: (index_enum T) => [|a r IH].
  by apply: (continuous_ext (fun _ => 1)); [move=> z; rewrite big_nil | exact: continuous_const].
case Pa: (a \notin l); last by apply: continuous_ext IH => z; rewrite big_cons Pa.
apply: (continuous_ext (fun z => Rmax 0 (1 - w a * z) * \big[Rmult/1]_(j <- r | j \notin l) Rmax 0 (1 - w j * z))).
  by move=> z; rewrite big_cons Pa.
apply: (continuous_mult (fun z => Rmax 0 (1 - w a * z))) => //; apply: rmax_cont.
by apply: ex_derive_continuous; auto_derive.
Qed.
Lemma last_cont w i l t : continuous (fun t => ahead w l t * behind w (i :: l) t) t.
Proof. by apply: (continuous_mult (ahead w l)); [exact: ahead_cont | exact: behind_cont]. Qed.
Lemma behind_ge0 w l t : 0 <= behind w l t.
Proof. by apply: rprod_ge0 => j _; exact: Rmax_l. Qed.

Lemma ahead_le d w w' l : (forall i, 0 < w i <= w' i) -> (forall i, w' i <= exp d * w i) ->
  forall t, 0 <= t -> 0 <= ahead w' l t <= exp (d * INR (size l)) * ahead w l t.
Proof.
move=> ww wd; elim: l => [|i l IH] t t0; first by rewrite /= Rmult_0_r exp_0; lra.
have wi := ww i; have wdi := wd i; set E := exp (d * INR (size l)).
have inv : / w' i <= / w i by apply: Rinv_le_contravar; lra.
have inv0 : 0 < / w' i by apply: Rinv_0_lt_compat; lra.
have [r0 r1] : 0 <= RInt (ahead w' l) 0 (Rmin t (/ w' i)) <= RInt (fun t => E * ahead w l t) 0 (Rmin t (/ w i)).
  apply: RInt_sub => [z|z||z z0]; [exact: ahead_cont | | | exact: IH].
  - by apply: (continuous_mult (fun _ => E)); [exact: continuous_const | exact: ahead_cont].
  - by rewrite /Rmin; do 2 case: Rle_dec; lra.
have -> : exp (d * INR (size (i :: l))) = exp d * E by rewrite [size _]/= S_INR /E -exp_plus; congr exp; ring.
have sc : RInt (fun t => E * ahead w l t) 0 (Rmin t (/ w i)) = E * RInt (ahead w l) 0 (Rmin t (/ w i)).
  by apply: (RInt_scal (V := R_CompleteNormedModule)); apply: ex_RInt_continuous => z _; exact: ahead_cont.
rewrite sc in r1; rewrite [ahead w' _ _]/= [ahead w _ _]/=; split; first by apply: Rmult_le_pos; lra.
have -> : exp d * E * (w i * RInt (ahead w l) 0 (Rmin t (/ w i))) = exp d * w i * (E * RInt (ahead w l) 0 (Rmin t (/ w
  i))) by ring.
by apply: Rmult_le_compat; lra.
Qed.
Lemma list_le d w w' l : (forall i, 0 < w i <= w' i) -> (forall i, w' i <= exp d * w i) ->
  list_probability w' l <= exp (d * INR (size l)) * list_probability w l.
Proof.
move=> ww wd; case: l => [|i l]; first by rewrite /= Rmult_0_r exp_0; lra.
have wi := ww i; have wdi := wd i; set E := exp (d * INR (size l)).
have inv : / w' i <= / w i by apply: Rinv_le_contravar; lra.
have inv0 : 0 < / w' i by apply: Rinv_0_lt_compat; lra.
have [r0 r1] : 0 <= RInt (fun t => ahead w' l t * behind w' (i :: l) t) 0 (/ w' i) <=
               RInt (fun t => E * (ahead w l t * behind w (i :: l) t)) 0 (/ w i).
  apply: RInt_sub => [z|z||z z0]; [exact: last_cont | | lra |].
  - by apply: (continuous_mult (fun _ => E)); [exact: continuous_const | exact: last_cont].
  - have := ahead_le l ww wd z0; rewrite -/E => a; have b := behind_ge0 w' (i :: l) z.
    have b' : behind w' (i :: l) z <= behind w (i :: l) z.
      apply: rprod_le => j _; split; first exact: Rmax_l.
      by apply: Rle_max_compat_l; have := ww j; nra.
    by rewrite -Rmult_assoc; split; [apply: Rmult_le_pos; lra | apply: Rmult_le_compat; lra].
have -> : exp (d * INR (size (i :: l))) = exp d * E by rewrite [size _]/= S_INR /E -exp_plus; congr exp; ring.
have sc : RInt (fun t => E * (ahead w l t * behind w (i :: l) t)) 0 (/ w i) =
          E * RInt (fun t => ahead w l t * behind w (i :: l) t) 0 (/ w i).
  by apply: (RInt_scal (V := R_CompleteNormedModule)); apply: ex_RInt_continuous => z _; exact: last_cont.
rewrite sc in r1; rewrite [list_probability w' _]/= [list_probability w _]/=.
have -> : exp d * E * (w i * RInt (fun t => ahead w l t * behind w (i :: l) t) 0 (/ w i)) =
          exp d * w i * (E * RInt (fun t => ahead w l t * behind w (i :: l) t) 0 (/ w i)) by ring.
by apply: Rmult_le_compat; lra.
Qed.

Lemma list_ge0 w l : (forall i, 0 < w i) -> 0 <= list_probability w l.
Proof.
move=> w0; case: l => [|i l]; first by rewrite /=; lra.
have wi := w0 i; have inv0 : 0 < / w i by exact: Rinv_0_lt_compat.
apply: Rmult_le_pos; first lra.
apply: RInt_ge_0; [lra | by apply: ex_RInt_continuous => z _; exact: last_cont | move=> z z0].
apply: Rmult_le_pos; last exact: behind_ge0.
have [] // := @ahead_le 0 w w l _ _ z; [by move=> j; have := w0 j; lra | by move=> j; rewrite exp_0; lra | lra].
Qed.
(* only differences of scores matter *)
Lemma ahead_scale c w l : 0 < c -> (forall i, 0 < w i) -> forall t, ahead (fun i => c * w i) l t = ahead w l (c * t).
Proof.
move=> c0 w0; elim: l => [|i l IH] t //=.
rewrite (RInt_ext _ (fun t => ahead w l (c * t))); last by move=> z _; exact: IH.
rewrite (Rmult_comm c) Rmult_assoc RInt_dilate; last by move=> z; exact: ahead_cont.
congr (_ * RInt _ _ _); have wi := w0 i.
have -> : c * Rmin t (/ (w i * c)) = Rmin (c * t) (c * / (w i * c)).
  by rewrite /Rmin; case: Rle_dec => h1; case: Rle_dec => h2 //; nra.
by congr Rmin; field; lra.
Qed.
Lemma list_scale c w l : 0 < c -> (forall i, 0 < w i) -> list_probability (fun i => c * w i) l = list_probability w l.
Proof.
move=> c0 w0; case: l => [|i l] //=; have wi := w0 i.
rewrite (RInt_ext _ (fun t => (fun t => ahead w l t * behind w (i :: l) t) (c * t))); last first.
  move=> z _; rewrite ahead_scale //; congr (_ * _); apply: eq_bigr => j _; congr Rmax; rring.
rewrite (Rmult_comm c) Rmult_assoc (RInt_dilate (f := fun t => ahead w l t * behind w (i :: l) t)); last by move=> z;
  exact: last_cont.
by congr (_ * RInt _ _ _); field; lra.
Qed.

(* s: scores in noise units (x (eps/k)/R for a pure budget eps) *)
Definition one_shot s l := list_probability (fun i => exp (s i)) (rev l).
Theorem one_shot_list d s s' l : moves_within d s s' -> one_shot s' l <= exp (d * INR (size l)) * one_shot s l.
Proof.
move=> [b H]; rewrite /one_shot -(size_rev l).
have -> : list_probability (fun i => exp (s' i)) (rev l) = list_probability (fun i => exp (- b) * exp (s' i)) (rev l).
  by rewrite list_scale //; [exact: exp_pos | move=> i; exact: exp_pos].
apply: list_le => i; rewrite -!exp_plus.
- by split; [exact: exp_pos | apply: exp_le; have := H i; lra].
- by apply: exp_le; have := H i; lra.
Qed.
(* the list of k, and its set: scale k R/eps *)
Variable k : nat.
Definition list_distribution s (l : k.-tuple T) := if uniq l then one_shot s l else 0.
Definition set_distribution s := push (fun l : k.-tuple T => [set i in l]) (list_distribution s).
Lemma set_ge0 s y : 0 <= set_distribution s y.
Proof.
apply: rsum_ge0 => l _; rewrite /list_distribution; case: ifP => _; last lra.
by apply: list_ge0 => i; exact: exp_pos.
Qed.
Theorem one_shot_pure eps s s' : (0 < k)%N -> moves_within (eps / INR k) s s' ->
  pureDP eps (list_distribution s) (list_distribution s').
Proof.
move=> k0; have kp : 0 < INR k by apply: lt_0_INR; exact/ltP.
have half s1 s2 : moves_within (eps / INR k) s2 s1 -> pure eps (list_distribution s1) (list_distribution s2).
  move=> H; apply: pointwise_pure => l; rewrite /list_distribution; case: ifP => _; last lra.
  have -> : eps = eps / INR k * INR (size l) by rewrite size_tuple; field; lra.
  exact: one_shot_list.
by move=> H; split; apply: half => //; exact: moves_within_sym.
Qed.
Theorem one_shot_set_pure eps s s' : (0 < k)%N -> moves_within (eps / INR k) s s' ->
  pureDP eps (set_distribution s) (set_distribution s').
Proof. by move=> k0 /(one_shot_pure k0) [h h']; split; exact: push_pure. Qed.
End OneShot.

