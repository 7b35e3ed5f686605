"""The program that the studio hands out asks the same question again, in all its parts."""

import ast
from pathlib import Path

import pytest

from shortlist.privacy import ApproxDP, PureDP
from shortlist.studio.forms import Form, list_program
from shortlist.studio.inputs import Folder


def asked(program, name):
    """The arguments of the call of that name, as they are written."""
    (call,) = (one for one in ast.walk(ast.parse(program)) if isinstance(one, ast.Call) and _name(one) == name)
    return {word.arg: ast.unparse(word.value) for word in call.keywords}


def _name(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id


def written(folder, **change):
    question = {
        "table": folder / "rentals.csv", "user": "who", "items": ("film",), "candidates": ("Alien", "Heat"), "k": 1,
        "budget": PureDP(0.5), "ordered": False, "ledger": folder / "year.db", "purpose": "chart", "unit": "user",
    }  # fmt: skip
    return list_program(Folder(folder), Form(**{**question, **change})).python()


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("budget", [PureDP(0.5), ApproxDP(0.5, 1e-6)], ids=str)
def test_order_and_budget_are_asked_for_again(tmp_path, ordered, budget):
    words = asked(written(tmp_path, ordered=ordered, budget=budget), "top_k")
    paid = {"epsilon": "0.5"} if isinstance(budget, PureDP) else {"budget": "sl.ApproxDP(epsilon=0.5, delta=1e-06)"}
    order = {"ordered": "True"} if ordered else {}
    columns = {"user": "'who'", "item": "'film'", "candidates": "['Alien', 'Heat']"}
    assert words == {"k": "1", **columns, **paid, **order, "ledger": "ledger", "purpose": "'chart'"}


@pytest.mark.parametrize("candidates", [("Alien", "Heat"), Path("films.txt"), None], ids=["pasted", "file", "none"])
def test_the_public_list_and_the_unit_are_given_again(tmp_path, candidates):
    listed = tmp_path / candidates if isinstance(candidates, Path) else candidates
    words = asked(written(tmp_path, candidates=listed, unit="household"), "top_k")
    known = {} if candidates is None else {"candidates": "['Alien', 'Heat']" if listed is candidates else "'films.txt'"}
    paid = {"k": "1", "epsilon": "0.5", "ledger": "ledger", "purpose": "'chart'"}
    assert words == {"user": "'who'", "item": "'film'", **known, "unit": "'household'", **paid}
