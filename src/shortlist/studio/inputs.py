"""What the page sends, checked: files of the folder, columns, fields."""

from __future__ import annotations

import csv
import datetime
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from shortlist._text import suggest, terminal_safe
from shortlist.accounting.guarantees import ABSURD_EPSILON, as_epsilon
from shortlist.errors import Argument, ForPython, Text
from shortlist.pages.summary import NEEDS, UNORDERED, as_sentence, page_remarks, risk
from shortlist.privacy import ApprovalNeeded, ApproxDP, Guarantee, Ledger, PureDP
from shortlist.query import OPTIONS
from shortlist.release import GroupedRelease, Release
from shortlist.scores import read_bound
from shortlist.tables.columns import TextForm
from shortlist.tables.dialect import NO_NAMES
from shortlist.tables.dialect import SEPARATORS as SEPARATORS_OF_FILES
from shortlist.tables.files import column_names, format_of


def error_text(error: Exception) -> str:
    """An error of ours for somebody in front of a page, who knows its fields by their labels.

    >>> from shortlist.errors import bad_value
    >>> said = "$user='userid': the table has no column of that name; write it as the table does"
    >>> error_text(bad_value(said, column="userid", hint="; write it as the table does"))
    'user: the table has no column userid; write it as the table does, or read the names of its columns'
    """
    if isinstance(error, ApprovalNeeded):  # the page has a view that names the ledger in this command
        command = f"approval (`shortlist ledger approve LEDGER {error.request}`)"
        return str(error).replace(command, "approval, as “The ledgers” says")
    text = error.args[0] if error.args else None
    if not isinstance(text, Text):
        return str(error)
    first, column, hint = text.parts[0], text.facts.get("column"), text.facts.get("hint", "")
    if isinstance(first, Argument) and first.value and column is not None and ": the table has no column" in text:
        if hint != NO_NAMES and not hint.startswith("; did you mean"):
            hint = "; write it as the table does, or read the names of its columns"
        return f"{first.name}: the table has no column {column}{hint}"
    return "".join(str(part) for part in text.parts if not isinstance(part, ForPython))


def notes_of(release: Release | GroupedRelease) -> list[str]:
    """What a reader of the lists has to know, each sentence once: not what the page says above them."""
    lists = [release] if isinstance(release, Release) else list(release.values())
    remarks = [remark for one in lists for remark in page_remarks(one) if remark != UNORDERED]
    shared = [note for one in lists[:1] for note in one.notes if all(note in other.notes for other in lists)]
    notes = [*remarks, *shared, *release.notes]
    # The summary may say it already, or what a name needed to come out.
    facts = [(note, needs[0].strip(" ,") if (needs := NEEDS.search(note)) else note) for note in notes]
    said = [note for note, fact in facts if note not in release.summary and fact not in release.summary]
    return list(dict.fromkeys(as_sentence(terminal_safe(note)) for note in said))


LEDGER_SECONDS = 5.0
"""How long a request waits for a ledger that another process has locked; one charge takes milliseconds."""


def open_ledger(path: Path) -> Ledger:
    """The ledger in a file, for one request."""
    return Ledger(path, wait=LEDGER_SECONDS)


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
            raise PermissionError(f"{what}: only files that the studio lists may be used, none hidden or deeper")
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
        below = [self.root, *(Path(one.path) for one in _entries(self.root) if one.is_dir(follow_symlinks=False))]
        entries = (one for folder in below for one in _entries(folder) if one.name.lower().endswith(kinds))
        files = islice((one for one in entries if one.is_file(follow_symlinks=False)), MOST)
        sizes = sorted((self.name(Path(one.path)), one.stat().st_size) for one in files)
        return [{"name": name, "bytes": int(float(f"{size:.0e}"))} for name, size in sizes]

    def words(self, error: Exception) -> str:
        """What an error of ours says, in the words of the page and with the names of files as it shows them."""
        return error_text(error).replace(f"{self.root}{os.sep}", "")

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


class FieldError(ValueError):
    """A field that holds what it must not; the sentence says what to write."""


def read_text(value: object) -> str:
    """A text that can be seen."""
    if not isinstance(value, str) or len(value) > 1000:
        raise FieldError("write a text of at most 1,000 characters")
    if not value.isprintable():
        raise FieldError("write it without line breaks and other signs that cannot be seen")
    return value


def read_words(value: object) -> tuple[str, ...]:
    """Names from "film, country"; one with a comma in it stands in quotes."""
    try:
        words = tuple(word.strip() for word in next(csv.reader([read_text(value)], skipinitialspace=True, strict=True)))
    except (csv.Error, StopIteration):
        raise FieldError('put quotes around the whole of a name with a comma, as in "a, b"') from None
    if not all(words):
        raise FieldError("there is a comma with nothing beside it; take it away")
    return words


def read_number(value: object) -> float:
    """A number above 0. A comma is refused: whether it parts decimals or thousands, only who wrote it knows."""
    if isinstance(value, str) and "," in value:
        raise FieldError("write decimals with a point (0.5), and thousands without a comma")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise ValueError
    return float(value)


def read_whole(value: object) -> int:
    """A whole number."""
    number = read_number(value)
    if not isinstance(value, int) or number > 1_000_000:
        raise ValueError
    return int(value)


def read_flag(value: object) -> bool:
    """A tick."""
    if not isinstance(value, bool):
        raise ValueError
    return value


def read_separator(value: object) -> str | None:
    """What stands between the fields of a CSV file; None for a comma."""
    if value not in (",", *SEPARATORS):
        raise ValueError
    return None if value == "," else str(value)


def read_groups(value: object) -> list[str]:
    """The public keys, from "CH, DE, FR"."""
    return [word.strip() for word in read_text(value).split(",") if word.strip()]


def read_quantiles(value: object) -> list[float]:
    """From "0.25, 0.5". 0,1 might be meant as a decimal, and is asked about."""
    text = read_text(value)
    if re.search(r"\d,\d", text) and "." not in text:
        raise FieldError("write decimals with a point (0.5), and a space after a comma between two of them")
    return list(map(float, text.split(",")))


def read_end(value: object) -> int | float | datetime.date:
    """A number or a day."""
    return read_bound(read_text(value).strip())


SEPARATORS = (";", "\t", "|")
"""What may stand between fields in place of a comma."""
NUMBER, WHOLE = "write a number above 0, for example ", "write a whole number from 1 to 1,000,000"
COLUMN, END = "write which column ", "write a public number, or a date such as 2024-01-31"
EXPECTED = "write the {} value that you expect, a public number or a date such as {}"


class Field(NamedTuple):
    """A field of the page, by the name that the page and the library's functions give it."""

    read: Callable[[object], Any]
    needed: str = ""
    """What to write where it is empty; "" if it may be."""
    kind: str = ""
    """What to write where it holds something else."""


YES_OR_NO = Field(read_flag, kind="true or false")
BY_TYPE = {"str | None": Field(read_text), "int | None": Field(read_whole, kind=WHOLE), "bool": YES_OR_NO}
"""How an option of tables is read that has no words of its own below."""
ASKED = {
    "k": Field(read_whole, WHOLE, WHOLE),
    "user": Field(read_text, f"{COLUMN}says who a row is about, for example user_id"),
    "item": Field(read_words, f"{COLUMN}holds the items, for example film; several go with commas"),
    "value": Field(read_text, f"{COLUMN}holds the number or the date, for example age"),
    "q": Field(read_quantiles, kind="write numbers from 0 to 1, for example 0.25, 0.5, 0.75"),
    "lower": Field(read_end, EXPECTED.format("smallest", "2024-01-31"), END),
    "upper": Field(read_end, EXPECTED.format("largest", "2024-12-31"), END),
    "step": Field(read_end, kind=END),
    "most": BY_TYPE["int | None"],
    **dict.fromkeys(("where", "by"), Field(read_text)),
    "groups": Field(read_groups),
    "groups_per_user": BY_TYPE["int | None"],
    **dict.fromkeys(("ordered", "values", "smallest"), YES_OR_NO),
    "unit": Field(read_text),
    "separator": Field(read_separator, kind="choose a comma, a semicolon, a bar or a tab"),
}
"""Fields that are arguments of the library's functions, in the order of a program."""
ASKED |= {one.name: BY_TYPE[one.type] for one in OPTIONS.values()
          if one.part == "table" and one.name not in ASKED and one.type in BY_TYPE}  # fmt: skip
FIELDS = ASKED | {
    "epsilon": Field(read_number, f"{NUMBER}0.5", f"{NUMBER}0.5"),
    "delta": Field(read_number, kind=f"{NUMBER}1e-6"),
    "purpose": Field(read_text),
    "name": Field(read_text, "write a name for the file, for example budget.db"),
    **dict.fromkeys(("large", "first_line"), YES_OR_NO),
}
"""All fields that hold one value."""


def read_field(request: Mapping[str, Any], name: str) -> Any:
    """What a field holds; None where it is empty.

    Raises
    ------
    ValueError
        naming the field, and what to write.
    """
    read, needed, kind = FIELDS[name]
    value = request.get(name)
    if value is None or value == "":
        if needed:
            raise ValueError(f"{name}: {needed}")
        return None
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error if isinstance(error, FieldError) else kind}") from None


def read_budget(request: Mapping[str, Any]) -> PureDP | ApproxDP:
    """What may be spent."""
    epsilon, delta = read_field(request, "epsilon"), request.get("delta") != 0 and read_field(request, "delta")
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def check_large(guarantee: Guarantee, request: Mapping[str, Any]) -> None:
    """Refuse what promises nobody anything, unless the tick says that it is known."""
    if not read_field(request, "large") and as_epsilon(guarantee) > ABSURD_EPSILON:
        raise ValueError(
            f"epsilon: above {ABSURD_EPSILON:g} it promises nobody anything ({risk(guarantee).in_short}); write a "
            "smaller one, 0.1 to 3 are common, or tick that you know it, if the data are public or made up"
        )


SHOWN = 8
"""So many names are told beside one that is none of them."""
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
    if kind == "json" and not read_field(request, "first_line"):
        raise ValueError(
            "table: JSON lines have no header, so the names stand in the first row of data; allow that it is read, or "
            "write the names yourself"
        )
    separator = read_field(request, "separator") if kind == "csv" else None
    header = column_names(str(path), TextForm.of(False, separator))
    # A line that was cut at another separator than its own: one with 3,5 among semicolons is cut into two fields, and
    # neither of them looks like a number. A name may have a colon.
    between = SEPARATORS_OF_FILES if len(header) == 1 else SEPARATORS_OF_FILES.replace(":", "")
    cells = [*header, *(cell for name in header for cell in re.split(f"[{between}]", name))]
    if kind not in READ_COLUMNS and any(NO_NAME.fullmatch(cell.strip(QUOTES)) for cell in cells):
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
            near = suggest(column, known) or f"; it has {', '.join(known[:SHOWN])}{', …' if len(known) > SHOWN else ''}"
            raise ValueError(f"{field}: the table has no column {column}{near}")
