"""Unknown domains, adaptive k and private labels: recall, and the accounts of the published settings."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import norm

from shortlist import ApproxDP, Scores
from shortlist.mechanisms import CanonicalLimitedDomain, CanonicalTopK, LimitedDomainTopK, OneshotTopK, StableTopK
from shortlist.mechanisms.base import Draws
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import ZCDP, BoundedRange, RenyiDP, calibrate, compose

DATA = Path(__file__).parents[2] / "shared" / "data"
EPSILONS = (0.4, 0.8, 1.0)
SHAPES = {"B": (100_000, 1_280_000, 2000, 0.75, 15), "F": (2293, 100_000, 1600, 0.6, 175)}
"""Users, labels, and the Poisson means A rank^-s; labels held by a user."""
CAPS = (1, 2, 3, 5, 8, 15, 30, 60, 175, 400)


def recall(rows, counts, k):
    """The mean share of the true top k, tied labels counting as equal; -1 is no label."""
    least = np.partition(counts, len(counts) - k)[len(counts) - k]
    found = (np.asarray(row, np.int64) for row in rows)
    return np.mean([np.count_nonzero(counts[row[row >= 0]] >= least) / k for row in found])


def thresholding(counts, k, epsilon, delta, held, trials, rng):
    """Gaussian counts above a threshold, after every user was cut to m labels: the best m in hindsight.

    Users hold a geometric number of labels of that mean, so a cut to m keeps a share 1 - (1 - 1/held)^m of all.
    """
    rho = calibrate(ZCDP, ApproxDP(epsilon, delta / 2))
    best = 0.0
    for m in CAPS:
        s = (m / (2 * rho)) ** 0.5
        bar = 1 + s * norm.ppf((1 - delta / 2) ** (1 / m))
        rows = []
        for _ in range(trials):
            kept = rng.binomial(counts, 1 - (1 - 1 / held) ** m)
            noisy = np.where(kept > 0, kept + rng.normal(scale=s, size=len(counts)), -np.inf)
            top = np.argpartition(noisy, len(noisy) - k)[len(noisy) - k :]
            rows.append(top[noisy[top] > bar])
        best = max(best, recall(rows, counts, k))
    return best


def contestants(everything, counts, k, epsilon, delta, held, trials, rng):
    """The recall of each method at a total of (epsilon, delta)."""
    budget = {"epsilon": epsilon, "delta": delta}
    private = Scores(counts, labels=range(len(counts)), monotone=True)
    listed = LimitedDomainTopK(k=k, limit=1000, **budget)
    quick = LimitedDomainTopK(k=k, limit=1000, noise="exponential", **budget)
    stable = StableTopK(k=k, fill=True, limit=1000, **budget)
    public = OneshotTopK(k=k, budget=ApproxDP(epsilon, delta))
    yield recall(listed.release_many(private, draws=trials), counts, k)
    yield recall(quick.release_many(private, draws=trials), counts, k)
    yield recall(CanonicalLimitedDomain(k=k, **budget).release_many(private, draws=trials), counts, k)
    yield recall(stable.release_many(private, draws=trials).indices, counts, k)
    yield thresholding(counts, k, epsilon, delta, held, max(trials // 3, 5), rng)
    yield recall(public.release_many(everything, draws=trials, monotone=True), everything, k)


def recall_table(trials=40, head=20_000):
    """Recall of the true top k at epsilon .4 / .8 / 1, labels not public, generated Zipf data."""
    yield "| data, delta, k | list, Gumbel | exponential | canonical set | stable, filled | thresholds | public list |"
    yield "|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(7)
    for name, (users, labels, most, slope, held) in SHAPES.items():
        whole = np.sort(rng.poisson(most * np.arange(1.0, labels + 1) ** -slope))[::-1].astype(np.int64)
        counts = whole[:head]  # the others look at the largest counts only
        for delta, said in ((1 / users, "1/n"), (1e-6, "1e-6")):
            for k in (10, 50):
                columns = [list(contestants(whole, counts, k, e, delta, held, trials, rng)) for e in EPSILONS]
                cells = (" ".join(f"{value:.2f}" for value in column) for column in zip(*columns, strict=True))
                yield f"| {name} {said} {k} | " + " | ".join(cells) + " |"


def plateau_table(trials=5):
    """Recall, 15,000 bins, the top k at 700, the rest 0, epsilon 0.15, delta 1e-6 (the paper's experiment)."""
    yield "| k | stable, k chosen | stable, k given | peeling | canonical set, unknown list | k chosen |"
    yield "|---|---|---|---|---|---|"
    budget = {"epsilon": 0.15, "delta": 1e-6}
    for k in (10, 30, 100, 300, 700, 1000, 1500):
        counts = np.where(np.arange(15_000) < k, 700, 0)
        free = StableTopK(limit=3000, **budget).release_many(counts, monotone=True, draws=trials)
        fixed = StableTopK(k=k, **budget).release_many(counts, monotone=True, draws=trials)
        peeled = OneshotTopK(k=k, budget=ApproxDP(0.15, 1e-6)).release_many(counts, monotone=True, draws=trials)
        sets = CanonicalLimitedDomain(k=k, **budget).release_many(counts, monotone=True, draws=trials)
        rows = (free.indices, fixed.indices, peeled, sets)
        cells = (np.count_nonzero((found >= 0) & (found < k)) / (k * trials) for found in rows)
        chosen = np.unique(free.chosen[:, 0]).tolist()
        yield f"| {k} | " + " | ".join(f"{value:.3f}" for value in cells) + f" | {', '.join(map(str, chosen))} |"


def cases():
    """{day: counts by state}, states in one order."""
    with (DATA / "us-covid-cases-2020.csv").open() as file:
        rows = list(csv.DictReader(file))
    states = sorted({row["state"] for row in rows})
    found = defaultdict(lambda: np.zeros(len(states), np.int64))
    for row in rows:
        found[row["date"]][states.index(row["state"])] = int(row["cases"])
    return dict(sorted(found.items()))


def days_table(trials=10, k=15, epsilon=0.1, delta=1e-6):
    """Ten days of top-15 states at a total of (0.1, 1e-6) for one person counted on all of them; mean recall."""
    if not DATA.exists():
        yield "skipped: no data folder"
        return
    yield "| ten days from | gap | stable, k given | stable, filled | stable, k from 10 to 20 | peeling | canonical |"
    yield "|---|---|---|---|---|---|---|"
    days = cases()
    rho = calibrate(ZCDP, ApproxDP(epsilon, delta / 2))
    daily = ZCDP(rho / 10, delta / 20)
    one = BoundedRange(epsilon_of_a_round(10, ApproxDP(epsilon, delta)))
    methods = {
        "given": StableTopK(k=k, budget=daily),
        "filled": StableTopK(k=k, budget=daily, fill=True),
        "chosen": StableTopK(budget=daily, limit=20, regularizer=lambda j: 0.0 if j >= 10 else -np.inf),
        "peeling": OneshotTopK(k=k, epsilon=k * epsilon_of_a_round(10 * k, ApproxDP(epsilon, delta))),
        "canonical": CanonicalTopK(k=k, epsilon=one.epsilon, noise="gumbel"),
    }
    starts = list(days)[14::10][:4]
    for start in starts:
        window = list(days)[list(days).index(start) :][:10]
        found, gaps = defaultdict(list), []
        for day in window:
            counts = days[day]
            ranked = np.sort(counts)[::-1]
            gaps.append(int(ranked[k - 1] - ranked[k]))
            for name, mechanism in methods.items():
                rows = mechanism.release_many(counts, monotone=True, draws=trials)
                found[name].append(recall(rows.indices if isinstance(rows, Draws) else rows, counts, k))
        cells = (f"{np.mean(found[name]):.3f}" for name in methods)
        yield f"| {start} | {min(gaps)} to {max(gaps)} | " + " | ".join(cells) + " |"


def votes_table():
    """600 queries, 800 teachers, 40 attributes, noise 50 and 60, delta 1e-6 with 1e-9 a query for the test."""
    yield "| reading | rho | epsilon: simple conversion | tight | this library |"
    yield "|---|---|---|---|---|"
    queries, left, tau = 600, 4e-7, 50 * 6**0.5 / np.pi

    def row(reading, rho, guarantee=None):
        simple, tight = rho + 2 * (rho * np.log(1 / left)) ** 0.5, ZCDP(rho).epsilon_at(left)
        ours = "" if guarantee is None else f"{guarantee.epsilon_at(1e-6):.3f}"
        return f"| {reading} | {rho:.5f} | {simple:.3f} | {tight:.3f} | {ours} |"

    yield row(
        "charged so that 3.6 comes out: no factor for the gap's range, no ln 40; proved by nothing",
        queries * (1 / 5000 + 1 / 7200),
    )
    orders = np.geomspace(1.05, 200, 4000)
    for reading, gap, test in (
        ("a teacher joins or leaves", 2, 1),
        ("**one training record: replaces one teacher's votes**", 4, 2),
    ):
        honest = queries * (gap**2 * orders / (2 * 50**2) + np.log(40) / (orders - 1) + test**2 * orders / 7200)
        found = RenyiDP(orders.tolist(), honest.tolist()).epsilon_at(left)
        simple = (honest + np.log(1 / left) / (orders - 1)).min()
        yield f"| {reading}, Gaussian noisy max by the paper's corollary 9 | - | {simple:.1f} | {found:.1f} | |"
        query = compose(BoundedRange(gap / tau), ZCDP(test**2 / 7200, 1e-9))
        yield row(
            f"{reading}, Gumbel noise of the same deviation", query.repeat(queries).as_zcdp().rho, query.repeat(queries)
        )


TABLES = {"unknown": recall_table, "plateau": plateau_table, "days": days_table, "votes": votes_table}
