"""select and top_k: the public rule, names, and the release they give."""

import copy
from typing import Any

import matplotlib as mpl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.mechanisms.registry import METHODS
from shortlist.privacy import ZCDP, ApproxDP
from tests.helpers.typed import present

KNOWN = [name for name, method in METHODS.items() if method.domain == "known"]

mpl.use("Agg")
PARTIES = {"oak": 4000, "elm": 100, "ash": 3000, "fir": 50}


@pytest.fixture
def scores():
    return Scores(PARTIES, monotone=True, public=True, unit="voter")


def test_select_releases_one_winner(scores):
    release = sl.select(scores, epsilon=1.0)
    assert release.item == "oak"
    assert release.index == 0
    assert release.items == ["oak"]
    assert release.mechanism == "permute-and-flip"
    assert release.why.startswith("auto")
    assert release.guarantee == PureDP(epsilon=1.0)
    assert release.secure


def test_a_set_comes_back_sorted_by_label(scores):
    release = sl.top_k(scores, k=2, epsilon=1.0)
    assert release.items == ["ash", "oak"]
    assert release.indices == [2, 0]
    assert not release.ordered


def test_an_order_is_released_when_asked_for(scores):
    release = sl.top_k(scores, k=2, epsilon=1.0, ordered=True)
    assert release.items == ["oak", "ash"]
    assert release.ordered
    assert release.as_set().items == ["ash", "oak"]


@pytest.mark.parametrize("method", [name for name in KNOWN if name not in ("gumbel-values", "histogram")])
def test_every_method_is_found_by_its_name(scores, method):
    release = sl.top_k(scores, k=1, epsilon=1.0, method=method)
    assert release.items == ["oak"]
    assert release.why == "named by the caller"


def test_methods_for_one_winner_say_so(scores):
    for method in ("permute-and-flip", "exponential"):
        with pytest.raises(ValueError, match="one winner"):
            sl.top_k(scores, k=2, epsilon=1.0, method=method)
    with pytest.raises(ValueError, match="'oneshot-gumbel'"):
        sl.top_k(scores, k=2, epsilon=1.0, method="best")


def test_a_budget_is_needed_and_only_one(scores):
    with pytest.raises(TypeError, match="epsilon"):
        sl.select(scores)
    with pytest.raises(TypeError, match="either"):
        sl.select(scores, epsilon=1.0, budget=PureDP(2.0))
    assert sl.select(scores, budget=PureDP(1.0)).guarantee == PureDP(1.0)


def test_the_rule_follows_the_budget(scores):
    for budget in (ZCDP(0.5), ApproxDP(1.0, 1e-6)):
        assert sl.select(scores, budget=budget).mechanism == "exponential mechanism"
        release = sl.top_k(scores, k=2, budget=budget)
        assert release.mechanism == "guarded top-2"
        assert release.guarantee == budget
        assert not release.ordered
    few = "one-shot top-2 with {} noise".format
    assert sl.top_k(scores, k=2, budget=ZCDP(0.5), ordered=True).mechanism == few("gumbel")
    assert sl.top_k(scores, k=2, budget=ApproxDP(1.0, 1e-6), ordered=True).mechanism == few("exponential")
    assert sl.top_k(scores, k=2, epsilon=1.0).mechanism == "guarded top-2"
    assert sl.top_k(scores, k=2, epsilon=1.0, ordered=True).mechanism == "one-shot top-2 with exponential noise"


def test_values_are_released_when_asked_for(scores):
    release = sl.top_k(scores, k=2, budget=ApproxDP(1.0, 1e-6), values=True)
    assert release.items == ["oak", "ash"]
    assert len(present(release.values)) == 2
    assert release.ordered
    assert sl.top_k(scores, k=2, budget=ApproxDP(1.0, 1e-6), method="gumbel-values").values
    assert len(present(sl.top_k(scores, k=2, budget=ZCDP(0.5), values=True).margins)) == 2
    with pytest.raises(TypeError, match="ApproxDP"):
        sl.top_k(scores, k=2, budget=ZCDP(0.5), values=True, method="gumbel-values")
    with pytest.raises(ValueError, match="releases no values"):
        sl.top_k(scores, k=2, epsilon=1.0, values=True, method="peeling")


def test_values_with_gaps_are_measured_and_refined(scores):
    release = sl.top_k(scores, k=2, epsilon=1.0, values=True, gaps=True)
    assert release.items == ["oak", "ash"]
    assert release.mechanism == "measured top-2 with gaps and exponential noise"
    assert len(present(release.values)) == len(present(release.gaps)) == 2
    assert "leave gaps=True out" in str(release)
    assert sl.top_k(scores, k=2, epsilon=1.0, values=True, method="gaps").values


def test_gaps_are_released_when_asked_for(scores):
    release = sl.top_k(scores, k=2, epsilon=1.0, gaps=True)
    assert release.items == ["oak", "ash"]
    assert release.ordered
    assert release.columns().keys() == {"rank", "item", "gap"}
    assert release.why.startswith("auto: gaps were requested")
    assert release.guarantee == release.charge == PureDP(1.0)
    assert release.as_set().gaps is None
    assert sl.top_k(scores, k=2, epsilon=1.0, method="gaps").gaps
    with pytest.raises(ValueError, match="releases no gaps"):
        sl.top_k(scores, k=2, epsilon=1.0, gaps=True, method="peeling")
    with pytest.raises(TypeError, match="pure budgets only"):
        sl.top_k(scores, k=2, budget=ZCDP(0.5), gaps=True)


def test_mixed_labels_still_have_an_order():
    release = sl.top_k([9000, 8000, 1], k=2, epsilon=1.0, labels=["b", 3, None], public=True)
    assert release.items == [3, "b"]


class Shy:
    """A label whose comparison fails and whose text is the same for all."""

    def __lt__(self, other):
        raise RuntimeError

    def __repr__(self):
        return "shy"


@pytest.mark.parametrize(
    "labels",
    [[frozenset({i}) for i in range(6)], [Shy() for _ in range(6)], [(i % 2, float("nan")) for i in range(6)]],
    ids=["partly ordered", "not ordered", "tuples of NaN"],
)
def test_the_order_of_a_set_never_depends_on_the_noise(labels):
    """Sorting labels that are not totally ordered keeps part of the order it starts from: that must be the indices'."""
    orders: dict[frozenset[int], set[tuple[int, ...]]] = {}
    for seed in range(200):
        release = sl.top_k([0] * 6, k=3, epsilon=1.0, labels=labels, public=True, rng=sl.testing.seeded(seed))
        chosen = present(release.indices)
        orders.setdefault(frozenset(chosen), set()).add(tuple(chosen))
    assert len(orders) > 10
    assert all(len(found) == 1 for found in orders.values())


def test_labels_are_printed_in_full():
    release = sl.top_k([9000, 9000, 1], k=2, epsilon=1.0, labels=[1000000.1, 1000000.2, 3.0], public=True)
    assert "1000000.1" in str(release)
    assert "1000000.2" in str(release)


def test_flags_must_be_flags(scores):
    for flag in ("ordered", "values"):
        words: dict[str, Any] = {flag: "no"}
        with pytest.raises(TypeError, match=flag):
            sl.top_k(scores, k=2, epsilon=1.0, **words)
    with pytest.raises(ValueError, match="not known"):
        sl.top_k(scores, k=2, epsilon=1.0, method=["peeling"])  # type: ignore[call-overload]


def test_mixed_labels_make_a_frame_of_texts():
    release = sl.top_k([9000, 8000, 1], k=2, epsilon=1.0, labels=["b", 3, None], public=True)
    assert release.to_frame()["item"].to_list() == ["3", "b"]


def test_releases_can_be_put_into_a_set(scores):
    one, other = (sl.select([9000, 1], epsilon=1.0, unit=unit) for unit in ("user", "house"))
    assert len({one, copy.deepcopy(one), other}) == 2


def test_plain_positions_are_sorted_as_numbers():
    values = [0] * 12
    values[2] = values[10] = 10**6
    assert sl.top_k(values, k=2, epsilon=1.0).items == [2, 10]


def test_a_release_of_several_has_no_single_item(scores):
    release = sl.top_k(scores, k=2, epsilon=1.0)
    for name in ("item", "index"):
        with pytest.raises(AttributeError, match="has 2 items"):
            getattr(release, name)


def test_a_release_prints_its_items_and_one_line(scores):
    lines = str(sl.top_k(scores, k=2, epsilon=1.0)).splitlines()
    assert lines[:4] == ["item", "----", "ash", "oak"]
    assert lines[-1] == "PureDP(epsilon=1.0) for one voter (add-remove) by guarded top-2"
    assert "4000" not in str(lines)
    ordered = str(sl.top_k(scores, k=2, epsilon=1.0, ordered=True)).splitlines()
    assert ordered[0] == "rank  item"
    assert ordered[2] == "   1  oak"


def test_seeded_releases_are_marked(scores):
    release = sl.top_k(scores, k=2, epsilon=1.0, rng=sl.testing.seeded(7))
    assert not release.secure
    assert "not private" in str(release)
    assert "not private" in repr(release)


def test_html_is_escaped():
    release = sl.select([9000, 1], labels=["<script>", "b"], public=True, epsilon=1.0)
    assert "&lt;script&gt;" in release._repr_html_()
    assert "<script>" not in release._repr_html_()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Series(PARTIES), pd.DataFrame),
        (pl.Series(list(PARTIES.values())), pl.DataFrame),
        (pa.array(list(PARTIES.values())), pa.Table),
        (PARTIES, pl.DataFrame),
    ],
)
def test_the_frame_is_the_callers_own_kind(values, kind):
    release = sl.top_k(values, k=2, epsilon=1.0, public=True, ordered=True)
    frame = release.to_frame()
    assert isinstance(frame, kind)
    assert list(frame.columns if kind is not pa.Table else frame.column_names) == ["rank", "item"]
    assert len(frame) == 2


def test_without_any_frame_library_the_error_says_what_to_install(scores, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install polars"):
        sl.top_k(scores, k=2, epsilon=1.0).to_frame()


@pytest.mark.parametrize("ordered", [False, True])
def test_a_plot_draws_released_things_only(scores, ordered):
    ax = sl.top_k(scores, k=2, epsilon=1.0, ordered=ordered).plot()
    words = " ".join(text.get_text() for text in ax.texts)
    assert "oak" in words
    assert "elm" not in words
    assert ("1" in words) == ordered
    again = sl.select(scores, epsilon=1.0).plot(ax=ax)
    assert again is ax


def test_long_names_are_cut_in_a_picture():
    ax = sl.select([9000, 1], labels=["x" * 200, "b"], public=True, epsilon=1.0).plot()
    assert max(len(text.get_text()) for text in ax.texts) <= 60
