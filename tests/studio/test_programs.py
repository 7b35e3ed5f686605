"""The program that the studio hands out asks the same question again, in all its parts."""

import ast

import pytest

from shortlist.studio.forms import Form
from shortlist.studio.inputs import Folder
from tests.helpers.studios import QUESTION, fill


def asked(program, name):
    """The arguments of the call of that name, as they are written."""
    (call,) = (one for one in ast.walk(ast.parse(program)) if isinstance(one, ast.Call) and _name(one) == name)
    return {word.arg: ast.unparse(word.value) for word in call.keywords}


def _name(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id


def written(folder, **change):
    fill(folder, rows=10)
    question = {
        **QUESTION, "candidates": "text", "candidates_text": "Alien\nHeat", "k": 1, "epsilon": 0.5, "purpose": "chart",
    }  # fmt: skip
    return Form.of(Folder.of(folder), {**question, **change}).program(Folder.of(folder))


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_order_and_budget_are_asked_for_again(tmp_path, ordered, delta):
    words = asked(written(tmp_path, ordered=ordered, delta=delta), "top_k")
    paid = {"epsilon": "0.5"} if delta is None else {"budget": "sl.ApproxDP(epsilon=0.5, delta=1e-06)"}
    order = {"ordered": "True"} if ordered else {}
    columns = {"user": "'who'", "item": "'film'", "candidates": "['Alien', 'Heat']"}
    assert words == {"k": "1", **columns, **paid, **order, "ledger": "ledger", "purpose": "'chart'"}


@pytest.mark.parametrize(
    ("way", "known"),
    [("text", {"candidates": "['Alien', 'Heat']"}), ("file", {"candidates": "'films.txt'"}), ("none", {})],
)
def test_the_public_list_and_the_unit_are_given_again(tmp_path, way, known):
    words = asked(written(tmp_path, candidates=way, unit="household", delta=1e-6), "top_k")
    paid = {"k": "1", "budget": "sl.ApproxDP(epsilon=0.5, delta=1e-06)", "ledger": "ledger", "purpose": "'chart'"}
    assert words == {"user": "'who'", "item": "'film'", **known, "unit": "'household'", **paid}
