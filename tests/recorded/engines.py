"""Every question in every engine, as recorded before the engines moved: counts, a seeded release, charge and refusal.

`python -m tests.recorded.engines` writes it, and tests/recorded/test_engines.py compares with it. Only names that users
know are used here. A question has one answer, whatever the engine; an engine that differs has its own beside it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import random
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import shortlist as sl
from tests.tables.tables import ENGINES, source

PATH = Path(__file__).parent / "engines.json"
ITEMS = [f"film {n:02}" for n in range(12)]
LISTED = [*ITEMS, "never seen"]
WHO: dict[str, Any] = {"user": "user", "item": "film"}
SPENT: dict[str, Any] = {"epsilon": 2.0}
APPROX: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-3}
WEEKS: dict[str, Any] = {"by": "week", "groups": [1, 2, 3, 9], "groups_per_user": 4}


def rows() -> pl.DataFrame:
    """Synthetic rows with missing cells, empty texts, repeated rows and one heavy user."""
    draw = random.Random(11)
    users = [None, "", *(f"user {n}" for n in range(70))]
    made = [
        {
            "user": draw.choice(users),
            "film": draw.choice([None, *ITEMS, *ITEMS[:4], *ITEMS[:2]]),
            "language": draw.choice(["de", "fr", "it"]),
            "week": draw.choice([1, 2, 3, 4, None]),
            "stars": draw.choice([None, -0.0, 0.5, 1.0, 3.25, 4.0, 5.0, 1e9]),
            "day": draw.choice([datetime.date(2024, 1, 1), datetime.date(2024, 2, 29), None]),
        }
        for _ in range(500)
    ]
    heavy = [{**made[0], "user": "user heavy", "film": film, "week": 1} for film in ITEMS]
    return pl.DataFrame([*made, *heavy, *made[:50]])


def totals(table: Any, **words: Any) -> Any:
    """Counts by item; of counts under a bound, whose choice of items is drawn, their sum."""
    public = sl.count(table, **words).as_public()
    shown = sorted((str(label), value) for label, value in zip(public.labels, public.values.tolist(), strict=True))
    return sum(value for _, value in shown) if "most" in words else shown


def drawn(call: Callable[..., Any], table: Any, *given: Any, **words: Any) -> Any:
    """A seeded release with its charge and what the ledger keeps of it."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = sl.Ledger(Path(folder) / "budget.db", budget=sl.ApproxDP(50.0, 0.1))
        release = call(table, *given, rng=sl.testing.seeded(9), ledger=ledger, purpose="recorded", **words)
        written = json.loads(release.to_json())
        entry = ledger.entries()[-1]
        kept = [repr(entry.guarantee), entry.mechanism, entry.unit, entry.source]
    return {"release": _plain(written), "charge": repr(release.charge), "ledger": kept}


def _plain(written: Any) -> Any:
    """A release without what differs between engines and runs (receipts, kinds of frames), and without sentences."""
    if isinstance(written, dict):
        return {key: _plain(value) for key, value in written.items() if key not in UNSTABLE}
    return [_plain(one) for one in written] if isinstance(written, list) else written


UNSTABLE = {"receipt", "frame", "version", "why", "notes", "balance"}

QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda t: totals(t, **WHO),
    "count listed": lambda t: totals(t, **WHO, candidates=LISTED),
    "count most": lambda t: totals(t, **WHO, candidates=LISTED, most=3),
    "count most, not listed": lambda t: totals(t, **WHO, most=3),
    "count pairs": lambda t: totals(t, user="user", item=["film", "language"]),
    "count days": lambda t: totals(t, user="user", item="day"),
    "count where": lambda t: totals(
        t, **WHO, candidates=LISTED, where="language IN ('de', 'fr') AND NOT film = 'film 00'"
    ),
    "sum": lambda t: totals(t, **WHO, candidates=LISTED, value="stars", clip=(0, 5)),
    "sum of either sign": lambda t: totals(t, **WHO, candidates=LISTED, value="stars", clip=(-1, 2.5)),
    "set": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, **SPENT),
    "ordered": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, ordered=True, **SPENT),
    "values": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, values=True, **SPENT),
    "gaps": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, gaps=True, **SPENT),
    "smallest": lambda t: drawn(sl.top_k, t, 2, **WHO, candidates=LISTED, largest=False, **SPENT),
    "winner": lambda t: drawn(sl.select, t, **WHO, candidates=LISTED, **SPENT),
    "winner, not listed": lambda t: drawn(sl.select, t, **WHO, **APPROX),
    "set, not listed": lambda t: drawn(sl.top_k, t, 3, **WHO, **APPROX),
    "stable": lambda t: drawn(sl.top_k, t, None, **WHO, **APPROX),
    "zCDP": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, budget=sl.ZCDP(0.5)),
    "where": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, where="stars >= 1", **SPENT),
    "groups": lambda t: drawn(sl.top_k, t, 2, **WHO, candidates=LISTED, **WEEKS, **SPENT),
    "groups, smallest": lambda t: drawn(sl.top_k, t, 2, **WHO, candidates=LISTED, largest=False, **WEEKS, **SPENT),
    "groups, values": lambda t: drawn(sl.top_k, t, 2, **WHO, candidates=LISTED, values=True, **WEEKS, **SPENT),
    "groups, sums": lambda t: drawn(
        sl.top_k, t, 3, **WHO, candidates=LISTED, value="stars", clip=(0, 5), values=True, **WEEKS, epsilon=29.0
    ),
    "groups, counts": lambda t: drawn(sl.top_k, t, 9, **WHO, candidates=LISTED, values=True, **WEEKS, epsilon=29.0),
    "groups, not listed": lambda t: drawn(sl.top_k, t, 2, **WHO, by="language", groups_per_user=3, **APPROX),
    "keys": lambda t: drawn(sl.keys, t, **WHO, **APPROX),
    "median": lambda t: drawn(sl.quantile, t, user="user", value="stars", lower=0, upper=5, step=0.25, **SPENT),
    "quantiles": lambda t: drawn(
        sl.quantile, t, q=[0.25, 0.75], user="user", value="stars", lower=0, upper=5, step=0.25, **SPENT
    ),
    "median in groups": lambda t: drawn(
        sl.quantile, t, user="user", value="stars", lower=0, upper=5, step=0.25, **WEEKS, **SPENT
    ),
    "no such column": lambda t: drawn(sl.top_k, t, 3, user="user", item="fiilm", candidates=LISTED, **SPENT),
    "no delta": lambda t: drawn(sl.top_k, t, 3, **WHO, **SPENT),
    "above the budget": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, epsilon=60.0, allow_large=True),
    "not a filter": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, where="stars >> 1", **SPENT),
    "wrong kind of candidate": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=[1.5], **SPENT),
    "misspelled": lambda t: drawn(sl.top_k, t, 3, **WHO, candidates=LISTED, epsilom=1.0),
}


def answer(question: str, table: Any) -> str:
    """The answer, or the refusal with its type; long ones as a digest."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = json.dumps(QUESTIONS[question](table), sort_keys=True, default=str)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    text = re.sub(r"rows\.\w+ in [^:]*:|a \w+ table:|a \w+ relation:|(?:/[\w.-]+)*/?rows\.\w+", "TABLE", text)
    return text if len(text) <= 300 else f"{text[:120]}.. sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def answers(engine: str, folder: Path) -> dict[str, str]:
    """What this engine answers to every question."""
    table = source(engine, rows(), folder)
    return {question: answer(question, table) for question in QUESTIONS}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = {engine: answers(engine, Path(folder)) for engine in ENGINES}
    recorded = {}
    for question in QUESTIONS:
        common = found["polars"][question]
        differ = {engine: found[engine][question] for engine in ENGINES if found[engine][question] != common}
        recorded[question] = {"answer": common} | ({"but": differ} if differ else {})
    PATH.write_text(json.dumps(recorded, indent=1) + "\n")
