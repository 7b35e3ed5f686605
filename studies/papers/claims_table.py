"""Every claim with its verdict as a table in Markdown.

`python -m studies.papers.claims_table report/ docs/reproduce.md` writes that of a finished run into the page.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from studies.papers.catalogue import EXPERIMENTS
from studies.papers.store import Record, read

MARK, END = "<!-- claims -->\n", "<!-- end claims -->"


def claims_table(records: Sequence[Record]) -> str:
    """How many claims have which verdict, and a row for each."""
    claims = [(record.paper.key, line) for record in records for line in record.lines]
    verdicts = Counter(line.verdict for _, line in claims)
    counted = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    rows = [_row(f"{paper}, {line.place}", line.paper, line.ours, line.verdict) for paper, line in claims]
    head = [_row("paper and place", "it says", "ours", "verdict"), "|---|---|---|---|"]
    return "\n".join([f"{len(claims)} claims: {counted}.", "", *head, *rows]) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(folder: Path, page: Path) -> None:
    """Write the table of the run in the folder into the page."""
    records = [record for name in EXPERIMENTS if (record := read(folder, name)) is not None]
    before, _, rest = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(before + MARK + claims_table(records) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
