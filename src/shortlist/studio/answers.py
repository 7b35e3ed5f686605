"""What the studio answers: plans, releases under way and done, ledgers. By routes, which are fixed words.

A confirmed release keeps the order that the promise needs: check the columns, charge, count, draw. Nothing is written
but the ledger. What came out stays in memory for the downloads, until the studio ends.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from shortlist._runtime import MissingPackageError
from shortlist._text import terminal_safe
from shortlist.example import ROWS, example_files, write_example
from shortlist.ledger.chain import LedgerEntry
from shortlist.pages import ledger_page
from shortlist.pages.release_page import release_page, share_of_budget
from shortlist.pages.standing import DELTA
from shortlist.pages.summary import caution, in_short, percent, quantile_in_words, risk
from shortlist.pages.theme import asset, page
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, Ledger, LedgerError
from shortlist.release import GroupedRelease, Release
from shortlist.release_io import csv_table, label_text
from shortlist.studio import inputs
from shortlist.studio.expected import forecast
from shortlist.studio.forms import Offer
from shortlist.studio.inputs import Folder, open_ledger, read_field
from shortlist.studio.planner import Planner
from shortlist.tables.files import format_of

OURS = (ValueError, TypeError, OSError, LedgerError, BudgetExceeded, ApprovalNeeded, MissingPackageError)
"""Errors of ours, whose one sentence shows nothing of the table."""
PATIENCE = 900.0
"""Seconds for which a plan may be confirmed."""


@dataclass(slots=True)
class PaidJob:
    """One confirmed release on its way."""

    name: str
    plan: Offer
    state: str = "waiting"
    share: float = 0.0
    error: str = ""
    release: Release | GroupedRelease | None = None
    booked: bool = False


class Work:
    """Plans that wait for their confirmation, and releases under way or done."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._waiting: dict[str, tuple[Offer, float]] = {}
        self._jobs: dict[str, PaidJob] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one release at a time: each uses the whole machine

    def offer(self, plan: Offer) -> str:
        """A word that confirms this plan, once, for a while."""
        word, now = secrets.token_urlsafe(16), time.monotonic()
        with self._lock:
            self._waiting = {key: offer for key, offer in self._waiting.items() if now - offer[1] < PATIENCE}
            self._waiting[word] = plan, now
        return word

    def confirm(self, word: object, agree: object) -> PaidJob:
        """Start the release that the word stands for. The word is spent."""
        with self._lock:
            offer = self._waiting.pop(word, None) if isinstance(word, str) and agree is True else None
        if offer is None or time.monotonic() - offer[1] > PATIENCE:
            raise ValueError("this release was not confirmed, or its confirmation is used up: look at the plan again")
        job = PaidJob(secrets.token_urlsafe(8), offer[0])
        with self._lock:
            self._jobs[job.name] = job
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def job(self, name: str) -> PaidJob | None:
        return self._jobs.get(name)

    @property
    def busy(self) -> bool:
        """Whether a release is under way or waits for its turn."""
        with self._lock:
            return any(job.state not in ("done", "failed") for job in self._jobs.values())

    def done(self) -> list[PaidJob]:
        with self._lock:
            return [job for job in self._jobs.values() if job.release is not None]

    def _run(self, job: PaidJob) -> None:
        with self._turn:
            try:
                self._release(job)
            except OURS as error:
                job.error, job.state = self._folder.words(error), "failed"
            except Exception as error:  # its words might show a row
                job.error, job.state = f"something went wrong ({type(error).__name__})", "failed"

    def _release(self, job: PaidJob) -> None:
        form = job.plan.question

        def tell(share: float) -> None:
            job.booked, job.share = True, share
            job.state = "counting" if share < 1 else "drawing"

        job.state = "checking"
        self._folder.check_still_inside(form.files)
        if form.quote().charge != job.plan.quote.charge:
            raise ValueError("the groups or the candidates are not those of the plan: look at the plan again")
        form.quote(header=True)
        job.state = "charging"
        self._folder.check_still_inside(form.files)  # what came before may have taken long
        job.release = form.release(open_ledger(form.ledger), tell)
        job.state = "done"

    def download(self, job: PaidJob | None, kind: str) -> tuple[str, bytes] | None:
        """(file name, bytes) of the list, the report, the code or the notebook; or None."""
        if job is None or (release := job.release) is None:
            return None
        form = job.plan.question
        makers: dict[str, Callable[[], str]] = {
            "list.csv": lambda: csv_table(release.columns()),
            "list.json": release.to_json,
            "repeat.py": lambda: form.program(self._folder),
            "repeat.ipynb": lambda: form.notebook(self._folder),
            "report.html": lambda: release_page(release, form.purpose),
        }
        return (f"{form.stem}{Path(kind).suffix}", makers[kind]().encode()) if kind in makers else None


SHOWN = 5
"""So many entries stand beside the ledger that pays."""
LOOKED_AT = 100
"""So many tell for which tables it paid."""
NOTHING_LEFT = "Nothing is left. Ask whoever keeps this budget: a new ledger adds to what these people gave away."


GLANCE = 0.5
"""Seconds to wait for the lock of one file that may be a ledger."""
GLANCES = 2.0
"""Seconds to wait for all of them: a request must not hang because a database in the folder is in use."""


def all_facts(folder: Folder) -> list[dict[str, Any]]:
    """How every ledger of the folder stands. A file that stays locked is left out: nobody can tell what it is."""
    until, facts = time.monotonic() + GLANCES, []
    for one in folder.files(inputs.LEDGERS):
        with contextlib.suppress(Exception):  # any file may be called .db
            ledger = Ledger(folder.root / one["name"], wait=max(0.0, min(GLANCE, until - time.monotonic())))
            facts.append(ledger_facts(ledger, one["name"]))
    return facts


def ledger_facts(ledger: Ledger, name: str) -> dict[str, Any]:
    """How a ledger stands."""
    standing, entries = ledger.standing, ledger.entries(last=LOOKED_AT)
    rho, exact = ledger.terms.order is None, standing.currency == "epsilon" and not standing.delta
    left = f"{'E' if exact else 'Up to e'}psilon {standing.left_text} is left."
    charges = [one for one in entries if one.kind in ("charge", "request")]
    return {
        "name": name,
        "standing": str(standing),
        "left": NOTHING_LEFT if standing.nothing_left else left,
        "delta": str(ledger).partition(DELTA)[2],
        "share": standing.share,
        "number": entries[-1].number if entries else 0,
        "tables": sorted({(one.source or "").partition(": ")[0].rpartition(" in ")[0] for one in charges}),
        "caution": caution(ledger.terms.budget),
        "entries": [
            {"number": one.number, "time": one.time[:16].replace("T", " "),
             "cost": ledger_page.cost_in_words(one, rho=rho),
             "purpose": terminal_safe(one.purpose) or ("not said" if one.kind == "charge" else one.kind)}
            for one in reversed(entries[-SHOWN:])
        ],
    }  # fmt: skip


def budget_risk(request: dict[str, Any]) -> dict[str, Any]:
    """What a budget can give away once all of it is spent, before a ledger is made with it."""
    budget = inputs.read_budget(request)
    right = percent(risk(budget).guess)
    said = f"Once all of it is spent: best guess whether one user is in the data, right at most {right} of the time."
    return {"risk": said, "caution": caution(budget)}


def new_ledger(folder: Folder, request: dict[str, Any]) -> Path:
    """Make a ledger in the folder; its budget is fixed for good."""
    name = read_field(request, "name")
    path = folder.inside(name if name.endswith(inputs.LEDGERS) else f"{name}.db", inputs.LEDGERS, "ledger", there=False)
    if path.exists():
        raise ValueError("ledger: there is a file of that name already; choose another")
    if not path.parent.is_dir():
        raise ValueError("ledger: the folder for it does not exist")
    Ledger(path, budget=inputs.read_budget(request))
    return path


def open_verified(folder: Folder, name: object) -> tuple[str, Ledger, int, list[LedgerEntry]]:
    """Read every entry of a ledger again: its name, it, how many were verified, and all of them. They hold no data.

    Raises
    ------
    ValueError, OSError, LedgerError
        if there is no such ledger, or its chain is broken.
    """
    path = folder.inside(name, inputs.LEDGERS, "ledger")
    ledger = open_ledger(path)
    return folder.name(path), ledger, ledger.verify(), ledger.entries()


def view_ledger(folder: Folder, name: object) -> dict[str, Any]:
    """What was asked and what it cost, as the page shows it to whoever answers for the budget."""
    shown, ledger, verified, entries = open_verified(folder, name)
    standing, here, newest = ledger.standing, folder.without, entries[-ledger_page.MOST_ROWS :]
    budget, so_far, rho = ledger.terms.budget, ledger_page.guarantee_so_far(standing), ledger.terms.order is None
    guess, guess_so_far = risk(budget).guess, risk(so_far).guess if so_far else 0.5
    return {
        "name": shown,
        "promise": in_short(budget),
        "terms": ledger_page.rules_in_words(ledger.terms) or "plain sums",
        "so_far": standing.so_far,
        "times": standing.times,
        "admits": standing.admits,
        "share": standing.share,
        "guess": guess,
        "guess_text": percent(guess),
        "booked_guess": guess_so_far,
        "booked_text": percent(guess_so_far),
        "caution": " ".join(filter(None, [caution(budget), ledger_page.mixture_caution(entries)])),
        "verified": verified,
        "chain": ledger_page.verification_text(verified),
        "head": ledger.head,
        "columns": list(ledger_page.HEAD),
        "entries": [list(map(here, cells)) for cells in ledger_page.entry_cells(newest, entries, rho=rho)],
        "waiting": [
            {"number": one.number, "who": terminal_safe(one.who or ""), "purpose": terminal_safe(one.purpose),
             "source": here(terminal_safe(one.source or ""))}
            for one in ledger_page.waiting(entries)
        ],
    }  # fmt: skip


def download_ledger(folder: Folder, name: object, kind: str) -> tuple[str, bytes] | None:
    """(file name, bytes) of the page or its table, as `ledger.report` writes them."""
    shown, ledger, verified, entries = open_verified(folder, name)
    makers: dict[str, Callable[[], str]] = {
        "report.html": lambda: ledger_page.ledger_page(ledger, entries, verified),
        "report.csv": lambda: csv_table(ledger_page.report_columns(ledger, entries)),
    }
    file = f"{Path(shown).stem}-ledger{Path(kind).suffix}"
    return (file, makers[kind]().encode()) if kind in makers else None


class Answer(NamedTuple):
    """What is sent back."""

    body: bytes
    kind: str = "application/json"
    disposition: str = ""
    """How a file is handed over: as an attachment to keep, or inline to look at."""
    status: int = 200


class BusyError(Exception):
    """The studio has as much to do as it takes on. The sentence says what to do."""


FILE_TYPES = {
    ".csv": "text/csv; charset=utf-8", ".html": "text/html; charset=utf-8", ".json": "application/json",
    ".py": "text/x-python; charset=utf-8", ".ipynb": "application/x-ipynb+json",
}  # fmt: skip


def answer_json(value: dict[str, Any], status: int = 200) -> Answer:
    """JSON for the page."""
    return Answer(json.dumps(value).encode(), status=status)


def answer_file(file: tuple[str, bytes], way: str) -> Answer:
    """A file; its name in any script (RFC 6266), and in letters that every browser reads."""
    name, body = file
    plain = "".join(letter if letter.isascii() and letter not in '"\\%' else "_" for letter in name)
    whole = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return Answer(body, FILE_TYPES[Path(name).suffix], f'{way}; filename="{plain}"{whole}')


STYLES = ("pages/base.css", "pages/release.css", "studio/studio.css")
SCRIPTS = tuple(f"studio/{name}.js" for name in ("tools", "shown", "officer", "studio"))
SPENT = "It is spent for good, whatever comes out."
UNREADABLE = (
    ": also if a line of the file cannot be read (a quote that is not closed, letters that are not UTF-8), since none "
    "is read before."
)


NOTHING = {"error": "there is nothing of that name"}


class Answers:
    """By route. Routes are fixed words; a job's name is looked up, never a path."""

    def __init__(self, folder: Folder, plans: int, plan_seconds: float) -> None:
        self._folder = folder
        self._seconds = plan_seconds
        self._plans = threading.BoundedSemaphore(plans)
        self.planner = Planner(plan_seconds)
        self.work = Work(folder)
        body = asset("studio/studio.html")  # it holds no facts: it asks for them
        self._page = page(title="shortlist studio", body=body, styles=STYLES, scripts=SCRIPTS, talks=True).encode()
        self._asked: dict[str, Any] | None = None  # the last question, so that a page that is loaded again has it

    def get(self, route: tuple[str, ...]) -> Answer:
        file, way = None, "attachment"
        match route:
            case ("page",):
                return Answer(self._page, "text/html; charset=utf-8")
            case ("state",):
                return answer_json(self._state())
            case ("job", name):
                if (job := self.work.job(name)) is not None:
                    return answer_json(_view(job))
            case ("download", name, kind):
                file = self.work.download(self.work.job(name), kind)
            case ("look", name):
                file, way = self.work.download(self.work.job(name), "report.html"), "inline"
            case ("ledger", kind, *name):
                way, kind = ("inline", "report.html") if kind == "look" else (way, kind)
                file = download_ledger(self._folder, "/".join(name), kind)
        return answer_json(NOTHING, 404) if file is None else answer_file(file, way)

    def post(self, route: tuple[str, ...], request: dict[str, Any]) -> Answer:
        folder, work = self._folder, self.work
        makers: dict[str, Callable[[], dict[str, Any]]] = {
            "ledger": lambda: {"name": folder.name(new_ledger(folder, request)), **self._state()},
            "risk": lambda: budget_risk(request),
            "officer": lambda: view_ledger(folder, request.get("ledger")),
            "columns": lambda: inputs.columns_of(folder, request),
            "example": lambda: {"said": self._example(), **self._state()},
            "plan": lambda: self._in_turn(lambda: self._plan(request)),
            "expected": lambda: self._in_turn(lambda: forecast(Offer.of(folder, request), request, self.planner)),
            "release": lambda: {"job": work.confirm(request.get("confirm"), request.get("agree")).name},
        }
        name = "/".join(route)
        return answer_json(makers[name]()) if name in makers else answer_json(NOTHING, 404)

    def _state(self) -> dict[str, Any]:
        return {
            "folder": self._folder.root.name,
            "tables": self._folder.files(inputs.TABLES),
            "lists": self._folder.files(inputs.LISTS) + self._folder.files(inputs.TABLES),  # a table seldom is one
            "ledgers": all_facts(self._folder),
            "done": [_view(job) for job in self.work.done()],
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

    def _in_turn(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if not self._plans.acquire(timeout=self._seconds):
            raise BusyError("the studio is busy with other plans; look at the plan again in a moment")
        try:
            return work()
        finally:
            self._plans.release()

    def _plan(self, request: dict[str, Any]) -> dict[str, Any]:
        """The plan and the word that confirms it."""
        plan = Offer.of(self._folder, request)
        form, price = plan.question, plan.quote
        cost, chances, arguments = plan.cost(self._folder.name(form.ledger)), risk(price.guarantee), form.arguments
        self._asked = request
        posterior = [(percent(one), percent(other)) for one, other in chances.posterior]
        return {
            "confirm": self.work.offer(plan),
            "k": form.k,
            "smallest": form.smallest,
            "q": arguments.get("q"),
            "candidates": price.candidates,
            "by": arguments.get("by", ""),
            "groups": len(arguments.get("groups", ())),
            "groups_per_user": arguments.get("groups_per_user", 1),
            "asked_of": terminal_safe(form.subject),
            "mechanism": price.mechanism.name,
            "why": price.why[:1].upper() + price.why[1:] + ".",
            "guarantee": in_short(price.guarantee),
            "caution": caution(price.guarantee),
            "unit": form.unit,
            "guess": chances.guess,
            "guess_text": percent(chances.guess),
            "posterior": posterior,
            "risk": (
                f"Someone who gave one {form.unit} a probability of {posterior[0][0]} to be in the data can give it at "
                f"most {posterior[0][1]} afterwards."
                if posterior
                else ""
            ),
            "spent": SPENT if format_of(str(form.table)) == "parquet" else f"{SPENT[:-1]}{UNREADABLE}",
            **cost,
        }


def _view(job: PaidJob) -> dict[str, Any]:
    """A release under way or done, as the page shows it."""
    form, release = job.plan.question, job.release
    facts: dict[str, Any] = {"job": job.name, "state": job.state, "booked": job.booked}
    facts |= {"share": math.floor(100 * job.share) / 100, **({"error": job.error} if job.error else {})}
    if release is not None and (receipt := release.receipt) is not None:
        facts |= {
            "k": form.k,
            "quantiles": form.kind == "quantile",
            "smallest": form.smallest,
            "purpose": form.purpose,
            **_view_lists(release),
            "summary": release.summary,
            "guarantee": in_short(release.guarantee),
            "mechanism": release.mechanism,
            "notes": inputs.notes_of(release),
            "ledger": receipt.ledger,
            "entry": receipt.entry,
            "standing": receipt.balance,
            "share_after": share_of_budget(receipt.spent, receipt.remaining),
            "head": receipt.head[:16],
        }
    return facts


def _view_lists(release: Release | GroupedRelease) -> dict[str, Any]:
    """What came out: one list, or one for each group."""
    if not isinstance(release, Release):
        return {"lists": [{"key": terminal_safe(str(key)), **_view_lists(one)} for key, one in release.items()]}
    if release.q is not None:
        names = list(map(quantile_in_words, release.q))
        return {"items": names, "values": [str(one) for one in release.items or ()], "margins": False, "ordered": False}
    return {
        "items": [terminal_safe(label_text(item)) for item in release.items or ()],
        "values": release.texts().get("value", []),
        "margins": bool(release.margins),
        "ordered": release.ordered,
    }
