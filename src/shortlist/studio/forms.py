"""Forms of the page as requests."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist import GroupedRelease, Release, keys, quantile, quote, top_k
from shortlist.accounting.checks import number_text
from shortlist.ledger.filter import charge_amounts, price_text, spent_of
from shortlist.mechanisms import Mechanism
from shortlist.privacy import ApproxDP, Guarantee, Ledger, PureDP, Standing
from shortlist.quotes import Quote
from shortlist.studio.inputs import (
    LEDGER_SECONDS,
    LEDGERS,
    LISTS,
    TABLES,
    Folder,
    budget_in,
    check_columns,
    check_large,
    columns_in,
    flag_in,
    groups_in,
    separator_in,
    split,
    text_in,
    whole_in,
)
from shortlist.tables.column_names import are_a_candidate
from shortlist.tables.file_sources import format_of
from shortlist.votes import read_bound

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
        return price_text(spent_of(ledger.terms, charge_amounts(ledger.terms, charge).where(ledger.terms.limits)))


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


WORDS = "The same question again, in the studio's folder: a new draw, and the ledger is charged again."
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class Code(str):
    """A word of a program, shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Program:
    """The three parts of a program, and what it is for."""

    imports: str
    question: str
    report: str
    purpose: str

    def python(self) -> str:
        """As a file of Python."""
        return f'"""{WORDS}"""\n\n{self.imports}\n\n{self.question}\nprint(release)\n{self.report}\n'

    def notebook(self) -> str:
        """As a notebook, which shows the release as a table."""
        purpose = self.purpose or "A private release, asked again"
        title = "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#!|$" else letter for letter in purpose)
        cells = [
            _cell("markdown", f"# {title}\n\n{WORDS} Keep this notebook in that folder, or change the names.", 0),
            _cell("code", self.imports, 1),
            _cell("code", f"{self.question}\nrelease", 2),
            _cell("markdown", "A report, as one page to hand on:", 3),
            _cell("code", self.report, 4),
        ]
        whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(whole, indent=1) + "\n"


def _cell(kind: str, text: str, place: int) -> dict[str, Any]:
    cell = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def list_program(folder: Folder, form: Form) -> Program:
    """Of a list, or of every name that enough people hold."""
    listed = form.candidates if form.candidates is None else form.listed()
    known = {} if listed is None else {"candidates": listed if isinstance(listed, list) else folder.name(listed)}
    keys = {"groups": list(form.groups)} if form.groups else {}
    columns: dict[str, Any] = {
        "user": form.user,
        "item": form.items[0] if len(form.items) == 1 else list(form.items),
        **known,
    }
    columns |= {} if form.most is None else {"most": form.most}
    columns |= {"where": form.where} if form.where else {}
    columns |= {"by": form.by, **keys, "groups_per_user": form.groups_per_user} if form.by else {}
    columns |= {"unit": form.unit} if form.unit != "user" else {}
    columns |= {"separator": form.separator} if form.separator else {}
    paid: dict[str, object] = {"epsilon": form.budget.epsilon}
    paid = paid if isinstance(form.budget, PureDP) else {"budget": Code(f"sl.{form.budget!r}")}
    order = {name: True for name in ("ordered", "values") if getattr(form, name) and form.k is not None}
    paid |= {"largest": False} if form.smallest else {}
    paid |= order | ({"allow_large": True} if form.large else {}) | {"ledger": Code("ledger")}
    paid |= {"purpose": form.purpose} if form.purpose else {}
    table = repr(folder.name(form.table))
    name, k, report = ("keys", "", "names.html") if form.k is None else ("top_k", f"k={form.k}, ", f"top{form.k}.html")
    call = f"sl.{name}({table}, {k}{arguments(columns | paid)})"
    question = f"with sl.Ledger({folder.name(form.ledger)!r}) as ledger:\n    release = {call}"
    return Program("import shortlist as sl", question, report_line(report, form.purpose), form.purpose)


def arguments(words: dict[str, Any]) -> str:
    """The arguments of a call, by name."""
    return ", ".join(f"{name}={word!r}" for name, word in words.items())


def report_line(file: str, purpose: str) -> str:
    """The line that writes the report."""
    return f'release.report("{file}"{f", title={purpose!r}" if purpose else ""})'


Ends = int | float | datetime.date


@dataclass(frozen=True, slots=True)
class QuantileForm:
    """Quantiles of one number per person, as they were asked for. Everything in it is public."""

    table: Path
    user: str
    value: str
    q: tuple[float, ...]
    lower: Ends
    upper: Ends
    step: Ends | None
    budget: PureDP | ApproxDP
    ledger: Path
    purpose: str
    unit: str
    by: str = ""
    groups: tuple[str, ...] = ()
    groups_per_user: int = 1
    large: bool = False
    separator: str | None = None
    k: None = None
    """It is no list."""

    @property
    def asked_of(self) -> str:
        """Of what it is asked, in words."""
        return f"{self.table.name}: people in {self.user}, values in {self.value}"

    @classmethod
    def of(cls, folder: Folder, request: dict[str, Any]) -> QuantileForm:
        """From the page's JSON.

        Raises
        ------
        ValueError, TypeError, OSError
            naming the field, and what to write.
        """
        by, step = text_in(request, "by", needed=False), text_in(request, "step", needed=False)
        user, value = text_in(request, "user"), text_in(request, "value")
        check_columns(request, [("user", user), ("value", value), ("by", by)])
        return cls(
            table=folder.inside(request.get("table"), TABLES, "table"),
            user=user,
            value=value,
            q=_quantiles(text_in(request, "q", needed=False)),
            lower=_end(request, "lower"),
            upper=_end(request, "upper"),
            step=_end(request, "step") if step else None,
            budget=budget_in(request),
            ledger=folder.inside(request.get("ledger"), LEDGERS, "ledger"),
            purpose=text_in(request, "purpose", needed=False),
            unit=text_in(request, "unit", needed=False) or "user",
            by=by,
            groups=groups_in(request),
            groups_per_user=1 if request.get("groups_per_user") is None else whole_in(request, "groups_per_user"),
            large=flag_in(request, "large"),
            separator=separator_in(request),
        )

    @property
    def files(self) -> dict[str, Path]:
        """What is read and written, by the fields of the page."""
        return {"table": self.table, "ledger": self.ledger}

    def words(self) -> dict[str, Any]:
        """The question in the words of `quantile`."""
        words: dict[str, Any] = {"user": self.user, "value": self.value, "q": self.q, "lower": self.lower}
        words |= {"upper": self.upper, "step": self.step, "budget": self.budget, "unit": self.unit, "allow_large": True}
        words |= {"separator": self.separator} if self.separator else {}
        by = {"by": self.by, "groups": list(self.groups) or None, "groups_per_user": self.groups_per_user}
        return words | (by if self.by else {})

    def quoted(self, *, header: bool = False) -> Quote:
        """What it would run and cost; with `header`, the names and types of the table's columns are looked at."""
        return quote(quantile, str(self.table), header=header, **self.words())

    def released(self, ledger: Ledger, progress: Callable[[float], None]) -> Release | GroupedRelease:
        """The release itself, paid for before a row is read."""
        release: Callable[..., Release | GroupedRelease] = quantile
        return release(str(self.table), ledger=ledger, purpose=self.purpose, progress=progress, **self.words())

    def offer(self) -> Offer:
        """What it would cost and run, before anything private is read."""
        price = self.quoted()
        return Offer(self, price.mechanism, price.why, None, price.guarantee, price.charge)

    def program(self, folder: Folder) -> Program:
        """The program that does the same again: a new draw, which is charged again."""
        words = {"user": self.user, "value": self.value, "q": list(self.q), "lower": _end_in_code(self.lower)}
        words |= {"upper": _end_in_code(self.upper)} | ({} if self.step is None else {"step": self.step})
        words |= (
            {"by": self.by, "groups": list(self.groups), "groups_per_user": self.groups_per_user} if self.by else {}
        )
        words |= {"unit": self.unit} if self.unit != "user" else {}
        words |= {"separator": self.separator} if self.separator else {}
        pure = isinstance(self.budget, PureDP)
        words |= {"epsilon": self.budget.epsilon} if pure else {"budget": Code(f"sl.{self.budget!r}")}
        words |= {"allow_large": True} if self.large else {}
        words |= {"ledger": Code("ledger")} | ({"purpose": self.purpose} if self.purpose else {})
        dates = "import datetime\n\n" if isinstance(self.lower, datetime.date) else ""
        question = (
            f"with sl.Ledger({folder.name(self.ledger)!r}) as ledger:\n"
            f"    release = sl.quantile({folder.name(self.table)!r}, {arguments(words)})"
        )
        report = report_line("quantiles.html", self.purpose)
        return Program(f"{dates}import shortlist as sl", question, report, self.purpose)


def offered(folder: Folder, request: dict[str, Any]) -> Offer:
    """The plan of a list, or of quantiles, by what the page asks for."""
    kind = request.get("kind", "list")
    if kind not in ("list", "quantile"):
        raise ValueError("kind: choose a list or quantiles")
    form = QuantileForm.of(folder, request) if kind == "quantile" else Form.of(folder, request)
    offer = form.offer() if isinstance(form, QuantileForm) else Offer.of(form)
    check_large(offer.guarantee, request)
    return offer


def _end_in_code(end: Ends) -> object:
    return Code(repr(end)) if isinstance(end, datetime.date) else end


def _quantiles(text: str) -> tuple[float, ...]:
    """From "0.25, 0.5"; the median if nothing is written. 0,1 might be meant as a decimal, and is asked about."""
    if re.search(r"\d,\d", text) and "." not in text:
        raise ValueError("q: write decimals with a point (0.5), and a space after a comma between two of them")
    try:
        return tuple(float(word) for word in text.split(",")) if text else (0.5,)
    except ValueError:
        raise ValueError("q: write numbers from 0 to 1, for example 0.25, 0.5, 0.75") from None


def _end(request: dict[str, Any], name: str) -> Ends:
    text = text_in(request, name)
    try:
        return read_bound(text.strip())
    except ValueError:
        raise ValueError(f"{name}: write a public number, or a date such as 2024-01-31") from None
