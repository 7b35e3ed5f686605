"""Counts for the experiments: the papers' own where a folder has them, else made-up ones of the same size.

Made-up data is a formula, the same every time, and nobody's: no file of the papers is copied here.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shortlist._arrays import Indices
from shortlist.sampling.entropy import Source
from studies.papers.experiment import Setting


@dataclass(frozen=True, slots=True)
class Shape:
    """Counts head (1 + i / bend)^-exponent at i = 0, 1, .., `items` of them: a plateau, then a power law."""

    items: int
    head: float
    bend: float
    exponent: float

    def counts(self) -> Indices:
        rank = np.arange(self.items)
        return np.floor(self.head * (1.0 + rank / self.bend) ** -self.exponent).astype(np.int64)


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set of the papers: the file a folder must have, its format, and what stands in for it."""

    title: str
    file: str
    format: str
    shape: Shape | None = None
    """None, where an experiment makes up more than one vector."""
    read: Callable[[Path], Indices] | None = None


def read_vector(path: Path) -> Indices:
    result: Indices = np.load(path).astype(np.int64)
    return result


def read_transactions(path: Path) -> Indices:
    """How many lines hold each item; a line is one transaction, its items apart by spaces."""
    with path.open() as file:
        return _occurrences(set(line.split()) for line in file)


def read_brightkite(path: Path) -> Indices:
    """How many users checked in at each place: user, time, latitude, longitude, place, apart by tabs."""
    return _visitors(path, place=4)


def read_foursquare(path: Path) -> Indices:
    """How many users checked in at each venue: user, venue and more, apart by tabs."""
    return _visitors(path, place=1)


def _visitors(path: Path, place: int) -> Indices:
    with path.open(encoding="latin-1", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return _occurrences([[cell] for _, cell in {(row[0], row[place]) for row in rows if len(row) > place}])


def _occurrences(groups: Iterable[Iterable[str]]) -> Indices:
    counter: Counter[str] = Counter()
    for group in groups:
        counter.update(group)
    return np.array(list(counter.values()), dtype=np.int64)


VECTOR = "a NumPy vector of whole numbers, one count for each item"
BASKETS = "text, one transaction a line, its items apart by spaces"

DATA_SETS = {
    "netflix": DataSet("Netflix", "NETFLIX.n17770.npy", VECTOR, Shape(17_770, 97_000, 40, 0.9), read_vector),
    "patent": DataSet("Patent", "PATENT.n4096.npy", VECTOR, Shape(4_096, 16_500, 60, 0.2), read_vector),
    "searchlogs": DataSet("Searchlogs", "SEARCHLOGS.n4096.npy", VECTOR, Shape(4_096, 3_300, 8, 0.72), read_vector),
    "medcost": DataSet("Medcost", "MEDCOST.n4096.npy", VECTOR, Shape(4_096, 110, 12, 0.8), read_vector),
    "income": DataSet("Income", "INCOME.n4096.npy", VECTOR, Shape(4_096, 420_000, 30, 1.4), read_vector),
    "hepth": DataSet("Hepth", "HEPTH.n4096.npy", VECTOR, Shape(4_096, 620, 150, 0.75), read_vector),
    "bms-pos": DataSet("BMS-POS", "BMS-POS.dat", BASKETS, Shape(1_657, 340_000, 1, 0.9), read_transactions),
    "kosarak": DataSet("Kosarak", "kosarak.dat", BASKETS, Shape(41_270, 600_000, 1, 1.05), read_transactions),
    "t40": DataSet("T40I10D100K", "T40I10D100K.dat", BASKETS, Shape(942, 28_000, 1, 0.6), read_transactions),
    "brightkite": DataSet("BrightKite", "Brightkite_totalCheckins.txt",
                          "text apart by tabs: user, time, latitude, longitude, place",
                          Shape(1_280_000, 2_000, 1, 0.75), read_brightkite),
    "foursquare": DataSet("Foursquare", "dataset_TSMC2014_TKY.txt", "text apart by tabs: user, venue, and more",
                          Shape(100_000, 1_600, 1, 0.6), read_foursquare),
    "covid": DataSet("Covid-19 cases", "us-covid-cases-2020.csv",
                     "CSV with date, state, cases (cumulative), one row for each day and state"),
    "celeba": DataSet("CelebA votes", "celeba-votes.npz", "a NumPy archive: votes (queries x teachers x labels, 0 or "
                      "1), truth (queries x labels)"),
}  # fmt: skip
"""Every data set of the five papers. Heads, bends and exponents of the first six were fitted by eye to rank plots; all
others have the size that the paper states, and Zipf counts."""


@dataclass(frozen=True, slots=True)
class Counts:
    """One vector of counts, largest first, and whether it is the paper's own."""

    name: str
    values: Indices
    real: bool

    @property
    def title(self) -> str:
        return DATA_SETS[self.name].title


def counts(name: str, setting: Setting) -> Counts:
    """The counts of that data set, largest first."""
    result = DATA_SETS[name]
    path = data_file(name, setting)
    assert result.shape is not None
    assert result.read is not None
    if path is None:
        return Counts(name, result.shape.counts(), False)
    return Counts(name, np.sort(result.read(path))[::-1], True)


def data_file(name: str, setting: Setting) -> Path | None:
    """Where that data set is, if the folder has it."""
    path = None if setting.data is None else setting.data / DATA_SETS[name].file
    return path if path is not None and path.exists() else None


def made_up(*tables: Counts) -> tuple[str, ...]:
    """The titles of those that are not the paper's own."""
    return tuple(one.title for one in tables if not one.real)


def zipf(items: int, head: float, exponent: float) -> Indices:
    """floor(head / i^exponent), i = 1 .. items."""
    return np.floor(head / np.arange(1.0, items + 1) ** exponent).astype(np.int64)


def shuffled(values: Indices, source: Source) -> Indices:
    """The same counts in a random order."""
    return values[np.argsort(source.words(len(values)), kind="stable")]
