"""A confirmed release, in the order that keeps the promise: check the columns, book the charge, count, draw.

Nothing is written but the ledger. What came out stays in memory for the downloads, until the studio ends.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass

from shortlist import quantile
from shortlist._runtime import MissingPackageError
from shortlist._text import csv_table
from shortlist.pages.release_page import groups_page, release_page
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, Ledger, LedgerError
from shortlist.release import GroupedRelease, Release
from shortlist.studio.forms import Offer
from shortlist.studio.inputs import LEDGER_SECONDS, Folder

SAID = (ValueError, TypeError, OSError, LedgerError, BudgetExceeded, ApprovalNeeded, MissingPackageError)
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
        with self._lock:
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
            except SAID as error:
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
        if form.quote().charge != job.plan.charge:
            raise ValueError("the groups or the candidates are not those of the plan: look at the plan again")
        number = form.quote(header=True).candidates
        if form.ask is not quantile and number is not None:
            form.check_candidates(number)
        job.state = "charging"
        self._folder.check_still_inside(form.files)  # what came before may have taken long
        job.release = form.release(Ledger(form.ledger, wait=LEDGER_SECONDS), tell)
        job.state = "done"

    def download(self, job: PaidJob, kind: str) -> tuple[str, str, bytes] | None:
        """(file name, type, bytes) of the list, the report, the code or the notebook; or None."""
        release, form = job.release, job.plan.question
        if release is None:
            return None
        stem = form.stem
        if kind == "list.csv":
            return f"{stem}.csv", "text/csv; charset=utf-8", csv_table(release.columns()).encode()
        if kind == "report.html":
            page = (groups_page if isinstance(release, GroupedRelease) else release_page)(release, form.purpose)  # type: ignore[arg-type]
            return f"{stem}.html", "text/html; charset=utf-8", page.encode()
        if kind == "list.json":
            return f"{stem}.json", "application/json", release.to_json().encode()
        if kind == "repeat.py":
            return f"{stem}.py", "text/x-python; charset=utf-8", form.program(self._folder).python().encode()
        if kind == "repeat.ipynb":
            return f"{stem}.ipynb", "application/x-ipynb+json", form.program(self._folder).notebook().encode()
        return None
