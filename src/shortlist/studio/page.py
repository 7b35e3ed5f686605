"""The studio's page: its words, its look and its behaviour are assets; here they are put together."""

from __future__ import annotations

from shortlist.pages.theme import asset, page


def studio_page() -> str:
    """The page. It holds no facts: it asks the server for them."""
    styles = ("base.css", "release.css", "studio.css")
    return page(title="shortlist studio", body=asset("studio.html"), styles=styles, scripts=("studio.js",), talks=True)
