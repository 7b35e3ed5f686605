"""The result of tuning as a value: printed, written, read, pickled; and what is damaged is refused in a sentence."""

import copy
import json
import pickle

import pytest

import shortlist as sl
from shortlist.privacy import Binomial, Capped, Mixed, NegativeBinomial, Poisson, PureDP, Tuned, compose
from shortlist.tuning import Best


def tuned(grid=("a", "b"), **words):
    words = {"guarantee": PureDP(0.5), "runs": Binomial(9, 1.0), **words}
    return sl.tune(lambda c: (object, 1.5), list(grid), rng=sl.testing.seeded(4), **words)


@pytest.mark.parametrize(
    "grid", [["a"], [1], [0.1], [("a", 2)], [{"c": 1.0, "deep": {"kind": "l2"}}], [None], [True]], ids=repr
)
def test_it_is_read_as_it_was_written(grid):
    best = tuned(grid)
    again = Best.from_json(best.to_json())
    assert again == best
    assert type(again.candidate) is type(grid[0])
    assert again.output is None


@pytest.mark.parametrize(
    "guarantee",
    [
        Tuned(PureDP(0.5), NegativeBinomial(mean=7, eta=0.5)),
        Tuned(compose(PureDP(0.5), PureDP(0.25)), Poisson(2)),
        Tuned(Mixed(((PureDP(0.5), 1), (PureDP(1.0), 2))), Capped(Binomial(9, 0.5), 4)),
    ],
)
def test_guarantees_of_tuning_have_a_form_in_json(guarantee):
    content = json.loads(tuned().to_json())
    best = Best.from_json(json.dumps(content))
    changed = pickle.loads(pickle.dumps(best))
    object.__setattr__(changed, "guarantee", guarantee)
    assert Best.from_json(changed.to_json()).guarantee == guarantee


def test_it_prints_the_winner_and_what_was_paid():
    text = str(tuned(["a"], guarantee=PureDP(1.0), runs=NegativeBinomial(mean=10)))
    assert text.splitlines()[2].split() == ["a", "1.5", "False"]
    assert "PureDP(epsilon=1.9392357593486378) for one person (add-remove)" in text
    assert "for tests, not private" in text
    assert "how long it took" in text
    assert "<table" in tuned()._repr_html_()


def test_it_is_a_value_that_cannot_be_changed(tmp_path):
    best = tuned()
    assert copy.deepcopy(best) == best == pickle.loads(pickle.dumps(best))
    with pytest.raises(AttributeError):
        best.score = 2.0
    best.save(tmp_path / "best.json")
    assert Best.from_json((tmp_path / "best.json").read_bytes()) == best


def test_a_candidate_without_a_form_in_json_is_refused():
    for candidate in (object, {1: 2}):
        with pytest.raises(ValueError, match="JSON"):
            tuned([candidate]).to_json()


def damaged():
    whole = json.loads(tuned().to_json())
    yield {}
    yield {**whole, "version": 2}
    yield {**whole, "more": 1}
    yield {**whole, "index": None}
    yield {**whole, "score": "many"}
    yield {**whole, "guarantee": {"kind": "Tuned", "base": {"kind": "PureDP", "epsilon": 1.0}, "runs": 10}}
    yield {**whole, "candidate": {"parameters": 5}}
    yield {**whole, "guarantee": {"kind": "PureDP", "epsilon": 1.0}}


@pytest.mark.parametrize("content", list(damaged()), ids=range(8))
def test_what_is_damaged_is_refused_in_a_sentence(content):
    with pytest.raises(ValueError, match="no result of tuning"):
        Best.from_json(json.dumps(content))
    with pytest.raises(TypeError):
        Best.from_json(content)
