"""What is wrong in the five papers and what was checked and found right: one list, for the report and for the docs.

`python -m studies.papers.errata docs/errata.md` writes the tables into the page, between its marks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from studies.papers.experiment import PAPERS

LIST = Path(__file__).parent / "assets" / "errata.json"
RIGHT = "right"
GRAVE = ("breach", "unsound")
Erratum = dict[str, str]


def errata(paper: str | None = None) -> list[Erratum]:
    """All rows, or those of one paper: place, says, kind, wrong, example, change, test."""
    rows: list[Erratum] = json.loads(LIST.read_text(encoding="utf-8"))
    return [row for row in rows if paper is None or row["paper"] == paper]


def is_grave(row: Erratum) -> bool:
    """Whether following the text breaks a promise, or a statement is false."""
    return row["kind"].startswith(GRAVE)


def tables(paper: str) -> str:
    """The tables of one paper in Markdown: what is wrong, graver things first, then what is right."""
    wrong = sorted((row for row in errata(paper) if row["kind"] != RIGHT), key=lambda row: not is_grave(row))
    right = [row for row in errata(paper) if row["kind"] == RIGHT]
    lines = [
        _line("place", "it says", "kind", "what is wrong", "smallest counterexample", "what the repair changes", "test")
    ]
    lines.append("|---" * 7 + "|")
    keys = ("place", "says", "kind", "wrong", "example", "change")
    lines += [_line(*(row[key] for key in keys), _test(row["test"])) for row in wrong]
    lines += ["", "Checked and found right:", "", "| place | what | how |", "|---|---|---|"]
    lines += [_line(row["place"], row["says"], row["example"]) for row in right]
    return "\n".join(lines) + "\n"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _test(name: str) -> str:
    file, _, test = name.partition("::")
    return f"[{test}](../{file})" if test else ""


def written(page: str) -> str:
    """The page with the tables of every paper between its marks."""
    for paper in PAPERS:
        mark = f"<!-- {paper.key} -->\n"
        end = f"<!-- end {paper.key} -->"
        before, result, rest = page.partition(mark)
        if result:
            page = before + mark + tables(paper.key) + end + rest.partition(end)[2]
    return page


def main(path: Path) -> None:
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
