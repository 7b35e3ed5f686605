"""What the studio answers once a request was let in: the page, what is there, a plan, a release, a download."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from shortlist._text import label_text, terminal_safe
from shortlist.example import ROWS, example_files, write_example
from shortlist.grouped_release import GroupedRelease
from shortlist.pages.guarantee_in_words import caution, in_short, percent, risk
from shortlist.pages.release_page import spent_share
from shortlist.pages.rounding import number_text
from shortlist.pages.summary import quantile_in_words
from shortlist.privacy import Standing
from shortlist.release import Release
from shortlist.studio.columns import columns_of
from shortlist.studio.expected import expected
from shortlist.studio.folder import LISTS, TABLES, Folder
from shortlist.studio.form import Form, Offer
from shortlist.studio.ledgers import OfficersView, all_facts, budget_risk, new_ledger
from shortlist.studio.limits import BusyError, Limits
from shortlist.studio.page import studio_page
from shortlist.studio.planner import Planner
from shortlist.studio.quantile_form import QuantileForm, offered
from shortlist.studio.wording import notes_shown, page_words
from shortlist.studio.work import PaidJob, Work
from shortlist.tables.file_sources import format_of

Answer = tuple[int, str, bytes, str]
"""(status, type, body, how a file is handed over: as an attachment to keep, or inline to look at)."""

SPENT = "It is spent for good, whatever comes out."
UNREADABLE = (
    ": also if a line of the file cannot be read (a quote that is not closed, letters that are not UTF-8), since none "
    "is read before."
)


class Answers:
    """By route. Routes are fixed words; a job's name is looked up, never a path."""

    def __init__(self, folder: Folder, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._plans = threading.BoundedSemaphore(limits.plans)
        self._planner = Planner(limits.plan_seconds)
        self._work = Work(folder)
        self._page = studio_page().encode()
        self._asked: dict[str, Any] | None = None  # the last question, so that a page that is loaded again has it

    @property
    def busy(self) -> bool:
        """Whether a release is under way."""
        return self._work.busy

    def close(self) -> None:
        """End the plans that are being computed."""
        self._planner.close()

    def get(self, route: tuple[str, ...]) -> Answer:
        match route:
            case ("page",):
                return 200, "text/html; charset=utf-8", self._page, ""
            case ("state",):
                return _json(self._state())
            case ("job", name):
                job = self._work.job(name)
                return _json({"error": "there is no such release"}, 404) if job is None else _json(self._told(job))
            case ("download", name, kind):
                job = self._work.job(name)
                file = None if job is None else self._work.download(job, kind)
                if file is not None:
                    return 200, file[1], file[2], _handed("attachment", file[0])
            case ("look", name):
                job = self._work.job(name)
                file = None if job is None else self._work.download(job, "report.html")
                if file is not None:
                    return 200, file[1], file[2], _handed("inline", file[0])
            case ("ledger", kind, *name):
                way, kind = ("inline", "report.html") if kind == "look" else ("attachment", kind)
                file = OfficersView.of(self._folder, "/".join(name)).download(kind)
                if file is not None:
                    return 200, file[1], file[2], _handed(way, file[0])
        return _json({"error": "there is nothing of that name"}, 404)

    def post(self, route: tuple[str, ...], request: dict[str, Any]) -> Answer:
        match route:
            case ("ledger",):
                return _json({"name": self._folder.name(new_ledger(self._folder, request)), **self._state()})
            case ("risk",):
                return _json(budget_risk(request))
            case ("officer",):
                return _json(OfficersView.of(self._folder, request.get("ledger")).told())
            case ("columns",):
                return _json(columns_of(self._folder, request))
            case ("example",):
                return _json({"said": self._example(), **self._state()})
            case ("plan",):
                return _json(self._in_turn(self._plan, request))
            case ("expected",):
                return _json(self._in_turn(self._expected, request))
            case ("release",):
                return _json({"job": self._work.confirm(request.get("confirm"), request.get("agree")).name})
        return _json({"error": "there is nothing of that name"}, 404)

    def _state(self) -> dict[str, Any]:
        return {
            "folder": self._folder.root.name,
            "tables": self._folder.files(TABLES),
            "lists": [*self._folder.files(LISTS), *self._folder.files(TABLES)],  # a table is seldom a public list
            "ledgers": all_facts(self._folder),
            "done": [self._told(job) for job in self._work.done()],
            "asked": self._asked,
        }

    def _example(self) -> str:
        """Write the made-up films into the folder, unless something of that name is there: what is there stays."""
        root = str(self._folder.root)
        there = [path for path in example_files(root, "films") if os.path.lexists(path)]
        if not there:
            write_example(root, "films")
            return f"films.parquet ({ROWS:,} made-up rows of nobody) and films.txt were written into the folder."
        names = " and ".join(os.path.basename(path) for path in there)
        return f"There is a {names} in the folder already: nothing was written."

    def _in_turn(self, work: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
        if not self._plans.acquire(timeout=self._limits.plan_seconds):
            raise BusyError("the studio is busy with other plans; look at the plan again in a moment")
        try:
            return work(request)
        finally:
            self._plans.release()

    def _plan(self, request: dict[str, Any]) -> dict[str, Any]:
        """The plan and the word that confirms it."""
        plan = offered(self._folder, request)
        before, after = plan.room()
        self._asked = request
        chances, name = risk(plan.guarantee), self._folder.name(plan.question.ledger)
        return {
            "confirm": self._work.offer(plan),
            "k": plan.question.k,
            "smallest": isinstance(plan.question, Form) and plan.question.smallest,
            "q": list(plan.question.q) if isinstance(plan.question, QuantileForm) else None,
            "candidates": plan.candidates,
            "by": plan.question.by,
            "groups": len(plan.question.groups),
            "groups_per_user": plan.question.groups_per_user,
            "asked_of": terminal_safe(plan.question.asked_of),
            "mechanism": plan.mechanism.name,
            "why": page_words(plan.why[:1].upper() + plan.why[1:] + "."),
            "guarantee": in_short(plan.guarantee),
            "price": plan.price(),
            "consent": plan.consent(name, after),
            "caution": page_words(caution(plan.guarantee)),
            "unit": plan.question.unit,
            "guess": chances.guess,
            "guess_text": percent(chances.guess),
            "posterior": [(percent(one), percent(other)) for one, other in chances.posterior],
            "risk": _risk_in_words(plan),
            "ledger": name,
            "share_before": before.share,
            "share_after": after.share,
            "booked": _booked(name, before, after),
            "spent": SPENT if format_of(str(plan.question.table)) == "parquet" else f"{SPENT[:-1]}{UNREADABLE}",
        }

    def _expected(self, request: dict[str, Any]) -> dict[str, Any]:
        """How good it would be, on made-up counts."""
        return expected(offered(self._folder, request), request, self._planner)

    def _told(self, job: PaidJob) -> dict[str, Any]:
        form, release = job.plan.question, job.release
        told: dict[str, Any] = {
            "job": job.name,
            "state": job.state,
            "share": math.floor(100 * job.share) / 100,
            "booked": job.booked,
        }
        if job.error:
            told["error"] = job.error
        if release is not None and release.receipt is not None:
            receipt = release.receipt
            told |= {
                "k": form.k,
                "quantiles": isinstance(form, QuantileForm),
                "smallest": isinstance(form, Form) and form.smallest,
                "purpose": form.purpose,
                **_listed(release),
                "summary": release.summary,
                "guarantee": in_short(release.guarantee),
                "mechanism": release.mechanism,
                "notes": notes_shown(release),
                "ledger": receipt.ledger,
                "entry": receipt.entry,
                "standing": receipt.balance,
                "share_after": spent_share(receipt.spent, receipt.remaining),
                "head": receipt.head[:16],
            }
        return told


def _listed(release: Release | GroupedRelease) -> dict[str, Any]:
    """What came out: one list, or one for each group."""
    if not isinstance(release, Release):
        return {"lists": [{"key": terminal_safe(str(key)), **_listed(one)} for key, one in release.items()]}
    if release.q is not None:
        names = list(map(quantile_in_words, release.q))
        return {"items": names, "values": [str(one) for one in release.items or ()], "margins": False, "ordered": False}
    return {
        "items": [terminal_safe(label_text(item)) for item in release.items or ()],
        "values": release.texts().get("value", []),
        "margins": bool(release.margins),
        "ordered": release.ordered,
    }


def _booked(name: str, before: Standing, after: Standing) -> str:
    """How the ledger stands now and how it would: what is booked, and what is left."""
    most = "up to " if after.delta and not after.used_up else ""
    left = f"{most}{after.left_text} will be left" if after.currency == "epsilon" else f"then {after.admits}"
    booked = f"{number_text(after.booked)} of {number_text(after.of)}"
    return f"{name}: {before.so_far} is booked now, {booked} with this release; {left}."


def _risk_in_words(plan: Offer) -> str:
    """What it means for one person, in a sentence."""
    chances, unit = risk(plan.guarantee), plan.question.unit
    if not chances.posterior:
        return ""
    before, after = chances.posterior[0]
    now = percent(after)
    was = percent(before)
    return f"Someone who gave one {unit} a probability of {was} to be in the data can give it at most {now} afterwards."


def _handed(way: str, name: str) -> str:
    """How a file is handed over; its name in any script (RFC 6266), and in letters that every browser reads."""
    plain = "".join(letter if letter.isascii() and letter not in '"\\%' else "_" for letter in name)
    whole = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'{way}; filename="{plain}"{whole}'


def _json(value: dict[str, Any], status: int = 200) -> Answer:
    return status, "application/json", json.dumps(value).encode(), ""
