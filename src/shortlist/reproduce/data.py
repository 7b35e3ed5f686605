"""Counts for the experiments: the papers' own where a folder has them, else generated ones of the same shape.

Generated data is a formula, the same every time, and nobody's: no file of the papers is copied here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import LAPLACE
from shortlist.reproduce.experiment import Setting
from shortlist.sampling.entropy import Source


@dataclass(frozen=True, slots=True)
class Shape:
    """Counts head (1 + i / bend)^-exponent at i = 0, 1, .., `items` of them: a plateau, then a power law."""

    file: str
    items: int
    head: float
    bend: float
    exponent: float

    def counts(self) -> Indices:
        rank = np.arange(self.items)
        return np.floor(self.head * (1.0 + rank / self.bend) ** -self.exponent).astype(np.int64)


SHAPES = {
    "netflix": Shape("NETFLIX.n17770.npy", 17_770, 97_000, 40, 0.9),
    "patent": Shape("PATENT.n4096.npy", 4_096, 16_500, 60, 0.2),
    "searchlogs": Shape("SEARCHLOGS.n4096.npy", 4_096, 3_300, 8, 0.72),
    "hepth": Shape("HEPTH.n4096.npy", 4_096, 620, 150, 0.75),
    "medcost": Shape("MEDCOST.n4096.npy", 4_096, 110, 12, 0.8),
    "income": Shape("INCOME.n4096.npy", 4_096, 420_000, 30, 1.4),
}
"""The data sets of the canonical paper; heads, bends and exponents were fitted by eye to their rank plots."""

MARKETS = {"BMS-POS": (1_657, 340_000, 0.9), "Kosarak": (41_270, 600_000, 1.05), "T40I10D100K": (942, 28_000, 0.6)}
"""The transaction data of the free-gap paper as (items, largest count, exponent): their sizes, and Zipf counts."""


@dataclass(frozen=True, slots=True)
class Counts:
    """One vector of counts, and whether it is the paper's own."""

    name: str
    values: Indices
    real: bool

    @property
    def source(self) -> str:
        return self.name.title() + ("" if self.real else " (generated, same shape)")


def counts(name: str, setting: Setting) -> Counts:
    """The counts of that data set, largest first."""
    shape = SHAPES[name]
    path = data_file(setting, shape.file)
    if path is None:
        return Counts(name, shape.counts(), False)
    return Counts(name, np.sort(np.load(path).astype(np.int64))[::-1], True)


def data_file(setting: Setting, file: str) -> Path | None:
    path = None if setting.data is None else setting.data / file
    return path if path is not None and path.exists() else None


def market(name: str) -> Indices:
    """How many transactions hold each item: generated."""
    items, head, exponent = MARKETS[name]
    return zipf(items, head, exponent)


def zipf(items: int, head: float, exponent: float) -> Indices:
    """floor(head / i^exponent), i = 1 .. items."""
    return np.floor(head / np.arange(1.0, items + 1) ** exponent).astype(np.int64)


def origin(tables: list[Counts]) -> str:
    """One sentence for the caption: whose data this is."""
    if all(one.real for one in tables):
        return "Data: the paper's own count vectors."
    names = ", ".join(one.name.title() for one in tables if not one.real)
    return f"Data: GENERATED counts of the same size and shape stand in for {names}; pass --data for the paper's own."


def shuffled(values: Indices, source: Source) -> Indices:
    """The same counts in a random order."""
    return values[np.argsort(source.words(len(values)), kind="stable")]


def uniform(source: Source, size: int) -> Floats:
    return np.ldexp(source.words(size).astype(np.float64) + 0.5, -64)


def laplace(source: Source, scale: float, size: int) -> Floats:
    """Simulated measurement errors. For studies on made-up data: a release measures with exact noise."""
    return scale * LAPLACE.quantile(source.words(size), 0)[0]
