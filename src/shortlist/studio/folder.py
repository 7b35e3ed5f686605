"""The one folder whose files the studio offers: found by name and size, never opened here, and nothing outside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from shortlist.studio.wording import page_words

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
