"""A question for quantiles in the studio: checked, planned by public facts alone, and as a program."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist import GroupedRelease, Release, quantile, quote
from shortlist.privacy import ApproxDP, Ledger, PureDP
from shortlist.quotes import Quote
from shortlist.studio.columns import check_columns
from shortlist.studio.fields import budget_in, check_large, flag_in, groups_in, separator_in, text_in, whole_in
from shortlist.studio.folder import LEDGERS, TABLES, Folder
from shortlist.studio.form import Form, Offer
from shortlist.studio.programs import Code, Program, arguments, report_line
from shortlist.votes import read_bound

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
