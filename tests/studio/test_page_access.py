"""The studio for everybody: axe-core finds nothing in any screen, light or dark, wide or narrow; keyboard and phone."""

import pytest

import shortlist as sl
from tests.helpers import axe
from tests.helpers.browser import check_contrast, check_keyboard, check_width, on_every_screen
from tests.helpers.studios import Running
from tests.helpers.support import full_size, sized


@pytest.fixture(scope="module")
def checker():
    code, reason = axe.script()
    if reason:
        pytest.skip(reason)
    return code


@pytest.fixture
def studio(tmp_path):
    sl.Ledger(tmp_path / "q4.db", budget=sl.ApproxDP(99.0, 1e-3))
    waits = sl.Ledger(tmp_path / "two.db", budget=sl.PureDP(3.0), approval=True)
    with pytest.raises(sl.privacy.ApprovalNeeded):
        sl.select([9, 1], epsilon=0.5, ledger=waits, purpose="the winner")
    running = Running(tmp_path)
    yield running
    running.close()


def arrive(look, studio, **how):
    page = look(studio.address, **how)
    page.wait_for_function("() => document.getElementById('ledger').options.length > 0")
    return page


def test_who_chooses_another_ledger_sees_that_one_alone(look, studio):
    page = look(f"{studio.address}#ledgers")
    page.wait_for_selector("#officer h2")
    with page.expect_response("**/officer"), page.expect_response("**/officer"):
        page.evaluate("""() => ["two.db", "q4.db"].forEach((name) => {
          const chosen = document.getElementById("officer-ledger");
          chosen.value = name;
          chosen.dispatchEvent(new Event("change"));
        })""")
    page.wait_for_function("() => document.querySelector('#officer h2')")
    page.evaluate("() => new Promise((go) => setTimeout(go, 300))")  # the other answer may still be on its way
    assert page.locator("#officer h2").all_text_contents() == ["q4.db"]


def try_films(page):
    page.click("#try-it")
    page.wait_for_function("() => document.getElementById('try-said').textContent.includes('filled in')")


def plan(page):
    page.click("#show-plan")
    page.wait_for_selector("#plan", state="visible")
    page.wait_for_function("() => !document.getElementById('expected').textContent.includes('Working')")


def release(page):
    before = page.locator(".result").count()
    page.check("#agree")
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_function(f"() => document.querySelectorAll('.result').length > {before}")


def screens(page):
    """Every screen of the studio, one after the other, by name."""
    yield "empty"
    page.click("#show-plan")
    page.wait_for_selector("#problem", state="visible")
    yield "what is missing"
    try_films(page)
    page.click("#read-columns")
    page.wait_for_selector("#roles select")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    plan(page)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    yield "plan"
    page.check("#values")
    plan(page)
    release(page)
    for name, text in {"by": "country", "groups": "CH, DE", "k": "2", "epsilon": "31"}.items():
        page.fill(f"#{name}", text)
    page.check("#large")
    plan(page)
    yield "a large epsilon"
    release(page)
    page.fill("#by", "")
    page.fill("#groups", "")
    page.fill("#epsilon", "1")
    page.check("input[value=every]")
    page.fill("#delta", "1e-6")
    plan(page)
    release(page)
    page.check("input[value=quantile]")
    page.get_by_label("age", exact=True).select_option("value")  # the columns that were listed stay
    for name, text in {"lower": "16", "upper": "90", "q": "0.25, 0.5", "delta": ""}.items():
        page.fill(f"#{name}", text)
    plan(page)
    release(page)
    yield "results"
    page.click("#to-ledgers")
    page.wait_for_selector("#officer table")
    yield "the officer's view"
    page.select_option("#officer-ledger", "two.db")
    page.wait_for_function("() => document.getElementById('officer').textContent.includes('Waiting for approval')")
    yield "approvals that wait"


TABLES = ("the officer's view", "approvals that wait")
"""Where a narrow screen leaves out the heads of tables."""


@full_size
@pytest.mark.usefixtures("known_plans")
def test_axe_finds_nothing_on_any_screen(look, studio, checker):
    """By all its rules; in the suite, where both kinds of screen have the same elements, on one of them by those rules
    alone that look at colours and sizes."""
    page = arrive(look, studio)
    for name in screens(page):
        for number, screen in enumerate(on_every_screen(page)):
            rules = sized(axe.LOOKS if number and name not in TABLES else None, full=None)
            assert axe.violations(page, checker, rules) == [], (name, screen)
            check_width(page)
            check_contrast(page)


def test_the_views_are_reached_by_keyboard_and_say_where_one_is(look, studio):
    page = arrive(look, studio)
    check_keyboard(page)
    page.focus("#to-ledgers")
    page.keyboard.press("Enter")
    page.wait_for_selector("#officer .card")
    assert page.evaluate("document.activeElement.id") == "officer-title"
    assert page.get_attribute("#to-ledgers", "aria-current") == "page"
    assert page.get_attribute("#to-release", "aria-current") is None
    assert not page.is_visible("#form")
    page.go_back()
    page.wait_for_selector("#form", state="visible")


def test_columns_are_picked_by_what_they_are(look, studio):
    (studio.folder / "odd.csv").write_text('who,"film, title",land,age\n' + "a,x,CH,3\n" * 3)
    page = arrive(look, studio)
    page.select_option("#table", "odd.csv")
    assert page.locator("#roles select").count() == 0
    assert page.inner_text("#columns-said").startswith("Shows the first line of the file, which must hold the names")
    page.click("#read-columns")
    page.wait_for_selector("#roles select")
    assert (
        page.inner_text("#columns-said")
        == "The first line of the file was read, nothing else. If it is a person's row, stop here: add a line of names "
        "to the file first. Say what each column is."
    )
    assert page.locator("#roles label").all_inner_texts() == ["who", "film, title", "land", "age"]
    for column, role in (("who", "user"), ("film, title", "item"), ("age", "item"), ("land", "by")):
        page.get_by_label(column, exact=True).select_option(role)
    assert [page.input_value(f"#{name}") for name in ("user", "item", "by")] == ["who", '"film, title", age', "land"]
    assert not page.is_visible("#user")  # one way to say it, not two
    for kind in ("quantile", "list"):
        page.check(f"input[value={kind}]")
    assert page.input_value("#item") == '"film, title", age'  # it is there for who turns back
    page.get_by_label("age", exact=True).select_option("user")
    assert page.input_value("#user") == "age"
    assert page.get_by_label("who", exact=True).input_value() == ""
    page.click("#write-columns")
    assert (page.is_visible("#user"), page.is_visible("#roles")) == (True, False)


def test_another_separator_is_asked_for_where_the_header_is_one_name(look, studio):
    (studio.folder / "odd.csv").write_text("who;film\n" + "a;x\n" * 3)
    page = arrive(look, studio)
    page.select_option("#table", "odd.csv")
    assert not page.is_visible("#separator")
    page.click("#read-columns")
    page.wait_for_selector("#separator", state="visible")
    assert "one single name, with ; in it" in page.inner_text("#columns-said")
    page.select_option("#separator", ";")
    page.wait_for_selector("#roles select")
    assert page.locator("#roles label").all_inner_texts() == ["who", "film"]


@pytest.mark.usefixtures("known_plans")
def test_the_tick_for_a_large_epsilon_comes_when_it_is_needed(look, studio):
    page = arrive(look, studio)
    try_films(page)
    assert not page.is_visible("#large")
    page.fill("#epsilon", "12")
    plan(page)
    assert "promises little" in page.inner_text("#caution")
    page.fill("#epsilon", "31")
    page.click("#show-plan")
    page.wait_for_selector("#problem", state="visible")
    assert "promises nobody anything" in page.inner_text("#problem")
    page.check("#large")
    plan(page)
    page.fill("#epsilon", "1")
    assert not page.is_visible("#large")


def test_the_forecast_stands_above_the_consent(look, studio):
    page = arrive(look, studio)
    try_films(page)
    plan(page)
    assert "3,000 people" in page.inner_text("#expected")
    assert "exactly right with a chance of" in page.inner_text("#expected")
    above = "(one) => one.compareDocumentPosition(document.getElementById('agree')) & Node.DOCUMENT_POSITION_FOLLOWING"
    assert page.eval_on_selector("#expected", above)
    (studio.folder / "own.csv").write_text("guest,dish\n")
    page.reload()
    page.wait_for_function("() => document.getElementById('purpose').value === 'most watched films'")
    try_films(page)
    page.select_option("#table", "own.csv")
    fields = ("user", "item", "candidates_file", "users", "purpose")
    assert [page.input_value(f"#{name}") for name in fields] == [""] * 5


def test_the_checker_finds_what_is_wrong(look, studio, checker):
    page = arrive(look, studio)
    page.evaluate("document.querySelector('label[for=epsilon]').remove()")
    assert any(one.startswith("label: ") for one in axe.violations(page, checker))


def test_an_empty_form_says_all_that_is_missing(look, studio):
    page = arrive(look, studio)
    assert "shortlist studio path/to/folder" in page.inner_text("#no-table")
    assert page.inner_text("#folder") == f"folder “{studio.folder.name}”"
    page.click("#show-plan")
    page.wait_for_selector("#problem", state="visible")
    assert "there is none in this folder: try the made-up films" in page.inner_text("#problem")
    assert page.locator("#problem li").count() == 4
    try_films(page)
    assert not page.is_visible("#no-table")
    page.fill("#user", "")
    page.check("input[value=none]")
    page.click("#show-plan")
    page.wait_for_function("() => document.activeElement.id === 'user'")
    said = page.locator("#problem li").all_inner_texts()
    assert said == [
        "the column that says who a row is about",
        "a delta, such as 1e-6, since the names come from the data",
    ]
