"""Results are named by a noun: `found`, `asked` and `kept` say how a value came about and not what it is."""

import ast
import re
from pathlib import Path

import pytest

import shortlist

HOME = Path(shortlist.__file__).parent
PARTICIPLES = {"found", "asked", "kept"}
PUBLIC = {
    "extras.py", "release.py", "ledger/filter.py", "ledger/ledger.py", "mechanisms/threshold.py",
    "pate.py",
}  # fmt: skip
"""Where one of them is a public name, or counts how often something was asked."""


def participles(text):
    """The variables, arguments, functions and fields that are named by one."""
    if not re.search(rf"\b(?:{'|'.join(PARTICIPLES)})\b", text):
        return
    for node in ast.walk(ast.parse(text)):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "name", getattr(node, "arg", None))
        if name in PARTICIPLES and not isinstance(node, ast.keyword):
            yield name


def test_results_are_named_by_a_noun():
    files = {str(file.relative_to(HOME)) for file in HOME.rglob("*.py") if list(participles(file.read_text()))}
    assert files <= PUBLIC


@pytest.mark.parametrize("line", ["found = 1", "def f(asked): ...", "def kept(): ...", "class A:\n    kept: int"])
def test_a_participle_would_be_seen(line):
    assert list(participles(line))
