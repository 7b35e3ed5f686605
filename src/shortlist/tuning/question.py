"""What is asked of tuning, checked from public facts alone before anything runs or is paid."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from shortlist.accounting.run_numbers import MOST_RUNS, Binomial, Capped, NegativeBinomial, Poisson, pure_cost
from shortlist.accounting.tuned import Mixed, RunLaw, Tuned
from shortlist.exact.crossing import crossing, narrowed, neighbours
from shortlist.mechanisms.checks import Budget, checked_weights
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.sampling.uniforms import whole_shares

CLOSE = 1e-3
"""How near, relatively, gamma comes to the best one where that has no closed form; the guarantee it has is exact."""

NO_GUARANTEE = (
    "say what one run of train promises for its output, its score and its failures together: guarantee=PureDP(0.5), "
    "for example"
)


@dataclass(frozen=True, slots=True)
class Grid:
    """Candidates, kept as they were given whatever `train` does to its own, and their weights as running sums."""

    candidates: tuple[Any, ...]
    sums: list[int]

    @classmethod
    def of(cls, grid: object, weights: object) -> Grid:
        """Refuses an empty grid, candidates that cannot be copied, and weights that are not positive."""
        if not isinstance(grid, Iterable) or isinstance(grid, str | bytes):
            raise TypeError("grid must be a list of candidates: write grid=[0.1, 1.0, 10.0], for example")
        try:
            candidates = tuple(copy.deepcopy(one) for one in grid)
        except Exception:  # a candidate's own method may raise anything
            raise TypeError(
                "grid must be of candidates that can be copied: numbers, text, or mappings of these"
            ) from None
        if not candidates:
            raise ValueError("grid must not be empty: write grid=[0.1, 1.0, 10.0], for example")
        return cls(candidates, whole_shares(_checked_weights(weights, len(candidates))))

    @property
    def shares(self) -> list[int]:
        """The weights as whole numbers."""
        return [above - below for below, above in pairwise([0, *self.sums])]

    def fresh(self, place: int) -> Any:
        """A copy for one run: what a run writes into its candidate is nobody else's."""
        return copy.deepcopy(self.candidates[place])


def _checked_weights(weights: object, size: int) -> list[Fraction]:
    if weights is None:
        return [Fraction(1)] * size
    shares = checked_weights("weights", weights)
    if len(shares) != size:
        raise ValueError("weights must be one positive number for each candidate, or be left out")
    return shares


def one_run(guarantee: object, grid: Grid) -> Guarantee:
    """What one run promises: one guarantee for all candidates, or one for each, mixed by the weights."""
    if guarantee is None:
        raise TypeError(NO_GUARANTEE)
    if isinstance(guarantee, Guarantee):
        return guarantee
    each = _each(guarantee, grid)
    if not all(isinstance(one, Guarantee) for one in each):
        raise TypeError(NO_GUARANTEE)
    first: Guarantee = each[0]
    if len(set(each)) == 1:
        return first
    together: dict[Guarantee, int] = {}
    for one, share in zip(each, grid.shares, strict=True):
        together[one] = together.get(one, 0) + share
    common = math.gcd(*together.values())
    return Mixed(tuple((one, share // common) for one, share in together.items()))


def _each(guarantee: object, grid: Grid) -> list[Any]:
    if isinstance(guarantee, Mapping):
        if all(isinstance(one, Hashable) and one in guarantee for one in grid.candidates):
            return [guarantee[one] for one in grid.candidates]
        raise ValueError(
            "guarantee must have an entry for every candidate: write {0.1: PureDP(0.5), ..} or one for all"
        )
    if isinstance(guarantee, Sequence) and len(guarantee) == len(grid.candidates):
        return list(guarantee)
    raise TypeError(NO_GUARANTEE)


def checked_runs(runs: object, cap: int | None) -> RunLaw:
    """A law of the number of runs, capped where a cap is given."""
    if not isinstance(runs, NegativeBinomial | Poisson | Binomial | Capped):
        raise TypeError("runs must be sl.NegativeBinomial(mean=10, eta=0), sl.Poisson(10) or sl.Binomial(20, 0.5)")
    if cap is None:
        return runs
    if isinstance(runs, Capped):
        raise TypeError("cap must be said once: leave cap= out, or give the law without one")
    return Capped(runs, cap)


def checked_budget(budget: object) -> Budget:
    """PureDP, ZCDP or ApproxDP."""
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise TypeError("budget must be PureDP(..), ZCDP(..) or ApproxDP(..), for example budget=ApproxDP(4.0, 1e-6)")
    return budget


def runs_within(base: Guarantee, budget: Budget, eta: float, cap: int | None) -> RunLaw:
    """The negative binomial law of the largest mean whose guarantee fits the budget; checked.

    Raises
    ------
    ValueError
        if one run alone costs more, or every number of runs fits.
    """

    def law(gamma: float) -> RunLaw:
        runs = NegativeBinomial(gamma=gamma, eta=eta)
        return runs if cap is None else Capped(runs, cap)

    nearly_one, least = 1 - 2.0**-30, NegativeBinomial(mean=math.nextafter(MOST_RUNS, 0), eta=eta).gamma
    pure = base.as_pure()
    if isinstance(budget, PureDP) and pure is not None and cap is None:
        epsilon, most = pure.epsilon, budget.epsilon
        fits: Callable[[float], bool] = lambda gamma: (pure_cost(law(gamma), epsilon) or math.inf) <= most  # noqa: E731
        _check_ends(fits(nearly_one), fits(least))
        return law(narrowed(fits, least, nearly_one, neighbours)[1])

    def excess(log_gamma: float) -> float:
        return min(max(_beyond(budget, Tuned(base, law(math.exp(log_gamma)))), -50.0), 50.0)

    def fits_exactly(log_gamma: float) -> bool:
        return budget.excess(Tuned(base, law(min(math.exp(log_gamma), nearly_one)))) <= 0

    ends = [(log_gamma, excess(log_gamma)) for log_gamma in (math.log(least), math.log(nearly_one))]
    _check_ends(ends[1][1] <= 0, ends[0][1] <= 0)
    enough = crossing(excess, ends[0], ends[1], CLOSE)[1]
    while not fits_exactly(enough):  # where a delta fits, the epsilon may be a rounding too large
        _check_ends(enough < 0, False)
        enough += 0.1 * CLOSE
    return law(min(math.exp(enough), nearly_one))


def _beyond(budget: Budget, guarantee: Guarantee) -> float:
    """Above 0 if it does not fit: by the delta where there is one, which is one look where an epsilon is a search.

    Roots of -ln delta are nearly straight lines, as those of Gaussian tails are.
    """
    if isinstance(budget, ApproxDP) and budget.epsilon and budget.delta:
        delta = max(guarantee.delta_at(budget.epsilon), 1e-320)
        return math.sqrt(-math.log(budget.delta)) - math.sqrt(-math.log(delta))
    return budget.excess(guarantee)


def _check_ends(one_fits: bool, all_fit: bool) -> None:
    if not one_fits:
        raise ValueError("one run alone costs more than the budget allows: give a larger budget, or train with less")
    if all_fit:
        raise ValueError("every number of runs fits this budget: say how many, runs=sl.NegativeBinomial(mean=100)")
