"""A looser budget is never worse: the default of sets under every currency, by exact expected recall."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shortlist import Scores
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK
from shortlist.privacy import ZCDP, ApproxDP, calibrate

DATA = Path(__file__).parents[2] / "shared" / "data"
NAMES = ("NETFLIX.n17770", "PATENT.n4096", "SEARCHLOGS.n4096", "HEPTH.n4096", "MEDCOST.n4096", "INCOME.n4096")
DELTA = 1e-6
RANDOM = 20
SHAPES = (
    "zipf 0.7", "zipf 1.1", "zipf 1.6", "slope", "geometric", "cliff 12", "cliff 60", "cliff 200",
    *(f"random {i}" for i in range(RANDOM)),
)  # fmt: skip
KS = (3, 10, 30, 100, 300)
ENOUGH = 0.5
"""Of recall: below it nothing is asked of zCDP."""


def made(name: str, d: int = 4000) -> Any:
    """Made-up counts, best first: none of the constants of the guard was chosen on them alone."""
    kind, _, word = name.partition(" ")
    rank = np.arange(1, d + 1)
    if kind == "zipf":
        return np.floor(1e7 * rank ** -float(word) / (rank ** -float(word)).sum()).astype(np.int64)
    if kind == "slope":
        return 5 * rank[::-1]
    if kind == "geometric":
        return np.floor(1e6 * 0.99**rank).astype(np.int64)
    if kind == "cliff":
        return np.where(rank <= int(word), 2000 - rank // 4, 400 - rank // 20)
    return _random()[int(word)]


def _random() -> list[Any]:
    """Heavy tails, log-normal, gamma and clustered counts, of twenty sizes."""
    rng, found = np.random.default_rng(7), []
    for i in range(RANDOM):
        d = int(rng.integers(800, 4000))
        if i % 4 == 0:
            x = rng.pareto(rng.uniform(0.6, 2.5), d) * 100
        elif i % 4 == 1:
            x = np.exp(rng.normal(5, rng.uniform(0.5, 2.5), d))
        elif i % 4 == 2:
            x = rng.gamma(rng.uniform(0.2, 3), 200, d)
        else:
            x = np.repeat(rng.exponential(1000, d // 10 + 1), 10)[:d] + rng.exponential(30, d)
        found.append(np.sort(np.floor(x).astype(np.int64))[::-1])
    return found


def recall(mechanism: Any, scores: Scores) -> float:
    if isinstance(mechanism, CanonicalTopK):
        return float(mechanism.quality(scores).recall)
    right: float = mechanism.number_correct(scores) @ np.arange(mechanism.k + 1) / mechanism.k
    return right


def collapse(scores: Scores, k: int) -> float:
    """The epsilon at which canonical top-k has a recall of .9."""
    low, high = 1e-7, 1e4
    while high / low > 1.05:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if recall(CanonicalTopK(k=k, epsilon=middle), scores) > 0.9 else (middle, high)
    return high


def missed_by_delta(scores: Scores, k: int, *, points: int = 9) -> Iterator[tuple[float, float]]:
    """(epsilon, recall that a delta of 1e-6 costs the default): calibrated from below, to a part in a thousand."""
    for epsilon in (collapse(scores, k) * np.geomspace(0.08, 2.2, points)).tolist():
        without = recall(GuardedTopK(k=k, epsilon=epsilon), scores)
        yield epsilon, without - recall(GuardedTopK(k=k, budget=ApproxDP(epsilon, DELTA)), scores)


def missed_by_rho(scores: Scores, k: int, *, points: int = 16) -> Iterator[tuple[float, float]]:
    """(e, recall that is missing to the better of canonical and peeling): e^2 / 8 = rho for it, less for them."""
    less = 1.35 if k == 3 else 1.25
    for e in (collapse(scores, k) * np.geomspace(0.15, 2.5, points)).tolist():
        smaller = ZCDP((e / less) ** 2 / 8)
        best = max(recall(kind(k=k, budget=smaller), scores) for kind in (CanonicalTopK, OneshotTopK))
        if best >= ENOUGH:
            yield e, best - recall(GuardedTopK(k=k, budget=ZCDP(e**2 / 8)), scores)


def every_shape() -> Iterator[tuple[str, Scores]]:
    if DATA.exists():
        for name in NAMES:
            yield name.partition(".")[0].capitalize(), Scores(np.load(DATA / f"{name}.npy"), monotone=True)
    for name in SHAPES:
        yield name, Scores(made(name), monotone=True)


def looser_table() -> Iterator[str]:
    """The most recall that a looser budget costs the default of sets: six data sets and 28 made-up shapes."""
    yield "| k | (epsilon, 1e-6) beside epsilon | zCDP beside the better of canonical and peeling with 1/1.25 of e |"
    yield "|---|---|---|"
    for k in KS:
        worst = {missed_by_delta: (0.0, ""), missed_by_rho: (0.0, "")}
        for name, scores in every_shape():
            if 2 * k <= len(scores):
                for missed, (most, _) in list(worst.items()):
                    found = max((lost for _, lost in missed(scores, k)), default=0.0)
                    if found > most:
                        worst[missed] = found, f" ({name})"
        cells = [f"{most:.4f}{where}" for most, where in worst.values()]
        yield f"| {k}{' (1/1.35 of e)' if k == 3 else ''} | {' | '.join(cells)} |"


BUDGETS = (0.1, 0.3, 1.0, 3.0)


def currencies_table() -> Iterator[str]:
    """Recall under each currency: canonical / peeling / the default; rho is the largest that fits (epsilon, 1e-6)."""
    if not DATA.exists():
        return
    yield "| data, k | epsilon | pure: canonical / one-shot / default | (epsilon, 1e-6) | rho | zCDP |"
    yield "|---|---|---|---|---|---|"
    rhos = {epsilon: calibrate(ZCDP, ApproxDP(epsilon, DELTA)) for epsilon in BUDGETS}
    for k in (10, 100):
        for name in NAMES:
            scores = Scores(np.load(DATA / f"{name}.npy"), monotone=True)
            for epsilon in BUDGETS:
                pure = [
                    recall(one, scores)
                    for one in (
                        CanonicalTopK(k=k, epsilon=epsilon),
                        OneshotTopK(k=k, epsilon=epsilon, noise="exponential"),
                        GuardedTopK(k=k, epsilon=epsilon),
                    )
                ]
                kinds = (CanonicalTopK, OneshotTopK, GuardedTopK)
                approx, zcdp = (
                    [recall(kind(k=k, budget=budget), scores) for kind in kinds]
                    for budget in (ApproxDP(epsilon, DELTA), ZCDP(rhos[epsilon]))
                )
                if min(pure + approx + zcdp) < 0.995:
                    cells = [f"{a:.3f} / {b:.3f} / **{c:.3f}**" for a, b, c in (pure, approx, zcdp)]
                    cells.insert(2, f"{rhos[epsilon]:.3g}")
                    yield f"| {name.partition('.')[0].capitalize()} {k} | {epsilon:g} | " + " | ".join(cells) + " |"


TABLES = {"looser": looser_table, "currencies": currencies_table}
