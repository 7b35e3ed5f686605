"""A lower bound on the true epsilon of a mechanism, from its draws."""

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
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shortlist._files import write_text
from shortlist._text import meant
from shortlist.accounting.checks import count, number
from shortlist.audit.certified.base import Point
from shortlist.audit.enumeration import lines, neighbours
from shortlist.audit.events import Event, Sample, label_number, learn, proportion_bounds, read_each, read_many, together
from shortlist.errors import bad_value
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget, Draws
from shortlist.mechanisms.registry import audited, makers
from shortlist.privacy import ApproxDP, Guarantee, PureDP
from shortlist.sampling.entropy import SECURE, Seeded, Source
from shortlist.scores import Scores

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor


def fingerprint(thing: object) -> str:
    """The same for equal inputs and for the same code, in any process; different otherwise.

    A function is told by its code, its defaults and what it closes over, not by what it calls. Whatever cannot be
    pickled is told by its `repr`.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(thing, set()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(thing: object, seen: set[int]) -> Iterator[bytes]:
    contents = _contents(thing)
    if contents is None:
        yield _pickle(thing)
        if callable(thing) and isinstance(type(thing).__call__, FunctionType):
            yield from _parts(type(thing).__call__, seen)
        return
    yield f"{type(thing).__name__} {len(contents)}".encode()
    if isinstance(thing, FunctionType):
        if id(thing) in seen:
            return  # it closes over itself
        seen.add(id(thing))
    for one in contents:
        yield from _parts(one, seen)


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
        near = meant(name, mechanism_names()) or f"; write one of {', '.join(mechanism_names())}, or FILE.py:FUNCTION"
        raise ValueError(f"{name!r} is not known{near}")
    entry, build = known[name]
    return build(entry.audited.k if k is None else k, budget)


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


def target_of(subject: object, *, monotone: bool = False) -> Target:
    """A mechanism of ours, or anybody's function of scores: f(scores), f(scores, rng=), f(scores, draws=, rng=).

    A function without `rng` has randomness of its own, which forked workers would repeat: it runs in this process.
    One that takes `draws` returns all draws at once: an array with a row each, a pair of arrays, or a list.
    """
    if isinstance(subject, Target):
        return subject
    if isinstance(subject, Mechanism):
        return _mechanism(subject, monotone)
    if callable(subject):
        return _function(subject)
    raise TypeError("audit a mechanism, such as NoisyMax(epsilon=1.0), or a function from scores to an output")


def takes_histograms(subject: object) -> bool:
    """Whether it is for counts of labels that come from the data: neighbours are one more user."""
    how = audited(subject)
    return how is not None and how.inputs == "histograms"


def takes_lines(subject: object) -> bool:
    """Whether it is for counts of people along a line, of which one person adds one vote."""
    how = audited(subject)
    return how is not None and how.inputs == "line"


def with_two_votes(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism for counts in halves of votes: it draws by the ratio of a count to a user's votes."""
    if getattr(mechanism, "votes_per_user", None) is None:
        return mechanism
    two: Any = replace  # a mechanism is a dataclass
    return cast(Mechanism, two(mechanism, votes_per_user=2))


def on_a_line(x: Point) -> Scores:
    """Votes along a line in halves: one person has two of them."""
    return Scores(list(x), sensitivity=2, monotone=True)


def scores_of(mechanism: Mechanism, x: Point | Scores, monotone: bool) -> Scores:
    """The scores at this point of a box; for unknown domains the labels that are there, and nothing of the others."""
    if isinstance(x, Scores):
        return x
    if takes_lines(mechanism):
        return on_a_line(x)
    if takes_histograms(mechanism):
        return Scores({f"label {i}": count for i, count in enumerate(x) if count}, monotone=True, public=False)
    return Scores(list(x), monotone=monotone)


def source_of(seed: int | None) -> Source:
    """The secure source for None, a repeatable one for a seed."""
    return SECURE if seed is None else Seeded(seed)


def _mechanism(mechanism: Mechanism, monotone: bool) -> Target:
    """Its own draws, many at a time, if they are its own: a subclass may change single draws alone."""
    if _where(mechanism, "_draw") < _where(mechanism, "release_many"):
        return single_releases(mechanism, monotone=monotone)

    how, mechanism = audited(mechanism), with_two_votes(mechanism)

    def draw(x: Any, draws: int, seed: int | None) -> Sample:
        scores = scores_of(mechanism, x, monotone)
        sample = mechanism.release_many(scores, draws=draws, rng=source_of(seed))
        sample = sample if isinstance(sample, Draws) else Draws(sample.reshape(draws, -1))
        if not scores.public and not (how and how.ranks):
            sample = _number_labels(sample, scores, mechanism.ordered)
        return read_many(sample, draws)

    batch = 20_000 if how and how.one_by_one else 250_000
    return Target(repr(mechanism), draw, batch, True, True)


def single_releases(mechanism: Mechanism, *, monotone: bool = False) -> Target:
    """One release after the other: slower, and all that a release shows."""
    mechanism = with_two_votes(mechanism)

    def draw(x: Any, draws: int, seed: int | None) -> Sample:
        scores, source = scores_of(mechanism, x, monotone), source_of(seed)
        return read_each([mechanism.release(scores, rng=source) for _ in range(draws)])

    return Target(f"releases of {mechanism!r}", draw, 1_000, True, True)


def _where(mechanism: Mechanism, method: str) -> int:
    """How far up in its class hierarchy a method stands."""
    return next(place for place, kind in enumerate(type(mechanism).__mro__) if method in vars(kind))


def _number_labels(sample: Draws, scores: Scores, ordered: bool) -> Draws:
    """The same with a number for each label in place of its position, which is nobody's business and may differ."""
    numbers = np.array([*map(label_number, scores._content.names(range(scores._size))), -1])
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
            return read_many(function(scores, draws=draws, **extra), draws)
        return read_each([function(scores, **extra) for _ in range(draws)])

    batch = 100_000 if takes_draws else 2_000
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return Target(name, draw, batch, takes_rng, takes_rng, fingerprint(function))


def default_size(subject: object) -> int:
    """How many scores to try: enough for k winners and two losers, or for a guard to exist."""
    k, how = getattr(subject, "k", None), audited(subject)
    if how is not None and how.size is not None:
        return how.size(subject)
    return max(3, (k or 1) + 2) if isinstance(k, int) else 3


def default_pairs(subject: object, d: int, *, monotone: bool = False) -> Iterator[tuple[Point, Point]]:
    """Neighbours to try, the most telling first: few special ones, then all those of a small box."""
    if takes_histograms(subject):
        yield from _histograms(d)
        return
    if takes_lines(subject):
        yield from sorted(lines(d, 4), key=lambda pair: -sum(pair[0]))
        return
    how = audited(subject)
    level = getattr(subject, "threshold", 0) if how and how.at_threshold else 0
    box = neighbours(
        d,
        2,
        monotone=monotone,
        everywhere=not getattr(subject, "is_permutation_invariant", True),
    )
    seen = set()
    for x, y in chain(_special(d, monotone), box if d <= 4 else ()):
        pair = tuple(value + level for value in x), tuple(value + level for value in y)
        if x != y and pair not in seen:
            seen.add(pair)
            yield pair


def _histograms(d: int) -> Iterator[tuple[Point, Point]]:
    """Nobody and one user with labels of her own, a label that enters a full list, and gaps that close."""
    for base in (
        (0,) * d,
        (1,) * (d - 1) + (0,),
        (3,) + (0,) * (d - 1),
        tuple(range(d, 0, -1)),
        (4, 4) + (1,) * (d - 2),
    ):
        for move in ((1,) * d, (0,) * (d - 1) + (1,), (0,) + (1,) * (d - 1), (1,) + (0,) * (d - 1)):
            yield base, tuple(a + b for a, b in zip(base, move, strict=True))


def _special(d: int, monotone: bool) -> Iterator[tuple[Point, Point]]:
    """One against the rest, half against half, and all together, from a few shapes of scores."""
    half = d // 2
    bases = [
        (0,) * d,
        (1,) + (0,) * (d - 1),
        (0,) * (d - 1) + (1,),
        (2,) + (0,) * (d - 1),
        (0,) * (d - 1) + (-2,),
        (1,) * half + (0,) * (d - half),
        tuple(range(d, 0, -1)),
        (3,) * half + (0,) * (d - half),
    ]
    up: list[Point] = [(1,) + (0,) * (d - 1), (0,) + (1,) * (d - 1), (1,) * half + (0,) * (d - half), (1,) * d]
    up += [(0,) * (d - 1) + (1,), (1,) * (d - 1) + (0,)]
    down: list[Point] = [tuple(-one for one in move) for move in up]
    apart: list[Point] = [(1,) + (-1,) * (d - 1), (-1,) + (1,) * (d - 1), (1,) * half + (-1,) * (d - half)]
    apart += [tuple(-one for one in apart[-1]), (1,) * (d - 1) + (-1,), (-1,) * (d - 1) + (1,)]
    for base, move in product(bases, up + down if monotone else apart + up + down):
        yield base, tuple(a + b for a, b in zip(base, move, strict=True))


@dataclass(frozen=True, slots=True)
class Job:
    """So many draws for one input; counted if there is an event, returned otherwise."""

    input: Any
    draws: int
    seed: int | None
    event: Event | None = None


class _Current:
    """What forked workers audit: set before they are made, because functions need not be picklable."""

    target: Target | None = None


def _work(job: Job) -> Sample | int:
    target = _Current.target
    assert target is not None
    sample = target.draw(job.input, job.draws, job.seed)
    return sample if job.event is None else job.event.count(sample)


def seed_of(seed: int | None, *words: object) -> int | None:
    """A seed of its own for every job; None stays None: the secure source."""
    if seed is None:
        return None
    text = repr((seed, *words)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


class JobRunner:
    """Runs jobs and hands back their results as they come, each with its place."""

    def __init__(self, target: Target, workers: int | None, progress: bool | None) -> None:
        self.target = target
        self.workers = _workers(target, workers)
        self._progress = sys.stderr.isatty() if progress is None else progress
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> JobRunner:
        _Current.target = self.target
        if self.workers > 1:
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            self._pool = ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("fork"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        _Current.target = None

    def run(self, jobs: Sequence[Job], what: str) -> Iterator[tuple[int, Any]]:
        """(place of the job, its result), in any order."""
        with self._bar(what, sum(job.draws for job in jobs)) as advance:
            for place, result in self._results(jobs):
                advance(jobs[place].draws)
                yield place, result

    def _results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        if self._pool is None:
            for place, job in enumerate(jobs):
                yield place, _work(job)
            return
        from concurrent.futures import FIRST_COMPLETED, wait

        waiting: dict[Future[Any], int] = {}
        rest = iter(enumerate(jobs))
        while True:
            while len(waiting) < 2 * self.workers and (one := next(rest, None)) is not None:
                waiting[self._pool.submit(_work, one[1])] = one[0]
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()

    @contextmanager
    def _bar(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        if not self._progress:
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True, force_terminal=True)
        with Progress(*columns, console=console, auto_refresh=False, transient=True) as bar:
            task = bar.add_task(what, total=total)

            def advance(draws: int) -> None:
                bar.advance(task, draws)
                bar.refresh()

            yield advance


def _workers(target: Target, workers: int | None) -> int:
    """All cores, where the target allows it and the platform can fork."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise bad_value("$workers must be a whole number of at least 1, or None for all cores")
    import multiprocessing

    if not target.parallel or "fork" not in multiprocessing.get_all_start_methods():
        return 1
    return workers or os.cpu_count() or 1


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
) -> AuditResult:
    """The work of `shortlist.audit.audit`, which explains its arguments."""
    promised = _check_claim(subject, claim)
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
    bound, violated = _judge(event, counts, tested, delta, sure, promised)
    return AuditResult(
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


def _check_claim(subject: object, claim: Guarantee | None) -> Guarantee:
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
        return {place: (_join(samples[place, 0]), _join(samples[place, 1])) for place in places}


def _rounds(pairs: int) -> int:
    """How often a quarter is kept until one is left."""
    return 0 if pairs == 1 else 1 + _rounds(max(1, pairs // 4))


def _join(parts: list[tuple[int, Sample]]) -> Sample:
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


def _judge(
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
