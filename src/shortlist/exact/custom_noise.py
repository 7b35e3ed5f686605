"""Custom noise from code: a survival function that is read at public knots, and joined by straight lines (Theorem 260).

The piecewise law that comes out *is* the law of the noise: it is what is drawn, exactly, and what is proved. The code
only proposes it, and is not called again. So no code, however wrong, can break the guarantee of a set.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from shortlist.exact.noise_distributions import Noise
from shortlist.exact.partial_reals import ball, exactly
from shortlist.exact.piecewise_noise import piecewise_noise, rationals

if TYPE_CHECKING:
    from flint import arb

FINEST = Fraction(1, 2**30)
"""Slopes are whole multiples of this."""

BITS = 192
"""The working precision at which the code is called."""

MOST_KNOTS = 4097

Number = int | float | Fraction


def custom_noise(
    log_survival: Callable[[arb], arb],
    *,
    low: Number,
    high: Number,
    knots: int = 65,
    lipschitz: Number = 1,
    name: str = "custom",
) -> Noise:
    """Noise whose ln P(N > x) is that of the code at equally spaced knots, and linear between them; for sets only.

    Below `low` there is no noise: the law is that of the code given N > low. Above `high` its last slope goes on. At
    the knots ln S is that of the code up to lipschitz (high - low) / 2^30 (Theorem 260).

    Parameters
    ----------
    log_survival
        x to ln P(N > x) as `flint.arb`: the code is called once at every knot, with a ball around it.
    low, high
        Public numbers between which the code is read, for example -4 and 12.
    knots
        At how many places, both ends included: from 2 to 4097.
    lipschitz
        How steeply ln P(N > x) may fall. The noise is stretched by this number, so that it falls at most as e^-x does.
    name
        What releases call it.

    Returns
    -------
    A noise kind for `NoisyMax` and for unordered `OneshotTopK`.

    Raises
    ------
    ValueError, TypeError
        naming the argument; and if ln P(N > x) is not a finite ball, rises, or falls too steeply between two knots.

    Examples
    --------
    >>> custom_noise(lambda x: -((1 + x.exp()).log()), low=-4, high=12, name="nearly logistic")
    <noise nearly logistic>
    """
    (first, last), (most,) = rationals("low and high", [low, high]), rationals("lipschitz", [lipschitz])
    if not first < last:
        raise ValueError("low must be below high: the code is read between them")
    if not isinstance(knots, int) or isinstance(knots, bool) or not 2 <= knots <= MOST_KNOTS:
        raise ValueError(f"knots must be a whole number from 2 to {MOST_KNOTS}, for example knots=65")
    if most <= 0:
        raise ValueError("lipschitz must be above 0: the bound on how steeply ln P(N > x) falls, for example 1")
    step = (last - first) / (knots - 1)
    places = [first + j * step for j in range(knots)]
    slopes = _slopes(log_survival, places, step * most)
    if slopes[-1] == 0:
        raise ValueError("log_survival must fall before high: its last slope goes on for ever. Choose a larger high")
    return piecewise_noise([place * most for place in places], [*slopes, slopes[-1]], name=name)


def _slopes(log_survival: Callable[[arb], arb], places: list[Fraction], step: Fraction) -> list[Fraction]:
    """The slopes between the knots of the stretched noise, rounded, in [-1, 0]."""
    from flint import ctx

    with ctx.workprec(BITS):
        heights = [_height(log_survival, place) for place in places]
        falls = [(after - before) / ball(step) for before, after in pairwise(heights)]
        return [_slope(fall, at) for fall, at in zip(falls, places, strict=False)]


def _height(log_survival: Callable[[arb], arb], place: Fraction) -> arb:
    from flint import arb

    height = log_survival(ball(place))
    if not isinstance(height, arb):
        raise TypeError("log_survival must return a flint.arb, made of its argument by arithmetic and methods of arb")
    if not height.is_finite():
        raise ValueError(f"log_survival must be finite at the knots; at {float(place):g} it is not: move low or high")
    return height


def _slope(fall: arb, at: Fraction) -> Fraction:
    """The nearest multiple of FINEST in [-1, 0]; a ball that lies outside of it, or is too wide to tell, is refused."""
    if fall < -1:
        raise ValueError(
            f"log_survival falls too steeply after {float(at):g}: that would break the guarantee. Write a larger "
            "lipschitz=, by which the noise is stretched"
        )
    if fall > 0:
        raise ValueError(f"log_survival rises after {float(at):g}: the logarithm of a survival function never does")
    if not 4 * fall.rad() < ball(FINEST):
        raise ValueError(f"log_survival is known too roughly near {float(at):g}: choose fewer knots, or mend its code")
    slope = round(exactly(fall.mid()) / FINEST) * FINEST
    return min(max(slope, Fraction(-1)), Fraction(0))
