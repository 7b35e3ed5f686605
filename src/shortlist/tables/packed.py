"""Files that are packed, read as DuckDB reads them: gzip by the standard library, zstd by an optional one."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import IO, Any, TypeVar

from shortlist._runtime import IMPORTS, MissingPackageError
from shortlist.tables.errors import TableError

PACKED = {".gz": "gzip", ".zst": "zstd"}
"""Endings, and DuckDB's words for them."""
BLOCK = 1 << 20

Result = TypeVar("Result")


def packing(path: str) -> str:
    """How a file is packed, by its ending, in DuckDB's words."""
    return next((word for ending, word in PACKED.items() if path.endswith(ending)), "uncompressed")


def unpacked_name(path: str) -> str:
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
    opened: Any = {"gzip": gzip.open, "zstd": _open_zstd}.get(kind, open)
    try:
        with opened(path, "rb") as file:
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
    if packing(path) != "zstd":
        return
    try:
        with IMPORTS:
            import zstandard  # noqa: F401
    except ImportError:
        pass
    else:
        return
    raise MissingPackageError("files that end in .zst need zstandard: pip install 'shortlist[zstd]'", name="zstandard")


def _open_zstd(path: str, mode: str) -> IO[bytes]:
    return io.BufferedReader(_Frames(path), BLOCK)


class _Frames(io.RawIOBase):
    """The content of all frames of a zstd file, one after another; an error where one of them is not whole."""

    def __init__(self, path: str) -> None:
        import zstandard

        self._make, self._wrong = zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError
        self._frame: Any = None
        self._rest = self._waiting = b""
        self._file = open(path, "rb")  # noqa: SIM115  closed with this

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._waiting and self._more():
            pass
        part = self._waiting[: len(buffer)]
        buffer[: len(part)] = part
        self._waiting = self._waiting[len(part) :]
        return len(part)

    def _more(self) -> bool:
        """Unpack another block; False at the end of the file."""
        block = self._rest or self._file.read(BLOCK)
        if not block:
            if self._frame is not None:
                raise EOFError
            return False
        self._frame = self._frame or self._make()
        try:
            self._waiting = self._frame.decompress(block)
        except self._wrong:
            raise EOFError from None
        self._rest = b""
        if self._frame.eof:
            self._rest, self._frame = self._frame.unused_data, None
        return True
