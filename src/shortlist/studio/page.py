"""The studio's page: its words, its look and its behaviour are assets; here they are put together."""

from __future__ import annotations

from shortlist.pages.theme import asset, page


def studio_page() -> str:
    """The page. It holds no facts: it asks the server for them."""
    styles = ("pages/base.css", "pages/release.css", "studio/studio.css")
    return page(
        title="shortlist studio",
        body=asset("studio/studio.html"),
        styles=styles,
        scripts=("studio/tools.js", "studio/officer.js", "studio/studio.js"),
        talks=True,
    )
