"""How a mechanism is registered: its `ENTRY`, in the `entry.py` of its folder; `entries.py` collects them.

Computed from the entries are the methods of `top_k` (`Method`), the curves of `compare` (`compared`), the
rows of `plan` (`planned`), what `shortlist audit` proves and attacks (`audited`), and the tables of the docs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shortlist.errors import bad_value
from shortlist.mechanisms.base import Budget, DeltaBudget, Mechanism
from shortlist.mechanisms.plan_rows import Domain, Planned, Studied
from shortlist.scores import Scores

FEW_NAMES = 2
"""Where a person counts for so many names at most, geometric noise has the lowest bar."""
MANY_NAMES = 64
"""Beyond so many names the bar of every mechanism without a cap is higher."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is public of a question to `top_k`: all that the choice of a mechanism may look at."""

    k: int | None
    budget: Budget
    ordered: bool = False
    values: bool = False
    gaps: bool = False
    public: bool = True
    """Whether the candidates are a public list."""
    limit: int | None = None
    most: int | None = None
    """How many candidates one person counts for, where that was capped."""
    weighed: bool = False
    """Whether capped weights came with the counts: where rows were counted without a public list."""

    @property
    def listed(self) -> bool:
        """Whether a public list and a fixed k answer it: the only way without a delta."""
        has_delta = isinstance(self.budget, DeltaBudget) and self.budget.delta > 0
        return not has_delta or (self.public and self.k is not None)

    @property
    def size(self) -> int:
        """k, where one must be given."""
        if self.k is None:
            raise bad_value('$k=None needs $method="stable", which lets the gaps decide; or give $k=10')
        return self.k


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known beforehand: one sentence, from an exact law on public data, and the page that has its table."""

    sentence: str
    page: str


@dataclass(frozen=True, slots=True)
class Method:
    """A word for `method=` of `top_k`, and what it builds; `choose.py` has the rule of `"auto"`."""

    name: str
    build: Callable[[Request], Mechanism]
    fact: Fact | None = None
    """What is known of it beforehand, for plans and the docs."""
    domain: Domain | Literal["either"] = "known"
    ordered: bool = True
    """Whether it can release an order, in an unknown domain."""
    values: bool = False
    gaps: bool = False
    """Whether it can release values, and gaps."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A curve of `compare`: a mechanism of k items by its pure epsilon, for a public list."""

    label: str
    build: Callable[[int, float], Studied]


@dataclass(frozen=True, slots=True)
class Named:
    """A name for `shortlist audit` that is no method of `top_k`, or is built otherwise there: by k and the claim."""

    name: str
    build: Callable[[int, Budget], Mechanism]


@dataclass(frozen=True, slots=True)
class Audited:
    """How a mechanism is proved on a box and attacked by its draws."""

    law: str
    """Its certified law, as `module:function`: a name, since it is heavy to load and nobody else needs it."""
    inputs: Literal["scores", "histograms", "line", "votes"] = "scores"
    """Histograms are counts of labels that come from the data: neighbours are one more user. A line has counts of
    people along it: neighbours are one more, whose vote may be shared between two places. Votes are of teachers."""
    sees_level: bool = False
    """Whether a number that is added to all scores changes its law."""
    relabelled: bool = False
    """Whether outcomes are (sorted set, something else), so that one order of the scores is enough for all."""
    one_by_one: bool = False
    """Whether its draws take tens of microseconds each, one after the other: then jobs are smaller."""
    ranks: bool = False
    """Whether its numbers are ranks and not positions of candidates."""
    at_threshold: bool = False
    """Whether scores are to be tried around its threshold."""
    k: int = 1
    """The k that is audited if none is said."""
    size: Callable[[Any], int] | None = None
    """How many scores to try; None: k winners and two losers."""
    names: tuple[Named, ...] = ()
    """Names for `shortlist audit`; a mechanism without methods has one at least, so that it is audited."""


@dataclass(frozen=True, slots=True)
class Traced:
    """The chance of the right set, by a number from which epsilon follows without a search."""

    start: Callable[[float], float]
    """The number about an epsilon."""
    at: Callable[[float], tuple[float, float]]
    """(epsilon, rounded up; at most the chance there): both grow with the number, epsilon by no more than squares."""


def no_rows(k: int) -> Sequence[Planned]:
    """Of a mechanism that is in no plan."""
    return ()


def no_capped_rows(k: int, most: int) -> Sequence[Planned]:
    """Of a mechanism that a cap does not change."""
    return ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A mechanism: what it is in the tables of the docs, and what else there is of it."""

    kind: type
    page: str
    """In docs/mechanisms."""
    summary: str
    gives: str
    """What a release carries."""
    budgets: str
    audited: Audited
    methods: tuple[Method, ...] = ()
    compared: tuple[Compared, ...] = ()
    """Its curves in `compare`. What is planned under a pure budget is compared too, under the same label."""
    planned: Callable[[int], Sequence[Planned]] = no_rows
    """Its rows in a plan for k items."""
    capped: Callable[[int, int], Sequence[Planned]] = no_capped_rows
    """Its rows in a plan for k items where each person counts for so many items at most, beside those of `planned`.
    What is planned so under a pure budget is compared so too."""
    weighed: Callable[[int, int], Sequence[Planned]] = no_capped_rows
    """Its rows for names from the data that came with capped weights, of so many items a person at most: in place of
    rows of the same label."""
    traced: Callable[[Any, Scores], Traced | None] | None = None
    """For searches, of a mechanism whose calibration is slow; None where it is not."""
