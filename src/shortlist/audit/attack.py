"""The statistical auditor: `sl.audit` draws from a black box on neighbours and bounds its epsilon from below.

Three parts with fresh draws each: which neighbours look worst (by halving), which event tells them apart (likelihood
ratios learned on one part), and how often that one event happens (Clopper-Pearson on the rest). Only the last gives
the bound, so whatever the first two did, it holds at the stated confidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from shortlist.accounting.checked_numbers import count, number
from shortlist.audit.black_box import default_pairs, default_size, target_of
from shortlist.audit.encoding import Sample, together
from shortlist.audit.events import Event, learn, proportion_bounds
from shortlist.audit.fingerprints import fingerprint
from shortlist.audit.jobs import Job, JobRunner, Notebook, batches, seed_of
from shortlist.mechanisms import Mechanism
from shortlist.privacy import ApproxDP, Guarantee, PureDP

SEARCH, LEARN = 0.2, 0.1
"""The shares of the trials that choose the neighbours, and learn the event. The rest test it."""
GLANCE = 250
"""No pair of neighbours is judged by fewer draws than this."""
CAUTION, BEYOND_DELTA = 1.0, 3.3
"""By how many deviations pairs are judged below what was seen: few, or rare events with large ratios would be lost.

More where the claim has a delta: many pairs have an event of exactly that chance, impossible on the other side.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What an audit found.

    `epsilon_lower` is a lower bound on the true epsilon (at `delta`), rounded down, wrong with chance at most
    1 - `confidence`; `violated` tells whether the claim is refuted at that confidence. `pair` are the neighbours,
    `counts` how often the event happened among `tested` draws of each, and `rate` the draws per second of the test.
    """

    epsilon_lower: float
    confidence: float
    violated: bool
    claim: Guarantee
    delta: float
    trials: int
    tested: int
    counts: tuple[int, int]
    pair: tuple[Any, Any] = field(repr=False)
    event: Event = field(repr=False)
    name: str = field(repr=False)
    seconds: float = field(repr=False, compare=False)
    rate: float = field(repr=False, compare=False)

    def __str__(self) -> str:
        verdict = "VIOLATED" if self.violated else "not refuted"
        return (
            f"{self.name}: epsilon is at least {self.epsilon_lower:.4f} (confidence {self.confidence:.2%}, "
            f"{self.trials:,} trials); the claim {self.claim} is {verdict}"
        )


def attack(
    subject: object,
    *,
    claim: Guarantee | None,
    trials: int,
    confidence: float,
    d: int | None,
    monotone: bool,
    pairs: Iterable[tuple[Any, Any]] | None,
    seed: int | None,
    workers: int | None,
    progress: bool | None,
    resume: str | Path | None,
) -> Found:
    """The work of `shortlist.audit.audit`, which explains its arguments."""
    promised = _checked_claim(subject, claim)
    trials, sure = count("trials", trials), number("confidence", confidence, least=0.5, below=1.0)
    target = target_of(subject, monotone=monotone)
    if seed is not None and not target.repeatable:
        raise ValueError(
            "seed needs a function that draws from an argument rng: write f(scores, rng), or leave seed out"
        )
    size = default_size(subject) if d is None else count("d", d)
    neighbours = (
        list(pairs) if pairs is not None else list(_few(default_pairs(subject, size, monotone=monotone), trials))
    )
    if not neighbours:
        raise ValueError("pairs must not be empty: give at least one pair of neighbours")
    delta = float(getattr(promised, "delta", 0.0))
    words = (target.name, target.code, promised, trials, sure, size, monotone, seed, fingerprint(neighbours))
    notes = Notebook(resume, repr(words))
    started = time.perf_counter()
    with JobRunner(target, workers, progress) as runner:
        search = _Search(runner, neighbours, trials, delta, seed)
        if "event" not in notes.state:
            place = search.worst()
            notes.keep(place=place, event=search.event(place).as_json(), done={})
        place, event = notes.state["place"], Event.from_json(notes.state["event"])
        tested = max(trials - round((SEARCH + LEARN) * trials), 1)
        testing = time.perf_counter()
        counts = _test(runner, neighbours[place], event, tested, seed, notes)
        seconds = time.perf_counter() - testing
    bound, violated = _judged(event, counts, tested, delta, sure, promised)
    return Found(
        epsilon_lower=bound,
        confidence=sure,
        violated=violated,
        claim=promised,
        delta=delta,
        trials=trials,
        tested=tested,
        counts=counts,
        pair=neighbours[place],
        event=event,
        name=target.name,
        seconds=time.perf_counter() - started,
        rate=2 * tested / seconds,
    )


def _checked_claim(subject: object, claim: Guarantee | None) -> Guarantee:
    if claim is None and isinstance(subject, Mechanism):
        return subject.guarantee
    if not isinstance(claim, Guarantee):
        raise TypeError("claim must be a guarantee, for example claim=PureDP(1.0): a function does not know its own")
    return claim


def _few(pairs: Iterable[tuple[Any, Any]], trials: int) -> Iterable[tuple[Any, Any]]:
    """As many as the search can look at."""
    return islice(pairs, max(8, round(SEARCH * trials / (3 * GLANCE))))


class _Search:
    """Chooses the pair and the event, on draws of its own."""

    def __init__(
        self, runner: JobRunner, pairs: list[tuple[Any, Any]], trials: int, delta: float, seed: int | None
    ) -> None:
        self._runner, self._pairs, self._trials = runner, pairs, trials
        self._delta, self._seed = delta, seed

    def worst(self) -> int:
        """Look at all pairs a little, keep the worst quarter, look longer, and so on; longest at the last few."""
        places, rounds = list(range(len(self._pairs))), _rounds(len(self._pairs))
        for turn in range(rounds):
            share = (2 if turn == rounds - 1 else 1) / (rounds + 1)
            draws = max(GLANCE, round(share * SEARCH * self._trials / len(places)))
            looks = self._samples(places, draws, f"search {turn}", "choosing neighbours")
            z = BEYOND_DELTA if self._delta else CAUTION
            bounds = {place: learn(*looks[place], delta=self._delta, trials=draws, z=z)[1] for place in places}
            places = sorted(places, key=lambda place: -bounds[place])[: max(1, len(places) // 4)]
        return places[0]

    def event(self, place: int) -> Event:
        draws = max(GLANCE, round(LEARN * self._trials))
        one, two = self._samples([place], draws, "learn", "learning an event")[place]
        return learn(one, two, delta=self._delta, trials=self._trials)[0]

    def _samples(self, places: list[int], draws: int, phase: str, what: str) -> dict[int, tuple[Sample, Sample]]:
        jobs, where = [], []
        for place in places:
            for side in (0, 1):
                for n, size in enumerate(batches(draws, self._runner.target.batch)):
                    jobs.append(Job(self._pairs[place][side], size, seed_of(self._seed, phase, place, side, n)))
                    where.append((place, side))
        samples: dict[tuple[int, int], list[tuple[int, Sample]]] = {}
        for job, sample in self._runner.run(jobs, what):
            samples.setdefault(where[job], []).append((job, sample))
        return {place: (_joined(samples[place, 0]), _joined(samples[place, 1])) for place in places}


def _rounds(pairs: int) -> int:
    """How often a quarter is kept until one is left."""
    return 0 if pairs == 1 else 1 + _rounds(max(1, pairs // 4))


def _joined(parts: list[tuple[int, Sample]]) -> Sample:
    """In the order of the jobs, whichever was ready first: so that a seed repeats everything."""
    return together([sample for _, sample in sorted(parts, key=lambda part: part[0])])


def _test(
    runner: JobRunner, pair: tuple[Any, Any], event: Event, tested: int, seed: int | None, notes: Notebook
) -> tuple[int, int]:
    """How often the event happens on either input."""
    tallies: dict[str, int] = notes.state["done"]
    jobs, names = [], []
    for n, size in enumerate(batches(tested, runner.target.batch)):
        for side in (0, 1):
            if f"{side} {n}" not in tallies:
                jobs.append(Job(pair[side], size, seed_of(seed, "test", side, n), event))
                names.append(f"{side} {n}")
    last_note = time.monotonic()
    for place, hits in runner.run(jobs, "testing the event"):
        tallies[names[place]] = hits
        if time.monotonic() - last_note > 1.0:
            notes.keep(done=tallies)
            last_note = time.monotonic()
    notes.keep(done=tallies)
    zero, one = (sum(hits for name, hits in tallies.items() if name.startswith(side)) for side in ("0 ", "1 "))
    return zero, one


def _judged(
    event: Event, counts: tuple[int, int], tested: int, delta: float, confidence: float, claim: Guarantee
) -> tuple[float, bool]:
    """(lower bound on epsilon, whether the claim is refuted): P(event) <= e^epsilon P'(event) + delta must hold."""
    alpha = (1 - confidence) / 2
    low, _ = proportion_bounds(counts[event.likely], tested, alpha)
    _, high = proportion_bounds(counts[1 - event.likely], tested, alpha)
    bound = math.nextafter(math.log((low - delta) / high), -math.inf) if low > delta else 0.0
    if isinstance(claim, PureDP | ApproxDP):
        return max(bound, 0.0), bound > claim.epsilon
    epsilons = [max(bound, 0.0) * share / 20 for share in range(21)]
    violated = any(low > math.exp(epsilon) * high + claim.delta_at(epsilon) for epsilon in epsilons)
    return max(bound, 0.0), violated
