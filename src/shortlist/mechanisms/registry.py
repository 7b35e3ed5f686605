"""All mechanisms: how each is chosen, planned, compared and audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist.accounting.curves import range_rho
from shortlist.errors import bad_value
from shortlist.exact.thresholds import OptimalTest
from shortlist.mechanisms.base import Budget, DeltaBudget
from shortlist.mechanisms.entry import MANY_NAMES, Audited, Compared, Entry, Fact, Method, Named, Request, Traced
from shortlist.mechanisms.gaps import ExponentialWithGap, GumbelTopKValues, MeasuredTopK, TopKWithGaps
from shortlist.mechanisms.lists import GuardedListTopK, JointTopK, OrderedCanonicalTopK
from shortlist.mechanisms.partition import (
    FEW_ROUNDS,
    KeySet,
    NamesChoice,
    choice_of,
    keys_of,
    list_of,
    set_of,
)
from shortlist.mechanisms.plan_rows import EVERY, Goal, Planned, as_goals, listed, reached, unlisted, unlisted_each
from shortlist.mechanisms.quantiles import Quantile
from shortlist.mechanisms.race import NoisyMax, OneshotTopK, quick_epsilon_of_a_round
from shortlist.mechanisms.sets import (
    CanonicalTopK,
    GuardedTopK,
    OneShot,
    budget_with_rounds,
    share_of,
)
from shortlist.mechanisms.stable import LargeGap, StableTopK
from shortlist.mechanisms.threshold import HybridSparseVector, HybridTopK, SparseVector
from shortlist.mechanisms.unknown_domain import GAMMA, CanonicalLimitedDomain, LimitedDomainTopK, default_limit
from shortlist.mechanisms.values import MeasuredSet, NoisyHistogram
from shortlist.mechanisms.votes import PATE, MultiLabelPATE
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, PureDP, ThinnedRange
from shortlist.scores import Scores
from shortlist.utility.sets import Utility
from shortlist.utility.unknown_domain import BarredRace, canonical_limited_domain


def _winner(noise: str) -> Callable[[Request], NoisyMax]:
    def build(request: Request) -> NoisyMax:
        if request.k != 1:
            raise bad_value('this method selects one winner; for several write $method="oneshot-exponential"')
        return NoisyMax(budget=request.budget, noise=noise)

    return build


def _named(noise: str) -> Named:
    def build(k: int, budget: Budget) -> NoisyMax:
        return NoisyMax(budget=budget, noise=noise)

    return Named(f"noisy-max-{noise}", build)


def _rows(k: int) -> Sequence[Planned]:
    """For one winner: one-shot top-k of one, whose laws know recall too."""
    if k != 1:
        return ()
    return (
        listed("permute-and-flip", "permute-and-flip", lambda p: OneshotTopK(k=1, epsilon=p, noise="exponential"),
               ordered=True, currencies=("pure",)),
        listed("exponential mechanism", "exponential", lambda p: OneshotTopK(k=1, epsilon=p, noise="gumbel"),
               ordered=True),
    )  # fmt: skip


NOISY_MAX_ENTRY = Entry(
    kind=NoisyMax,
    page="noisy-max.md",
    summary="adds noise to every score and releases who is on top; permute-and-flip and the exponential mechanism",
    gives="one winner",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise, (ε, δ) with Gaussian noise",
    methods=(
        Method(
            "permute-and-flip",
            _winner("exponential"),
            fact=Fact(
                "its failures are half those of the exponential mechanism where one rival decides", "docs/planning.md"
            ),
        ),
        Method(
            "exponential",
            _winner("gumbel"),
            fact=Fact("bounded range costs a quarter of the rho of any other noise", "docs/planning.md"),
        ),
    ),
    planned=_rows,
    audited=Audited(
        law="shortlist.audit.certified.race:noisy_max_law",
        names=tuple(map(_named, ("laplace", "logistic", "half-logistic", "gaussian"))),
    ),
)


def _guarded_list_rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()

    def law(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return reached(goal)(GuardedListTopK(k=k, budget=ApproxDP(epsilon, delta)), scores)

    def qualities(scores: Scores, epsilon: float, delta: float) -> dict[Goal, float]:
        return as_goals(GuardedListTopK(k=k, budget=ApproxDP(epsilon, delta)).quality(scores))

    def zcdp(p: float) -> GuardedListTopK:
        """Of a budget that one round of range p has."""
        budget = BoundedRange(p).as_zcdp()
        assert budget is not None, "bounded range has a rho"
        return GuardedListTopK(k=k, budget=budget)

    label, method = "guarded list", "guarded-list"
    return (
        listed(label, method, lambda p: GuardedListTopK(k=k, epsilon=p), ordered=True, currencies=("pure",)),
        listed(label, method, zcdp, ordered=True, currencies=("zcdp",)),
        Planned(label, method, True, 1, ("approx",), "known", EVERY, law, qualities, one_pair=True),
    )


def _twice(mechanism: GuardedListTopK) -> int:
    """How many scores an audit tries: with fewer there is no guard."""
    return 2 * mechanism.k


FACT = Fact(
    "on all shapes that were tried it cost at most .016 of recall beside one-shot alone",
    "docs/mechanisms/guarded-list.md",
)


GUARDED_LIST_ENTRY = Entry(
    kind=GuardedListTopK,
    page="guarded-list.md",
    summary="ordered canonical top-k that falls back to one-shot where wrong lists would crowd out the right one",
    gives="k items in order, and which way it went",
    budgets="pure, (ε, δ), zCDP",
    methods=(
        Method(
            "guarded-list",
            lambda request: GuardedListTopK(k=request.size, budget=request.budget),
            fact=FACT,
        ),
    ),
    compared=(Compared("guarded list", lambda k, epsilon: GuardedListTopK(k=k, epsilon=epsilon)),),
    planned=_guarded_list_rows,
    audited=Audited(law="shortlist.audit.certified.sets:law_of_guarded_list", one_by_one=True, k=2, size=_twice),
)


EXPONENTIAL, GUMBEL, LAPLACE = "one-shot, exponential", "one-shot, Gumbel", "one-shot, Laplace"


def _list(noise: str) -> Callable[[Request], OneshotTopK]:
    return lambda request: OneshotTopK(k=request.size, budget=request.budget, noise=noise)


def _pure_list(request: Request) -> OneshotTopK:
    """Exponential noise: a pure budget of the same epsilon keeps one with a delta, which it leaves alone."""
    budget = PureDP(request.budget.epsilon) if isinstance(request.budget, ApproxDP) else request.budget
    return OneshotTopK(k=request.size, budget=budget, noise="exponential")


def _curve(label: str, noise: str) -> Compared:
    return Compared(label, lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise=noise))


def _oneshot_rows(k: int) -> Sequence[Planned]:
    """One winner by exponential or Gumbel noise has names of its own."""
    several = (
        listed(EXPONENTIAL, "oneshot-exponential", lambda p: OneshotTopK(k=k, epsilon=p, noise="exponential"),
               ordered=True, rounds=k, currencies=("pure",)),
        listed(GUMBEL, "oneshot-gumbel", lambda p: OneshotTopK(k=k, epsilon=p, noise="gumbel"), ordered=True, rounds=k),
    )  # fmt: skip
    laplace = listed(LAPLACE, "oneshot-laplace", lambda p: OneshotTopK(k=k, epsilon=p, noise="laplace"),
                     ordered=True, rounds=k, currencies=("pure",))  # fmt: skip
    return (laplace,) if k == 1 else (*several, laplace)


ONESHOT_FACT = Fact(
    "on six public data sets it needed 0.78 to 0.93 of the epsilon of peeling for the same chance", "docs/planning.md"
)


ONESHOT_ENTRY = Entry(
    kind=OneshotTopK,
    page="oneshot.md",
    summary="adds noise once to every score and releases the k largest; with Gumbel noise it is peeling",
    gives="k items in order",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise",
    methods=(
        Method(
            "oneshot-gumbel",
            _list("gumbel"),
            fact=Fact("k rounds of bounded range compose with the square root of k", "docs/planning.md"),
        ),
        Method("peeling", _list("gumbel")),
        Method(
            "oneshot-exponential",
            _pure_list,
            fact=ONESHOT_FACT,
        ),
        Method("oneshot-laplace", _list("laplace")),
        Method("oneshot-logistic", _list("logistic")),
        Method("oneshot-half-logistic", _list("half-logistic")),
    ),
    compared=(_curve(EXPONENTIAL, "exponential"), _curve(GUMBEL, "gumbel"), _curve(LAPLACE, "laplace")),
    planned=_oneshot_rows,
    audited=Audited(law="shortlist.audit.certified.race:oneshot_law"),
)


JOINT_ENTRY = Entry(
    kind=JointTopK,
    page="joint.md",
    summary="the exponential mechanism over ordered sequences",
    gives="k items in order",
    budgets="pure, zCDP, (ε, δ)",
    methods=(
        Method(
            "joint",
            lambda request: JointTopK(k=request.size, budget=request.budget),
            fact=Fact("its loss is never better than canonical's", "docs/mechanisms/joint.md"),
        ),
    ),
    compared=(Compared("joint", lambda k, epsilon: JointTopK(k=k, epsilon=epsilon)),),
    planned=lambda k: (listed("joint", "joint", lambda p: JointTopK(k=k, epsilon=p), ordered=True),),
    audited=Audited(law="shortlist.audit.certified.sets:joint_law", one_by_one=True),
)


def _canonical_rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()
    return (
        listed("canonical", "canonical", lambda p: CanonicalTopK(k=k, epsilon=p), ordered=False, currencies=("pure",)),
        listed("canonical, Gumbel", "canonical", lambda p: CanonicalTopK(k=k, epsilon=p, noise="gumbel"),
               ordered=False, currencies=("zcdp", "approx")),
    )  # fmt: skip


CANONICAL_ENTRY = Entry(
    kind=CanonicalTopK,
    page="canonical.md",
    summary="one noisy maximum over all sets of k",
    gives="a set of k",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise",
    methods=(
        Method(
            "canonical",
            lambda request: CanonicalTopK(k=request.size, budget=request.budget),
            fact=Fact(
                "it needed 9.6, 110 and 765 times less epsilon than peeling for the top 10, 100 and 1,000 of Netflix",
                "docs/planning.md",
            ),
        ),
    ),
    compared=(Compared("canonical", lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon)),),
    planned=_canonical_rows,
    audited=Audited(law="shortlist.audit.certified.sets:canonical_law", one_by_one=True),
)


def by_rounds(mechanism: GuardedTopK, scores: Scores) -> Traced | None:
    """Its chance of the right set by the e of a round of one-shot, which tells epsilon at once."""
    budget, public = mechanism.guarantee, mechanism._guarding(scores)
    if not isinstance(budget, ApproxDP) or not budget.delta or public is None:
        return None
    k, share, delta = public.k, share_of(public.k, public.d), budget.delta

    def at(e: float) -> tuple[float, float]:
        whole, (noise, less) = budget_with_rounds(e, k, share, delta)
        one = replace(mechanism, budget=whole)
        run = one._followed(scores, public, OneShot(noise, scores.range_sensitivity / less))
        return whole.epsilon, Utility(run, len(scores)).success()

    return Traced(lambda epsilon: quick_epsilon_of_a_round(k, ApproxDP(epsilon, delta)), at)


def _guarded_rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()

    def zcdp(p: float) -> GuardedTopK:
        """Of a budget that one round of range p has."""
        budget = BoundedRange(p).as_zcdp()
        assert budget is not None, "bounded range has a rho"
        return GuardedTopK(k=k, budget=budget)

    def law(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return reached(goal)(GuardedTopK(k=k, budget=ApproxDP(epsilon, delta)), scores)

    def qualities(scores: Scores, epsilon: float, delta: float) -> dict[Goal, float]:
        return as_goals(GuardedTopK(k=k, budget=ApproxDP(epsilon, delta)).quality(scores))

    name = "guarded"
    return (
        listed(name, name, lambda p: GuardedTopK(k=k, epsilon=p), ordered=False, currencies=("pure",)),
        listed(name, name, zcdp, ordered=False, currencies=("zcdp",)),
        Planned(name, name, False, 1, ("approx",), "known", EVERY, law, qualities, one_pair=True),
    )


def _guarded_twice(mechanism: GuardedTopK) -> int:
    """How many scores an audit tries: with fewer there is no guard."""
    return 2 * mechanism.k


GUARDED_FACT = Fact(
    "for the true top 10, 100 or 1,000 of six public data sets it needed at most 1.29 times the epsilon of canonical",
    "docs/planning.md",
)

GUARDED_ENTRY = Entry(
    kind=GuardedTopK,
    page="guarded.md",
    summary="canonical top-k that falls back to one-shot where wrong sets would crowd out the right one",
    gives="a set of k, and which way it went",
    budgets="pure, (ε, δ), zCDP",
    methods=(
        Method(
            "guarded",
            lambda request: GuardedTopK(k=request.size, budget=request.budget),
            fact=GUARDED_FACT,
        ),
    ),
    compared=(Compared("guarded", lambda k, epsilon: GuardedTopK(k=k, epsilon=epsilon)),),
    planned=_guarded_rows,
    traced=by_rounds,
    audited=Audited(
        law="shortlist.audit.certified.sets:law_of_guarded_set",
        relabelled=True,
        one_by_one=True,
        k=3,
        size=_guarded_twice,
    ),
)


def _ordered_canonical_rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()
    return (
        listed("ordered canonical", "ordered-canonical", lambda p: OrderedCanonicalTopK(k=k, epsilon=p), ordered=True,
               currencies=("pure",)),
        listed("ordered canonical, Gumbel", "ordered-canonical",
               lambda p: OrderedCanonicalTopK(k=k, epsilon=p, noise="gumbel"), ordered=True,
               currencies=("zcdp", "approx")),
    )  # fmt: skip


ORDERED_CANONICAL_ENTRY = Entry(
    kind=OrderedCanonicalTopK,
    page="ordered-canonical.md",
    summary="one noisy maximum over all lists of k, in which the right list leads by its gap",
    gives="k items in order",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise",
    methods=(
        Method(
            "ordered-canonical",
            lambda request: OrderedCanonicalTopK(k=request.size, budget=request.budget),
            fact=Fact(
                "for the exact order of eight public lists it needed 0.43 to 0.56 of the epsilon of joint",
                "docs/mechanisms/ordered-canonical.md",
            ),
        ),
    ),
    compared=(Compared("ordered canonical", lambda k, epsilon: OrderedCanonicalTopK(k=k, epsilon=epsilon)),),
    planned=_ordered_canonical_rows,
    audited=Audited(law="shortlist.audit.certified.sets:ordered_canonical_law", one_by_one=True),
)


def _built(request: Request) -> GumbelTopKValues:
    return GumbelTopKValues(k=request.size, budget=request.budget)  # type: ignore[arg-type]


GUMBEL_VALUES_ENTRY = Entry(
    kind=GumbelTopKValues,
    page="gumbel-values.md",
    summary="Gumbel noise once, the k largest noisy scores released as they are",
    gives="k items in order with noisy values",
    budgets="(ε, δ)",
    methods=(
        Method(
            "gumbel-values",
            _built,
            values=True,
        ),
    ),
    audited=Audited(law="shortlist.audit.certified.race:gumbel_values_law", sees_level=True),
)


def _audited(k: int, budget: Budget) -> NoisyHistogram:
    """On so many scores that one person may move all of them: the cap is then no condition on neighbours."""
    return NoisyHistogram(k=k, most=k + 1, budget=budget)


def _histogram_built(request: Request) -> NoisyHistogram:
    if request.most is None:
        raise bad_value('$method="histogram" needs scores of which each person has a few at most: count with $most=3')
    return NoisyHistogram(k=request.size, most=request.most, budget=request.budget)


def _histogram_rows(k: int, most: int) -> Sequence[Planned]:
    """Under each budget with its own noise."""
    label = f"histogram, at most {most} a person"

    def histogram(epsilon: float, delta: float) -> NoisyHistogram:
        return NoisyHistogram(k=k, most=most, budget=ApproxDP(epsilon, delta))

    def law(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return reached(goal)(histogram(epsilon, delta), scores)

    def qualities(scores: Scores, epsilon: float, delta: float) -> dict[Goal, float]:
        return as_goals(histogram(epsilon, delta).quality(scores))

    return (
        listed(label, "histogram", lambda p: NoisyHistogram(k=k, most=most, epsilon=p), ordered=True,
               currencies=("pure",)),
        listed(label, "histogram", lambda p: NoisyHistogram(k=k, most=most, budget=ZCDP(range_rho(p))), ordered=True,
               currencies=("zcdp",)),
        Planned(label, "histogram", True, 1, ("approx",), "known", EVERY, law, qualities, one_pair=True),
    )  # fmt: skip


HISTOGRAM_ENTRY = Entry(
    kind=NoisyHistogram,
    page="noisy-histogram.md",
    summary="noise on every capped count, and the k largest of the noisy counts: one price for every k",
    gives="k items in order with values",
    budgets="pure, zCDP, (ε, δ)",
    methods=(
        Method(
            "histogram",
            _histogram_built,
            values=True,
        ),
    ),
    capped=_histogram_rows,
    audited=Audited(
        law="shortlist.audit.certified.race:histogram_law",
        sees_level=True,
        size=lambda mechanism: mechanism.most,
        names=(Named("histogram", _audited),),
    ),
)


def _gaps_built(request: Request) -> TopKWithGaps | MeasuredTopK:
    kind = MeasuredTopK if request.values else TopKWithGaps
    return kind(k=request.size, budget=request.budget)


WITH_GAPS = Entry(
    kind=TopKWithGaps,
    page="top-k-with-gaps.md",
    summary="the k largest noisy scores, and by how much each leads the next, free of charge",
    gives="k items in order with gaps",
    budgets="pure",
    methods=(
        Method(
            "gaps",
            _gaps_built,
            values=True,
            gaps=True,
        ),
    ),
    audited=Audited(law="shortlist.audit.certified.race:gaps_law"),
)

MEASURED = Entry(
    kind=MeasuredTopK,
    page="top-k-with-gaps.md",
    summary="selects with half of epsilon, measures with the other, and combines measurements and gaps",
    gives="k items in order with values and gaps",
    budgets="pure",
    audited=Audited(
        law="shortlist.audit.certified.race:law_of_measured_top_k",
        sees_level=True,
        names=(Named("measured", lambda k, budget: MeasuredTopK(k=k, budget=budget)),),
    ),
)

GAPS_ENTRY = (WITH_GAPS, MEASURED)


def _measured_built(request: Request) -> MeasuredSet:
    return MeasuredSet(k=request.size, budget=request.budget, limit=request.limit)


MEASURED_ENTRY = Entry(
    kind=MeasuredSet,
    page="measured.md",
    summary="selects a set with one part of the budget, and measures each of its members with the other",
    gives="at most k items in order of their noisy values, with margins",
    budgets="pure, zCDP, (ε, δ)",
    methods=(
        Method(
            "measured-set",
            _measured_built,
            domain="either",
            values=True,
        ),
    ),
    audited=Audited(law="shortlist.audit.certified.race:law_of_measured_set", sees_level=True, one_by_one=True),
)


EXPONENTIAL_GAP_ENTRY = Entry(
    kind=ExponentialWithGap,
    page="exponential-with-gap.md",
    summary="the exponential mechanism's winner with its lead, and how sure that lead makes it",
    gives="one winner with its gap and a p-value",
    budgets="pure",
    audited=Audited(
        law="shortlist.audit.certified.race:exponential_gap_law",
        names=(
            Named("exponential-with-gap", lambda k, budget: ExponentialWithGap(budget=budget)),
            Named("gap-of-a-winner", lambda k, budget: ExponentialWithGap(budget=budget, winner=0)),
        ),
    ),
)


def _sparse_vector_named(name: str, **words: Any) -> Named:
    def build(k: int, budget: Budget) -> SparseVector:
        return SparseVector(threshold=0, k=k, budget=budget, **words)

    return Named(name, build)


SPARSE_VECTOR_ENTRY = Entry(
    kind=SparseVector,
    page="sparse-vector.md",
    summary="which of many questions are above a threshold, one after another; those below are free",
    gives="answers with gaps, until k were above",
    budgets="pure",
    audited=Audited(
        law="shortlist.audit.certified.threshold:sparse_vector_law",
        sees_level=True,
        at_threshold=True,
        names=(
            _sparse_vector_named("sparse-vector"),
            _sparse_vector_named("sparse-vector-laplace", noise="laplace"),
            _sparse_vector_named("sparse-vector-geometric", noise="geometric"),
            _sparse_vector_named("adaptive-sparse-vector", adaptive=True),
            _sparse_vector_named("sparse-vector-branches", branches=(4, 2)),
        ),
    ),
)


TOP_K = Entry(
    kind=HybridTopK,
    page="hybrids.md",
    summary="top-k with gaps in which a threshold runs as well: the list ends where it finishes",
    gives="at most k items in order with gaps; costs less if fewer",
    budgets="pure",
    audited=Audited(
        law="shortlist.audit.certified.threshold:hybrids_law",
        sees_level=True,
        at_threshold=True,
        names=(Named("hybrid-top-k", lambda k, budget: HybridTopK(threshold=0, k=k, budget=budget)),),
    ),
)

SPARSE_VECTOR = Entry(
    kind=HybridSparseVector,
    page="hybrids.md",
    summary="the items above a noisy threshold, the k largest at most",
    gives="at most k items in order with gaps; costs less if fewer",
    budgets="pure",
    audited=Audited(
        law="shortlist.audit.certified.threshold:hybrids_sparse_vector_law",
        sees_level=True,
        at_threshold=True,
        names=(Named("hybrid-sparse-vector", lambda k, budget: HybridSparseVector(threshold=0, k=k, budget=budget)),),
    ),
)

HYBRIDS_ENTRY = (TOP_K, SPARSE_VECTOR)


def _stable_built(request: Request) -> StableTopK:
    return StableTopK(k=request.k, budget=request.budget, limit=request.limit, fill=request.k is not None)


def _whole(request: Request) -> StableTopK:
    return StableTopK(k=request.size, budget=request.budget)


def _stable_rows(k: int) -> Sequence[Planned]:
    def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        largest = np.partition(scores.values, len(scores) - np.array([k, k + 1]))[::-1]
        gap = int(largest[k - 1]) - int(largest[k])
        return float(OptimalTest(Fraction(p), Fraction(delta)).chance(gap))

    label, method = "stable, all or nothing", "all-or-nothing"
    return (unlisted(label, method, law, currencies=("approx",), goals=EVERY, one_pair=True),)


STABLE_ENTRY = Entry(
    kind=StableTopK,
    page="stable.md",
    summary="chooses k where the gap is large, tests that the set is stable, and releases it without noise",
    gives="a set, or nothing; filled up to k if wanted",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "stable",
            _stable_built,
            fact=Fact("where the scores fall off behind rank k, its cost does not grow with k", "docs/planning.md"),
            domain="unknown",
            ordered=False,
        ),
        Method("all-or-nothing", _whole, domain="unknown", ordered=False),
    ),
    planned=_stable_rows,
    audited=Audited(
        law="shortlist.audit.certified.stable:stable_law",
        inputs="histograms",
        sees_level=True,
        names=(Named("stable", lambda k, budget: StableTopK(k=k, budget=budget)),),
    ),
)


LABEL = "limited domain, Gumbel"
FEW = "limited domain, exponential"


def rates(k: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(e of a round, delta of the bar) as the mechanism calibrates them for ApproxDP(epsilon, delta)."""
    charge = LimitedDomainTopK(k=k, budget=ApproxDP(epsilon, delta)).charge
    assert isinstance(charge, ThinnedRange)
    return charge.epsilon, charge.delta


def _limited_domain_rows(k: int) -> Sequence[Planned]:
    def race(scores: Scores, goal: Goal, e: float, delta: float) -> float:
        field = BarredRace.of(scores.values, k, e, delta, default_limit(k))
        return field.top() if goal == "top" else field.recall()

    def by_rounds(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        return race(scores, goal, p / k, delta)

    def calibrated(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return race(scores, goal, *rates(k, epsilon, delta))

    def few(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        mechanism = list_of(Request(k, ApproxDP(epsilon, delta), public=False))
        return mechanism.success_probability(scores) if goal == "top" else mechanism.expected_recall(scores)

    zcdp = unlisted(LABEL, "limited-domain", by_rounds, ordered=True, rounds=k, currencies=("zcdp",))
    if k <= FEW_ROUNDS:  # as `list_of` builds it
        return zcdp, unlisted(FEW, "limited-domain", few, ordered=True, currencies=("approx",), one_pair=True)
    return (
        zcdp,
        unlisted(LABEL, "limited-domain", calibrated, ordered=True, rounds=k, currencies=("approx",), one_pair=True,
                 race=race),
    )  # fmt: skip


LIMITED_DOMAIN_ENTRY = Entry(
    kind=LimitedDomainTopK,
    page="limited-domain.md",
    summary="a list of labels that come from the data, which ends at a noisy bar",
    gives="at most k items in order, and whether the bar ended them; costs less if fewer",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "limited-domain",
            list_of,
            fact=Fact("a list that ends at its bar, and pays for the rounds it used", "docs/planning.md"),
            domain="unknown",
        ),
    ),
    planned=_limited_domain_rows,
    audited=Audited(
        law="shortlist.audit.certified.unknown_domain:law_of_limited_domain",
        inputs="histograms",
        sees_level=True,
        names=(
            Named("limited-domain", lambda k, budget: LimitedDomainTopK(k=k, budget=budget, limit=k + 1)),
            Named(
                "limited-domain-exponential",
                lambda k, budget: LimitedDomainTopK(k=k, budget=budget, limit=k + 1, noise="exponential"),
            ),
        ),
    ),
)


def _canonical_limited_rows(k: int) -> Sequence[Planned]:
    def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        quality = canonical_limited_domain(scores.values, k, p, delta, 2 * k, float(GAMMA))
        return quality.top if goal == "top" else quality.recall

    label, method = "canonical, limited domain", "canonical-limited-domain"
    return (unlisted(label, method, law, currencies=("zcdp", "approx"), one_pair=True),)


CANONICAL_LIMITED_ENTRY = Entry(
    kind=CanonicalLimitedDomain,
    page="canonical-limited-domain.md",
    summary="a set of labels that come from the data, in one round",
    gives="a set of at most k",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "canonical-limited-domain",
            set_of,
            fact=Fact("its bar is lower than that of a list from k = 2 on, at delta = 1e-6", "docs/planning.md"),
            domain="unknown",
            ordered=False,
        ),
    ),
    planned=_canonical_limited_rows,
    audited=Audited(
        law="shortlist.audit.certified.unknown_domain:canonical_limited_law",
        inputs="histograms",
        sees_level=True,
        one_by_one=True,
        names=(Named("canonical-limited-domain", lambda k, budget: CanonicalLimitedDomain(k=k, budget=budget)),),
    ),
)


def _labels(mechanism: KeySet) -> int:
    """How many labels an audit tries: nobody may bring more than count."""
    assert mechanism.most is not None
    return min(3, mechanism.most)


def _keys_rows(k: int, most: int) -> Sequence[Planned]:
    """The k largest of what each person kept."""

    def build(budget: DeltaBudget) -> KeySet | None:
        mechanism = KeySet(most=most, k=k, values=False, budget=budget)
        return mechanism if mechanism.fits_tables else None

    return unlisted_each(f"key set, at most {most} a person", "keys", build, ordered=True)


def _weighed(k: int, most: int) -> Sequence[Planned]:
    """The k largest of the votes that each person shares."""

    def build(budget: DeltaBudget) -> KeySet | None:
        mechanism = KeySet(most=most, weighted=True, k=k, values=False, budget=budget)
        return mechanism if mechanism.fits_tables else None

    return unlisted_each("key set of shared votes", "keys", build)


KEYS_ENTRY = Entry(
    kind=KeySet,
    page="keys.md",
    summary="every label whose noisy sum reaches a bar, from counts to which a person brings a capped part",
    gives="names with noisy counts, or a set",
    budgets="(ε, δ), zCDP with a δ",
    methods=(Method("keys", keys_of, domain="unknown", values=True),),
    capped=_keys_rows,
    weighed=_weighed,
    audited=Audited(
        law="shortlist.audit.certified.unknown_domain:keys_law",
        inputs="histograms",
        sees_level=True,
        size=_labels,
        names=(
            Named("keys", lambda k, budget: KeySet(most=3, budget=budget)),
            Named("keys-2", lambda k, budget: KeySet(most=2, budget=budget)),
        ),
    ),
)


def _names_choice_rows(k: int) -> Sequence[Planned]:
    """Of counts without weights, where the rule takes it for rows too."""
    if not 1 < k <= MANY_NAMES:
        return ()
    return unlisted_each("noisy choice", "names-choice", lambda budget: NamesChoice(k=k, budget=budget))


def _names_choice_weighed(k: int, most: int) -> Sequence[Planned]:
    """With a key set among its ways, as rows get it."""
    if not 1 < k <= MANY_NAMES:
        return ()
    return unlisted_each("noisy choice", "names-choice", lambda budget: NamesChoice(k=k, budget=budget, most=most))


NAMES_CHOICE_ENTRY = Entry(
    kind=NamesChoice,
    page="names-choice.md",
    summary="a noisy choice between sets, a list and a key set of names from the data, then the one that was chosen",
    gives="at most k items, and which way it went",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "names-choice",
            choice_of,
            fact=Fact("no fixed mechanism does well on flat, steep and long data alike", "docs/names.md"),
            domain="unknown",
        ),
    ),
    planned=_names_choice_rows,
    weighed=_names_choice_weighed,
    audited=Audited(
        law="shortlist.audit.certified.unknown_domain:names_choice_law",
        inputs="histograms",
        sees_level=True,
        one_by_one=True,
        names=(Named("names-choice", lambda k, budget: NamesChoice(k=k, budget=budget)),),
    ),
)


LARGE_GAP_ENTRY = Entry(
    kind=LargeGap,
    page="large-gap.md",
    summary="how many: the rank behind which the scores fall off",
    gives="a number k",
    budgets="pure, zCDP, (ε, δ)",
    audited=Audited(
        law="shortlist.audit.certified.stable:large_gap_law",
        sees_level=True,
        ranks=True,
        names=(Named("large-gap", lambda k, budget: LargeGap(budget=budget)),),
    ),
)


QUANTILE_ENTRY = Entry(
    kind=Quantile,
    page="quantile.md",
    summary="a median or other quantiles of one number per person, on a public grid of any size",
    gives="one point of the grid for each q",
    budgets="pure, zCDP, (ε, δ)",
    audited=Audited(
        law="shortlist.audit.certified.stable:quantile_law",
        inputs="line",
        sees_level=True,
        one_by_one=True,
        size=lambda mechanism: 3,
        names=(
            Named("quantile", lambda k, budget: Quantile(q=0.5, budget=budget, votes_per_user=1)),
            Named(
                "quantile-gumbel", lambda k, budget: Quantile(q=0.25, budget=budget, noise="gumbel", votes_per_user=1)
            ),
            Named("quantiles", lambda k, budget: Quantile(q=(0.25, 0.5, 0.75), budget=budget, votes_per_user=1)),
        ),
    ),
)


ONE_LABEL = Entry(
    kind=PATE,
    page="pate.md",
    summary="the class that most teachers name, for a fixed number of queries",
    gives="one label",
    budgets="zCDP, stated at a δ",
    audited=Audited(law="shortlist.audit.certified.stable:class_law", inputs="votes"),
)

MULTI_LABEL = Entry(
    kind=MultiLabelPATE,
    page="pate.md",
    summary="the labels on which a stable majority of teachers agrees, for a fixed number of queries",
    gives="a set of labels, or none",
    budgets="zCDP, stated at a δ",
    audited=Audited(law="shortlist.audit.certified.stable:pate_law", inputs="votes", sees_level=True),
)

PATE_ENTRY = (ONE_LABEL, MULTI_LABEL)


ENTRIES: tuple[Entry, ...] = (
    NOISY_MAX_ENTRY,
    ONESHOT_ENTRY,
    JOINT_ENTRY,
    CANONICAL_ENTRY,
    GUARDED_ENTRY,
    ORDERED_CANONICAL_ENTRY,
    GUARDED_LIST_ENTRY,
    GUMBEL_VALUES_ENTRY,
    HISTOGRAM_ENTRY,
    *GAPS_ENTRY,
    MEASURED_ENTRY,
    EXPONENTIAL_GAP_ENTRY,
    SPARSE_VECTOR_ENTRY,
    *HYBRIDS_ENTRY,
    STABLE_ENTRY,
    LIMITED_DOMAIN_ENTRY,
    CANONICAL_LIMITED_ENTRY,
    KEYS_ENTRY,
    NAMES_CHOICE_ENTRY,
    LARGE_GAP_ENTRY,
    QUANTILE_ENTRY,
    *PATE_ENTRY,
)
"""In this order they stand in tables, comparisons and messages."""

METHODS: dict[str, Method] = {method.name: method for entry in ENTRIES for method in entry.methods}
"""By the words for `method=`."""


def entry_of(subject: object) -> Entry | None:
    """The entry of a mechanism, or of the one that it is made of; None for what is none of ours."""
    return next((entry for entry in ENTRIES if isinstance(subject, entry.kind)), None)


def audited(subject: object) -> Audited | None:
    """How a mechanism is audited; None for what is none of ours."""
    entry = entry_of(subject)
    return None if entry is None else entry.audited


def table(pages: str) -> list[str]:
    """All mechanisms as a table in Markdown; `pages` leads from where it stands to docs/mechanisms."""
    rows = ["| mechanism | what it does | what a release carries | budgets | `method=` |", "|---|---|---|---|---|"]
    for entry in ENTRIES:
        name = f"[`{entry.kind.__name__}`]({pages}{entry.page})"
        words = ", ".join(f"`{method.name}`" for method in entry.methods)
        rows.append(f"| {name} | {entry.summary} | {entry.gives} | {entry.budgets} | {words} |")
    return rows
