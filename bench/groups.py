"""Lists for many groups: counting against the engine's own grouped statement, and all lists against one call each."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from time import process_time

from bench.tables import rows
from bench.timing import interleaved, ratio

GROUPS, ITEMS, ROWS = 10_000, 1_000, 10_000_000
SAMPLE = 100
"""Groups that are released one by one, to know what one call costs."""


def table(groups: int = GROUPS, items: int = ITEMS, many: int = ROWS) -> str:
    """Users 0 .. many / 20, nine in ten in one group alone; items by a power law."""
    user = f"hash(i, 1) % {many // 20}"
    home = f"hash({user}, 3) % {groups}"
    group = f"CASE WHEN hash(i, 4) % 10 = 0 AND {user} % 10 = 0 THEN hash(i, 5) % {groups} ELSE {home} END"
    item = f"floor({items} * pow((hash(i, 2) % 1000003) / 1000003, 3))::INTEGER"
    select = f"SELECT {user} AS u, {group} AS g, {item} AS i FROM range({many}) AS rows(i)"
    return rows(f"groups-{groups}-{items}-{many}.parquet", select)


def groups_table(groups: int = GROUPS, items: int = ITEMS, many: int = ROWS, rounds: int = 3):
    """Counting all groups, times DuckDB's own grouped statement; all lists, times one call each: processor seconds"""
    import duckdb

    import shortlist as sl

    path = table(groups, items, many)
    plain = f"CREATE TEMP TABLE own AS SELECT g, i, count(DISTINCT u) FROM '{path}' GROUP BY g, i"
    columns = {"user": "u", "item": "i", "by": "g", "groups": range(groups)}
    count = lambda **more: sl.count(path, **columns, **more)  # noqa: E731
    times = interleaved(
        {"own": lambda: duckdb.connect().execute(plain), "ours": lambda: count(candidates=range(items))},
        rounds,
        clock=process_time,
    )
    yield "| groups | items | rows | the engine's own | counting, times that | all lists | of one call each | memory |"
    yield "|---|---|---|---|---|---|---|---|"
    scores = count(candidates=range(items))
    start = process_time()
    sl.top_k(scores, 10, epsilon=1.0)
    bulk = process_time() - start
    keys = list(scores)[: min(SAMPLE, groups)]
    start = process_time()
    for key in keys:
        sl.top_k(scores[key], 10, epsilon=1.0)
    single = (process_time() - start) * groups / len(keys)
    peak = _peak(groups, items, many)
    yield (
        f"| {groups:,} | {items:,} | {many:,} | {min(times['own']):.2f} s | {ratio(times, 'ours', 'own')} "
        f"| {bulk:.1f} s | 1/{single / bulk:.0f} | {peak:,.0f} MB |"
    )


def _peak(groups: int, items: int, many: int) -> float:
    """MB of a process of its own that counts and releases."""
    call = [sys.executable, "-m", "bench.groups", str(groups), str(items), str(many)]
    return float(json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout))


def main() -> None:
    import shortlist as sl

    groups, items, many = map(int, sys.argv[1:])
    path = table(groups, items, many)
    scores = sl.count(path, user="u", item="i", by="g", groups=range(groups), candidates=range(items))
    sl.top_k(scores, 10, epsilon=1.0)
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


TABLES = {"groups": groups_table}

if __name__ == "__main__":
    main()
