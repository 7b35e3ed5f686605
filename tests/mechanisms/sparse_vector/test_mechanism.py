"""SparseVector: shares and scales, streams that end, and everything that is refused."""

import copy
import itertools
import math
import multiprocessing
import os
import pickle
import threading
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.mechanisms import SparseVector
from shortlist.privacy import ZCDP, ApproxDP, ExPost
from shortlist.sampling import thresholds as barrier
from tests.helpers.support import assert_law, full_size, sized


def sv(**more):
    return SparseVector(**{"threshold": 100, "k": 2, "epsilon": 1.0, "monotone": True, **more})


@pytest.mark.parametrize(
    ("monotone", "adaptive", "theta", "variance"),
    [
        (False, False, 0.119501968, 1171.938),
        (True, False, 0.177255030, 2 * 179.5578),
        (False, True, 1 / (1 + 1600 ** (1 / 3)), None),
        (True, True, 1 / (1 + 400 ** (1 / 3)), None),
    ],
)
def test_the_default_share_is_the_paper_s_optimum(monotone, adaptive, theta, variance):
    rules = sv(k=10, monotone=monotone, adaptive=adaptive, noise="laplace").rules
    assert float(rules.first) == pytest.approx(theta, abs=1e-9)
    assert rules.first + 10 * rules.each == rules.epsilon == 1
    if variance:
        assert rules.branches[0].law.variance == pytest.approx(variance, abs=1e-3)
        exponential = sv(k=10, monotone=monotone, noise="exponential").rules.branches[0].law.variance
        assert exponential == pytest.approx(variance / 2, abs=1e-3)


def test_the_scales_are_exact():
    rules = sv(theta=0.3, sensitivity=3, monotone=False, adaptive=True, epsilon=0.7).rules
    e0, e1 = Fraction(0.3) * Fraction(0.7), (1 - Fraction(0.3)) * Fraction(0.7) / 2
    assert rules.threshold_scale == 3 / e0
    assert [branch.test.scale for branch in rules.branches] == [12 / e1, 6 / e1]
    assert [branch.cost for branch in rules.branches] == [e1 / 2, e1]
    assert rules.branches[0].test.cut == 2 * rules.branches[0].test.scale
    assert rules.branches[1].test.cut == 0


@pytest.mark.traced
def test_a_stream_answers_in_order_and_stops_after_k():
    values = iter([5000, -5000, 6000, 7000, 8000])
    answers = list(sv().stream(values))
    assert [answer.above for answer in answers] == [True, False, True]
    assert list(values) == [7000, 8000]  # never read past the last answer
    assert answers[0].gap == pytest.approx(4900, abs=300)
    assert (answers[1].above, answers[1].gap, answers[1].branch) == (False, None, "below")
    assert {answer.branch for answer in answers} == {"middle", "below"}


def test_a_stream_reads_one_value_at_a_time():
    read = []

    def values():
        for n in itertools.count():
            read.append(n)
            yield -9000

    stream = sv().stream(values())
    for n in range(1, 50):
        assert not next(stream).above
        assert len(read) == n


def test_adaptive_streams_give_up_to_twice_as_many_answers():
    answers = list(sv(k=4, adaptive=True).stream([10**6] * 100))
    assert len(answers) == 7
    assert {answer.branch for answer in answers} == {"top"}
    rules = sv(k=4, adaptive=True).rules
    stream = sv(k=4, adaptive=True).stream([10**6] * 100)
    for _ in stream:
        pass
    assert stream.cost == pytest.approx(float(rules.first + 7 * rules.each / 2))
    assert stream.cost < 1


def test_costs_add_up():
    m = sv(k=3)
    stream = m.stream([10**6, -(10**6), 10**6])
    assert stream.cost == 0.0
    assert stream.kept == ExPost(1.0, 0.0)
    total = Fraction(0)
    for answer in stream:
        total += Fraction(answer.cost)
        assert stream.cost == pytest.approx(float(m.rules.first + total))
    assert stream.stopped
    assert stream.kept.cost <= 1.0 == stream.kept.epsilon
    full = m.stream([10**6] * 3)
    assert sum(answer.cost for answer in full) == pytest.approx(float(3 * m.rules.each))
    assert full.cost == 1.0


def test_a_stopped_stream_refuses_further_questions():
    stream = sv(k=1).stream()
    assert not stream.ask(-(10**6)).above
    assert stream.ask(10**6).above
    assert stream.stopped
    assert "stopped" in repr(stream)
    with pytest.raises(RuntimeError, match="stopped"):
        stream.ask(-(10**6))
    with pytest.raises(StopIteration):
        next(stream)
    assert stream._barrier is None
    assert stream._questions == []
    closed = sv().stream([1, 2])
    closed.close()
    assert list(closed) == []
    assert closed.cost == 0.0
    assert "open" in repr(sv().stream())


def test_a_source_that_fails_ends_the_stream_and_loses_no_accounting():
    def values():
        yield 10**6
        yield -(10**6)
        raise OSError("the disk is gone")

    m = sv(k=3)
    stream = m.stream(values())
    assert next(stream).above
    assert not next(stream).above
    with pytest.raises(OSError, match="disk"):
        next(stream)
    assert stream.stopped
    assert stream.cost == pytest.approx(float(m.rules.first + m.rules.each))
    with pytest.raises(RuntimeError, match="stopped"):
        stream.ask(10**6)


def test_an_interrupted_answer_is_paid_for_and_ends_the_stream(monkeypatch):
    m = sv(k=3)
    stream = m.stream()
    stream.ask(-(10**6))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(barrier.Barrier, "gap", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stream.ask(10**6)
    assert stream.stopped
    assert stream.cost == pytest.approx(float(m.rules.first + m.rules.each))


def test_a_stream_cannot_be_copied_or_pickled():
    stream = sv().stream([1, 2, 3])
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied or pickled"):
            way(stream)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_stream_cannot_go_on_in_a_forked_child():
    stream = sv().stream([-(10**6)] * 3)
    assert not next(stream).above

    def child(pipe):
        errors = []
        for ask in (lambda: next(stream), lambda: stream.ask(-5)):
            try:
                ask()
            except RuntimeError as error:
                errors.append(str(error))
        errors.append(str(next(sv().stream([-(10**6)])).above))  # a new one works
        pipe.send(errors)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(30)
    errors = ours.recv()
    process.join(30)
    assert len(errors) == 3
    assert all("forked" in error for error in errors[:2])
    assert not next(stream).above  # the parent goes on


def test_threads_never_get_more_answers_than_were_paid_for():
    for _ in range(20):
        stream = sv(k=3).stream()
        given: list[Any] = []

        def ask(stream=stream, given=given):
            for _ in range(5):
                try:
                    given.append(stream.ask(10**6).above)
                except RuntimeError:
                    return

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert given == [True] * 3


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf")])
def test_answers_that_are_not_finite_are_refused_before_use(bad):
    stream = sv().stream([bad, -1e6])
    with pytest.raises(ValueError, match="finite"):
        next(stream)
    assert stream.cost == 0.0
    assert not next(stream).above


@pytest.mark.parametrize("bad", ["7", None, True, np.True_, 1j, Fraction(1), [1], np.array([1.0])])
def test_answers_that_are_no_numbers_are_refused(bad):
    with pytest.raises(TypeError, match="whole numbers or floats"):
        sv().stream().ask(bad)


def test_whole_numbers_and_floats_are_not_mixed():
    stream = sv().stream([1, 2.5])
    next(stream)
    with pytest.raises(TypeError, match="all whole numbers or all floats"):
        next(stream)
    with pytest.raises(TypeError, match="all whole numbers or all floats"):
        sv().release([1, 2.5])
    assert not sv().stream([np.int16(-9000)]).ask(np.int64(-9000)).above


@pytest.mark.parametrize("far", [2**63, 2**80, -(2**63) - 1, -(2**4000)])
def test_a_whole_answer_beyond_64_bits_is_the_nearest_within(far):
    """The stream was paid for: a refusal then would tell of the answer."""
    for noise in ("exponential", "geometric"):
        stream = sv(noise=noise).stream()
        assert stream.ask(far).above == (far > 0)


def test_geometric_noise_is_for_whole_numbers():
    with pytest.raises(TypeError, match="whole threshold"):
        sv(noise="geometric", threshold=0.5)
    with pytest.raises(TypeError, match="whole numbers"):
        sv(noise="geometric").stream().ask(1.0)
    with pytest.raises(TypeError, match="whole numbers"):
        sv(noise="geometric").release(np.array([1.0]))
    release = sv(noise="geometric").release(np.array([900, 100000]))
    assert all(gap == int(gap) for gap in release.gaps)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"threshold": math.inf}, ValueError, "threshold must be finite"),
        ({"threshold": math.nan}, ValueError, "threshold must be finite"),
        ({"threshold": 2**63}, ValueError, "threshold must be finite"),
        ({"threshold": "100"}, TypeError, "threshold must be a number"),
        ({"threshold": True}, TypeError, "threshold must be a number"),
        ({"k": 0}, ValueError, "k must be at least 1"),
        ({"k": 1.5}, TypeError, "k must be a whole number"),
        ({"theta": 0.0}, ValueError, "theta"),
        ({"theta": 1.0}, ValueError, "theta"),
        ({"theta": math.nan}, ValueError, "theta"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"epsilon": None}, TypeError, "epsilon"),
        ({"epsilon": None, "budget": ZCDP(0.5)}, TypeError, "pure budgets only"),
        ({"epsilon": None, "budget": ApproxDP(1.0, 1e-6)}, TypeError, "pure budgets only"),
        ({"noise": "gumbel"}, ValueError, "noise must be"),
        ({"noise": None}, ValueError, "noise must be"),
        ({"adaptive": 1}, TypeError, "adaptive"),
        ({"monotone": "yes"}, TypeError, "monotone"),
        ({"sensitivity": 0}, ValueError, "sensitivity"),
        ({"sensitivity": math.inf}, ValueError, "sensitivity"),
    ],
)
def test_bad_arguments_are_refused_by_name(wrong, error, words):
    with pytest.raises(error, match=words):
        sv(**wrong)


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("adaptive", [False, True], ids=["plain", "adaptive"])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-310, 1e-200, 1e200, 1.7e308])
def test_extreme_budgets_are_kept_or_refused(noise, adaptive, epsilon):
    if noise == "geometric" and epsilon < 1:
        with pytest.raises(ValueError, match="too small"):
            sv(noise=noise, adaptive=adaptive, epsilon=epsilon)
        return
    m = sv(noise=noise, adaptive=adaptive, epsilon=epsilon)
    assert m.release([1, 2**62, 3]).cost <= epsilon
    stream = m.stream([1, 2**62, 3])
    assert len(list(stream)) <= 3
    assert stream.cost <= epsilon


def test_scores_must_say_the_same_as_the_mechanism():
    with pytest.raises(ValueError, match="differ"):
        sv().release(Scores([1, 2]))
    with pytest.raises(TypeError, match="already said"):
        sv().release(Scores([1, 2], monotone=True), unit="house")
    with pytest.raises(ValueError, match="public"):
        sv().release({"a": 1})
    release = sv().release(Scores({"a": 9000, "b": -9000}, monotone=True, public=True))
    assert release.items == ["a"]


def test_a_batch_release_carries_items_gaps_and_cost():
    m = sv(k=3)
    release = m.release([9000, -9000, 8000], unit="house")
    assert release.indices == [0, 2]
    assert release.gaps == pytest.approx([8900, 7900], abs=300)
    assert [(a.above, a.gap, a.branch) for a in release.answers] == [(True, gap, "middle") for gap in release.gaps]
    assert [a.lower_bound(0.9) for a in release.answers] == release.lower_bound(0.9)
    assert release.stopped is False
    assert release.guarantee == release.charge == PureDP(1.0)
    assert release.cost == pytest.approx(float(m.rules.first + 2 * m.rules.each))
    assert release.kept == ExPost(1.0, release.cost)
    assert release.kept.unused() > 0
    bound = release.lower_bound(0.95)[0]
    assert bound.value < 100 + release.gaps[0]
    assert "reported above" in bound.caveat
    assert release.refine([9001, 8001], variance=1e-9) == pytest.approx([9001, 8001], abs=1e-3)
    assert m.release([9000] * 9).stopped is True
    empty = m.release([-9000])
    assert empty.items == []
    assert empty.cost == pytest.approx(float(m.rules.first))
    assert "item" in str(empty)


def test_an_answer_bounds_and_refines_as_its_release_does():
    answer = next(sv().stream([9000]))
    assert answer.lower_bound(0.9).confidence == 0.9
    assert answer.refine(9001.0, variance=1e-9) == pytest.approx(9001, abs=1e-3)
    with pytest.raises(ValueError, match="variance"):
        answer.refine(9001.0, variance=0)
    below = next(sv().stream([-9000]))
    for ask in (lambda: below.lower_bound(0.9), lambda: below.refine(1.0, variance=1.0)):
        with pytest.raises(AttributeError, match="no gap"):
            ask()


@full_size
@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("adaptive", [False, True], ids=["plain", "adaptive"])
def test_stream_and_batch_have_the_same_law_gaps_included(noise, adaptive):
    """Two samples of (branches, gap of the first answer above in bins), and (power) one at another threshold."""
    values = [103, 96, 108, 100]
    m, other = (sv(threshold=t, epsilon=2.0, noise=noise, adaptive=adaptive) for t in (100, sized(107, full=101)))
    source = sl.testing.seeded(12)

    def cell(branches, gap):
        return (*branches, int(gap // 4) if gap is not None else None)

    def streamed():
        answers = list(m.stream(values, rng=source))
        first = next((answer for answer in answers if answer.above), None)
        return cell([i for i, answer in enumerate(answers) if answer.above], first and first.gap)

    def batched(mechanism):
        release = mechanism.release(values, rng=source)
        return cell(release.indices, release.gaps[0] if release.gaps else None)

    runs = sized(120, full=4000)
    samples = [[streamed() for _ in range(runs)], *([batched(one) for _ in range(runs)] for one in (m, other))]
    cells = sorted({one for sample in samples for one in sample}, key=str)
    online, batch, wrong = ([sample.count(one) for one in cells] for sample in samples)
    assert two_sample_p(online, batch) > 1e-7
    assert two_sample_p(online, wrong) < 1e-7


@full_size
@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("adaptive", [False, True], ids=["plain", "adaptive"])
def test_many_runs_at_once_have_the_law_of_a_stream(noise, adaptive):
    """Two samples of (questions, branches, last gap in bins), and (power) one with 20 percent more noise."""
    values = [103, 96, 108, 100]
    m, other = (sv(epsilon=e, noise=noise, adaptive=adaptive, k=2) for e in (1.0, 1 / 1.2))
    source = sl.testing.seeded(14)

    def streamed():
        above = [(i, one) for i, one in enumerate(m.stream(values, rng=source)) if one.above]
        last = int(above[-1][1].gap // 6) if above else None
        return *((i, one.branch) for i, one in above), last

    def at_once(mechanism):
        drawn = mechanism.release_many(values, draws=sized(8_000, full=50_000), rng=source)
        assert (drawn.chosen is not None) == adaptive
        chosen = drawn.chosen if adaptive else np.where(drawn.indices < 0, -1, 1)
        for row, gaps, branches in zip(drawn.indices.tolist(), drawn.reals, chosen.tolist(), strict=True):
            above = [(i, ("top", "middle")[branch]) for i, branch in zip(row, branches, strict=True) if i >= 0]
            yield *above, int(gaps[len(above) - 1] // 6) if above else None

    samples = [[streamed() for _ in range(sized(300, full=10_000))], list(at_once(m)), list(at_once(other))]
    counts = [Counter(sample) for sample in samples]
    cells = sorted({cell for count in counts for cell in count}, key=str)
    online, batch, wrong = ([count[cell] for cell in cells] for count in counts)
    assert two_sample_p(online, batch) > 1e-7
    assert two_sample_p(wrong, batch) < 1e-7


def test_many_runs_are_for_public_scores():
    with pytest.raises(ValueError, match="as_public"):
        sv().release_many(Scores([1, 2], monotone=True)._as_counted(), draws=2)
    with pytest.raises(ValueError, match="draws"):
        sv().release_many([1, 2], draws=0)
    drawn = sv(k=3).release_many([10**6, -(10**6)], draws=2)
    assert drawn.indices.tolist() == [[0, -1], [0, -1]]
    assert np.isnan(drawn.reals).tolist() == [[False, True]] * 2


def two_sample_p(first, second):
    from scipy.stats import chi2_contingency

    table = np.array([first, second])
    rare = table.sum(axis=0) < 12
    merged = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)]) if rare.any() else table
    return chi2_contingency(merged[:, merged.sum(axis=0) > 0]).pvalue


@full_size
def test_the_oracle_of_one_question_at_the_threshold():
    m, source = SparseVector(threshold=7, k=1, epsilon=1.0, theta=0.4), sl.testing.seeded(13)
    runs, off = sized(1200, full=20_000), sized(0.54, full=0.5)
    above = sum(next(m.stream([7], rng=source)).above for _ in range(runs))
    p = 0.4 / 0.7 * math.exp(-0.25)
    assert_law([above, runs - above], [p, 1 - p], wrong=[off, 1 - off])


def test_a_seeded_release_says_so():
    assert not sv().release([1, 2], rng=sl.testing.seeded(1)).secure
    with pytest.raises(TypeError, match="rng"):
        sv().stream([1], rng=np.random.default_rng(1))
