"""Caps on what one person brings: what they cost beside a plain count, beyond memory, and key sets of many labels."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from time import process_time

from bench.peers import ROOT
from bench.tables import MOVIES, measured, ratings, rows
from bench.timing import interleaved, ratio

COLUMNS = {"user": "user_id", "item": "movie"}


def caps_table():
    """Counting with a cap, 10,000,000 rows of parquet by DuckDB: processor seconds, minima (medians) of three rounds"""
    import duckdb

    import shortlist as sl

    path = ratings(10_000_000)
    known = [f"movie {i}" for i in range(MOVIES)]
    plain = f"SELECT movie, count(DISTINCT user_id) FROM '{path}' GROUP BY movie"
    times = interleaved(
        {
            "DuckDB's own count of distinct users": lambda: duckdb.connect().execute(plain).fetchall(),
            "plain count, public list": lambda: sl.count(path, **COLUMNS, candidates=known),
            "`most=3`, public list": lambda: sl.count(path, **COLUMNS, candidates=known, most=3),
            "names from the data: counts, and weights of up to 64": lambda: sl.count(path, **COLUMNS),
            "`most=3`, names from the data: kept counts and weights": lambda: sl.count(path, **COLUMNS, most=3),
        },
        3,
        clock=process_time,
    )
    own, listed = list(times)[:2]
    yield "| count | processor seconds | times DuckDB's own | times the plain count |"
    yield "|---|---|---|---|"
    for name in times:
        yield f"| {name} | {min(times[name]):.2f} | {ratio(times, name, own)} | {ratio(times, name, listed)} |"


def memory_table():
    """Caps and key sets where memory is short, each in a process of its own: processor seconds, peaks of memory"""
    yield "| job | processor seconds | Python, peak | process, peak |"
    yield "|---|---|---|---|"
    pairs(), labels()  # made once, untimed
    for name, job in JOBS.items():
        command = [sys.executable, "-m", "bench.caps", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        found = json.loads(done.stdout.splitlines()[-1])
        if done.stderr:  # without the count
            found["processor"] = json.loads(done.stderr.splitlines()[-1])["processor"]
        size = f"{found['python'] / 1e6:,.0f} MB | {found['process'] / 1e6:,.0f} MB"
        yield f"| {job.__doc__} | {found['processor']:.1f} | {size} |"


def pairs() -> str:
    """40,000,000 rows of 3,000,000 people and 200,000 items."""
    movie = "floor(200000 * pow((hash(i, 2) % 1000003) / 1000003, 2))::INTEGER"
    select = f"SELECT 'user ' || hash(i, 1) % 3000000 AS user_id, 'item ' || {movie} AS movie"
    return rows("spill.parquet", f"{select} FROM range(40000000) AS r(i)")


def spilling() -> None:
    """40,000,000 rows, nearly all of them different pairs, memory limit 512 MB: capped at 3 and counted, a top 10"""
    import shortlist as sl

    scores = sl.count(pairs(), **COLUMNS, most=3, memory="512MB")
    assert len(sl.top_k(scores, 10, epsilon=1.0, delta=1e-6)) <= 10


def labels() -> str:
    """22,000,000 people with one label each: 1,000 that many have, and 19,800,000 of one person."""
    return rows("many-keys.parquet", "SELECT i AS user_id, 'item ' || CASE WHEN i % 10 = 0 THEN hash(i) % 1000 ELSE i "
                "END AS movie FROM range(22000000) AS r(i)")  # fmt: skip


def many_keys() -> None:
    """20,000,000 labels that are counted already: their key set"""
    import shortlist as sl
    from shortlist.mechanisms import KeySet

    scores = sl.count(labels(), **COLUMNS, most=1, memory="2GB")
    tracemalloc.reset_peak()
    began = process_time()
    release = KeySet(most=1, epsilon=1.0, delta=1e-6).release(scores)
    assert len(release) >= 990
    print(json.dumps({"processor": process_time() - began}), file=sys.stderr)


def keys_of_a_file() -> None:
    """20,000,000 labels, `sl.keys(most=1)` of the file, memory limit 2 GB"""
    import shortlist as sl

    release = sl.keys(labels(), **COLUMNS, most=1, epsilon=1.0, delta=1e-6, memory="2GB")
    assert len(release) >= 990


JOBS = {"spilling": spilling, "many_keys": many_keys, "keys_of_a_file": keys_of_a_file}
TABLES = {"caps": caps_table, "caps-memory": memory_table}


if __name__ == "__main__":
    measured(JOBS[sys.argv[1]])
