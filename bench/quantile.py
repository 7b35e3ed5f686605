"""Quantiles: time against the engine's own, and exact rank errors."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

from bench.peers import python_of
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
                law = Quantile(q=0.5, epsilon=epsilon, noise=noise, votes_per_user=1)
                cells.append(f"{law.expected_error(counts, monotone=True):.2f}")
            yield f"| {epsilon:g} | {name} | {' | '.join(cells)} |"


DRAWS = 200


def errors_of(peer: str, questions):
    """The mean rank error of the peer's draws, in its own environment, and its standard error."""
    script, words = Path(__file__).with_name("peer_median.py"), json.dumps([(*one, DRAWS) for one in questions])
    done = subprocess.run([python_of(peer), script, peer], input=words, capture_output=True, text=True, check=True)
    for (counts, _), points in zip(questions, json.loads(done.stdout.splitlines()[-1]), strict=True):
        sums, half = np.cumsum(counts), sum(counts) / 2
        ranks = np.maximum(np.maximum(sums - counts - half, half - sums), 0)[np.array(points)]
        yield ranks.mean(), ranks.std() / np.sqrt(DRAWS)


def peers_table():
    """Rank error of the median of 2,000 people on 4,096 points: ours exact, theirs the mean of 200 draws"""
    from shortlist.mechanisms import Quantile

    people = {one: scaled(np.load(SHARED / f"{one}.n4096.npy").ravel().astype(float), 2000) for one in SETS}
    cases = [(epsilon, one) for epsilon in (0.1, 1.0) for one in SETS]
    questions = [(people[one].tolist(), epsilon) for epsilon, one in cases]
    opendp, diffprivlib = list(errors_of("opendp", questions)), list(errors_of("diffprivlib", questions))

    def ours(one, epsilon, noise):
        law = Quantile(q=0.5, epsilon=epsilon, noise=noise, votes_per_user=1)
        return f"{law.expected_error(people[one], monotone=True):.2f}"

    yield "| epsilon | data | add/remove: ours | ours, exponential mechanism | OpenDP | replace: ours | diffprivlib |"
    yield "|---|---|---|---|---|---|---|"
    for (epsilon, one), other, third in zip(cases, opendp, diffprivlib, strict=True):
        cells = [ours(one, epsilon, "exponential"), ours(one, epsilon, "gumbel"), f"{other[0]:.2f} ± {other[1]:.2f}"]
        cells += [ours(one, epsilon / 2, "exponential"), f"{third[0]:.2f} ± {third[1]:.2f}"]
        yield f"| {epsilon:g} | {one} | {' | '.join(cells)} |"


TABLES = {"quantile": time_table, "quantile-errors": error_table, "quantile-peers": peers_table}
