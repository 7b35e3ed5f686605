"""A guarantee in plain words: what an attacker who knows everything else can still learn, as chances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shortlist.accounting.checked_numbers import number
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP

SUSPICIONS = (0.01, 0.1, 0.5)
"""What an attacker thought before: the chance that one person is in the data."""

LARGE, ABSURD = 10.0, 30.0
"""Above the first an epsilon promises little, and above the second nothing that anybody would notice."""

TINY = 1e-6
"""The delta at which other guarantees are told as an epsilon."""

ALARMS = (0.01, 0.05, 0.1)
"""How many innocent people an attacker is ready to accuse."""


@dataclass(frozen=True, slots=True)
class Odds:
    """What follows from a guarantee, every chance rounded up by its users, never down."""

    right: float
    """The most often that an attacker can be right about a fair coin: whether one person is in the data."""
    after: tuple[tuple[float, float], ...]
    """(suspicion before, the most it can become), for a pure guarantee; empty if no such bound holds."""
    caught: tuple[tuple[float, float], ...]
    """(share of the innocent accused, the largest share of the others caught)."""

    @property
    def in_short(self) -> str:
        """What becomes of a fair guess."""
        return f"50% becomes at most {percent(self.right)}"

    def __str__(self) -> str:
        return (
            f"{self.in_short}: so often somebody who knows everything else guesses right whether one person is in the "
            "data, after seeing what was released"
        )


def odds(guarantee: Guarantee | float) -> Odds:
    """What an attacker who knows everything else can still learn of one person.

    right = (1 + delta(0)) / 2: a half, and half of the total variation. A suspicion p becomes at most
    p e^epsilon / (1 - p + p e^epsilon), where epsilon is pure. A test that accuses a share a of the innocent catches
    at most 1 - tradeoff(a) of the others.

    Parameters
    ----------
    guarantee
        A guarantee, such as that of a release; or the epsilon of a pure one, as in `odds(1.0)`.

    Returns
    -------
    Odds
        with the chances `right`, `after` and `caught`; as text it is a sentence.

    Raises
    ------
    ValueError
        for what is neither a guarantee nor a number above 0.

    Examples
    --------
    >>> print(odds(1.0).in_short)
    50% becomes at most 73.2%
    >>> round(odds(PureDP(1.0)).right, 5)  # as text it is rounded up
    0.73106
    """
    if not isinstance(guarantee, Guarantee):
        guarantee = PureDP(number("epsilon", guarantee, above=True))
    pure, right = guarantee.epsilon_at(0.0), chance_to_be_right(guarantee)
    after = () if math.isinf(pure) else tuple((before, _posterior(before, pure)) for before in SUSPICIONS)
    return Odds(right, after, tuple((alarm, _up(1.0 - guarantee.tradeoff(alarm))) for alarm in ALARMS))


def epsilon_of(guarantee: Guarantee) -> float:
    """The epsilon that tells how much is promised; of guarantees without one, at a tiny delta."""
    if isinstance(guarantee, PureDP | ApproxDP):
        return guarantee.epsilon
    return guarantee.epsilon_at(TINY + getattr(guarantee, "delta", 0.0))


def caution(guarantee: Guarantee) -> str:
    """A sentence on an epsilon that promises little; empty for others.

    >>> caution(PureDP(3.0))
    ''
    >>> caution(PureDP(12.0))[:37]
    'An epsilon above 10 promises little: '
    """
    if epsilon_of(guarantee) <= LARGE:
        return ""
    return (
        f"An epsilon above {LARGE:g} promises little: whoever knows everything else can be right about one person "
        "nearly always; 0.1 to 3 are common."
    )


def chance_to_be_right(guarantee: Guarantee) -> float:
    """(1 + delta(0)) / 2: how often an attacker is right about a fair coin, at most."""
    apart = guarantee.delta_at(0.0)
    return _up((1.0 + apart) / 2) if apart else 0.5


def _posterior(before: float, epsilon: float) -> float:
    return _up(before / (before + (1 - before) * math.exp(-epsilon))) if epsilon else before


def _up(chance: float) -> float:
    """Above what a few roundings to the nearest float took away."""
    return min(1.0, chance * (1 + 2.0**-49))


def percent(chance: float) -> str:
    """A chance as a percentage with one digit, rounded up: never below the truth.

    >>> percent(0.7310586), percent(0.5), percent(0.99999)
    ('73.2%', '50%', '100%')
    """
    tenths = round(chance * 1000)
    if tenths / 1000 != chance:  # the float of a decimal stands for it
        tenths = min(1000, math.ceil(Fraction(chance) * 1000))
    return f"{tenths / 10:g}%"


def in_short(guarantee: Guarantee) -> str:
    """A guarantee as a reader of a sentence expects it.

    >>> from shortlist import ApproxDP
    >>> in_short(ApproxDP(1.0, 1e-6))
    'ε = 1, δ = 1e-6'
    """
    if isinstance(guarantee, PureDP):
        return f"ε = {in_full(guarantee.epsilon)}"
    if isinstance(guarantee, ApproxDP):
        return f"ε = {in_full(guarantee.epsilon)}, δ = {in_full(guarantee.delta)}"
    if isinstance(guarantee, ZCDP):
        return f"ρ = {in_full(guarantee.rho)}" + (f", δ = {in_full(guarantee.delta)}" if guarantee.delta else "")
    return str(guarantee)


def in_full(number: float) -> str:
    """A cost with all its digits: rounded to the nearest, it might say less than was paid.

    >>> in_full(1.0), in_full(1.0000004), in_full(1e-06)
    ('1', '1.0000004', '1e-6')
    """
    return repr(float(number)).removesuffix(".0").replace("e-0", "e-").replace("e+0", "e+")
