"""The entry of one-shot top-k: a list, best first, the default where an order is wanted and no guarded list is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method, Request
from shortlist.mechanisms.guarded.budgets import worth_delta
from shortlist.mechanisms.guarded_list.entry import takes
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK, quick_epsilon_of_a_round
from shortlist.mechanisms.plan_rows import Planned, listed
from shortlist.privacy import ApproxDP, PureDP

EXPONENTIAL, GUMBEL, LAPLACE = "one-shot, exponential", "one-shot, Gumbel", "one-shot, Laplace"


def _list(noise: str) -> Callable[[Request], OneshotTopK]:
    return lambda request: OneshotTopK(k=request.size, budget=request.budget, noise=noise)


def _pure_list(request: Request) -> OneshotTopK:
    """Exponential noise: a pure budget of the same epsilon keeps one with a delta, which it leaves alone."""
    budget = PureDP(request.budget.epsilon) if isinstance(request.budget, ApproxDP) else request.budget
    return OneshotTopK(k=request.size, budget=budget, noise="exponential")


def _by_gumbel(request: Request) -> bool:
    """Whether Gumbel noise is the better one for a list: by k and the budget alone.

    It needs more e than exponential noise for the same recall (`worth_delta`); what k rounds of it have under a delta
    is bounded from below here, so that a delta is never a loss.
    """
    if not isinstance(request.budget, ApproxDP):
        return not request.pure
    budget, k = request.budget, request.k or 1
    return bool(Fraction(quick_epsilon_of_a_round(k, budget)) >= worth_delta(k) * Fraction(budget.epsilon) / k)


def _one_shot(request: Request) -> bool:
    """Whether the rule takes one-shot top-k, with either noise."""
    return request.plain and request.k != 1 and request.ordered and not takes(request)


def _curve(label: str, noise: str) -> Compared:
    return Compared(label, lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise=noise))


def _rows(k: int) -> Sequence[Planned]:
    """One winner by exponential or Gumbel noise has names of its own."""
    several = (
        listed(EXPONENTIAL, "oneshot-exponential", lambda p: OneshotTopK(k=k, epsilon=p, noise="exponential"),
               ordered=True, rounds=k, currencies=("pure",)),
        listed(GUMBEL, "oneshot-gumbel", lambda p: OneshotTopK(k=k, epsilon=p, noise="gumbel"), ordered=True, rounds=k),
    )  # fmt: skip
    laplace = listed(LAPLACE, "oneshot-laplace", lambda p: OneshotTopK(k=k, epsilon=p, noise="laplace"),
                     ordered=True, rounds=k, currencies=("pure",))  # fmt: skip
    return (laplace,) if k == 1 else (*several, laplace)


FACT = Fact(
    "on six public data sets it needed 0.78 to 0.93 of the epsilon of peeling for the same chance", "docs/planning.md"
)


def _why_pure(request: Request) -> str:
    """Return why the noise is exponential, and what happens to a delta."""
    if request.pure:
        return "OneshotTopK with exponential noise, the default for an ordered list of this length under pure DP"
    return "OneshotTopK with exponential noise: for this list and epsilon, the delta would not reduce the noise"


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
            when=lambda request: _one_shot(request) and _by_gumbel(request),
            why="OneshotTopK with Gumbel noise, the default for an ordered list of this length under this budget",
            fact=Fact("k rounds of bounded range compose with the square root of k", "docs/planning.md"),
        ),
        Method("peeling", _list("gumbel")),
        Method(
            "oneshot-exponential",
            _pure_list,
            when=lambda request: _one_shot(request) and not _by_gumbel(request),
            why=_why_pure,
            fact=FACT,
        ),
        Method("oneshot-laplace", _list("laplace")),
        Method("oneshot-logistic", _list("logistic")),
        Method("oneshot-half-logistic", _list("half-logistic")),
    ),
    compared=(_curve(EXPONENTIAL, "exponential"), _curve(GUMBEL, "gumbel"), _curve(LAPLACE, "laplace")),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.oneshot.certified:law"),
)
