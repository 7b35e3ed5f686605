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
    calibration,
    canonical,
    caps,
    currencies,
    draws,
    gaps,
    groups,
    growth,
    guarded,
    held_out,
    joint,
    ledger,
    lists,
    looser,
    names,
    order,
    pages,
    peers,
    plan,
    quantile,
    race,
    size,
    small,
    tables,
    tune,
    unknown,
)

DOCS = Path(__file__).parents[1] / "docs"
TABLES = {
    **race.TABLES,
    **canonical.TABLES,
    **guarded.TABLES,
    **currencies.TABLES,
    **draws.TABLES,
    **looser.TABLES,
    **order.TABLES,
    **lists.TABLES,
    **gaps.TABLES,
    **peers.TABLES,
    **ledger.TABLES,
    **pages.TABLES,
    **calibration.TABLES,
    **plan.TABLES,
    **tables.TABLES,
    **quantile.TABLES,
    **caps.TABLES,
    **groups.TABLES,
    **unknown.TABLES,
    **names.TABLES,
    **audit.TABLES,
    **small.TABLES,
    **held_out.TABLES,
    **joint.TABLES,
    **growth.TABLES,
    **size.TABLES,
    **tune.TABLES,
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


def _chosen(wanted: list[str]) -> list[str]:
    """The tables of these names, and those that are about the same (`names-worst` for `names`); all if none is said."""
    found = [name for word in wanted for name in TABLES if name == word or name.startswith(f"{word}-")]
    if unknown_words := [word for word in wanted if word not in TABLES]:
        raise SystemExit(f"{', '.join(unknown_words)}: no such table; write one of {', '.join(TABLES)}")
    return list(dict.fromkeys(found)) or list(TABLES)


def main(wanted: list[str]) -> None:
    for name in _chosen(wanted):
        title = f"{TABLES[name].__doc__} ({machine()})"
        print(f"\n{title}\n", flush=True)
        lines = []
        for line in TABLES[name]():
            print(line, flush=True)
            lines.append(line)
        put(name, "\n".join(lines if name == "size-map" else [title, "", *lines]))


if __name__ == "__main__":
    main(sys.argv[1:])
