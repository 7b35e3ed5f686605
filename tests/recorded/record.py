"""What is recorded: `python -m tests.recorded.record` writes it, and tests/recorded/test_recorded.py compares with it.

Only names that users know are used here, so that the record outlives every move inside. A law that changes is either a
mistake or a correction that the change log tells of; a seeded release changes when a sampler asks for other random
words, and then the tests of its law decide.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import shortlist as sl
from shortlist import ZCDP, ApproxDP
from shortlist.audit import certify
from shortlist.mechanisms import (
    CanonicalTopK,
    GuardedTopK,
    JointTopK,
    Mechanism,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    TopKWithGaps,
)
from shortlist.pate import PATE
from tests.helpers.releases import CAPPED, LINES, METHOD_NAMES, NUMBERED, PUBLIC, UNKNOWN, WEIGHED
from tests.helpers.typed import of_kind

HERE = Path(__file__).parent
COUNTS = [900, 850, 850, 500, 420, 90, 88, 12, 5, 0]
SCORES = {
    "counts": sl.Scores(COUNTS, monotone=True),
    "near": sl.Scores([9, 8, 7, 7, 6, 5, 3], monotone=True),
    "floats": sl.Scores([0.5, 3.25, -1.0, 2.75, 3.0, 0.125], sensitivity=0.5),
}
NAMES = {
    "counts": sl.Scores({f"item {i}": n for i, n in enumerate(COUNTS) if n}, monotone=True, public=False),
    "cliff": sl.Scores({"a": 5000, "b": 4000, "c": 12, "d": 11, "e": 1}, monotone=True, public=False),
}
MORE: dict[str, Mechanism] = {
    **{f"one winner, {noise}": NoisyMax(epsilon=0.7, noise=noise) for noise in ("gumbel", "laplace", "logistic")},
    "one winner, half-logistic": NoisyMax(epsilon=0.7, noise="half-logistic"),
    "one winner, zCDP": NoisyMax(budget=ZCDP(0.1), noise="gumbel"),
    **{
        f"ordered, {noise}": OneshotTopK(k=3, epsilon=1.5, noise=noise)
        for noise in ("exponential", "laplace", "logistic", "half-logistic")
    },
    "ordered, approximate": OneshotTopK(k=3, budget=ApproxDP(1.0, 1e-6)),
    "ordered, all drawn": OneshotTopK(k=3, epsilon=1.5, work="fixed"),
    **{f"set, {noise}": CanonicalTopK(k=3, epsilon=1.5, noise=noise) for noise in ("gumbel", "laplace", "exponential")},
    "set, zCDP": CanonicalTopK(k=3, budget=ZCDP(0.2)),
    "guarded, large": GuardedTopK(k=4, epsilon=0.4),
    "joint, zCDP": JointTopK(k=3, budget=ZCDP(0.5)),
    "gaps, Laplace": TopKWithGaps(k=2, epsilon=1.0, noise="laplace"),
}
LISTED = PUBLIC | MORE | NUMBERED | CAPPED | LINES
"""For scores of a public list."""

FOUND = UNKNOWN | WEIGHED
"""For candidates that come from the data."""

LAWS = (
    "probabilities", "success_probability", "success_bounds", "quality", "number_correct", "inclusion_probabilities",
    "guard_probability", "expected_recall",
)  # fmt: skip
CALLS: tuple[dict[str, Any], ...] = (
    {"k": 1, "epsilon": 1.0},
    {"k": 3, "epsilon": 1.0},
    {"k": 3, "epsilon": 1.0, "ordered": True},
    {"k": 3, "epsilon": 1.0, "values": True},
    {"k": 3, "epsilon": 1.0, "gaps": True},
    {"k": 3, "epsilon": 1.0, "delta": 1e-6},
    {"k": 1, "epsilon": 1.0, "delta": 1e-6},
    {"k": 3, "epsilon": 1.0, "delta": 1e-6, "ordered": True},
    {"k": 3, "epsilon": 1.0, "delta": 1e-6, "values": True},
    {"k": 3, "budget": ZCDP(0.1)},
    {"k": 3, "budget": ZCDP(0.1), "ordered": True},
    {"k": 1, "budget": ZCDP(0.1)},
    {"k": None, "epsilon": 2.0, "delta": 1e-4},
)


def plain(value: Any) -> Any:
    """Numbers, lists and words."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value


def tried(call: Callable[..., Any], *given: Any) -> Any:
    """What it gives, or that it refuses."""
    try:
        return plain(call(*given))
    except (TypeError, ValueError) as error:
        return {"refused": type(error).__name__}


def known() -> Iterator[tuple[str, Any, str, sl.Scores]]:
    """Every mechanism with every question it is for."""
    for family, questions in ((LISTED, SCORES), (FOUND, NAMES)):
        for name, mechanism in family.items():
            for title, scores in questions.items():
                yield name, mechanism, title, scores


def laws() -> dict[str, Any]:
    return {
        f"{name} | {title} | {law}": tried(getattr(mechanism, law), scores)
        for name, mechanism, title, scores in known()
        for law in LAWS
        if hasattr(mechanism, law)
    }


def certified() -> dict[str, Any]:
    """The laws that the auditor compares with the promise: the middles of their balls."""

    def middles(mechanism: Any, scores: sl.Scores) -> Any:
        law = certify(mechanism, scores)
        chances = getattr(law, "chances", None)
        if chances is None:
            return None
        shown = sorted(chances.items(), key=repr)[:: max(1, len(chances) // 40)]  # of many, some forty
        return {repr(one): float(ball.mid()) for one, ball in shown}

    scores = sl.Scores([2, 1, 0], monotone=True)
    names = sl.Scores({"a": 2, "b": 1, "c": 1}, monotone=True, public=False)
    return {
        name: tried(middles, mechanism, names if family is FOUND else scores)
        for family in (LISTED, FOUND)
        for name, mechanism in family.items()
    }


def charges() -> dict[str, Any]:
    return {
        name: [repr(mechanism.guarantee), repr(mechanism.charge), mechanism.name, mechanism.ordered]
        for name, mechanism in (LISTED | FOUND).items()
    }


def released(release: sl.Release) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(release.to_json())
    written["extras"].pop("candidates", None)  # younger than the records
    written["extras"].pop("asked", None)  # younger than the records: how many were asked for
    return written


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(plain(value)).encode()).hexdigest()[:16]


def releases() -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    for name, mechanism, title, scores in known():
        for seed in (1, 2):
            drawn[f"{name} | {title} | {seed}"] = tried(
                lambda m, s, n: released(m.release(s, rng=sl.testing.seeded(n))), mechanism, scores, seed
            )
        drawn[f"{name} | {title} | many"] = tried(
            lambda m, s: digest(m.release_many(s, draws=200, rng=sl.testing.seeded(3))), mechanism, scores
        )
    for n, words in enumerate(CALLS):
        for title, scores in (SCORES | {f"names, {title}": scores for title, scores in NAMES.items()}).items():
            drawn[f"top_k {n} | {title}"] = tried(
                lambda s, w: released(of_kind(sl.Release, sl.top_k(s, rng=sl.testing.seeded(4), **w))), scores, words
            )
    for method in METHOD_NAMES:
        for k in (1, 3):
            drawn[f"top_k {method} {k}"] = tried(
                lambda m, k: released(sl.top_k(SCORES["counts"], k, epsilon=1.0, method=m, rng=sl.testing.seeded(5))),
                method,
                k,
            )
    stream = SparseVector(threshold=100, k=3, epsilon=1.0, monotone=True).stream(rng=sl.testing.seeded(6))
    pate = PATE(rho=0.5, delta=1e-6, queries=10, classes=3)
    drawn["PATE"] = [pate.label([2] * 30 + [0] * 22, rng=sl.testing.seeded(n)) for n in range(10)]
    rows = pd.DataFrame({"user": range(60), "item": ["ada"] * 30 + ["bob"] * 20 + ["cy"] * 8 + ["di"] * 2})
    listed = sl.count(rows, user="user", item="item", candidates=["ada", "bob", "cy", "di", "ed"])
    found = sl.count(rows, user="user", item="item")
    for words in CALLS[:-1]:
        drawn[f"table, listed {words}"] = tried(
            lambda w: released(sl.top_k(listed, rng=sl.testing.seeded(7), **w)), words
        )
        drawn[f"table, found {words}"] = tried(
            lambda w: released(sl.top_k(found, rng=sl.testing.seeded(7), **w)), words
        )
    drawn["stream"] = [plain(stream.ask(value)) for value in (5, 300, 90, 110, 1, 800) if not stream.stopped]
    return drawn


def plans() -> dict[str, Any]:
    shown: dict[str, Any] = {
        "compare": plain(sl.compare(SCORES["counts"], k=3, epsilon=[0.1, 1.0]).columns()),
        "compare, floats": plain(sl.compare(SCORES["floats"], k=2, epsilon=[0.1, 1.0]).columns()),
    }
    for name in ("ordered, exponential", "set, gumbel", "guarded, large", "one winner, gumbel"):
        shown[f"epsilon_for {name}"] = sl.epsilon_for(MORE[name], SCORES["near"], target=0.9)
    return shown


RECORDED = {"laws": laws, "certified": certified, "charges": charges, "releases": releases, "plans": plans}


TOLERANCE = {"laws": 1e-12, "certified": 1e-12, "plans": 1e-12, "charges": 0.0, "releases": 0.0}
"""Numbers may differ by so much between machines."""


def path(name: str) -> Path:
    return HERE / f"{name}.json"


def near(one: object, other: object, tolerance: float) -> bool:
    """Whether two recorded values are the same, up to the tolerance if both are floats."""
    if isinstance(one, float) and isinstance(other, float) and tolerance:
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return one == other and type(one) is type(other)


def merge(old: Any, new: Any, tolerance: float) -> Any:
    """Return the new record, with each old number kept that is near enough, so that a diff shows what changed."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: merge(old.get(key), value, tolerance) for key, value in new.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [merge(one, other, tolerance) for one, other in zip(old, new, strict=True)]
    return old if near(old, new, tolerance) else new


if __name__ == "__main__":
    for name, make in RECORDED.items():
        made = merge(json.loads(path(name).read_text()), json.loads(json.dumps(make())), TOLERANCE[name])
        path(name).write_text(json.dumps(made, indent=0, sort_keys=True) + "\n")
