"""Finer promises than epsilon and delta: Renyi divergences, bounded range, Gumbel values, costs of one outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shortlist.accounting import families
from shortlist.accounting.checked_numbers import count, flag, number, orders_with_costs, up
from shortlist.accounting.group_distance import renyi_of_group, scaled_up
from shortlist.accounting.guarantees import Guarantee, PureDP, stored
from shortlist.accounting.privacy_curves import Curves


@dataclass(frozen=True, slots=True)
class RenyiDP(Guarantee):
    """Renyi divergence at most `epsilons[i]` at order `orders[i]`; one number each for a single order.

    Parameters
    ----------
    orders
        Above 1 and rising, or a single one.
    epsilons
        A divergence for each order, at least 0.

    Examples
    --------
    >>> RenyiDP(orders=2.0, epsilons=0.5)
    RenyiDP(orders=(2.0,), epsilons=(0.5,))
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    def __init__(self, orders: float | Sequence[float], epsilons: float | Sequence[float]) -> None:
        places, costs = orders_with_costs(orders, epsilons)
        stored(self, orders=places, epsilons=costs)

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.renyi(self.orders, self.epsilons), 1),)

    def _of_group(self, size: int) -> RenyiDP:
        orders, epsilons = renyi_of_group(self.orders, self.epsilons, size)
        if not orders:
            raise ValueError(
                f"size={size}: divergences of a group at order a need those of one person at higher orders; write more "
                "orders, for example RenyiDP(orders=[2, 4, 8, 16, 64], epsilons=[...])"
            )
        return RenyiDP(orders, epsilons)


@dataclass(frozen=True, slots=True)
class BoundedRange(Guarantee):
    """epsilon-bounded range: all log ratios of the outcomes lie in one window of width epsilon (Definition 13).

    Implies PureDP(epsilon), and zCDP with rho = x - 1 - ln x, x = epsilon / (1 - e^-epsilon), a little below
    epsilon^2/8 (Theorem 164). Gumbel selection has it; permute-and-flip has not.

    Parameters
    ----------
    epsilon
        The width of the window, above 0.

    Examples
    --------
    >>> BoundedRange(0.5).as_zcdp()
    ZCDP(rho=0.03114209226115588, delta=0.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        stored(self, epsilon=number("epsilon", self.epsilon, above=True))

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.ranged(self.epsilon), 1),)

    def _of_group(self, size: int) -> BoundedRange:
        return BoundedRange(scaled_up(self.epsilon, size))


@dataclass(frozen=True, slots=True)
class ThinnedRange(Guarantee):
    """`rounds` adaptive rounds of epsilon-bounded range, after one common thinning of mass `delta` (Definition 19).

    The two laws are at least s P and s Q as measures, with s the same function of the outcome for both, P and Q laws of
    `rounds` rounds of bounded range, and at most `delta` is missing on either side. So H_x <= delta + V_rounds(x) for
    every x, (rounds epsilon, delta)-DP and delta-approximate zCDP, `rounds` times that of one: what the limited domain
    promises. s may depend on the outcome, so it is not the composition of `delta` with the rounds, which claims delta H
    less.

    Parameters
    ----------
    epsilon
        The width of the window in each round, above 0.
    rounds
        How many rounds, at least 1.
    delta
        The mass that may be missing, at least 0 and below 1.

    Examples
    --------
    >>> ThinnedRange(epsilon=0.25, rounds=4, delta=1e-6).as_approx(1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    rounds: int = 1
    delta: float = 0.0

    def __post_init__(self) -> None:
        stored(
            self,
            epsilon=number("epsilon", self.epsilon, above=True),
            rounds=count("rounds", self.rounds),
            delta=number("delta", self.delta, below=1.0),
        )

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.thinned_rounds(self.epsilon, self.rounds, self.delta), 1),)


@dataclass(frozen=True, slots=True)
class GumbelDP(Guarantee):
    """k Gumbel values of shift mu = sensitivity / scale, with their indices, which come free (Theorem 90, 91).

    With `monotone=True` all k move in one direction, that of the scores. Two such releases need not share
    theirs (counts and negated counts do not), so `compose` and `repeat` assume nothing about it; if you
    know that they do, write GumbelDP(mu, k=their sum). `monotone=False` is the two-clock promise: scores
    may move both ways.

    Parameters
    ----------
    mu
        Sensitivity over scale, above 0; larger tells more.
    k
        How many values.
    monotone
        Whether one person moves all scores the same way.

    Examples
    --------
    >>> GumbelDP(mu=0.1, k=10).as_pure() is None
    True
    """

    mu: float
    k: int = 1
    monotone: bool = True

    def __post_init__(self) -> None:
        stored(
            self,
            mu=number("mu", self.mu, above=True),
            k=count("k", self.k),
            monotone=flag("monotone", self.monotone),
        )

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.gumbel_values(self.mu, self.k, self.monotone), 1),)


@dataclass(frozen=True, slots=True)
class ExPost(Guarantee):
    """epsilon-DP before the outcome was seen; the outcome that came has log ratios of at most `cost`
    (Definition 22).

    It is charged as PureDP(epsilon) everywhere. A filter on the sum of epsilons, which had reserved
    epsilon, may take back `unused`: there the log ratio of a transcript is at most the sum of its outcomes'
    costs. No other currency may: zCDP, Renyi and (epsilon, delta) bounds average over outcomes, and the one
    that came says nothing of the rest.

    Parameters
    ----------
    epsilon
        What was promised before, above 0.
    cost
        The most that the log ratio of this outcome can be, from 0 to epsilon.

    Examples
    --------
    >>> ExPost(epsilon=1.0, cost=0.25).unused()
    0.75
    """

    epsilon: float
    cost: float

    def __post_init__(self) -> None:
        stored(self, epsilon=number("epsilon", self.epsilon, above=True), cost=number("cost", self.cost))
        if self.cost > self.epsilon:
            raise ValueError("cost must be at most epsilon: an outcome cannot cost more than the worst one")

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.approx(self.epsilon, 0.0), 1),)

    def _of_group(self, size: int) -> ExPost:
        return ExPost(scaled_up(self.epsilon, size), scaled_up(self.cost, size))

    def unused(self, currency: type[Guarantee] = PureDP) -> float:
        """What a filter that adds up epsilons (the only `currency` that may) may take back, rounded down.

        Raises
        ------
        ValueError
            for any other currency, with the reason.
        """
        if currency is not PureDP:
            raise ValueError("an unused epsilon comes back in PureDP only: other currencies average over outcomes")
        return -up(Fraction(self.cost) - Fraction(self.epsilon))
