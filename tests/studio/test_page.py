"""The studio's whole story, clicked through in a real browser."""

import pytest

import shortlist as sl
from tests.helpers.browser import check_contrast, check_keyboard, check_looks
from tests.helpers.studios import Running, fill
from tests.helpers.support import full_size

pytestmark = pytest.mark.usefixtures("known_plans")


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    running = Running(tmp_path)
    yield running
    running.close()


def arrive(look, studio, **how):
    page = look(studio.address, **how)
    page.wait_for_function("() => document.getElementById('table').options.length > 0")
    return page


def answer(page, **changes):
    """Fill in the form as an analyst would."""
    answers = {"user": "who", "item": "film", "k": "3", "epsilon": "1", "purpose": "films of the week", **changes}
    page.select_option("#candidates_file", "films.txt")
    for name, text in answers.items():
        page.fill(f"#{name}", text)


def plan(page, **changes):
    answer(page, **changes)
    page.click("#show-plan")
    page.wait_for_selector("#plan", state="visible")


def agree(page):
    """By the keyboard: a forecast that arrives moves the box away from under a mouse."""
    page.focus("#agree")
    page.keyboard.press("Space")


def test_the_whole_story(look, studio):
    page = arrive(look, studio)
    plan(page)
    assert page.inner_text("#plan-title") == "3 of 8 candidates"
    assert page.inner_text("#right") == "73.2%"
    assert "guarded top-3" in page.inner_text("#plan-facts")
    assert (
        page.inner_text("#plan-left")
        == "year.db: epsilon 0 of 3 is booked now, 1 of 3 with this release; 2 will be left."
    )
    assert page.is_disabled("#release")
    agree(page)
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_selector(".result")
    assert page.locator(".result .list li").count() == 3
    assert "year.db, entry 1" in page.inner_text(".result")
    assert page.inner_text("#agree-text") == "I spend epsilon 1 of the 3 in year.db; 2 will be left."
    assert "epsilon 1" in page.inner_text("#entries")
    assert "Booked: epsilon 1 of 3" in page.inner_text("#ledger-facts")
    assert page.inner_text("#ledger-facts .left") == "Epsilon 2 is left."
    assert page.inner_text(".result .keep").startswith("Save it now: ")
    names = set()
    with page.context.expect_page() as opened:
        page.click("text=Open the report")
    opened.value.wait_for_load_state()
    assert "films of the week" in opened.value.title()
    for link in page.locator(".downloads a[download]").all():
        with page.expect_download() as started:
            link.click()
        names.add(started.value.suggested_filename)
        assert started.value.path().stat().st_size > 20
    assert names == {"top3.csv", "top3.json", "top3.html", "top3.py", "top3.ipynb"}
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 1.0
    assert look.complaints == []
    assert all(one.startswith(studio.origin) for one in look.requests)


def test_a_reload_or_a_changed_answer_needs_a_new_confirmation(look, studio):
    page = arrive(look, studio)
    plan(page)
    agree(page)
    page.reload()
    page.wait_for_function("() => document.getElementById('user').value === 'who'")  # as it was at the last plan
    assert [page.input_value(f"#{name}") for name in ("item", "candidates_file", "k")] == ["film", "films.txt", "3"]
    assert not page.is_visible("#plan")
    assert page.is_disabled("#release")
    plan(page)
    assert not page.is_checked("#agree")
    agree(page)
    page.fill("#epsilon", "2")
    assert not page.is_visible("#plan")
    plan(page, epsilon="0.5")
    agree(page)
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_selector(".result")
    page.reload()
    page.wait_for_selector("#earlier")
    assert page.is_visible("#empty")
    assert not page.is_visible(".result")  # nor beside a new question
    page.click("#earlier summary")
    assert page.is_visible(".result")
    assert not page.is_visible("#plan")
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0.5


def test_a_ledger_of_other_data_is_not_proposed_and_a_private_table_no_list(look, studio):
    for name in ("other.csv", "empty.csv"):
        (studio.folder / name).write_text("who,film\n" * (name == "other.csv"))
    studio.release()
    page = arrive(look, studio)
    page.select_option("#table", "rentals.csv")
    assert page.input_value("#ledger") == "year.db"
    assert page.locator("#candidates_file > option").all_inner_texts() == ["choose a file", "films.txt"]
    assert page.locator("#candidates_file > optgroup option").all_inner_texts() == ["empty.csv", "other.csv"]
    page.select_option("#table", "other.csv")
    assert page.input_value("#ledger") == ""
    assert page.locator("#candidates_file > optgroup option").all_inner_texts() == ["empty.csv", "rentals.csv"]
    assert "empty.csv (empty)" in page.locator("#table option").all_inner_texts()


def test_problems_are_said_in_the_page(look, studio):
    page = arrive(look, studio)
    answer(page, epsilon="9")
    page.click("#show-plan")
    page.wait_for_selector("#problem", state="visible")
    assert "no room" in page.inner_text("#problem")
    said = page.evaluate("['year.db is full', 'own/a.db', 'write it', 'Done?'].map(sentence)")
    assert said == ["year.db is full.", "own/a.db.", "Write it.", "Done?"]  # the name of a file stays as it is
    answer(page, user="")
    page.click("#show-plan")
    page.wait_for_function("() => document.activeElement.id === 'user'")
    assert page.inner_text("#field-problem") == "Write which column says who a row is about, for example user_id."
    check_contrast(page)
    plan(page, user="nobody")
    agree(page)
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_selector("#problem", state="visible")
    assert page.inner_text("#problem").startswith("People column: the table has no column nobody;")
    page.click("#read-columns")
    page.wait_for_selector("#roles select")
    assert not page.is_visible("#problem")  # it was of what was asked before
    page.click("#write-columns")
    answer(page, epsilon="")
    page.type("#epsilon", "1,5")
    page.click("#show-plan")
    page.wait_for_function("() => document.activeElement.id === 'epsilon'")
    assert page.inner_text("#problem").startswith("Privacy spent, epsilon (ε): write decimals with a point")
    page.evaluate("document.getElementById('new-ledger').open = true")
    page.fill("#ledger-epsilon", "1,5")
    page.click("#make-ledger")
    page.wait_for_function("() => document.activeElement.id === 'ledger-epsilon'")
    assert page.inner_text("#problem").startswith("Budget, epsilon: write decimals")
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0


def test_a_ledger_is_made_in_the_page(look, studio):
    (studio.folder / "year.db").unlink()
    page = arrive(look, studio)
    page.fill("#ledger-name", "own.db")
    page.wait_for_function("() => document.getElementById('ledger-risk').textContent.includes('at most 95.3%')")
    page.fill("#ledger-epsilon", "12")
    page.wait_for_selector("#ledger-caution", state="visible")
    page.fill("#ledger-epsilon", "3")
    page.click("#make-ledger")
    page.wait_for_function("() => document.getElementById('ledger').value === 'own.db'")
    plan(page)
    assert (
        page.inner_text("#plan-left")
        == "own.db: epsilon 0 of 3 is booked now, 1 of 3 with this release; 2 will be left."
    )


@pytest.mark.parametrize(("width", "height"), [(1366, 700), (360, 740)])
def test_the_consent_is_in_sight_with_the_plan(look, studio, width, height):
    page = arrive(look, studio, width=width, height=height)
    answer(page)
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, 0)")
    page.press("#purpose", "Enter")
    page.wait_for_selector("#plan", state="visible")
    assert page.evaluate("getComputedStyle(document.querySelector('.panel')).overflowY") == "visible"  # one scrollbar
    for name in ("plan-title", "agree", "release"):
        box = page.locator(f"#{name}").bounding_box()
        assert 0 <= box["y"] <= height - box["height"], name


def test_labels_that_try_to_be_html_stay_text(look, studio):
    label = "<img src=x onerror=document.title='evil'>"
    (studio.folder / "rentals.csv").write_text("who,film\n" + "".join(f"p{i},{label}\n" for i in range(500)))
    page = arrive(look, studio)
    page.check("input[value=text]")
    page.fill("#candidates_text", f"{label}\nother")
    answer_rest = {"user": "who", "item": "film", "k": "1", "epsilon": "1", "purpose": label}
    for name, text in answer_rest.items():
        page.fill(f"#{name}", text)
    page.click("#show-plan")
    page.wait_for_selector("#plan", state="visible")
    agree(page)
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_selector(".result")
    assert label in page.inner_text(".result .list")
    assert page.title() == "shortlist studio"
    assert look.complaints == []


@full_size
def test_every_screen_fits_and_has_contrast(look, studio):
    page = arrive(look, studio)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    check_looks(page)
    plan(page)
    check_looks(page)
    agree(page)
    page.press("#release", "Enter")  # a forecast that arrives moves it from under a mouse
    page.wait_for_selector(".result")
    check_looks(page)


def test_keyboard_alone_tells_the_story(look, studio):
    page = arrive(look, studio)
    check_keyboard(page)
    answer(page)
    page.focus("#user")
    page.keyboard.press("Enter")
    page.wait_for_selector("#plan", state="visible")
    assert page.evaluate("document.activeElement.id") == "plan-title"
    page.wait_for_selector("#expected summary")  # the forecast has a fold, which stands before the consent
    for name in ("Write your own numbers", "All mechanisms compared"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == name
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "agree"
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".result")
