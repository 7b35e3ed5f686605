"""The winner under Gaussian noise, honestly accounted: the cost grows with the number of candidates (Theorem 55)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from shortlist._arrays import Indices
from shortlist.accounting.checks import up
from shortlist.exact.noise_distributions import GAUSSIAN
from shortlist.exact.partial_reals import exactly, rounded_down
from shortlist.mechanisms.checks import (
    check_known_candidates,
    checked_draws,
    checked_source,
    checked_work,
)
from shortlist.mechanisms.contract import Outcome
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.mechanisms.unknown_domain import part_of
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, RenyiDP, calibrate
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import race_many
from shortlist.scores import Scores


@dataclass(frozen=True, slots=True)
class GaussianMax:
    """The candidate with the largest x_i + N(0, sigma^2), sigma = R / r, for m candidates.

    r is the largest with which the Gaussian mechanism of sensitivity r is (epsilon, delta / m)-DP: then the winner is
    (epsilon, delta)-DP. Under Renyi divergences it is the largest with a r^2 / 2 + ln(m) / (a - 1) within that of every
    order a (Theorem 55).
    """

    guarantee: ApproxDP | RenyiDP
    work: Work

    @property
    def charge(self) -> Guarantee:
        return self.guarantee

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)
        self._scale(scores)  # refused here, where divergences are too small for so many candidates

    def _scale(self, scores: Scores) -> Fraction:
        """sigma, exactly; the number of candidates that may be chosen is public."""
        budget, m = self.guarantee, scores._choosable
        rate = renyi_rate(budget, m) if isinstance(budget, RenyiDP) else winner_rate(budget, m)
        return scores.range_sensitivity / Fraction(rate)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self._scale(scores)
        finish = race(scores._numbers, k=1, scale=scale, noise=GAUSSIAN, source=source, work=self.work)
        return Outcome([int(finish.indices[0])])

    def release_many(self, scores: Scores, *, draws: int, rng: Source | None) -> Indices:
        """The positions of independent winners, one row each."""
        source, count = checked_source(rng), checked_draws(draws)
        return race_many(scores.values, k=1, scale=self._scale(scores), noise=GAUSSIAN, source=source, draws=count)

    def _law(self, scores: Scores) -> OneshotLaw:
        return OneshotLaw.of(scores.values, 1, self._scale(scores), GAUSSIAN)


def gaussian_max(budget: Guarantee, work: Work) -> GaussianMax:
    """Or the reason why this budget has no Gaussian winner."""
    checked_work(work)
    if isinstance(budget, RenyiDP):
        return GaussianMax(budget, work)
    if not isinstance(budget, ApproxDP) or not budget.delta or not budget.epsilon:
        raise ValueError(
            "gaussian noise keeps (epsilon, delta) and Renyi budgets only: write budget=ApproxDP(1.0, 1e-6), or "
            'noise="gumbel"'
        )
    return GaussianMax(budget, work)


@lru_cache
def renyi_rate(budget: RenyiDP, m: int) -> float:
    """r = R / sigma, rounded down: the least of sqrt(2 (D_a - ln(m) / (a - 1)) / a) over the orders."""
    from flint import arb, ctx

    with ctx.workprec(128):
        squares = [
            2 * (arb(cost) - arb(m).log() / (arb(order) - 1)) / arb(order)
            for order, cost in zip(budget.orders, budget.epsilons, strict=True)
        ]
        if not all(square > 0 for square in squares):
            raise ValueError(
                f"budget is too small for {m} candidates: at order a it needs more than ln({m}) / (a - 1); write "
                "higher orders, or larger divergences"
            )
        exact = min(exactly(square.sqrt().lower()) for square in squares)
    return rounded_down(exact)


@lru_cache
def winner_rate(budget: ApproxDP, m: int) -> float:
    """r = R / sigma, rounded down: D_a <= a r^2/2 + ln(m) / (a-1) (Cor 9 of the paper) is what is converted here."""
    return calibrate(
        lambda r: ZCDP(up(Fraction(r) ** 2 / 2)), ApproxDP(budget.epsilon, part_of(budget.delta, Fraction(1, m)))
    )
