"""Broken caps on what one person brings: each looks at more than that person's own rows, or adds too much.

They are run on small tables of (person, label), with a person and without. Of counts that are kept under Gaussian noise
for a person's share of length 1, what a release tells is one Gaussian number whose shift is the length of the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import md5
from math import sqrt

import numpy as np

from shortlist.audit import Law
from shortlist.audit.certified.base import Point
from shortlist.privacy import ApproxDP
from studies.broken.entry import Broken
from studies.broken.keys import SIGMA, TINY, person

Row = tuple[str, str]
Cap = Callable[[Sequence[Row], int], Counter[str]]


def _first(rows: Sequence[Row], most: int, rank: Callable[[int, Row], object]) -> Counter[str]:
    """Each person's first labels in an order that `rank` makes of places and rows."""
    order = sorted(range(len(rows)), key=lambda place: (rank(place, rows[place]), place))
    items: dict[str, list[str]] = {}
    for place in order:
        who, what = rows[place]
        mine = items.setdefault(who, [])
        if what not in mine and len(mine) < most:
            mine.append(what)
    return Counter(label for labels in items.values() for label in labels)


def own_rows(rows: Sequence[Row], most: int) -> Counter[str]:
    """As it should be: by a hash of the person and the label alone."""
    return _first(rows, most, lambda place, row: md5("\x1f".join(row).encode(), usedforsecurity=False).hexdigest())


def engine_order(rows: Sequence[Row], most: int) -> Counter[str]:
    """A row number without an order: the rows come as the engine has put them, by how many there are."""
    return _first(rows, most, lambda place, row: place * 7919 % (len(rows) + 1))


def one_stream(rows: Sequence[Row], most: int) -> Counter[str]:
    """A random number for each row, all from one seeded stream."""
    numbers = np.random.default_rng(7).random(len(rows)).tolist()
    return _first(rows, most, lambda place, row: numbers[place])


def popular_first(rows: Sequence[Row], most: int) -> Counter[str]:
    """Everybody keeps what most people have."""
    held = Counter(what for _, what in rows)
    return _first(rows, most, lambda place, row: (-held[row[1]], row[1]))


def first_rows(rows: Sequence[Row], most: int) -> Counter[str]:
    """LIMIT, or a sample of the table: so many rows in all, whoever they are of."""
    return Counter(what for _, what in rows[: 10 * most])


def within_batches(rows: Sequence[Row], most: int) -> Counter[str]:
    """Ranks within parts of the table, as parallel readers make them: a person keeps `most` in every part."""
    return sum((own_rows(rows[start : start + 8], most) for start in range(0, len(rows), 8)), Counter())


def nameless(rows: Sequence[Row], most: int) -> Counter[str]:
    """Rows without a person are all of one person, called by the empty text."""
    return own_rows([("" if who.startswith("?") else who, what) for who, what in rows], most)


def _crowd(people: int, labels: int, each: int, name: str = "p") -> Iterator[Row]:
    """So many people who hold so many labels each, turn by turn."""
    for who in range(people):
        yield from ((f"{name}{who}", f"label {(7 * who + n) % labels}") for n in range(each))


def capped(cap: Cap, others: Sequence[Row], own: Sequence[Row], most: int) -> Callable[[Point], Law]:
    """The law with and without somebody whose rows come first, counts in units of sqrt(most) people."""
    with_them, without = cap([*own, *others], most), cap(others, most)
    moved = sum((with_them[label] - without[label]) ** 2 for label in with_them.keys() | without.keys())
    return person(1, 0, sqrt(moved / most), SIGMA, 30.0)


ALONE = (((0,), (1,)),)
BY_HAND = "easily written: see docs/theory/16-tables.md#theorem-195"
OTHERS = tuple(_crowd(40, 12, 6))
NEW = tuple(("new", f"label {n}") for n in range(6))


def _broken(name: str, what: str, law: Callable[[Point], Law]) -> Broken:
    return Broken(name=name, what=what, source=BY_HAND, law=law, pairs=ALONE, claim=ApproxDP(1.0, TINY))


ENTRIES = (
    _broken(
        "cap, row numbers without an order",
        "which labels a person keeps is left to the order in which the engine has the rows of all",
        capped(engine_order, OTHERS, NEW, 4),
    ),
    _broken(
        "cap, one stream of random numbers",
        "each row draws from one seeded stream, so that a person's rows move the numbers of all who follow",
        capped(one_stream, OTHERS, NEW, 4),
    ),
    _broken(
        "cap, most popular first",
        "everybody keeps the most popular of their labels: one person tips 100 others from one label to another",
        capped(popular_first, [row for n in range(100) for row in ((f"p{n}", "a"), (f"p{n}", "b"))], [("new", "b")], 1),
    ),
    _broken(
        "cap, first rows of the table",
        "so many rows are read in all: a person's rows push out those of others",
        capped(first_rows, tuple(_crowd(40, 97, 1)), NEW, 4),
    ),
    _broken(
        "cap, ranks within a batch",
        "a person keeps so many labels in every part of the table that is read at once",
        capped(within_batches, (), [("new", f"label {n}") for n in range(24)], 4),
    ),
    _broken(
        "cap, nobody's rows as one person",
        "rows without a person count as one person's, so that one of those people takes another's place",
        capped(nameless, tuple(_crowd(9, 97, 1, "?")), [("?new", f"label {n + 60}") for n in range(30)], 4),
    ),
    _broken(
        "cap, weights rounded to the nearest",
        "1/sqrt(6) is rounded up to 7/16, and six such weights are longer than 1",
        person(6, 0, 7 / 16, SIGMA, 30.0),
    ),
)
