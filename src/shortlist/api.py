"""The calls: their arguments and what they promise. Each makes a `Query` and has it executed, or quoted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from typing import Any, TypedDict, Unpack, cast, overload

from shortlist._arrays import check_flag
from shortlist._runtime import kind_of_words
from shortlist.execute import execute, quote_query
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee, Ledger
from shortlist.query import WITHOUT_PRICE, GroupOptions, Query, ReadingOptions, TableOptions
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import Source
from shortlist.scores import Bound, GroupedScores, PerUser, Scores


class PriceOptions(TypedDict, total=False):
    """What may run, what it may cost, and who pays."""

    epsilon: float | None
    delta: float | None
    budget: Guarantee | None
    method: str
    allow_large: bool
    rng: Source | None
    ledger: Ledger | None
    purpose: str


class SelectOptions(TableOptions, PriceOptions, total=False):
    """The options of `select`."""

    largest: bool


class TopKOptions(SelectOptions, total=False):
    """The options of `top_k`."""

    ordered: bool
    values: bool
    gaps: bool
    limit: int | None
    at_least: float | None


@overload
def select(  # type: ignore[overload-overlap]
    scores: GroupedScores, **words: Unpack[SelectOptions]
) -> GroupedRelease: ...
@overload
def select(scores: object, **words: Unpack[SelectOptions]) -> Release: ...
@overload
def select(scores: object, *, by: str | Iterable[str], **words: Unpack[SelectOptions]) -> GroupedRelease: ...
@kind_of_words("select")
def select(
    scores: object,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    largest: bool = True,
    allow_large: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Unpack[GroupOptions],
) -> Release | GroupedRelease:
    """Release one winner; one for each group of `GroupedScores`.

    Parameters
    ----------
    scores
        `Scores`; or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`); or a table with
        `user=` and `item=` (and the other words of `count`).
    epsilon, delta, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`. Candidates that come from the data need a delta.
    method
        A mechanism by name, or `"auto"`.
    largest
        False for the candidate with the smallest score, of a public list.
    allow_large
        True: do not warn of an epsilon above 30, which promises nobody anything.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at, or a row of a table; and what for.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on; those of
        `count`, for a table: `user`, `item`, `candidates`, `most` and so on. With a table also `progress`, a function
        that is told the share of the rows that were read: 0 when what was asked for is paid and reading begins, and
        for files how far it is, up to 1.

    Returns
    -------
    Release
        with the winner as `item`, and as `index` where positions are public.

    Raises
    ------
    ValueError, TypeError
        from public facts alone, if the question does not fit; nothing is booked or looked at.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.select([120, 3, 40], epsilon=1.0, monotone=True).index
    0
    """
    return execute(Query.of("select", locals()))


@overload
def top_k(  # type: ignore[overload-overlap]
    scores: GroupedScores, k: int | Mapping[Any, int] | None, **words: Unpack[TopKOptions]
) -> GroupedRelease: ...
@overload
def top_k(  # type: ignore[overload-overlap]
    scores: list[list[int]] | list[list[float]] | list[Scores],
    k: int | Mapping[Any, int] | None,
    *,
    parallel: bool = False,
    **words: Unpack[TopKOptions],
) -> GroupedRelease: ...
@overload
def top_k(scores: object, k: int | None, **words: Unpack[TopKOptions]) -> Release: ...
@overload
def top_k(
    scores: object, k: int | Mapping[Any, int] | None, *, by: str | Iterable[str], **words: Unpack[TopKOptions]
) -> GroupedRelease: ...
@kind_of_words("top_k")
def top_k(
    scores: object,
    k: Any,
    *,
    parallel: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    ordered: bool = False,
    values: bool = False,
    gaps: bool = False,
    limit: int | None = None,
    at_least: float | None = None,
    largest: bool = True,
    allow_large: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Unpack[GroupOptions],
) -> Release | GroupedRelease:
    """Release the k best candidates: as a set, or best first with `ordered=True`; of many groups, a list for each.

    Parameters
    ----------
    scores
        `Scores`; or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`); or a table with
        `user=` and `item=` (and the other words of `count`).
    k
        How many; None lets the gaps decide (`StableTopK`), and needs a delta. For groups also a mapping from key to k.
    parallel
        Of a list of score lists: that nobody is in more than one of them, so that all cost what one costs. It is a
        promise of yours, and the release says so.
    epsilon, delta, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`. Candidates that come from the data need a delta.
    method
        A mechanism by name, or `"auto"`.
    ordered
        Whether the order of the winners is released too.
    values
        Whether a noisy value of each very item is released too, with its margin. Of scores with a cap of at most k
        (`count(..., most=3)`) they come with the names (`NoisyHistogram`); otherwise some are selected with one part of
        the budget and measured afresh with the other (`MeasuredSet`; with `gaps` `MeasuredTopK`). They come in order.
    gaps
        Whether the lead of each winner over the next is released too, in order; that needs a pure budget.
    limit
        For candidates that come from the data: how many rows may be looked at, a public number.
    at_least
        With `values`: leave out items whose noisy value is below it. It looks at released values alone.
    largest
        False for the k smallest scores, the smallest first where they come in order; the candidates must be public.
        Everything else is as for the largest: `values` and `margins` are of the scores themselves, `gaps` are leads.
    allow_large
        True: do not warn of an epsilon above 30, which promises nobody anything.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at, or a row of a table; and what for.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on; those of
        `count`, for a table: `user`, `item`, `candidates`, `most` and so on. With a table also `progress`, a function
        that is told the share of the rows that were read: 0 when what was asked for is paid and reading begins, and
        for files how far it is, up to 1.

    Returns
    -------
    Release
        with the winners as `items`, the guarantee, the mechanism and why it was chosen; for groups and lists of score
        lists a `GroupedRelease`, a mapping from key to `Release`.

    Raises
    ------
    ValueError, TypeError
        from public facts alone, if the question does not fit; nothing is booked or looked at.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.top_k({"ada": 900, "bob": 500, "cy": 20}, 2, epsilon=1.0, monotone=True, public=True).items
    ['ada', 'bob']
    """
    return execute(Query.of("top_k", locals()))


@kind_of_words(
    "keys",
    by="; names for each group: top_k(rows, k, by=..., epsilon=..., delta=..., user=..., item=...)",
    k="; for so many of them: top_k(rows, k, epsilon=..., delta=..., user=..., item=...)",
    candidates="; of a public list: top_k(rows, k, candidates=..., epsilon=..., user=..., item=...)",
)
def keys(
    rows: object,
    *,
    user: str,
    item: str | Iterable[str],
    most: int | None = None,
    where: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    weighted: bool | None = None,
    values: bool = True,
    at_least: float | None = None,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
    allow_large: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    progress: Callable[[float], None] | None = None,
) -> Release:
    """Release every name that enough people hold, with a noisy count of each: no public list is needed.

    Each person counts for at most `most` names, so that one bar serves for all names, however many there are.

    Parameters
    ----------
    rows
        As in `sl.count`: a path or glob, a frame, a DuckDB relation, an Ibis table or a Spark DataFrame.
    user, item
        Columns by name. Several item columns make one name: `item=["artist", "title"]`.
    most
        For how many names each person counts, a public number. None lets each person share one vote among up to 64
        names, which does well where people hold different numbers of them; if everybody holds one, write `most=1`.
    where
        Which rows count, as text: `"week >= 40"` (as in `sl.count`).
    epsilon, delta, budget
        What it may cost: `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho, delta)` is
        taken too. A delta is needed: it is the chance that a name is shown which one person alone brought.
    weighted
        Whether each person shares one vote among the names; None: if no `most` was given.
    values
        Whether counts come with the names. With `most` they are people for whom the name counts; weighted, a quarter
        of the budget measures how many people hold it.
    at_least
        Leave out names whose noisy count is below it. It looks at released counts alone, and costs nothing.
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
        with the names as `items`, the largest count first, `values`, and `margins`; a set without values.

    Raises
    ------
    ValueError, TypeError, OSError
        in one sentence that shows nothing of the table; nothing is booked if a row was not read yet.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"who": range(600), "what": ["tea"] * 400 + ["milk"] * 199 + ["a secret"]})
    >>> keys(rows, user="who", item="what", most=1, epsilon=1.0, delta=1e-6).items
    ['tea', 'milk']
    """
    return cast(Release, execute(Query.of("keys", locals())))


class QuantileOptions(ReadingOptions, PriceOptions, total=False):
    """The options of `quantile`."""

    user: str | None
    value: str | None
    q: float | Fraction | Iterable[float | Fraction]
    lower: Bound | None
    upper: Bound | None
    step: Any
    per_user: PerUser
    groups: Iterable[Any] | None
    groups_per_user: int | None
    unit: str


@overload
def quantile(rows: object, **words: Unpack[QuantileOptions]) -> Release: ...
@overload
def quantile(rows: object, *, by: str | Iterable[str], **words: Unpack[QuantileOptions]) -> GroupedRelease: ...
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
    return execute(Query.of("quantile", locals()))


@dataclass(frozen=True, slots=True)
class Quote:
    """What a call would run and cost.

    Parameters
    ----------
    mechanism
        What would draw; for groups whose k differ, that of the first.
    why
        Why it was chosen, in words; nothing if the caller named it.
    guarantee
        What one person is promised of all of it.
    charge
        What a ledger would book, if it has room for that: the guarantee, or a finer statement of it; once the header
        of the table is looked at, it may be finer still, for the number of candidates is sure then.
    candidates
        How many candidates there are, where they are public and told without an engine.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.quote(sl.top_k, [900, 20, 500], k=2, epsilon=1.0, monotone=True).guarantee
    PureDP(epsilon=1.0)
    """

    mechanism: Mechanism
    why: str
    guarantee: Guarantee
    charge: Guarantee
    candidates: int | None = None


def quote(release: Callable[..., Any], rows: object, *k: Any, header: bool = False, **words: Any) -> Quote:
    """What a call of `top_k`, `select`, `keys` or `quantile` would run and cost; no row is read, nothing is booked.

    Promise: it follows from public facts alone. Of a table not even the names of the columns are looked at, unless
    `header=True` says so; of a public list of candidates the number counts.

    Parameters
    ----------
    release
        `sl.top_k`, `sl.select`, `sl.keys` or `sl.quantile`.
    rows, k
        What is given to it first, as it would be.
    header
        True: look at the names and types of the table's columns too, as the call itself does before it books.
    **words
        All other words of that call. `ledger`, `purpose`, `rng`, `allow_large` and `progress` may be among them, and
        change nothing.

    Returns
    -------
    Quote
        with the mechanism, why it is chosen, the guarantee and what a ledger would book.

    Raises
    ------
    ValueError, TypeError, OSError
        as the call itself would, from public facts alone.

    Examples
    --------
    >>> import shortlist as sl
    >>> words = {"user": "user_id", "item": "film", "candidates": ["Alien", "Heat", "Ran"], "epsilon": 0.5}
    >>> sl.quote(sl.top_k, "rentals.csv", k=2, **words).guarantee
    PureDP(epsilon=0.5)
    """
    if release not in (top_k, select, keys, quantile):
        raise TypeError("release must be sl.top_k, sl.select, sl.keys or sl.quantile")
    priced = {name: word for name, word in words.items() if name not in WITHOUT_PRICE}
    bound = signature(release).bind(rows, *k, **priced)
    bound.apply_defaults()
    query = Query.of(release.__name__, bound.arguments)
    plan, candidates = quote_query(query, header=check_flag("header", header))
    return Quote(plan.first.mechanism, plan.first.why, plan.guarantee, plan.charge, candidates)
