"""Plans on made-up counts, each in a process of its own: one that takes too long can be ended there, and only there.

`python -m shortlist.studio.planner` is that process: one question on its input, one answer on its output, both
JSON.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import subprocess
import sys
from functools import lru_cache
from typing import Any

from shortlist.planning import plan

TARGET = 0.99
SHOWN = 5
"""So many mechanisms are shown, the cheapest first."""
MOST_KEPT = 100
"""So many answers are kept for whoever asks again: they follow from public facts alone."""
SPARE = 10.0
"""Seconds after its time in which a process ends itself, if whoever should end it is gone."""


class Planner:
    """Asks for plans, and waits so many seconds for each."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answer = lru_cache(MOST_KEPT)(self._compute)
        self._workers: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def ask(self, facts: dict[str, Any], epsilon: float) -> dict[str, Any]:
        """What each mechanism reaches with epsilon, and what it would need for the target.

        Raises
        ------
        ValueError
            if the plan takes too long, or as `sl.plan` would.
        """
        reply: dict[str, Any] = json.loads(self._answer(json.dumps({"facts": facts, "epsilon": epsilon}).encode()))
        if "error" in reply:
            raise ValueError(reply["error"])
        return dict(reply["answer"])

    def close(self) -> None:
        """End what is under way, and whatever is asked from now on."""
        self._closed = True
        for worker in list(self._workers):
            worker.kill()

    def _compute(self, question: bytes) -> bytes:
        command = [sys.executable, "-P", "-m", "shortlist.studio.planner", str(self._seconds + SPARE)]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        # A session of its own: Ctrl-C is for the studio, which ends its plans itself.
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, start_new_session=True) as worker:
            self._workers.add(worker)
            try:
                if self._closed:
                    worker.kill()
                answer, _ = worker.communicate(question, timeout=self._seconds)
            except subprocess.TimeoutExpired:
                raise ValueError(
                    f"this plan takes longer than {self._seconds:g} seconds; ask for fewer items or a smaller k, or "
                    "leave the description out"
                ) from None
            finally:
                worker.kill()
                self._workers.discard(worker)
        if not answer:  # which is not kept
            raise ValueError("the plan could not be computed")
        return answer


def compute_plans(facts: dict[str, Any], epsilon: float) -> dict[str, Any]:
    """Both plans, as the page shows them."""
    reached = {row.mechanism: row.reached for row in plan(epsilon=epsilon, **facts).rows}
    needed = plan(target=TARGET, **facts)
    costs = {row.mechanism: row.epsilon for row in needed.rows if row.mechanism in reached}
    rows = [
        {"mechanism": name, "reached": reached[name], "needed": cost if math.isfinite(cost) else None}
        for name, cost in costs.items()
    ]
    return {"described": needed.described, "rows": rows[:SHOWN], "bound": needed.bound}


def main() -> None:
    """Answer one question."""
    faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
    question = json.load(sys.stdin)
    try:
        reply: dict[str, Any] = {"answer": compute_plans(**question)}
    except (ValueError, TypeError) as error:
        reply = {"error": str(error)}
    with contextlib.suppress(OSError):  # nobody waits for it any more
        json.dump(reply, sys.stdout)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
