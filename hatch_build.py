"""What a package index shows: the README, with its links and pictures made absolute.

In the repository they are relative, so that they work in a checkout and on every host. An index has no files beside
the README; there they lead to the address that stands as "Repository" under [project.urls] in pyproject.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<mark>!?)(?P<text>\[[^\]]*\])\((?!https?://|#)(?P<target>[^)\s]+)\)")


def with_absolute_links(text: str, repository: str) -> str:
    """Pages lead to the repository's view of a file, pictures to the file itself."""

    def absolute(found: re.Match[str]) -> str:
        view = "raw" if found["mark"] else "blob"
        return f"{found['mark']}{found['text']}({repository}/{view}/main/{found['target']})"

    return LINK.sub(absolute, text)


class Readme(MetadataHookInterface):
    """Fills in the field `readme`, which pyproject.toml leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        shown = with_absolute_links(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
