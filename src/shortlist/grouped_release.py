"""The answer for every group: a release each, and one guarantee for all of them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from shortlist._arrays import Frame, installed_frame
from shortlist._files import checked_path, json_path, write_text
from shortlist._frames import NUMBERS, released_frame
from shortlist._text import NOISY, as_texts, terminal_safe, text_table
from shortlist.pages.plots import plot_groups
from shortlist.pages.release_page import write_groups
from shortlist.pages.summary import groups_in_words, groups_remarks, leads_named, note_of, notes_in_words
from shortlist.pages.theme import card
from shortlist.release import FIGURES, Release
from shortlist.release_io import read_groups, written_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shortlist.ledger.ledger import Receipt
    from shortlist.privacy import Guarantee

SHOWN = 12
"""Groups that are printed; all of them are in `to_frame()`."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GroupedRelease(Mapping[Hashable, Release]):
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

    def __getitem__(self, key: Hashable) -> Release:
        return self.releases[key]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.releases)

    def __len__(self) -> int:
        """How many groups are listed."""
        return len(self.releases)

    def columns(self) -> dict[str, list[Any]]:
        """The released table, column by column: those of the key first."""
        tables = [(key, release.columns()) for key, release in self.releases.items()]
        nothing = self.item_columns or ("item",)
        names = list(dict.fromkeys(name for _, table in tables for name in table) or nothing)
        keys = self._key_columns(names)
        cells: dict[str, list[Any]] = {name: [] for name in (*keys, *names)}
        for key, table in tables:
            many = len(next(iter(table.values())))
            parts: Any = key if len(keys) > 1 else (key,)
            for name, part in zip(keys, parts, strict=True):
                cells[name] += [part] * many
            for name in names:
                cells[name] += table.get(name, [None] * many)
        return cells

    def _key_columns(self, taken: list[str]) -> list[str]:
        """The columns of the key, renamed where a release has one of that name."""
        columns: list[str] = []
        for column in self.by or ("group",):
            name = column
            while name in (*NUMBERS, *taken, *columns):
                name = f"group {name}"
            columns.append(name)
        return columns

    def to_frame(self) -> Any:
        """One data frame of all lists, in the caller's own kind; the columns of the key come first.

        `note` goes along as in `Release.to_frame`.
        """
        return released_frame(self.columns(), self.frame or Frame(installed_frame()), self.note)

    def to_json(self) -> str:
        """Everything in it as one line of JSON, for `from_json` (docs/release-format.md)."""
        return written_groups(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """What `to_json` wrote to `text`, unchanged.

        Raises
        ------
        ValueError
            in one sentence, for a text that is no grouped release, is damaged, or of a version not known here.
        """
        words = read_groups(text)
        words["releases"] = {key: Release(**one) for key, one in words["releases"]}
        return cls(**words)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json()` to a file for `load`: whole or not at all, and a new one for its owner alone."""
        write_text(json_path(path, "lists.json"), self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """What `save` wrote to `path`, unchanged."""
        with open(checked_path(path, "lists.json"), "rb") as file:
            return cls.from_json(file.read())

    def plot(self) -> list[Axes]:
        """Draw the lists side by side, 12 at most. Returns one matplotlib Axes for each."""
        return plot_groups(self)

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write one self-contained HTML page: every list, what all of them can give away, and what was paid.

        Parameters
        ----------
        path
            The file, for example `"lists.html"`; what is there is replaced at once or not at all.
        title
            What the lists are, for its heading; how many there are if left out.
        """
        write_groups(self, path, title)

    @property
    def used(self) -> str | None:
        """None: which way a list went stands in its own release."""
        return None

    def texts(self, most: int | None = None) -> dict[str, list[str]]:
        """The table as a person reads it, of `most` groups at most."""
        some = self if most is None or len(self) <= most else self._first(most)
        plain = any(one.q is not None for one in self.values())
        return leads_named(as_texts(some.columns(), () if plain else NOISY), self.values())

    def _first(self, most: int) -> GroupedRelease:
        words = {one.name: getattr(self, one.name) for one in fields(self)}
        words["releases"] = dict(list(self.releases.items())[:most])
        return GroupedRelease(**words)

    @property
    def summary(self) -> str:
        """What came out, what all lists together can give away and what is left, in a few sentences."""
        return groups_in_words(self)

    @property
    def note(self) -> str:
        """All that goes with the table where nobody prints it: into the metadata of a frame or of a file."""
        return note_of(self)

    @property
    def remarks(self) -> list[str]:
        """How to read the table, and what the notes of every list say."""
        return groups_remarks(self)

    def line(self) -> str:
        """The guarantee in all groups, mechanism, unit of privacy, in one line."""
        warning = "" if self.secure else "  [seeded randomness: for tests, not private]"
        groups = f"{self.groups_per_user} group{'s' * (self.groups_per_user != 1)}"
        return terminal_safe(
            f"{self.guarantee} for one {self.unit} ({self.neighbours}) in all groups, who is in {groups} at most, by "
            f"{self.mechanism}{warning}"
        )

    def lines(self, columns: dict[str, list[str]], remarks: Iterable[str] | None = None) -> str:
        """A table of these texts (`columns`), a summary, `remarks`, and what holds for all groups."""
        return self._under(text_table(columns, self._right()), self.remarks if remarks is None else remarks)

    def _right(self) -> tuple[str, ...]:
        """Columns of numbers; a key may have a name that is theirs no more."""
        return tuple(name for name in FIGURES if name not in self.by)

    def _under(self, table: str, remarks: Iterable[str]) -> str:
        said = [self.summary, *remarks, self.line(), *notes_in_words(self)]
        return "\n".join([table, "", *said])

    def __str__(self) -> str:
        more = f"\n.. and {len(self) - SHOWN} more groups" if len(self) > SHOWN else ""
        return self._under(text_table(self.texts(SHOWN), self._right()) + more, self.remarks)

    def __repr__(self) -> str:
        return f"<GroupedRelease of {len(self)}: {self.line()}>"

    def _repr_html_(self) -> str:
        more = [f".. and {len(self) - SHOWN} more groups"] if len(self) > SHOWN else []
        return card(self.texts(SHOWN), None, self.summary, [*more, self.line(), *notes_in_words(self)], self.remarks)

    def __eq__(self, other: object) -> bool:
        """By content, and by the order of the groups."""
        if not isinstance(other, GroupedRelease):
            return NotImplemented
        same = all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self))
        return same and [(type(key), key) for key in self] == [(type(key), key) for key in other]

    def __hash__(self) -> int:
        return hash((tuple(self.releases), self.by, self.guarantee, self.unit))
