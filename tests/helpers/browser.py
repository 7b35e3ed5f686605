"""What the tests ask of every page: no errors, nothing cut off, enough contrast, keyboard."""

from pathlib import Path

from tests.helpers.support import sized

SCREENS = [(360, "light"), (1440, "dark"), *sized([], full=[(360, "dark"), (1440, "light")])]
"""Width and scheme: each of both in the suite, all pairs in `make audit`."""
MEASURES = Path(__file__).with_name("measures.js").read_text()


class Look:
    """Pages in a browser, each in a context of its own, and their complaints."""

    def __init__(self, browser):
        self._browser, self._contexts = browser, []
        self.complaints = []
        self.requests = []

    def __call__(self, address, *, width=1440, height=900, scheme="light", media=None):
        context = self._browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(0)  # the test's own limit is enough
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        if media:
            page.emulate_media(media=media)
        page.goto(address)
        page.evaluate(MEASURES)
        return page

    def close(self):
        for context in self._contexts:
            context.close()


def on_every_screen(page):
    """The page as it is, in each width and scheme, one after the other; says which."""
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        yield f"{width} {scheme}"


def check_looks(page):
    """On every screen nothing sticks out, and all text has contrast."""
    for _ in on_every_screen(page):
        check_width(page)
        check_contrast(page)


def check_width(page):
    """Nothing sticks out of the window, except inside boxes that scroll by themselves."""
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate("measures.outside()") == []


def check_contrast(page):
    """WCAG AA: 4.5 to 1 for text, 3 to 1 for large text."""
    assert page.evaluate("measures.faint()") == []


def check_keyboard(page):
    """Tab alone reaches everything that can be used, and what has the focus shows it."""
    wanted = page.evaluate("measures.usable()")
    assert wanted
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
        page.evaluate("measures.visit()")
    assert page.evaluate("measures.unvisited()") == []
    assert page.evaluate("measures.unseen()") == []
