"""What the studio answers once a request was let in: the page, what is there, a plan, a release, a download."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

from shortlist._text import terminal_safe
from shortlist.grouped_release import GroupedRelease
from shortlist.pages.guarantee_in_words import odds, percent
from shortlist.pages.release_page import spent_share
from shortlist.release import Release
from shortlist.studio.expected import expected
from shortlist.studio.folder import LEDGERS, LISTS, TABLES, Folder
from shortlist.studio.form import ledger_facts, new_ledger
from shortlist.studio.limits import BusyError, Limits
from shortlist.studio.page import studio_page
from shortlist.studio.planner import Planner
from shortlist.studio.quantile_form import QuantileForm, offered
from shortlist.studio.work import PaidJob, Work

Answer = tuple[int, str, bytes, str]
"""(status, type, body, name of the file if it is to be kept)."""


class Answers:
    """By route. Routes are fixed words; a job's name is looked up, never a path."""

    def __init__(self, folder: Folder, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._plans = threading.BoundedSemaphore(limits.plans)
        self._planner = Planner(limits.plan_seconds)
        self._work = Work(folder)
        self._page = studio_page().encode()

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
                    return 200, file[1], file[2], file[0]
        return _json({"error": "there is nothing of that name"}, 404)

    def post(self, route: tuple[str, ...], request: dict[str, Any]) -> Answer:
        match route:
            case ("ledger",):
                return _json({"name": self._folder.name(new_ledger(self._folder, request)), **self._state()})
            case ("plan",):
                return _json(self._in_turn(request))
            case ("release",):
                return _json({"job": self._work.confirm(request.get("confirm"), request.get("agree")).name})
        return _json({"error": "there is nothing of that name"}, 404)

    def _state(self) -> dict[str, Any]:
        ledgers = (ledger_facts(self._folder.root / one["name"], one["name"]) for one in self._folder.files(LEDGERS))
        return {
            "folder": self._folder.root.name,
            "tables": self._folder.files(TABLES),
            "lists": [*self._folder.files(LISTS), *self._folder.files(TABLES)],  # a table is seldom a public list
            "ledgers": [one for one in ledgers if one is not None],
            "done": [self._told(job) for job in self._work.done()],
        }

    def _in_turn(self, request: dict[str, Any]) -> dict[str, Any]:
        if not self._plans.acquire(timeout=self._limits.plan_seconds):
            raise BusyError("the studio is busy with other plans; look at the plan again in a moment")
        try:
            return self._plan(request)
        finally:
            self._plans.release()

    def _plan(self, request: dict[str, Any]) -> dict[str, Any]:
        """The plan and the word that confirms it."""
        plan = offered(self._folder, request)
        before, after = plan.room()
        described = expected(plan, request, self._planner)
        chances = odds(plan.guarantee)
        return {
            "confirm": self._work.offer(plan),
            "k": plan.question.k,
            "q": list(plan.question.q) if isinstance(plan.question, QuantileForm) else None,
            "candidates": plan.candidates,
            "by": plan.question.by,
            "groups": len(plan.question.groups),
            "groups_per_user": plan.question.groups_per_user,
            "mechanism": plan.mechanism.name,
            "why": plan.why[:1].upper() + plan.why[1:] + ".",
            "guarantee": str(plan.guarantee),
            "charge": str(plan.charge),
            "price": plan.price(),
            "proof": plan.mechanism.proof,
            "unit": plan.question.unit,
            "right": chances.right,
            "right_text": percent(chances.right),
            "after": [(percent(one), percent(other)) for one, other in chances.after],
            "ledger": self._folder.name(plan.question.ledger),
            "share_before": before.share,
            "share_after": after.share,
            "standing": str(before),
            "standing_after": str(after),
            "expected": described,
        }

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
                "purpose": form.purpose,
                **_listed(release),
                "summary": release.summary,
                "guarantee": str(release.guarantee),
                "mechanism": release.mechanism,
                "notes": list(release.notes),
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
        names = ["the median" if q == 0.5 else f"{100 * q:.6g}% have at most" for q in release.q]
        return {"items": names, "values": [str(one) for one in release.items or ()], "margins": [], "ordered": False}
    return {
        "items": [terminal_safe(str(item)) for item in release.items or ()],
        "values": [f"{value:,.6g}" for value in release.values or ()],
        "margins": [f"{margin.half_width:,.4g}" for margin in release.margins or ()],
        "ordered": release.ordered,
    }


def _json(value: dict[str, Any], status: int = 200) -> Answer:
    return status, "application/json", json.dumps(value).encode(), ""
