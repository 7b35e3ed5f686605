"""Quantiles: time against the engine's own, and exact rank errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.tables import rows
from bench.timing import interleaved, ratio

N, POINTS = 10_000_000, 1 << 40
SHARED = Path(__file__).parents[2] / "shared" / "data"
OWN = "SELECT quantile_cont(value, .5) FROM '{}'"
SETS = ("INCOME", "MEDCOST", "HEPTH")


def numbers(each: int) -> str:
    """Ten million rows of one number below 2^40, so many rows a person."""
    select = f"SELECT i // {each} AS user_id, (hash(i, 3) % {POINTS})::BIGINT AS value FROM range({N}) AS t(i)"
    return rows(f"quantile-{each}.parquet", select)


def time_table():
    """The median of 10,000,000 rows over 2^40 points, times DuckDB's quantile_cont, minima (medians) of rounds"""
    import duckdb

    import shortlist as sl

    yield "| rows a person | DuckDB | votes shared, times that | each row a person, times that |"
    yield "|---|---|---|---|"
    words = {"value": "value", "lower": 0, "upper": POINTS - 1, "epsilon": 1.0}
    for each in (1, 10):
        path = numbers(each)
        contestants = {
            "own": lambda path=path: duckdb.connect().execute(OWN.format(path)).fetchall(),
            "shared": lambda path=path: sl.quantile(path, user="user_id", **words),
            "said": lambda path=path: sl.quantile(path, **words),
        }
        times = interleaved(contestants, 5)
        said = ratio(times, "said", "own") if each == 1 else "not so"
        yield f"| {each} | {min(times['own']):.2f} s | {ratio(times, 'shared', 'own')} | {said} |"


def scaled(counts, people: int):
    """So many people with the same ranks, by rounding their cumulative counts."""
    sums = np.floor(np.cumsum(counts) / counts.sum() * people + 0.5).astype(np.int64)
    return np.diff(sums, prepend=0)


def error_table():
    """Exact expected rank error of the median of 2,000 people on 4,096 points"""
    from shortlist.mechanisms import Quantile

    yield f"| epsilon | by | {' | '.join(SETS)} |"
    yield "|---|---|---|---|---|"
    for epsilon in (0.1, 1.0):
        for name, noise in (("permute-and-flip", "exponential"), ("exponential mechanism", "gumbel")):
            cells = []
            for one in SETS:
                counts = scaled(np.load(SHARED / f"{one}.n4096.npy").ravel().astype(float), 2000)
                law = Quantile(q=0.5, epsilon=epsilon, noise=noise)
                cells.append(f"{law.expected_error(counts, monotone=True):.2f}")
            yield f"| {epsilon:g} | {name} | {' | '.join(cells)} |"


TABLES = {"quantile": time_table, "quantile-errors": error_table}
