(* Theorems 37 and 38, the filter of a ledger, for all budgets: the rules of Definition 36, with deltas and refunds.

   A question is a mechanism with a common thinning (Definition 19) and the charge that it states: an epsilon, a rho,
   or both, and a delta. It is admitted if afterwards the sum of deltas is within its limit, and the sum of epsilons
   or the sum of rhos is within its own. Sums are exact rationals; a charge without a form closes that rule: its sum
   becomes None. After the answer o the ledger keeps `used_epsilon o` and `used_rho o` of what was charged, by a rule
   that was fixed before; where nothing is given back they are the charge (`no_refund_epsilon`, `no_refund_rho`). *)
From Coq Require Import QArith Qreals.
From Shortlist Require Import Base Renyi Thinning Compose.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition add (x y : option Q) : option Q :=
  if x is Some a then if y is Some b then Some (a + b)%Q else None else None.
Definition within (x limit : option Q) : bool :=
  if limit is Some b then if x is Some a then Qle_bool a b else false else false.

Section Ledger.
Variable O : finType.
Record question := Question {
  epsilon : option Q; rho : option Q; delta : Q;
  used_epsilon : O -> Q; used_rho : O -> Q;
  mech : bool -> O -> R; (* the answer's distribution, on either neighbor *)
  part : bool -> O -> R; (* the laws A and A' *)
  keep : O -> R }.
(* what a charge x claims, of which `used` is kept *)
Definition bounded (x : option Q) (used : O -> Q) (claim : Prop) :=
  if x is Some q then (0 <= q)%Q /\ (forall o, (0 <= used o)%Q /\ (used o <= q)%Q) /\ claim else True.
(* a loss of at most `used o` at each answer o; and the mean of Theorem 38, at every order *)
Definition losses_within (used : O -> Q) (P : bool -> O -> R) :=
  forall b o, P b o <= exp (Q2R (used o)) * P (~~ b) o.
Definition means_within (used : O -> Q) (P : bool -> O -> R) := forall b a, 1 < a -> dominated (P b) (P (~~ b)) /\
  \rsum_o (P b o * exp ((a - 1) * loss (P b) (P (~~ b)) o) * exp (- ((a - 1) * (a * Q2R (used o))))) <= 1.
Definition sound (q : question) :=
  [/\ (0 <= delta q)%Q, forall b, distribution (mech q b) /\ distribution (part q b),
      thinning (Q2R (delta q)) (mech q false) (mech q true) (part q false) (part q true) (keep q),
      bounded (epsilon q) (used_epsilon q) (losses_within (used_epsilon q) (part q))
    & bounded (rho q) (used_rho q) (means_within (used_rho q) (part q))].
(* without a refund these are eps-DP and rho-zCDP of the part *)
Lemma no_refund_epsilon e (P : bool -> O -> R) : pureDP (Q2R e) (P false) (P true) -> losses_within (fun _ => e) P.
Proof. by move=> [h h'] [] o; exact: pure_pointwise. Qed.
Lemma no_refund_rho r (P : bool -> O -> R) : zcdp (Q2R r) (P false) (P true) -> means_within (fun _ => r) P.
Proof.
have step b a : renyi a (a * Q2R r) (P b) (P (~~ b)) -> dominated (P b) (P (~~ b)) /\
    \rsum_o (P b o * exp ((a - 1) * loss (P b) (P (~~ b)) o) * exp (- ((a - 1) * (a * Q2R r)))) <= 1.
  move=> [d m]; split=> //; rewrite -big_distrl /=.
  apply: Rle_trans (Rmult_le_compat_r _ _ _ (Rlt_le _ _ (exp_pos _)) m) _.
  by rewrite -exp_plus -[X in _ <= X]exp_0; apply: exp_le; lra.
by move=> [h h'] [] a a1; apply: step; [exact: h' | exact: h].
Qed.
Definition analyst := seq O -> option question. (* from the transcript, newest answer first *)

Variables (E C : option Q) (G : Q). (* the limits of rule (a), of rule (b), and of the deltas *)
Variables (A : analyst) (no : O). (* "no" stands for what is refused *)
Definition sums := (option Q * option Q * Q)%type.
Definition fits (z : sums) : bool := Qle_bool z.2 G && (within z.1.1 E || within z.1.2 C).
Definition charge (z : sums) (q : question) : sums := (add z.1.1 (epsilon q), add z.1.2 (rho q), (z.2 + delta q)%Q).
(* what is kept of a charge after the answer o; a delta is never given back *)
Definition some_of (x : option Q) (used : Q) : option Q := if x is Some _ then Some used else None.
Definition settle (z : sums) (q : question) (o : O) : sums :=
  (add z.1.1 (some_of (epsilon q) (used_epsilon q o)), add z.1.2 (some_of (rho q) (used_rho q o)), (z.2 + delta q)%Q).
Definition asked (z : sums) (h : seq O) : option question :=
  if A h is Some q then if fits (charge z q) then Some q else None else None.
Fixpoint spent (h : seq O) : sums :=
  if h is o :: h' then if asked (spent h') h' is Some q then settle (spent h') q o else spent h'
  else (Some 0%Q, Some 0%Q, 0%Q).
Definition admitted h := asked (spent h) h.
Definition refuse (o : O) : R := if o == no then 1 else 0.
Definition answer b h : O -> R := if admitted h is Some q then mech q b else refuse.
Definition law_part b h : O -> R := if admitted h is Some q then part q b else refuse.
Definition kept h : O -> R := if admitted h is Some q then keep q else fun _ => 1.
Definition transcript b (h : seq O) := chain (answer b) h.
Let PA b (h : seq O) := chain (law_part b) h.
Let sigma (h : seq O) := chain kept h.

Hypothesis start : fits (Some 0%Q, Some 0%Q, 0%Q).
Hypothesis G1 : Q2R G <= 1.
Hypothesis A_sound : forall h q, A h = Some q -> sound q.
Lemma admitted_sound h q : admitted h = Some q -> sound q /\ fits (charge (spent h) q).
Proof.
rewrite /admitted /asked; case Ah: (A h) => [q'|//]; case: ifP => // f [<-]; split=> //; exact: A_sound Ah.
Qed.
Lemma settle_fits z q o : sound q -> fits (charge z q) -> fits (settle z q o).
Proof.
move=> [_ _ _ be br] /andP [d ab]; apply/andP; split; first exact: d.
have mono x used y limit claim : bounded x used claim -> within (add y x) limit ->
  within (add y (some_of x (used o))) limit.
  case: limit y x => [l|//] [y|//] [x|//] [_ [H _]] /Qle_bool_imp_le h; apply/Qle_bool_iff; have [_ u] := H o.
  by apply: Qle_trans h; apply: Qplus_le_compat => //; exact: Qle_refl.
by case/orP: ab => w; apply/orP; [left; exact: mono be w | right; exact: mono br w].
Qed.
(* the sums stay within the limits, on every transcript *)
Theorem spent_fits h : fits (spent h).
Proof.
elim: h => [|o h IH] //=; rewrite -/(admitted h); case ad: (admitted h) => [q|//].
by case: (admitted_sound ad) => s f; exact: settle_fits.
Qed.
Lemma refuse_distribution : distribution refuse.
Proof.
split=> [o|]; rewrite /refuse; first by case: ifP => _; lra.
by rewrite (bigD1 no) //= eqxx big1 ?Rplus_0_r // => i /negbTE ->.
Qed.
Lemma answer_distribution b h : distribution (answer b h).
Proof.
rewrite /answer; case ad: (admitted h) => [q|]; last exact: refuse_distribution.
by case: (admitted_sound ad) => -[_ D _ _ _] _; case: (D b).
Qed.
Lemma part_distribution b h : distribution (law_part b h).
Proof.
rewrite /law_part; case ad: (admitted h) => [q|]; last exact: refuse_distribution.
by case: (admitted_sound ad) => -[_ D _ _ _] _; case: (D b).
Qed.
Lemma transcript_distribution b n : distribution (fun h : n.-tuple O => transcript b h).
Proof. exact: chain_distribution (answer_distribution b). Qed.
Lemma kept01 h o : 0 <= kept h o <= 1.
Proof.
rewrite /kept; case ad: (admitted h) => [q|]; last by lra.
by case: (admitted_sound ad) => -[_ _ [k _ _ _] _ _] _; exact: k.
Qed.
Lemma sigma01 h : 0 <= sigma h <= 1.
Proof. by rewrite /sigma; elim: h => [|o h IH] /=; [lra | have := kept01 h o; nra]. Qed.
Lemma PA_ge0 b h : 0 <= PA b h. Proof. exact: chain_ge0 (part_distribution b). Qed.
Lemma step_below b h o : kept h o * law_part b h o <= answer b h o.
Proof.
rewrite /kept /law_part /answer; case ad: (admitted h) => [q|]; last by lra.
by case: (admitted_sound ad) => -[_ _ [_ k0 k1 _] _ _] _; case: b.
Qed.
Lemma hat_below b h : sigma h * PA b h <= transcript b h.
Proof.
elim: h => [|o h IH]; first by rewrite /sigma /PA /transcript /=; lra.
rewrite /sigma /PA /transcript /= -/(sigma h) -/(PA b h) -/(transcript b h).
have -> : sigma h * kept h o * (PA b h * law_part b h o) = (sigma h * PA b h) * (kept h o * law_part b h o) by ring.
have k := kept01 h o; have s := sigma01 h; have p := PA_ge0 b h.
have l : 0 <= law_part b h o by case: (part_distribution b h).
by apply: Rmult_le_compat => //; [apply: Rmult_le_pos; lra | apply: Rmult_le_pos; lra | exact: step_below].
Qed.

(* Mass: what thinning removes is at most G *)
Lemma deltas h : 0 <= Q2R (spent h).2 <= Q2R G.
Proof.
split; last first.
  by have /andP [/Qle_bool_imp_le d _] := spent_fits h; exact: Qle_Rle.
elim: h => [|o h IH]; first by rewrite /= RMicromega.Q2R_0; lra.
rewrite /= -/(admitted h); case ad: (admitted h) => [q|//] /=.
rewrite Q2R_plus; case: (admitted_sound ad) => -[d _ _ _ _] _.
by have := Qle_Rle _ _ d; rewrite RMicromega.Q2R_0; lra.
Qed.
Lemma mass b n : 1 - Q2R G <= \big[Rplus/0]_(h : n.-tuple O) (sigma h * PA b h * (1 - Q2R G + Q2R (spent h).2)).
Proof.
elim: n => [|n IH].
  rewrite (sum_empty (fun h => sigma h * PA b h * (1 - Q2R G + Q2R (spent h).2))) /sigma /PA /= RMicromega.Q2R_0; lra.
apply: Rle_trans IH _; rewrite (sum_histories _ (fun h => sigma h * PA b h * (1 - Q2R G + Q2R (spent h).2))).
apply: rsum_le => t _; set w := sigma t * PA b t; have w0 : 0 <= w.
  by apply: Rmult_le_pos; [case: (sigma01 t) | exact: PA_ge0].
have e z : \rsum_o (sigma (o :: t) * PA b (o :: t) * z) = w * ((\rsum_o (kept t o * law_part b t o)) * z).
  rewrite big_distrl /= -rsum_scale; apply: eq_bigr => o _.
  by rewrite /sigma /PA /= -/(sigma t) -/(PA b t) /w; ring.
have same o : spent (o :: t) = spent ([:: o] ++ t) by [].
have d := deltas t; case ad: (admitted t) => [q|]; last first.
  rewrite (eq_bigr (fun o => sigma (o :: t) * PA b (o :: t) * (1 - Q2R G + Q2R (spent t).2))); last first.
    by move=> o _; rewrite /= -/(admitted t) ad.
  rewrite e; have -> : \rsum_o (kept t o * law_part b t o) = 1.
    rewrite /kept /law_part ad -[RHS](proj2 refuse_distribution); apply: eq_bigr => o _; ring.
  by rewrite Rmult_1_l; lra.
have [[d0 D [_ _ _ [m0 m1]] _ _] f] := admitted_sound ad.
rewrite (eq_bigr (fun o => sigma (o :: t) * PA b (o :: t) * (1 - Q2R G + (Q2R (spent t).2 + Q2R (delta q)))));
  last first.
  by move=> o _; rewrite /= -/(admitted t) ad /= Q2R_plus.
rewrite e; apply: Rmult_le_compat_l => //.
have m : 1 - Q2R (delta q) <= \rsum_o (kept t o * law_part b t o) by rewrite /kept /law_part ad; case: b {e w w0}.
have dq : Q2R (spent t).2 + Q2R (delta q) <= Q2R G.
  by case/andP: f => /Qle_bool_imp_le /Qle_Rle; rewrite Q2R_plus.
have d1 : 0 <= Q2R (delta q) by have := Qle_Rle _ _ d0; rewrite RMicromega.Q2R_0.
have := Rmult_le_compat_r (1 - Q2R G + (Q2R (spent t).2 + Q2R (delta q))) _ _ ltac:(lra) m.
by nra.
Qed.
Lemma mass_kept b n : 1 - Q2R G <= \big[Rplus/0]_(h : n.-tuple O) (sigma h * PA b h).
Proof.
apply: Rle_trans (mass b n) _; apply: rsum_le => h _; have d := deltas h.
rewrite -[X in _ <= X]Rmult_1_r; apply: Rmult_le_compat_l; last lra.
by apply: Rmult_le_pos; [case: (sigma01 h) | exact: PA_ge0].
Qed.
Lemma removed b n : \big[Rplus/0]_(h : n.-tuple O) (transcript b h - sigma h * PA b h) <= Q2R G.
Proof.
have [_ t1] := transcript_distribution b n.
have := mass_kept b n.
have -> : \big[Rplus/0]_(h : n.-tuple O) (transcript b h - sigma h * PA b h) =
          1 - \big[Rplus/0]_(h : n.-tuple O) (sigma h * PA b h).
  have e1 : \big[Rplus/0]_(h : n.-tuple O) (- 1 * (sigma h * PA b h)) = - 1 * \big[Rplus/0]_(h :
    n.-tuple O) (sigma h * PA b h).
    exact: rsum_scale.
  rewrite -[X in _ = X - _]t1 /Rminus -[X in _ = _ + X]Rmult_1_l -Ropp_mult_distr_r Ropp_mult_distr_l -e1 -big_split /=.
  by apply: eq_bigr => h _; ring.
lra.
Qed.

(* Rule (a) *)
Lemma rule_a b h e : (spent h).1.1 = Some e -> PA b h <= exp (Q2R e) * PA (~~ b) h.
Proof.
elim: h e => [|o h IH] e /=; first by case=> <-; rewrite RMicromega.Q2R_0 exp_0 /PA /=; lra.
rewrite -/(admitted h) /PA /= -/(PA b h) -/(PA (~~ b) h) /law_part; case ad: (admitted h) => [q|] /=.
  case: (admitted_sound ad) => -[_ D _ Be _] _; case se: (spent h).1.1 => [e'|//] /=; move: Be; rewrite /bounded.
  case: (epsilon q) => [c [c0 [_ H]]|//] /= [<-]; rewrite Q2R_plus; apply: pointwise_comp; try exact: PA_ge0.
  - by case: (D b) => _ [].
  - by case: (D (~~ b)) => _ [].
  - exact: IH.
  - exact: H.
move=> s; have := IH e s; have r : 0 <= refuse o by case: refuse_distribution.
by move=> h1; rewrite -Rmult_assoc; apply: Rmult_le_compat_r.
Qed.

(* Rule (b), at one order a *)
Section Order.
Variable a : R.
Hypothesis a1 : 1 < a.
Definition weight h : R := if (spent h).1.2 is Some r then exp (- ((a - 1) * (a * Q2R r))) else 0.
Lemma weight_ge0 h : 0 <= weight h.
Proof. by rewrite /weight; case: (spent h).1.2 => [r|]; [exact/Rlt_le/exp_pos | lra]. Qed.
Let Z b h := PA b h * exp ((a - 1) * ln (PA b h / PA (~~ b) h)) * weight h.
(* where rule (b) is open nothing of PA is lost to the other side *)
Lemma open_dominated b h : (spent h).1.2 <> None -> PA (~~ b) h = 0 -> PA b h = 0.
Proof.
elim: h => [|o h IH]; first by rewrite /PA /=; lra.
rewrite /= -/(admitted h) /PA /= -/(PA b h) -/(PA (~~ b) h) /law_part; case ad: (admitted h) => [q|] /= op z.
  case: (admitted_sound ad) => -[_ _ _ _ Br] _; move: op Br; rewrite /bounded /add.
  case sr: (spent h).1.2 => [r'|//]; case: (rho q) => [r|//] _ [_ [_ H]].
  case: (Rmult_integral _ _ z) => z'; first by rewrite IH ?sr // Rmult_0_l.
  by have [d _] := H b a a1; rewrite (d o z') Rmult_0_r.
case: (Rmult_integral _ _ z) => z'; first by rewrite IH // Rmult_0_l.
by rewrite z' Rmult_0_r.
Qed.
Lemma supermartingale b n : \big[Rplus/0]_(h : n.-tuple O) Z b h <= 1.
Proof.
elim: n => [|n IH].
  rewrite (sum_empty (Z b)) /Z /PA /weight /= RMicromega.Q2R_0 /Rdiv Rinv_1 Rmult_1_r ln_1 !Rmult_0_r Ropp_0 exp_0; lra.
rewrite (sum_histories _ (Z b)); apply: Rle_trans IH; apply: rsum_le => t _.
have z0 : 0 <= Z b t.
  by apply: Rmult_le_pos; [apply: Rmult_le_pos; [exact: PA_ge0 | exact/Rlt_le/exp_pos] | exact: weight_ge0].
have closed : (forall o, weight (o :: t) = 0) -> \rsum_o Z b (o :: t) <= Z b t.
  by move=> w0; rewrite big1 // => o _; rewrite /Z w0; ring.
have open r (used : O -> R) : (spent t).1.2 = Some r ->
    (forall o, weight (o :: t) = weight t * exp (- ((a - 1) * (a * used o)))) ->
    dominated (law_part b t) (law_part (~~ b) t) ->
    \rsum_o (law_part b t o * exp ((a - 1) * loss (law_part b t) (law_part (~~ b) t) o) *
            exp (- ((a - 1) * (a * used o)))) <= 1 -> \rsum_o Z b (o :: t) <= Z b t.
  move=> sr wo d m; rewrite -[X in _ <= X]Rmult_1_r; apply: Rle_trans (Rmult_le_compat_l _ _ _ z0 m).
  rewrite -rsum_scale; apply: Req_le; apply: eq_bigr => o _; rewrite {1}/Z wo.
  rewrite -[PA b (o :: t)]/(PA b t * law_part b t o) -[PA (~~ b) (o :: t)]/(PA (~~ b) t * law_part (~~ b) t o).
  rewrite moment_point; try exact: PA_ge0; try exact: part_distribution; try exact: d; first by rewrite /Z; ring.
  by apply: open_dominated; rewrite sr.
case ad: (admitted t) => [q|]; last first.
  have w o : weight (o :: t) = weight t by rewrite /weight /= -/(admitted t) ad.
  case sr: (spent t).1.2 => [r|]; last by apply: closed => o; rewrite w /weight sr.
  have [d m] := renyi_same a refuse_distribution; rewrite Rmult_0_r exp_0 in m.
  apply: (open r (fun _ => 0) sr) => [o| |].
  - by rewrite w !Rmult_0_r Ropp_0 exp_0 Rmult_1_r.
  - by rewrite /law_part ad.
  - rewrite /law_part ad; apply: Rle_trans m; apply: Req_le; apply: eq_bigr => o _.
    by rewrite !Rmult_0_r Ropp_0 exp_0 Rmult_1_r.
have w o : weight (o :: t) =
    if add (spent t).1.2 (some_of (rho q) (used_rho q o)) is Some r then exp (- ((a - 1) * (a * Q2R r))) else 0.
  by rewrite /weight /= -/(admitted t) ad.
case: (admitted_sound ad) => -[_ _ _ _ Br] _; move: w Br; rewrite /bounded /add /some_of.
case sr: (spent t).1.2 => [r|] w; last by move=> _; apply: closed.
case: (rho q) w => [c|] w; last by move=> _; apply: closed.
move=> [_ [_ H]]; have [d m] := H b a a1; apply: (open r (fun o => Q2R (used_rho q o)) sr) => [o| |].
- by rewrite w /weight sr -exp_plus; congr exp; rewrite Q2R_plus; ring.
- by rewrite /law_part ad.
- by rewrite /law_part ad.
Qed.
(* what rule (b) leaves to delta, on the transcripts at whose end it holds *)
Variable eps : R.
Lemma rule_b b n c (S : {set n.-tuple O}) : C = Some c -> (forall h, h \in S -> within (spent h).1.2 C) ->
  \big[Rplus/0]_(h in S) (sigma h * PA b h - exp eps * (sigma h * PA (~~ b) h)) <= delta_of a (a * Q2R c) eps.
Proof.
move=> Cc ok; set k := Rpower (1 - / a) a / (a - 1).
have k0 : 0 < k by apply: Rdiv_lt_0_compat; [exact: exp_pos | lra].
set K := k * exp (- ((a - 1) * eps)) * exp ((a - 1) * (a * Q2R c)).
have K0 : 0 <= K by apply: Rmult_le_pos; [apply: Rmult_le_pos; [lra|]|]; exact/Rlt_le/exp_pos.
have -> : delta_of a (a * Q2R c) eps = K * 1.
  rewrite /delta_of /K -/k Rmult_1_r Rmult_assoc -exp_plus Rmult_comm; congr (_ * exp _); ring.
have zge (h : n.-tuple O) : 0 <= Z b h.
  by apply: Rmult_le_pos; [apply: Rmult_le_pos; [exact: PA_ge0 | exact/Rlt_le/exp_pos] | exact: weight_ge0].
apply: Rle_trans (Rmult_le_compat_l _ _ _ K0 (supermartingale b n)).
apply: (Rle_trans _ (\big[Rplus/0]_(h in S) (K * Z b h))); last first.
  rewrite rsum_scale; apply: Rmult_le_compat_l => //; rewrite [X in _ <= X](bigID (mem S)) /=.
  have : 0 <= \big[Rplus/0]_(h : n.-tuple O | h \notin S) Z b h by apply: rsum_ge0 => h _; exact: zge.
  by set x := \big[_/_]_(h | h \notin S) _; set y := \big[_/_]_(h in S) _; move=> x0; lra.
apply: rsum_le => h hS; have s := sigma01 h; have p0 := PA_ge0 b h; have q0 := PA_ge0 (~~ b) h.
have := ok h hS; rewrite Cc /within; case sr: (spent h).1.2 => [r|//] /Qle_bool_imp_le /Qle_Rle rc.
have zK : 0 <= K * Z b h by apply: Rmult_le_pos.
suff main : PA b h - exp eps * PA (~~ b) h <= K * Z b h.
  case: (Rle_dec (PA b h - exp eps * PA (~~ b) h) 0) => neg; first by nra.
  by nra.
case: (Req_dec (PA b h) 0) => [z|pn].
  by rewrite z; have := exp_pos eps; nra.
have pp : 0 < PA b h by lra.
have qp : 0 < PA (~~ b) h by case: q0 => // e; case: pn; apply: open_dominated; rewrite ?sr.
have pt := best_factor_point eps a1 pp qp; rewrite -/k in pt.
apply: (Rle_trans _ (k * exp (- ((a - 1) * eps)) * (PA b h * exp ((a - 1) * ln (PA b h / PA (~~ b) h))))); first by lra.
rewrite /K /Z /weight sr; set x := PA b h * exp _; have x0 : 0 <= x.
  by apply: Rmult_le_pos => //; exact/Rlt_le/exp_pos.
have -> : k * exp (- ((a - 1) * eps)) * exp ((a - 1) * (a * Q2R c)) * (x * exp (- ((a - 1) * (a * Q2R r)))) =
          (k * exp (- ((a - 1) * eps)) * x) * (exp ((a - 1) * (a * Q2R c)) * exp (- ((a - 1) * (a * Q2R r)))) by ring.
rewrite -{1}[k * _ * x]Rmult_1_r; apply: Rmult_le_compat_l.
  by apply: Rmult_le_pos => //; apply: Rmult_le_pos; [lra | exact/Rlt_le/exp_pos].
rewrite -exp_plus -[X in X <= _]exp_0; apply: exp_le.
have h1 : a * Q2R r <= a * Q2R c by apply: Rmult_le_compat_l; lra.
have h2 : (a - 1) * (a * Q2R r) <= (a - 1) * (a * Q2R c) by apply: Rmult_le_compat_l; lra.
lra.
Qed.
End Order.

(* ZCDP(rho, delta) budgets: no rule (a), C = rho, G = delta. The transcript has a common thinning of mass delta with
   rho-zCDP. *)
Theorem filter_thinned c n : E = None -> C = Some c ->
  exists (L L' s : n.-tuple O -> R), [/\ distribution L, distribution L', zcdp (Q2R c) L L'
    & thinning (Q2R G) (fun h : n.-tuple O => transcript false h) (fun h : n.-tuple O => transcript true h) L L' s].
Proof.
move=> En Cc; exists (fun h => PA false h), (fun h => PA true h), (fun h => sigma h); split.
- exact: chain_distribution (part_distribution false).
- exact: chain_distribution (part_distribution true).
- have half b a : 1 < a -> renyi a (a * Q2R c) (fun h : n.-tuple O => PA b h) (fun h : n.-tuple O => PA (~~ b) h).
    have ok h : exists2 r, (spent h).1.2 = Some r & Q2R r <= Q2R c.
      have /andP [_] := spent_fits h; rewrite En Cc /within /=; case: (spent h).1.2 =>
        [r|//] /Qle_bool_imp_le /Qle_Rle rc.
      by exists r.
    move=> a1; split.
      by move=> h; apply: (open_dominated a1); have [r -> _] := ok h.
    have sm := supermartingale a1 b n; rewrite -[X in _ <= X]Rmult_1_r.
    apply: Rle_trans (Rmult_le_compat_l _ _ _ (Rlt_le _ _ (exp_pos _)) sm).
    rewrite /moment -rsum_scale; apply: rsum_le => h _; rewrite /loss /weight; have [r -> rc] := ok h.
    set m := PA b h * _; have m0 : 0 <= m by apply: Rmult_le_pos; [exact: PA_ge0 | exact/Rlt_le/exp_pos].
    have -> : exp ((a - 1) * (a * Q2R c)) * (m * exp (- ((a - 1) * (a * Q2R r)))) =
              m * (exp ((a - 1) * (a * Q2R c)) * exp (- ((a - 1) * (a * Q2R r)))) by ring.
    rewrite -{1}(Rmult_1_r m); apply: Rmult_le_compat_l => //; rewrite -exp_plus -[X in X <= _]exp_0; apply: exp_le.
    have h1 : a * Q2R r <= a * Q2R c by apply: Rmult_le_compat_l; lra.
    have h2 : (a - 1) * (a * Q2R r) <= (a - 1) * (a * Q2R c) by apply: Rmult_le_compat_l; lra.
    lra.
  by split=> a a1; [exact: (half false a a1) | exact: (half true a a1)].
- split; [by move=> h; exact: sigma01 | by move=> h; exact: hat_below | by move=> h; exact: hat_below |].
  by split; exact: mass_kept.
Qed.

(* PureDP budgets: no rule (b), E = eps, no delta is admitted *)
Theorem filter_pure e n : E = Some e -> C = None -> (G == 0)%Q ->
  pureDP (Q2R e) (fun h : n.-tuple O => transcript false h) (fun h : n.-tuple O => transcript true h).
Proof.
move=> Ee Cn G0; have g : Q2R G = 0 by rewrite (Qeq_eqR _ _ G0) RMicromega.Q2R_0.
(* nothing is removed, so that the transcript is its part *)
have same b (h : n.-tuple O) : transcript b h = sigma h * PA b h.
  have := removed b n; rewrite g (bigD1 h) //= => r; have := hat_below b h.
  have : 0 <= \big[Rplus/0]_(i : n.-tuple O | i != h) (transcript b i - sigma i * PA b i).
    by apply: rsum_ge0 => i _; have := hat_below b i; lra.
  by move: r; set x := \big[_/_]_(i | _) _; lra.
have half b : pure (Q2R e) (fun h : n.-tuple O => transcript b h) (fun h : n.-tuple O => transcript (~~ b) h).
  apply: pointwise_pure => h; rewrite !same.
  have /andP [_] := spent_fits h; rewrite Ee Cn /within orbF; case se: (spent h).1.1 =>
    [e'|//] /Qle_bool_imp_le /Qle_Rle le.
  have := @rule_a b h e' se; have := sigma01 h; have := exp_le le; have := PA_ge0 (~~ b) h => q0 x1 s01 x2.
  have x3 : PA b h <= exp (Q2R e) * PA (~~ b) h by nra.
  by nra.
by split; [exact: half false | exact: half true].
Qed.

(* Theorem 215: rule (a) alone, with all of delta for the charges *)
Theorem theorem215 e n : E = Some e -> C = None ->
  approxDP (Q2R e) (Q2R G) (fun h : n.-tuple O => transcript false h) (fun h : n.-tuple O => transcript true h).
Proof.
move=> Ee Cn; have half b :
    approx (Q2R e) (Q2R G) (fun h : n.-tuple O => transcript b h) (fun h : n.-tuple O => transcript (~~ b) h).
  move=> S; rewrite /prob -rsum_scale.
  have hat (h : n.-tuple O) : 0 <= transcript b h - sigma h * PA b h by have := hat_below b h; lra.
  have point (h : n.-tuple O) : transcript b h <= exp (Q2R e) * transcript (~~ b) h + (transcript b h - sigma h * PA b
    h).
    have /andP [_] := spent_fits h; rewrite Ee Cn /within orbF; case se: (spent h).1.1 =>
      [e'|//] /Qle_bool_imp_le /Qle_Rle le.
    have := @rule_a b h e' se; have := sigma01 h; have := exp_le le; have := PA_ge0 (~~ b) h => q0 x1 s01 x2.
    have x3 : PA b h <= exp (Q2R e) * PA (~~ b) h by nra.
    have x4 := hat_below (~~ b) h; have x5 := exp_pos (Q2R e).
    have x6 : sigma h * PA b h <= exp (Q2R e) * (sigma h * PA (~~ b) h) by nra.
    have x7 : exp (Q2R e) * (sigma h * PA (~~ b) h) <= exp (Q2R e) * transcript (~~ b) h by apply: Rmult_le_compat_l;
      lra.
    lra.
  apply: (Rle_trans _ (\big[Rplus/0]_(h in S) (exp (Q2R e) * transcript (~~ b) h + (transcript b h - sigma h * PA b
    h)))).
    by apply: rsum_le => h _; exact: point.
  rewrite big_split /=; apply: Rplus_le_compat_l; apply: Rle_trans (removed b n); rewrite [X in _ <=
    X](bigID (mem S)) /=.
  rewrite -[X in X <= _]Rplus_0_r; apply: Rplus_le_compat_l; by apply: rsum_ge0 => h _; exact: hat.
by split; [exact: half false | exact: half true].
Qed.

(* ApproxDP budgets: E = eps, C a rho whose conversion at one order a fits (eps, d), G the rest of delta *)
Theorem filter_approx e c a d n : E = Some e -> C = Some c -> (0 <= e)%Q -> 1 < a ->
  delta_of a (a * Q2R c) (Q2R e) <= d -> 0 <= d ->
  approxDP (Q2R e) (Q2R G + d) (fun h : n.-tuple O => transcript false h) (fun h : n.-tuple O => transcript true h).
Proof.
move=> Ee Cc e0 a1 dd d0.
have half b : approx (Q2R e) (Q2R G + d) (fun h : n.-tuple O => transcript b h) (fun h : n.-tuple O =>
  transcript (~~ b) h).
  move=> S; rewrite /prob.
  pose Sb := [set h in S | ~~ within (spent (val h)).1.1 E].
  have hat (h : n.-tuple O) : 0 <= transcript b h - sigma h * PA b h by have := hat_below b h; lra.
  have s1 : \rsum_(h in S) transcript b h <= Q2R G + \rsum_(h in S) (sigma h * PA b h).
    have rm := removed b n; rewrite (bigID (mem S)) /= in rm.
    have r0 : 0 <= \big[Rplus/0]_(h : n.-tuple O | h \notin S) (transcript b h - sigma h * PA b h).
      by apply: rsum_ge0 => h _; exact: hat.
    have -> : \rsum_(h in S) transcript b h = \rsum_(h in S) (transcript b h - sigma h * PA b h) + \rsum_(h in S)
      (sigma h * PA b h).
      by rewrite -big_split /=; apply: eq_bigr => h _; ring.
    by move: rm r0; set x := \big[_/_]_(h | h \notin S) _; set y := \big[_/_]_(h in S) _; lra.
  have s2 : \rsum_(h in S) (sigma h * PA b h - exp (Q2R e) * (sigma h * PA (~~ b) h)) <= d.
    apply: Rle_trans dd; apply: Rle_trans (@rule_b a a1 (Q2R e) b n c Sb Cc _); last first.
      move=> h; rewrite inE => /andP [_ na]; have /andP [_] := spent_fits h; by rewrite (negbTE na).
    rewrite (bigID (fun h : n.-tuple O => within (spent h).1.1 E)) /=.
    have neg : \big[Rplus/0]_(h : n.-tuple O | (h \in S) && within (spent h).1.1 E)
        (sigma h * PA b h - exp (Q2R e) * (sigma h * PA (~~ b) h)) <= 0.
      rewrite -[X in _ <= X](@big1 _ _ Rplus_monoid _ (index_enum _) (fun h : n.-tuple O =>
        (h \in S) && within (spent h).1.1 E) (fun _ => 0)) //.
      apply: rsum_le => h /andP [_]; rewrite Ee /within; case se: (spent h).1.1 => [e'|//] /Qle_bool_imp_le /Qle_Rle le.
      have := @rule_a b h e' se; have := sigma01 h; have := exp_le le; have := PA_ge0 (~~ b) h => q0 x1 s01 x2.
      have x3 : PA b h <= exp (Q2R e) * PA (~~ b) h by nra.
      by nra.
    have -> : \big[Rplus/0]_(h in Sb) (sigma h * PA b h - exp (Q2R e) * (sigma h * PA (~~ b) h)) =
              \big[Rplus/0]_(h : n.-tuple O | (h \in S) && ~~ within (spent h).1.1 E)
                (sigma h * PA b h - exp (Q2R e) * (sigma h * PA (~~ b) h)).
      by apply: eq_bigl => h; rewrite inE.
    rewrite -[X in _ <= X]Rplus_0_l; apply: Rplus_le_compat; [exact: neg | exact: Rle_refl].
  have s3 : \rsum_(h in S) (sigma h * PA b h) =
      \rsum_(h in S) (sigma h * PA b h - exp (Q2R e) * (sigma h * PA (~~ b) h)) + exp (Q2R e) * \rsum_(h in S) (sigma
        h * PA (~~ b) h).
    by rewrite -rsum_scale -big_split /=; apply: eq_bigr => h _; ring.
  have s4 : exp (Q2R e) * (\rsum_(h in S) (sigma h * PA (~~ b) h)) <= exp (Q2R e) * (\rsum_(h in S) transcript (~~ b)
    h).
    apply: Rmult_le_compat_l; first exact/Rlt_le/exp_pos.
    by apply: rsum_le => h _; exact: hat_below.
  lra.
by split; [exact: half false | exact: half true].
Qed.
End Ledger.

(* Theorem 217: the first charge may choose. G is (1 - s) delta, `whole` is delta; if the first charge has a delta
   above G, the ledger goes by rule (a) alone with all of delta, and otherwise by both rules. What is asked first
   depends on no output. *)
Section First.
Variables (O : finType) (e c G whole : Q) (A : analyst O) (no : O).
Definition first_is_large : bool := if A [::] is Some q then ~~ Qle_bool (delta q) G else false.
Definition chosen_C : option Q := if first_is_large then None else Some c.
Definition chosen_G : Q := if first_is_large then whole else G.
Theorem theorem217 a d n : (0 <= e)%Q -> (0 <= c)%Q -> (0 <= G)%Q -> (0 <= whole)%Q -> Q2R G <= 1 -> Q2R whole <= 1 ->
  (forall h q, A h = Some q -> sound q) -> 1 < a -> delta_of a (a * Q2R c) (Q2R e) <= d -> 0 <= d ->
  Q2R G + d <= Q2R whole ->
  approxDP (Q2R e) (Q2R whole)
    (fun h : n.-tuple O => transcript (Some e) chosen_C chosen_G A no false h)
    (fun h : n.-tuple O => transcript (Some e) chosen_C chosen_G A no true h).
Proof.
move=> e0 c0 G0 w0 G1 w1 snd a1 dd d0 sum; have le0 q : (0 <= q)%Q -> Qle_bool 0 q by move/Qle_bool_iff.
rewrite /chosen_C /chosen_G; case: first_is_large.
  by apply: theorem215 => //; rewrite /fits /within /= !le0.
have st : fits (Some e) (Some c) G (Some 0%Q, Some 0%Q, 0%Q) by rewrite /fits /within /= !le0.
have [h h'] := @filter_approx O (Some e) (Some c) G A no st G1 snd e c a d n erefl erefl e0 a1 dd d0.
by split=> S; [apply: Rle_trans (h S) _ | apply: Rle_trans (h' S) _]; lra.
Qed.
End First.
