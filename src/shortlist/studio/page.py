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
        scripts=("studio/tools.js", "studio/shown.js", "studio/officer.js", "studio/studio.js"),
        talks=True,
    )


def lost_page() -> str:
    """For who comes with the address of a studio that has ended, such as an old bookmark. It holds no facts either."""
    return page(
        title="shortlist studio",
        body=(
            '<main><header class="top"><p class="mark">shortlist studio</p><h1>No studio has this address</h1>'
            '<p class="lead">A studio has a new address every time it starts. The right one is in the terminal where '
            "<code>shortlist studio</code> was started; or start it again there.</p></header></main>"
        ),
    )
