"""What is audited: something that draws outputs for an input, as fast as it allows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, cast

import numpy as np

from shortlist.audit.encoding import Sample, label_number, read_each, read_many
from shortlist.audit.enumeration import lines, neighbours
from shortlist.audit.fingerprints import fingerprint
from shortlist.certified.law import Point
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.contract import Draws
from shortlist.mechanisms.entries import audited
from shortlist.sampling.entropy import SECURE, Seeded, Source
from shortlist.scores import Scores

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
            sample = _labelled(sample, scores, mechanism.ordered)
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


def _labelled(sample: Draws, scores: Scores, ordered: bool) -> Draws:
    """The same with a number for each label in place of its position, which is nobody's business and may differ."""
    numbers = np.array([*map(label_number, scores._named(range(scores._size), by_weight=False)), -1])
    labels = numbers[sample.indices]
    if not ordered:
        labels = np.sort(np.where(labels < 0, LAST, labels), axis=1)
        labels[labels == LAST] = -1
    return replace(sample, indices=labels)


def _function(function: Callable[..., Any]) -> Target:
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        names = {}  # type: ignore[assignment]
    takes_rng, takes_draws = "rng" in names, "draws" in names

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
        d, 2, monotone=monotone, everywhere=not getattr(subject, "treats_alike", getattr(subject, "exchangeable", True))
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
