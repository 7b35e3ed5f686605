"""Broken tuning: the best of many private runs, charged for less than it tells; all by their exact laws.

One run is a coin about one bit of the data, right with probability e/(1 + e): epsilon is 1, and the coin is the score.
"""

from __future__ import annotations

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, power, rational
from shortlist.privacy import Binomial, NegativeBinomial, Poisson, PureDP, RenyiDP, Tuned
from studies.broken.entry import Broken
from studies.broken.run_numbers import best_law, chances, generating

TEN = NegativeBinomial(mean=10, eta=0)
FEW = Poisson(0.7)
BITS = (((0,), (1,)),)
LONGEST = 30


def coin(x: Point, epsilon: float = 1.0) -> dict[int, tuple[float, arb]]:
    """{score: (score, chance)} of one run."""
    true = 1 / (1 + power(-rational(epsilon)))
    return {score: (score, true if score == x[0] else 1 - true) for score in (0, 1)}


def number_told(x: Point) -> Law:
    """The winner and how many runs there were, up to a largest number; what is beyond it has its own outcome."""
    known = chances(TEN, LONGEST)
    low = coin(x)[0][1]
    law: dict[object, arb] = {"more": 1 - sum(known, arb(0))}
    for k in range(1, LONGEST + 1):
        law[0, k], law[1, k] = known[k] * low**k, known[k] * (1 - low**k)
    return Law(law)


def until_it_is_good(x: Point, most: int = 10) -> Law:
    """Runs until a score is 1, at most ten: how many there are depends on the data."""
    low = coin(x)[0][1]
    return Law({0: low**most, 1: 1 - low**most})


def failure_raised(x: Point) -> Law:
    """Ten runs, always; a score of 0 raises an exception, and the exception is seen whichever run it was in."""
    low = coin(x)[0][1]
    return Law({"raised": 1 - (1 - low) ** 10, "model": (1 - low) ** 10})


def best(x: Point, runs: object = TEN, epsilon: float = 1.0) -> Law:
    """The winner alone, as it should be."""
    return best_law(coin(x, epsilon), generating(runs))


ENTRIES = (
    Broken(
        name="tuning, the number of runs told",
        what="the number of runs is printed beside the winner: given k of them, they cost k epsilon",
        source="every progress bar; Papernot and Steinke 2022 assume that it is hidden",
        claim=Tuned(PureDP(1.0), TEN),
        law=number_told,
        pairs=BITS,
    ),
    Broken(
        name="tuning for the price of one run",
        what="(1 + eta) epsilon is booked where it is nearly (2 + eta) epsilon",
        source="a tempting reading of Liu and Talwar 2019",
        claim=PureDP(1.0),
        law=best,
        pairs=BITS,
    ),
    Broken(
        name="tuning, nothing run forgotten",
        what="the Renyi bound without f(0), the chance that nothing is run: it falls below 0",
        source="an easy slip with a Poisson number of runs",
        claim=RenyiDP(orders=2.0, epsilons=0.0),
        law=lambda x: best(x, FEW, 0.1),
        pairs=BITS,
    ),
    Broken(
        name="tuning until the score is good",
        what="runs stop at the first good score: their number is chosen by the data",
        source="early stopping, as many search libraries have it",
        claim=Tuned(PureDP(1.0), TEN),
        law=until_it_is_good,
        pairs=BITS,
    ),
    Broken(
        name="tuning, failures raised",
        what="an exception in any run reaches the caller: the one bit of all runs together",
        source="any loop around a training function",
        claim=Tuned(PureDP(1.0), TEN),
        law=failure_raised,
        pairs=BITS,
    ),
    Broken(
        name="tuning a fixed number of runs",
        what="ten runs always, charged as a random number with mean ten",
        source="a grid search",
        claim=Tuned(PureDP(1.0), TEN),
        law=lambda x: best(x, Binomial(10, 1.0)),
        pairs=BITS,
    ),
)
