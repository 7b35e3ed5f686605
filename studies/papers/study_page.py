"""The report on the five papers: one page from the experiments' records, with sliders, figures and errata."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist._runtime import version
from shortlist.pages.theme import page, table
from shortlist.release_io import write_text
from studies.papers.errata import RIGHT, Erratum, errata, is_grave
from studies.papers.experiment import PAPERS
from studies.papers.explore import log_factorials, tables
from studies.papers.inline_svg import inline_svg

if TYPE_CHECKING:
    from studies.papers.experiment import Paper
    from studies.papers.store import Record, Told

ASSETS = Path(__file__).parent / "assets"

VERDICTS = {"confirmed": "badge-good", "corrected": "badge-warn", "contradicted": "badge-bad", "not comparable": ""}
BREACH = (
    "A breach: a program that follows the text as printed is not private, or not as private as it says. A misprint may "
    "be one of the copy we read."
)


def study_page(folder: Path, records: Sequence[Record]) -> str:
    """The whole page, from the records and their pictures in the folder."""
    papers = [paper for paper in PAPERS if any(record.paper.key == paper.key for record in records)]
    parts = [
        _contents(papers, records),
        '<main class="study">',
        _top(records),
        _explorer(),
        _headlines(records),
    ]
    for paper in papers:
        own = [record for record in records if record.paper.key == paper.key]
        parts.append(f'<section class="paper" id="{paper.key}"><h2>{escape(paper.title)}</h2>')
        parts.append(f'<p class="note">{escape(paper.authors[:1].upper() + paper.authors[1:])}</p>')
        parts.extend(_experiment(folder, record) for record in own)
        parts.append(_errata(paper.key, "What we found when we checked the paper"))
        parts.append("</section>")
    parts += [_across(), _made(records), "</main>"]
    grid = {"factorials": [round(one, 9) for one in log_factorials(1000).tolist()], **tables()}
    return page(
        title="Five papers on private selection, reproduced",
        body=f'<div class="frame">{"".join(parts)}</div>',
        styles=("pages/base.css", ASSETS / "study.css"),
        scripts=(ASSETS / "explore.js",),
        data={"tables": grid},
    )


def write_study(folder: Path, records: Sequence[Record]) -> Path:
    """The page in the folder, as `index.html`: the whole of it, or what was there before."""
    path = folder / "index.html"
    write_text(str(path), study_page(folder, records), private=False)
    return path


def _contents(papers: list[Paper], records: Sequence[Record]) -> str:
    rows = [
        '<li><a href="#top">In short</a></li><li><a href="#try">Try it: what a list costs</a></li>'
        '<li><a href="#headlines">The claims</a></li>'
    ]
    for paper in papers:
        own = [record for record in records if record.paper.key == paper.key]
        inner = "".join(f'<li><a href="#{record.name}">{escape(record.title)}</a></li>' for record in own)
        inner += f'<li><a href="#errata-{paper.key}">Errata</a></li>'
        rows.append(f'<li><a href="#{paper.key}">{escape(_short(paper.title))}</a><ol>{inner}</ol></li>')
    rows.append('<li><a href="#across">Across the papers</a></li><li><a href="#made">How this was made</a></li>')
    return (
        '<nav class="contents screen" aria-label="Contents"><details open><summary>Contents</summary>'
        f"<ol>{''.join(rows)}</ol></details></nav>"
    )


def _short(title: str, most: int = 44) -> str:
    return title if len(title) <= most else title[: most - 1].rsplit(" ", 1)[0] + " …"


def _top(records: Sequence[Record]) -> str:
    lines = [line for record in records for line in record.lines]
    places = sum(len(record.exhibits) for record in records)
    numbers = (
        (f"{places}", "figures and tables, each in the paper's own setting"),
        *((f"{sum(line.verdict == verdict for line in lines)}", f"claims {verdict}") for verdict in VERDICTS),
    )
    boxes = "".join(f"<div><b>{number}</b><span>{words}</span></div>" for number, words in numbers)
    return (
        '<header class="top" id="top"><p class="mark">shortlist · reproduction</p>'
        "<h1>Five papers on private selection, reproduced</h1>"
        '<p class="lead">What a private list costs and what it risks. Every figure and table is made again in the '
        "setting of its paper, with our own mechanisms beside; every verdict is computed from the numbers of this run, "
        "and where a paper errs the correction stands beside it.</p>"
        f'<div class="numbers">{boxes}</div></header>'
    )


def _explorer() -> str:
    sliders = (
        (
            "epsilon",
            "Privacy spent, ε",
            "how much one person may change probabilities: less is safer",
        ),
        ("k", "Length of the list, k", "how many of the 1,000 items are released"),
        ("gamma", "Weight, γ", "canonical only: 0 looks at the best item left out, 1 at the worst one kept"),
    )
    rows = "".join(
        f'<div class="slider"><label for="{name}">{title}</label><output id="{name}-out" for="{name}"></output>'
        f'<input type="range" id="{name}" aria-describedby="{name}-help"><small id="{name}-help">{words}</small></div>'
        for name, title, words in sliders
    )
    return (
        '<section id="try"><h2>Try it: what a list costs</h2>'
        "<p>Counts of people, a thousand items, one person added or removed. How often does each mechanism return "
        "exactly the true top k, and how much of it on average? Every value is an exact computation, not a simulation; "
        "between the tabulated ε the log odds are interpolated.</p>"
        '<div class="explorer">'
        '<div class="choices"><label for="shape">Counts</label><select id="shape"></select>'
        '<label for="measure">Shown</label><select id="measure"><option value="0">chance of the exact top k'
        '</option><option value="1">expected share of the top k</option></select>'
        '<p class="note" id="shape-text"></p></div>'
        f'<div class="sliders">{rows}</div>'
        '<div class="chart"><svg id="curves" viewBox="0 0 640 330" role="img" aria-labelledby="says"></svg></div>'
        '<table class="reading"><thead><tr><th scope="col">mechanism</th><th scope="col" class="number">at this ε</th>'
        '<th scope="col" class="number">ε for 99%</th></tr></thead><tbody id="reading"></tbody></table>'
        '<p id="says" class="says" aria-live="polite"></p>'
        "<noscript><p>The sliders need JavaScript, which this page carries with it.</p></noscript></div></section>"
    )


def _headlines(records: Sequence[Record]) -> str:
    """Every claim with its verdict, and the way to the rest."""
    head = "".join(f'<th scope="col">{word}</th>' for word in ("claim of the paper", "verdict", "ours"))
    rows = "".join(
        f'<tr><td data-label="claim of the paper"><a href="#{record.name}">{escape(line.paper)}</a></td>'
        f'<td data-label="verdict">{_verdict(line.verdict)}</td><td data-label="ours">{escape(line.ours)}</td></tr>'
        for record in records
        for line in record.lines
    )
    return (
        '<section id="headlines"><h2>The claims</h2><p>Confirmed: borne out. Corrected: true after the change that is '
        "named. Contradicted: our numbers say otherwise. Not comparable: the paper's data or words are not at hand.</p>"
        f'<table class="stack headlines"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>'
    )


def _verdict(verdict: str) -> str:
    return f'<span class="badge {VERDICTS.get(verdict, "badge-warn")}">{escape(verdict)}</span>'


def _experiment(folder: Path, record: Record) -> str:
    svg = inline_svg((folder / record.figure).read_text(encoding="utf-8"), record.name, record.title)
    mark = ' <span class="badge badge-warn">made-up data</span>' if record.made_up else ""
    return (
        f'<article id="{record.name}"><h3>{escape(record.title)}</h3>'
        f'<p class="tags"><span class="badge">{escape(record.shows)}</span>{mark}</p>'
        f'<p class="question">{escape(record.question)}</p>'
        f"<figure>{_box(svg, record.title)}<figcaption><b>What to see.</b> {escape(record.see)}</figcaption></figure>"
        f"{_claims(record)}"
        + "".join(f'<p class="claim"><b>Beyond the paper.</b> {escape(text)}</p>' for text in record.beyond)
        + "".join(_setting(told) for told in record.exhibits)
        + f'<p class="note">{escape(record.caption)} Numbers: <code>{escape(record.table)}</code>, {record.rows:,} '
        f"rows. Effort: {escape(record.effort)}; seed: {record.seed}; fingerprint: "
        f"<code>{escape(record.fingerprint)}</code>."
        "</p></article>"
    )


def _claims(record: Record) -> str:
    if not record.lines:
        return ""
    head = "".join(f'<th scope="col">{word}</th>' for word in ("the paper says", "place", "ours", "verdict", "why"))
    body = "".join(
        f'<tr><td data-label="the paper says">{escape(line.paper)}</td><td data-label="place">{escape(line.place)}</td>'
        f'<td data-label="ours">{escape(line.ours)}</td><td data-label="verdict">{_verdict(line.verdict)}</td>'
        f'<td data-label="why">{escape(line.why)}</td></tr>'
        for line in record.lines
    )
    return f'<table class="stack lines"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _setting(told: Told) -> str:
    """The paper's setting, and every difference with its reason."""
    facts = "; ".join(f"{escape(word)}: {escape(value)}" for word, value in told.theirs)
    rows = [(one.word, one.theirs, one.ours, one.why) for one in told.differences]
    differs = table(("where we differ", "paper", "ours", "why"), rows, "stack") if rows else "<p>Ours is the same.</p>"
    return (
        f"<details><summary>{escape(told.place)}: the setting</summary><p>{escape(told.about)}. In the paper: "
        f"{facts}.</p>"
        f"{differs}</details>"
    )


def _box(svg: str, title: str) -> str:
    """A figure that scrolls by itself on a narrow screen; reachable by keyboard, so that it can be scrolled."""
    return f'<div class="box" tabindex="0" role="region" aria-label="{escape(title)}, the figure">{svg}</div>'


def _errata(key: str, title: str, level: str = "h3") -> str:
    own = errata(key)
    right = [one for one in own if one["kind"] == RIGHT]
    wrong = sorted((one for one in own if one["kind"] != RIGHT), key=lambda one: not is_grave(one))
    parts = [f'<article id="errata-{key}" class="errata"><{level}>{escape(title)}</{level}>']
    if wrong:
        words = ("place", "it says", "kind", "what is wrong", "counterexample", "repair")
        keys = ("place", "says", "kind", "wrong", "example", "change")
        parts.append(f'<p class="note">{BREACH}</p>{_errata_table(wrong, words, keys)}')
    if right:
        more = f"{len(right)} groups of statements checked and found right"
        listed = _errata_table(right, ("place", "what", "how"), ("place", "says", "example"))
        parts.append(f"<details><summary>{more}</summary>{listed}</details>")
    return "".join([*parts, "</article>"])


def _errata_table(rows: list[Erratum], words: tuple[str, ...], keys: tuple[str, ...]) -> str:
    head = "".join(f'<th scope="col">{word}</th>' for word in words)
    body = "".join(
        "<tr>" + "".join(_cell(word, one[key], one) for word, key in zip(words, keys, strict=True)) + "</tr>"
        for one in rows
    )
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(word: str, text: str, one: Erratum) -> str:
    if word == "kind":
        badge = "badge-bad" if is_grave(one) else "badge-warn"
        return f'<td data-label="kind"><span class="badge {badge}">{escape(text)}</span></td>'
    return f'<td data-label="{word}">{escape(text)}</td>' if text else '<td class="none"></td>'


def _across() -> str:
    return f'<section id="across">{_errata("", "Across the papers", "h2")}</section>'


def _made(records: Sequence[Record]) -> str:
    efforts = sorted({record.effort for record in records})
    seeds = sorted({record.seed for record in records})
    seconds = sum(record.seconds for record in records)
    facts: list[tuple[str, Any]] = [
        ("Command", "<code>make reproduce</code>"),
        ("Version", escape(version())),
        ("Effort", escape(", ".join(efforts) or "none")),
        ("Seed", escape(", ".join(map(str, seeds)) or "none")),
        ("Time", f"{seconds:,.0f} s of processor for {len(records)} experiments"),
        ("Data", f"{sum(bool(record.made_up) for record in records)} of them with made-up data in part, marked so"),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts)
    return (
        f'<section id="made"><h2>How this was made</h2><dl class="facts">{listed}</dl>'
        '<p class="note">One file: it loads nothing and sends nothing. Each figure’s numbers lie beside it as parquet, '
        "its picture as SVG.</p></section>"
    )
