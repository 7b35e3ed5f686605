"""The entry of one-shot top-k: a list, best first, the default where an order is wanted and no guarded list is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method, Request
from shortlist.mechanisms.guarded_list.entry import takes
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
from shortlist.mechanisms.plan_rows import Planned, listed

EXPONENTIAL, GUMBEL, LAPLACE = "one-shot, exponential", "one-shot, Gumbel", "one-shot, Laplace"


def _list(noise: str) -> Callable[[Request], OneshotTopK]:
    return lambda request: OneshotTopK(k=request.size, budget=request.budget, noise=noise)


def _curve(label: str, noise: str) -> Compared:
    return Compared(label, lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise=noise))


def _rows(k: int) -> Sequence[Planned]:
    """One winner by exponential or Gumbel noise has names of its own."""
    several = (
        listed(EXPONENTIAL, "oneshot-exponential", lambda p: OneshotTopK(k=k, epsilon=p, noise="exponential"),
               ordered=True, currencies=("pure",)),
        listed(GUMBEL, "oneshot-gumbel", lambda p: OneshotTopK(k=k, epsilon=p, noise="gumbel"), ordered=True, rounds=k),
    )  # fmt: skip
    laplace = listed(LAPLACE, "oneshot-laplace", lambda p: OneshotTopK(k=k, epsilon=p, noise="laplace"),
                     ordered=True, currencies=("pure",))  # fmt: skip
    return (laplace,) if k == 1 else (*several, laplace)


ENTRY = Entry(
    kind=OneshotTopK,
    page="oneshot.md",
    summary="adds noise once to every score and releases the k largest; with Gumbel noise it is peeling",
    gives="k items in order",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise",
    methods=(
        Method(
            "oneshot-gumbel",
            _list("gumbel"),
            when=lambda request: request.plain and request.k != 1 and request.ordered and not request.pure,
            why="for a list and a budget that is not pure, bounded range makes Gumbel noise the cheapest",
            fact=Fact("k rounds of bounded range compose with the square root of k", "docs/planning.md"),
        ),
        Method("peeling", _list("gumbel")),
        Method(
            "oneshot-exponential",
            _list("exponential"),
            when=lambda request: (
                request.plain and request.k != 1 and request.ordered and request.pure and not takes(request)
            ),
            why="for a list and a pure budget, it needs the least epsilon of the one-shot kinds",
            fact=Fact(
                "on six public data sets it needed 0.78 to 0.93 of the epsilon of peeling for the same chance",
                "docs/planning.md",
            ),
        ),
        Method("oneshot-laplace", _list("laplace")),
        Method("oneshot-logistic", _list("logistic")),
        Method("oneshot-half-logistic", _list("half-logistic")),
    ),
    compared=(_curve(EXPONENTIAL, "exponential"), _curve(GUMBEL, "gumbel"), _curve(LAPLACE, "laplace")),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.oneshot.certified:law"),
)
