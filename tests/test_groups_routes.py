"""Every route to a list names the same items: one list, a list of score lists, and groups of a table."""

import itertools
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist.mechanisms.registry import METHODS
from shortlist.testing import seeded
from tests.helpers.typed import present

ASKED = [
    dict(zip(("k", "ordered", "values"), words, strict=True))
    for words in itertools.product([1, 4, None], [False, True], [False, True])
]
COUNTED = [{}, {"most": 2}, {"listed": True}, {"listed": True, "most": 2}]


@cache
def rows():
    """Sixteen items, of which those with the largest counts have small capped weights: their users hold many."""
    rng, found = np.random.default_rng(4), []
    for who in range(900):
        many = 1 if who < 400 else 12
        shares = np.arange(1, 17) ** (3.0 if many == 1 else -2.0)
        held = rng.choice(16, many, replace=False, p=shares / shares.sum())
        found += [(who, f"item {n:02}", "X") for n in held.tolist()]
    return pl.DataFrame(found, schema=["who", "what", "group"], orient="row")


@cache
def counted(most=None, *, listed=False, by=False):
    groups: dict[str, Any] = {"by": "group", "groups": ["X"]} if by else {}
    candidates = [f"item {n:02}" for n in range(16)] if listed else None
    return sl.count(rows(), user="who", item="what", most=most, candidates=candidates, **groups)


def shown(release):
    items = None if release.items is None else release.items if release.ordered else sorted(release.items)
    return items, release.values, release.gaps


def answer(scores, plan, pick=lambda release: release):
    """What is released, or which kind of refusal it is."""
    try:
        return shown(pick(sl.top_k(scores, **plan, rng=seeded(3))))
    except (ValueError, TypeError) as error:
        return type(error)


def first(lists):
    return lists[0]


@pytest.fixture(autouse=True)
def _one_salt(monkeypatch):
    monkeypatch.setattr("shortlist.tables.question.fresh_salt", lambda: "5a17" * 8)


def test_weights_and_counts_rank_these_items_differently():
    scores = counted().as_public()
    assert present(scores._weights).names(range(6)) != list(scores.labels)[:6]


@pytest.mark.parametrize("how", COUNTED, ids=str)
@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_route_names_the_same_items(method, how):
    """The same seed draws the same positions, so a route that names others looked them up in another ranking."""
    scores, groups, released = counted(**how), counted(**how, by=True), 0
    for words, delta in itertools.product(ASKED, [1e-3, None]):
        plan = {"epsilon": 6.0, "delta": delta, "method": method, **words}
        single = answer(scores, plan)
        assert answer([scores], plan, first) == single
        assert answer([scores, scores], plan | {"parallel": True}, first) == single
        assert answer(groups, plan, lambda lists: lists["X"]) == single
        if isinstance(single, type):
            continue
        released += 1
        shared = sl.top_k([scores, scores], **plan, rng=seeded(3))
        budget = {"budget": shared.per_group, "method": method, **words}
        assert shown(shared[0]) == shown(sl.top_k(scores, **budget, rng=seeded(3)))
    fits = METHODS[method].domain if method != "auto" else "either"
    uncapped = method == "histogram" and "most" not in how
    assert released or uncapped or fits != ("known" if how.get("listed") else "unknown")


@pytest.mark.parametrize("how", COUNTED, ids=str)
def test_every_route_names_the_same_winner(how):
    scores, groups = counted(**how), counted(**how, by=True)
    plan: dict[str, Any] = {"epsilon": 6.0, "delta": 1e-3}
    single = sl.select(scores, **plan, rng=seeded(3)).item
    lists: Any = sl.select([scores], **plan, rng=seeded(3))
    assert lists[0].item == single
    assert sl.select(groups, **plan, rng=seeded(3))["X"].item == single


def test_one_more_user_does_not_change_every_draw_of_a_list():
    """500 users hold L alone, 600 hold x, y and 62 items of their own; one more user holds y alone.

    L has the largest weight. By counts x is first, or y, as soon as one more user holds it.
    """
    held = [[(f"alone {n}", "L")] for n in range(500)]
    held += [[(f"of {n}", item) for item in ("x", "y", *(f"own {n} {i}" for i in range(62)))] for n in range(600)]
    for more in ([], [[("one", "y")]]):
        table = pl.DataFrame([row for own in held + more for row in own], schema=["who", "what"], orient="row")
        scores, source = sl.count(table, user="who", item="what"), seeded(1)
        for parallel in (False, True):
            lists = sl.top_k([scores] * 2, 1, epsilon=2.0, delta=2e-6, method="keys", rng=source, parallel=parallel)
            assert [one.items for one in lists.values()] == [["L"], ["L"]]
