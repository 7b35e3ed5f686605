"""The report on the papers, in a real browser and as text."""

import re
from html import escape
from pathlib import Path

import numpy as np
import pytest

from shortlist.pages.plots import PALETTE
from shortlist.pages.theme import encode_json
from shortlist.planning.plans import collapse_point
from studies.papers import explore
from studies.papers.errata import errata
from studies.papers.inline_svg import COLOURS, inline_svg
from tests.helpers.browser import check_contrast, check_keyboard, check_looks, check_width
from tests.helpers.support import full_size

MOST = 3_000_000
BUILT = Path(__file__).parents[2] / "docs" / "report" / "index.html"


def curve(page, name="canonical"):
    return page.get_attribute(f"#curve-{name}", "d")


def drag(page, slider, value):
    """Move a slider as a hand would: value, input event, one frame."""
    page.evaluate(
        "([id, value]) => { const s = document.getElementById(id); s.value = value;"
        " s.dispatchEvent(new Event('input', {bubbles: true})) }",
        [slider, value],
    )
    page.evaluate("() => new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")


def test_the_report_opens_alone_and_without_complaints(look, study):
    page = look(study.as_uri())
    assert look.complaints == []
    assert look.requests == [study.as_uri()]
    assert page.title().startswith("Five papers")
    assert page.locator("svg.figure").count() == 2


@full_size
def test_nothing_sticks_out_and_all_text_has_contrast(look, study):
    page = look(study.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    check_looks(page)


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
def test_the_report_in_the_docs_opens_alone_and_reads_well(look, width, scheme):
    page = look(BUILT.as_uri(), width=width, scheme=scheme)
    assert look.complaints == []
    assert look.requests == [BUILT.as_uri()]
    assert BUILT.stat().st_size < MOST
    check_width(page)
    check_contrast(page)


def test_keyboard_alone_reaches_everything(look, study):
    check_keyboard(look(study.as_uri()))


def test_sliders_move_the_curves_and_the_collapse_point(look, study):
    page = look(study.as_uri())
    curves = [curve(page)]
    for slider, value in (("k", 4), ("gamma", 1), ("k", 2)):
        drag(page, slider, value)
        curves.append(curve(page))
    assert len(set(curves)) == len(curves)
    before = curve(page), page.inner_text("#says")
    drag(page, "epsilon", np.log(2.0))
    assert curve(page) == before[0]
    assert page.inner_text("#says") != before[1]
    assert look.complaints == []


def test_a_slider_answers_to_the_arrow_keys(look, study):
    page = look(study.as_uri())
    before = curve(page)
    page.focus("#k")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "before => document.getElementById('curve-canonical').getAttribute('d') !== before", arg=before
    )
    assert page.inner_text("#k-out") == "20"


def test_the_page_shows_the_exact_numbers_of_the_tables(look, study):
    page = look(study.as_uri())
    for k, gamma, step in ((10, 0.5, 20), (20, 0.1, 30), (5, 1.0, 12)):
        drag(page, "k", explore.SIZES.index(k))
        drag(page, "gamma", explore.GAMMAS.index(gamma))
        drag(page, "epsilon", np.log(explore.EPSILONS[step]))
        exact = explore.canonical_cell(0, k, gamma, float(np.exp(float(page.input_value("#epsilon")))))[0]
        shown = page.inner_text("#reading tr:first-child td:nth-child(2)")
        assert shown.strip("<>%") == {">": "99.9", "<": "0.1"}.get(shown[0], f"{100 * exact:.1f}")
        point = float(page.get_attribute("#curves", "data-collapse"))
        assert point == pytest.approx(collapse_point(explore.SHAPES[0].counts, k, gamma), rel=1e-6)


def test_the_report_prints_without_its_sliders_and_list_of_contents(look, study):
    page = look(study.as_uri(), media="print")
    assert not page.is_visible(".contents")
    assert not page.is_visible("#epsilon")
    assert page.is_visible("svg.figure >> nth=0")
    if hasattr(page, "pdf"):
        assert page.pdf()[:4] == b"%PDF"


def test_the_report_is_small_and_escapes_everything(study):
    text = study.read_text()
    assert len(text.encode()) < MOST
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert not re.search(r'(?:src|href)="https?:', text)


def test_the_report_lists_the_errata_of_the_papers_it_tells_of(study):
    text = study.read_text()
    assert len(errata()) > 50
    for row in errata("gumbel"):
        assert escape(row["place"]) in text
    assert 'id="errata-gumbel"' in text
    assert 'id="errata-canonical"' in text


def test_the_tables_of_the_sliders_are_the_exact_laws():
    kept = explore.tables()
    rng = np.random.default_rng(5)
    assert kept["epsilon"] == list(explore.EPSILONS)
    assert kept["k"] == list(explore.SIZES)
    assert kept["gamma"] == list(explore.GAMMAS)
    for shape, found in enumerate(kept["shapes"]):
        assert found["counts"] == explore.SHAPES[shape].counts.tolist()
        for _ in range(3):
            k, gamma, step = (
                int(rng.integers(len(part))) for part in (explore.SIZES, explore.GAMMAS, explore.EPSILONS)
            )
            size, epsilon = explore.SIZES[k], explore.EPSILONS[step]
            exact = explore.canonical_cell(shape, size, explore.GAMMAS[gamma], epsilon)
            assert found["canonical"][k][gamma][step] == pytest.approx(list(exact), rel=2e-3, abs=1e-7)
            assert found["bound"][k][step] == pytest.approx(explore.bound_cell(shape, size, epsilon), rel=2e-3)
        rival = list(explore.RIVALS)[shape]
        exact = explore.rival_cell(rival, shape, 5, explore.EPSILONS[30])
        assert found["rivals"][rival][explore.SIZES.index(5)][30] == pytest.approx(list(exact), rel=2e-3, abs=1e-7)


def test_figures_keep_their_names_apart_and_take_the_colours_of_the_page(study):
    text = study.read_text()
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    drawn = text[text.index('<svg class="figure"') :]
    drawn = drawn[: drawn.index("</svg>")]
    assert "var(--c0)" in drawn
    assert "#0f766e" not in drawn
    assert ">0.001</text>" in drawn
    assert ">#1f2a37</text>" in drawn
    assert set(PALETTE) <= set(COLOURS)
    with pytest.raises(ValueError, match="view box"):
        inline_svg("<svg></svg>", "a", "b")


def test_json_in_a_page_cannot_end_its_element():
    assert "<" not in encode_json({"a": "</script><b>"})


def test_the_measures_of_these_tests_find_what_is_wrong(look, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<body style='margin:0'><p style='color:#999'>faint</p><p style='color:#555'>plain</p>"
        "<div style='width:2000px'>wide</div><a href='#x' tabindex='-1'>lost</a>"
        "<a href='#y' style='outline:none'>unseen</a><script>nothing()</script></body>"
    )
    page = look(bad.as_uri(), width=360)
    assert [line.split()[-1] for line in page.evaluate("measures.faint()")] == ["faint"]
    assert any("wide" in line for line in page.evaluate("measures.outside()"))
    with pytest.raises(AssertionError):
        check_keyboard(page)
    assert any("lost" in line for line in page.evaluate("measures.unvisited()"))
    assert any("unseen" in line for line in page.evaluate("measures.unseen()"))
    assert look.complaints
