"""What the first release under a new (epsilon, delta) budget takes of the processor, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

BUDGETS = ((1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-5))
TARGET = 0.2
RUNS = 3
ITEMS = 2_000
SIZES = (3, 10, 100, 1_000)


def _cases() -> dict[str, tuple[Callable[[], Any], Callable[[Any, Any], object]]]:
    """What is drawn from, made before the clock runs, and what is timed: from it and a budget to a first release."""
    import shortlist as sl
    from shortlist import mechanisms as m
    from shortlist.pate import PATE, MultiLabelPATE

    def released(kind: Callable[..., Any], scores: Any, budget: Any) -> None:
        mechanism = kind(budget=budget)
        mechanism.charge  # noqa: B018
        mechanism.release(scores)

    def listed(kind: Callable[..., Any], **words: Any) -> tuple[Callable[[], Any], Callable[[Any, Any], object]]:
        return _public, partial(released, partial(kind, **words))

    def unlisted(kind: Callable[..., Any], **words: Any) -> tuple[Callable[[], Any], Callable[[Any, Any], object]]:
        return _names, partial(released, partial(kind, **words))

    def labelled(_: None, budget: Any) -> None:
        PATE(epsilon=budget.epsilon, delta=budget.delta, queries=1_000, classes=10).label([1] * 60 + [2] * 40)

    def labelled_several(_: None, budget: Any) -> None:
        MultiLabelPATE(epsilon=budget.epsilon, delta=budget.delta, queries=100).label([[1, 0, 1]] * 100)

    def tuned(_: None, budget: Any) -> None:
        sl.tune(lambda value: (value, value), [1, 2, 3], guarantee=sl.ZCDP(budget.epsilon**2 / 80), budget=budget)

    rows = {
        **{f"one-shot, k = {k:,}": listed(m.OneshotTopK, k=k) for k in SIZES},
        **{f"limited domain, k = {k:,}": unlisted(m.LimitedDomainTopK, k=k) for k in SIZES[1:]},
        **{f"canonical limited domain, k = {k:,}": unlisted(m.CanonicalLimitedDomain, k=k) for k in SIZES[1:3]},
        **{f"guarded list, k = {k:,}": listed(m.GuardedListTopK, k=k) for k in SIZES[:3]},
        **{f"guarded, k = {k:,}": listed(m.GuardedTopK, k=k) for k in SIZES},
        **{f"canonical, k = {k:,}": listed(m.CanonicalTopK, k=k) for k in SIZES[1:]},
        **{f"joint, k = {k:,}": listed(m.JointTopK, k=k) for k in SIZES[1:3]},
        **{f"ordered canonical, k = {k:,}": listed(m.OrderedCanonicalTopK, k=k) for k in SIZES[1:3]},
        **{f"Gumbel values, k = {k:,}": listed(m.GumbelTopKValues, k=k) for k in SIZES},
        **{f"measured set, k = {k:,}": listed(m.MeasuredSet, k=k) for k in SIZES[1:3]},
        **{f"measured set of names, k = {k:,}": unlisted(m.MeasuredSet, k=k) for k in SIZES[1:3]},
        **{f"choice for names, k = {k:,}": unlisted(m.NamesChoice, k=k) for k in SIZES[1:3]},
        **{f"stable, k = {k:,}": unlisted(m.StableTopK, k=k) for k in SIZES[1:3]},
        "stable, Gaussian test": unlisted(m.StableTopK, k=10, test="gaussian"),
        "one winner": listed(m.NoisyMax, noise="gumbel"),
        "one winner, Gaussian": listed(m.NoisyMax, noise="gaussian"),
        "large gap": listed(m.LargeGap),
        "key set": (_table, partial(released, m.KeySet)),
        "key set, names alone": (_table, partial(released, partial(m.KeySet, values=False))),
        "histogram, k = 10": (_capped, partial(released, partial(m.NoisyHistogram, k=10, most=3))),
        "median": listed(m.Quantile, q=0.5),
        "nine quantiles": listed(m.Quantile, q=tuple(n / 10 for n in range(1, 10))),
        "PATE, 1,000 queries": (lambda: None, labelled),
        "PATE, several labels": (lambda: None, labelled_several),
        "tuning, number of runs": (lambda: None, tuned),
        "groups, a person in 5": (_grouped, lambda table, budget: sl.top_k(table, 3, budget=budget)),
    }
    return rows


def _counts() -> Any:
    import numpy as np

    return (100_000 / np.arange(1.0, ITEMS + 1)).astype(np.int64)


def _public() -> Any:
    import shortlist as sl

    return sl.Scores(_counts(), monotone=True)


def _names() -> Any:
    import shortlist as sl

    return sl.Scores(_counts(), labels=[f"name {i}" for i in range(ITEMS)], monotone=True, public=False)


def _rows() -> Any:
    import pandas as pd

    people = range(3_000)
    return pd.DataFrame(
        [(person, f"item {person % most}", f"group {person % 10}") for person in people for most in (2, 3, 5)],
        columns=["user", "item", "group"],
    )


def _table() -> Any:
    import shortlist as sl

    return sl.count(_rows(), user="user", item="item")


def _capped() -> Any:
    import shortlist as sl

    names = [f"item {i}" for i in range(20)]
    return sl.count(_rows(), user="user", item="item", candidates=names, most=3)


def _grouped() -> Any:
    import shortlist as sl

    names, groups = [f"item {i}" for i in range(20)], [f"group {i}" for i in range(10)]
    return sl.count(_rows(), user="user", item="item", candidates=names, by="group", groups=groups, groups_per_user=5)


def first(name: str, epsilon: float, delta: float) -> dict[str, float]:
    """Seconds of the imports, of the first release and of another one, in this process."""
    began = process_time()
    import flint  # noqa: F401
    import scipy.special

    import shortlist as sl

    scipy.special.ndtr(0.0)
    prepare, release = _cases()[name]
    sl.top_k([3, 2, 1], 1, epsilon=1.0)
    imported = process_time() - began
    source, budget = prepare(), sl.ApproxDP(epsilon, delta)
    began = process_time()
    release(source, budget)
    once = process_time() - began
    began = process_time()
    release(source, budget)
    return {"imports": imported, "first": once, "again": process_time() - began}


def _fresh(name: str, budget: tuple[float, float]) -> dict[str, float]:
    words = [sys.executable, "-m", "bench.calibration", name, *map(repr, budget)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def calibration_table():
    """The first release under an (epsilon, delta) budget: seconds of the processor, median of fresh processes."""
    yield "| mechanism | " + " | ".join(f"({e:g}, {d:g})" for e, d in BUDGETS) + " | the next release |"
    yield "|---|" + "---|" * (len(BUDGETS) + 1)
    imports = []
    for name in _cases():
        cells, later = [], []
        for budget in BUDGETS:
            runs = [_fresh(name, budget) for _ in range(RUNS)]
            seconds = median(run["first"] for run in runs)
            cells.append(f"{seconds:.3f}" if seconds <= TARGET else f"**{seconds:.3f}**")
            later += [run["again"] for run in runs]
            imports += [run["imports"] for run in runs]
        yield f"| {name} | {' | '.join(cells)} | {median(later):.4f} |"
    yield ""
    yield f"Target: {TARGET} s; bold is above. The imports before, {median(imports):.2f} s, are not in it."


TABLES = {"calibration": calibration_table}

if __name__ == "__main__":
    print(json.dumps(first(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))))
