"""What a guarantee means: the probabilities that bound an attacker who knows everything else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shortlist.accounting.checked_numbers import number
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP

PRIORS = (0.01, 0.1, 0.5)
"""Probabilities that an attacker gave to one user being in the data, before the release."""

LARGE, ABSURD = 10.0, 30.0
"""Above the first an epsilon promises little, and above the second nothing that anybody would notice."""

TINY = 1e-6
"""The delta at which other guarantees are told as an epsilon."""

FALSE_POSITIVE_RATES = (0.01, 0.05, 0.1)
"""Shares of users outside the data whom an attacker is ready to accuse."""


@dataclass(frozen=True, slots=True)
class Risk:
    """Bounds that a guarantee puts on an attacker who knows all other rows. Each is a probability, rounded up."""

    guess: float
    """The probability of guessing whether one user is in the data, if that was a fair coin before the release."""
    posterior: tuple[tuple[float, float], ...]
    """(prior, largest posterior) probability that a user is in the data; empty if epsilon is infinite at delta 0."""
    power: tuple[tuple[float, float], ...]
    """(false positive rate, largest true positive rate) of a test whether a user is in the data."""

    @property
    def in_short(self) -> str:
        """What becomes of a fair guess."""
        return f"50% becomes at most {percent(self.guess)}"

    def __str__(self) -> str:
        return (
            "An attacker who knows everything else guesses whether one user is in the data: right at most "
            f"{percent(self.guess)} of the time (50% without the release)"
        )


def risk(guarantee: Guarantee | float) -> Risk:
    """Bound what an attacker who knows all other rows can learn about one user.

    guess = (1 + delta(0)) / 2. A prior p becomes a posterior of at most p e^epsilon / (1 - p + p e^epsilon) under pure
    DP. A test with false positive rate a has a power of at most 1 - tradeoff(a).

    Parameters
    ----------
    guarantee
        A guarantee, such as that of a release; or the epsilon of a pure one, as in `risk(1.0)`.

    Returns
    -------
    Risk
        with the probabilities `guess`, `posterior` and `power`; `str()` is a sentence.

    Raises
    ------
    ValueError
        If the argument is neither a guarantee nor a number above 0.

    Examples
    --------
    >>> print(risk(1.0).in_short)
    50% becomes at most 73.2%
    >>> round(risk(PureDP(1.0)).guess, 5)  # printed probabilities are rounded up
    0.73106
    """
    if not isinstance(guarantee, Guarantee):
        guarantee = PureDP(number("epsilon", guarantee, above=True))
    pure, guess = guarantee.epsilon_at(0.0), guess_probability(guarantee)
    posterior = () if math.isinf(pure) else tuple((prior, _posterior(prior, pure)) for prior in PRIORS)
    return Risk(guess, posterior, tuple((rate, _up(1.0 - guarantee.tradeoff(rate))) for rate in FALSE_POSITIVE_RATES))


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
        f"An epsilon above {LARGE:g} promises little: an attacker who knows everything else can be nearly certain "
        "about one user. Typical values are 0.1 to 3."
    )


def guess_probability(guarantee: Guarantee) -> float:
    """Return (1 + delta(0)) / 2, rounded up: the largest probability of guessing a fair coin."""
    apart = guarantee.delta_at(0.0)
    return _up((1.0 + apart) / 2) if apart else 0.5


def _posterior(prior: float, epsilon: float) -> float:
    return _up(prior / (prior + (1 - prior) * math.exp(-epsilon))) if epsilon else prior


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
