"""One of several drivers of a Spark cluster with one budget: `python -m tests.long.spark_driver URL LEDGER ROWS 0`."""

from __future__ import annotations

import sys
from typing import Any

import shortlist as sl

EACH = 0.25
DELTA = 1e-9


def main(where: str, address: str, rows: str, first: str) -> None:
    from pyspark.sql import SparkSession

    table = SparkSession.builder.remote(where).getOrCreate().read.parquet(rows)
    ledger = sl.Ledger.open(address)
    films = [f"film {n}" for n in range(1, 7)]
    plain: dict[str, Any] = {"user": "user", "item": "film", "epsilon": EACH, "ledger": ledger}
    stories: list[tuple[str, dict[str, Any]]] = [
        ("public", {"candidates": films}),
        ("names", {"delta": DELTA}),
        ("capped", {"candidates": films, "most": 2}),
        ("groups", {"candidates": films, "by": "country", "groups": ["CH", "DE", "FR"]}),
        ("filtered", {"candidates": films, "where": "week >= 40"}),
    ]
    done = []
    for name, words in [*stories[int(first) :], *stories[: int(first)]]:  # each begins elsewhere
        try:
            sl.top_k(table, 2, purpose=name, **plain, **words)
            done.append(name)
        except sl.BudgetExceeded:
            done.append("refused")
    print(" ".join(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
