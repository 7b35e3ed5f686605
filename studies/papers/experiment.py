"""What an experiment is: figures and tables in their papers' settings, ours beside, verdicts from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from shortlist.pages.theme import references
from shortlist.sampling.entropy import Seeded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

Effort = Literal["small", "fast", "full"]
"""`small` is for tests (seconds for all), `fast` for the command (minutes), `full` for small error bars."""

Columns = dict[str, list[Any]]
"""A table, column by column; every column has one type."""

Verdict = Literal["confirmed", "corrected", "contradicted", "not comparable"]
"""`corrected`: true after a change that is named. `not comparable`: the paper's data or words are not at hand."""

Facts = Mapping[str, Any]
"""A setting, word by word: k, epsilon, delta, competitors, measure, trials."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One of the five papers."""

    key: str
    title: str
    authors: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What the numbers of a run say about one claim."""

    verdict: Verdict
    ours: str
    why: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper in our own words, where it stands, and how a table of numbers is held against it."""

    says: str
    place: str
    judge: Callable[[Columns], Finding]
    of_data: bool = True
    """Whether it is about the paper's data, if its experiment reads any: then other data cannot decide it."""

    def verdict(self, columns: Columns) -> Finding:
        """What the numbers say, or that they cannot be compared, as synthetic counts stand in for the paper's data."""
        finding = self.judge(columns)
        if not (self.of_data and any(columns.get("made_up", ()))):
            return finding
        why = f"synthetic counts stand in for the paper's data; {finding.why}"
        return Finding("not comparable", finding.ours, why)


@dataclass(frozen=True, slots=True)
class Line:
    """One headline: what the paper says and where, what we find, the verdict, and why."""

    what: str
    paper: str
    place: str
    ours: str
    verdict: str
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
class Difference:
    """One word of the setting in which we differ, and why."""

    word: str
    theirs: str
    ours: str
    why: str


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One figure or table of a paper: its setting as printed, ours, and what it is said to show."""

    place: str
    """Figure 3, table 1, section 7.3."""
    about: str
    theirs: Facts
    """The paper's setting, typed from the paper."""
    ours: Callable[[Setting], Facts]
    """Ours, under the same words."""
    because: Mapping[str, str]
    """The reason for every word in which the two differ."""
    claims: tuple[Claim, ...]
    data: tuple[str, ...] = ()
    """The data sets of the paper, by the names of `data.DATA_SETS`."""

    def differences(self, setting: Setting) -> list[Difference]:
        """Every word that differs under this setting; each must have a reason."""
        ours = self.ours(setting)
        return [
            Difference(word, said(value), said(ours[word]), self.because[word])
            for word, value in self.theirs.items()
            if ours[word] != value
        ]


def said(value: object) -> str:
    """A fact in words.

    >>> said((10, 100, 1000)), said(1e-05), said("Netflix")
    ('10, 100, 1000', '1e-05', 'Netflix')
    """
    if isinstance(value, tuple | list):
        return ", ".join(said(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one run."""

    columns: Columns
    caption: str
    """Data and parameters."""
    made_up: tuple[str, ...] = ()
    """The data sets for which made-up counts of the same size stand in."""
    timed: bool = False
    """Whether the table holds run times, which no seed repeats."""
    beyond: tuple[str, ...] = ()
    """What we find that the paper does not speak of."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One or more figures or tables of a paper from one table of numbers and one picture."""

    name: str
    paper: Paper
    title: str
    question: str
    see: str
    """What to look at in the picture."""
    exhibits: tuple[Exhibit, ...]
    """What of the paper it shows; none, if the paper has nothing like it."""
    run: Callable[[Setting], Result]
    draw: Callable[[Columns], Figure]
    """The picture, from the table alone."""
    reads: tuple[str, ...] = ()
    """Data sets beyond those of its exhibits."""
    alone: bool = False
    """Whether it measures time, so that nothing should run beside it."""

    @property
    def shows(self) -> str:
        """Which figures and tables of the paper."""
        return ", ".join(exhibit.place for exhibit in self.exhibits) or "not in the paper"

    @property
    def uses(self) -> tuple[str, ...]:
        """The data sets it reads, by name: which files decide whether a kept result is still good."""
        shown = (name for exhibit in self.exhibits for name in exhibit.data)
        return tuple(dict.fromkeys([*shown, *self.reads]))

    def lines(self, columns: Columns) -> tuple[Line, ...]:
        """Every claim with the verdict of these numbers."""
        return tuple(
            Line(
                exhibit.about, claim.says, f"{claim.place}; {exhibit.place}", outcome.ours, outcome.verdict, outcome.why
            )
            for exhibit in self.exhibits
            for claim in exhibit.claims
            for outcome in [claim.verdict(columns)]
        )


def held(holds: bool, ours: str, why: str, otherwise: Verdict = "contradicted") -> Finding:
    """Confirmed if the numbers bear the claim out, else what is given; the reason must be true either way.

    >>> held(False, "3 of 5", "exact").verdict
    'contradicted'
    """
    return Finding("confirmed" if holds else otherwise, ours, why)


GUMBEL = Paper("gumbel", references()["gumbel"].title, "anonymous, under review when read")
NOISY_MAX = Paper("noisy-max", references()["shoemate2025"].title, "Shoemate, a proof document of OpenDP")
CANONICAL = Paper("canonical", references()["shekelyan2022"].title, "Shekelyan and Loukides")
FREE_GAP = Paper("free-gap", references()["ding2022"].title, "Ding, Wang, Xiao, Wang, Zhang and Kifer")
ADAPTIVE = Paper("adaptive-k", references()["zhu2022"].title, "Zhu and Wang")
PAPERS = (GUMBEL, NOISY_MAX, CANONICAL, FREE_GAP, ADAPTIVE)
