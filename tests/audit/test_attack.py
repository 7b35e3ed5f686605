"""The statistical auditor: its bounds hold, are tight, repeat from a seed, resume, and read every kind of output."""

import json
import math
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import shortlist as sl
from shortlist import ApproxDP, PureDP, Scores
from shortlist.audit import attack as audit_attack
from shortlist.audit import events
from shortlist.audit.attack import target_of
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    ExponentialWithGap,
    GuardedTopK,
    GumbelTopKValues,
    JointTopK,
    LargeGap,
    LimitedDomainTopK,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.base import Outcome
from shortlist.privacy import ZCDP
from tests.helpers import outsiders
from tests.helpers.support import full_size, sized


def gumbel(scale):
    def draw(scores, draws, rng):
        return (scores + rng.gumbel(scale=scale, size=(draws, len(scores)))).argmax(1)

    return draw


def test_a_right_mechanism_is_not_refuted_and_its_bound_is_near_the_truth():
    found = sl.audit(NoisyMax(epsilon=1.0), trials=300_000, seed=1, workers=1)
    assert not found.violated
    assert 0.9 < found.epsilon_lower <= 1.0


def test_half_the_noise_is_refuted_at_a_stated_confidence():
    found = sl.audit(gumbel(1.0), claim=PureDP(1.0), trials=50_000, seed=2, confidence=1 - 1e-6)
    assert found.violated
    assert found.epsilon_lower > 1.2
    assert "VIOLATED" in str(found)
    assert not sl.audit(gumbel(2.0), claim=PureDP(1.0), trials=50_000, seed=2, confidence=1 - 1e-6).violated


@full_size
def test_the_bound_is_wrong_no_more_often_than_stated():
    """Randomised response of epsilon 1 exactly, whole audits at confidence .8: at most a fifth of them above 1."""
    audits = sized(25, full=60)

    def response(bit, draws, rng):
        return np.where(rng.random(draws) < math.e / (1 + math.e), bit, 1 - bit)

    wrong = sum(
        sl.audit(response, claim=PureDP(1.0), pairs=[(0, 1)], trials=2_000, confidence=0.8, seed=n).violated
        for n in range(audits)
    )
    assert wrong <= audits // 5


def test_the_function_and_the_package_share_their_name_in_peace():
    """`sl.audit` stays the function, whatever is imported from the package `shortlist.audit`."""
    from shortlist.audit import prove_mechanism

    assert callable(sl.audit)
    assert callable(prove_mechanism)


def test_clopper_pearson():
    low, high = events.proportion_bounds(3, 100, 0.01)
    assert binom.sf(2, 100, low) == pytest.approx(0.01, rel=1e-9)
    assert binom.cdf(3, 100, high) == pytest.approx(0.01, rel=1e-9)
    assert events.proportion_bounds(0, 10, 0.05)[0] == 0.0
    assert events.proportion_bounds(10, 10, 0.05)[1] == 1.0


@pytest.mark.parametrize(
    "mechanism",
    [
        OneshotTopK(k=2, epsilon=1.0),
        JointTopK(k=2, epsilon=1.0),
        GuardedTopK(k=3, epsilon=1.0),
        TopKWithGaps(k=1, epsilon=1.0),
        ExponentialWithGap(epsilon=1.0),
        SparseVector(threshold=0, k=1, epsilon=1.0),
        LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2),
    ],
    ids=lambda one: type(one).__name__,
)
def test_ordered_set_gap_and_unknown_outputs_of_ours_are_not_refuted(mechanism):
    pair: tuple[tuple[int, ...], tuple[int, ...]] = ((1, 1, 1, 0), (2, 1, 1, 1))
    if isinstance(mechanism, GuardedTopK):
        pair = ((3, 2, 1, 0, 0, 0), (2, 3, 2, 1, 1, 1))
    assert not sl.audit(mechanism, trials=500, pairs=[pair], seed=5, workers=1, confidence=1 - 1e-6).violated


def test_streams_of_answers_are_read():
    sv = SparseVector(threshold=0, k=1, epsilon=4.0)
    found = sl.audit(lambda x: sv.stream(list(x)), claim=PureDP(0.1), pairs=[((3.0, 0.0), (0.0, 3.0))], trials=800)
    assert found.violated  # three persons at once, and a claim that is too small


def test_low_order_bits_are_seen():
    def textbook(x, draws, rng):
        return x[0] + rng.laplace(size=draws)

    pair = [((0.0,), (1.0,))]
    assert sl.audit(textbook, claim=PureDP(1.0), pairs=pair, trials=20_000, seed=1).epsilon_lower > 5
    bits = events.lowest_bits(np.array([[1.0, 0.75, 2.0**-60, 0.0, np.nan, 6.0]]))
    assert bits[0, [0, 1, 2, 5]].tolist() == [0, -2, -60, 1]
    assert np.isnan(bits[0, [3, 4]]).all()


def test_the_exact_values_of_ours_leave_no_trace_in_their_bits():
    values = sl.mechanisms.GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-3))
    found = sl.audit(values, trials=800, pairs=[((0.0, 0.0), (1.0, 1.0))], seed=3, workers=1)
    assert not found.violated


def test_claims_that_are_not_pure_are_judged_by_their_whole_profile():
    def response(bit, draws, rng):
        return np.where(rng.random(draws) < math.e / (1 + math.e), bit, 1 - bit)

    for claim, refuted in (
        (ZCDP(0.5), False),
        (ZCDP(0.02), True),
        (ApproxDP(0.5, 0.4), False),
        (ApproxDP(0.5, 0.01), True),
    ):
        found = sl.audit(response, claim=claim, pairs=[(0, 1)], trials=40_000, seed=4, confidence=1 - 1e-6)
        assert found.violated is refuted, claim


def test_a_seed_repeats_everything_also_over_processes():
    one, two = (sl.audit(NoisyMax(epsilon=1.0), trials=600_000, seed=9, workers=n) for n in (1, 2))
    assert one == two
    assert one.counts == two.counts
    assert sl.audit(NoisyMax(epsilon=1.0), trials=600_000, seed=10, workers=1).counts != one.counts


def test_an_audit_that_was_cut_off_goes_on(tmp_path, monkeypatch):
    notes = tmp_path / "audit.json"
    words = {"trials": 900_000, "seed": 3, "workers": 1, "resume": notes}
    whole = sl.audit(NoisyMax(epsilon=1.0), **words)
    state = json.loads(notes.read_text())
    kept = dict(list(state["done"].items())[:3])
    notes.write_text(json.dumps({**state, "done": kept}))
    drawn: list[int] = []
    attack = import_module("shortlist.audit.attack")
    target_of = attack.target_of

    def spied(subject, **question):
        target = target_of(subject, **question)

        def draw(x, n, seed):
            drawn.append(n)
            return target.draw(x, n, seed)

        return type(target)(target.name, draw, target.batch, False, True)

    monkeypatch.setattr(attack, "target_of", spied)
    again = sl.audit(NoisyMax(epsilon=1.0), **words)
    assert again == whole
    assert len(drawn) == len(state["done"]) - 3
    with pytest.raises(ValueError, match="another audit"):
        sl.audit(NoisyMax(epsilon=2.0), **words)


def test_an_audit_of_other_neighbours_or_other_code_does_not_go_on(tmp_path):
    """Or the second one, which tells nobody apart, would be convicted by the counts of the first."""
    words: dict[str, Any] = {"claim": PureDP(1.0), "trials": 1000, "seed": 1, "workers": 1}
    words["resume"] = tmp_path / "audit.json"
    named: dict[str, Any] = {"pairs": [((0,), (10,))]}

    def leaking(above):
        def leak(scores, rng):
            return int(scores[0] > above)

        return leak

    assert sl.audit(leaking(5), **words, **named).violated
    assert sl.audit(leaking(5), **words, **named).violated  # the same once more, made anew
    for subject, other in ((leaking(5), [((0,), (1,))]), (leaking(6), named["pairs"])):
        with pytest.raises(ValueError, match="another audit"):
            sl.audit(subject, **words, pairs=other)


def test_fingerprints_tell_code_and_inputs_apart():
    def two():
        def one(x, limit=3):
            return one(x) if x in {"a", "b"} else (lambda y: y + limit)(x)

        return one

    def other():
        def one(x, limit=3):
            return one(x) if x in {"a", "b"} else (lambda y: y - limit)(x)

        return one

    long, longer = np.zeros(5000), np.zeros(5000)
    longer[2500] = 1
    scores = [sl.Scores([1, 2]), sl.Scores([1, 3])]
    different = [two(), other(), long, longer, *scores, (0, 1), (1, 0), [0, 1], {"a": 1}, {1, 2}, len, np.argmax]
    different += [partial(two(), limit=4), partial(two(), limit=5), NoisyMax(epsilon=1.0), NoisyMax(epsilon=2.0)]
    different += [scores[0].neighbours, outsiders, lambda x: x, NoisyMax(epsilon=1.0).release, Adding(1), Adding(2)]
    assert len({audit_attack.fingerprint(one) for one in different}) == len(different)
    for make in (
        two,
        lambda: sl.Scores([1, 2]),
        lambda: partial(two(), limit=4),
        lambda: {"b", "a"},
        lambda: Adding(1),
    ):
        assert audit_attack.fingerprint(make()) == audit_attack.fingerprint(make())


class Adding:
    """A function with a state."""

    def __init__(self, step):
        self.step = step

    def __call__(self, scores):
        return scores[0] + self.step


def test_a_progress_bar_is_shown_on_demand(capfd):
    sl.audit(NoisyMax(epsilon=1.0), trials=20_000, seed=1, workers=1, progress=True)
    assert "testing the event" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"claim": 1.0}, "claim must be a guarantee"),
        ({"claim": None}, "claim must be a guarantee"),
        ({"trials": 0}, "trials"),
        ({"confidence": 1.0}, "confidence"),
        ({"workers": 0}, "workers"),
        ({"seed": 3}, "seed needs"),
        ({"pairs": []}, "pairs must not be empty"),
    ],
)
def test_bad_arguments_say_what_to_write(change, words):
    arguments = {"claim": PureDP(1.0), "trials": 1000} | change
    with pytest.raises((TypeError, ValueError), match=words):
        sl.audit(lambda x: 0, **arguments)


def test_what_is_no_mechanism_is_refused():
    with pytest.raises(TypeError, match="audit a mechanism"):
        sl.audit(3, claim=PureDP(1.0))


def test_outputs_of_any_shape_are_told_apart():
    outputs = [
        1,
        "1",
        (1,),
        [2],
        {1, 2},
        {2, 1},
        {"a": 1},
        None,
        1.5,
        2.5,
        (1, 0.5),
        b"1",
        np.int64(1),
        np.array([1, 2]),
    ]
    sample = events.read_each(outputs)
    codes = sample.codes.tolist()
    assert codes[4] == codes[5]
    assert codes[8] == codes[9]  # reals are not in the code
    assert codes[0] == codes[12]
    assert len(set(codes)) == len(outputs) - 3
    assert events.read_each([np.array([1, 2])]).codes[0] == events.read_each([[1, 2]]).codes[0]
    assert sample.reals[8, 0] == 1.5
    assert np.isnan(sample.reals[0, 0])
    rows = events.read_many((np.array([[0, 1], [1, 0], [0, 1]]), np.array([0.5, 1.5, 2.5])), 3)
    assert rows.codes[0] == rows.codes[2] != rows.codes[1]
    with pytest.raises(ValueError, match="3 rows"):
        events.read_many(np.zeros(2), 3)
    for wrong in ([0, 1], [0] * 12, np.int64(1)):
        with pytest.raises(ValueError, match="3 rows"):
            events.read_many(wrong, 3)
    with pytest.raises(TypeError, match="arrays of integers or floats"):
        events.read_many(np.array(["a"]), 1)


def test_an_event_survives_its_notebook(tmp_path):
    rng = np.random.default_rng(0)
    one, two = (events.read_many((rng.integers(0, 2, 5000), rng.laplace(size=5000) + shift), 5000) for shift in (0, 1))
    event, bound = events.learn(one, two, delta=0.0, trials=5000)
    assert bound > 0.5
    again = events.Event.from_json(json.loads(json.dumps(event.as_json())))
    assert (again.count(one), again.count(two)) == (event.count(one), event.count(two))
    notes = audit_attack.Notebook(tmp_path / "n.json", "words")
    notes.keep(a=1)
    assert audit_attack.Notebook(tmp_path / "n.json", "words").state["a"] == 1


def test_jobs_have_seeds_of_their_own():
    assert audit_attack.seed_of(None, 1) is None
    assert len({audit_attack.seed_of(1, phase, n) for phase in ("a", "b") for n in range(50)}) == 100
    assert audit_attack.batches(25, 10) == [10, 10, 5]


@full_size
@pytest.mark.parametrize(
    "mechanism",
    [
        StableTopK(k=1, epsilon=1.0, delta=1e-6),
        StableTopK(epsilon=1.0, delta=1e-6),
        LimitedDomainTopK(k=2, epsilon=1.0, delta=1e-6),
        CanonicalLimitedDomain(k=2, epsilon=1.0, delta=1e-6),
        LargeGap(epsilon=1.0, limit=3),
    ],
)
def test_labels_are_told_apart_by_name_and_not_by_place(mechanism):
    """One more user brings a label that stands before the others and is never released."""
    x, y = {"bob": 50, "cy": 3}, {"ada": 1, "bob": 50, "cy": 3}
    pairs = [(Scores(x, monotone=True, public=False), Scores(y, monotone=True, public=False))]
    assert not sl.audit(mechanism, pairs=pairs, trials=sized(4_000, full=20_000), seed=1, workers=1).violated


def test_rows_of_labels_say_who_was_named_whatever_their_order():
    target = target_of(CanonicalLimitedDomain(k=2, epsilon=9.0, delta=0.4))
    one = target.draw(Scores({"bob": 50, "cy": 40}, monotone=True, public=False), 50, 1)
    two = target.draw(Scores({"cy": 40, "bob": 50}, monotone=True, public=False), 50, 1)
    other = target.draw(Scores({"cy": 40, "di": 50}, monotone=True, public=False), 50, 1)
    assert set(one.codes) == set(two.codes)
    assert len(set(one.codes)) == 1
    assert not set(one.codes) & set(other.codes)


class Leaky(OneshotTopK):
    """A single draw that tells the truth, beside sound draws of many."""

    __slots__ = ()

    def _draw(self, scores, source):
        return Outcome([int(np.argmax(scores.values))])


def test_a_subclass_that_changes_single_draws_is_judged_by_them():
    assert sl.audit(Leaky(k=1, epsilon=1.0), trials=4000, seed=1, workers=1).violated
    assert not sl.audit(OneshotTopK(k=1, epsilon=1.0), trials=4000, seed=1, workers=1).violated


class Chatty(GumbelTopKValues):
    """It releases the largest score beside its noisy one."""

    __slots__ = ()

    def _draw(self, scores, source):
        sound = super(type(self), self)._draw(scores, source)
        return replace(sound, extras=replace(sound.extras, soft_max=float(scores.values.max())))


@full_size
def test_all_numbers_of_a_release_are_looked_at():
    budget = ApproxDP(1.0, 1e-3)
    assert sl.audit(Chatty(k=1, budget=budget), trials=sized(250, full=1000), seed=3, workers=1).violated
