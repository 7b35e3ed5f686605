"""What a release promises, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.privacy.checks import count, number


@dataclass(frozen=True, slots=True)
class PureDP:
    """epsilon-differential privacy: no person changes the odds of any outcome by more than e^epsilon."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, above=True))


@dataclass(frozen=True, slots=True)
class ApproxDP:
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon))
        object.__setattr__(self, "delta", number("delta", self.delta, below=1.0))


@dataclass(frozen=True, slots=True)
class ZCDP:
    """rho-zCDP after a common thinning of mass delta (SPEC_UNKNOWN N1.1)."""

    rho: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", number("rho", self.rho))
        object.__setattr__(self, "delta", number("delta", self.delta, below=1.0))


@dataclass(frozen=True, slots=True)
class RenyiDP:
    """Renyi divergence of order `orders[i]` at most `epsilons[i]`; a single order may be given as a number."""

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    def __init__(self, orders: float | Sequence[float], epsilons: float | Sequence[float]) -> None:
        given = (orders,) if isinstance(orders, int | float) else tuple(orders)
        costs = (epsilons,) if isinstance(epsilons, int | float) else tuple(epsilons)
        object.__setattr__(self, "orders", tuple(number("orders", a, least=1.0, above=True) for a in given))
        object.__setattr__(self, "epsilons", tuple(number("epsilons", e) for e in costs))


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """epsilon-bounded range: all log ratios of the outcomes lie in one window of width epsilon (SPEC 19).

    Implies PureDP(epsilon) and epsilon^2/8-zCDP. Gumbel selection has it; permute-and-flip has not.
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, above=True))


@dataclass(frozen=True, slots=True)
class GumbelDP:
    """k Gumbel values of shift mu = sensitivity / scale (SPEC 3, 4); the index comes free.

    `monotone=False` is the two-clock promise: scores may move both ways.
    """

    mu: float
    k: int = 1
    monotone: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", number("mu", self.mu, above=True))
        object.__setattr__(self, "k", count("k", self.k))
