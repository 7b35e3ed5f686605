"""Certified hockey sticks of a released Gumbel value with its winner (SPEC 4): its log ratio has no bound, so no `Law`.

In E = e^(-value / scale) the density of (winner i, E) is w_i e^(-W E), w_i = e^(x_i / scale), W their sum. For each
winner the log ratio is linear in E, so the hockey stick is a difference of exponentials, in closed form.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from shortlist.audit.boxes import TOLERANCE, Point, Proof, epsilons_of, neighbours
from shortlist.audit.curves import PRECISION, power, rational
from shortlist.mechanisms import GumbelTopKValues
from shortlist.privacy import Guarantee
from shortlist.scores import Scores


def value_stick(x: Point, y: Point, scale: Fraction, epsilon: float) -> arb:
    """sup over events S of P_x(S) - e^epsilon P_y(S), for the largest noisy score and whose it is."""
    here, there = ([power(rational(Fraction(value) / scale)) for value in point] for point in (x, y))
    total, other = sum(here, start=arb(0)), sum(there, start=arb(0))
    factor = power(rational(epsilon))
    same = sum(map(Fraction, x)) == sum(map(Fraction, y)) and sorted(x) == sorted(y)
    stick = arb(0)
    for one, two in zip(here, there, strict=True):
        lead = (one / two).log() - arb(rational(epsilon))
        if same:
            stick += (one / total - factor * two / other).max(arb(0))
            continue
        if not (total > other or total < other):
            raise ArithmeticError("the two rates could not be told apart: more precision is needed")
        # ahead where lead > (total - other) E: below a point if total is larger, above it otherwise
        place = (lead / (total - other)).max(arb(0))
        tail, other_tail = (-total * place).exp(), (-other * place).exp()
        above = one / total * tail - factor * two / other * other_tail
        all_of_it = one / total - factor * two / other
        stick += (all_of_it - above if total > other else above).max(arb(0))
    return stick


def prove_values(
    mechanism: GumbelTopKValues, *, d: int = 3, top: int = 2, monotone: bool = False, claim: Guarantee | None = None
) -> Proof:
    """Compare the hockey sticks of one value (k = 1) with the claim, on all neighbours of a box, both ways round."""
    if mechanism.k != 1:
        raise ValueError("one value is enumerated, k=1; for more use sl.audit, which only draws")
    promised = mechanism.guarantee if claim is None else claim
    scale = mechanism.scale(Scores([0, 1], monotone=monotone))
    tried = [(epsilon, promised.delta_at(epsilon)) for epsilon in epsilons_of(promised)]
    pairs, worst, violation = 0, -1.0, ""
    with ctx.workprec(PRECISION):
        for one, two in neighbours(d, top, monotone=monotone):
            pairs += 1
            for x, y in ((one, two), (two, one)):
                for epsilon, delta in tried:
                    stick = float(value_stick(x, y, scale, epsilon).upper())
                    worst = max(worst, stick - delta)
                    if stick > delta + TOLERANCE and not violation:
                        violation = (
                            f"the hockey stick at {epsilon:g} is {stick:.6g} on {x} and {y}, more than {delta:g}"
                        )
    inf = float("inf")
    return Proof(promised, pairs, d, inf, 0.0, inf, worst, -inf, violation)
