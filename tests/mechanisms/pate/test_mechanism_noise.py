"""PATE with Gaussian noise, for one label and for several (Theorem 271)."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from shortlist import BudgetExceeded, Ledger
from shortlist.audit import prove_pate
from shortlist.audit.certified import stable
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import ZCDP
from shortlist.testing import seeded
from tests.helpers.support import assert_law, in_suite
from tests.helpers.typed import present
from tests.mechanisms.pate.test_mechanism import votes_of

SEVERAL: dict[str, Any] = {"sigma_1": 4.0, "sigma": 3.0, "delta_t": 0.01, "delta": 0.05, "queries": 1, "limit": 3}


def test_one_label_keeps_its_charge_on_a_box_and_a_part_of_it_is_not_enough():
    crowd = PATE(sigma=1.5, delta=1e-6, queries=1, classes=3)
    assert prove_pate(crowd, labels=3, teachers=3).holds
    assert not prove_pate(crowd, labels=3, teachers=3, claim=ZCDP(0.6 * crowd.query.as_zcdp().rho)).holds  # type: ignore[union-attr]


@pytest.mark.parametrize("fixed", in_suite([False, True], 1))
def test_several_labels_keep_their_charge_on_a_box_and_a_part_of_it_is_not_enough(fixed):
    words = {**SEVERAL, "k": 1, "sigma_1": None, "limit": None} if fixed else SEVERAL
    crowd = MultiLabelPATE(**words)
    query = present(crowd.query.as_zcdp())
    assert prove_pate(crowd, labels=3, teachers=4).holds
    for cheaper in (ZCDP(query.rho / 6, query.delta), ZCDP(query.rho, query.delta / 2)):
        assert not prove_pate(crowd, labels=3, teachers=4, claim=cheaper).holds


def test_what_a_query_costs():
    """One vote moves two counts; a teacher moves every gap by two, of 40 gaps and of the one that is tested."""
    assert PATE(sigma=40.0, delta=1e-6, queries=7, classes=9).query == ZCDP(1 / 1600)
    crowd = MultiLabelPATE(sigma_1=50.0, sigma=60.0, delta_t=1e-9, limit=40, delta=1e-6, queries=600)
    query = present(crowd.query.as_zcdp())
    assert query.rho == pytest.approx(80 / 2500 + 2 / 3600)
    assert query.delta == 1e-9
    assert crowd.rho == pytest.approx(600 * query.rho)
    assert crowd.guarantee.epsilon == pytest.approx(ZCDP(crowd.rho).epsilon_at(4e-7), rel=1e-6)
    fixed = MultiLabelPATE(k=2, sigma=60.0, delta_t=1e-9, delta=1e-6, queries=600)
    assert present(fixed.query.as_zcdp()).rho == pytest.approx(2 / 3600)


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_gaussian_noise_for_a_total_budget_is_within_it_and_nearly_uses_it(epsilon):
    crowd = PATE(epsilon=epsilon, delta=1e-6, queries=100, classes=10, noise="gaussian")
    assert 0.999 * epsilon < crowd.guarantee.epsilon <= epsilon
    by_rho = PATE(rho=0.5, delta=1e-6, queries=100, classes=10, noise="gaussian")
    assert by_rho.rho <= 0.5
    assert by_rho.rho == pytest.approx(0.5)
    assert by_rho.sigma == pytest.approx((100 / 0.5) ** 0.5)


def test_one_label_follows_the_law_of_gaussian_noise_and_no_other():
    crowd = PATE(sigma=2.0, delta=1e-6, queries=1, classes=4)
    drawn = crowd.label_many([0] * 5 + [1] * 4 + [2] * 2, draws=60_000, rng=seeded(1)).indices[:, 0]
    right = [float(chance.mid()) for chance in stable.class_law(crowd, [5, 4, 2, 0]).chances.values()]
    weights = np.exp(np.array([5, 4, 2, 0]) / (2.0 * 6**0.5 / np.pi))
    assert_law(np.bincount(drawn, minlength=4), right, wrong=weights / weights.sum())


def test_several_labels_follow_their_certified_law():
    crowd = MultiLabelPATE(**{**SEVERAL, "sigma_1": 2.0, "sigma": 2.0, "delta_t": 0.2, "delta": 0.5})
    loud = MultiLabelPATE(**{**SEVERAL, "sigma_1": 2.6, "sigma": 2.0, "delta_t": 0.2, "delta": 0.5})
    counts = [9, 5, 2]
    rows = crowd.label_many(votes_of(counts, 10), draws=60_000, rng=seeded(2))
    sets = (tuple(row[row >= 0].tolist()) if passed else None
            for row, (_, passed) in zip(rows.indices, present(rows.chosen).tolist(), strict=True))  # fmt: skip
    found, right, wrong = Counter(sets), stable.pate_law(crowd, counts).chances, stable.pate_law(loud, counts).chances
    assert set(found) <= set(right)
    assert_law(
        [found[one] for one in right],
        [float(chance.mid()) for chance in right.values()],
        wrong=[float(wrong[one].mid()) for one in right],
    )


def test_queries_are_counted_and_booked(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=ZCDP(1.0, 1e-5)) as ledger:
        one = PATE(sigma=20.0, delta=1e-6, queries=1, classes=3)
        assert one.label([1] * 200, ledger=ledger) == 1
        with pytest.raises(BudgetExceeded):
            one.label([1] * 200, ledger=ledger)
        several = MultiLabelPATE(sigma_1=20.0, sigma=20.0, delta_t=1e-9, limit=4, delta=1e-6, queries=2)
        assert several.label(votes_of([200, 200, 0], 200), ledger=ledger) == frozenset({0, 1})
        assert several.remaining == 1
        assert ledger.spent.rho == pytest.approx(1 / 400 + 8 / 400 + 2 / 400)
        assert [entry.mechanism.split("(")[0] for entry in ledger.entries()] == ["PATE", "MultiLabelPATE"]
        assert "sigma_1=20.0, limit=4" in ledger.entries()[1].mechanism
    for crowd in (one, several):
        assert repr(eval(repr(crowd))) == repr(crowd)


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"rho": 0.5}, TypeError, "leave rho= and epsilon= out"),
        ({"epsilon": 0.5}, TypeError, "leave rho= and epsilon= out"),
        ({"limit": None}, ValueError, "limit is needed"),
        ({"sigma": None}, TypeError, "sigma= and delta_t="),
        ({"k": 1}, TypeError, "sigma= and delta_t="),
        ({"queries": 6}, ValueError, "greater than queries"),
        ({"sigma_1": 1e-200}, ValueError, "too small"),
        ({"delta": None}, ValueError, "delta must be"),
    ],
)
def test_noise_for_several_labels_that_does_not_go_together_is_refused(words, error, match):
    given = {**SEVERAL, **words, **({"limit": None} if "k" in words else {})}
    with pytest.raises(error, match=match):
        MultiLabelPATE(**given)


def test_noise_for_one_label_that_does_not_go_together_is_refused():
    base: dict[str, Any] = {"delta": 1e-6, "queries": 3, "classes": 3}
    with pytest.raises(TypeError, match="leave rho= and epsilon= out"):
        PATE(rho=0.5, sigma=3.0, **base)
    wrong: list[dict[str, Any]] = [{"noise": "laplace", "rho": 1.0}, {"noise": "gumbel", "sigma": 3.0}]
    for words in wrong:
        with pytest.raises(ValueError, match='"gumbel" or "gaussian"'):
            PATE(**words, **base)
    with pytest.raises(ValueError, match="sigma must be"):
        PATE(sigma=0.0, **base)
    with pytest.raises(TypeError, match="either rho= or epsilon="):
        PATE(noise="gaussian", **base)
    assert PATE(rho=0.5, noise="gumbel", **base).query == PATE(rho=0.5, **base).query
