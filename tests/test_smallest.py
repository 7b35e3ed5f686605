"""`largest=False`: the smallest of a public list, exactly as private, with values of the scores themselves."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, Release, Scores
from shortlist.audit import Law, alike, certify, neighbours, prove
from shortlist.cli.app import app
from shortlist.mechanisms import (
    CanonicalTopK,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    LargeGap,
    NoisyHistogram,
    NoisyMax,
    OneshotTopK,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.registry import METHODS
from shortlist.scores import as_scores
from shortlist.testing import seeded
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present

KNOWN = [name for name, method in METHODS.items() if method.domain != "unknown" or name in ("stable", "all-or-nothing")]
GOODS = {"ash": 30_000, "elm": 1_000, "fir": 20_000, "oak": 4_000}


def test_the_contract():
    release = sl.top_k([9, 4, 7, 1, 3], k=3, epsilon=1.0, largest=False)
    assert len(release) == 3
    assert release.largest is False
    assert sl.top_k([900, 400, 700, 100, 300], k=3, epsilon=1.0, largest=False).items == [1, 3, 4]
    assert sl.select([900, 400, 700, 100, 300], epsilon=1.0, largest=False).index == 3


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyMax(epsilon=0.8),
        OneshotTopK(k=2, epsilon=1.0, noise="laplace"),
        OneshotTopK(k=2, budget=ZCDP(0.2)),
        CanonicalTopK(k=2, epsilon=1.0),
        GuardedTopK(k=2, epsilon=1.0),
        TopKWithGaps(k=1, epsilon=1.0),
        LargeGap(epsilon=1.0),
        StableTopK(budget=ZCDP(0.5, 1e-3)),
        HybridTopK(threshold=1, k=1, epsilon=1.0),
        HybridSparseVector(threshold=1, k=1, epsilon=1.0),
        GumbelTopKValues(k=1, mu=0.8),
    ],
    ids=lambda one: one.name,
)
def test_negated_scores_keep_the_promise_on_a_box(mechanism, monotone):
    """By the library's own negation and its certified laws; a third of a pure charge is refuted there."""

    def law(x):
        return certify(mechanism, as_scores(Scores(list(x), monotone=monotone), largest=False))

    placed = hasattr(mechanism, "threshold")
    fewer = placed or (not monotone and isinstance(mechanism, StableTopK | GumbelTopKValues))
    pairs = list(neighbours(2 if fewer else 3, 1, monotone=monotone))
    same = partial(alike, exchangeable=True, shift_invariant=not placed)
    assert prove(law, pairs, mechanism.charge, alike=same).holds
    if isinstance(mechanism.charge, PureDP):
        assert not prove(law, pairs, PureDP(mechanism.charge.epsilon / 3), alike=same).holds


def test_negated_histograms_keep_the_promise_on_a_box():
    mechanism = NoisyHistogram(k=2, most=1, epsilon=1.0)

    def law(x):
        return certify(mechanism, as_scores(Scores(list(x), monotone=True), largest=False))

    pairs = [(x, y) for x, y in neighbours(3, 2, monotone=True) if sum(a != b for a, b in zip(x, y, strict=True)) == 1]
    same = partial(alike, exchangeable=True, shift_invariant=False)
    assert prove(law, pairs, PureDP(1.0), alike=same).holds
    assert not prove(law, pairs, PureDP(0.5), alike=same).holds


def rows_of(counts):
    """A person for each of so many rows of each item."""
    items = [name for name, many in counts.items() for _ in range(many)]
    return pl.DataFrame({"who": range(len(items)), "what": items})


@full_size
@pytest.mark.parametrize("asked", ["plain", "table"])
def test_draws_of_the_smallest_follow_the_certified_law_of_negated_scores(asked):
    """Seeded, and with power: the law of the scores as they are is refuted."""
    counts = {"a": 4, "b": 2, "c": 0, "d": 3}
    listed = Scores(counts, monotone=True, public=True)
    table = sl.count(rows_of(counts), user="who", item="what", candidates=list(counts))
    scores: Any = listed if asked == "plain" else table
    mechanism, source = OneshotTopK(k=2, epsilon=2.0, noise="gumbel"), seeded(11)
    drawn = Counter(
        tuple(sl.top_k(scores, 2, epsilon=2.0, method="oneshot-gumbel", ordered=True, largest=False, rng=source))
        for _ in range(sized(250, full=6000 if asked == "plain" else 2000))
    )
    names = list(counts)
    right, wrong = (
        {tuple(names[i] for i in one): float(chance.mid()) for one, chance in law.chances.items()}
        for law in (
            of_kind(Law, certify(mechanism, Scores(list(x), monotone=True))) for x in ([-4, -2, 0, -3], [4, 2, 0, 3])
        )
    )
    cells = sorted(right)
    assert_law([drawn[one] for one in cells], [right[one] for one in cells], wrong=[wrong[one] for one in cells])


@pytest.mark.parametrize("method", ["auto", *KNOWN])
@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5)], ids=str)
def test_every_mechanism_for_a_public_list_finds_the_smallest(method, budget):
    words: dict[str, Any] = {"monotone": True, "public": True}
    k = 1 if method in ("permute-and-flip", "exponential") else 2
    try:
        largest = sl.top_k(GOODS, k, budget=budget, method=method, rng=seeded(1), **words)
    except (TypeError, ValueError) as refused:
        with pytest.raises(type(refused)):
            sl.top_k(GOODS, k, budget=budget, method=method, largest=False, **words)
        return
    release = sl.top_k(GOODS, k, budget=budget, method=method, largest=False, rng=seeded(1), **words)
    assert set(largest) == set(["ash", "fir"][:k])
    assert set(release) == set(["elm", "oak"][:k])
    assert release.guarantee == largest.guarantee
    assert release.charge == largest.charge
    assert release.why == largest.why
    assert release.mechanism == f"{largest.mechanism}, on negated scores"
    assert "these are the smallest, not the largest" in release.notes
    assert release.ordered == largest.ordered
    if release.values is not None:
        assert all(abs(value - GOODS[str(item)]) < 500 for item, value in zip(release, release.values, strict=True))


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5)], ids=str)
@pytest.mark.parametrize("most", [None, 2])
def test_values_are_the_scores_themselves_smallest_first(budget, most):
    rows = rows_of({"ash": 700, "elm": 50, "fir": 400, "oak": 90})
    scores = sl.count(rows, user="who", item="what", candidates=["ash", "elm", "fir", "oak", "yew"], most=most)
    release = sl.top_k(scores, 3, budget=budget, values=True, largest=False, rng=seeded(2))
    assert release.items == ["yew", "elm", "oak"]
    assert release.ordered
    values, margins = present(release.values), present(release.margins)
    assert values == sorted(values)
    for value, truth, margin in zip(values, (0, 50, 90), margins, strict=True):
        assert abs(value - truth) < 5 * margin.half_width
    assert release.to_frame().columns[:4] == ["rank", "item", "value", "margin"]
    note = " ".join(release.notes)
    assert "too high" not in note
    other = sl.top_k(scores, 3, budget=budget, values=True, rng=seeded(2))
    assert other.margins == margins
    assert "too low" not in " ".join(other.notes)


def test_gaps_are_leads_and_refine_the_scores():
    scores = [900, 100, 500, 300]
    release = sl.top_k(scores, 2, epsilon=20.0, gaps=True, largest=False, monotone=True, rng=seeded(1))
    assert release.indices == [1, 3]
    assert all(abs(gap - 200) < 20 for gap in present(release.gaps))
    refined = release.refine([100.0, 300.0], variance=1.0)
    assert refined[0] == pytest.approx(100, abs=5)
    assert refined[1] == pytest.approx(300, abs=5)
    # linear in all it is told, so the mirror image of what the largest of negated scores give
    mirror = sl.top_k([-x for x in scores], 2, epsilon=20.0, gaps=True, monotone=True, rng=seeded(1))
    assert [-x for x in mirror.refine([-100.0, -300.0], variance=1.0)] == refined
    for wrong in (5, ["x", 1], [None, 1]):
        with pytest.raises(TypeError, match="measurements must be numbers"):
            release.refine(wrong, variance=1.0)  # type: ignore[arg-type]


def test_a_release_travels_with_it(tmp_path):
    release = sl.top_k(GOODS, 2, epsilon=1.0, values=True, largest=False, monotone=True, public=True)
    assert Release.from_json(release.to_json()) == release
    assert json.loads(release.to_json())["extras"]["largest"] is False
    assert "largest" not in json.loads(sl.select([3, 1], epsilon=1.0).to_json())["extras"]
    release.report(tmp_path / "page.html")
    assert "smallest first" in (tmp_path / "page.html").read_text()
    assert "best first" not in (tmp_path / "page.html").read_text()
    assert "smallest first" in release.plot().get_title(loc="left")


@pytest.mark.parametrize(
    "values",
    [
        np.array([250, 3, 200], np.uint8),
        np.array([2**62, 3, 2**61], np.uint64),
        np.array([2**62, -(2**63), 2**61]),
        np.array([True, False, True]),
        np.array([2.5, -7.25, 1.0], np.float32),
        pd.Series([250, 3, 200], index=[0, 1, 2]),
        [True, False, True],
    ],
    ids=lambda one: str(getattr(one, "dtype", "list")),
)
def test_numbers_of_every_kind_are_negated_exactly(values):
    asked = Scores(values, public=True)
    turned = as_scores(asked, largest=False)
    exact = [max(-int(x * 4), 1 - 2**65) for x in np.asarray(values).tolist()]
    assert [int(x * 4) if isinstance(x, float) else 4 * int(x) for x in turned._numbers.tolist()] == [
        min(x, 4 * (2**63 - 1)) for x in exact
    ]
    assert (turned.sensitivity, turned.monotone, turned.range_sensitivity) == (
        asked.sensitivity, asked.monotone, asked.range_sensitivity,
    )  # fmt: skip
    assert sl.select(asked, epsilon=60.0, largest=False, rng=seeded(1)).index == 1


@pytest.mark.parametrize("clip", [(0, 5), (-5, 0), (-2, 3)])
def test_clipped_sums_have_a_smallest_too(clip):
    rows = pl.DataFrame({
        "who": range(900), "what": ["a", "b", "c"] * 300, "stars": [1.5 * (n % 3) - 1 for n in range(900)],
    })  # fmt: skip
    scores = sl.count(rows, user="who", item="what", candidates=["a", "b", "c"], value="stars", clip=clip)
    release = sl.select(scores, epsilon=5.0, largest=False, rng=seeded(1))
    assert release.item in ("a", "b") if clip[1] == 0 else release.item == "a"


def test_names_of_tables_are_those_of_their_positions():
    counts = {f"n{i}": i // 2 for i in range(9)}
    table = sl.count(rows_of(counts), user="who", item="what", candidates=list(counts))
    turned = as_scores(table, largest=False)
    assert turned._numbers.tolist() == sorted(-many for many in counts.values())[::-1]
    names = turned._content.names(range(9))
    assert [-counts[str(name)] for name in names] == turned._numbers.tolist()
    assert turned._content.names([]) == []
    assert (turned.from_table, turned.public, len(turned)) == (True, True, 9)


def test_what_is_for_the_largest_alone_is_refused(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(9.0, 1e-3))
    found = sl.count(rows_of({"a": 3, "secret": 1}), user="who", item="what")
    listed: Any = {"ledger": ledger, "largest": False, "epsilon": 1.0, "delta": 1e-6}
    for scores in (found, Scores({"a": 3, "b": 1}, monotone=True)):
        for more in ({}, {"method": "keys"}, {"method": "names-choice"}, {"limit": 5}, {"values": True}):
            with pytest.raises(ValueError, match="needs a public list of candidates"):
                sl.top_k(scores, 2, **listed, **more)
    public: Any = {"monotone": True, "public": True}
    for method in [name for name in METHODS if name not in KNOWN]:
        with pytest.raises(ValueError, match="is for the largest"):
            sl.top_k(GOODS, 2, method=method, **listed, **public)
    with pytest.raises(ValueError, match="may never be chosen"):
        sl.top_k([1.0, -np.inf, 3.0], 1, epsilon=1.0, largest=False, ledger=ledger)
    with pytest.raises(TypeError, match="largest must be True or False"):
        sl.top_k(GOODS, 2, epsilon=1.0, largest="no", **public)  # type: ignore[call-overload]
    assert ledger.spent.epsilon == 0


def test_the_command(tmp_path):
    rows_of({"ash": 900, "elm": 10, "fir": 500, "oak": 300}).write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "trees.txt").write_text("ash\nelm\nfir\noak\nyew\n")
    table, trees, book = (str(tmp_path / name) for name in ("rows.parquet", "trees.txt", "l.db"))
    sl.Ledger(book, budget=PureDP(3.0))
    asked = ["top", table, "-k", "2", "--user", "who", "--item", "what", "--epsilon", "1", "--smallest"]
    shown = CliRunner().invoke(app, [*asked, "--candidates", trees, "--values", "--json", "--ledger", book])
    assert shown.exit_code == 0, shown.output
    release = Release.from_json(shown.stdout.strip())
    assert release.items == ["yew", "elm"]
    assert release.largest is False
    assert abs(present(release.values)[1] - 10) < 60
    refused = CliRunner().invoke(app, [*asked, "--delta", "1e-6"])
    assert refused.exit_code != 0
    assert Path(table).exists()


def test_measured_sets_measure_the_scores_and_not_their_negatives():
    release = sl.top_k([10_000, 2_000, 500], 2, budget=ZCDP(1.0), values=True, largest=False, rng=seeded(3))
    assert release.indices == [2, 1]
    assert [round(value, -3) for value in present(release.values)] in ([0.0, 2000.0], [1000.0, 2000.0])
