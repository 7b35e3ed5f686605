"""The certified distributions of sparse vectors and hybrids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from shortlist.audit.certified import base
from shortlist.audit.certified.base import NAMED, Curve, Entry, Law, gap_grid, noise_name, power, product, rational

if TYPE_CHECKING:
    from shortlist.mechanisms.threshold import HybridSparseVector, HybridTopK, SparseVector
    from shortlist.sampling.thresholds import Rules
    from shortlist.scores import Scores


BELOW = "below"
Outcome = str | tuple[str, float]
Number = int | float | Fraction


def sparse_vector_law(mechanism: SparseVector, scores: Scores) -> Law:
    """The density of all transcripts, the scores being the questions in their order; measured, with a few values."""
    rules, questions = mechanism.rules, scores.values.tolist()
    transcripts = transcript_law(rules, questions)
    if mechanism.measure is None:
        return transcripts
    assert transcripts.costs is not None
    prices = {branch.name: branch.cost for branch in rules.branches}
    law, costs = {}, {}
    for outcomes, chance in transcripts.chances.items():
        above = [rational(x) for x, one in zip(questions, outcomes, strict=False) if one != BELOW]
        spent = sum((prices[one[0]] for one in outcomes if one != BELOW), start=Fraction(0))
        scale = rational(mechanism._measuring(len(above), spent)) if above else fmpq(1)
        for values in cartesian((-9, 0, 9), repeat=len(above)):
            distance = sum((abs(fmpq(v) - x) for v, x in zip(values, above, strict=True)), start=fmpq(0))
            law[outcomes, values] = chance * power(-distance / scale)  # up to a factor that no neighbor changes
            costs[outcomes, values] = mechanism.guarantee.epsilon if above else transcripts.costs[outcomes]
    return Law(law, density=True, costs=costs)


def transcript(rules: Rules, questions: Sequence[Number], outcomes: Sequence[Outcome]) -> arb:
    """The probability (density, where gaps are named) of these outcomes of the first questions."""
    curve = _noise(rules, rational(rules.threshold_scale), fmpq(0))
    for question, outcome in zip(questions, outcomes, strict=False):
        curve = curve * _factor(rules, rational(question) - rational(rules.threshold), outcome)
    return curve.sum() if rules.whole else curve.integral()


def _noise(rules: Rules, scale: fmpq, at: fmpq) -> Curve:
    """The density of noise of that scale at z - at; with whole numbers its mass."""
    curve = base.density(NAMED[noise_name(rules.noise)], scale, at)
    return curve.scale(arb(scale) * (1 - power(-1 / scale))) if rules.whole else curve


def _factor(rules: Rules, question: fmpq, outcome: Outcome) -> Curve:
    """P(outcome | the threshold's noise is z)."""
    name, gap = outcome if isinstance(outcome, tuple) else (outcome, None)
    factors: list[Curve] = []
    for branch in rules.branches:
        scale, at = rational(branch.test.scale), question - rational(branch.test.centre)
        if branch.name == name and gap is not None:
            return product([*factors, _noise(rules, scale, at - rational(gap))])
        passes = base.survival(NAMED[noise_name(rules.noise)], scale, at - rational(branch.test.cut))
        if branch.name == name:
            return product([*factors, passes])
        factors.append(passes.complement())
    return product(factors)


def patterns(rules: Rules, length: int) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    """All sequences of outcomes without gaps, cut where the run stops, with what each has spent."""
    open_: list[tuple[tuple[str, ...], Fraction]] = [((), Fraction(0))]
    for _ in range(length):
        grown = []
        for before, spent in open_:
            grown.append(((*before, BELOW), spent))
            for branch in rules.branches:
                after = ((*before, branch.name), spent + branch.cost)
                if rules.first + after[1] + rules.each > rules.epsilon:  # no further "above" is paid for
                    yield after
                else:
                    grown.append(after)
        open_ = grown
    yield from open_


def transcript_law(rules: Rules, questions: Sequence[Number]) -> Law:
    """Densities of all transcripts of these questions, with a few gaps each, and what each costs."""
    law, costs = {}, {}
    shown: dict[str, list[Outcome]] = {BELOW: [BELOW]}
    for branch in rules.branches:
        shown[branch.name] = [(branch.name, float(branch.test.cut) + gap) for gap in (0, 1, 40)]
    for pattern, spent in patterns(rules, len(questions)):
        for outcomes in cartesian(*(shown[one] for one in pattern)):
            law[outcomes] = transcript(rules, questions, outcomes)
            costs[outcomes] = float(rules.first + spent)
    return Law(law, density=True, costs=costs)


CONSTANT = base.Curve((), (base.ONE,))


def hybrids_law(mechanism: HybridTopK, scores: Scores) -> Law:
    """(order, gaps, ended): the threshold runs along, and where it finishes the list ends (Definition 98)."""
    k, scale = mechanism.k, mechanism._scales(scores)[1]
    wide, noise = rational(scale), NAMED["exponential"]
    x = [rational(value) for value in scores.values.tolist()]
    line = rational(_threshold(mechanism, scores))
    densities, costs = {}, {}
    for n in range(min(k, len(x)) + 1):
        ended = n < k
        for order in permutations(range(len(x)), n):
            rest = [x[j] for j in range(len(x)) if j not in order]
            for gaps in gap_grid(n, scale):
                ahead = zip(order, base.leads(gaps), strict=True)
                winners = base.product([CONSTANT, *(base.density(noise, wide, x[i] - lead) for i, lead in ahead)])
                if ended:
                    others = [base.below(noise, wide, place) for place in rest]
                    value = base.product([winners, base.density(noise, wide, line), *others]).integral()
                else:
                    value = base.best_of(winners, [line, *rest], noise, wide).integral()
                densities[order, gaps, ended] = value
                costs[order, gaps, ended] = float(mechanism._cost(scores, n))
    return Law(densities, density=True, costs=costs)


def _threshold(mechanism: HybridTopK | HybridSparseVector, scores: Scores) -> int | float:
    """Negated with the scores, where the smallest are asked for."""
    return -mechanism.threshold if scores._negated else mechanism.threshold


def hybrids_sparse_vector_law(mechanism: HybridSparseVector, scores: Scores) -> Law:
    """(items in order of their gaps, gaps): an integral over the threshold's noise (Definition 98)."""
    below, scale = mechanism._scales(scores)
    noise, wide = NAMED["exponential"], rational(scale)
    at = Fraction(_threshold(mechanism, scores))
    shifted = [rational(Fraction(v) - at - scale + below) for v in scores.values.tolist()]
    line = base.density(noise, rational(below), fmpq(0))
    densities, costs = {}, {}
    for n in range(min(mechanism.k, len(shifted)) + 1):
        for order in permutations(range(len(shifted)), n):
            for gaps in gap_grid(n, scale):
                if list(gaps) != sorted(gaps, reverse=True):
                    continue
                bar = rational(gaps[-1]) if n == mechanism.k else fmpq(0)
                rest = [shifted[j] - bar for j in range(len(shifted)) if j not in order]
                winners = [
                    base.density(noise, wide, shifted[i] - rational(g)) for i, g in zip(order, gaps, strict=True)
                ]
                others = [base.below(noise, wide, place) for place in rest]
                densities[order, gaps] = base.product([line, *winners, *others]).integral()
                costs[order, gaps] = float(mechanism._cost(scores, n))
    return Law(densities, density=True, costs=costs)


SPARSE_VECTORS: dict[str, dict[str, Any]] = {
    "sparse-vector": {},
    "sparse-vector-laplace": {"noise": "laplace"},
    "sparse-vector-geometric": {"noise": "geometric"},
    "adaptive-sparse-vector": {"adaptive": True},
    "sparse-vector-branches": {"branches": (4, 2)},
}
AT_ZERO: dict[str, Any] = {"threshold": 0}
ABOUT: dict[str, Any] = {"sees_level": True, "at_threshold": True}
ENTRIES = (
    Entry(
        "SparseVector",
        sparse_vector_law,
        examples={name: AT_ZERO | words for name, words in SPARSE_VECTORS.items()},
        **ABOUT,
    ),
    Entry("HybridTopK", hybrids_law, examples={"hybrid-top-k": AT_ZERO}, **ABOUT),
    Entry("HybridSparseVector", hybrids_sparse_vector_law, examples={"hybrid-sparse-vector": AT_ZERO}, **ABOUT),
)
