"""The certified law of each mechanism on small inputs: what `prove_mechanism` compares with its promise.

They are written from the formulas in docs/mechanisms, not from the samplers, and share nothing with the exact laws.
Only how much noise there is they ask the mechanism, where its sampler asks too: a wrong calibration shows on the box.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any

from flint import arb, ctx, fmpq

from shortlist.audit.black_box import UNKNOWN
from shortlist.audit.enumeration import TOLERANCE, Law, Point, Proof, RealLaw, alike, neighbours, prove
from shortlist.audit.set_laws import canonical, guarded, joint
from shortlist.audit.unknown_laws import (
    ballots,
    canonical_limited,
    histograms,
    large_gap,
    limited_domain,
    pate_law,
    stable,
)
from shortlist.audit.values import gumbel_values
from shortlist.certified import curves
from shortlist.certified.curves import NAMED, PRECISION, power, rational
from shortlist.certified.races import best_of, gap_density, leads, ordered_law, set_law
from shortlist.certified.transcripts import transcript_law
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    ExponentialWithGap,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    JointTopK,
    LargeGap,
    LimitedDomainTopK,
    MeasuredTopK,
    Mechanism,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.checks import Budget, checked_noise
from shortlist.pate import MultiLabelPATE
from shortlist.privacy import Guarantee
from shortlist.scores import Scores

GAPS = (0.0, 0.3, 1.0, 2.5, 30.0)
"""Where densities of gaps are compared, in units of the noise."""

AnyLaw = Law | RealLaw
Maker = Callable[[Any, Scores], AnyLaw]


def law_of(mechanism: Mechanism, scores: Scores) -> AnyLaw:
    """The certified law of this mechanism on these scores.

    Raises
    ------
    ValueError
        where none is known.
    """
    for kind, maker in MAKERS.items():
        if isinstance(mechanism, kind):
            with ctx.workprec(PRECISION):
                return maker(mechanism, scores)
    raise ValueError(f"no certified law is known for {type(mechanism).__name__}; use sl.audit, which only draws")


def prove_mechanism(
    mechanism: Mechanism,
    *,
    d: int = 3,
    top: int = 2,
    monotone: bool = False,
    public: bool = True,
    claim: Guarantee | None = None,
) -> Proof:
    """Enumerate the mechanism on all neighbours of the box {0..top}^d and compare it with its charge.

    Without a `claim` the charge must also fit the budget that was asked for. Where the order of the scores makes no
    difference, one order of each is enough. If the list is not `public`, a count of 0 is an absent label.

    >>> from shortlist.mechanisms import NoisyMax
    >>> print(prove_mechanism(NoisyMax(epsilon=1.0), d=2, top=1))
    proved on this box: PureDP(epsilon=1.0) for 24 pairs of neighbours, largest log ratio 1.000000
    """

    def law(x: Point) -> AnyLaw:
        return law_of(mechanism, Scores(list(x), monotone=monotone, public=public))

    promised = mechanism.charge if claim is None else claim
    if isinstance(mechanism, UNKNOWN):
        monotone = True
        same = partial(alike, exchangeable=True, shift_invariant=False)
        proof = prove(_remembered(law, False, False), histograms(d, top), promised, alike=same)
    else:
        free, shift = mechanism.exchangeable, _shift_invariant(mechanism)
        remembered = _remembered(law, shift, isinstance(mechanism, GuardedTopK))
        same = partial(alike, exchangeable=free, shift_invariant=shift)
        proof = prove(remembered, neighbours(d, top, monotone=monotone, everywhere=not free), promised, alike=same)
    return _within_budget(proof, mechanism.guarantee) if claim is None else proof


def _within_budget(proof: Proof, budget: Guarantee) -> Proof:
    """The proof, unless what it proves is more than the budget allows."""
    if not proof.holds or not isinstance(budget, Budget) or budget.excess(proof.claim) <= TOLERANCE:
        return proof
    return replace(proof, violation=f"{proof.claim} does not fit the budget {budget}")


def prove_pate(pate: MultiLabelPATE, *, labels: int = 3, teachers: int = 5, claim: Guarantee | None = None) -> Proof:
    """Enumerate one query on all counts of so many teachers' votes, one teacher's votes replaced."""

    def law(counts: Point) -> Law:
        with ctx.workprec(PRECISION):
            return pate_law(pate, counts)

    same = partial(alike, exchangeable=True, shift_invariant=False)
    return prove(law, ballots(labels, teachers), pate.query if claim is None else claim, alike=same)


def _shift_invariant(mechanism: Mechanism) -> bool:
    """Index-only mechanisms and gaps do not see a common shift; thresholds and values do."""
    seeing = LargeGap | SparseVector | HybridTopK | HybridSparseVector | MeasuredTopK | GumbelTopKValues
    return not isinstance(mechanism, seeing)


def _remembered(law: Callable[[Point], AnyLaw], shift: bool, relabel: bool) -> Callable[[Point], AnyLaw]:
    """Each law once per shift, and per order of the scores where outcomes are (sorted set, rest)."""
    known: dict[Point, AnyLaw] = {}

    def found(x: Point) -> AnyLaw:
        moved = tuple(value - max(x) for value in x) if shift else x
        order = sorted(range(len(x)), key=lambda i: moved[i]) if relabel else list(range(len(x)))
        key = tuple(moved[i] for i in order)
        if key not in known:
            known[key] = law(key)
        plain = known[key]
        if not (relabel and isinstance(plain, Law)):
            return plain
        renamed = {
            (tuple(sorted(order[i] for i in chosen)), rest): chance for (chosen, rest), chance in plain.chances.items()
        }
        return Law(dict(sorted(renamed.items())))

    return found


def _noisy_max(mechanism: NoisyMax, scores: Scores) -> Law:
    one = mechanism._top_one
    if isinstance(one, OneshotTopK):
        return _oneshot(one, scores)
    return Law(ordered_law(scores.values.tolist(), 1, "gaussian", one._scale(scores)))


def _oneshot(mechanism: OneshotTopK, scores: Scores) -> Law:
    noise = checked_noise(mechanism.noise).name
    law = ordered_law if mechanism.ordered and (mechanism.k <= 2 or noise == "gumbel") else set_law
    return Law(law(scores.values.tolist(), mechanism.k, noise, mechanism._scale(scores)))


def _grid(k: int, scale: Fraction) -> list[tuple[float, ...]]:
    return list(product([gap * float(scale) for gap in GAPS], repeat=k))


def _gaps(mechanism: TopKWithGaps, scores: Scores) -> Law:
    return Law(_gap_densities(mechanism, scores, mechanism._scale(scores)), density=True)


def _gap_densities(mechanism: TopKWithGaps | MeasuredTopK, scores: Scores, scale: Fraction) -> dict[Any, arb]:
    x, noise = scores.values.tolist(), NAMED[mechanism.noise]
    return {
        (order, gaps): gap_density(x, order, gaps, noise, scale)
        for order in permutations(range(len(x)), mechanism.k)
        for gaps in _grid(mechanism.k, scale)
    }


def _measured(mechanism: MeasuredTopK, scores: Scores) -> Law:
    """The density of (order, gaps, measurements), of which values and gaps are a one-to-one function."""
    selection, measurement = mechanism._scales(scores)
    x, scale = [rational(value) for value in scores.values.tolist()], rational(measurement)
    law = {}
    for (order, gaps), value in _gap_densities(mechanism, scores, selection).items():
        for seen in product((-8, 0, 8), repeat=mechanism.k):
            distance = sum((abs(fmpq(at) - x[i]) for i, at in zip(order, seen, strict=True)), start=fmpq(0))
            law[order, gaps, seen] = value * power(-distance / scale)
    return Law(law, density=True)


def _exponential_gap(mechanism: ExponentialWithGap, scores: Scores) -> Law:
    """The joint density of winner and gap is logistic: e^(theta - g) / (1 + e^(theta - g))^2 (Theorem 86)."""
    scale = mechanism._scale(scores)
    m = [rational(Fraction(value) / scale) for value in scores.values.tolist()]
    law: dict[Hashable, arb] = {}
    for s in range(len(m)):
        theta = arb(m[s]) - sum((power(m[j]) for j in range(len(m)) if j != s), start=arb(0)).log()
        for gap in GAPS:
            odds = (theta - arb(gap)).exp()
            law[s, gap] = odds / (1 + odds) ** 2
    return Law(law, density=True)


def _sparse(mechanism: SparseVector, scores: Scores) -> Law:
    return transcript_law(mechanism.rules, scores.values.tolist())


def _hybrid_top_k(mechanism: HybridTopK, scores: Scores) -> Law:
    """(order, gaps, ended): the threshold runs along, and where it finishes the list ends (Definition 98)."""
    k, scale = mechanism.k, mechanism._scale(scores)
    wide, noise = rational(scale), NAMED["exponential"]
    x = [rational(value) for value in scores.values.tolist()]
    line = rational(mechanism.threshold)
    law, costs = {}, {}
    for n in range(min(k, len(x)) + 1):
        ended = n < k
        for order in permutations(range(len(x)), n):
            rest = [x[j] for j in range(len(x)) if j not in order]
            for gaps in _grid(n, scale):
                ahead = zip(order, leads(gaps), strict=True)
                winners = curves.product([CONSTANT, *(curves.density(noise, wide, x[i] - lead) for i, lead in ahead)])
                if ended:
                    others = [curves.below(noise, wide, place) for place in rest]
                    value = curves.product([winners, curves.density(noise, wide, line), *others]).integral()
                else:
                    value = best_of(winners, [line, *rest], noise, wide).integral()
                law[order, gaps, ended] = value
                costs[order, gaps, ended] = float(mechanism._cost(scores, n))
    return Law(law, density=True, costs=costs)


CONSTANT = curves.Curve((), (curves.ONE,))


def _hybrid_sparse(mechanism: HybridSparseVector, scores: Scores) -> Law:
    """(items in order of their gaps, gaps): an integral over the threshold's noise (Definition 98)."""
    below, scale = mechanism._scales(scores)
    noise, wide = NAMED["exponential"], rational(scale)
    shifted = [rational(Fraction(v) - Fraction(mechanism.threshold) - scale + below) for v in scores.values.tolist()]
    line = curves.density(noise, rational(below), fmpq(0))
    law, costs = {}, {}
    for n in range(min(mechanism.k, len(shifted)) + 1):
        for order in permutations(range(len(shifted)), n):
            for gaps in product([gap * float(scale) for gap in GAPS], repeat=n):
                if list(gaps) != sorted(gaps, reverse=True):
                    continue
                bar = rational(gaps[-1]) if n == mechanism.k else fmpq(0)
                rest = [shifted[j] - bar for j in range(len(shifted)) if j not in order]
                winners = [
                    curves.density(noise, wide, shifted[i] - rational(g)) for i, g in zip(order, gaps, strict=True)
                ]
                others = [curves.below(noise, wide, place) for place in rest]
                law[order, gaps] = curves.product([line, *winners, *others]).integral()
                costs[order, gaps] = float(mechanism._cost(scores, n))
    return Law(law, density=True, costs=costs)


MAKERS: dict[type[Mechanism], Maker] = {
    NoisyMax: _noisy_max,
    OneshotTopK: _oneshot,
    CanonicalTopK: canonical,
    GuardedTopK: guarded,
    JointTopK: joint,
    TopKWithGaps: _gaps,
    MeasuredTopK: _measured,
    ExponentialWithGap: _exponential_gap,
    GumbelTopKValues: gumbel_values,
    SparseVector: _sparse,
    HybridTopK: _hybrid_top_k,
    HybridSparseVector: _hybrid_sparse,
    LargeGap: large_gap,
    StableTopK: stable,
    LimitedDomainTopK: limited_domain,
    CanonicalLimitedDomain: canonical_limited,
}
