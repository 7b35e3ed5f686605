"""Names from the data: recall of the true top k by each mechanism and by the noisy choice, by exact laws alone.

People hold items of made-up shapes. `best` is the best of four mechanisms in hindsight, with all of the budget: sets of
the first 2k rows, sets of the first max(1000, 10 k), a list and a key set. Regret is what the default misses of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from shortlist import ApproxDP, Scores
from shortlist.exact.thresholds import weight
from shortlist.mechanisms import CanonicalLimitedDomain, KeySet, LimitedDomainTopK, NamesChoice
from shortlist.mechanisms.partition import Branch
from shortlist.mechanisms.unknown_domain import default_limit
from shortlist.utility.unknown_domain import BarredRace

DELTA, MOST, MANY = 1e-6, 64, 64
ROWS = ("set 2k", "set 1000", "list", "key set")
"""What is best in hindsight is one of these."""
KNOWN_KS, KNOWN_EPSILONS = (5, 10, 30, 100, 300), (0.5, 1.0)
MADE_KS, MADE_EPSILONS = (3, 7, 20, 50, 150), (0.4, 1.2)
HELD_KS, HELD_EPSILONS = (20, 50, 150), (0.3, 0.7)
FRESH_KS = (3, 7, 20, 50)
MADE = 40


@dataclass(frozen=True, slots=True)
class Shape:
    """So many people, each of whom draws so many items (from .. to) by these weights; some of them twice."""

    name: str
    people: int
    least: int
    most: int
    weights: tuple[float, ...]
    seed: int
    distinct: bool = False
    """Whether a person draws until so many different items are there."""

    def scores(self) -> Scores:
        """Counts of people with capped weights beside them, as counting a table gives, and declared public."""
        rng = np.random.default_rng(self.seed)
        sizes = rng.integers(self.least, self.most + 1, self.people)
        return weighed(*self._drawn(rng, sizes), len(self.weights), rng)

    def _drawn(self, rng: np.random.Generator, sizes: Any) -> tuple[Any, Any]:
        chances = np.cumsum(self.weights) / np.sum(self.weights)
        d, found = len(chances), np.empty(0, np.int64)
        lack = sizes
        while lack.any():
            who = np.repeat(np.arange(self.people), lack)
            new = who * d + np.minimum(np.searchsorted(chances, rng.random(len(who)), side="right"), d - 1)
            found = _distinct(np.concatenate([found, new]))
            held = np.bincount(found // d, minlength=self.people)
            lack = np.maximum(sizes - held, 0) if self.distinct else np.zeros(1, np.int64)
        return found // d, found % d


def _distinct(numbers: Any) -> Any:
    """Sorted, each once: by sorting, which is faster here than the hashes of numpy."""
    numbers = np.sort(numbers)
    return numbers[np.append(True, numbers[1:] != numbers[:-1])]


@dataclass(frozen=True, slots=True)
class Weights:
    """Items by their capped weights: what a count from rows has beside its scores."""

    order: Any
    scores: Any
    sizes: Any
    people: Any
    most: int = MOST

    def names(self, positions: Sequence[int]) -> list[int]:
        found: list[int] = self.order[np.asarray(positions, np.int64)].tolist()
        return found

    def counts(self, positions: Sequence[int]) -> list[int]:
        found: list[int] = self.people[self.order[np.asarray(positions, np.int64)]].tolist()
        return found


def weighed(who: Any, what: Any, items: int, rng: np.random.Generator) -> Scores:
    """Of pairs (person, item), each once: at most 64 items of a person weigh, chosen at random."""
    order = np.lexsort((rng.random(len(who)), who))
    who, what = who[order], what[order]
    held = np.bincount(who)
    rank = np.arange(len(who)) - (np.cumsum(held) - held)[who]
    kept = rank < MOST
    each = np.array([0, *(weight(t) for t in range(1, MOST + 1))])[np.minimum(held, MOST)]
    people, sums = np.bincount(what, minlength=items), np.bincount(what[kept], each[who[kept]], items).astype(np.int64)
    by_weight = np.argsort(-sums, kind="stable")[: np.count_nonzero(sums)]
    distinct, sizes = np.unique(sums[by_weight], return_counts=True)
    scores = Scores(people, labels=range(items), monotone=True, public=False)
    object.__setattr__(scores._content, "weights", Weights(by_weight, distinct[::-1], sizes[::-1], people))
    return scores


def zipf(s: float, items: int = 10_000) -> tuple[float, ...]:
    return tuple(np.arange(1, items + 1.0) ** -s)


def known_shapes() -> Iterator[Shape]:
    """Shapes by which the constants of the choice were first tuned, or the like."""
    yield Shape("flat, 92 items, 37 each", 2000, 37, 37, (1.0,) * 92, 1, distinct=True)
    yield Shape("flat, 92 items, 2 each", 37_000, 2, 2, (1.0,) * 92, 2, distinct=True)
    yield Shape("flat, 2,000 items, 20 each", 80_000, 20, 20, (1.0,) * 2000, 3, distinct=True)
    yield Shape("cliff, 20 items of 30%", 3000, 6, 6, (1.0,) * 20, 4, distinct=True)
    yield Shape("cliff, 100 items of 30%", 3000, 30, 30, (1.0,) * 100, 5, distinct=True)
    yield Shape("zipf 1.3, 200 items, 3,000 people, 13 draws", 3000, 13, 13, zipf(1.3, 200), 6)
    for n, (s, people, least, most) in enumerate((
        (0.6, 2000, 20, 20), (0.6, 20_000, 1, 1), (0.6, 20_000, 10, 10),
        (1.0, 2000, 20, 20), (1.0, 20_000, 1, 1), (1.0, 20_000, 10, 10), (1.0, 100_000, 1, 19),
        (1.4, 2000, 20, 20), (1.4, 20_000, 10, 10), (1.4, 20_000, 50, 50),
    )):  # fmt: skip
        each = f"{least}" if least == most else f"{least} to {most}"
        yield Shape(f"zipf {s}, {people:,} people, {each} each", people, least, most, zipf(s), 10 + n)


def made_shapes(seed: int = 19) -> Iterator[Shape]:
    """Forty by a seeded generator: flat, plateaus, Zipf .4 to 2 and mixtures. The choice was tuned on those of 19."""
    rng = np.random.default_rng(seed)
    for n in range(MADE):
        people = int(np.exp(rng.uniform(np.log(500), np.log(100_000))))
        least, most = sorted(int(np.exp(one)) for one in rng.uniform(0, np.log(61), 2))
        kind = ("flat", "plateaus", "zipf", "mixture")[n % 4]
        if kind == "flat":
            items = int(np.exp(rng.uniform(np.log(40), np.log(4000))))
            told, weights = f"{items:,} items", np.ones(items)
        elif kind == "plateaus":
            sizes = np.exp(rng.uniform(np.log(4), np.log(400), 3)).astype(int)
            heights = np.cumprod(rng.uniform(0.1, 0.7, 3))
            told, weights = "/".join(map(str, sizes)), np.repeat(heights, sizes)
        else:
            s = rng.uniform(0.4, 2.0)
            told, weights = f"{s:.2f}", np.arange(1, 10_001.0) ** -s
            if kind == "mixture":  # some items are liked alike, beside a tail
                some, share = int(np.exp(rng.uniform(np.log(5), np.log(200)))), rng.uniform(0.2, 0.8)
                flat = np.append(np.full(some, 1 / some), np.zeros(10_000 - some))
                weights = share * flat + (1 - share) * rng.permutation(weights / weights.sum())
                told = f"{some} alike with {share:.2f}, the rest zipf {s:.2f}"
        weights = tuple(np.asarray(weights, float))
        name = f"{kind} {told}, {people:,} people, {least} to {most} draws"
        yield Shape(name, people, least, most, weights, 100 + n)


def held_shapes() -> Iterator[Shape]:
    """Two on which 2k rows happen to cover a whole plateau, and sets alone can carry it."""
    yield Shape("flat, 300 items, 2,000 people, 120 each", 2000, 120, 120, (1.0,) * 300, 201, distinct=True)
    weights = (2.2,) * 8 + (1.0,) * 60
    yield Shape("plateaus 8/60, 1,000 people, 23 each", 1000, 23, 23, weights, 202, distinct=True)


@dataclass(frozen=True, slots=True)
class Cell:
    """What each reaches on one shape, k and epsilon: recall, and for the choice what it is made of."""

    shape: str
    k: int
    epsilon: float
    alone: tuple[float, ...]
    """Recall of `ROWS`, each with all of the budget."""
    default: float
    parts: tuple[tuple[str, float, float], ...]
    """(the way, how likely it is chosen, its recall): of the choice; nothing for a key set alone."""

    @property
    def best(self) -> float:
        return max(self.alone)

    @property
    def regret(self) -> float:
        return max(0.0, self.best - self.default)

    @property
    def cause(self) -> str:
        """Of the regret: the wrong way was taken, the tenth of the budget, or a rule that does not look."""
        winner = ROWS[int(np.argmax(self.alone))]
        if not self.parts:
            return f"beyond k = {MANY} a key set is always taken, and here {winner} is better"
        reached = max(recall for _, _, recall in self.parts)
        if self.best - reached > reached - self.default:
            return f"{winner} needs the tenth of the budget that the choice costs"
        likely, chance, recall = max(self.parts, key=lambda one: one[1])
        right = max(self.parts, key=lambda one: one[2])
        if right[0] == likely:
            return f"{likely} ({recall:.2f}) is taken with {chance:.2f} and no more"
        return f"{likely} ({recall:.2f}) is taken with {chance:.2f}, {right[0]} ({right[2]:.2f}) with {right[1]:.2f}"


Rates = dict[tuple[int, float], tuple[float, float]]
"""(e of a round, delta of the bar) of the list for (k, epsilon): it takes seconds to calibrate."""


def list_rates(k: int, epsilon: float) -> tuple[float, float]:
    charge: Any = LimitedDomainTopK(k=k, budget=ApproxDP(epsilon, DELTA)).charge
    return charge.epsilon, charge.delta


@lru_cache(None)
def mechanisms(k: int, epsilon: float) -> tuple[tuple[Any, ...], NamesChoice | None]:
    """(those of `ROWS` but for the list, the choice)."""
    budget = {"epsilon": epsilon, "delta": DELTA}
    wide = CanonicalLimitedDomain(k=k, limit=max(1000, 10 * k), **budget)
    alone = (CanonicalLimitedDomain(k=k, **budget), wide, KeySet(k=k, values=False, **budget))
    return alone, NamesChoice(k=k, most=MOST, **budget) if k <= MANY else None


def cells(shape: Shape, ks: Sequence[int], epsilons: Sequence[float], calibrated: Rates) -> list[Cell]:
    """All that are asked of one shape."""
    scores, found = shape.scores(), []
    for epsilon in epsilons:
        for k in ks:
            alone, choice = mechanisms(k, epsilon)
            *sets, keys = (one.expected_recall(scores) for one in alone)
            barred = BarredRace.of(scores.values, k, *calibrated[k, epsilon], default_limit(k))
            reached = (*sets, barred.recall(), keys)
            if choice is None:
                found.append(Cell(shape.name, k, epsilon, reached, reached[-1], ()))
                continue
            chances = choice.choice_probabilities(scores).tolist()
            parts = tuple((_way(one), p, one.mechanism.expected_recall(scores) if p > 1e-9 else 0.0)  # type: ignore[attr-defined]
                          for one, p in zip(choice.branches, chances, strict=True))  # fmt: skip
            found.append(Cell(shape.name, k, epsilon, reached, sum(p * r for _, p, r in parts), parts))
    return found


def _way(branch: Branch) -> str:
    return f"set {branch.row - 1:,}" if branch.kind == "sets" else {"list": "list", "keys": "key set"}[branch.kind]


@lru_cache(None)
def everything() -> tuple[list[Cell], ...]:
    """(of the known shapes, the made ones, the two that were hard, those of another seed), on all processors."""
    parts = (
        [(shape, KNOWN_KS, KNOWN_EPSILONS) for shape in known_shapes()],
        [(shape, MADE_KS, MADE_EPSILONS) for shape in made_shapes()],
        [(shape, HELD_KS, HELD_EPSILONS) for shape in held_shapes()],
        [(shape, FRESH_KS, MADE_EPSILONS) for shape in made_shapes(47)],
    )
    jobs = [job for part in parts for job in part]
    pairs = sorted({(k, epsilon) for _, ks, epsilons in jobs for k in ks for epsilon in epsilons})
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("forkserver")) as pool:
        calibrated = dict(zip(pairs, pool.map(list_rates, *zip(*pairs, strict=True)), strict=True))
        found = iter(list(pool.map(partial(cells, calibrated=calibrated), *zip(*jobs, strict=True))))
    return tuple([cell for _ in part for cell in next(found)] for part in parts)


def _regrets(title: str, found: list[Cell], ks: Sequence[int]) -> Iterator[str]:
    yield f"| {title} | " + " | ".join(f"k = {k}" for k in ks) + " |"
    yield "|---" * (len(ks) + 1) + "|"
    for place, name in enumerate(("default", *ROWS)):
        row = []
        for k in ks:
            here = [one for one in found if one.k == k]
            lost = [one.regret if not place else one.best - one.alone[place - 1] for one in here]
            row.append(f"{np.mean(lost):.3f}, {max(lost):.2f}")
        yield f"| {f'**{name}**' if not place else name} | " + " | ".join(row) + " |"


def regret_table() -> Iterator[str]:
    """Regret of recall against the best in hindsight, mean and worst, delta 1e-6, exact laws."""
    known, made, _, fresh = everything()
    yield from _regrets(f"{len({one.shape for one in known})} known shapes, epsilon .5 and 1", known, KNOWN_KS)
    yield ""
    yield from _regrets(f"{MADE} shapes of a generator, epsilon .4 and 1.2", made, MADE_KS)
    yield ""
    yield from _regrets(f"{MADE} of another seed, on which nothing was tuned", fresh, FRESH_KS)


def worst_table(rows: int = 16) -> Iterator[str]:
    """Where the default misses most of the best in hindsight, of all shapes, and why."""
    yield "| shape | k, epsilon | default | best | why |"
    yield "|---|---|---|---|---|"
    all_shapes = [one for part in everything() for one in part]
    for one in sorted(all_shapes, key=lambda cell: -cell.regret)[:rows]:
        yield f"| {one.shape} | {one.k}, {one.epsilon:g} | {one.default:.2f} | {one.best:.2f} | {one.cause} |"


def shapes_table() -> Iterator[str]:
    """Recall of a set of the first 2k, a list, a key set, and **the default**, at epsilon .5; then at epsilon 1."""
    for epsilon in KNOWN_EPSILONS:
        yield f"| shape, epsilon {epsilon:g} | " + " | ".join(f"k = {k}" for k in KNOWN_KS) + " |"
        yield "|---" * (len(KNOWN_KS) + 1) + "|"
        known = [one for one in everything()[0] if one.epsilon == epsilon]
        for name in dict.fromkeys(one.shape for one in known):
            row = {one.k: one for one in known if one.shape == name}
            texts = (f"{row[k].alone[0]:.2f} {row[k].alone[2]:.2f} {row[k].alone[3]:.2f} **{row[k].default:.2f}**"
                     for k in KNOWN_KS)  # fmt: skip
            yield f"| {name} | " + " | ".join(texts) + " |"
        yield ""


def held_table() -> Iterator[str]:
    """Recall where 2k rows cover a whole plateau, each with all of the budget, and of the default."""
    yield "| shape | k, epsilon | " + " | ".join(ROWS) + " | **default** | why |"
    yield "|---" * (len(ROWS) + 4) + "|"
    for one in everything()[2]:
        row = " | ".join(f"{recall:.2f}" for recall in one.alone)
        yield f"| {one.shape} | {one.k}, {one.epsilon:g} | {row} | **{one.default:.2f}** | {one.cause} |"


TABLES = {"names": regret_table, "names-worst": worst_table, "names-held": held_table, "names-shapes": shapes_table}
