"""The form of the page as a question to the library: its arguments, its price, and the program that asks it again."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shortlist import GroupedRelease, Release, keys, quantile, quote, top_k
from shortlist.api import Quote
from shortlist.ledger.filter import balance, countable_costs
from shortlist.pages.standing import number_text, price_text
from shortlist.privacy import ApproxDP, Ledger, PureDP
from shortlist.query import options_of
from shortlist.studio import inputs
from shortlist.studio.inputs import Folder, open_ledger, read_field
from shortlist.tables.columns import are_a_candidate
from shortlist.tables.files import format_of

MOST_PASTED = 500_000
"""Characters of a pasted list of candidates."""
COLUMNS = ("user", "item", "value", "by")
"""Fields that name columns of the table."""
GROUPS = ("by", "groups", "groups_per_user")
KINDS: dict[str, Callable[..., Release | GroupedRelease]] = {"list": top_k, "every": keys, "quantile": quantile}
"""What may be asked."""


def fields_of(kind: str) -> list[str]:
    """The fields that are read: arguments of the function, but what it does unless it is told not to; and groups."""
    taken = {one.name for one in options_of(KINDS[kind].__name__) if one.default is not True}.union(GROUPS)
    if kind == "list":  # of counts, and its smallest are `largest=False`
        taken = taken - {"value"} | {"smallest"}
    return [name for name in inputs.ASKED if name in taken]


WORDS = "The same question again, in the studio's folder: a new draw, and the ledger is charged again."
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True, slots=True)
class Form:
    """One release, as it was asked for. Everything in it is public."""

    kind: str
    """A key of `KINDS`."""
    arguments: dict[str, Any]
    """What its function is asked, beside the table and what follows; what has its default is left out."""
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
        table = folder.inside(request.get("table"), inputs.TABLES, "table")
        kind = "every" if kind == "list" and request.get("candidates") == "every" else kind
        fields = {name: read_field(request, name) for name in fields_of(kind)}
        candidates = None if kind == "quantile" else _read_candidates(folder, request, fields["item"])
        _check_fields(kind, fields, candidates)
        columns = [(name, fields[name]) for name in COLUMNS if fields.get(name)]
        pairs = [(name, one) for name, many in columns for one in ((many,) if isinstance(many, str) else many)]
        inputs.check_columns(request, pairs)
        return cls(
            kind=kind,
            arguments=_arguments_of(fields, candidates),
            table=table,
            candidates=candidates,
            budget=inputs.read_budget(request),
            ledger=folder.inside(request.get("ledger"), inputs.LEDGERS, "ledger"),
            purpose=read_field(request, "purpose") or "",
            large=bool(read_field(request, "large")),
        )

    @property
    def k(self) -> int | None:
        """How many items; None for every name that enough people hold, and for quantiles."""
        return self.arguments.get("k")

    @property
    def unit(self) -> str:
        return str(self.arguments.get("unit", "user"))

    @property
    def smallest(self) -> bool:
        return not self.arguments.get("largest", True)

    @property
    def files(self) -> dict[str, Path]:
        """What is read and written, by the fields of the page."""
        listed = {"candidates": self.candidates} if isinstance(self.candidates, Path) else {}
        return {"table": self.table, **listed, "ledger": self.ledger}

    def quote(self, *, header: bool = False) -> Quote:
        """What it would run and cost; with `header`, the names and types of the table's columns are looked at.

        A list as long as all candidates is refused.
        """
        words: dict[str, Any] = {"budget": self.budget, "allow_large": True, **self.arguments}
        price = quote(KINDS[self.kind], str(self.table), header=header, **words)
        if price.candidates is not None and self.kind != "quantile":
            self._check_candidates(price.candidates)
        return price

    def release(self, ledger: Ledger, progress: Callable[[float], None]) -> Release | GroupedRelease:
        """The release itself, paid for before a row is read."""
        paid: dict[str, Any] = {"budget": self.budget, "ledger": ledger, "purpose": self.purpose, "allow_large": True}
        return KINDS[self.kind](str(self.table), progress=progress, **paid, **self.arguments)

    def _check_candidates(self, number: int) -> None:
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
        if format_of(str(self.table)) != "parquet" and are_a_candidate(self._items(), self.arguments.get("candidates")):
            raise ValueError(
                "item: the column is called like one of the candidates, so the first line of the file looks like a "
                "row of data: add a line of names to the file first"
            )

    def _items(self) -> tuple[str, ...]:
        item = self.arguments["item"]
        return (item,) if isinstance(item, str) else tuple(item)

    @property
    def subject(self) -> str:
        """Of what it is asked, in words."""
        people = f"{self.table.name}: people in {self.arguments['user']}"
        if self.kind == "quantile":
            return f"{people}, values in {self.arguments['value']}"
        lists = self.candidates
        listed = f"of {lists.name}" if isinstance(lists, Path) else "as written" if lists else "from the data"
        return f"{people}, items in {', '.join(self._items())}; candidates {listed}"

    def program(self, folder: Folder) -> str:
        """The program that does the same again: a new draw, which is charged again."""
        imports, question, report = self._parts(folder)
        return f'"""{WORDS}"""\n\n{imports}\n\n{question}\nprint(release)\n{report}\n'

    def notebook(self, folder: Folder) -> str:
        """The same as a notebook, which shows the release as a table."""
        imports, question, report = self._parts(folder)
        purpose = self.purpose or "A private release, asked again"
        title = "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#!|$" else letter for letter in purpose)
        texts = (
            ("markdown", f"# {title}\n\n{WORDS} Keep this notebook in that folder, or change the names."),
            ("code", imports),
            ("code", f"{question}\nrelease"),
            ("markdown", "A report, as one page to hand on:"),
            ("code", report),
        )
        cells: list[dict[str, Any]] = [
            {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text.splitlines(keepends=True)}
            for place, (kind, text) in enumerate(texts)
        ]
        for cell in cells:
            cell |= {"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {}
        return json.dumps({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"

    def _parts(self, folder: Folder) -> tuple[str, str, str]:
        """The imports, the question and the report."""
        words = {name: folder.name(one) if isinstance(one, Path) else one for name, one in self.arguments.items()}
        said = [f"{name}={value!r}" for name, value in words.items()]
        pure = isinstance(self.budget, PureDP)
        said.append(f"epsilon={self.budget.epsilon!r}" if pure else f"budget=sl.{self.budget!r}")
        said += ["allow_large=True"] * self.large
        said += ["ledger=ledger", *([f"purpose={self.purpose!r}"] if self.purpose else [])]
        question = (
            f"with sl.Ledger({folder.name(self.ledger)!r}) as ledger:\n"
            f"    release = sl.{KINDS[self.kind].__name__}({folder.name(self.table)!r}, {', '.join(said)})"
        )
        dates = "import datetime\n\n" if isinstance(words.get("lower"), datetime.date) else ""
        title = f", title={self.purpose!r}" if self.purpose else ""
        return f"{dates}import shortlist as sl", question, f'release.report("{self.stem}.html"{title})'

    @property
    def stem(self) -> str:
        """What its files are called."""
        return {"quantile": "quantiles", "every": "names"}.get(self.kind, f"top{self.k}")


def _check_fields(kind: str, fields: dict[str, Any], candidates: Path | tuple[Any, ...] | None) -> None:
    """Refuse fields that do not go together."""
    by, groups = fields["by"], fields["groups"]
    if fields["user"] in fields.get("item", ()):
        raise ValueError("item: the items must be in other columns than the people")
    if groups and not by:
        raise ValueError("by: write the column that says to which group a row belongs, or take the groups away")
    if by and kind == "every":
        raise ValueError("by: a list for every group needs a number of items; choose another way to get candidates")
    if by and not groups and candidates is not None:
        raise ValueError("groups: write the public groups beside a public list of candidates, for example CH, DE")
    if fields.get("smallest") and candidates is None:
        raise ValueError("smallest: of names from the data the rarest is one person's own; give a public list")


WHERE_EMPTY = {"q": [0.5], "groups_per_user": 1}
"""What an empty field stands for; that of most is left to the library."""


def _arguments_of(fields: dict[str, Any], candidates: Path | tuple[Any, ...] | None) -> dict[str, Any]:
    """The arguments that are not left to their defaults, in the order in which a program has them."""
    arguments: dict[str, Any] = {}
    for name, written in fields.items():
        value: Any = WHERE_EMPTY.get(name) if written is None or written == [] else written
        left = value is None or value is False or (name, value) == ("unit", "user")  # a step of 0 is not: it is refused
        if left or (name in GROUPS and not fields["by"]):
            continue
        arguments |= {"largest": False} if name == "smallest" else {name: value}
        if name == "item":
            arguments["item"] = value[0] if len(value) == 1 else list(value)
            if candidates is not None:
                arguments["candidates"] = list(candidates) if isinstance(candidates, tuple) else candidates
    return arguments


class Offer(NamedTuple):
    """What a question would cost and run, before anything private is read."""

    question: Form
    quote: Quote

    @classmethod
    def of(cls, folder: Folder, request: dict[str, Any]) -> Offer:
        """The plan of what the page asks for."""
        form = Form.of(folder, request)
        price = form.quote()
        inputs.check_large(price.guarantee, request)
        return cls(form, price)

    def cost(self, name: str) -> dict[str, Any]:
        """What the page says of its cost, in the numbers of the ledger of that name.

        It is refused, as the ledger would, if there is no room.
        """
        ledger = open_ledger(self.question.ledger)
        terms, before = ledger.terms, ledger.standing
        charge = ledger.with_room(self.quote.charge, self.quote.guarantee)
        after = ledger.standing_if(charge, unit=f"{self.question.unit} (add-remove)")
        price = price_text(balance(countable_costs(terms, (charge,))[0][1].where(terms.limits), terms.order))
        whole, so_far = number_text(after.of), number_text(after.booked)
        counts = price.startswith(f"{after.currency} ")  # by which rule the ledger counts depends on the charge
        of = f"of the {whole} in {name}" if counts else f"from {name}, whose budget is {after.currency} {whole}"
        waits = ", once somebody else has approved it" if terms.approval else ""
        left = then = f"then {after.admits}"
        if after.currency == "epsilon":
            most = "up to " if after.delta and not after.nothing_left else ""
            left = f"{most}{after.left_text} will be left"
        return {
            "ledger": name,
            "price": price,
            "share_before": before.share,
            "share_after": after.share,
            "consent": f"I spend {price} {of}{waits}; {left if counts else then}.",
            "booked": f"{name}: {before.so_far} is booked now, {so_far} of {whole} with this release; {left}.",
        }


def _read_candidates(folder: Folder, request: dict[str, Any], items: tuple[str, ...]) -> Path | tuple[Any, ...] | None:
    way = request.get("candidates")
    if way == "file":
        return folder.inside(request.get("candidates_file"), (*inputs.LISTS, *inputs.TABLES), "candidates")
    if way == "text":
        text = request.get("candidates_text")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("candidates_text: write the possible items, one a line")
        if len(text) > MOST_PASTED:
            raise ValueError("candidates_text: so long a list belongs into a file")
        lines = dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
        return tuple(lines) if len(items) == 1 else tuple(dict.fromkeys(_read_row(line, items) for line in lines))
    if way in ("none", "every"):
        if request.get("delta") in (None, "", 0):
            raise ValueError("delta: without a public list of candidates a release needs one; write 1e-6, for example")
        return None
    raise ValueError("candidates: choose a file, a written list, or none")


def _read_row(line: str, items: tuple[str, ...]) -> tuple[str, ...]:
    try:
        words = inputs.read_words(line)
    except inputs.FieldError as error:
        raise ValueError(f"candidates_text: {error}") from None
    if len(words) != len(items):
        raise ValueError(f"candidates_text: write {len(items)} words a line, with commas: {', '.join(items)}")
    return words
