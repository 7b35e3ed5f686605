"""The answer: what came out, and the guarantee that was paid for it; of one list, or of one for every group."""

from __future__ import annotations

import datetime
import enum
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from shortlist._arrays import Frame, find_frame_library
from shortlist._runtime import forward, lazy_import, refuse_changes, replace_fields, set_fields
from shortlist.accounting.guarantees import ExPost
from shortlist.sampling.entropy import SECURE, Source, WordStream, shuffle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shortlist.accounting.guarantees import Guarantee
    from shortlist.ledger.ledger import Receipt
    from shortlist.utility.estimates import Answer, Evidence, LowerBound, Margin, UpperBound

ESTIMATES = "shortlist.utility.estimates"
"""What gaps say about scores. It is loaded when somebody asks."""
REFUSED = (
    "this release was pickled by another version of shortlist, whose pickles may hold private data: read it with that "
    "version, and keep releases with release.save() instead"
)


PICKLED = "shortlist release 2"
"""How a pickle's content is laid out: 1 had no `extras`, and 0.1.0 had no such mark."""


def mark_pickles(kind: Any) -> None:
    """Give a frozen dataclass a pickle of all its fields under our mark; what has another, or other fields, is refused.

    What is read is checked as what is made: by `__post_init__`.
    """
    names = [one.name for one in fields(kind)]

    def state(self: Any) -> tuple[str, dict[str, Any]]:
        return PICKLED, {name: getattr(self, name) for name in names}

    def set_state(self: Any, read: object) -> None:
        match read:
            case (str(form), dict(content)) if form == PICKLED and set(content) == set(names):
                set_fields(self, **content).__post_init__()
            case _:
                raise ValueError(REFUSED)

    kind.__getstate__, kind.__setstate__ = state, set_state


class OfAnotherVersion:
    """In place of a class that has moved: a pickle that asks for it is an old one."""

    def __new__(cls, *_: object) -> NoReturn:
        raise ValueError(REFUSED)

    __setstate__ = __new__


# a pickle finds the guarantees of 0.1.0 where they were, or it would end before anybody could say why
_OLD = ModuleType("shortlist.privacy.guarantees", "Where guarantees stood in 0.1.0.")
_OLD.__dict__.update(dict.fromkeys(("ApproxDP", "Composition", "PureDP", "ZCDP"), OfAnotherVersion))
sys.modules.setdefault(_OLD.__name__, _OLD)

PLAIN = frozenset((str, int, bool, float, datetime.date, datetime.datetime, bytes, type(None)))


ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
OWN: dict[type, Callable[[Any], Hashable]] = {
    str: str.__str__, int: int.__int__, float: float.__float__, bytes: lambda label: bytes.join(b"", [label]),
    memoryview: memoryview.tobytes,
}  # fmt: skip
"""How a value of a class made from one of these becomes one of Python's own, whatever its own methods say."""


def plain_label(label: Any) -> Hashable:
    """The same label as a value of Python's own, where there is an equal one; otherwise as it is.

    A scalar of numpy or arrow may be a view into the column it was taken from, and would carry all of it along; a text
    of a class of its own may know the document that it was cut from (parsers of HTML and XML make such texts).
    """
    if type(label) in PLAIN or isinstance(label, enum.Enum):  # which is a constant of a program
        return label
    if isinstance(label, tuple | frozenset):
        return (tuple if isinstance(label, tuple) else frozenset)(map(plain_label, label))
    if isinstance(label, np.generic):
        value = label if isinstance(label, np.datetime64 | np.timedelta64) else label.item()
        return value if isinstance(value, np.generic) else plain_label(value)  # times own their bytes: they stay
    own = next((way for kind, way in OWN.items() if isinstance(label, kind)), None)
    if own is not None:
        return own(label)
    library = type(label).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(label, "as_py"):
        return plain_label(label.as_py())
    if library == "pandas" and isinstance(label, datetime.datetime) and getattr(label, "nanosecond", 1) == 0:
        return label.to_pydatetime()  # type: ignore[attr-defined]
    return label


def type_key(label: Any) -> Hashable:
    """A key that is equal for the same label alone, where labels may compare equal: 1, 1.0 and True, 0.0 and -0.0, one
    moment in two zones. NaN is the same as NaN.
    """
    if isinstance(label, tuple | frozenset):
        return type(label), (tuple if isinstance(label, tuple) else frozenset)(map(type_key, label))
    if type(label) is datetime.datetime:
        return type(label), label.isoformat(), label.fold, label.tzname()
    if type(label) is float:
        return type(label), repr(label)
    return type(label), label


def by_label(items: Sequence[Hashable], indices: Sequence[int] | None, source: Source) -> list[int]:
    """Positions sorted by label, and where labels do not compare by their type and text.

    Labels may compare only partly (sets do), different ones may read alike, and methods of their own may notice in
    which order they are asked. So the sort starts from an order that says nothing: by index, or drawn for the purpose
    and then by text. The law of the result is a function of the set alone, whatever order the items came in.
    """
    if indices is not None:
        start = sorted(range(len(items)), key=indices.__getitem__)
        if set(map(type, items)) <= {int} and list(items) == list(indices):  # candidates without names
            return start
    else:
        places = shuffle(len(items), WordStream(source))
        start = sorted(places, key=_texts(items, places))
    try:
        return sorted(start, key=items.__getitem__)  # type: ignore[arg-type]
    except Exception:  # a label's own comparison may raise anything
        return sorted(start, key=_texts(items, start))


def _texts(items: Sequence[Hashable], order: Sequence[int]) -> Callable[[int], tuple[str, str]]:
    """The type and text of each, asked for in that order."""
    return {i: (type(items[i]).__name__, _text(items[i])) for i in order}.__getitem__


def _text(item: Hashable) -> str:
    """Without addresses in memory: objects that were made in the order of their scores would lie in that order."""
    try:
        return str(item) if type(item) in PLAIN else ADDRESS.sub("", str(item))
    except Exception:  # its own method may raise anything: then it reads like every other of its type
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Whatever a mechanism released beside the items; None for what it does not release.

    Parameters
    ----------
    values, soft_max, soft_min, gaps, p_value
        Noisy scores, and differences of noisy scores (one for each item), where the mechanism releases them.
    margins
        How far each value may be from the number it stands for, where it stands for one.
    answers
        The answers "above" of a sparse vector.
    largest
        False where the smallest were asked for. Values are the scores themselves, and gaps are leads, all the same.
    candidates
        How many candidates the caller declared public, where they have names; None where they come from the data.
    asked
        How many items were asked for, in one call of `top_k` or `select`.
    used, stopped, k
        Which way a mechanism with several went, whether a threshold or a limit ended the list, how many items it chose.
    kept
        What this very outcome cost, where that may be less than the guarantee: a ledger that reserved the charge may
        take back the rest (Theorem 38).
    q
        Of quantiles: which ones, one for each item.
    evidence
        What the gaps say about the scores: the law behind `Release.refine` and `Release.lower_bound`.
    """

    values: list[float] | None = None
    margins: list[Margin] | None = None
    soft_max: float | None = None
    soft_min: float | None = None
    gaps: list[float] | None = None
    p_value: float | None = None
    answers: list[Answer] | None = None
    largest: bool | None = None
    candidates: int | None = None
    asked: int | None = None
    used: str | None = None
    stopped: bool | None = None
    k: int | None = None
    kept: ExPost | None = None
    evidence: Evidence | None = None
    q: list[float] | None = None


NOTHING_ELSE = Extras()
"""Of a mechanism that releases items alone."""


def undo_negation(extras: Extras) -> Extras:
    """What came out of negated scores, about the scores themselves. Margins and leads are the same both ways."""
    values = None if extras.values is None else [0.0 - value for value in extras.values]
    soft_min = None if extras.soft_max is None else 0.0 - extras.soft_max
    return replace(extras, values=values, soft_max=None, soft_min=soft_min, largest=False)


class Readable:
    """What a release of one list and one of many groups have in common: how they are compared, shown and stored.

    `pages` writes the words; it is loaded when somebody reads, so that what draws and charges does not import it.
    """

    __slots__ = ()

    EXAMPLE: ClassVar[str]
    """A file that `save` may write."""

    if TYPE_CHECKING:
        guarantee: Guarantee
        mechanism: str
        unit: str
        neighbours: str
        secure: bool
        frame: Frame | None

        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Hashable]: ...

    def _page(self, module: str, name: str, *arguments: Any) -> Any:
        return lazy_import(f"shortlist.pages.{module}", name)(self, *arguments)

    @property
    def summary(self) -> str:
        """What came out, what it can give away and what is left, in a few sentences."""
        return str(self._page("summary", "in_words"))

    @property
    def remarks(self) -> list[str]:
        """How to read the table: sentences that hold for what came out, none if it speaks for itself."""
        return list(self._page("summary", "remarks"))

    @property
    def note(self) -> str:
        """All that goes with the table where nobody prints it: into the metadata of a frame or of a file."""
        return str(self._page("summary", "note_of"))

    def to_frame(self) -> Any:
        """A data frame in the caller's own kind: pandas, polars or pyarrow; or a table of the engine it came from.

        Of groups, all lists are in it, and the columns of the key come first. `note` goes along where that kind has a
        place for it: `attrs["shortlist"]` in pandas, the metadata of the schema in pyarrow, that of every column in
        Spark. polars, DuckDB and Ibis have none.
        """
        frame = self.frame or Frame(find_frame_library())
        return lazy_import("shortlist.release_io", "make_frame")(self.columns(), frame, self.note)

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
        return str(lazy_import("shortlist.release_io", "write_release")(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The release whose `text` `to_json` wrote, unchanged.

        Raises
        ------
        ValueError
            in one sentence, for a text that is no release, is damaged, or is of a version that is not known here.
        """
        return lazy_import("shortlist.release_io", "read_release")(cls, text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json()` to a file for `load`: whole or not at all, and a new one for its owner alone."""
        lazy_import("shortlist.release_io", "save_release")(self, path)

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
        with open(lazy_import("shortlist.release_io", "path_text")(path, cls.EXAMPLE), "rb") as file:
            return cls.from_json(file.read())

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write one self-contained HTML page: the list, what it can give away, how it was made and what was paid.

        Of groups it has every list. Everything in it is released or public. It needs no network, and reads well on a
        phone and on paper.

        Parameters
        ----------
        path
            The file, for example `"top10.html"`; what is there is replaced at once or not at all.
        title
            What the list is, for its heading; the number of items, or of lists, if left out.
        """
        self._page("release_page", "write_release", path, title)

    def columns(self) -> dict[str, list[Any]]:
        """The released table, column by column; of groups, those of the key first."""
        return dict(self._page("texts", "columns_of"))

    def texts(self, most: int | None = None) -> dict[str, list[str]]:
        """The table as a person reads it: numbers to six digits or with their margin, labels fit for a terminal.

        Of groups, only the first `most` if given.
        """
        return dict(self._page("texts", "texts_of", most))

    def line(self) -> str:
        """Guarantee, unit of privacy and mechanism, in one line; of groups the guarantee in all of them together."""
        return str(self._page("texts", "line_of"))

    def lines(self, columns: dict[str, list[str]] | None = None, remarks: Iterable[str] | None = None) -> str:
        """A table of these texts, a summary, `remarks`, and one line: guarantee, mechanism, unit."""
        return str(self._page("texts", "lines_of", columns, remarks))

    def __str__(self) -> str:
        return self.lines()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}: {self.line()}>"

    def _repr_html_(self) -> str:
        return str(self._page("texts", "html_of"))

    def __eq__(self, other: object) -> bool:
        """By content; a label 1 is not the label True, nor 1.0, and NaN in a label is the same as NaN."""
        if not isinstance(other, Release | GroupedRelease) or type(self) is not type(other):
            return NotImplemented
        names = [one.name for one in fields(other) if one.name != "items"]
        return self._identity() == other._identity() and all(getattr(self, n) == getattr(other, n) for n in names)

    def _identity(self) -> Hashable:
        """The items, or the keys of groups, in their order."""
        return getattr(self, "items", ()) is None, type_key(tuple(self))

    def __hash__(self) -> int:
        return hash((self._identity(), self.guarantee, self.mechanism, self.unit))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Release(Readable):
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

    EXAMPLE = "top10.json"
    margins: ClassVar[list[Margin] | None] = forward("extras.margins")
    soft_max: ClassVar[float | None] = forward("extras.soft_max")
    soft_min: ClassVar[float | None] = forward("extras.soft_min")
    gaps: ClassVar[list[float] | None] = forward("extras.gaps")
    p_value: ClassVar[float | None] = forward("extras.p_value")
    answers: ClassVar[list[Answer] | None] = forward("extras.answers")
    largest: ClassVar[bool | None] = forward("extras.largest")
    candidates: ClassVar[int | None] = forward("extras.candidates")
    asked: ClassVar[int | None] = forward("extras.asked")
    used: ClassVar[str | None] = forward("extras.used")
    stopped: ClassVar[bool | None] = forward("extras.stopped")
    k: ClassVar[int | None] = forward("extras.k")
    kept: ClassVar[ExPost | None] = forward("extras.kept")
    evidence: ClassVar[Evidence | None] = forward("extras.evidence")
    q: ClassVar[list[float] | None] = forward("extras.q")

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

    def __len__(self) -> int:
        """How many items were released: a release of none is false."""
        return len(self.items or ())

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.items or ())

    def __contains__(self, label: object) -> bool:
        return label in (self.items or ())

    @property
    def item(self) -> Hashable:
        """The one winner's label."""
        self._check_single("item", "items")
        return next(iter(self))

    @property
    def index(self) -> int:
        """The one winner's position in the scores."""
        self._check_single("index", "indices")
        if self.indices is None:
            raise AttributeError("positions are not public where candidates come from data or a table; read .item")
        return self.indices[0]

    @property
    def gap(self) -> float:
        """The one winner's gap."""
        self._check_single("gap", "gaps")
        return self._check_gaps("gap")[0]

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
        return lazy_import(ESTIMATES, "refine_release")(self, measurements, variance)

    def lower_bound(self, confidence: float) -> list[LowerBound]:
        """A lower bound of that `confidence` on each item's score, from its gap to the threshold; read its caveat."""
        return lazy_import(ESTIMATES, "bound_release")(self, "lower_bound", confidence)

    def upper_bound(self, confidence: float) -> list[UpperBound]:
        """Where the smallest were asked for: an upper bound of that `confidence` on each score; read its caveat."""
        return lazy_import(ESTIMATES, "bound_release")(self, "upper_bound", confidence)

    def _check_gaps(self, name: str) -> list[float]:
        """The gaps, for whoever asked for what is called `name`."""
        if self.gaps is None:
            raise AttributeError(f"this release has no gaps, so no .{name}; ask for them, as with gaps=True")
        return self.gaps

    def _check_single(self, one: str, many: str) -> None:
        if len(self) != 1:
            raise AttributeError(f"this release has {len(self)} items; read .{many} instead of .{one}")

    def as_set(self) -> Self:
        """The same items without their order, sorted by label; and without gaps, which would tell the order."""
        if self.items is None:
            return replace_fields(self, ordered=False)
        order, extras = by_label(self.items, self.indices, SECURE), self.extras
        values, margins = extras.values, extras.margins
        return replace_fields(
            self,
            items=list(map(self.items.__getitem__, order)),
            indices=None if self.indices is None else list(map(self.indices.__getitem__, order)),
            ordered=False,
            extras=replace_fields(
                extras, values=values and [values[i] for i in order], margins=margins and [margins[i] for i in order],
                gaps=None, answers=None, evidence=None,
            ),
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the released items, and nothing else, on `ax` or a new figure. Returns a matplotlib Axes."""
        return self._page("plots", "plot_release", ax)


refuse_changes(Release, "a release cannot be changed, nor its {}: it is what came out")
mark_pickles(Release)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GroupedRelease(Readable, Mapping[Hashable, Release]):
    """A mapping from the key of a group to its `Release`, under one guarantee. Everything in it is released or public.

    Public keys come in the order given, others sorted: of those only groups whose list is not empty.

    Parameters
    ----------
    releases
        The list of each group; its guarantee is `per_group`.
    by
        The columns that make a key, a tuple where there are several; none for lists of scores, keyed 0, 1, ..
    groups_per_user
        In how many groups one person counts, at most.
    guarantee, charge
        The promise to one person in all groups together, and what a ledger books for it, once.
    per_group
        The promise in each of them.
    frame, item_columns
        In words, which kind of frame `to_frame` makes; the columns that make an item, where there are several.
    notes, receipt
        What it means in words, and where the charge was booked; None without a ledger.
    unit, neighbours, secure, mechanism, why
        As in `Release`.

    Examples
    --------
    >>> import shortlist as sl
    >>> lists = sl.top_k([[90, 2, 50], [1, 70, 3]], 1, epsilon=8.0, monotone=True)
    >>> len(lists), lists[1].items, lists.per_group
    (2, [1], PureDP(epsilon=4.0))
    """

    releases: dict[Hashable, Release]
    by: tuple[str, ...]
    groups_per_user: int
    guarantee: Guarantee
    charge: Guarantee
    per_group: Guarantee
    unit: str
    neighbours: str
    secure: bool
    mechanism: str
    why: str
    notes: tuple[str, ...] = ()
    receipt: Receipt | None = None
    frame: Frame | None = None
    item_columns: tuple[str, ...] = ()

    EXAMPLE = "lists.json"
    used: ClassVar[None] = None
    """Which way a list went stands in its own release."""

    def __getitem__(self, key: Hashable) -> Release:
        return self.releases[key]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.releases)

    def __len__(self) -> int:
        """How many groups are listed."""
        return len(self.releases)

    def plot(self) -> list[Axes]:
        """Draw the lists side by side, 12 at most. Returns one matplotlib Axes for each."""
        return self._page("plots", "plot_groups")
