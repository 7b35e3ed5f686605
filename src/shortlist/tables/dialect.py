"""The dialect of text tables, checked on the bytes before DuckDB reads them: one physical line is one row.

Packed files are read as DuckDB reads them: gzip by the standard library, zstd by an optional one.

A reader that follows a quote to wherever the next one stands lets one person's line swallow everybody's in between.
Here a quote opens and closes on its line and inside one field, or the whole file is refused. The check runs over
blocks of whole lines, at the speed of numpy.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import IO, Any, TypeVar

import numpy as np

from shortlist._runtime import IMPORTS, MissingPackageError
from shortlist.errors import Text
from shortlist.tables.errors import TableError

Result = TypeVar("Result")

BLOCK = 1 << 24
"""Bytes that are looked at together."""
LONGEST = 2_000_000
"""Bytes of a line: DuckDB's own limit."""
MARK = b"\xef\xbb\xbf"
"""UTF-8's byte order mark, which may stand at the start of a file."""
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""So UTF-16 begins, as spreadsheets write it; UTF-8 never does."""
NEWLINE, RETURN, QUOTE = b'\n\r"'
ENDLESS = f"a line is longer than {LONGEST:,} bytes"
OPEN = (
    "a quote opens on one line and does not close on it. If fields may hold line breaks, and you trust whoever wrote "
    "the file, write $multiline=True"
)
STRAY = 'a quote stands where none may: quote a whole field or nothing of it, and write "" for a quote inside'
NEVER = "a quote is opened and never closed"
RETURNS = "it has a carriage return inside a line; end lines with LF or CRLF"
MIXED = "some of its lines end with CRLF and some with LF; write them all alike"
NUL = "it holds NUL bytes, so it is no UTF-8 text; convert the file first"

NO_NAMES = "; none of the names you gave is in its first line: has the file a line of names?"
SEPARATORS = ",;|:\t"
"""What may stand between the fields of a CSV file."""


def separator_hint(header: list[str], wanted: Iterable[str]) -> str:
    """What to write where the header is one field, and another separator makes a `wanted` name of it; else nothing.

    Of the header, which may be a row of data, it tells nothing but that a name is there that was asked for.

    >>> separator_hint(["who;what"], ["what"])
    "; its first line is one single field: if ';' separates the fields, write $separator=';'"
    """
    for one in SEPARATORS:
        names = [name.strip().strip('"') for name in header[0].split(one)] if len(header) == 1 else []
        if len(names) > 1 and not {*wanted}.isdisjoint(names):
            return f"; its first line is one single field: if {one!r} separates the fields, write $separator={one!r}"
    return ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Fields between separators, a header in the first line; with quotes (CSV) or without any (TSV)."""

    separator: str
    quoted: bool
    multiline: bool = False
    """Whether quoted fields may hold line breaks: for a file whose writer is trusted."""

    def options(self) -> str:
        """What DuckDB is told. Rows over several lines need its reader of one thread."""
        quote = '"' if self.quoted else ""
        return (
            f"auto_detect = false, header = true, delim = '{self.separator}', quote = '{quote}', escape = '{quote}', "
            "strict_mode = true, ignore_errors = false, null_padding = false, allow_quoted_nulls = false, "
            f"max_line_size = {LONGEST}{', parallel = false' if self.multiline else ''}"
        )

    def header(self, path: str) -> list[str]:
        """The names in the first line, which is one line in every dialect."""
        first = read(path, lambda file: file.readline(LONGEST + 1)).removeprefix(MARK)
        line = first.removesuffix(b"\n").removesuffix(b"\r") if first.endswith(b"\n") else first
        names = None if b"\r" in line or b"\0" in line or len(line) > LONGEST else self._fields(line)
        if line.startswith(WIDE_MARKS):
            wrong = "its header is no line of UTF-8 text but of UTF-16; save it as UTF-8"
        elif names is None:
            wrong = (
                f"its header is no line of UTF-8 text that names the columns with {self.separator!r} between them; "
                "save the file as UTF-8, or say its separator"
            )
        elif names == [""]:
            wrong = "it has no header with the names of its columns"
        else:
            return names
        raise TableError(f"{path} cannot be counted: {wrong}")

    def _fields(self, line: bytes) -> list[str] | None:
        try:
            words = line.decode()
        except UnicodeDecodeError:
            return None
        if not self.quoted or '"' not in words:
            return words.split(self.separator)
        between = re.escape(self.separator)
        field = rf'"(?:[^"]|"")*"|[^"{between}]*'
        if not re.fullmatch(f"(?:{field})(?:{between}(?:{field}))*", words):
            return None
        fields = re.findall(f"(?:^|{between})({field})", words)
        return [one[1:-1].replace('""', '"') if one.startswith('"') else one for one in fields]

    def check(self, path: str) -> None:
        """Refuse a file in which one line could change how another is read.

        Raises
        ------
        TableError
            saying what is wrong, not where: that would count rows.
        """
        wrong = read(path, self._wrong)
        if wrong is not None:
            raise TableError(Text(f"{path} cannot be counted: {wrong}"))

    def _wrong(self, file: IO[bytes]) -> str | None:
        inside, pairs = False, None
        for block in _blocks(file):
            if block is None:
                return ENDLESS
            if b"\0" in block:
                return NUL
            if not self.multiline:  # where fields hold line breaks, DuckDB looks at those outside of quotes
                pairs = block[: block.find(b"\n")].endswith(b"\r") if pairs is None else pairs
                said = _ends(block, pairs)
                if said is not None:
                    return said
            if self.quoted and b'"' in block:
                said, inside = self._check_quotes(block, inside)
                if said is not None:
                    return said
        return NEVER if inside else None

    def _check_quotes(self, block: bytes, inside: bool) -> tuple[str | None, bool]:
        """(what is wrong, whether a quoted field goes on after the block), for a block that begins with a line."""
        letters = np.frombuffer(block if block.endswith(b"\n") else block + b"\n", np.uint8)
        places = np.flatnonzero(letters == QUOTE if self.multiline else (letters == QUOTE) | (letters == NEWLINE))
        marks = letters[places] == QUOTE
        if (np.bitwise_xor.accumulate(marks) & ~marks).any():  # a line that ends after an odd number of quotes
            return OPEN, False
        quotes = places[marks]
        before, after = letters[quotes[inside::2] - 1], letters[quotes[not inside :: 2] + 1]
        if not (self._edge(before).all() and (self._edge(after) | (after == RETURN)).all()):
            return STRAY, False
        return None, inside != bool(len(quotes) % 2)

    def _edge(self, letters: np.ndarray[Any, np.dtype[np.uint8]]) -> Any:
        """Whether a quoted field may begin after these letters, or end before them; two quotes are one inside it."""
        return (letters == ord(self.separator)) | (letters == NEWLINE) | (letters == QUOTE)


def _ends(block: bytes, pairs: bool) -> str | None:
    """What is wrong with the ends of lines, which are all like the first one."""
    if b"\r" not in block:
        return MIXED if pairs and b"\n" in block else None
    returns, both = block.count(b"\r"), block.count(b"\r\n")
    if returns != both:
        return RETURNS
    return None if pairs and both == block.count(b"\n") else MIXED


def _blocks(file: IO[bytes]) -> Iterator[bytes | None]:
    """Blocks of whole lines, without the byte order mark; None for a line that does not end."""
    rest = file.read(len(MARK)).removeprefix(MARK)
    while more := file.read(BLOCK):
        cut = more.rfind(b"\n") + 1
        if cut:
            yield rest + more[:cut]
        rest = more[cut:] if cut else rest + more
        if len(rest) > LONGEST:
            yield None
            return
    yield rest


PACKED = {".gz": "gzip", ".zst": "zstd"}
"""Endings, and DuckDB's words for them."""
PACKED_BLOCK = 1 << 20


def packing(path: str) -> str:
    """How a file is packed, by its ending, in DuckDB's words."""
    return next((word for ending, word in PACKED.items() if path.endswith(ending)), "uncompressed")


def plain_name(path: str) -> str:
    """The path without the ending that says how it is packed."""
    return next((path.removesuffix(ending) for ending in PACKED if path.endswith(ending)), path)


def read(path: str, action: Callable[[IO[bytes]], Result]) -> Result:
    """What the action makes of the bytes of a file, unpacked if its name says so.

    Raises
    ------
    TableError
        if it is not whole.
    """
    check_packing(path)
    kind = packing(path)
    opened: Any = {"gzip": gzip.open, "zstd": lambda path: io.BufferedReader(_Frames(path), PACKED_BLOCK)}
    try:
        with opened.get(kind, partial(open, mode="rb"))(path) as file:
            return action(file)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        pass
    raise TableError(f"{path} cannot be read: it is no whole {kind} file")


def check_packing(path: str) -> None:
    """Refuse a packed file that cannot be opened here; call this before a charge.

    Raises
    ------
    MissingPackageError
        if it ends in .zst and zstandard is not installed.
    """
    if packing(path) == "zstd" and find_spec("zstandard") is None:
        raise MissingPackageError("a .zst file needs zstandard: pip install 'shortlist[zstd]'", name="zstandard")


class _Frames(io.RawIOBase):
    """The content of a zstd file."""

    def __init__(self, path: str) -> None:
        self._parts, self._waiting = _unpack(path), b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._parts.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        self._waiting = self._waiting or next(filter(None, self._parts), b"")
        part = self._waiting[: len(buffer)]
        buffer[: len(part)] = part
        self._waiting = self._waiting[len(part) :]
        return len(part)


def _unpack(path: str) -> Generator[bytes, None, None]:
    """Yield the content of all frames, one after another; an error where one of them is not whole."""
    with IMPORTS:
        import zstandard

    frame: Any = None
    with open(path, "rb") as file:
        while block := file.read(PACKED_BLOCK):
            while block:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                try:
                    content = frame.decompress(block)
                except zstandard.ZstdError:
                    raise EOFError from None
                block, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
                yield content
    if frame is not None:
        raise EOFError
