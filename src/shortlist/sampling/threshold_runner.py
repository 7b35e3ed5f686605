"""A line that runs with the candidates: how many of the best noisy scores finish above it, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist._arrays import Floats, Indices, Words
from shortlist.exact.noise_distributions import GUMBEL, RELATIVE_ERROR, Noise
from shortlist.exact.partial_reals import Draw, Real, Term, is_positive, total, word
from shortlist.sampling.entropy import Source

if TYPE_CHECKING:
    from flint import arb

Finish = tuple[Fraction, Term]
"""An exact noisy number: its centre, and (scale, noise)."""


@dataclass(frozen=True, slots=True)
class Runner:
    """centre + scale * noise, before it is drawn: a line, or a candidate."""

    centre: Fraction
    scale: Fraction
    noise: Noise

    def draw(self, source: Source) -> Finish:
        """One such number, drawn lazily."""
        return self.centre, (self.scale, Draw(self.noise, word(source), 64, source))


def best_of(many: int) -> Noise:
    """The largest of so many Gumbel noises: Gumbel noise + ln(many). For lines only: it knows its quantiles alone."""
    shift = math.log(many)

    def quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
        q, error = GUMBEL.quantile(words, level)
        return q + shift, error + RELATIVE_ERROR * shift

    def exact_quantile(v: int, bits: int) -> arb:
        from flint import arb

        return GUMBEL.exact_quantile(v, bits) + arb(many).log()

    return replace(GUMBEL, name=f"best of {many} gumbel", quantile=quantile, exact_quantile=exact_quantile)


def difference(one: Finish, two: Finish) -> Real:
    """one - two."""
    (first, (scale, draw)), (second, (other, noise)) = one, two
    return total(first - second, [(scale, draw), (-other, noise)])


def how_many_above(finishes: list[Finish], line: Finish) -> int:
    """How many of the finishes, best first, are above the line: exactly."""
    return next((n for n, one in enumerate(finishes) if not is_positive(difference(one, line))), len(finishes))
