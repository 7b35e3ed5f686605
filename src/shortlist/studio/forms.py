"""The form of the page as a question to the library: its arguments, its price, and the program that asks it again."""

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
from shortlist.ledger.filter import balance_of, charge_amounts, price_text
from shortlist.mechanisms import Mechanism
from shortlist.privacy import ApproxDP, Guarantee, Ledger, PureDP, Standing
from shortlist.quotes import Quote
from shortlist.scores import read_bound
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

MOST_PASTED = 500_000
"""Characters of a pasted list of candidates."""


@dataclass(frozen=True, slots=True)
class Form:
    """One release, as it was asked for. Everything in it is public."""

    ask: Callable[..., Release | GroupedRelease]
    """`top_k`, `keys` or `quantile`."""
    arguments: dict[str, Any]
    """What it is asked, beside the table and what follows; what has its default is left out."""
    table: Path
    candidates: Path | tuple[Any, ...] | None
    """A list that is public; also among the arguments."""
    budget: PureDP | ApproxDP
    ledger: Path
    purpose: str
    large: bool
    """Whether an epsilon that promises nobody anything is meant."""

    @classmethod
    def of(cls, folder: Folder, request: dict[str, Any]) -> Form:
        """From the page's JSON.

        Raises
        ------
        ValueError, TypeError, OSError
            naming the field, and what to write.
        """
        kind = request.get("kind", "list")
        if kind not in ("list", "quantile"):
            raise ValueError("kind: choose a list or quantiles")
        table, candidates = folder.inside(request.get("table"), TABLES, "table"), None
        ask: Callable[..., Release | GroupedRelease] = quantile
        if kind == "quantile":
            arguments = _quantile_arguments(request)
        else:
            ask, arguments, candidates = _list_arguments(folder, request)
        unit, separator = text_in(request, "unit", needed=False) or "user", separator_in(request)
        arguments |= ({"unit": unit} if unit != "user" else {}) | ({"separator": separator} if separator else {})
        return cls(
            ask=ask,
            arguments=arguments,
            table=table,
            candidates=candidates,
            budget=budget_in(request),
            ledger=folder.inside(request.get("ledger"), LEDGERS, "ledger"),
            purpose=text_in(request, "purpose", needed=False),
            large=flag_in(request, "large"),
        )

    @property
    def k(self) -> int | None:
        """How many items; None for every name that enough people hold, and for quantiles."""
        return self.arguments.get("k")

    @property
    def unit(self) -> str:
        return str(self.arguments.get("unit", "user"))

    @property
    def groups(self) -> list[str]:
        """The public groups; none if they come from the data, or if there is one list."""
        return list(self.arguments.get("groups", ()))

    @property
    def smallest(self) -> bool:
        return not self.arguments.get("largest", True)

    @property
    def files(self) -> dict[str, Path]:
        """What is read and written, by the fields of the page."""
        listed = {"candidates": self.candidates} if isinstance(self.candidates, Path) else {}
        return {"table": self.table, **listed, "ledger": self.ledger}

    def quote(self, *, header: bool = False) -> Quote:
        """What it would run and cost; with `header`, the names and types of the table's columns are looked at."""
        return quote(
            self.ask, str(self.table), header=header, budget=self.budget, allow_large=True, **self.arguments
        )  # fmt: skip

    def release(self, ledger: Ledger, progress: Callable[[float], None]) -> Release | GroupedRelease:
        """The release itself, paid for before a row is read."""
        paid: dict[str, Any] = {"budget": self.budget, "ledger": ledger, "purpose": self.purpose, "allow_large": True}
        return self.ask(str(self.table), progress=progress, **paid, **self.arguments)

    def check_candidates(self, number: int) -> None:
        """Refuse a list as long as all candidates, unless they are measured: there would be nothing to choose.

        Refuse columns that are called like a candidate too: the first line of a text file is then a row of data.
        """
        if self.k is not None and self.k >= number + bool(self.arguments.get("values")):
            raise ValueError(
                f"k: there are {number:,} candidates, and the whole list says nothing about people; write a number "
                f"from 1 to {number - 1:,}"
                if number > 1
                else "k: there is only one candidate, so there is nothing to choose"
            )
        text = format_of(str(self.table)) != "parquet"
        if text and are_a_candidate(_columns(self.arguments["item"]), self.arguments.get("candidates")):
            raise ValueError(
                "item: the column is called like one of the candidates, so the first line of the file looks like a "
                "row of data: add a line of names to the file first"
            )

    @property
    def subject(self) -> str:
        """Of what it is asked, in words."""
        people = f"{self.table.name}: people in {self.arguments['user']}"
        if self.ask is quantile:
            return f"{people}, values in {self.arguments['value']}"
        lists = self.candidates
        listed = f"of {lists.name}" if isinstance(lists, Path) else "as written" if lists else "from the data"
        return f"{people}, items in {', '.join(_columns(self.arguments['item']))}; candidates {listed}"

    def program(self, folder: Folder) -> Program:
        """The program that does the same again: a new draw, which is charged again."""
        words = {
            name: folder.name(value) if isinstance(value, Path) else value for name, value in self.arguments.items()
        }
        said = [f"{name}={value!r}" for name, value in words.items()]
        pure = isinstance(self.budget, PureDP)
        said.append(f"epsilon={self.budget.epsilon!r}" if pure else f"budget=sl.{self.budget!r}")
        said += ["allow_large=True"] * self.large
        said += ["ledger=ledger", *([f"purpose={self.purpose!r}"] if self.purpose else [])]
        name = {quantile: "quantile", keys: "keys"}.get(self.ask, "top_k")
        question = (
            f"with sl.Ledger({folder.name(self.ledger)!r}) as ledger:\n"
            f"    release = sl.{name}({folder.name(self.table)!r}, {', '.join(said)})"
        )
        dates = "import datetime\n\n" if isinstance(words.get("lower"), datetime.date) else ""
        title = f", title={self.purpose!r}" if self.purpose else ""
        report = f'release.report("{self.stem}.html"{title})'
        return Program(f"{dates}import shortlist as sl", question, report, self.purpose)

    @property
    def stem(self) -> str:
        """What its files are called."""
        return {quantile: "quantiles", keys: "names"}.get(self.ask, f"top{self.k}")


def _list_arguments(
    folder: Folder, request: dict[str, Any]
) -> tuple[Callable[..., Release | GroupedRelease], dict[str, Any], Path | tuple[Any, ...] | None]:
    """(the function, its arguments, the candidates) of a list, or of every name that enough people hold."""
    user, items, every = text_in(request, "user"), columns_in(request, "item"), request.get("candidates") == "every"
    if user in items:
        raise ValueError("item: the items must be in other columns than the people")
    columns: dict[str, Any] = {"user": user, "item": items[0] if len(items) == 1 else list(items)}
    most = None if request.get("most") is None else whole_in(request, "most")
    candidates, by = _candidates(folder, request, items), text_in(request, "by", needed=False)
    grouped = _group_arguments(request, by)
    if by and every:
        raise ValueError("by: a list for every group needs a number of items; choose another way to get candidates")
    if by and "groups" not in grouped and candidates is not None:
        raise ValueError("groups: write the public groups beside a public list of candidates, for example CH, DE")
    flags = {name: flag_in(request, name) for name in ("ordered", "values", "smallest")}
    if flags["smallest"] and candidates is None:
        raise ValueError("smallest: of names from the data the rarest is one person's own; give a public list")
    check_columns(request, [("user", user), *(("item", one) for one in items), ("by", by)])
    where = text_in(request, "where", needed=False)
    counted = ({} if most is None else {"most": most}) | ({"where": where} if where else {})
    if every:
        return keys, columns | counted, candidates
    listed = (
        {} if candidates is None else {"candidates": list(candidates) if isinstance(candidates, tuple) else candidates}
    )
    arguments = {"k": whole_in(request, "k"), **columns, **listed, **counted, **grouped}
    arguments |= {name: True for name in ("ordered", "values") if flags[name]}
    return top_k, arguments | ({"largest": False} if flags["smallest"] else {}), candidates


def _quantile_arguments(request: dict[str, Any]) -> dict[str, Any]:
    by, step = text_in(request, "by", needed=False), text_in(request, "step", needed=False)
    user, value = text_in(request, "user"), text_in(request, "value")
    check_columns(request, [("user", user), ("value", value), ("by", by)])
    arguments: dict[str, Any] = {"user": user, "value": value, "q": _quantiles(text_in(request, "q", needed=False))}
    arguments |= {name: _end(request, name) for name in ("lower", "upper", *(["step"] if step else []))}
    return arguments | _group_arguments(request, by)


def _group_arguments(request: dict[str, Any], by: str) -> dict[str, Any]:
    groups, most = groups_in(request), request.get("groups_per_user")
    grouped: dict[str, Any] = {"groups": list(groups)} if groups else {}
    grouped |= {"groups_per_user": 1 if most is None else whole_in(request, "groups_per_user")}
    return {"by": by, **grouped} if by else {}


def _columns(item: str | list[str]) -> tuple[str, ...]:
    return (item,) if isinstance(item, str) else tuple(item)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a question would cost and run, before anything private is read."""

    question: Form
    mechanism: Mechanism
    why: str
    candidates: int | None
    guarantee: Guarantee
    charge: Guarantee

    @classmethod
    def of(cls, folder: Folder, request: dict[str, Any]) -> Offer:
        """The plan of what the page asks for."""
        form = Form.of(folder, request)
        price = form.quote()
        if price.candidates is not None and form.ask is not quantile:
            form.check_candidates(price.candidates)
        check_large(price.guarantee, request)
        return cls(form, price.mechanism, price.why, price.candidates, price.guarantee, price.charge)

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
            most = "up to " if after.delta and not after.nothing_left else ""
            return f"I spend {price} {of}{waits}; {most}{after.left_text} will be left."
        return f"I spend {price} {of}{waits}; then {after.admits}."

    def price(self) -> str:
        """What is booked for it, in words."""
        ledger = self._ledger()
        charge = ledger.with_room(self.charge, self.guarantee)
        return price_text(balance_of(ledger.terms, charge_amounts(ledger.terms, charge).where(ledger.terms.limits)))


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


def _quantiles(text: str) -> list[float]:
    """From "0.25, 0.5"; the median if nothing is written. 0,1 might be meant as a decimal, and is asked about."""
    if re.search(r"\d,\d", text) and "." not in text:
        raise ValueError("q: write decimals with a point (0.5), and a space after a comma between two of them")
    try:
        return [float(word) for word in text.split(",")] if text else [0.5]
    except ValueError:
        raise ValueError("q: write numbers from 0 to 1, for example 0.25, 0.5, 0.75") from None


def _end(request: dict[str, Any], name: str) -> int | float | datetime.date:
    text = text_in(request, name)
    try:
        return read_bound(text.strip())
    except ValueError:
        raise ValueError(f"{name}: write a public number, or a date such as 2024-01-31") from None


WORDS = "The same question again, in the studio's folder: a new draw, and the ledger is charged again."
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


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
        texts = (
            ("markdown", f"# {title}\n\n{WORDS} Keep this notebook in that folder, or change the names."),
            ("code", self.imports),
            ("code", f"{self.question}\nrelease"),
            ("markdown", "A report, as one page to hand on:"),
            ("code", self.report),
        )
        cells: list[dict[str, Any]] = [
            {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text.splitlines(keepends=True)}
            for place, (kind, text) in enumerate(texts)
        ]
        for cell in cells:
            cell |= {"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {}
        return json.dumps({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
