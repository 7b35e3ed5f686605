"""Tuning: the law of what comes out, what is paid, and that failures and refusals show nothing private."""

import math
import pickle
import random

import numpy as np
import pytest
from flint import ctx

import shortlist as sl
import shortlist.tuning as question
from shortlist import ZCDP, ApproxDP, Binomial, BudgetExceeded, Ledger, NegativeBinomial, Poisson, PureDP
from shortlist.audit.certified import base as certified_base
from shortlist.privacy import Mixed, Tuned
from studies.broken.run_numbers import best_law, generating
from tests.accounting.test_tuned import EPSILON, one_run
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind

TEN = NegativeBinomial(mean=10)
HALF = PureDP(0.5)


def seeded(seed=7):
    return sl.testing.seeded(seed)


def fails(candidate):
    return 1 / 0


def private(x, rng):
    """The mechanism of `one_run`: a candidate's score by the exponential mechanism; the second fails at 0."""

    def train(place):
        weights = [math.exp(-EPSILON / 2 * abs(score - x[place])) for score in range(3)]
        (score,) = rng.choices(range(3), weights)
        if place == 1 and score == 0:
            raise RuntimeError(f"private: {x}")
        return ("model", place), score

    return train


@full_size
@pytest.mark.parametrize("runs", [NegativeBinomial(mean=4, eta=1), Poisson(1.5), Binomial(5, 0.5)], ids=repr)
@pytest.mark.parametrize("pad", [False, True])
def test_what_comes_out_has_the_certified_law(runs, pad):
    x, rng, source = (2, 0), random.Random(3), seeded()
    cap = 6 if pad and runs.most is None else None
    law = sl.privacy.Capped(runs, cap) if cap else runs
    with ctx.workprec(certified_base.PRECISION):
        known = {key: float(one) for key, one in best_law(one_run(x), generating(law)).chances.items()}
        other = {key: float(one) for key, one in best_law(one_run((0, 0)), generating(law)).chances.items()}
    counts = dict.fromkeys(known, 0)
    for _ in range(sized(1_200, full=60_000)):
        best = sl.tune(
            private(x, rng), [0, 1], guarantee=PureDP(EPSILON), weights=[1, 3], runs=runs, cap=cap, pad=pad, rng=source
        )
        key = None if best.index is None else (best.index, "failed" if best.failed else int(best.score or 0))
        counts[key] += 1
    assert_law(list(counts.values()), list(known.values()), wrong=list(other.values()))


def test_the_contract():
    grid = [0.1, 1.0, 10.0]
    best = sl.tune(lambda c: (c, float(c)), grid, guarantee=PureDP(0.1), runs=NegativeBinomial(mean=5, eta=0))
    assert best.candidate in grid
    assert best.score == best.output == best.candidate
    assert best.guarantee == best.charge == Tuned(PureDP(0.1), NegativeBinomial(mean=5))
    assert best.secure
    assert not best.failed


def test_a_budget_gives_the_largest_mean_that_fits():
    for eta, total, mean in ((0, 0.95, 6.278559), (1, 1.4, 19.720529)):
        best = sl.tune(lambda c: (c, c), [1], guarantee=HALF, budget=PureDP(total), eta=eta, rng=seeded())
        found = of_kind(NegativeBinomial, best.guarantee.runs)
        assert found.gamma == pytest.approx(0.0507085800592, rel=1e-11)
        assert found.mean == pytest.approx(mean, abs=1e-6)
        assert best.guarantee.epsilon_at(0) <= total
        assert Tuned(HALF, NegativeBinomial(gamma=found.gamma * 0.999, eta=eta)).epsilon_at(0) > total


def test_a_budget_with_a_delta_is_kept_and_nearly_used():
    best = sl.tune(lambda c: (c, c), [1], guarantee=ZCDP(0.05), budget=ApproxDP(2.0, 1e-6), cap=20, rng=seeded())
    assert 1.95 < best.guarantee.epsilon_at(1e-6) <= 2.0


def test_a_budget_that_nothing_or_everything_fits_is_refused():
    with pytest.raises(ValueError, match="one run alone"):
        sl.tune(lambda c: (c, c), [1], guarantee=HALF, budget=PureDP(0.5))
    with pytest.raises(ValueError, match="every number of runs"):
        sl.tune(lambda c: (c, c), [1], guarantee=HALF, budget=PureDP(1.0))
    with pytest.raises(ValueError, match="must fit the budget"):
        sl.tune(lambda c: (c, c), [1], guarantee=HALF, budget=PureDP(0.6), runs=TEN)
    assert sl.tune(lambda c: (c, c), [1], guarantee=HALF, budget=PureDP(1.0), runs=TEN).why == "named by the caller"


def test_a_charge_is_booked_before_the_first_run_and_stays(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(2.0))
    seen = []

    def train(candidate):
        seen.append(ledger.spent.epsilon)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.tune(train, [1], guarantee=HALF, runs=TEN, ledger=ledger, purpose="pick the model")
    cost = Tuned(HALF, TEN).epsilon_at(0)
    assert seen == [cost]
    assert ledger.spent.epsilon == cost
    best = sl.tune(lambda c: (c, c), [1], guarantee=HALF, runs=TEN, ledger=ledger, rng=seeded())
    assert best.receipt is not None
    assert best.receipt.entry == 2
    with pytest.raises(BudgetExceeded):
        sl.tune(fails, [1], guarantee=HALF, runs=TEN, ledger=ledger)


def test_a_pair_is_booked_at_a_delta_that_was_fixed_before(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=ApproxDP(5.0, 1e-5))
    best = sl.tune(lambda c: (c, c), [1], guarantee=ZCDP(0.05), runs=TEN, delta=1e-6, ledger=ledger, rng=seeded())
    assert best.charge == best.guarantee.as_approx(1e-6)
    assert ledger.spent.delta == 1e-6
    assert ledger.spent.epsilon == best.charge.epsilon


SECRET = "the salary of Ada is 90210"


class Odd:
    """A score whose own method raises."""

    def __float__(self):
        raise ValueError(SECRET)

    def __repr__(self):
        return "Odd()"


@pytest.mark.parametrize("answer", [None, 5, ("a",), ("model", "0.5"), ("model", math.nan), ("model", Odd())], ids=repr)
def test_answers_of_another_kind_are_outcomes(answer):
    best = sl.tune(lambda c: answer, [1, 2], guarantee=HALF, runs=Binomial(3, 1.0), rng=seeded())
    assert best.score == -math.inf
    assert best.failed == (not isinstance(answer, tuple) or len(answer) != 2)


def test_what_train_raises_is_nowhere(capfd):
    def train(candidate):
        raise ValueError(SECRET)

    best = sl.tune(train, [1, 2], guarantee=HALF, runs=Binomial(3, 1.0), rng=seeded())
    assert (best.failed, best.output, best.score) == (True, None, -math.inf)
    assert SECRET.encode() not in pickle.dumps(best)
    assert SECRET not in best.to_json() + str(best) + repr(best)
    assert capfd.readouterr() == ("", "")


def test_a_failure_loses_to_every_score_and_infinities_are_ordered():
    scores = {0: -1e300, 1: 10**400, 2: 3.0}
    best = sl.tune(lambda c: (c, scores[c]), [0, 1, 2, "fails"], guarantee=HALF, runs=Binomial(60, 1.0), rng=seeded())
    assert (best.candidate, best.score) == (1, math.inf)


def test_a_run_cannot_write_into_the_grid():
    grid = [{"c": 1.0}, {"c": 2.0}]

    def train(candidate):
        candidate["seen"] = SECRET
        return None, candidate["c"]

    best = sl.tune(train, grid, guarantee=HALF, runs=Binomial(20, 1.0), rng=seeded())
    assert best.candidate == {"c": 2.0}
    assert grid == [{"c": 1.0}, {"c": 2.0}]
    assert sl.tuning.Best.from_json(best.to_json()) == best


def test_padding_runs_the_same_number_always():
    for seed in range(5):
        ran: list[int] = []
        runs = NegativeBinomial(mean=3)
        train = lambda c, ran=ran: (ran.append(c), 1.0)  # noqa: E731
        best = sl.tune(train, [1, 2], guarantee=HALF, runs=runs, cap=8, pad=True, rng=seeded(seed))
        assert len(ran) == 8
        assert any("whatever was drawn" in note for note in best.notes)


def test_with_no_run_at_all_nothing_is_named():
    best = sl.tune(fails, [1], guarantee=HALF, runs=Poisson(1e-9), rng=seeded())
    assert (best.candidate, best.index, best.score, best.failed) == (None, None, None, False)
    assert "nothing was run" in str(best)
    assert sl.tuning.Best.from_json(best.to_json()) == best


def test_ties_go_to_the_earlier_run():
    order = iter(range(100))
    best = sl.tune(lambda c: (next(order), 1.0), [1], guarantee=HALF, runs=Binomial(9, 1.0), rng=seeded())
    assert best.output == 0


def test_guarantees_by_candidate():
    each = {0.1: PureDP(0.5), 1.0: PureDP(1.0)}
    for said in (each, list(each.values())):
        best = sl.tune(lambda c: (c, c), [0.1, 1.0], guarantee=said, weights=[0.75, 0.25], runs=TEN, rng=seeded())
        assert best.guarantee == Tuned(Mixed(((PureDP(0.5), 3), (PureDP(1.0), 1))), TEN)
    same = sl.tune(lambda c: (c, c), [1, 2], guarantee={1: HALF, 2: HALF}, runs=TEN, rng=seeded())
    assert same.guarantee == Tuned(HALF, TEN)


def never(candidate):
    raise AssertionError("nothing may run")


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        ({"guarantee": None}, TypeError, "what one run of train promises"),
        ({"guarantee": 0.5}, TypeError, "what one run of train promises"),
        ({"guarantee": {1: HALF}}, ValueError, "every candidate"),
        ({"guarantee": [HALF]}, TypeError, "what one run of train promises"),
        ({"guarantee": [HALF, 1]}, TypeError, "what one run of train promises"),
        ({"grid": []}, ValueError, "must not be empty"),
        ({"grid": "abc"}, TypeError, "grid must be"),
        ({"grid": [open]}, None, ""),
        ({"grid": [(i for i in "abc")]}, TypeError, "can be copied"),
        ({"weights": [1, 0]}, ValueError, "weights must be positive"),
        ({"weights": [1, math.nan]}, ValueError, "weights must be positive"),
        ({"weights": [1]}, ValueError, "one positive number for each"),
        ({"runs": 10}, TypeError, "runs must be"),
        ({"runs": None}, TypeError, "give runs="),
        ({"runs": None, "budget": 1.0}, TypeError, "budget must be"),
        ({"eta": 0.0}, TypeError, "eta belongs"),
        ({"pad": True}, ValueError, "largest number of runs"),
        ({"pad": "yes"}, TypeError, "pad must be"),
        ({"cap": 0}, ValueError, "cap must be"),
        ({"runs": sl.privacy.Capped(TEN, 5), "cap": 5}, TypeError, "said once"),
        ({"neighbours": "swap"}, ValueError, "neighbours must be"),
        ({"unit": 5}, TypeError, "unit must be"),
        ({"ledger": "year.db"}, TypeError, "ledger must be"),
        ({"rng": np.random.default_rng(1)}, TypeError, "rng must be"),
        ({"train": 5}, TypeError, "train must be"),
        ({"delta": 0.0, "guarantee": ZCDP(0.1)}, ValueError, "no epsilon is proved"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(words, error, says):
    question = {"train": never, "grid": [1, 2], "guarantee": HALF, "runs": TEN, **words}
    if error is None:
        sl.tune(**{**question, "train": lambda c: (c, 1.0)})
        return
    with pytest.raises(error, match=says):
        sl.tune(**question)


def test_a_rehearsal_raises_what_tuning_hides():
    assert sl.testing.rehearse(lambda c: (None, c), [1, 2.5]) == [(1, None, 1.0), (2.5, None, 2.5)]
    with pytest.raises(ZeroDivisionError):
        sl.testing.rehearse(fails, [1])
    for answer in (5, ("a", "b"), ("a", None)):
        with pytest.raises(TypeError, match="train must return"):
            sl.testing.rehearse(lambda c, answer=answer: answer, [1])  # type: ignore[misc]
    with pytest.raises(ValueError, match="NaN"):
        sl.testing.rehearse(lambda c: (None, math.nan), [1])


@full_size
def test_the_auditor_finds_what_is_lost_and_no_more():
    """Two candidates with randomised response each: the draws of the library itself against its claim."""
    runs, rng = Binomial(4, 0.75), random.Random(5)

    def choose(scores):
        def train(place):
            true = rng.random() < math.e / (1 + math.e)
            return None, (scores[place] > 0) == true

        best = sl.tune(train, [0, 1], guarantee=PureDP(1.0), runs=runs, rng=source)
        return (-1, 0) if best.index is None else (best.index, int(best.score or 0))

    source, pair = seeded(2), ((1.0, 1.0), (0.0, 0.0))
    claim = Tuned(PureDP(1.0), runs).as_pure()
    found = sl.audit(choose, claim=claim, pairs=[pair], trials=sized(2_000, full=100_000), workers=1)
    assert not found.violated
    assert found.epsilon_lower is not None
    assert found.epsilon_lower > 1.05  # more than one run alone


def test_a_number_of_runs_that_only_its_delta_admits_is_lowered_until_all_of_it_fits(monkeypatch):
    budget, base, rule = ApproxDP(3.0, 1e-6), ZCDP(0.05), question._beyond
    right = of_kind(NegativeBinomial, question.runs_within(base, budget, 0.0, None))
    looks: list[int] = []

    def kind(budget, guarantee):
        looks.append(1)
        return rule(budget, guarantee) - 1e-3

    monkeypatch.setattr(question, "_beyond", kind)
    found = of_kind(NegativeBinomial, question.runs_within(base, budget, 0.0, None))
    assert looks
    assert budget.excess(Tuned(base, found)) <= 0
    assert not budget.excess(Tuned(base, NegativeBinomial(gamma=0.995 * found.gamma, eta=0.0))) <= 0
    assert found.gamma == pytest.approx(right.gamma, rel=1e-3)
