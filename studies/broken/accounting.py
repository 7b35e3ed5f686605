"""Broken accountants: right mechanisms, composed, and charged too little. Exact laws of the whole interaction."""

from __future__ import annotations

import math
from itertools import product

from flint import arb, fmpz

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, power, rational
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from studies.broken.entry import Broken


def repeated(x: Point, rounds: int, epsilon: float) -> Law:
    """The exponential mechanism on two candidates, so many times: how often the first won."""
    one, two = (power(rational(epsilon) * rational(value)) for value in x)
    p = one / (one + two)
    return Law({n: arb(fmpz.bin_uiui(rounds, n)) * p**n * (1 - p) ** (rounds - n) for n in range(rounds + 1)})


def _response(bit: int, epsilon: float) -> dict[int, arb]:
    """Randomised response."""
    true = 1 / (1 + power(-rational(epsilon)))
    return {bit: true, 1 - bit: 1 - true}


def tightest_composition(x: Point) -> Law:
    """RR(.5) first; if it said 1, RR(.6313), otherwise a (0, .05) mechanism (Proposition 35).

    Each path alone fits (1, .05).
    """
    (bit,) = x
    law: dict[object, arb] = {}
    for first, chance in _response(bit, 0.5).items():
        if first == 1:
            law |= {(1, second): chance * p for second, p in _response(bit, 0.6313).items()}
        else:
            law |= {(0, "shown", bit): chance * arb(rational(0.05)), (0, "hidden"): chance * arb(rational(0.95))}
    keys = [(1, 0), (1, 1), (0, "shown", 0), (0, "shown", 1), (0, "hidden")]
    return Law({key: law.get(key, arb(0)) for key in keys})


def _binary(x: Point, times: int, epsilon: float) -> Law:
    """Randomised response, so many times, all answers in order."""
    (bit,) = x
    single = _response(bit, epsilon)
    law = {}
    for answers in product((0, 1), repeat=times):
        chance = arb(1)
        for answer in answers:
            chance *= single[answer]
        law[answers] = chance
    return Law(law)


PRINTED = 0.5 + math.sqrt(2 * 0.5 * math.log(1e6))
"""Theorem 11 of the adaptive-k paper: rho + sqrt(2 rho ln(1 / delta)), rho = .5 and delta = 1e-6."""

ENTRIES = (
    Broken(
        name="count ignored",
        what="an event with a count is charged once: ten answers for the price of one",
        source="a published accountant, composed events",
        claim=PureDP(0.5),
        law=lambda x: _binary(x, 10, 0.5),
        pairs=(((0,), (1,)),),
    ),
    Broken(
        name="the adaptive-k paper's conversion",
        what="rho + sqrt(2 rho ln(1/delta)): the 2 belongs outside the root",
        source="the adaptive-k paper, its Theorem 11",  # (Proposition 146)
        claim=ApproxDP(PRINTED, 1e-6),
        law=lambda x: repeated(x, 400, 0.1),
        pairs=(((0.5, 0.0), (0.0, 0.5)), ((1, 0), (0, 0)), ((0, 0), (0, 1))),
    ),
    Broken(
        name="per-round fixed-k budget",
        what="an epsilon of 2 sqrt(rho) for all rounds is spent in each of 10: ten times rho / 2",
        source="a common slip: the sum over the rounds is due",  # (Proposition 148)
        claim=ZCDP(0.05),
        law=lambda x: repeated(x, 10, 2 * math.sqrt(0.1)),
        pairs=(((1, 0), (0, 0)), ((1, 0), (1, 1))),
    ),
    Broken(
        name="ledger that adds up the tightest composition",
        what="a charge is admitted if the best composition so far fits: but it was chosen by the answers",
        source="a tempting rule; exact counterexample in docs/accounting.md",  # (Proposition 35)
        claim=ApproxDP(1.0, 0.0501),
        law=tightest_composition,
        pairs=(((0,), (1,)),),
    ),
)
