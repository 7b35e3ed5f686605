"""What an experiment is: a question, the paper's claim, a table of numbers, a picture, and what we say about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from shortlist.sampling.entropy import Seeded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

Effort = Literal["small", "fast", "full"]
"""`small` is for tests (seconds for all), `fast` for the command (minutes), `full` for small error bars."""

Columns = dict[str, list[Any]]
"""A table, column by column; every column has one type."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One of the five papers."""

    key: str
    title: str
    authors: str


@dataclass(frozen=True, slots=True)
class Line:
    """One headline: what the paper says, what we find, and why they agree or differ."""

    what: str
    paper: str
    ours: str
    why: str


@dataclass(frozen=True, slots=True)
class Setting:
    """How to run: how hard to try, with which seed, and where real data is, if anywhere."""

    effort: Effort = "fast"
    seed: int = 1
    data: Path | None = None

    def pick(self, small: T, fast: T, full: T) -> T:
        """The value for this effort."""
        return {"small": small, "fast": fast, "full": full}[self.effort]

    def source(self, name: str) -> Seeded:
        """Repeatable randomness of its own for each name: what one experiment draws never moves another."""
        from hashlib import sha256

        return Seeded(int.from_bytes(sha256(f"{self.seed} {name}".encode()).digest()[:8], "big"))


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one run."""

    columns: Columns
    lines: tuple[Line, ...]
    caption: str
    """Data, parameters and, where the data was generated, that it was."""
    generated: bool = False
    """Whether generated data of the same shape stands in for the paper's."""
    timed: bool = False
    """Whether the table holds run times, which no seed repeats."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure or table of a paper, ours beside theirs."""

    name: str
    paper: Paper
    shows: str
    """Which figure or table of the paper."""
    title: str
    question: str
    see: str
    """What to look at in the picture."""
    claim: str
    """What the paper claims."""
    run: Callable[[Setting], Result]
    draw: Callable[[Columns], Figure]
    """The picture, from the table alone."""
    uses: tuple[str, ...] = ()
    """The data sets it reads, by name: which files decide whether a kept result is still good."""
    alone: bool = False
    """Whether it measures time, so that nothing should run beside it."""


def verdict(holds: bool, reason: str) -> str:
    """Whether the numbers of this run bear the claim out, and a reason that is true either way.

    >>> verdict(False, "the order is close")
    'not borne out by this run; the order is close'
    """
    return f"{'confirmed' if holds else 'not borne out by this run'}; {reason}"


GUMBEL = Paper("gumbel", "Gumbel differential privacy", "the Gumbel-DP paper")
NOISY_MAX = Paper("noisy-max", "Report noisy max with Gumbel noise", "OpenDP, its proof document")
CANONICAL = Paper("canonical", "Differentially private top-k selection via canonical Lipschitz mechanism",
                  "Shekelyan and Loukides")  # fmt: skip
FREE_GAP = Paper("free-gap", "Free gap estimates from the exponential mechanism, sparse vector, noisy max and related",
                 "Ding, Wang, Xiao, Zhang and Kifer")  # fmt: skip
ADAPTIVE = Paper("adaptive-k", "Adaptive private-k-selection with adaptive k and application to multi-label PATE",
                 "Zhu and Wang")  # fmt: skip
PAPERS = (GUMBEL, NOISY_MAX, CANONICAL, FREE_GAP, ADAPTIVE)
