"""A plain page over all results: the headlines first, then every picture with its question and its claim."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from shortlist.reproduce.experiment import PAPERS, Line
from shortlist.reproduce.store import Record

STYLE = """body{font:16px/1.5 system-ui,sans-serif;color:#1f2a37;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #e2e8f0}
img{max-width:100%;height:auto}figure{margin:1rem 0}figcaption{font-size:.9rem;color:#475569}
.generated{background:#fef3c7;padding:.1rem .4rem;border-radius:.2rem}"""


def page(records: Sequence[Record]) -> str:
    """The whole page, as HTML that needs nothing but the files beside it."""
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>Five papers, reproduced</title><style>{STYLE}</style></head><body>",
        "<h1>Five papers, reproduced</h1>",
        f"<p>Every figure and table, ours beside theirs: {len(records)} experiments.</p>",
        "<h2>Headlines</h2>",
        _lines([(record, line) for record in records for line in record.lines]),
    ]
    for paper in PAPERS:
        own = [record for record in records if record.paper.key == paper.key]
        if own:
            parts.append(f"<h2>{escape(paper.title)}</h2><p>{escape(paper.authors)}</p>")
            parts.extend(_section(record) for record in own)
    return "\n".join([*parts, "</body></html>\n"])


def _lines(found: list[tuple[Record, Line]]) -> str:
    head = "".join(f"<th>{word}</th>" for word in ("what", "paper", "ours", "why"))
    rows = "".join(
        f"<tr><td><a href='#{record.name}'>{escape(line.what)}</a></td>"
        + "".join(f"<td>{escape(getattr(line, word))}</td>" for word in ("paper", "ours", "why"))
        + "</tr>"
        for record, line in found
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _section(record: Record) -> str:
    mark = " <span class=generated>generated data</span>" if record.generated else ""
    return (
        f"<section id='{record.name}'><h3>{escape(record.title)} <small>({escape(record.shows)})</small></h3>"
        f"<p><b>{escape(record.question)}</b></p><p>Paper: {escape(record.claim)}</p>"
        f"<figure><img src='{record.figure}' alt='{escape(record.title, quote=True)}'>"
        f"<figcaption>{escape(record.see)} {escape(record.caption)}{mark} "
        f"<a href='{record.table}'>The numbers</a> ({record.rows:,} rows, parquet).</figcaption></figure></section>"
    )
