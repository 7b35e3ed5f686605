"""Nothing but the registry has a list of mechanisms."""

import ast
from pathlib import Path

import pytest

from shortlist.audit.entries import ENTRIES
from shortlist.mechanisms.registry import METHODS
from tests.helpers.typed import of_kind

SOURCE = Path(__file__).parents[2] / "src" / "shortlist"

KINDS = {kind.__name__ for kind in ENTRIES}


def registries(text):
    """Lines of displays and unions that name three mechanisms or more, by class or by method."""
    if sum(word in text for word in {*KINDS, *METHODS}) < 3:
        return
    for node in ast.walk(ast.parse(text)):
        union = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
        if not union and not isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set):
            continue
        inside = list(ast.walk(node))
        classes = {one.id for one in inside if isinstance(one, ast.Name)} & KINDS
        classes |= {one.attr for one in inside if isinstance(one, ast.Attribute)} & KINDS
        words = {one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        if len(classes) >= 3 or len(words & set(METHODS)) >= 3 or len(words & KINDS) >= 3:
            yield of_kind(ast.expr, node).lineno


def test_no_other_list_of_mechanisms_exists():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        ours = name.startswith(("mechanisms/", "utility/", "audit/certified/")) or name == "planning/rows.py"
        assert ours or not list(registries(path.read_text())), name


@pytest.mark.parametrize(
    "text",
    [
        "MAKERS = {JointTopK: 1, GuardedTopK: 2, OneshotTopK: 3}",
        "isinstance(x, JointTopK | GuardedTopK | OneshotTopK)",
        "isinstance(x, (m.JointTopK, m.GuardedTopK, m.OneshotTopK))",
        "WHY = {'joint': '', 'guarded': '', 'canonical': ''}",
    ],
)
def test_another_list_would_be_seen(text):
    assert list(registries(text))
