"""From a question to a release in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from shortlist._arrays import check_flag
from shortlist._files import leave_spill_folder
from shortlist._runtime import lazy_import
from shortlist._text import kind_of_words, other_word
from shortlist.choose import budget_within, mechanism_for, warn_if_absurd
from shortlist.errors import bad_type
from shortlist.groups import grouped
from shortlist.list_request import check_least, finished, group_request, groups_in_words, shown_in_words, turned
from shortlist.mechanisms.base import check_ledger, check_source
from shortlist.paid_release import Booked
from shortlist.privacy import Guarantee, Ledger
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import Source
from shortlist.scores import GroupedScores, Scores, ScoresOptions, as_scores
from shortlist.table_words import TABLE_WORDS, GroupWords, TableWords

if TYPE_CHECKING:
    from shortlist.table_release import Table


KNOWN = GroupWords.__annotations__.keys()
"""Beside those in the signatures of `select` and `top_k`."""


SEVERAL = ("k", "parallel", "ordered", "values", "gaps", "limit", "at_least")
"""What `top_k` alone knows."""


class OneWords(TableWords, total=False):
    """The words of `select`."""

    epsilon: float | None
    delta: float | None
    budget: Guarantee | None
    method: str
    largest: bool
    allow_large: bool
    rng: Source | None
    ledger: Ledger | None
    purpose: str


class ListWords(OneWords, total=False):
    """The words of `top_k`."""

    ordered: bool
    values: bool
    gaps: bool
    limit: int | None
    at_least: float | None


@overload
def select(  # type: ignore[overload-overlap]
    scores: GroupedScores, **words: Unpack[OneWords]
) -> GroupedRelease: ...
@overload
def select(scores: object, **words: Unpack[OneWords]) -> Release: ...
@overload
def select(scores: object, *, by: str | Iterable[str], **words: Unpack[OneWords]) -> GroupedRelease: ...
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
    **question: Unpack[GroupWords],
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
    return _answered(
        scores,
        1,
        epsilon=epsilon,
        delta=delta,
        budget=budget,
        method=method,
        ordered=True,
        largest=largest,
        allow_large=allow_large,
        rng=rng,
        ledger=ledger,
        purpose=purpose,
        question=question,
    )


@overload
def top_k(  # type: ignore[overload-overlap]
    scores: GroupedScores, k: int | Mapping[Any, int] | None, **words: Unpack[ListWords]
) -> GroupedRelease: ...
@overload
def top_k(  # type: ignore[overload-overlap]
    scores: list[list[int]] | list[list[float]] | list[Scores],
    k: int | Mapping[Any, int] | None,
    *,
    parallel: bool = False,
    **words: Unpack[ListWords],
) -> GroupedRelease: ...
@overload
def top_k(scores: object, k: int | None, **words: Unpack[ListWords]) -> Release: ...
@overload
def top_k(
    scores: object, k: int | Mapping[Any, int] | None, *, by: str | Iterable[str], **words: Unpack[ListWords]
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
    **question: Unpack[GroupWords],
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
    plan: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "budget": budget, "method": method,
            "ordered": ordered, "values": values, "gaps": gaps, "limit": limit, "largest": largest}  # fmt: skip
    return _answered(
        scores,
        k,
        parallel=parallel,
        at_least=at_least,
        allow_large=allow_large,
        rng=rng,
        ledger=ledger,
        purpose=purpose,
        question=question,
        **plan,
    )


def _answered(
    scores: object,
    k: Any,
    *,
    question: GroupWords,
    parallel: bool = False,
    at_least: float | None = None,
    allow_large: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **plan: Any,
) -> Release | GroupedRelease:
    """One release, or one for each group; `plan` are the words by which `mechanism_for` chooses."""
    check_words(question)
    table = None if TABLE_WORDS.isdisjoint(question) else _table(scores, question)
    words = cast(ScoresOptions, {} if table is not None else question)
    groups = grouped(scores if table is None else None, parallel, words)
    has_values = check_flag("values", plan.get("values", False)) and plan["method"] != "gumbel-values"
    least = check_least(at_least, has_values)
    if ledger is not None:
        plan |= budget_within(ledger, plan.get("epsilon"), plan.get("delta"), plan.get("budget"))
    if table is not None:
        release = table.released(k, least, plan, allow_large=allow_large, rng=rng, ledger=ledger, purpose=purpose)
        leave_spill_folder()
        return release
    if groups is not None:
        request = group_request(groups, k, least, **plan)
        warn_if_absurd(request.guarantee, allow_large)
        source = check_source(rng)
        check_ledger(ledger)
        reservation = request.booked(ledger, purpose, source, groups_in_words(request, least))
        return request.released(groups, source, reservation)
    data = as_scores(scores, **words)
    most, weighed = data.most, data._weights is not None
    mechanism, why, keeps_order = mechanism_for(k, public=data.public, most=most, weighed=weighed, **plan)
    warn_if_absurd(mechanism.guarantee, allow_large)
    data, source = turned(data, bool(plan["largest"])), check_source(rng)
    check_ledger(ledger)
    if ledger is None:
        drawn = mechanism.release(data, rng=source)
    else:
        said = shown_in_words(mechanism, keeps_order, least)
        drawn = Booked.of(mechanism, data, ledger, purpose, source, said).release(data, source)
    return finished(drawn, why if plan["method"] == "auto" else "", keeps_order, k, least)


def check_words(question: GroupWords) -> None:
    """Refuse a word that nobody knows, with the one that may be meant."""
    if not question.keys() <= KNOWN:
        word = min(question.keys() - KNOWN)
        if word in SEVERAL:
            raise bad_type(f"{word} is not for select, which releases one winner: write top_k(..., ${word}=...)")
        near = other_word(word, [*ListWords.__annotations__, "k", "parallel"])
        raise TypeError(f"{word} is no word that top_k or select know{near or '; see help(shortlist.top_k)'}")


def _table(rows: object, question: GroupWords) -> Table:
    """A table and what is asked of it; what counts tables is loaded when there is one."""
    table: Table = lazy_import("shortlist.table_release", "Table").of(rows, question)
    return table
