"""What the analyst asks, checked; and the plan, from public facts alone.

Only the list of candidates is opened here, which the analyst calls public.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.choose import group_request
from shortlist.from_data import KeyRequest
from shortlist.grouped_scores import GroupedScores
from shortlist.groups import GroupRequest
from shortlist.ledger.admission import price_text, priced, spent_of
from shortlist.mechanisms import Mechanism
from shortlist.method_choice import mechanism_for
from shortlist.pages.rounding import number_text
from shortlist.privacy import ApproxDP, Guarantee, Ledger, PureDP, Standing
from shortlist.studio.fields import budget_in, columns_in, flag_in, groups_in, split, text_in, whole_in
from shortlist.studio.folder import LEDGERS, LISTS, TABLES, Folder
from shortlist.tables.caps import checked_most
from shortlist.tables.file_sources import rows_of_file
from shortlist.tables.files import check_public
from shortlist.tables.groups.scored import unread_groups
from shortlist.tables.question import Question as Columns

if TYPE_CHECKING:
    from shortlist.studio.quantile_form import QuantileForm

MOST_PASTED = 500_000
"""Characters of a pasted list of candidates."""


@dataclass(frozen=True, slots=True)
class Form:
    """One release, as it was asked for. Everything in it is public."""

    table: Path
    user: str
    items: tuple[str, ...]
    """The columns that make an item."""
    candidates: Path | tuple[Any, ...] | None
    k: int | None
    """None for every name that enough people hold."""
    budget: PureDP | ApproxDP
    ordered: bool
    ledger: Path
    purpose: str
    unit: str
    values: bool = False
    most: int | None = None
    where: str = ""
    by: str = ""
    """The column whose values make groups; none for one list."""
    groups: tuple[str, ...] = ()
    """The public keys; none if they come from the data."""
    groups_per_user: int = 1
    large: bool = False
    """Whether an epsilon that promises nobody anything is meant."""

    @classmethod
    def of(cls, folder: Folder, request: dict[str, Any]) -> Form:
        """From the page's JSON.

        Raises
        ------
        ValueError, TypeError, OSError
            naming the field, and what to write.
        """
        user, items = text_in(request, "user"), columns_in(request, "item")
        if user in items:
            raise ValueError("item: the items must be in other columns than the people")
        most = None if request.get("most") is None else checked_most(whole_in(request, "most"))
        table, candidates = folder.inside(request.get("table"), TABLES, "table"), _candidates(folder, request, items)
        if isinstance(candidates, Path):
            check_public(str(candidates), str(table), user)
        by, groups = text_in(request, "by", needed=False), groups_in(request)
        if by and request.get("candidates") == "every":
            raise ValueError("by: a list for every group needs a number of items; choose another way to get candidates")
        if by and not groups and candidates is not None:
            raise ValueError("groups: write the public groups beside a public list of candidates, for example CH, DE")
        form = cls(
            table=table,
            user=user,
            items=items,
            candidates=candidates,
            k=None if request.get("candidates") == "every" else whole_in(request, "k"),
            budget=budget_in(request),
            ordered=flag_in(request, "ordered"),
            ledger=folder.inside(request.get("ledger"), LEDGERS, "ledger"),
            purpose=text_in(request, "purpose", needed=False),
            unit=text_in(request, "unit", needed=False) or "user",
            values=flag_in(request, "values"),
            most=most,
            where=text_in(request, "where", needed=False),
            by=by,
            groups=groups if by else (),
            groups_per_user=1 if request.get("groups_per_user") is None else whole_in(request, "groups_per_user"),
            large=flag_in(request, "large"),
        )
        form.columns()
        return form

    def columns(self) -> Columns:
        """Which columns are read, and how."""
        by = (self.by, list(self.groups) or None, self.groups_per_user) if self.by else (None, None, None)
        return Columns.of(self.user, self.items, None, None, self.most, self.where or None, *by)

    def lists(self, scores: GroupedScores) -> GroupRequest:
        """The question for a list of every group, by what is public of the scores."""
        return group_request(scores, self.k, budget=self.budget, ordered=self.ordered, values=self.values)

    def mechanism(self) -> tuple[Mechanism, str]:
        """What will run, and why: the public rule of `top_k`, or that of `keys`."""
        if self.k is None:
            request = self.keys()
            return request.mechanism, request.why
        public = self.candidates is not None
        mechanism, why, _ = mechanism_for(
            self.k, public=public, budget=self.budget, ordered=self.ordered, values=self.values, most=self.most,
            weighed=not public,
        )  # fmt: skip
        return mechanism, why

    def keys(self) -> KeyRequest:
        """The question for every name that enough people hold, with counts."""
        return KeyRequest.of(
            self.user, self.items, most=self.most, where=self.where or None, epsilon=None, delta=None,
            budget=self.budget, weighted=None,
            values=True, at_least=None, unit=self.unit, memory=None, multiline=False,
        )  # fmt: skip

    def listed(self) -> Any:
        """The candidates as `count` takes them."""
        return list(self.candidates) if isinstance(self.candidates, tuple) else self.candidates

    def number_of_candidates(self) -> int | None:
        """How many there are, where the list is public."""
        if self.candidates is None:
            return None
        listed = self.candidates
        return len(set(listed if isinstance(listed, tuple) else rows_of_file(str(listed), self.items)))

    def check_k(self, number: int) -> None:
        """Refuse a list as long as all candidates: there would be nothing to choose."""
        if self.k is not None and self.k >= number:
            raise ValueError(f"k: of {number:,} candidates fewer than {number:,} can be chosen; write a smaller k")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a question would cost and run, before anything private is read."""

    question: Form | QuantileForm
    mechanism: Mechanism
    why: str
    candidates: int | None
    guarantee: Guarantee
    charge: Guarantee

    @classmethod
    def of(cls, question: Form) -> Offer:
        number = question.number_of_candidates()
        if number is not None:
            question.check_k(number)
        if question.by:
            request = question.lists(unread_groups(question.columns(), number, question.unit))
            return cls(question, request.mechanism, request.why, number, request.guarantee, request.charge)
        mechanism, why = question.mechanism()
        return cls(question, mechanism, why.removeprefix("auto: "), number, mechanism.guarantee, mechanism.charge)

    def room(self) -> tuple[Standing, Standing]:
        """How the ledger stands and how it would; refused, as the ledger would, if there is no room."""
        ledger = Ledger(self.question.ledger)
        return ledger.standing, ledger.standing_if(ledger.with_room(self.charge, self.guarantee))

    def consent(self, name: str, after: Standing) -> str:
        """What the analyst agrees to, in the ledger's own numbers."""
        price, whole = self.price(), number_text(after.of)
        counted = price.startswith(f"{after.currency} ")
        of = f"of the {whole} in {name}" if counted else f"from {name}, whose budget is {after.currency} {whole}"
        if counted and not after.delta and after.currency == "epsilon":
            left = after.left_text
            return f"I spend {price} {of}; {left} will be left."
        return f"I spend {price} {of}; then {after.admits}."

    def price(self) -> str:
        """What is booked for it, in words."""
        ledger = Ledger(self.question.ledger)
        charge = ledger.with_room(self.charge, self.guarantee)
        return price_text(spent_of(ledger.terms, priced(ledger.terms, charge).where(ledger.terms.limits)))


def _candidates(folder: Folder, request: dict[str, Any], items: tuple[str, ...]) -> Path | tuple[Any, ...] | None:
    way = request.get("candidates")
    if way == "file":
        return folder.inside(request.get("candidates_file"), (*LISTS, *TABLES), "candidates")
    if way == "text":
        text = request.get("candidates_text")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("candidates_text: write the possible items, one a line")
        if len(text) > MOST_PASTED:
            raise ValueError("candidates_text: so long a list belongs into a file")
        lines = dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
        return tuple(lines) if len(items) == 1 else tuple(dict.fromkeys(_row(line, items) for line in lines))
    if way in ("none", "every"):
        if request.get("delta") in (None, "", 0):
            raise ValueError("delta: without a public list of candidates a release needs one; write 1e-6, for example")
        return None
    raise ValueError("candidates: choose a file, a written list, or none")


def _row(line: str, items: tuple[str, ...]) -> tuple[str, ...]:
    words = split(line, "candidates_text")
    if len(words) != len(items):
        raise ValueError(f"candidates_text: write {len(items)} words a line, with commas: {', '.join(items)}")
    return words
