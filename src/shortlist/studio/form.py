"""What the analyst asks, checked; and the plan, from public facts alone.

Only the list of candidates is opened here, which the analyst calls public.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.ledger.filter import Balance
from shortlist.mechanisms import Mechanism
from shortlist.method_choice import mechanism_for
from shortlist.pages.release_page import spent_share
from shortlist.privacy import ApproxDP, Guarantee, Ledger, PureDP
from shortlist.studio.folder import LEDGERS, LISTS, TABLES, Folder
from shortlist.tables.file_sources import rows_of_file
from shortlist.tables.files import check_public

MOST_PASTED = 500_000
"""Characters of a pasted list of candidates."""


@dataclass(frozen=True, slots=True)
class Form:
    """One release, as it was asked for. Everything in it is public."""

    table: Path
    user: str
    item: str
    candidates: Path | tuple[str, ...] | None
    k: int
    budget: PureDP | ApproxDP
    ordered: bool
    ledger: Path
    purpose: str
    unit: str

    @classmethod
    def of(cls, folder: Folder, asked: dict[str, Any]) -> Form:
        """From the page's JSON.

        Raises
        ------
        ValueError, TypeError, OSError
            naming the field, and what to write.
        """
        user, item = _text(asked, "user"), _text(asked, "item")
        if user == item:
            raise ValueError("user and item must be different columns")
        table, candidates = folder.inside(asked.get("table"), TABLES, "table"), _candidates(folder, asked)
        if isinstance(candidates, Path):
            check_public(str(candidates), str(table), user)
        return cls(
            table=table,
            user=user,
            item=item,
            candidates=candidates,
            k=_whole(asked, "k"),
            budget=_budget(asked),
            ordered=_flag(asked, "ordered"),
            ledger=folder.inside(asked.get("ledger"), LEDGERS, "ledger"),
            purpose=_text(asked, "purpose", needed=False),
            unit=_text(asked, "unit", needed=False) or "user",
        )

    def mechanism(self) -> tuple[Mechanism, str]:
        """What will run, and why: the public rule of `top_k`."""
        public = self.candidates is not None
        mechanism, why, _ = mechanism_for(
            self.k, public=public, budget=self.budget, ordered=self.ordered, weighed=not public
        )
        return mechanism, why

    def listed(self) -> Any:
        """The candidates as `count` takes them."""
        return list(self.candidates) if isinstance(self.candidates, tuple) else self.candidates

    def number_of_candidates(self) -> int | None:
        """How many there are, where the list is public."""
        if self.candidates is None:
            return None
        listed = self.candidates
        return len(set(listed if isinstance(listed, tuple) else rows_of_file(str(listed), (self.item,))))

    def check_k(self, number: int) -> None:
        """Refuse a list as long as all candidates: there would be nothing to choose."""
        if self.k >= number:
            raise ValueError(f"k: of {number:,} candidates fewer than {number:,} can be chosen; write a smaller k")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a question would cost and run, before anything private is read."""

    question: Form
    mechanism: Mechanism
    why: str
    candidates: int | None

    @classmethod
    def of(cls, question: Form) -> Offer:
        number = question.number_of_candidates()
        if number is not None:
            question.check_k(number)
        mechanism, why = question.mechanism()
        return cls(question, mechanism, why.removeprefix("auto: "), number)

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def room(self) -> tuple[Standing, Standing]:
        """How the ledger stands and how it would; refused, as the ledger would, if there is no room."""
        ledger = Ledger(self.question.ledger)
        spent, left = ledger.spent, ledger.remaining
        return Standing.of(spent, left), Standing.of(*ledger.if_charged(self.mechanism.charge))


@dataclass(frozen=True, slots=True)
class Standing:
    """What is left of a budget, in words, and the share of it that is gone."""

    left: str
    share: float | None

    @classmethod
    def of(cls, spent: Balance, left: Balance) -> Standing:
        return cls(str(left), spent_share(spent, left))


def ledger_facts(path: Path, name: str) -> dict[str, Any] | None:
    """How a ledger stands, or None if the file is none."""
    try:
        ledger = Ledger(path)
        spent, left, entries = ledger.spent, ledger.remaining, ledger.entries(last=5)
    except Exception:  # any file may be called .db
        return None
    return {
        "name": name,
        "budget": str(ledger.budget),
        "spent": str(spent),
        "left": str(left),
        "share": spent_share(spent, left),
        "entries": [
            {"number": one.number, "time": one.time[:16].replace("T", " "), "guarantee": one.guarantee,
             "purpose": one.purpose, "kind": one.kind}
            for one in reversed(entries)
        ],
    }  # fmt: skip


def new_ledger(folder: Folder, asked: dict[str, Any]) -> Path:
    """Make a ledger in the folder; its budget is fixed for good."""
    name = _text(asked, "name")
    path = folder.inside(name if name.endswith(LEDGERS) else f"{name}.db", LEDGERS, "ledger", there=False)
    if path.exists():
        raise ValueError("ledger: there is a file of that name already; choose another")
    if not path.parent.is_dir():
        raise ValueError("ledger: the folder for it does not exist")
    Ledger(path, budget=_budget(asked))
    return path


def _candidates(folder: Folder, asked: dict[str, Any]) -> Path | tuple[str, ...] | None:
    way = asked.get("candidates")
    if way == "file":
        return folder.inside(asked.get("candidates_file"), (*LISTS, *TABLES), "candidates")
    if way == "text":
        text = asked.get("candidates_text")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("candidates: write one a line")
        if len(text) > MOST_PASTED:
            raise ValueError("candidates: so long a list belongs into a file")
        return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if way == "none":
        if asked.get("delta") in (None, "", 0):
            raise ValueError("delta: without a public list of candidates a release needs one; write 1e-6, for example")
        return None
    raise ValueError("candidates: choose a file, a written list, or none")


def _budget(asked: dict[str, Any]) -> PureDP | ApproxDP:
    epsilon, delta = _number(asked, "epsilon"), asked.get("delta")
    if delta in (None, "", 0):
        return PureDP(epsilon)
    return ApproxDP(epsilon, _number(asked, "delta"))


def _text(asked: dict[str, Any], name: str, *, needed: bool = True) -> str:
    value = asked.get(name, "")
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError(f"{name}: write a text of at most 1,000 characters")
    if not value.isprintable():
        raise ValueError(f"{name}: write it without line breaks and other signs that cannot be seen")
    if needed and not value:
        raise ValueError(f"{name}: write it as the table does" if name in ("user", "item") else f"{name}: write it")
    return value


def _number(asked: dict[str, Any], name: str) -> float:
    value = asked.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name}: write a number above 0")
    return float(value)


def _whole(asked: dict[str, Any], name: str) -> int:
    value = asked.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise ValueError(f"{name}: write a whole number from 1 to 1,000,000")
    return value


def _flag(asked: dict[str, Any], name: str) -> bool:
    value = asked.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name}: true or false")
    return value
