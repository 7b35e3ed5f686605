"""Releases as pages of HTML."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shortlist._runtime import version
from shortlist._text import terminal_safe
from shortlist.accounting.guarantees import ApproxDP
from shortlist.errors import bad_type
from shortlist.pages import summary
from shortlist.pages.summary import as_sentence
from shortlist.pages.texts import LEAD, OVER
from shortlist.pages.theme import caution_in, document, facts, meter, page_safe, price_in, risk_box, sources, warning
from shortlist.release_io import label_text, path_text, write_text

if TYPE_CHECKING:
    from shortlist.ledger.filter import Balance
    from shortlist.release import GroupedRelease, Release


MARGIN = "± is half of an interval that covers 95%: the pale part of a bar."
ONE_COLUMN = 12
"""So many items with numbers beside them stand below one another; more of them in columns."""
WAYS = {
    "canonical": "the way for clear winners (canonical): the whole set was drawn at once",
    "one-shot": "the careful way (one-shot): noise was added to every score, for the winners may be close",
}
"""What `used` means; others speak for themselves."""
FINER = "the same promise in finer terms, of which more fit into one budget"
BEFORE, AFTER = "Before they read the list, they guess right", "After, with the best possible attack, at most"


def write_release(release: Release | GroupedRelease, path: str | os.PathLike[str], title: str = "") -> None:
    """The page in a file: the whole of it, or what was there before. A new file is for its owner alone."""
    name = path_text(path, "top10.html")
    if not isinstance(title, str):
        raise bad_type('$title must be text, for example $title="Most rented films"')
    write_text(name, release_page(release, title))


def release_page(release: Release | GroupedRelease, title: str = "") -> str:
    """The page as HTML: one list, or one for each group."""
    heading = terminal_safe(title or _heading(release))
    parts = [
        "" if release.secure else SEEDED,
        caution_in(release.guarantee),
        _lists(release) if isinstance(release, Mapping) else _list(release, (summary.UNORDERED,)),  # said above it
        _promise(release),
        _origin(release),
        _payment(release),
        _cite(release, heading),
    ]
    footer = ". This page holds released and public facts alone, loads nothing and sends nothing."
    return document("a private release", heading, _lead(release), parts, footer)


def _heading(release: Release | GroupedRelease) -> str:
    many = len(release)
    if release.receipt is not None and release.receipt.purpose:
        return release.receipt.purpose
    if isinstance(release, Mapping):
        groups = f"{many:,} group{'s' * (many != 1)}"
        quantiles = any(one.q is not None for one in release.values())
        return f"{'Quantiles of' if quantiles else 'A list for each of'} {groups}, chosen privately"
    if release.q is not None:
        return "A quantile, chosen privately" if many == 1 else f"{many:,} quantiles, chosen privately"
    if many == 0:
        return "Nothing could be released"
    if release.asked is not None and many < release.asked:
        return f"{many:,} of {release.asked:,} items, chosen privately"
    return "One winner, chosen privately" if many == 1 else f"{many:,} items, chosen privately"


def _lead(release: Release | GroupedRelease) -> str:
    price, unit = price_in(release.guarantee), page_safe(release.unit)
    if isinstance(release, Mapping):
        most = f"{release.groups_per_user} group{'s' * (release.groups_per_user != 1)}"
        said = f"One {unit} is in at most {most} and pays {price} in all of them together."
        return f"Drawn with differential privacy. {said}"
    order = "This is a set, sorted by name: its order says nothing. "
    if release.ordered:
        order = f"The list is in order, {summary.first_of(release)} first. "
    if len(release) <= 1 or release.q is not None:
        order = ""
    fewer = f"{page_safe(summary.came(release))} " if release.asked is not None and len(release) < release.asked else ""
    drawn = "They were drawn" if release.q is not None and len(release) > 1 else "It was drawn"
    return f"{fewer}{order}{drawn} with differential privacy, {price}, for every single {unit}."


SEEDED = warning("<b>Not private.</b> Drawn with seeded randomness, for tests: whoever knows the seed can undo it.")


def _lists(release: GroupedRelease) -> str:
    """A list for each group; notes that all of them have stand below, once."""
    lists = list(release.values())
    each = [(*summary.page_remarks(one), *one.notes) for one in lists]
    common = {MARGIN, *(set.intersection(*map(set, each)) if each else ())}
    shown = [(page_safe(label_text(key)), _list(one, common)) for key, one in release.items()]
    sections = "".join(f"<section><h2><bdi>{name}</bdi></h2>{listed}</section>" for name, listed in shown)
    empty = "" if lists else "<p>It looked, and found no group that it may name: an answer too, and paid for.</p>"
    margins = [MARGIN] if any(one.margins for one in lists) else []
    notes = [*margins, *(note for notes in each[:1] for note in notes if note in common), *release.notes]
    return f'<div class="groups">{sections}</div>\n{empty}\n{_paragraphs(notes)}'


def _list(release: Release, elsewhere: Collection[str] = ()) -> str:
    """The items, with what was released beside them; without notes that stand `elsewhere` on the page."""
    rows = _quantiles(release) if release.q is not None else _items(release)
    kind = "ol" if release.ordered and release.q is None else "ul"
    few = " few" * (len(rows) <= ONE_COLUMN and (release.values is not None or release.gaps is not None))
    notes = [*([MARGIN] if rows and release.margins else []), *summary.page_remarks(release), *release.notes]
    below = _paragraphs(note for note in notes if note not in elsewhere)
    empty = "" if rows else "<p>It looked, and found nothing that it may name: an answer too, and paid for.</p>"
    return f'<{kind} class="list{few}" role="list">{"".join(rows)}</{kind}>{empty}{below}'


def _paragraphs(notes: Iterable[str]) -> str:
    """Notes as small sentences of their own."""
    return "".join(f'<p class="note">{page_safe(as_sentence(note))}</p>' for note in notes)


def _quantiles(release: Release) -> list[str]:
    words, names = map(summary.quantile_in_words, release.q or ()), map(label_text, release.items or ())
    return [
        f'<li><span class="dot"></span><span class="name">{said} <bdi><b>{page_safe(name)}</b></bdi></span></li>'
        for said, name in zip(words, names, strict=True)
    ]


def _items(release: Release) -> list[str]:
    """Each with its rank where there are ranks, its noisy value with a bar, and its lead."""
    columns, items = release.texts(), release.items or []
    shown = columns["value"] if release.values is not None else []
    leads = [(word, columns[word]) for word in (LEAD, OVER) if word in columns and word not in release.item_columns]
    bars, rows = _bars(release), []
    for place, item in enumerate(items):
        ranked = release.ordered and len(items) > 1
        parts = [f'<span class="rank">{place + 1}</span>' if ranked else '<span class="dot"></span>']
        parts.append(f'<bdi class="name">{page_safe(label_text(item))}</bdi>')
        if shown:
            parts.append(f'<span class="value"><b>{page_safe(shown[place].removesuffix(" (95%)"))}</b></span>')
        parts += [f'<span class="value lead">{word} <b>{page_safe(cells[place])}</b></span>' for word, cells in leads]
        rows.append(f"<li>{''.join(parts)}{bars[place] if bars else ''}</li>")
    return rows


def _bars(release: Release) -> list[str]:
    """A bar for each noisy value, with its margin as a lighter end; none where no value is above 0."""
    values = [float(value) for value in release.values or ()]
    margins = [margin.half_width for margin in release.margins or ()] or [0.0] * len(values)
    most = max((value + margin for value, margin in zip(values, margins, strict=True)), default=0.0)
    if not 0 < most < math.inf:
        return []

    def part(number: float) -> float:
        return 100 * min(max(number, 0.0), most) / most

    return [
        f'<span class="track" aria-hidden="true"><i style="width:{part(value + margin):.1f}%"></i>'
        f'<i class="sure" style="width:{part(value - margin):.1f}%"></i></span>'
        for value, margin in zip(values, margins, strict=True)
    ]


def _promise(release: Release | GroupedRelease) -> str:
    guarantee, unit = release.guarantee, page_safe(release.unit)
    doubt, other = f"whether one particular {unit} is in the data at all", "without them"
    if release.neighbours == "replace":
        doubt, other = f"which of two versions of one {unit}’s data was used", "with the other version of their data"
    failing, pure = "", guarantee.as_pure()
    if isinstance(guarantee, ApproxDP):
        # not "with probability delta it may say more": that does not follow from (epsilon, delta)
        failing = (
            f" Whatever one looks for in the list, its chance is at most e<sup>ε</sup> times what it would be {other}, "
            f"plus δ = {summary.in_full(guarantee.delta)}, and the other way round; the bounds above include that."
        )
    group = f" For a group of m of them, multiply ε = {summary.in_full(pure.epsilon)} by m." if pure is not None else ""
    return (
        f"<h2>What it can give away</h2><p>Think of somebody who knows everything else: all the other people in the "
        f"data, the method, and this list. They want to know {doubt}, and have no idea: fifty-fifty.</p>"
        f"{risk_box(summary.risk(guarantee), BEFORE, AFTER)}"
        f'<p class="note">The promise is for one {unit}, with all their rows, against any computer and any knowledge '
        f"from elsewhere, now or later.{failing}{group} It does not hide what is true of the whole crowd: that is what "
        "the list is for.</p>"
    )


def _origin(release: Release | GroupedRelease) -> str:
    changes = {"add-remove": "one is added or removed, with all their rows", "replace": "one is exchanged for another"}
    change, candidates = changes.get(release.neighbours, release.neighbours), summary.candidates_in_words(release)
    booked = f"<code>{page_safe(str(release.charge))}</code>: {FINER}"
    rows = [
        ("Mechanism", page_safe(release.mechanism)),
        ("Why this one", page_safe(summary.why_in_words(release))),
        ("Which way it went", page_safe(WAYS.get(release.used or "", release.used or ""))),
        ("Guarantee", f"<code>{page_safe(str(release.guarantee))}</code>"),
        ("Booked as", booked if release.charge != release.guarantee else ""),
        ("Protects", page_safe(f"every {release.unit}: {change}")),
        ("Candidates", candidates),
        ("Randomness", "the operating system’s secure source" if release.secure else "seeded: a test, not private"),
        ("Sampling", "exact: the law of the mechanism, without rounding errors"),
    ]
    return f"<h2>How it was made</h2>{facts([row for row in rows if row[1]])}"


def _payment(release: Release | GroupedRelease) -> str:
    receipt = release.receipt
    if receipt is None:
        return "<h2>What was paid</h2><p>No ledger keeps count of what this list and others give away together.</p>"
    left = [("Then", page_safe(f"{receipt.balance}. What is booked is progress; the promise is the budget"))]
    if not receipt.balance:  # of an older release
        left = [("Spent so far", page_safe(str(receipt.spent))), ("Left", page_safe(str(receipt.remaining)))]
    rows = [
        ("Ledger", f"<code>{page_safe(receipt.ledger)}</code>, entry {receipt.entry:,}"),
        ("Purpose", page_safe(receipt.purpose or "not said")),
        ("Budget", f"<code>{page_safe(receipt.budget)}</code>"),
        *left,
        ("Head of the chain", f"<code>{page_safe(receipt.head[:16])}</code>"),
    ]
    share = share_of_budget(receipt.spent, receipt.remaining)
    return f"<h2>What was paid</h2>{'' if share is None else meter(share)}{facts(rows)}"


def share_of_budget(spent: Balance, remaining: Balance) -> float | None:
    """The share of the budget that is gone, by the rule that has the most room left; None if no rule is open."""
    pairs = ((spent.epsilon, remaining.epsilon), (spent.rho, remaining.rho), (spent.renyi, remaining.renyi))
    shares = [gone / (gone + left) for gone, left in pairs if gone is not None and left is not None and gone + left > 0]
    return min(shares, default=None)


def _cite(release: Release | GroupedRelease, heading: str) -> str:
    today, number = datetime.now(UTC).date(), version()
    text = (
        f"“{heading}”. Released under {release.guarantee} for one {release.unit} ({release.neighbours}) by "
        f"{release.mechanism}, with shortlist {number}, {today.day} {today:%B %Y}."
    )
    bibtex = (
        f"@misc{{shortlist{today:%Y%m%d},\n"
        f"  title        = {{{_plain(heading)}}},\n"
        f"  year         = {{{today:%Y}}},\n"
        f"  howpublished = {{Differentially private release by {_plain(release.mechanism)}, shortlist {number}}},\n"
        f"  note         = {{{_plain(f'{release.guarantee} for one {release.unit}')}, {release.neighbours}}}\n}}"
    )
    papers = sources(release.mechanism)
    origin, said = "", "The paper" if len(papers) == 1 else "The papers"
    if papers:
        entries = _pre("\n".join(paper.bibtex for paper in papers), f"BibTeX of {said.lower()}")
        origin = f"<details><summary>{said} behind this mechanism</summary>{entries}</details>"
    return f"<h2>How to cite it</h2><p>{page_safe(text)}</p>{_pre(bibtex, 'BibTeX')}{origin}"


def _pre(lines: str, label: str) -> str:
    """Lines that are to be copied."""
    text = "\n".join(map(page_safe, lines.split("\n")))
    return f'<pre tabindex="0" aria-label="{label}">{text}</pre>'


def _plain(text: str) -> str:
    """Without the signs that mean something to BibTeX."""
    return "".join(" " if letter in "{}\\%" else letter for letter in text)
