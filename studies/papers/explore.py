"""The exact tables behind the sliders of the report: success and recall over epsilon, k and gamma, on made-up counts.

The tables are a function of this module and the exact laws alone, and take minutes, so they are kept with the package:
`python -m studies.papers.explore` writes them again, and the tests recompute a sample.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from shortlist._arrays import Indices
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK
from shortlist.scores import Scores
from shortlist.utility.lower_bound import most_success

TABLES = Path(__file__).parent / "assets" / "explore.json"
ITEMS = 1000
EPSILONS = tuple(float(f"{10 ** (step / 20 - 2):.5g}") for step in range(61))
SIZES = (1, 2, 5, 10, 20, 50)
GAMMAS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """Made-up counts, largest first, and how to say what they look like."""

    title: str
    text: str
    counts: Indices


def _falling(head: float, bend: float, exponent: float, items: int = ITEMS) -> Indices:
    return np.floor(head * (1.0 + np.arange(items) / bend) ** -exponent).astype(np.int64)


SHAPES = (
    Shape("A long tail", "1,000 items; counts fall as rank to the power -0.8, from 2,000", _falling(2000, 1, 0.8)),
    Shape("A plateau", "1,000 items; 5,000 at first, flat for a while, then falling", _falling(5000, 40, 0.9)),
    Shape(
        "A cliff at 20",
        "20 items between 400 and 360, then 980 from 100 downwards",
        np.concatenate([400 - 2 * np.arange(20), _falling(100, 200, 1.0, ITEMS - 20)]).astype(np.int64),
    ),
)

RIVALS: dict[str, Callable[[int, float], Any]] = {
    "guarded": lambda k, epsilon: GuardedTopK(k=k, epsilon=epsilon),
    "one-shot": lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise="exponential"),
    "peeling": lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise="gumbel"),
}
"""The curves that gamma does not move."""


def tables() -> dict[str, Any]:
    """The tables as the package has them."""
    content: dict[str, Any] = json.loads(TABLES.read_text(encoding="utf-8"))
    return content


def canonical_cell(shape: int, k: int, gamma: float, epsilon: float) -> tuple[float, float]:
    """(P[exactly a true top k], expected recall) of the canonical mechanism; counts, add or remove one person."""
    return _chances(CanonicalTopK(k=k, epsilon=epsilon, gamma=gamma), shape)


def rival_cell(rival: str, shape: int, k: int, epsilon: float) -> tuple[float, float]:
    """The same for a mechanism without gamma."""
    return _chances(RIVALS[rival](k, epsilon), shape)


def bound_cell(shape: int, k: int, epsilon: float) -> float:
    """The most that P[exactly a true top k] can be, for any mechanism."""
    return _short(most_success(SHAPES[shape].counts, k, [epsilon])[0])


def log_factorials(most: int) -> Any:
    """ln n! for n = 0 .. most."""
    return np.array([math.lgamma(n + 1.0) for n in range(most + 1)])


@cache
def _scores(shape: int) -> Scores:
    return Scores(SHAPES[shape].counts, monotone=True)


def _chances(mechanism: Any, shape: int) -> tuple[float, float]:
    quality = mechanism.quality(_scores(shape))
    return _short(quality.top), _short(quality.recall)


def _short(chance: float) -> float:
    """Four digits, of the chance or of what is missing from 1."""
    if chance > 0.5:
        return float(f"{1 - float(f'{1 - chance:.4g}'):.12g}")
    return float(f"{chance:.4g}") if chance > 1e-99 else 0.0


def compute(tell: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """All tables again."""
    shapes = []
    for number, shape in enumerate(SHAPES):
        tell(shape.title)
        canonical = [[[canonical_cell(number, k, g, e) for e in EPSILONS] for g in GAMMAS] for k in SIZES]
        rivals = {
            name: [[rival_cell(name, number, k, e) for e in EPSILONS] for k in SIZES] for name in RIVALS
        }  # fmt: skip
        shapes.append(
            {
                "title": shape.title,
                "text": shape.text,
                "counts": shape.counts.tolist(),
                "canonical": canonical,
                "rivals": rivals,
                "bound": [[bound_cell(number, k, e) for e in EPSILONS] for k in SIZES],
            }
        )
    return {"epsilon": EPSILONS, "k": SIZES, "gamma": GAMMAS, "shapes": shapes}


if __name__ == "__main__":
    TABLES.write_text(json.dumps(compute(print), separators=(",", ":")) + "\n")
