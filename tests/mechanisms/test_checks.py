"""A budget is a number of its family: what a class made of it says of itself moves no noise and no charge."""

import dataclasses
from typing import Any

import pytest

import shortlist as sl
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from tests.helpers.typed import present
from tests.mechanisms.test_contract import forms

SCORES = {"ada": 9, "bob": 5, "cy": 4, "dot": 1}


class CheapPure(PureDP):
    """It is drawn for its epsilon, and says that it costs next to nothing."""

    def curves(self):
        return PureDP(0.01).curves()


class CheapApprox(ApproxDP):
    def curves(self):
        return ApproxDP(0.01, 1e-9).curves()


class CheapZCDP(ZCDP):
    __hash__ = None  # type: ignore[assignment]

    def curves(self):
        return ZCDP(1e-6).curves()


CHEAP: dict[type, Any] = {PureDP: CheapPure, ApproxDP: CheapApprox, ZCDP: CheapZCDP}


def cheap(budget: Any) -> Any:
    return CHEAP[type(budget)](*(getattr(budget, one.name) for one in dataclasses.fields(budget)))


@forms
def test_every_mechanism_keeps_the_plain_budget(made: Any):
    again = dataclasses.replace(made, budget=cheap(made.guarantee))
    assert again == made
    assert type(again.guarantee) is type(made.guarantee)
    assert again.charge == made.charge


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("budget", [PureDP(2.0), ApproxDP(2.0, 1e-6), ZCDP(0.5, 1e-6)], ids=repr)
def test_a_ledger_books_what_is_drawn_for(budget, public, tmp_path):
    if not public and isinstance(budget, PureDP):
        return  # no name that comes from the data
    spent = []
    for one in (budget, cheap(budget)):
        with sl.Ledger(tmp_path / f"{type(one).__name__}.db", budget=ApproxDP(50.0, 1e-2)) as ledger:
            release = sl.top_k(SCORES, 2, budget=one, monotone=True, public=public, ledger=ledger)
        assert type(release.guarantee) is type(budget)
        assert sl.Release.from_json(release.to_json()) == release
        spent.append(present(release.receipt).spent)
    assert spent[0] == spent[1]
