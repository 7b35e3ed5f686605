"""A list for every group, clicked through in a real browser."""

import pytest

import shortlist as sl
from shortlist.privacy import ApproxDP
from tests.helpers.browser import check_looks
from tests.helpers.studios import FILMS, QUESTION, Running, fill
from tests.helpers.support import full_size

pytestmark = pytest.mark.usefixtures("known_plans")
COUNTRIES = ("CH", "DE", "FR", "<b>XX</b>")
BUDGET = ApproxDP(1.0, 1e-6)


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path, rows=10)
    cells = [
        f"{land}{n},{FILMS[(place + shift) % 8]},{land},{week}"
        for shift, land in enumerate(COUNTRIES)
        for place, many in enumerate((90, 60, 30, 5))
        for n in range(many)
        for week in (39, 40)
    ]
    (tmp_path / "lands.csv").write_text("\n".join(["who,film,land,week", *cells]) + "\n")
    sl.Ledger(tmp_path / "both.db", budget=ApproxDP(90.0, 1e-4))
    sl.Ledger(tmp_path / "small.db", budget=BUDGET)
    running = Running(tmp_path)
    yield running
    running.close()


def released(look, studio, *, values=False, **how):
    """The page after a release of two films for each of three countries and one that looks like HTML."""
    page = look(studio.address, **how)
    page.wait_for_function("() => document.getElementById('table').options.length > 0")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for name, choice in {"table": "lands.csv", "candidates_file": "films.txt", "ledger": "both.db"}.items():
        page.select_option(f"#{name}", choice)
    texts = {"user": "who", "item": "film", "k": "2", "epsilon": "40", "purpose": "films by country", "by": "land"}
    texts |= {"groups": ", ".join(COUNTRIES), "where": "week >= 40"}
    for name, text in texts.items():
        page.fill(f"#{name}", text)
    page.check("#large")
    page.set_checked("#values", values)
    page.click("#show-plan")
    page.wait_for_selector("#plan", state="visible")
    assert page.inner_text("#plan-title") == "2 of 8 candidates for each of 4 groups"
    assert "in all groups together" in page.inner_text("#plan-facts")
    assert page.inner_text("#agree-text") == "I spend epsilon 40 of the 90 in both.db; up to 50 will be left."
    page.focus("#agree")  # a forecast that arrives moves the box away from under a mouse
    page.keyboard.press("Space")
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_selector(".result")
    return page


def test_every_group_has_its_own_list_in_the_page(look, studio):
    page = released(look, studio)
    assert page.locator(".result h3").all_inner_texts() == list(COUNTRIES)
    assert page.locator(".result .list").count() == 4
    assert page.locator(".result .list").first.locator(".name").all_inner_texts() == ["Alien", "Heat"]
    assert "both.db, entry 1" in page.inner_text(".result")
    assert "One user counts in at most 1 group" in page.inner_text(".result")
    for link in page.locator(".downloads a[download]").all():
        with page.expect_download() as started:
            link.click()
        assert started.value.path().stat().st_size > 20
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 40.0
    assert look.complaints == []
    assert all(one.startswith(studio.origin) for one in look.requests)


@full_size
def test_lists_of_groups_fit_every_screen(look, studio):
    check_looks(released(look, studio, values=True))


@full_size
def test_the_report_of_groups_fits_every_screen(look, tmp_path):
    lists = sl.top_k([[90, 20, 50], [1, 70, 30]], 2, epsilon=2.0, monotone=True, values=True)
    lists.report(tmp_path / "lists.html", title="Two lists")
    page = look((tmp_path / "lists.html").as_uri())
    assert page.locator("h2").all_inner_texts()[:2] == ["0", "1"]
    check_looks(page)
    assert look.complaints == []


def test_groups_at_the_whole_budget_have_a_price_in_the_studio(studio):
    asked = {"table": "lands.csv", "by": "land", "groups": "CH, DE", "k": 1, "epsilon": 1.0, "delta": 1e-6}
    asked |= {"ledger": "small.db"}
    status, plan = studio.ask("plan", {**QUESTION, **asked})
    assert status == 200, plan
    job = studio.release(**asked)
    assert job["state"] == "done", job
    (entry,) = sl.Ledger(studio.folder / "small.db").entries()
    assert entry.guarantee == repr(BUDGET)
