"""The command line and the studio release by the public calls alone, and by nothing inside them."""

import ast
from pathlib import Path

import pytest

import shortlist

HOME = Path(shortlist.__file__).parent
DOOR = {"top_k", "select", "keys", "quantile", "quote"}
"""What releases a table, and what says before what that would cost."""
INSIDE = {
    "execute", "grouped_scores", "query", "sampling", "sources",
    "tables.algebra", "tables.count", "tables.duckdb", "tables.frames", "tables.question",
}  # fmt: skip
"""What these calls are made of."""
DECLARED = {"query.OPTIONS", "query.options_of"}
"""The options of the calls with their help and defaults: every surface shows them."""


def imported(text):
    """(module without our name, name) for everything of ours that a module imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((one.name.removeprefix("shortlist").strip("."), "") for one in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "shortlist":
            module = (node.module or "").removeprefix("shortlist").strip(".")
            yield from ((module, one.name) for one in node.names)


def trespasses(text):
    """Modules inside the door that a module imports, and private names of any module."""
    for module, name in imported(text):
        whole = f"{module}.{name}".strip(".")
        if whole in DECLARED:
            continue
        parts = {part for part in INSIDE if module == part or whole == part or module.startswith(f"{part}.")}
        yield from parts
        if (name.startswith("_") and name != "__version__") or module.startswith("sampling"):
            yield whole


FILES = sorted(path for room in ("cli", "studio") for path in (HOME / room).glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_inside_the_door_is_imported(path):
    assert not set(trespasses(path.read_text()))


def test_it_would_be_seen():
    for line in (
        "from shortlist.execute import Plan", "from shortlist.tables.count import open_table",
        "from shortlist.sampling.entropy import SECURE", "from shortlist.tables import count, question",
        "from shortlist.execute import choose", "def f():\n    from shortlist.sources import Table",
        "from shortlist.ledger.ledger import _x",
    ):  # fmt: skip
        assert list(trespasses(line)), line
    assert not list(trespasses("from shortlist import top_k\nfrom shortlist.privacy import Ledger"))


def test_no_private_attribute_of_another_room_is_used():
    """`self._x` and `cls._x` are one's own; so are the private names of a class that the module itself defines."""
    for path in FILES:
        tree = ast.parse(path.read_text())
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
            and ast.unparse(node.value) not in ("self", "cls", "os", "sys")
        }  # fmt: skip
        assert used <= own, (path.name, used - own)


@pytest.mark.parametrize(
    ("file", "calls"),
    [
        ("cli/releases.py", {"top_k", "keys", "quantile"}),
        ("studio/forms.py", {"top_k", "keys", "quantile", "quote"}),
    ],
)
def test_each_goes_through_the_door(file, calls):
    assert {name for module, name in imported((HOME / file).read_text()) if not module} & DOOR == calls


def test_type_checkers_know_every_room():
    """Those that look for attributes and not for modules take `__getattr__` at its word: an object."""
    source = Path(str(shortlist.__file__)).read_text(encoding="utf-8")
    assert all(f"    from shortlist import {room}" in source for room in shortlist._ROOMS)
