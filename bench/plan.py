"""How long a plan takes over all mechanisms and domains, and the studio's first estimate: each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

BUDGETS = ("all", "pure", "zcdp", "approx")
TARGET, QUICK = 1.0, 0.3
RUNS = 3
DATA: dict[str, Any] = {"items": 10_000, "users": 50_000, "shape": "zipf:1.1"}
OFFERED = {
    "guarded set": "GuardedTopK",
    "guarded list": "GuardedListTopK",
    "one-shot list": "OneshotTopK",
    "set of names": "CanonicalLimitedDomain",
    "list of names": "LimitedDomainTopK",
    "choice for names": "NamesChoice",
}
"""What the studio may be about to run, and so estimates."""


def planned(k: int, goal: str, budget: str) -> float:
    """Seconds of one plan, the imports and a tiny one before it not counted."""
    import shortlist as sl

    sl.plan(k=2, items=100, users=1000, shape="zipf:1.1")
    began = process_time()
    sl.plan(k=k, goal=goal, **DATA, **({} if budget == "all" else {"budget": budget}))
    return process_time() - began


def estimated(kind: str, k: int, delta: float) -> float:
    """Seconds of a first estimate for one mechanism at epsilon 1, with its calibration."""
    import flint  # noqa: F401
    import scipy.special

    import shortlist as sl
    from shortlist import mechanisms
    from shortlist.planning.plans import counts_of_shape

    scipy.special.ndtr(0.0)
    sl.top_k([3, 2, 1], 1, epsilon=1.0)
    counts = counts_of_shape(k=k, **DATA)
    began = process_time()
    budget = sl.ApproxDP(1.0, delta) if delta else sl.PureDP(1.0)
    getattr(mechanisms, kind)(k=k, budget=budget).success_probability(sl.Scores(counts, monotone=True))
    return process_time() - began


def _fresh(*words: object) -> float:
    """The median of fresh processes."""
    command = [sys.executable, "-m", "bench.plan", *map(str, words)]
    done = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        for _ in range(RUNS)
    ]
    return median(json.loads(one.stdout.splitlines()[-1]) for one in done)


def _cell(seconds: float, target: float) -> str:
    return f"{seconds:.2f}" if seconds <= target else f"**{seconds:.2f}**"


def plan_table():
    """`sl.plan` over all mechanisms, Zipf counts, d = 10,000, by the budgets that are asked for: processor seconds."""
    yield f"| k | goal | {' | '.join('all budgets' if one == 'all' else one for one in BUDGETS)} |"
    yield "|---|---|" + "---|" * len(BUDGETS)
    for k in (10, 100):
        for goal in ("top", "recall", "good"):
            cells = [_cell(_fresh("planned", k, goal, budget), TARGET) for budget in BUDGETS]
            yield f"| {k} | {goal} | {' | '.join(cells)} |"
    yield ""
    yield f"Target: {TARGET:g} s for all budgets; bold is above."


def estimate_table():
    """The studio's first estimate, d = 10,000, epsilon 1, calibration included: processor seconds."""
    yield "| mechanism | pure, k = 10 | pure, k = 100 | delta = 1e-6, k = 10 | delta = 1e-6, k = 100 |"
    yield "|---|---|---|---|---|"
    for name, kind in OFFERED.items():
        cells = [
            "" if not delta and "names" in name else _cell(_fresh("estimated", kind, k, delta), QUICK)
            for delta in (0.0, 1e-6)
            for k in (10, 100)
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield f"Target: {QUICK:g} s; bold is above."


TABLES = {"plan": plan_table, "plan-estimate": estimate_table}

if __name__ == "__main__":
    what, first, second, third = sys.argv[1:]
    if what == "planned":
        print(json.dumps(planned(int(first), second, third)))
    else:
        print(json.dumps(estimated(first, int(second), float(third))))
