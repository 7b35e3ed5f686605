"""`python -m bench.mechanisms`: the table of all mechanisms, from their entries, into the pages that show it."""

from __future__ import annotations

import re
from pathlib import Path

from shortlist.audit.entries import table

ROOT = Path(__file__).parents[1]
PAGES = {ROOT / "README.md": "docs/mechanisms/", ROOT / "docs/reference/mechanisms.md": "../mechanisms/"}
"""The pages, and how docs/mechanisms is reached from each."""


def written(page: Path) -> str:
    """The page with its table as it should be."""
    block = "\n".join(["<!-- mechanisms -->", *table(PAGES[page]), "<!-- end mechanisms -->"])
    found, times = re.subn(
        "<!-- mechanisms -->.*?<!-- end mechanisms -->", lambda _: block, page.read_text(), flags=re.S
    )
    assert times == 1, page
    return found


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page))
