"""The suite itself: what is marked runs as it is marked."""

import ast
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]


def test_what_asks_for_its_size_is_marked_so_that_it_runs_at_full_size_too():
    forgotten = [
        f"{path.name}: {function.name}"
        for path in sorted(HERE.rglob("test_*.py"))
        for text in [path.read_text(encoding="utf-8")]
        if "sized(" in text
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        and function.name.startswith("test_")
        and "sized" in {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        and not any(word in ast.unparse(one) for one in function.decorator_list for word in ("full_size", "mark.long"))
    ]
    assert not forgotten


def test_coverage_looks_at_no_test_that_is_not_traced(request):
    """It would take as long again as the test."""
    if not request.config.pluginmanager.hasplugin("_cov"):
        pytest.skip("without coverage nothing is traced")
    assert sys.gettrace() is None
