"""Attack a mechanism: a lower bound on its true epsilon, from its draws."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import io
import json
import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, product
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from shortlist._text import suggest
from shortlist.accounting.guarantees import count, number
from shortlist.audit import events
from shortlist.audit.certified.base import Point
from shortlist.audit.entries import entry_of, makers
from shortlist.audit.events import Event, Sample
from shortlist.audit.prove import Sensitivity, check_moves, lines, neighbours, on_a_line, steps_of, with_two_votes
from shortlist.errors import bad_value
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget, Draws
from shortlist.privacy import ApproxDP, Guarantee, PureDP
from shortlist.release_io import write_text
from shortlist.sampling.entropy import SECURE, Seeded, Source
from shortlist.scores import Scores


def fingerprint(thing: object) -> str:
    """Return a text that is the same for equal inputs and the same code, in any process, and different otherwise.

    A function is known by its code, its defaults and what it closes over, not by what it calls. What cannot be pickled
    is known by its `repr`.
    """
    digest, seen = hashlib.blake2b(digest_size=16), set()

    def add(one: object) -> None:
        contents = _contents(one)
        part = _pickle(one) if contents is None else f"{type(one).__name__} {len(contents)}".encode()
        digest.update(len(part).to_bytes(8, "big") + part)
        if contents is None and callable(one) and isinstance(type(one).__call__, FunctionType):
            contents = [type(one).__call__]
        if isinstance(one, FunctionType):
            contents = None if id(one) in seen else contents  # it may close over itself
            seen.add(id(one))
        for inner in contents or ():
            add(inner)

    add(thing)
    return digest.hexdigest()


def _contents(thing: object) -> list[object] | None:
    """What makes it up, if it may hold code, which pickle knows by name at best."""
    if isinstance(thing, CodeType):
        return [thing.co_code, *thing.co_names, *thing.co_varnames, *thing.co_consts]
    if isinstance(thing, FunctionType):
        return [thing.__code__, thing.__defaults__, thing.__kwdefaults__, *map(_content, thing.__closure__ or ())]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, set | frozenset):
        return sorted(thing, key=repr)  # strings come in another order in each process
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    return list(thing) if isinstance(thing, list | tuple) else None


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not set yet


def _pickle(thing: object) -> bytes:
    """Without memory of what was seen: it is the values that count, not which of them are one object."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5)
    pickler.fast = True
    try:
        pickler.dump(thing)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return repr(thing).encode()
    return stream.getvalue()


def mechanism_names() -> list[str]:
    """All that `shortlist audit` knows by name."""
    return sorted(makers())


def mechanism_named(name: str, k: int | None, budget: Budget) -> Mechanism:
    """The mechanism of that name, or an error with those that may be meant; k=None is the one audited by default."""
    known = makers()
    if name not in known:
        near = suggest(name, mechanism_names()) or f"; write one of {', '.join(mechanism_names())}, or FILE.py:FUNCTION"
        raise ValueError(f"{name!r} is not known{near}")
    entry, build = known[name]
    return build(entry.k if k is None else k, budget)


def function_in(place: str) -> Callable[..., object]:
    """The function of `path/to/file.py:function`: a function from scores to an output, of anybody's."""
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if not path.endswith(".py") or spec is None or spec.loader is None or not Path(path).is_file():
        raise ValueError("write FILE.py:FUNCTION, a Python file that is there and a function in it")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded ({type(error).__name__}: {error}); try it with python") from None
    function: object = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"there is no function {name!r} in that file")
    return function


LAST = np.iinfo(np.int64).max

Draw = Callable[[Any, int, int | None], Sample]
"""(input, how many, seed or None) -> that many independent draws."""


@dataclass(frozen=True, slots=True)
class Target:
    """A black box. `parallel` only if its draws are independent between processes; `batch` draws make a job.

    `code` tells apart what has the same name.
    """

    name: str
    draw: Draw
    batch: int
    parallel: bool
    repeatable: bool
    code: str = ""


def target_of(subject: object, *, monotone: bool = False, sensitivity: Sensitivity = 1) -> Target:
    """Return a target for a mechanism of ours, or a function f(scores), f(scores, rng=) or f(scores, draws=, rng=).

    A function without `rng` has randomness of its own, which forked workers would repeat: it runs in this process.
    One that takes `draws` returns all draws at once: an array with a row each, a pair of arrays, or a list.
    """
    if isinstance(subject, Target):
        return subject
    if isinstance(subject, Mechanism):
        return _releases(subject, monotone=monotone, sensitivity=sensitivity)
    if callable(subject):
        return _function(subject)
    raise TypeError("audit a mechanism, such as NoisyMax(epsilon=1.0), or a function from scores to an output")


def scores_of(mechanism: Mechanism, x: Point | Scores, monotone: bool, sensitivity: Sensitivity) -> Scores:
    """Return the scores at a point of a box; for unknown domains the labels that are there, and nothing of others."""
    if isinstance(x, Scores):
        return x
    how = entry_of(mechanism)
    if how and how.inputs == "line":
        return on_a_line(x)
    if how and how.inputs == "histograms":
        return Scores({f"label {i}": count for i, count in enumerate(x) if count}, monotone=True, public=False)
    return Scores(list(x), monotone=monotone, sensitivity=sensitivity)


def source_of(seed: int | None) -> Source:
    """The secure source for None, a repeatable one for a seed."""
    return SECURE if seed is None else Seeded(seed)


def _releases(mechanism: Mechanism, **facts: Any) -> Target:
    """Draws many releases at a time; one after the other, and all that a release shows, where a class is not ours.

    A subclass may release more than many draws tell.
    """
    ours = type(mechanism)._draw.__module__.startswith("shortlist.")
    how, mechanism = entry_of(mechanism), with_two_votes(mechanism)

    def draw(x: Any, draws: int, seed: int | None) -> Sample:
        scores, source = scores_of(mechanism, x, **facts), source_of(seed)
        if not ours:
            return events.read_each([mechanism.release(scores, rng=source) for _ in range(draws)])
        sample = mechanism.release_many(scores, draws=draws, rng=source)
        sample = sample if isinstance(sample, Draws) else Draws(sample.reshape(draws, -1))
        if not scores.public and not (how and how.ranks):
            sample = _number_labels(sample, scores, mechanism.ordered)
        return events.read_many(sample, draws)

    if not ours:
        return Target(f"releases of {mechanism!r}", draw, 1_000, True, True)
    one_by_one = type(mechanism)._draw_many is Mechanism._draw_many  # tens of microseconds each: then jobs are smaller
    return Target(repr(mechanism), draw, 20_000 if one_by_one else 250_000, True, True)


def _number_labels(sample: Draws, scores: Scores, ordered: bool) -> Draws:
    """The same with a number for each label in place of its position, which is nobody's business and may differ."""
    numbers = np.array([*map(events.label_number, scores._content.names(range(scores._size))), -1])
    labels = numbers[sample.indices]
    if not ordered:
        labels = np.sort(np.where(labels < 0, LAST, labels), axis=1)
        labels[labels == LAST] = -1
    return replace(sample, indices=labels)


def _function(function: Callable[..., Any]) -> Target:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    takes_rng, takes_draws = "rng" in parameters, "draws" in parameters

    def draw(x: Any, draws: int, seed: int | None) -> Sample:
        scores = np.array(x, np.float64) if isinstance(x, tuple) else x
        extra: dict[str, Any] = {"rng": np.random.default_rng(seed)} if takes_rng else {}
        if takes_draws:
            return events.read_many(function(scores, draws=draws, **extra), draws)
        return events.read_each([function(scores, **extra) for _ in range(draws)])

    batch = 100_000 if takes_draws else 2_000
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return Target(name, draw, batch, takes_rng, takes_rng, fingerprint(function))


def default_size(subject: object) -> int:
    """How many scores to try: enough for k winners and two losers, or for a guard to exist."""
    k, how = getattr(subject, "k", None), entry_of(subject)
    if how is not None and how.size is not None:
        return how.size(subject)
    return max(3, (k or 1) + 2) if isinstance(k, int) else 3


def default_pairs(
    subject: object, d: int, *, monotone: bool = False, sensitivity: Sensitivity = 1
) -> Iterator[tuple[Point, Point]]:
    """Yield neighbors to try, the most telling first: few special ones, then all those of a small box."""
    how = entry_of(subject)
    if how and how.inputs == "histograms":
        # nobody and one user with labels of her own, a label that enters a full list, and gaps that close
        one, rest = (1,), (0,) * (d - 1)
        bases = ((0,) * d, (1,) * (d - 1) + (0,), (3, *rest), tuple(range(d, 0, -1)), (4, 4) + (1,) * (d - 2))
        for base, move in product(bases, ((1,) * d, rest + one, (0,) + (1,) * (d - 1), one + rest)):
            yield base, tuple(a + b for a, b in zip(base, move, strict=True))
        return
    if how and how.inputs == "line":
        yield from sorted(lines(d, 4), key=lambda pair: -sum(pair[0]))
        return
    level = getattr(subject, "threshold", 0) if how and how.at_threshold else 0
    free = getattr(subject, "is_permutation_invariant", True)
    options: dict[str, Any] = {"monotone": monotone, "sensitivity": sensitivity}
    box = neighbours(d, 2, everywhere=not free, **options) if d <= 4 else ()
    seen = set()
    for x, y in chain(_special(d, **options), box):
        pair = tuple(value + level for value in x), tuple(value + level for value in y)
        if x != y and pair not in seen:
            seen.add(pair)
            yield pair


def _special(d: int, *, monotone: bool, sensitivity: Sensitivity) -> Iterator[tuple[Point, Point]]:
    """One against the rest, half against half, and all together, from a few shapes of scores."""
    ways = [(min(way), max(way)) for way in steps_of(sensitivity, monotone)]
    unit, half = max(high for _, high in ways), d // 2
    ways = [way for way in ways if unit in (-way[0], way[1])]  # of a pair, smaller steps in a direction tell less
    if not monotone:  # the most telling first: some go up and the others down
        ways += [(0, unit), (-unit, 0)]
    first, last, front = (1,) + (0,) * (d - 1), (0,) * (d - 1) + (1,), (1,) * half + (0,) * (d - half)
    moves = [
        tuple(way[bit == up] for bit in shape)
        for way in ways
        for shape in (first, front, last, (1,) * d)
        for up in (1, 0)
    ]
    bases = [(0,) * d, first, last, _times(first, 2), _times(last, -2), front, range(d, 0, -1), _times(front, 3)]
    for base, move in product(bases, moves):
        x = _times(base, unit)
        yield x, tuple(a + b for a, b in zip(x, move, strict=True))


def _times(x: Iterable[Any], factor: Any) -> Point:
    return tuple(factor * value for value in x)


@dataclass(frozen=True, slots=True)
class Job:
    """So many draws for one input; counted if there is an event, returned otherwise."""

    input: Any
    draws: int
    seed: int | None
    event: Event | None = None


_AUDITED: list[Target] = []
"""What forked workers audit: there before they are made, because functions need not be picklable."""


def _work(job: Job) -> Sample | int:
    sample = _AUDITED[-1].draw(job.input, job.draws, job.seed)
    return sample if job.event is None else job.event.count(sample)


def seed_of(seed: int | None, *words: object) -> int | None:
    """Return a seed of its own for every job; None stays None: the secure source."""
    if seed is None:
        return None
    text = repr((seed, *words)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


Run = Callable[[Sequence[Job], str], Iterator[tuple[int, Any]]]
"""(jobs, what they are for) -> (place of the job, its result) of each, in any order, as they come."""


@contextmanager
def start_workers(target: Target, workers: int | None, progress: bool | None) -> Iterator[Run]:
    """What runs jobs, in processes of its own if there are several."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    shown = sys.stderr.isatty() if progress is None else progress
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise bad_value("$workers must be a whole number of at least 1, or None for all cores")
    may_fork = target.parallel and "fork" in multiprocessing.get_all_start_methods()
    several = (workers or os.cpu_count() or 1) if may_fork else 1
    _AUDITED.append(target)
    pool = ProcessPoolExecutor(several, mp_context=multiprocessing.get_context("fork")) if several > 1 else None

    def results(jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        if pool is None:
            yield from enumerate(map(_work, jobs))
            return
        places = {pool.submit(_work, job): place for place, job in enumerate(jobs)}
        for future in as_completed(places):
            yield places.pop(future), future.result()

    def run(jobs: Sequence[Job], what: str) -> Iterator[tuple[int, Any]]:
        done, total = 0, sum(job.draws for job in jobs)
        for place, result in results(jobs):
            done += jobs[place].draws
            if shown:
                print(f"\r{what}: {done:,} of {total:,} draws", end="", file=sys.stderr, flush=True)
            yield place, result
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    try:
        yield run
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        _AUDITED.pop()


def batches(draws: int, size: int) -> list[int]:
    """So many draws, in jobs of at most that size."""
    return [min(size, draws - start) for start in range(0, draws, size)]


class Notebook:
    """What a long audit has found so far, in a file: an audit with the same words goes on where it was cut off."""

    def __init__(self, path: str | Path | None, signature: str) -> None:
        self._path = None if path is None else Path(path)
        self.state: dict[str, Any] = {"signature": signature}
        if self._path is not None and self._path.exists():
            content = json.loads(self._path.read_text())
            if not isinstance(content, dict) or content.get("signature") != signature:
                raise ValueError("resume names the file of another audit: give the same arguments, or another path")
            self.state = content

    def keep(self, **facts: Any) -> None:
        """Write at once, so that nothing done is lost."""
        self.state.update(facts)
        if self._path is not None:
            write_text(str(self._path), json.dumps(self.state))


SEARCH, LEARN = 0.2, 0.1
"""The shares of the trials that choose the neighbours, and learn the event. The rest test it."""
GLANCE = 250
"""No pair of neighbours is judged by fewer draws than this."""
CAUTION, BEYOND_DELTA = 1.0, 3.3
"""By how many deviations pairs are judged below what was seen: few, or rare events with large ratios would be lost.

More where the claim has a delta: many pairs have an event of exactly that chance, impossible on the other side.
"""


@dataclass(frozen=True, slots=True)
class AuditResult:
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


def audit(
    subject: object,
    *,
    claim: Guarantee | None = None,
    trials: int = 100_000,
    confidence: float = 0.999,
    d: int | None = None,
    monotone: bool = False,
    sensitivity: Sensitivity = 1,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: bool | None = None,
    resume: str | Path | None = None,
) -> AuditResult:
    """Find a lower bound on the true epsilon of a mechanism, or of any function from scores to an output.

    Parameters
    ----------
    subject
        A mechanism, or a function: f(scores), f(scores, rng=) with a numpy generator, or f(scores, draws=, rng=) that
        returns many draws at once. Outputs may be indices, lists, sets, numbers, streams, releases or nests of them.
    claim
        What it promises. A mechanism knows its own; for a function give it.
    trials
        Draws from each of two neighbors: three tenths choose the neighbors and an event, the rest test it.
    confidence
        That of the bound.
    d, monotone, sensitivity
        How many scores to try, whether one user moves them all the same way, and how far: as for `Scores`.
    pairs
        Neighbors of your own to try instead: any two inputs that the subject takes and that differ in one user.
    seed
        For repetition (only where the subject draws from `rng`). None is the secure source.
    workers, progress
        Processes (None: all cores), and whether to show a bar (None: on a terminal).
    resume
        A file in which to note what was done; the same audit with the same file goes on from there. A file of another
        audit is refused: other arguments, other pairs, or a function whose code has changed (not what it calls).

    Returns
    -------
    `AuditResult`, whose `epsilon_lower` holds with the stated confidence, and `violated`.

    Examples
    --------
    >>> import shortlist as sl
    >>> from shortlist.mechanisms import NoisyMax
    >>> found = sl.audit(NoisyMax(epsilon=1.0), trials=20_000, seed=1, workers=1)
    >>> found.violated, 0.5 < found.epsilon_lower <= 1.0
    (False, True)
    """
    promised = subject.guarantee if claim is None and isinstance(subject, Mechanism) else claim
    if not isinstance(promised, Guarantee):
        raise TypeError("claim must be a guarantee, for example claim=PureDP(1.0): a function does not know its own")
    check_moves(subject, sensitivity)
    trials, sure = count("trials", trials), number("confidence", confidence, least=0.5, below=1.0)
    target = target_of(subject, monotone=monotone, sensitivity=sensitivity)
    if seed is not None and not target.repeatable:
        raise ValueError(
            "seed needs a function that draws from an argument rng: write f(scores, rng), or leave seed out"
        )
    size = default_size(subject) if d is None else count("d", d)
    if pairs is None:
        pairs = default_pairs(subject, size, monotone=monotone, sensitivity=sensitivity)
        pairs = islice(pairs, max(8, round(SEARCH * trials / (3 * GLANCE))))  # as many as the search can look at
    neighbors = list(pairs)
    if not neighbors:
        raise ValueError("pairs must not be empty: give at least one pair of neighbours")
    delta = float(getattr(promised, "delta", 0.0))
    inputs = fingerprint([neighbors, sensitivity])
    words = (target.name, target.code, promised, trials, sure, size, monotone, seed, inputs)
    notes = Notebook(resume, repr(words))
    started = time.perf_counter()
    with start_workers(target, workers, progress) as run:
        search = _Search(run, target.batch, neighbors, trials, delta, seed)
        if "event" not in notes.state:
            place = search.worst()
            notes.keep(place=place, event=search.event(place).as_json(), done={})
        place, event = notes.state["place"], Event.from_json(notes.state["event"])
        tested = max(trials - round((SEARCH + LEARN) * trials), 1)
        testing = time.perf_counter()
        counts = _test(run, target.batch, neighbors[place], event, tested, seed, notes)
        seconds = time.perf_counter() - testing
    bound, violated = _judge(event, counts, tested, delta, sure, promised)
    return AuditResult(
        bound, sure, violated, promised, delta, trials, tested, counts, neighbors[place], event, target.name,
        seconds=time.perf_counter() - started, rate=2 * tested / seconds,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Search:
    """Chooses the pair and the event, on draws of its own."""

    run: Run
    batch: int
    pairs: list[tuple[Any, Any]]
    trials: int
    delta: float
    seed: int | None

    def worst(self) -> int:
        """Look at all pairs a little, keep the worst quarter, look longer, and so on; longest at the last few."""
        places, rounds = list(range(len(self.pairs))), _rounds(len(self.pairs))
        for turn in range(rounds):
            share = (2 if turn == rounds - 1 else 1) / (rounds + 1)
            draws = max(GLANCE, round(share * SEARCH * self.trials / len(places)))
            looks = self._samples(places, draws, f"search {turn}", "choosing neighbours")
            z = BEYOND_DELTA if self.delta else CAUTION
            bounds = {place: events.learn(*looks[place], delta=self.delta, trials=draws, z=z)[1] for place in places}
            places = sorted(places, key=lambda place: -bounds[place])[: max(1, len(places) // 4)]
        return places[0]

    def event(self, place: int) -> Event:
        """Learn the event that tells the pair at this place apart."""
        draws = max(GLANCE, round(LEARN * self.trials))
        one, two = self._samples([place], draws, "learn", "learning an event")[place]
        return events.learn(one, two, delta=self.delta, trials=self.trials)[0]

    def _samples(self, places: list[int], draws: int, phase: str, what: str) -> dict[int, list[Sample]]:
        """Draw from both sides of these pairs; put together in the order of the jobs, so that a seed repeats all."""
        sizes = list(enumerate(batches(draws, self.batch)))
        where = [(place, side, n, size) for place in places for side in (0, 1) for n, size in sizes]
        jobs = [
            Job(self.pairs[place][side], size, seed_of(self.seed, phase, place, side, n))
            for place, side, n, size in where
        ]
        results = dict(self.run(jobs, what))
        parts = [results[job] for job in range(len(jobs))]
        sides = [events.together(parts[start : start + len(sizes)]) for start in range(0, len(parts), len(sizes))]
        return {place: sides[2 * n : 2 * n + 2] for n, place in enumerate(places)}


def _rounds(pairs: int) -> int:
    """Return how often a quarter is kept until one is left."""
    return 0 if pairs == 1 else 1 + _rounds(max(1, pairs // 4))


def _test(
    run: Run, batch: int, pair: tuple[Any, Any], event: Event, tested: int, seed: int | None, notes: Notebook
) -> tuple[int, int]:
    """How often the event happens on either input."""
    tallies: dict[str, int] = notes.state["done"]
    jobs, names = [], []
    for n, size in enumerate(batches(tested, batch)):
        for side in (0, 1):
            if f"{side} {n}" not in tallies:
                jobs.append(Job(pair[side], size, seed_of(seed, "test", side, n), event))
                names.append(f"{side} {n}")
    last_note = time.monotonic()
    for place, hits in run(jobs, "testing the event"):
        tallies[names[place]] = hits
        if time.monotonic() - last_note > 1.0:
            notes.keep(done=tallies)
            last_note = time.monotonic()
    notes.keep(done=tallies)
    zero, one = (sum(hits for name, hits in tallies.items() if name.startswith(side)) for side in ("0 ", "1 "))
    return zero, one


def _judge(
    event: Event, counts: tuple[int, int], tested: int, delta: float, confidence: float, claim: Guarantee
) -> tuple[float, bool]:
    """(lower bound on epsilon, whether the claim is refuted): P(event) <= e^epsilon P'(event) + delta must hold."""
    alpha = (1 - confidence) / 2
    low, _ = events.proportion_bounds(counts[event.likely], tested, alpha)
    _, high = events.proportion_bounds(counts[1 - event.likely], tested, alpha)
    bound = math.nextafter(math.log((low - delta) / high), -math.inf) if low > delta else 0.0
    if isinstance(claim, PureDP | ApproxDP):
        return max(bound, 0.0), bound > claim.epsilon
    epsilons = [max(bound, 0.0) * share / 20 for share in range(21)]
    violated = any(low > math.exp(epsilon) * high + claim.delta_at(epsilon) for epsilon in epsilons)
    return max(bound, 0.0), violated
