"""What the analyst asks, checked; and the plan, from public facts alone.

Only the list of candidates is opened here, which the analyst calls public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist import GroupedRelease, Release, keys, quote, top_k
from shortlist.ledger.admission import price_text, priced, spent_of
from shortlist.mechanisms import Mechanism
from shortlist.pages.rounding import number_text
from shortlist.privacy import ApproxDP, Guarantee, Ledger, PureDP, Standing
from shortlist.quotes import Quote
from shortlist.studio.columns import check_columns
from shortlist.studio.fields import (
    budget_in,
    columns_in,
    flag_in,
    groups_in,
    separator_in,
    split,
    text_in,
    whole_in,
)
from shortlist.studio.folder import LEDGERS, LISTS, TABLES, Folder
from shortlist.studio.limits import LEDGER_SECONDS
from shortlist.tables.column_names import are_a_candidate
from shortlist.tables.file_sources import format_of

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
    smallest: bool = False
    """Whether those are wanted that fewest people have."""
    separator: str | None = None

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
        most = None if request.get("most") is None else whole_in(request, "most")
        table, candidates = folder.inside(request.get("table"), TABLES, "table"), _candidates(folder, request, items)
        by, groups = text_in(request, "by", needed=False), groups_in(request)
        if by and request.get("candidates") == "every":
            raise ValueError("by: a list for every group needs a number of items; choose another way to get candidates")
        if by and not groups and candidates is not None:
            raise ValueError("groups: write the public groups beside a public list of candidates, for example CH, DE")
        smallest = flag_in(request, "smallest")
        if smallest and candidates is None:
            raise ValueError("smallest: of names from the data the rarest is one person's own; give a public list")
        check_columns(request, [("user", user), *(("item", one) for one in items), ("by", by)])
        return cls(
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
            groups=groups,
            groups_per_user=1 if request.get("groups_per_user") is None else whole_in(request, "groups_per_user"),
            large=flag_in(request, "large"),
            smallest=smallest,
            separator=separator_in(request),
        )

    @property
    def files(self) -> dict[str, Path]:
        """What is read and written, by the fields of the page."""
        listed = {"candidates": self.candidates} if isinstance(self.candidates, Path) else {}
        return {"table": self.table, **listed, "ledger": self.ledger}

    def words(self) -> dict[str, Any]:
        """The question in the words of `top_k`, or of `keys`."""
        words: dict[str, Any] = {"user": self.user, "item": list(self.items), "budget": self.budget, "unit": self.unit}
        words |= {"most": self.most, "where": self.where or None, "allow_large": True}
        words |= {"separator": self.separator} if self.separator else {}
        if self.k is None:
            return words
        words |= {"k": self.k, "candidates": self.listed(), "ordered": self.ordered, "values": self.values}
        words |= {"largest": False} if self.smallest else {}
        by = {"by": self.by, "groups": list(self.groups) or None, "groups_per_user": self.groups_per_user}
        return words | (by if self.by else {})

    def quoted(self, *, header: bool = False) -> Quote:
        """What it would run and cost; with `header`, the names and types of the table's columns are looked at."""
        return quote(keys if self.k is None else top_k, str(self.table), header=header, **self.words())

    def released(self, ledger: Ledger, progress: Callable[[float], None]) -> Release | GroupedRelease:
        """The release itself, paid for before a row is read."""
        release: Callable[..., Release | GroupedRelease] = keys if self.k is None else top_k
        return release(str(self.table), ledger=ledger, purpose=self.purpose, progress=progress, **self.words())

    def listed(self) -> Any:
        """The candidates as `count` takes them."""
        return list(self.candidates) if isinstance(self.candidates, tuple) else self.candidates

    def check_k(self, number: int) -> None:
        """Refuse a list as long as all candidates, unless they are measured: there would be nothing to choose."""
        if self.k is not None and self.k >= number + self.values:
            raise ValueError(
                f"k: there are {number:,} candidates, and the whole list says nothing about people; write a number "
                f"from 1 to {number - 1:,}"
                if number > 1
                else "k: there is only one candidate, so there is nothing to choose"
            )

    def check_names(self) -> None:
        """Refuse columns that are called like a candidate: the first line of a text file is then a row of data."""
        if format_of(str(self.table)) != "parquet" and are_a_candidate(self.items, self.listed()):
            raise ValueError(
                "item: the column is called like one of the candidates, so the first line of the file looks like a "
                "row of data: add a line of names to the file first"
            )

    @property
    def asked_of(self) -> str:
        """Of what it is asked, in words."""
        lists = self.candidates
        listed = f"of {lists.name}" if isinstance(lists, Path) else "as written" if lists else "from the data"
        return f"{self.table.name}: people in {self.user}, items in {', '.join(self.items)}; candidates {listed}"


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
        price = question.quoted()
        if price.candidates is not None:
            question.check_k(price.candidates)
            question.check_names()
        return cls(question, price.mechanism, price.why, price.candidates, price.guarantee, price.charge)

    def room(self) -> tuple[Standing, Standing]:
        """How the ledger stands and how it would; refused, as the ledger would, if there is no room."""
        ledger = self._ledger()
        return ledger.standing, ledger.standing_if(
            ledger.with_room(self.charge, self.guarantee), unit=f"{self.question.unit} (add-remove)"
        )

    def _ledger(self) -> Ledger:
        return Ledger(self.question.ledger, wait=LEDGER_SECONDS)

    def consent(self, name: str, after: Standing) -> str:
        """What the analyst agrees to, in the ledger's own numbers."""
        price, whole = self.price(), number_text(after.of)
        waits = ", once somebody else has approved it" if self._ledger().terms.approval else ""
        counted = price.startswith(f"{after.currency} ")
        of = f"of the {whole} in {name}" if counted else f"from {name}, whose budget is {after.currency} {whole}"
        if counted and after.currency == "epsilon":
            # By which rule it counts depends on the charge.
            most = "up to " if after.delta and not after.used_up else ""
            return f"I spend {price} {of}{waits}; {most}{after.left_text} will be left."
        return f"I spend {price} {of}{waits}; then {after.admits}."

    def price(self) -> str:
        """What is booked for it, in words."""
        ledger = self._ledger()
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
