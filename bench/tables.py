"""Counting and releasing from tables: against the engines' own statements, against memory, against peers."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from bench.peers import PEERS, ROOT, python_of
from bench.timing import interleaved, ratio

HOME = ROOT / ".bench" / "tables"
PEERS |= {"pipelinedp": ["pipeline-dp==0.3.1"], "opendp-polars": ["opendp[polars]==0.16.0"]}
MOVIES = 20_000


def rows(name: str, select: str) -> str:
    """A parquet file, made once by DuckDB."""
    import duckdb

    HOME.mkdir(parents=True, exist_ok=True)
    path, part = HOME / name, HOME / f"{name}.part"
    if not path.exists():
        duckdb.sql(f"COPY ({select}) TO '{part}' (FORMAT parquet)")
        part.rename(path)
    return str(path)


def ratings(n: int, movies: int = MOVIES) -> str:
    """n rows: users 0 .. n / 20, movies by a power law."""
    movie = f"floor({movies} * pow((hash(i, 2) % 1000003) / 1000003, 3))::INTEGER"
    select = f"SELECT hash(i, 1) % {n // 20} AS user_id, 'movie ' || {movie} AS movie FROM range({n}) AS rows(i)"
    return rows(f"ratings-{n}-{movies}.parquet", select)


def tables_table():
    """Counting distinct users per item, times the engine's own statement, minima (medians) of interleaved rounds"""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.parquet as pq

    import shortlist as sl

    columns = {"user": "user_id", "item": "movie"}
    yield "| rows | source | the engine's own | shortlist, times that | with candidates |"
    yield "|---|---|---|---|---|"
    n, path = 10_000_000, ratings(10_000_000)
    known = [f"movie {i}" for i in range(MOVIES)]
    plain = f"SELECT movie, count(DISTINCT user_id) FROM '{path}' GROUP BY movie"
    base = lambda: duckdb.connect().execute(plain).fetchall()  # noqa: E731
    yield _row(n, "parquet, by DuckDB", base, lambda **more: sl.count(path, **columns, **more), known, 5)
    n, path = 2_000_000, ratings(2_000_000)
    frames = {
        "pandas": (pd.read_parquet(path), lambda frame: frame.groupby("movie")["user_id"].nunique()),
        "polars": (pl.read_parquet(path), lambda frame: frame.group_by("movie").agg(pl.col("user_id").n_unique())),
        "pyarrow": (
            pq.read_table(path),
            lambda frame: frame.group_by("movie").aggregate([("user_id", "count_distinct")]),
        ),
    }
    for library, (frame, own) in frames.items():
        yield _row(
            n, library, lambda frame=frame, own=own: own(frame),
            lambda frame=frame, **more: sl.count(frame, **columns, **more), known, 5,
        )  # fmt: skip


def _row(n, source, base, ours, known, rounds):
    times = interleaved({"own": base, "ours": ours, "known": lambda: ours(candidates=known)}, rounds)
    both = " | ".join(ratio(times, name, "own") for name in ("ours", "known"))
    return f"| {n:,} | {source} | {min(times['own']):.2f} s | {both} |"


def memory_table():
    """Tables that do not fit, each in a process of its own: peak of Python's memory (tracemalloc) and of the process"""
    yield "| job | seconds | Python, peak | process, peak |"
    yield "|---|---|---|---|"
    for name in JOBS:
        done = subprocess.run(
            [sys.executable, "-m", "bench.tables", name], capture_output=True, text=True, check=True, cwd=ROOT
        )
        found = json.loads(done.stdout.splitlines()[-1])
        size = f"{found['python'] / 1e6:,.0f} MB | {found['process'] / 1e6:,.0f} MB"
        yield f"| {JOBS[name].__doc__} | {found['seconds']:.1f} | {size} |"


def spilling() -> None:
    """40,000,000 rows, nearly all of them different pairs, memory limit 512 MB: counted, and a top 10 released"""
    import shortlist as sl

    movie = "floor(200000 * pow((hash(i, 2) % 1000003) / 1000003, 2))::INTEGER"
    select = f"SELECT 'user ' || hash(i, 1) % 3000000 AS user_id, 'item ' || {movie} AS movie"
    path = rows("spill.parquet", f"{select} FROM range(40000000) AS r(i)")
    scores = sl.count(path, user="user_id", item="movie", memory="512MB")
    assert len(sl.top_k(scores, 10, epsilon=1.0, delta=1e-6).items) <= 10


def many_items() -> None:
    """20,000,000 distinct public items: a top 10 released by the default and by one-shot"""
    import shortlist as sl

    path = rows("items.parquet", "SELECT i % 1000 AS user_id, 'item ' || CASE WHEN i < 20000000 THEN i ELSE "
                "floor(pow(hash(i, 1) % 1000003 / 1000003, 4) * 20000000)::INTEGER END AS movie "
                "FROM range(22000000) AS r(i)")  # fmt: skip
    scores = sl.count(path, user="user_id", item="movie", candidates=path, memory="2GB")
    assert len(scores) == 20_000_000
    tracemalloc.start()
    assert len(sl.top_k(scores, 10, epsilon=1.0).items) == 10
    assert len(sl.top_k(scores, 10, epsilon=1.0, ordered=True).items) == 10


JOBS = {"spilling": spilling, "many_items": many_items}


def peers_table():
    """One job, 1,000,000 rows to a private top 10 of 500 public items: seconds, each peer in its own environment"""
    import polars as pl

    import shortlist as sl

    items = 500
    path = rows(f"peers-{items}.parquet", f"SELECT hash(i, 1) % 50000 AS user_id, floor({items} * pow((hash(i, 2) % "
                "1000003) / 1000003, 2))::INTEGER AS movie FROM range(1000000) AS r(i)")  # fmt: skip
    frame = pl.read_parquet(path)
    np.savez(HOME / "peers.npz", **{name: frame[name].to_numpy() for name in frame.columns})

    def ours() -> float:
        start = perf_counter()
        scores = sl.count(path, user="user_id", item="movie", candidates=range(items))
        sl.top_k(scores, 10, epsilon=1.0)
        return perf_counter() - start

    yield "| peer | what it needs to be told besides | peer | shortlist | peer / shortlist |"
    yield "|---|---|---|---|---|"
    told = {"pipelinedp": "two contribution caps, noise kind, delta", "opendp-polars": "a contribution cap, delta"}
    sources = {"pipelinedp": HOME / "peers.npz", "opendp-polars": path}
    for peer, source in sources.items():
        script = Path(__file__).with_name(f"peer_{peer.replace('-', '_')}.py")
        command = [python_of(peer), script, source, str(items)]
        seconds = min(ours() for _ in range(3))
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = json.loads(done.stdout.splitlines()[-1])["peer"]
        yield f"| {peer} | {told[peer]} | {theirs:.2f} s | {seconds:.3f} s | {theirs / seconds:.0f} |"


TABLES = {"tables": tables_table, "tables-memory": memory_table, "tables-peers": peers_table}


def measured(job) -> None:
    """Do the job, and print how long it took and how much memory."""
    began, worked = perf_counter(), process_time()
    tracemalloc.start()
    job()
    print(
        json.dumps(
            {
                "seconds": perf_counter() - began,
                "processor": process_time() - worked,
                "python": tracemalloc.get_traced_memory()[1],
                "process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


if __name__ == "__main__":
    measured(JOBS[sys.argv[1]])
