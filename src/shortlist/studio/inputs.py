"""What the page sends, checked: folders, columns, fields."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from shortlist._text import as_sentence, meant, terminal_safe
from shortlist.accounting.guarantees import ABSURD_EPSILON, as_epsilon
from shortlist.pages.summary import NEEDS, UNORDERED, page_remarks, risk
from shortlist.privacy import ApproxDP, Guarantee, PureDP
from shortlist.release import GroupedRelease, Release
from shortlist.tables.dialect import NO_NAMES, TextForm
from shortlist.tables.dialect import SEPARATORS as SEPARATORS_OF_FILES
from shortlist.tables.files import column_names, format_of

NO_COLUMN = re.compile(r"""^(\w+)=(?:'([^']*)'|"([^"]*)"): the table has no column of that name(.*)$""", re.DOTALL)
FOR_PROGRAMS = re.compile(r" \((?:see sl\.\w+|docs/[\w/-]+\.md(?:#[\w-]+)?)\)")

APPROVE = re.compile(r"approval \(`shortlist ledger approve LEDGER \d+`\); then")
"""The page has a view that names the ledger in this command."""


def page_words(text: str) -> str:
    """A sentence for somebody in front of a page, who knows its fields by their labels.

    >>> page_words("user='userid': the table has no column of that name; write it as the table does")
    'user: the table has no column userid; write it as the table does, or read the names of its columns'
    >>> page_words("0.1 to 3 are common (see sl.risk).")
    '0.1 to 3 are common.'
    """
    missing = NO_COLUMN.match(text)
    if missing:
        column, hint = missing[2] or missing[3], missing[4]
        if hint != NO_NAMES and not hint.startswith("; did you mean"):
            hint = f"; write it as the table does, or {READ}"
        return f"{missing[1]}: the table has no column {column}{hint}"
    return APPROVE.sub("approval, as “The ledgers” says; then", FOR_PROGRAMS.sub("", text))


def notes_shown(release: Release | GroupedRelease) -> list[str]:
    """What a reader of the lists has to know, each sentence once: not what the page says above them."""
    lists = [release] if isinstance(release, Release) else list(release.values())
    remarks = [remark for one in lists for remark in page_remarks(one) if remark != UNORDERED]
    shared = [note for one in lists[:1] for note in one.notes if all(note in other.notes for other in lists)]
    notes = [*remarks, *shared, *release.notes]
    said = (as_sentence(page_words(terminal_safe(note))) for note in notes if not _told_in(release.summary, note))
    return list(dict.fromkeys(said))


def _told_in(summary: str, note: str) -> bool:
    """Whether the summary says it already, or what a name needed to come out."""
    needs = NEEDS.search(note)
    return note in summary or (needs is not None and needs[0].strip(" ,") in summary)


READ = "read the names of its columns"


LEDGER_SECONDS = 5.0
"""How long a request waits for a ledger that another process has locked; one charge takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a studio that is asked too much from locking its own user out."""

    connections: int = 32
    """Open at a time; each has a thread and a descriptor."""
    silence: float = 15.0
    """Seconds until a silent connection is closed."""
    plans: int = 2
    """Computed at a time; others wait."""
    plan_seconds: float = 20.0
    """How long a plan may wait, and how long the process that computes it may take until it is ended."""


class BusyError(Exception):
    """The studio has as much to do as it takes on. The sentence says what to do."""


class Connections:
    """So many at a time. A new one takes the place of the one that has waited longest without being served."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._served: dict[socket.socket, bool] = {}
        self._changed = threading.Condition()

    def __len__(self) -> int:
        with self._changed:
            return len(self._served)

    def enter(self, connection: socket.socket) -> bool:
        """Let one in, if there is room or an idle one makes room; False if all are being served."""
        with self._changed:
            if len(self._served) >= self._most:
                idle = next((one for one, served in self._served.items() if not served), None)
                if idle is None:
                    return False
                with contextlib.suppress(OSError):
                    idle.shutdown(socket.SHUT_RDWR)  # its thread finds it closed, and leaves
                if not self._changed.wait_for(lambda: idle not in self._served, GRACE):
                    return False
            self._served[connection] = False
            return True

    def serve(self, connection: socket.socket, served: bool) -> None:
        """Note whether one is being served: then it may stay. The one that was served last is the last to go."""
        with self._changed:
            if self._served.pop(connection, None) is not None:
                self._served[connection] = served

    def leave(self, connection: socket.socket) -> None:
        with self._changed:
            self._served.pop(connection, None)
            self._changed.notify_all()


GRACE = 5.0
"""Seconds for a thread to find its connection closed: far more than it takes."""


TABLES = (".parquet", ".pq", ".csv", ".tsv", ".jsonl", ".ndjson", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz")
LISTS = (".txt", ".text", ".lst")
LEDGERS = (".db", ".ledger")
NEEDED = {
    "table": "choose a table of the folder",
    "candidates": "choose the file with the public list, or another way to get candidates",
    "ledger": "choose the ledger that pays, or make one right below",
}
"""What to do where no file was named."""
MOST = 500
"""So many files are offered at most."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, and the files in it and in the folders right below."""

    root: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Folder:
        root = Path(path).resolve()
        if not root.is_dir():
            raise ValueError(f"{path} is not a folder; name the one that holds the tables")
        return cls(root)

    def inside(self, name: object, kinds: tuple[str, ...], what: str, *, there: bool = True) -> Path:
        """The file of that name, if it lies in the folder once all links are followed, and is of that kind."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError(f"{what}: {NEEDED.get(what, 'name a file of the folder')}")
        try:
            path = (self.root / name).resolve()
            path.exists()  # a name that is too long
        except (OSError, RuntimeError, ValueError):
            raise ValueError(f"{what}: that is no name of a file") from None
        if not path.is_relative_to(self.root) or path == self.root:
            raise PermissionError(f"{what}: only files of the studio's folder may be used")
        parts = path.relative_to(self.root).parts
        if len(parts) > 2 or any(part.startswith(".") for part in parts):
            raise PermissionError(
                f"{what}: only files that the studio lists may be used, none that are hidden or deeper"
            )
        if not path.name.lower().endswith(kinds):
            raise ValueError(f"{what}: the name must end in {', '.join(kinds)}")
        if there and not path.is_file():
            raise FileNotFoundError(f"{what}: there is no such file in the folder")
        return path

    def check_still_inside(self, files: Mapping[str, Path]) -> None:
        """Refuse files that `inside` found if one of them, or a folder above it, is gone, a link or a pipe now."""
        for what, path in files.items():
            try:
                same = path.resolve() == path and path.is_relative_to(self.root) and path.is_file()
            except (OSError, RuntimeError):  # a link that leads back to itself
                same = False
            if not same:
                raise PermissionError(f"{what}: it is not the file of the plan any more; look at the plan again")

    def files(self, kinds: tuple[str, ...]) -> list[dict[str, Any]]:
        """Names, and sizes to one digit: the exact one would count the rows."""
        files = sorted(islice(self._walk(kinds), MOST))
        return [{"name": name, "bytes": int(float(f"{size:.0e}"))} for name, size in files]

    def _walk(self, kinds: tuple[str, ...]) -> Any:
        below = [self.root, *(Path(one.path) for one in _entries(self.root) if one.is_dir(follow_symlinks=False))]
        for folder in below:
            for entry in _entries(folder):
                if entry.name.lower().endswith(kinds) and entry.is_file(follow_symlinks=False):
                    yield str(Path(entry.path).relative_to(self.root)), entry.stat().st_size

    def words(self, error: Exception) -> str:
        """What an error of ours says, in the words of the page and with the names of files as it shows them."""
        return page_words(str(error).replace(f"{self.root}{os.sep}", ""))

    def without(self, text: str) -> str:
        """A text that names places, without where the folder itself is on this machine."""
        return text.replace(f"{self.root}{os.sep}", "").replace(f" in {self.root}", "")

    def name(self, path: Path) -> str:
        """The path as the page and the code show it."""
        return str(path.relative_to(self.root))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []


NEEDED_FIELDS = {
    "user": "write which column says who a row is about, for example user_id",
    "item": "write which column holds the items, for example film; several go with commas",
    "value": "write which column holds the number or the date, for example age",
    "lower": "write the smallest value that you expect, a public number or a date such as 2024-01-31",
    "upper": "write the largest value that you expect, a public number or a date such as 2024-12-31",
    "name": "write a name for the file, for example budget.db",
}
"""What an empty field is missing."""
EXAMPLES = {"epsilon": "0.5", "delta": "1e-6"}


def text_in(request: dict[str, Any], name: str, *, needed: bool = True) -> str:
    """A text of the page, that can be seen."""
    value = request.get(name, "")
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError(f"{name}: write a text of at most 1,000 characters")
    if not value.isprintable():
        raise ValueError(f"{name}: write it without line breaks and other signs that cannot be seen")
    if needed and not value:
        raise ValueError(f"{name}: {NEEDED_FIELDS[name]}")
    return value


def columns_in(request: dict[str, Any], name: str) -> tuple[str, ...]:
    """Columns from "film, country"; one with a comma in its name stands in quotes."""
    return split(text_in(request, name), name)


def split(line: str, name: str) -> tuple[str, ...]:
    """The words of one line, between commas."""
    try:
        words = tuple(word.strip() for word in next(csv.reader([line], skipinitialspace=True, strict=True)))
    except (csv.Error, StopIteration):
        raise ValueError(f'{name}: put quotes around the whole of a name with a comma, as in "a, b"') from None
    if not all(words):
        raise ValueError(f"{name}: there is a comma with nothing beside it; take it away")
    return words


def separator_in(request: dict[str, Any]) -> str | None:
    """What stands between the fields of a CSV file; None for a comma."""
    value = request.get("separator")
    if value in (None, "", ","):
        return None
    if value not in (";", "\t", "|"):
        raise ValueError("separator: choose a comma, a semicolon, a bar or a tab")
    return str(value)


def groups_in(request: dict[str, Any]) -> tuple[str, ...]:
    """The public keys, from "CH, DE, FR"; refused without the column they are in."""
    words = text_in(request, "groups", needed=False).split(",")
    groups = tuple(word.strip() for word in words if word.strip())
    if groups and not text_in(request, "by", needed=False):
        raise ValueError("by: write the column that says to which group a row belongs, or take the groups away")
    return groups


def budget_in(request: dict[str, Any]) -> PureDP | ApproxDP:
    """What may be spent."""
    epsilon, delta = _number(request, "epsilon"), request.get("delta")
    if delta in (None, "", 0):
        return PureDP(epsilon)
    return ApproxDP(epsilon, _number(request, "delta"))


def check_large(guarantee: Guarantee, request: dict[str, Any]) -> None:
    """Refuse what promises nobody anything, unless the tick says that it is known."""
    if not flag_in(request, "large") and as_epsilon(guarantee) > ABSURD_EPSILON:
        raise ValueError(
            f"epsilon: above {ABSURD_EPSILON:g} it promises nobody anything ({risk(guarantee).in_short}); write a "
            "smaller one, 0.1 to 3 are common, or tick that you know it, if the data are public or made up"
        )


def _number(request: dict[str, Any], name: str) -> float:
    value = request.get(name)
    _check_comma(value, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name}: write a number above 0, for example {EXAMPLES[name]}")
    return float(value)


def _check_comma(value: object, name: str) -> None:
    """A comma is refused in words: whether it parts decimals or thousands, only who wrote it knows."""
    if isinstance(value, str) and "," in value:
        raise ValueError(f"{name}: write decimals with a point (0.5), and thousands without a comma")


def whole_in(request: dict[str, Any], name: str) -> int:
    """A whole number of the page."""
    value = request.get(name)
    _check_comma(value, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise ValueError(f"{name}: write a whole number from 1 to 1,000,000")
    return value


def flag_in(request: dict[str, Any], name: str) -> bool:
    """A tick of the page."""
    value = request.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name}: true or false")
    return value


"""So many names are offered at most."""
SHOWN = 8
"""So many are told beside one that is none of them."""
SEPARATORS = (";", "\t", "|")
"""What may stand between fields in place of a comma."""

READ_COLUMNS = {
    "parquet": "The footer of the file was read: the names of its columns, no rows.",
    "json": "The first line of the file was read, which is a row of data; only the names of its fields are shown.",
}
HEADER = (
    "The first line of the file was read, nothing else. If it is a person's row, stop here: add a line of names to the "
    "file first."
)
NO_NAME = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|.*@.*")
"""A number, a date or an address of mail: what stands in rows, and hardly ever above a column."""
QUOTES = " \"'"
"""What may stand around a cell, with blanks."""


def columns_of(folder: Folder, request: dict[str, Any]) -> dict[str, Any]:
    """What the columns of the chosen table are called, what was read, and what may part its fields.

    Raises
    ------
    ValueError, OSError
        if there is no such table; for JSON lines, whose names stand in rows, unless the first line is allowed; for a
        first line of text that looks like a row of data, without a word of it.
    """
    path = folder.inside(request.get("table"), TABLES, "table")
    kind = format_of(str(path)) or ""
    if kind == "json" and not flag_in(request, "first_line"):
        raise ValueError(
            "table: JSON lines have no header, so the names stand in the first row of data; allow that it is read, or "
            "write the names yourself"
        )
    separator = separator_in(request) if kind == "csv" else None
    header = column_names(str(path), TextForm.of(False, separator))
    if kind not in READ_COLUMNS and any(NO_NAME.fullmatch(cell.strip(QUOTES)) for cell in _cells(header)):
        raise ValueError(
            "table: the first line of the file looks like a row of data, so it is not shown; the first line must hold "
            "the names of the columns: add such a line, or write the names yourself if it is one"
        )
    names = [name for name in header if name and name.isprintable()]
    return {
        "columns": names[:MOST],
        "all": kind != "json" and len(names) <= MOST,  # a line of JSON need not have all fields
        "read": READ_COLUMNS.get(kind, HEADER),
        "between": next((one for one in SEPARATORS if kind == "csv" and len(header) == 1 and one in header[0]), None),
    }


def _cells(header: list[str]) -> list[str]:
    """What may be cells of a first line that was cut at another separator than its own: one with 3,5 in a line of
    semicolons is cut into two fields, and neither of them looks like a number."""
    between = SEPARATORS_OF_FILES if len(header) == 1 else SEPARATORS_OF_FILES.replace(":", "")  # a name may have one
    return [*header, *(cell for name in header for cell in re.split(f"[{between}]", name))]


def check_columns(request: dict[str, Any], columns: Iterable[tuple[str, str]]) -> None:
    """Compare (field, column) with the names that the page has read, if its user asked for them. No file is opened.

    Raises
    ------
    ValueError
        naming the field, and what the table has instead.
    """
    known = request.get("columns")
    if known is None:
        return
    if not isinstance(known, list) or not known or not all(isinstance(name, str) for name in known):
        raise ValueError("table: read the names of the columns again")
    for field, column in columns:
        if column and column not in known:
            near = meant(column, known) or f"; it has {', '.join(known[:SHOWN])}{', …' if len(known) > SHOWN else ''}"
            raise ValueError(f"{field}: the table has no column {column}{near}")
