"""Which loss the guarded default should have: the gap-aware loss with g = 1/2 or .6, or public offsets beside it.

Regret is the recall that is missing to the better of canonical and one-shot top-k at the same epsilon, by exact laws.
The constants of the offsets were tuned on the six data sets at k = 10; all other rows and shapes are held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from shortlist import Scores
from shortlist.exact.binomials import log_choose
from shortlist.exact.offset_levels import covered
from shortlist.exact.offset_ranking import OffsetRanking, offset_ranking
from shortlist.exact.ranked_subsets import ranked
from shortlist.exact.stair_counts import log_counts, log_sums
from shortlist.exact.subset_chances import log_integral, survival_of, thinned
from shortlist.mechanisms import CanonicalTopK, OneshotTopK
from shortlist.mechanisms.canonical.law import cuts_of, number_correct_of, right_of, tied_ranks
from shortlist.mechanisms.canonical.offset_law import OffsetLaw
from shortlist.mechanisms.canonical.offsets import rule_gamma, rule_stairs
from shortlist.mechanisms.guarded.law import _log_panels, guarded_chances
from shortlist.mechanisms.guarded.mechanism import TAU, junk_from, share_of
from shortlist.mechanisms.guarded.weights import Family

DATA = Path(__file__).parents[2] / "shared" / "data"
NAMES = ("NETFLIX.n17770", "PATENT.n4096", "SEARCHLOGS.n4096", "HEPTH.n4096", "MEDCOST.n4096", "INCOME.n4096")
KS = (3, 5, 10, 20, 30)
MULTIPLES = (0.7, 0.85, 1.0, 1.1, 1.2, 1.35, 2.0)
MADE, SEED = 24, 1800
RHO = Fraction(2, 5)
TOLERANCE = 1e-4
"""Of masses: far below what regret is read to."""


@dataclass(frozen=True, slots=True)
class Raced:
    """A guarded race: the recall of the sets that win, the chance that the right one does, and that of the guard."""

    recall: float
    right: float
    guard: float


def flat(x: Any, k: int, epsilon: float, gamma: Fraction) -> Raced:
    """Without offsets."""
    ranking = ranked(x, k, Fraction(epsilon), gamma, gap_aware=True)
    classes = ranking.classes()
    v = sum(Family.junk(ranking, classes, junk_from(k, len(x), RHO)).bounds()) / 2 + float(TAU)
    law, guard = guarded_chances(classes, v, float(share_of(k, len(x))), cuts_of(ranking))
    return Raced(_mean(number_correct_of(ranking, law)), right_of(ranking, law), guard)


def offsets(x: Any, k: int, epsilon: float, junk: Callable[[OffsetRanking], float]) -> Raced:
    """Under the public offsets of `loss="offset"`."""
    ranking = ranked(x, k, Fraction(epsilon), rule_gamma(k), gap_aware=True)
    of = offset_ranking(ranking, rule_stairs(k, len(x), Fraction(epsilon)))
    levels = covered(of, width=0.7, tolerance=TOLERANCE)
    loss = ((levels.near + levels.far) / 2)[:, None] + of.head_losses()
    mass = levels.between(levels.counts) - loss
    top, factor = _raced(mass.ravel(), loss.ravel(), junk(of) + float(TAU), float(share_of(k, len(x))))
    guard = max(0.0, 1.0 - math.exp(top) - float(np.exp(mass.ravel() + factor).sum()))
    law = OffsetLaw(levels, top, factor.reshape(loss.shape) - loss)
    sets = float(log_choose(*(np.array([one]) for one in tied_ranks(ranking)))[0])
    return Raced(_mean(law.number_correct()), math.exp(min(top + sets, 0.0)), guard)


def by_count(of: OffsetRanking) -> float:
    """ln of the weight of the sets that hold fewer than two fifths of the k best."""
    return _weight(of, [(of.k, math.ceil(RHO * of.k))] * of.k)


def by_class(of: OffsetRanking) -> float:
    """The same for the junk classes: a first gap and a last rank that are too far apart."""
    first = junk_from(of.k, len(of.ranking.scores), RHO)[::-1]
    return _weight(of, [(of.k + int(one), of.k) for one in first])


def _weight(of: OffsetRanking, fewer: list[tuple[int, int]]) -> float:
    """Of the sets with fewer than so many members among the first ranks: one such pair for each head."""
    levels = covered(of, width=0.7, tolerance=TOLERANCE, fewest=math.ceil(RHO * of.k))
    rows, counts = of.boundaries(levels.levels), np.full_like(levels.counts, -np.inf)
    for rank, fewest in set(fewer):
        heads = [head for head, pair in enumerate(fewer) if pair == (rank, fewest)]
        if rank < len(of.ranking.scores):
            counts[:, heads] = log_counts(rows.poor(rank, fewest))[:, heads]
    loss = ((levels.near + levels.far) / 2)[:, None] + of.head_losses()
    return float(log_sums((levels.between(counts) - loss).ravel(), axis=0))


def _raced(mass: Any, loss: Any, v: float, a: float) -> tuple[float, Any]:
    """(ln P[the top k wins], ln of the chance of a set over e^-its loss), as in `guarded_chances`."""
    end, _ = survival_of(mass, loss, np.zeros(1))
    node, weight = _log_panels(min(end, -v))
    _, survival = survival_of(mass, loss, np.exp(node - end))
    still_out = survival + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
    weight = weight * np.exp(node - end)
    return log_integral(end, still_out, weight), thinned(loss, end, still_out, np.exp(node - end), weight)


def _mean(chances: Any) -> float:
    return float(chances @ np.arange(len(chances))) / (len(chances) - 1)


LOSSES: dict[str, Callable[[Any, int, float], Raced]] = {
    "g = 1/2": lambda x, k, epsilon: flat(x, k, epsilon, Fraction(1, 2)),
    "g = .6": lambda x, k, epsilon: flat(x, k, epsilon, Fraction(3, 5)),
    "offsets, junk by count": lambda x, k, epsilon: offsets(x, k, epsilon, by_count),
    "offsets, junk by class": lambda x, k, epsilon: offsets(x, k, epsilon, by_class),
}


def held_out() -> list[Any]:
    """Seeded counts of six kinds, of 150 to 6,000 candidates: nothing was tuned on them."""
    rng, found = np.random.default_rng(SEED), []
    for i in range(MADE):
        d = int(np.exp(rng.uniform(np.log(150), np.log(6000))))
        rank = np.arange(1, d + 1)
        x: Any
        if i % 6 == 0:
            x = rng.poisson(rng.uniform(300, 30000) * rank ** -rng.uniform(0.4, 1.8))
        elif i % 6 == 1:
            x = np.exp(rng.normal(6, rng.uniform(0.3, 2), d))
        elif i % 6 == 2:
            x = rng.negative_binomial(rng.uniform(0.3, 4), 0.002, d)
        elif i % 6 == 3:
            x = np.repeat(rng.exponential(2000, d // 7 + 1), 7)[:d] + rng.exponential(rng.uniform(5, 300), d)
        elif i % 6 == 4:
            step = 5000 / (1 + np.exp((rank - rng.uniform(2, 60)) / rng.uniform(0.5, 20)))
            x = rng.poisson(step + rng.uniform(0, 2000) * rank**-0.5)
        else:
            x = rng.binomial(20000, rng.beta(rng.uniform(0.5, 3), rng.uniform(3, 30), d))
        found.append(np.sort(np.floor(x).astype(np.int64))[::-1].copy())
    return found


def data() -> list[Any]:
    return [np.sort(np.load(DATA / f"{name}.npy").astype(np.int64))[::-1].copy() for name in NAMES]


def one_shot(x: Any, k: int, epsilon: float) -> float:
    plain = OneshotTopK(k=k, epsilon=epsilon, noise="exponential")
    return _mean(plain.number_correct(Scores(x, monotone=True)))


def canonical(x: Any, k: int, epsilon: float) -> float:
    return _mean(CanonicalTopK(k=k, epsilon=epsilon).number_correct(Scores(x, monotone=True)))


def crossing(x: Any, k: int) -> float:
    """The last epsilon at which one-shot has the larger recall, to a part in 300."""
    low, high = 1e-7, 1e4
    while high / low > 1.08:  # canonical's recall passes .9 just above
        middle = math.sqrt(low * high)
        low, high = (low, middle) if canonical(x, k, middle) > 0.9 else (middle, high)
    above, here, least = None, 1.5 * high, 0.02 * high
    while here > least and one_shot(x, k, here) <= canonical(x, k, here):
        above, here = here, here / 1.12
    if above is None or here <= least:
        return high
    while above / here > 1.003:
        middle = math.sqrt(here * above)
        here, above = (middle, above) if one_shot(x, k, middle) > canonical(x, k, middle) else (here, middle)
    return here


def regrets(x: Any, k: int) -> Iterator[dict[str, float]]:
    """By loss, at multiples of the crossing."""
    left, last = 1 - float(share_of(k, len(x))), crossing(x, k)
    for epsilon in (multiple * last for multiple in MULTIPLES):
        best, after = max(one_shot(x, k, epsilon), canonical(x, k, epsilon)), one_shot(x, k, left * epsilon)
        found = {name: race(x, k, epsilon) for name, race in LOSSES.items()}
        yield {name: best - one.recall - one.guard * after for name, one in found.items()}


def offset_table() -> Iterator[str]:
    """Regret of guarded sets by their loss, at .7 to 2 times the crossing: mean, worst, most recall lost to g = 1/2."""
    yield "| k, shapes | " + " | ".join(LOSSES) + " |"
    yield "|---|" + "---|" * len(LOSSES)
    for k in KS:
        for label, shapes in (("six data sets", data() if DATA.exists() else []), ("held out", held_out())):
            rows = [row for x in shapes if 2 * k <= len(x) for row in regrets(x, k)]
            if rows:
                cells = []
                for name in LOSSES:
                    each = [row[name] for row in rows]
                    lost = max(row[name] - row["g = 1/2"] for row in rows)
                    cells.append(f"{np.mean(each):.4f}, {max(each):.3f}, {lost:.3f}")
                yield f"| {k}, {label} | {' | '.join(cells)} |"


def least_epsilon(chance: Callable[[float], float], near: float) -> float:
    """For a chance of .99, to a part in 500; canonical top-k needs about `near`."""
    low, high = 0.8 * near, 1.02 * near
    while chance(high) < 0.99:
        low, high = high, 1.1 * high
    while high / low > 1.002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= 0.99 else (middle, high)
    return high


def exact_set_table() -> Iterator[str]:
    """Epsilon for a 99% chance of exactly the true top k, times that of canonical, by the loss of guarded sets."""
    if not DATA.exists():
        return
    yield "| data, k | canonical | " + " | ".join(LOSSES) + " |"
    yield "|---|---|" + "---|" * len(LOSSES)
    for k in KS:
        for name, x in zip(NAMES, data(), strict=True):
            scores = Scores(x, monotone=True)
            base = _canonical_epsilon(scores, k)
            needed = [least_epsilon(_chance(race, x, k), base) / base for race in LOSSES.values()]
            cells = " | ".join(f"{one:.3f}" for one in needed)
            yield f"| {name.partition('.')[0].title()} {k} | {base:.3g} | {cells} |"


def _canonical_epsilon(scores: Scores, k: int) -> float:
    def chance(epsilon: float) -> float:
        return CanonicalTopK(k=k, epsilon=epsilon).success_probability(scores)

    near = 1e-5
    while chance(near) < 0.99:
        near *= 1.5
    return least_epsilon(chance, near / 1.5)


def _chance(race: Callable[[Any, int, float], Raced], x: Any, k: int) -> Callable[[float], float]:
    return lambda epsilon: _right(race(x, k, epsilon), x, k, epsilon)


def _right(raced: Raced, x: Any, k: int, epsilon: float) -> float:
    """P[the right set], from the race or after the guard."""
    after = OneshotTopK(k=k, epsilon=(1 - float(share_of(k, len(x)))) * epsilon, noise="exponential")
    return raced.right + raced.guard * after.success_probability(Scores(x, monotone=True))


TABLES = {"offset": offset_table, "offset-exact": exact_set_table}
