"""What only some mechanisms release beside the items: one value that an outcome and its release share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from shortlist.accounting.guarantees import ExPost
    from shortlist.estimates import Answer, ChainedGaps, EndedGaps, ThresholdGaps
    from shortlist.exact.margins import Margin

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Whatever a mechanism released beside the items; None for what it does not release.

    Parameters
    ----------
    values, soft_max, soft_min, gaps, p_value
        Noisy scores, and differences of noisy scores (one for each item), where the mechanism releases them.
    margins
        How far each value may be from the number it stands for, where it stands for one.
    answers
        The answers "above" of a sparse vector.
    largest
        False where the smallest were asked for. Values are the scores themselves, and gaps are leads, all the same.
    candidates
        How many candidates the caller declared public, where they have names; None where they come from the data.
    asked
        How many items were asked for, in one call of `top_k` or `select`.
    used, stopped, k
        Which way a mechanism with several went, whether a threshold or a limit ended the list, how many items it chose.
    kept
        What this very outcome cost, where that may be less than the guarantee: a ledger that reserved the charge may
        take back the rest (Theorem 38).
    q
        Of quantiles: which ones, one for each item.
    evidence
        What the gaps say about the scores: the law behind `Release.refine` and `Release.lower_bound`.
    """

    values: list[float] | None = None
    margins: list[Margin] | None = None
    soft_max: float | None = None
    soft_min: float | None = None
    gaps: list[float] | None = None
    p_value: float | None = None
    answers: list[Answer] | None = None
    largest: bool | None = None
    candidates: int | None = None
    asked: int | None = None
    used: str | None = None
    stopped: bool | None = None
    k: int | None = None
    kept: ExPost | None = None
    evidence: ChainedGaps | EndedGaps | ThresholdGaps | None = None
    q: list[float] | None = None


NOTHING_ELSE = Extras()
"""Of a mechanism that releases items alone."""


class Extra(Generic[Kind]):
    """An attribute of a release that stands in its `extras` under the same name; None where it was not released."""

    __slots__ = ("_name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, release: None, owner: type) -> Self: ...

    @overload
    def __get__(self, release: object, owner: type) -> Kind | None: ...

    def __get__(self, release: Any, owner: type) -> Any:
        return self if release is None else getattr(release.extras, self._name)
