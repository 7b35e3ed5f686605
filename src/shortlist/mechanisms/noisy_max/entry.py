"""The entry of noisy max: one winner, the default for k = 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entry import Audited, Entry, Fact, Method, Named, Request
from shortlist.mechanisms.noisy_max.mechanism import NoisyMax
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
from shortlist.mechanisms.plan_rows import Planned, listed


def _winner(noise: str) -> Callable[[Request], NoisyMax]:
    def build(request: Request) -> NoisyMax:
        if request.k != 1:
            raise ValueError('this method selects one winner; for several write method="oneshot-exponential"')
        return NoisyMax(budget=request.budget, noise=noise)

    return build


def _named(noise: str) -> Named:
    def build(k: int, budget: Budget) -> NoisyMax:
        return NoisyMax(budget=budget, noise=noise)

    return Named(f"noisy-max-{noise}", build)


def _rows(k: int) -> Sequence[Planned]:
    """For one winner: one-shot top-k of one, whose laws know recall too."""
    if k != 1:
        return ()
    return (
        listed("permute-and-flip", "permute-and-flip", lambda p: OneshotTopK(k=1, epsilon=p, noise="exponential"),
               ordered=True, currencies=("pure",)),
        listed("exponential mechanism", "exponential", lambda p: OneshotTopK(k=1, epsilon=p, noise="gumbel"),
               ordered=True),
    )  # fmt: skip


ENTRY = Entry(
    kind=NoisyMax,
    page="noisy-max.md",
    summary="adds noise to every score and releases who is on top; permute-and-flip and the exponential mechanism",
    gives="one winner",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise, (ε, δ) with Gaussian noise",
    methods=(
        Method(
            "permute-and-flip",
            _winner("exponential"),
            when=lambda request: request.plain and request.k == 1 and request.pure,
            why="NoisyMax with exponential noise (permute-and-flip), the default for one winner under pure DP",
            fact=Fact(
                "its failures are half those of the exponential mechanism where one rival decides", "docs/planning.md"
            ),
        ),
        Method(
            "exponential",
            _winner("gumbel"),
            when=lambda request: request.plain and request.k == 1 and not request.pure,
            why="NoisyMax with Gumbel noise (the exponential mechanism), the default for one winner under this budget",
            fact=Fact("bounded range costs a quarter of the rho of any other noise", "docs/planning.md"),
        ),
    ),
    planned=_rows,
    audited=Audited(
        law="shortlist.mechanisms.noisy_max.certified:law",
        names=tuple(map(_named, ("laplace", "logistic", "half-logistic", "gaussian"))),
    ),
)
