"""The page of a grouped release: every list, and one promise for all of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shortlist._files import checked_path, write_text
from shortlist._text import label_text, page_safe, terminal_safe
from shortlist._version import version
from shortlist.pages.release_page import MARGIN, about, list_of, paragraphs, seeded_warning
from shortlist.pages.risk_box import caution_in, price_in
from shortlist.pages.summary import page_remarks
from shortlist.pages.theme import page

if TYPE_CHECKING:
    from shortlist.grouped_release import GroupedRelease


def write_groups(release: GroupedRelease, path: str | os.PathLike[str], title: str) -> None:
    """One file, whole or not at all."""
    write_text(checked_path(path, "lists.html"), groups_page(release, title))


def groups_page(release: GroupedRelease, title: str) -> str:
    """The page as text."""
    heading = terminal_safe(title or _heading(release))
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


def _heading(release: GroupedRelease) -> str:
    if release.receipt is not None and release.receipt.purpose:
        return release.receipt.purpose
    many = f"{len(release):,} group{'s' * (len(release) != 1)}"
    if any(one.q is not None for one in release.values()):
        return f"Quantiles of {many}, chosen privately"
    return f"A list for each of {many}, chosen privately"
