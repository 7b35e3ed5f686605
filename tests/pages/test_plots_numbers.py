"""Pictures of releases show the numbers that were released beside the items, and no others."""

import pytest

import shortlist as sl

pytest.importorskip("matplotlib").use("Agg")
COUNTS = {"ada": 9_000, "bob": 5_000, "cy": 200, "di": 1}


def texts(ax):
    return [one.get_text() for one in ax.texts]


def released(**words):
    return sl.top_k(COUNTS, 2, epsilon=2.0, monotone=True, public=True, **words)


def test_values_stand_beside_their_items_with_margins():
    release = released(values=True)
    shown = [
        f"{value:,.6g} ± {one.half_width:,.3g}" for value, one in zip(release.values, release.margins, strict=True)
    ]
    assert [one for one in texts(release.plot()) if "±" in one] == shown


def test_leads_are_shown_where_there_are_no_values():
    release = released(gaps=True)
    shown = [f"{gap:,.4g} ahead" for gap in release.gaps]
    ax = release.plot()
    assert [one for one in texts(ax) if one.endswith("ahead")] == shown
    assert "leads" in ax.get_title(loc="left")


def test_a_set_has_no_numbers():
    assert [one for one in texts(released().plot()) if one] == ["ada", "bob"]


def test_every_panel_of_groups_has_its_values():
    lists = sl.top_k([[90, 2, 50], [1, 70, 3]], 2, epsilon=8.0, monotone=True, values=True)
    for ax, release in zip(lists.plot(), lists.values(), strict=True):
        assert sum("±" in one for one in texts(ax)) == len(release)
