"""The answer: what came out, and the guarantee that was paid for it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from shortlist._arrays import Frame, installed_frame
from shortlist._files import checked_path, json_path, write_text
from shortlist._frames import NUMBERS, item_columns, released_frame
from shortlist._runtime import changed, refuse_changes
from shortlist._text import NOISY, as_texts, terminal_safe, text_table
from shortlist.accounting.guarantees import ExPost
from shortlist.estimates import Answer, ChainedGaps, EndedGaps, ThresholdGaps
from shortlist.exact.margins import Margin
from shortlist.extras import NOTHING_ELSE, Extra, Extras
from shortlist.labels import PLAIN, by_label, plain_label, typed
from shortlist.pages.plots import plot_release
from shortlist.pages.release_page import write_release
from shortlist.pages.summary import LEAD, OVER, in_words, leads_named, note_of, notes_in_words, remarks
from shortlist.pages.theme import card
from shortlist.release_io import mark_pickles, read, refuse_old_pickles, written
from shortlist.released_gaps import gaps_of, lower_bounds, refined, upper_bounds
from shortlist.sampling.entropy import SECURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shortlist.estimates import LowerBound, UpperBound
    from shortlist.ledger.ledger import Receipt
    from shortlist.privacy import Guarantee


FIGURES = (*NUMBERS, LEAD, OVER)
"""Columns of numbers, as they are shown."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Release:
    """Released candidates. Everything in it, and everything that can be reached from it, is released or public.

    It is a value: it can be pickled, copied, compared, and written as JSON (docs/release-format.md).

    Parameters
    ----------
    items, ordered
        Labels, best first where `ordered`; otherwise a set, sorted by label so that their order says nothing. None
        where a test did not pass, so that nothing is named.
    indices
        Their positions in the scores; None where nothing is named, and where positions would tell a rank or tell of a
        list that is not public: in scores counted from a table.
    guarantee, charge
        The promise to one `unit`, and what a ledger books for it, which may be finer.
    mechanism, why, notes
        How it was made, why so, and what it all means, in words.
    unit, neighbours
        What one person is, and which tables are compared: `"add-remove"` or `"replace"`.
    secure
        False for seeded randomness, which is for tests and not private.
    frame
        In words, which kind of frame `to_frame` makes.
    receipt
        Where the charge was booked, and how the ledger stood then; None without a ledger.
    item_columns
        The columns that make an item, where there are several: each is then a tuple.
    extras
        What only some mechanisms release, also to be read by name: `values`, `margins`, `soft_max`, `soft_min`,
        `gaps`, `p_value`, `answers`, `largest`, `candidates`, `asked`, `used`, `stopped`, `k`, `kept`,
        `evidence`, `q`; None where not released.

    Examples
    --------
    >>> import shortlist as sl
    >>> release = sl.top_k({"ada": 900, "bob": 500, "cy": 20}, 2, epsilon=1.0, monotone=True, public=True)
    >>> release.items, len(release), "cy" in release, release.ordered, release.guarantee
    (['ada', 'bob'], 2, False, False, PureDP(epsilon=1.0))
    """

    items: list[Hashable] | None
    indices: list[int] | None
    ordered: bool
    guarantee: Guarantee
    charge: Guarantee
    mechanism: str
    why: str
    unit: str
    neighbours: str
    secure: bool
    frame: Frame | None = None
    notes: tuple[str, ...] = ()
    receipt: Receipt | None = None
    item_columns: tuple[str, ...] = ()
    extras: Extras = NOTHING_ELSE

    margins = Extra[list[Margin]]()
    soft_max = Extra[float]()
    soft_min = Extra[float]()
    gaps = Extra[list[float]]()
    p_value = Extra[float]()
    answers = Extra[list[Answer]]()
    largest = Extra[bool]()
    candidates = Extra[int]()
    asked = Extra[int]()
    used = Extra[str]()
    stopped = Extra[bool]()
    k = Extra[int]()
    kept = Extra[ExPost]()
    evidence = Extra[ChainedGaps | EndedGaps | ThresholdGaps]()
    q = Extra[list[float]]()

    def __post_init__(self) -> None:
        """Only plain values get in: a bound method or a view would carry along what it was made from."""
        if not isinstance(self.frame, Frame | None):
            raise TypeError('frame must be words, for example Frame("polars"), and nothing that reaches a table')
        if self.items is not None:
            plain = PLAIN.issuperset(map(type, self.items))
            object.__setattr__(self, "items", list(self.items if plain else map(plain_label, self.items)))

    @property
    def values(self) -> list[Any] | None:
        """Noisy values, one for each item, where they are released; of quantiles the items themselves."""
        return self.extras.values if self.q is None else self.items

    @property
    def _named(self) -> list[Hashable]:
        return self.items or []

    def __len__(self) -> int:
        """How many items were released: a release of none is false."""
        return len(self._named)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._named)

    def __contains__(self, label: object) -> bool:
        return label in self._named

    @property
    def summary(self) -> str:
        """What came out, what it can give away and what is left, in a few sentences."""
        return in_words(self)

    @property
    def note(self) -> str:
        """All that goes with the table where nobody prints it: into the metadata of a frame or of a file."""
        return note_of(self)

    @property
    def remarks(self) -> list[str]:
        """How to read the table: sentences that hold for what came out, none if it speaks for itself."""
        return remarks(self)

    @property
    def item(self) -> Hashable:
        """The one winner's label."""
        self._check_single("item", "items")
        return self._named[0]

    @property
    def index(self) -> int:
        """The one winner's position in the scores."""
        self._check_single("index", "indices")
        if self.indices is None:
            raise AttributeError(
                "positions are not public where the candidates come from data or from a table; read .item"
            )
        return self.indices[0]

    @property
    def gap(self) -> float:
        """The one winner's gap."""
        self._check_single("gap", "gaps")
        return gaps_of(self.extras, "gap")[0]

    @property
    def cost(self) -> float:
        """What this outcome cost, in the epsilon of its guarantee; rounded up.

        A ledger that adds up epsilons may book it in place of the guarantee, if that was reserved before. It is not
        an epsilon of the mechanism, and no other currency may use it.
        """
        if self.kept is None:
            raise AttributeError("read .guarantee: what this release cost does not depend on what came out")
        return self.kept.cost

    def refine(self, measurements: Iterable[float], *, variance: float) -> list[float]:
        """The best linear unbiased estimates of the items' scores from the gaps and later measurements.

        `measurements` holds one unbiased measurement for each item, in the order of `items`, with independent noise of
        that `variance`. It is a function of released numbers and costs nothing. It knows the noise and not the
        selection: scores that were selected *because* their noise was large are still estimated too high.
        """
        return refined(self.extras, measurements, variance)

    def lower_bound(self, confidence: float) -> list[LowerBound]:
        """A lower bound of that `confidence` on each item's score, from its gap to the threshold; read its caveat."""
        return lower_bounds(self.extras, confidence)

    def upper_bound(self, confidence: float) -> list[UpperBound]:
        """Where the smallest were asked for: an upper bound of that `confidence` on each score; read its caveat."""
        return upper_bounds(self.extras, confidence)

    def _check_single(self, one: str, many: str) -> None:
        if len(self._named) != 1:
            raise AttributeError(f"this release has {len(self._named)} items; read .{many} instead of .{one}")

    def as_set(self) -> Self:
        """The same items without their order, sorted by label; and without gaps, which would tell the order."""
        if self.items is None:
            return changed(self, ordered=False)
        order, extras = by_label(self.items, self.indices, SECURE), self.extras
        values, margins = extras.values, extras.margins
        return changed(
            self,
            items=list(map(self.items.__getitem__, order)),
            indices=None if self.indices is None else list(map(self.indices.__getitem__, order)),
            ordered=False,
            extras=changed(
                extras, values=values and [values[i] for i in order], margins=margins and [margins[i] for i in order],
                gaps=None, answers=None, evidence=None,
            ),
        )  # fmt: skip

    def columns(self) -> dict[str, list[Any]]:
        """The released table, column by column."""
        ranks = {"rank": list(range(1, len(self._named) + 1))} if self.ordered else {}
        values = {} if self.values is None else {"value": list(self.values)}
        values |= {} if self.margins is None else {"margin": [margin.half_width for margin in self.margins]}
        gaps = {} if self.gaps is None else {"gap": list(self.gaps)}
        items = item_columns(self._named, self.item_columns) if self.item_columns else {"item": list(self._named)}
        return {**ranks, **items, **values, **gaps} if self.q is None else {"q": self.q, "value": list(self._named)}

    def to_frame(self) -> Any:
        """A data frame in the caller's own kind: pandas, polars or pyarrow; or a table of the engine it came from.

        `note` goes along where that kind has a place for it: `attrs["shortlist"]` in pandas, the metadata of the schema
        in pyarrow, that of every column in Spark. polars, DuckDB and Ibis have none.
        """
        return released_frame(self.columns(), self.frame or Frame(installed_frame()), self.note)

    def to_json(self) -> str:
        """Everything in it as one line of JSON, for `from_json` (docs/release-format.md). Labels keep their types.

        Raises
        ------
        ValueError
            for labels that are no text, whole numbers, floats, truth values, dates, times or tuples of these.

        Examples
        --------
        >>> import shortlist as sl
        >>> release = sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True)
        >>> sl.Release.from_json(release.to_json()) == release
        True
        """
        return written(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The release whose `text` `to_json` wrote, unchanged.

        Raises
        ------
        ValueError
            in one sentence, for a text that is no release, is damaged, or is of a version that is not known here.
        """
        return cls(**read(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json()` to a file for `Release.load`: whole or not at all, and a new one for its owner alone."""
        write_text(json_path(path, "top10.json"), self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The release that `save` wrote to `path`, unchanged.

        Raises
        ------
        OSError
            if the file cannot be read.
        ValueError
            in one sentence, if it is no release, is damaged, or is of a version that is not known here.
        """
        with open(checked_path(path, "top10.json"), "rb") as file:
            return cls.from_json(file.read())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the released items, and nothing else, on `ax` or a new figure. Returns a matplotlib Axes."""
        return plot_release(self, ax)

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write one self-contained HTML page: the list, what it can give away, how it was made and what was paid.

        Everything in it is released or public. It needs no network, and reads well on a phone and on paper.

        Parameters
        ----------
        path
            The file, for example `"top10.html"`; what is there is replaced at once or not at all.
        title
            What the list is, for its heading; the number of items if left out.
        """
        write_release(self, path, title)

    def texts(self) -> dict[str, list[str]]:
        """The table as a person reads it: numbers to six digits or with their margin, labels fit for a terminal."""
        return leads_named(as_texts(self.columns(), NOISY if self.q is None else ()), [self])

    def line(self) -> str:
        """Guarantee, mechanism, unit of privacy, in one line."""
        warning = "" if self.secure else "  [seeded randomness: for tests, not private]"
        return terminal_safe(f"{self.guarantee} for one {self.unit} ({self.neighbours}) by {self.mechanism}{warning}")

    def __str__(self) -> str:
        return self.lines(self.texts())

    def lines(self, columns: dict[str, list[str]], remarks: Iterable[str] | None = None) -> str:
        """A table of these texts (`columns`), a summary, `remarks`, and one line: guarantee, mechanism, unit."""
        how = self.remarks if remarks is None else remarks
        below = [*how, self.line(), *notes_in_words(self)]
        return "\n".join([text_table(columns, FIGURES), "", self.summary, *below])

    def __repr__(self) -> str:
        return f"<Release of {len(self._named)}: {self.line()}>"

    def __eq__(self, other: object) -> bool:
        """By content; a label 1 is not the label True, nor 1.0, and NaN in a label is the same as NaN."""
        if not isinstance(other, Release):
            return NotImplemented
        if (self.items is None) != (other.items is None) or typed(tuple(self._named)) != typed(tuple(other._named)):
            return False
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self) if one.name != "items")

    def __hash__(self) -> int:
        return hash((typed(tuple(self._named)), self.ordered, self.guarantee, self.mechanism, self.unit))

    def _repr_html_(self) -> str:
        values = self.values if self.q is None else None
        return card(self.texts(), values, self.summary, [self.line(), *notes_in_words(self)], self.remarks)


refuse_changes(Release, "a release cannot be changed, nor its {}: it is what came out")
mark_pickles(Release)
refuse_old_pickles()
