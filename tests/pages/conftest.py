"""A real browser for the pages, and a small report to look at."""

import shutil

import pytest

from tests.pages.browser import Look

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium():
    """One headless Chromium for all tests of this process, with an empty profile and no business of its own."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium):
    """Open pages and collect what went wrong in them: `look(address, width=360, scheme="dark")`."""
    opened = Look(chromium)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A report over two small experiments, one of them with names that try to be HTML."""
    from shortlist.reproduce.study_page import write_study
    from tests.reproduce.experiments import records

    folder = tmp_path_factory.mktemp("study")
    return write_study(folder, records(folder))
