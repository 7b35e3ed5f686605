"""Private quantiles in one call: of an array, or of a table in any engine, paid for before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypedDict, Unpack, overload

from shortlist._files import leave_spill_folder
from shortlist._text import kind_of_words
from shortlist.choose import budget_within, warn_if_absurd
from shortlist.mechanisms.base import check_source
from shortlist.privacy import Guarantee, Ledger
from shortlist.quantile_request import quantile_request
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import Source
from shortlist.scores import Bound
from shortlist.table_release import checked_progress
from shortlist.tables.values import PerUser


class QuantileWords(TypedDict, total=False):
    """The words of `quantile`."""

    user: str | None
    value: str | None
    q: float | Fraction | Iterable[float | Fraction]
    lower: Bound | None
    upper: Bound | None
    step: Any
    per_user: PerUser
    epsilon: float | None
    delta: float | None
    budget: Guarantee | None
    method: str
    groups: Iterable[Any] | None
    groups_per_user: int | None
    unit: str
    memory: str | None
    multiline: bool
    separator: str | None
    allow_large: bool
    rng: Source | None
    ledger: Ledger | None
    purpose: str
    progress: Callable[[float], None] | None


@overload
def quantile(rows: object, **words: Unpack[QuantileWords]) -> Release: ...
@overload
def quantile(rows: object, *, by: str | Iterable[str], **words: Unpack[QuantileWords]) -> GroupedRelease: ...
@kind_of_words("quantile", item='; the column of numbers is value="age"')
def quantile(
    rows: object,
    *,
    user: str | None = None,
    value: str | None = None,
    q: float | Fraction | Iterable[float | Fraction] = 0.5,
    lower: Bound | None = None,
    upper: Bound | None = None,
    step: Any = None,
    per_user: PerUser = "share",
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    by: str | Iterable[str] | None = None,
    groups: Iterable[Any] | None = None,
    groups_per_user: int | None = None,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
    allow_large: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    progress: Callable[[float], None] | None = None,
) -> Release | GroupedRelease:
    """Release a median, or other quantiles, of one number per person; of many groups, for each.

    Parameters
    ----------
    rows
        As in `sl.count`: a path or glob, a frame, a DuckDB relation, an Ibis table or a Spark DataFrame; or a list, an
        array or a series with one number for each person.
    user, value
        Columns by name, of a table; the values are numbers or dates. `user=None` says that each row is a person of its
        own: your word, as for an array. Rows without a user or a value are left out.
    q
        From 0 to 1: one number or several, increasing; 0.5 is the median.
    lower, upper
        The range: public numbers, or dates, that you choose. What lies outside counts at its ends.
    step
        How fine an answer is, a public number. Without it a day between dates, 1 where both ends are written as whole
        numbers (0, not 0.0), otherwise about a millionth of the range. Coarser is more accurate in rank.
    per_user
        What a person with several rows counts for: `"share"` shares one vote among them; `"median"` (the lower one),
        `"mean"`, `"min"`, `"max"` and `"sum"` make one number of them, in whole steps.
    epsilon, delta, budget
        What all of it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho)` is taken too.
    method
        `"permute-and-flip"`, for pure budgets, `"exponential"` for all; `"auto"` takes the first where it can.
    by, groups, groups_per_user
        Quantiles for each group, as in `sl.count(..., by="country", groups=["CH", "DE"])`: columns by name, the public
        keys, which are needed, and in how many groups one person counts (1 if not said; a vote in each of them). All
        groups together cost `epsilon`.
    unit, memory, multiline, separator
        As in `sl.count`.
    allow_large
        True: do not warn of an epsilon above 30, which promises nobody anything.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before a row is read; and what for.
    progress
        A function that is told the share of the rows that were read, from 0 to 1: 0 when what was asked for is paid
        and reading begins. In between it is told for files alone.

    Returns
    -------
    Release
        with the quantiles as `values` (and `items`), in the order of `q`; with `by` a `GroupedRelease`, a mapping from
        key to `Release`.

    Raises
    ------
    ValueError, TypeError, OSError
        in one sentence that shows nothing of the table; nothing is booked if a row was not read yet.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> ages = [31, 44, 27, 65, 38] * 200
    >>> quantile(ages, q=0.5, lower=0, upper=120, epsilon=1.0).values
    [38]
    """
    request = quantile_request(
        rows, user=user, value=value, q=q, lower=lower, upper=upper, step=step, per_user=per_user,
        **budget_within(ledger, epsilon, delta, budget), method=method, by=by, groups=groups,
        groups_per_user=groups_per_user, unit=unit,
        memory=memory, multiline=multiline, separator=separator,
    )  # fmt: skip
    warn_if_absurd(request.guarantee, allow_large)
    source, tell = check_source(rng), checked_progress(progress)
    paid = None if ledger is None else request.booked(ledger, purpose, source)
    release = request.released(source, paid, tell)  # type: ignore[arg-type]
    leave_spill_folder()
    return release
