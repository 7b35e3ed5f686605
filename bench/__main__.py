"""`python -m bench [table ..]`: print the tables and put them into the page that shows them."""

from __future__ import annotations

import platform
import re
import sys
from datetime import date
from pathlib import Path

import numpy as np

from bench import (
    audit,
    canonical,
    gaps,
    groups,
    guarded,
    ledger,
    lists,
    looser,
    order,
    pages,
    peers,
    plan,
    race,
    tables,
    unknown,
    walk,
)

DOCS = Path(__file__).parents[1] / "docs"
TABLES = {
    **race.TABLES,
    **canonical.TABLES,
    **guarded.TABLES,
    **looser.TABLES,
    **order.TABLES,
    **lists.TABLES,
    **gaps.TABLES,
    **peers.TABLES,
    **ledger.TABLES,
    **pages.TABLES,
    **plan.TABLES,
    **tables.TABLES,
    **groups.TABLES,
    **unknown.TABLES,
    **audit.TABLES,
    **walk.TABLES,
}


def machine() -> str:
    """The processor and the versions, for the record."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*:\s*(.*)", text)
    cores = text.count("processor\t") or "?"
    return (
        f"{model.group(1) if model else platform.machine()}, {cores} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, {date.today()}"
    )


def put(name: str, text: str) -> None:
    """Replace the table of that name where it stands in the docs, or add it to docs/performance.md."""
    block = f"<!-- {name} -->\n{text}\n<!-- end {name} -->"
    for place in sorted(DOCS.rglob("*.md")):
        page = place.read_text()
        old = re.search(rf"<!-- {name} -->.*?<!-- end {name} -->", page, re.DOTALL)
        if old:
            place.write_text(page.replace(old.group(), block))
            return
    page = DOCS / "performance.md"
    page.write_text(f"{page.read_text().rstrip()}\n\n{block}\n")


def main(names: list[str]) -> None:
    for name in names or TABLES:
        title = f"{TABLES[name].__doc__} ({machine()})"
        print(f"\n{title}\n", flush=True)
        lines = []
        for line in TABLES[name]():
            print(line, flush=True)
            lines.append(line)
        put(name, "\n".join([title, "", *lines]))


if __name__ == "__main__":
    main(sys.argv[1:])
