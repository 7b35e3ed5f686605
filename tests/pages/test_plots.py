"""Pictures of releases: released things alone, in letters and colours that can be read."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb

import shortlist as sl
from shortlist.pages import plots
from shortlist.pages.plots import plot_plan
from tests.helpers.typed import present

mpl.use("Agg")
COUNTS = {"ada": 900, "bob": 500, "cy": 200, "dee": 20}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(**words):
    release = sl.top_k(COUNTS, 3, epsilon=1.0, monotone=True, public=True, rng=sl.testing.seeded(1), **words)
    return release, release.plot()


def test_values_are_bars_with_their_margins():
    release, axes = drawn(values=True)
    assert [bar.get_width() for bar in axes.patches] == release.values
    ends = axes.containers[-1].lines[2][0].get_segments()
    assert [(high - low) / 2 for (low, _), (high, _) in ends] == pytest.approx([m.half_width for m in release.margins])
    assert [text.get_text() for text in axes.texts] == [one.removesuffix(" (95%)") for one in release.texts()["value"]]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [f"{n}  {x}" for n, x in enumerate(release, 1)]


def test_gaps_are_said_and_a_set_has_no_numbers():
    release, axes = drawn(gaps=True)
    assert f"(leads by {release.gaps[0]:,.4g})" in axes.texts[1].get_text()
    _, axes = drawn()
    assert not any(letter.isdigit() for text in axes.texts for letter in text.get_text())


@pytest.mark.parametrize(("style", "light"), [("default", False), ("dark_background", True)])
def test_words_can_be_read_on_their_ground(style, light):
    with plt.style.context(style):
        row = SimpleNamespace(mechanism="m", budget="pure", domain="unknown", epsilon=0.1, reached=0.9, top=0.9)
        facts: dict[str, Any] = {"rows": [row], "k": 1, "limit": (), "goal": "top", "described": "made up"}
        compared = plots.plot_comparison(cast(Any, SimpleNamespace(**facts)))
        planned = plot_plan(cast(Any, SimpleNamespace(**facts, target=0.9, bound=0.01, collapse=None)))
        reached = plot_plan(cast(Any, SimpleNamespace(**facts, target=None, bound=None, collapse=None)))
        assert reached.get_xlabel() == "chance of exactly the true top k (hollow: candidates from the data)"
        for axes in (drawn()[1], drawn(values=True)[1], compared, planned):
            shown = [axes.title, *axes.texts, *axes.get_yticklabels(), axes.xaxis.label]
            assert all((sum(to_rgb(text.get_color())) > 1.5) == light for text in shown if text.get_text() not in "123")


def test_long_names_have_room_and_others_are_cut(recwarn):
    long = {"a name of many letters that goes on and on": 900, "x" * 99: 500, "cy": 20}
    axes = sl.top_k(long, 2, epsilon=1.0, monotone=True, public=True, values=True).plot()
    axes.figure.canvas.draw()
    assert not recwarn.list
    assert [len(tick.get_text()) for tick in axes.get_yticklabels()] == [3 + 42, 3 + plots.LONGEST]
    panels = sl.top_k([sl.Scores(long, public=True, monotone=True)] * 2, 2, epsilon=1.0, values=True).plot()
    panels[0].figure.canvas.draw()
    assert not recwarn.list
    assert max(len(tick.get_text()) for tick in panels[0].get_yticklabels()) == 3 + plots.SHORT


def test_a_picture_says_what_it_holds():
    assert drawn()[1].get_title(loc="left") == "3 selected, a set: the order says nothing"
    assert sl.select([9, 1], epsilon=1.0).plot().get_title(loc="left") == "1 selected"
    none = sl.top_k({"a": 3, "b": 1}, 2, epsilon=0.1, delta=1e-9, monotone=True)
    assert none.plot().get_title(loc="left") == "Nothing could be released"
    large = sl.top_k(COUNTS, 2, epsilon=12.0, monotone=True, public=True).plot()
    assert "promises little" in large.get_xlabel().replace("\n", " ")
    assert large.get_xlabel().startswith("ε = 12 for one user")  # in words, not as a class
    assert drawn()[1].get_xlabel().startswith("NOT PRIVATE, drawn with a seed; ε = 1")
    release, axes = drawn(values=True)
    assert "disagree" not in axes.get_xlabel()
    turned = replace(release, extras=replace(release.extras, values=release.values[::-1]))
    assert "ranks and values disagree" in turned.plot().get_xlabel().replace("\n", " ")
    quantiles = sl.quantile([3.0, 7.0, 9.0] * 50, q=[0.1, 0.9], lower=0, upper=20, epsilon=5.0).plot()
    assert "disagree" not in quantiles.get_xlabel()  # they increase, as asked for
    least = sl.top_k([9, 1, 3], 2, epsilon=1.0, monotone=True, largest=False).plot()
    assert least.get_title(loc="left") == "2 smallest, a set: the order says nothing"


def test_a_path_is_no_axes():
    with pytest.raises(TypeError, match=r"a file is written by release.plot\(\).figure.savefig"):
        drawn()[0].plot("top10.png")


def test_groups_have_one_scale():
    lists = sl.top_k([[900, 5, 3], [90, 5, 3]], 2, epsilon=1.0, monotone=True, values=True, rng=sl.testing.seeded(1))
    panels = lists.plot()
    assert panels[0].get_xlim() == panels[1].get_xlim()
    assert panels[0].get_xlim()[1] > 900
    assert panels[0].figure.get_suptitle().startswith("NOT PRIVATE")


def test_names_that_differ_in_the_end_alone_are_told_apart():
    alike = {"the same beginning of a name " * 3 + end: score for end, score in (("one", 900), ("two", 800), ("x", 1))}
    axes = sl.top_k(alike, 2, epsilon=1.0, monotone=True, public=True, values=True).plot()
    assert [tick.get_text()[-3:] for tick in axes.get_yticklabels()] == ["one", "two"]


def test_letters_that_a_font_lacks_are_looked_for_in_the_others(monkeypatch):
    own, other, boxes = ({*map(ord, "abc ")}, {*map(ord, "映画")}, {*range(0x110000)})
    fonts = [SimpleNamespace(name=name, fname=name) for name in ("Last Resort", "Useless", "Wide")]
    monkeypatch.setattr(font_manager, "findfont", lambda family: "own")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    has = {"own": own, "Last Resort": boxes, "Useless": own, "Wide": other}
    monkeypatch.setattr(plots, "_letters", lambda file: frozenset(has[file]))
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    plots.families.cache_clear()
    first = list(mpl.rcParams["font.family"])
    assert plots.families("cab") == first
    assert plots.families("ab 映画") == [*first, "Wide"]
    assert plots.families("映画ภ") == [*first, "Wide", "Last Resort"]
    plots.families.cache_clear()
    # Matplotlib keeps its list of fonts: one that was installed later is added to it, and used.
    has["later"] = {ord("ภ")}
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: ["Wide", "later"])
    added = lambda file: fonts.append(SimpleNamespace(name="Later", fname=file))  # noqa: E731
    monkeypatch.setattr(font_manager.fontManager, "addfont", added)
    assert plots.families("映画ภ") == [*first, "Wide", "Later"]
    plots.families.cache_clear()


def test_a_rank_stands_left_of_its_name_in_every_script():
    names = {"فيلم": 900, "movie": 500, "12 סרט": 300, "7": 1}
    release = sl.top_k(names, 3, epsilon=9.0, monotone=True, public=True, ordered=True, values=True)
    marks = [tick.get_text() for tick in release.plot().get_yticklabels()]
    first, _, last = present(release.items)
    assert marks == [f"\u200e1  {first}", "2  movie", f"\u200e3  {last}"]


def test_a_file_that_is_no_font_has_no_letters(tmp_path):
    file = tmp_path / "font.ttf"
    file.write_text("no font")
    assert plots._letters(str(file)) == frozenset()
    assert ord("a") in plots._letters(font_manager.findfont("DejaVu Sans"))


def test_a_font_of_coloured_pictures_has_no_letters(monkeypatch):
    """Matplotlib opens Noto Color Emoji and then refuses to draw with it, so a name with an emoji had no picture."""
    pictures = SimpleNamespace(scalable=False, get_charmap=lambda: {ord("a"): 1})
    monkeypatch.setattr("matplotlib.ft2font.FT2Font", lambda file: pictures)
    assert plots._letters("a font of coloured pictures alone") == frozenset()
