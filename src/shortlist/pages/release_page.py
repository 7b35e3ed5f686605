"""Releases as pages of HTML."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shortlist._files import path_text, write_text
from shortlist._runtime import version
from shortlist._text import LEAD, OVER, as_sentence, label_text, page_safe, terminal_safe
from shortlist.accounting.guarantees import ApproxDP
from shortlist.errors import bad_type
from shortlist.pages.summary import (
    UNORDERED,
    came,
    declared_in_words,
    first_of,
    in_full,
    page_remarks,
    quantile_in_words,
    risk,
    why_in_words,
)
from shortlist.pages.theme import caution_in, facts, meter, page, price_in, risk_box, sources

if TYPE_CHECKING:
    from shortlist.ledger.filter import Balance
    from shortlist.ledger.ledger import Receipt
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


def write_release(release: Release, path: str | os.PathLike[str], title: str = "") -> None:
    """The page in a file: the whole of it, or what was there before. A new file is for its owner alone."""
    if not isinstance(name := os.fspath(path), str):
        raise bad_type('$path must be text, for example "top10.html"')
    if not isinstance(title, str):
        raise bad_type('$title must be text, for example $title="Most rented films"')
    write_text(name, release_page(release, title))


def release_page(release: Release, title: str = "") -> str:
    """The page as HTML."""
    heading = terminal_safe(title or _heading(release))
    body = "\n".join(
        [
            "<main>",
            f'<header class="top"><p class="mark">shortlist · a private release</p><h1>{page_safe(heading)}</h1>',
            f'<p class="lead">{_lead(release)}</p></header>',
            "" if release.secure else seeded_warning(),
            caution_in(release.guarantee),
            list_of(release, (UNORDERED,)),  # said above the list
            about(release, heading),
            "</main>",
            f'<footer><p class="note">Written by shortlist {page_safe(version())}. This page holds released '
            "and public facts alone, loads nothing and sends nothing.</p></footer>",
        ]
    )
    return page(title=heading, body=body, styles=("pages/base.css", "pages/release.css"))


def about(release: Release | GroupedRelease, heading: str) -> str:
    """What is said below the list, or the lists."""
    return "\n".join([_promise(release), _made(release), _paid(release), _cite(release, heading)])


def _heading(release: Release) -> str:
    many = len(release.items or ())
    if release.receipt is not None and release.receipt.purpose:
        return release.receipt.purpose
    if release.q is not None:
        return "A quantile, chosen privately" if many == 1 else f"{many:,} quantiles, chosen privately"
    if many == 0:
        return "Nothing could be released"
    if release.asked is not None and many < release.asked:
        return f"{many:,} of {release.asked:,} items, chosen privately"
    return "One winner, chosen privately" if many == 1 else f"{many:,} items, chosen privately"


def _lead(release: Release) -> str:
    if len(release.items or ()) <= 1 or release.q is not None:
        order = ""
    elif release.ordered:
        order = f"The list is in order, {first_of(release)} first. "
    else:
        order = "This is a set, sorted by name: its order says nothing. "
    fewer = f"{page_safe(came(release))} " if release.asked is not None and len(release) < release.asked else ""
    price, unit = price_in(release.guarantee), page_safe(release.unit)
    drawn = "They were drawn" if release.q is not None and len(release) > 1 else "It was drawn"
    return f"{fewer}{order}{drawn} with differential privacy, {price}, for every single {unit}."


def seeded_warning() -> str:
    """Of a release that is a test."""
    return (
        '<p class="warning" role="note"><b>Not private.</b> This release was drawn with seeded randomness, for tests: '
        "whoever knows the seed can undo it.</p>"
    )


def list_of(release: Release, elsewhere: Collection[str] = ()) -> str:
    """The items, with what was released beside them; without notes that stand `elsewhere` on the page."""
    rows = _quantiles(release) if release.q is not None else _items(release)
    kind = "ol" if release.ordered and release.q is None else "ul"
    few = " few" * (len(rows) <= ONE_COLUMN and (release.values is not None or release.gaps is not None))
    notes = [*([MARGIN] if rows and release.margins else []), *page_remarks(release), *release.notes]
    below = paragraphs(note for note in notes if note not in elsewhere)
    empty = "" if rows else "<p>It looked, and found nothing that it may name: an answer too, and paid for.</p>"
    return f'<{kind} class="list{few}" role="list">{"".join(rows)}</{kind}>{empty}{below}'


def paragraphs(notes: Iterable[str]) -> str:
    """Notes as small sentences of their own."""
    return "".join(f'<p class="note">{page_safe(as_sentence(note))}</p>' for note in notes)


def _quantiles(release: Release) -> list[str]:
    words, names = map(quantile_in_words, release.q or ()), map(label_text, release.items or ())
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
    unit = page_safe(release.unit)
    if release.neighbours == "replace":
        doubt = f"which of two versions of one {unit}’s data was used"
    else:
        doubt = f"whether one particular {unit} is in the data at all"
    return (
        f"<h2>What it can give away</h2><p>Think of somebody who knows everything else: all the other people in the "
        f"data, the method, and this list. They want to know {doubt}, and have no idea: fifty-fifty.</p>"
        f"{risk_box(risk(release.guarantee), BEFORE, AFTER)}"
        f"{_limits(release)}"
    )


def _limits(release: Release | GroupedRelease) -> str:
    guarantee, unit = release.guarantee, page_safe(release.unit)
    failing = ""
    pure = guarantee.as_pure()
    if isinstance(guarantee, ApproxDP):
        # not "with probability delta it may say more": that does not follow from (epsilon, delta)
        other = "with the other version of their data" if release.neighbours == "replace" else "without them"
        failing = (
            f" Whatever one looks for in the list, its chance is at most e<sup>ε</sup> times what it would be {other}, "
            f"plus δ = {in_full(guarantee.delta)}, and the other way round; the bounds above include that."
        )
    group = f" For a group of m of them, multiply ε = {in_full(pure.epsilon)} by m." if pure is not None else ""
    return (
        f'<p class="note">The promise is for one {unit}, with all their rows, against any computer and any knowledge '
        f"from elsewhere, now or later.{failing}{group} It does not hide what is true of the whole crowd: that is what "
        "the list is for.</p>"
    )


def _made(release: Release | GroupedRelease) -> str:
    changes = {"add-remove": "one is added or removed, with all their rows", "replace": "one is exchanged for another"}
    rows = [
        ("Mechanism", page_safe(release.mechanism)),
        ("Why this one", page_safe(why_in_words(release))),
        ("Guarantee", f"<code>{page_safe(str(release.guarantee))}</code>"),
        (
            "Protects",
            f"every {page_safe(release.unit)}: {changes.get(release.neighbours, page_safe(release.neighbours))}",
        ),
        *([("Candidates", words)] if (words := declared_in_words(release)) else []),
        ("Randomness", "the operating system’s secure source" if release.secure else "seeded: a test, not private"),
        ("Sampling", "exact: the law of the mechanism, without rounding errors"),
    ]
    if release.charge != release.guarantee:
        rows.insert(3, ("Booked as", f"<code>{page_safe(str(release.charge))}</code>: {FINER}"))
    if release.used is not None:
        rows.insert(2, ("Which way it went", page_safe(WAYS.get(release.used, release.used))))
    return f"<h2>How it was made</h2>{facts(rows)}"


def _paid(release: Release | GroupedRelease) -> str:
    receipt = release.receipt
    if receipt is None:
        return (
            "<h2>What was paid</h2><p>No ledger was given, so nothing keeps count of what this list and others give "
            "away together.</p>"
        )
    rows = [
        ("Ledger", f"<code>{page_safe(receipt.ledger)}</code>, entry {receipt.entry:,}"),
        ("Purpose", page_safe(receipt.purpose or "not said")),
        ("Budget", f"<code>{page_safe(receipt.budget)}</code>"),
        *_balance(receipt),
        ("Head of the chain", f"<code>{page_safe(receipt.head[:16])}</code>"),
    ]
    return f"<h2>What was paid</h2>{_meter(receipt)}{facts(rows)}"


def _meter(receipt: Receipt) -> str:
    share = spent_share(receipt.spent, receipt.remaining)
    return "" if share is None else meter(share)


def _balance(receipt: Receipt) -> list[tuple[str, str]]:
    """How the ledger stood; receipts of older releases have the numbers of its rules alone."""
    if receipt.balance:
        return [("Then", page_safe(f"{receipt.balance}. What is booked is progress; the promise is the budget"))]
    return [("Spent so far", page_safe(str(receipt.spent))), ("Left", page_safe(str(receipt.remaining)))]


def spent_share(spent: Balance, remaining: Balance) -> float | None:
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
    bibtex = "\n".join(
        page_safe(line)
        for line in [
            f"@misc{{shortlist{today:%Y%m%d},",
            f"  title        = {{{_plain(heading)}}},",
            f"  year         = {{{today:%Y}}},",
            f"  howpublished = {{Differentially private release by {_plain(release.mechanism)}, shortlist {number}}},",
            f"  note         = {{{_plain(str(release.guarantee))} for one {_plain(release.unit)}, "
            f"{release.neighbours}}}",
            "}",
        ]
    )
    return (
        f'<h2>How to cite it</h2><p>{page_safe(text)}</p><pre tabindex="0" aria-label="BibTeX">{bibtex}</pre>'
        f"{_papers(release.mechanism)}"
    )


def _papers(mechanism: str) -> str:
    """Where the mechanism comes from, to be copied."""
    papers = sources(mechanism)
    if not papers:
        return ""
    entries = "\n".join(page_safe(line) for paper in papers for line in paper.bibtex.splitlines())
    said = "The paper" if len(papers) == 1 else "The papers"
    return (
        f"<details><summary>{said} behind this mechanism</summary>"
        f'<pre tabindex="0" aria-label="BibTeX of {said.lower()}">{entries}</pre></details>'
    )


def _plain(text: str) -> str:
    """Without the signs that mean something to BibTeX."""
    return "".join(" " if letter in "{}\\%" else letter for letter in text)


def write_groups(release: GroupedRelease, path: str | os.PathLike[str], title: str) -> None:
    """One file, whole or not at all."""
    write_text(path_text(path, "lists.html"), groups_page(release, title))


def groups_page(release: GroupedRelease, title: str) -> str:
    """The page as text."""
    heading = terminal_safe(title or _groups_heading(release))
    price, unit = price_in(release.guarantee), page_safe(release.unit)
    most = f"{release.groups_per_user} group{'s' * (release.groups_per_user != 1)}"
    each = [{*one.notes, *page_remarks(one)} for one in release.values()]
    common = {MARGIN, *(set.intersection(*each) if each else ())}
    lists = "".join(
        f"<section><h2><bdi>{page_safe(terminal_safe(label_text(key)))}</bdi></h2>{list_of(one, common)}</section>"
        for key, one in release.items()
    )
    empty = (
        "" if len(release) else "<p>It looked, and found no group that it may name: an answer too, and paid for.</p>"
    )
    said = [note for one in list(release.values())[:1] for note in (*page_remarks(one), *one.notes) if note in common]
    margins = [MARGIN] if any(one.margins for one in release.values()) else []
    notes = paragraphs((*margins, *said, *release.notes))
    body = "\n".join(
        [
            "<main>",
            f'<header class="top"><p class="mark">shortlist · a private release</p><h1>{page_safe(heading)}</h1>',
            f'<p class="lead">Drawn with differential privacy. One {unit} is in at most {most} and pays {price} in all '
            "of them together.</p></header>",
            "" if release.secure else seeded_warning(),
            caution_in(release.guarantee),
            f'<div class="groups">{lists}</div>',
            empty,
            notes,
            about(release, heading),
            "</main>",
            f'<footer><p class="note">Written by shortlist {page_safe(version())}. This page holds released '
            "and public facts alone, loads nothing and sends nothing.</p></footer>",
        ]
    )
    return page(title=heading, body=body, styles=("pages/base.css", "pages/release.css"))


def _groups_heading(release: GroupedRelease) -> str:
    if release.receipt is not None and release.receipt.purpose:
        return release.receipt.purpose
    many = f"{len(release):,} group{'s' * (len(release) != 1)}"
    if any(one.q is not None for one in release.values()):
        return f"Quantiles of {many}, chosen privately"
    return f"A list for each of {many}, chosen privately"
