"""Certified laws of sparse-vector transcripts: an integral, or a sum, over the threshold's noise (Definition 94).

An outcome of one question is "below", the name of the test it passed, or (name, gap). What was above may be
measured afterwards (Theorem 272).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product as cartesian
from typing import TYPE_CHECKING

from flint import arb, fmpq

from shortlist.certified.curves import NAMED, Curve, density, power, product, rational, survival
from shortlist.certified.law import Law, noise_name

if TYPE_CHECKING:
    from shortlist.mechanisms.sparse_vector.mechanism import SparseVector
    from shortlist.mechanisms.sparse_vector.stream import Branch, Rules
    from shortlist.scores import Scores

BELOW = "below"
Outcome = str | tuple[str, float]
Number = int | float | Fraction


def law(mechanism: SparseVector, scores: Scores) -> Law:
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
    curve = density(NAMED[noise_name(rules.noise)], scale, at)
    return curve.scaled(arb(scale) * (1 - power(-1 / scale))) if rules.whole else curve


def _factor(rules: Rules, question: fmpq, outcome: Outcome) -> Curve:
    """P(outcome | the threshold's noise is z)."""
    name, gap = outcome if isinstance(outcome, tuple) else (outcome, None)
    factors: list[Curve] = []
    for branch in rules.branches:
        if branch.name == name and gap is not None:
            at = question - rational(branch.test.centre) - rational(gap)
            return product([*factors, _noise(rules, rational(branch.test.scale), at)])
        passes = _passing(rules, branch, question)
        if branch.name == name:
            return product([*factors, passes])
        factors.append(passes.complement())
    return product(factors)


def _passing(rules: Rules, branch: Branch, question: fmpq) -> Curve:
    test = branch.test
    at = question - rational(test.centre) - rational(test.cut)
    return survival(NAMED[noise_name(rules.noise)], rational(test.scale), at)


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
    cuts: dict[str, float] = {branch.name: float(branch.test.cut) for branch in rules.branches}
    for pattern, spent in patterns(rules, len(questions)):
        choices: list[list[Outcome]] = [
            [BELOW] if one == BELOW else [(one, cuts[one] + gap) for gap in (0, 1, 40)] for one in pattern
        ]
        for outcomes in cartesian(*choices):
            law[outcomes] = transcript(rules, questions, outcomes)
            costs[outcomes] = float(rules.first + spent)
    return Law(law, density=True, costs=costs)
