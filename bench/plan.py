"""How long a plan takes over all mechanisms, budgets and domains."""

from __future__ import annotations

from time import process_time

import shortlist as sl


def plan_table():
    """`sl.plan`, all mechanisms, Zipf counts, d = 10,000. Target: 5 s at k = 100."""
    yield "| k | goal | rows | processor seconds |"
    yield "|---|---|---|---|"
    sl.plan(k=2, items=100, users=1000, shape="zipf:1.1")  # imports and tables, once
    for k in (10, 100):
        for goal in ("top", "recall", "good"):
            start = process_time()
            found = sl.plan(k=k, goal=goal, items=10_000, users=50_000, shape="zipf:1.1")
            yield f"| {k} | {goal} | {len(found.rows)} | {process_time() - start:.2f} |"


TABLES = {"plan": plan_table}
