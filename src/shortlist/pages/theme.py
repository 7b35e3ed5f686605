"""The look that all pages share, and how a page is put together: one file that needs nothing else, and no network."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any


def asset(name: str | Path) -> str:
    """Return the text of a style sheet or script: "pages/base.css" is in `pages/assets`; other files have a path."""
    if isinstance(name, Path):
        return name.read_text(encoding="utf-8")
    folder, _, file = name.partition("/")
    return Path(str(files("shortlist") / folder / "assets" / file)).read_text(encoding="utf-8")


def page(
    *,
    title: str,
    body: str,
    styles: tuple[str | Path, ...] = ("pages/base.css",),
    scripts: tuple[str | Path, ...] = (),
    data: dict[str, Any] | None = None,
    talks: bool = False,
) -> str:
    """A whole page. Its policy lets it run its own scripts, fetch nothing and send nothing.

    Parameters
    ----------
    title
        Of the window; plain text.
    body
        HTML.
    styles, scripts
        Assets of the package by name, or files.
    data
        For the scripts, as JSON in elements named by the keys.
    talks
        Whether it may ask the server it came from.
    """
    code = "\n".join(asset(name) for name in scripts)
    origin = f"'sha256-{base64.b64encode(sha256(code.encode()).digest()).decode()}'" if code else "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {origin}; img-src data:"
    policy += "; connect-src 'self'" if talks else ""
    policy += "; base-uri 'none'; form-action 'none'"
    style = "\n".join(asset(name) for name in styles)
    elements = "".join(
        f'<script type="application/json" id="{escape(name)}">{embedded(value)}</script>\n'
        for name, value in (data or {}).items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n'
        f"<body>\n{body}\n{elements}{f'<script>{code}</script>' if code else ''}\n</body>\n</html>\n"
    )


def embedded(value: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], kind: str = "") -> str:
    """A table of plain texts, in a box that scrolls by itself where the page is narrow."""
    cells = "".join(f'<th scope="col">{escape(word)}</th>' for word in head)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-label="{escape(word)}">{escape(cell)}</td>' for word, cell in zip(head, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>'
