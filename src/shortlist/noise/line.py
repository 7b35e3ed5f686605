"""A line that runs with the candidates: how many of the best noisy scores finish above it, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist.noise.entropy import Source, word
from shortlist.noise.kinds import GUMBEL, Noise
from shortlist.noise.lazy import Draw, Term, is_positive

if TYPE_CHECKING:
    from flint import arb

Finish = tuple[Fraction, Term]
"""An exact noisy number: its centre, and (scale, noise)."""


def noisy_line(centre: Fraction, scale: Fraction, noise: Noise, source: Source) -> Finish:
    """centre + scale * noise, drawn lazily."""
    return centre, (scale, Draw(noise, word(source), 64, source))


def best_of(many: int) -> Noise:
    """The law of the largest of so many Gumbel noises: Gumbel noise + ln(many). For lines only: it has no other law."""

    def exact_quantile(v: int, bits: int) -> arb:
        from flint import arb

        return GUMBEL.exact_quantile(v, bits) + arb(many).log()

    return replace(GUMBEL, name=f"best of {many} gumbel", exact_quantile=exact_quantile)


def difference(one: Finish, two: Finish) -> tuple[Fraction, list[Term]]:
    """one - two, for `is_positive` and its like."""
    (first, (scale, draw)), (second, (other, noise)) = one, two
    return first - second, [(scale, draw), (-other, noise)]


def how_many_above(finishes: list[Finish], line: Finish) -> int:
    """How many of the finishes, best first, are above the line: exactly."""
    return next((n for n, one in enumerate(finishes) if not is_positive(*difference(one, line))), len(finishes))
