"""The map of the package holds: imports stand at the top and point down, and whoever asks for little loads little."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import shortlist
from shortlist.cli.app import COMMANDS, app
from tests.helpers.typed import of_kind, present

HOME = Path(shortlist.__file__).parent
ROOT = Path(__file__).parents[2]
EXCEPTIONS = {"_entry.py"}
"""The command takes over signals before anything is loaded that takes time, and says so."""


def imported(node):
    """The modules of ours that an import statement names."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return [name for name in names if name.partition(".")[0] == "shortlist" or getattr(node, "level", 0)]


def inside_functions(text):
    if not re.search(r"^(?!from |import ).*\bimport\b", text, re.MULTILINE):
        return  # every import begins a line: there is nothing to look for in functions
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield from imported(node)


def test_no_module_of_ours_is_imported_inside_a_function():
    found = {str(file.relative_to(HOME)): list(inside_functions(file.read_text())) for file in HOME.rglob("*.py")}
    assert {name for name, modules in found.items() if modules} == EXCEPTIONS


@pytest.mark.parametrize("line", ["from shortlist.scores import Scores", "import shortlist.audit", "from . import x"])
def test_the_test_above_sees_such_imports(line):
    assert list(inside_functions(f"def f():\n    if True:\n        {line}\n"))
    assert not list(inside_functions(f"{line}\ndef f():\n    import numpy\n"))


def contracts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_the_layers_name_every_room_once_and_no_other():
    layers = next(one for one in contracts() if one["type"] == "layers")
    named = [room for layer in layers["layers"] for room in layer.split(" : ")]
    rooms = {entry.stem for entry in HOME.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()}
    assert sorted(named) == sorted(rooms - {"__init__"})
    assert layers["exhaustive"]


def test_the_map_in_the_docs_names_every_room_in_the_order_of_the_layers():
    text = (ROOT / "docs" / "architecture.md").read_text().partition("## The map")[2].partition("\n## ")[0]
    layers = next(one for one in contracts() if one["type"] == "layers")["layers"]
    rooms = [room for layer in layers for room in layer.split(" : ") if not room.startswith("_")]
    names = [f"`{room}/`" if (HOME / room).is_dir() else f"`{room}.py`" for room in rooms]
    assert [name for name in names if name not in text] == []
    line = {
        name: next(n for n, row in enumerate(text.splitlines()) if row.startswith("|") and name in row)
        for name in names
    }
    assert list(line.values()) == sorted(line.values())


def loaded(code):
    """The modules there are after running code in a process of its own."""
    shown = "import sys; print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{shown}"], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


HEAVY = {"scipy", "duckdb", "matplotlib", "pandas", "polars", "pyarrow", "narwhals", "typer"}


def test_the_package_is_imported_without_anything_else():
    found = loaded("import shortlist")
    assert {name for name in found if name.startswith("shortlist")} == {"shortlist", "shortlist._runtime"}
    assert not found & {*HEAVY, "numpy"}


def test_a_first_draw_loads_nothing_heavy():
    found = loaded("import shortlist as sl; sl.top_k([5, 3, 2], 2, epsilon=1.0, monotone=True)")
    assert not found & {*HEAVY, "importlib.metadata", "email", "zipfile"}


RUN = """
import sys
from shortlist import _entry
sys.argv = ["shortlist", *{arguments!r}]
try:
    _entry.main()
except SystemExit as end:
    assert not end.code, end.code
"""
PLAN = ["plan", "-k", "2", "--shape", "zipf:1", "--items", "5", "--users", "100", "--epsilon", "1"]


@pytest.mark.parametrize(
    ("arguments", "needed", "not_needed"),
    [
        (["--help"], "cli.app", ["cli.releases", "cli.audit", "mechanisms", "planning", "tables"]),
        (PLAN, "planning", ["audit", "studio", "tables", "cli.releases"]),
        (["top", "--help"], "tables", ["audit", "studio", "planning"]),
        (["ledger", "--help"], "ledger", ["audit", "studio", "mechanisms", "tables"]),
    ],
    ids=["help", "plan", "top", "ledger"],
)
def test_a_command_loads_what_it_needs(arguments, needed, not_needed):
    found = loaded(RUN.format(arguments=arguments))
    assert f"shortlist.{needed}" in found
    assert not {f"shortlist.{room}" for room in not_needed} & found


def test_every_command_is_where_the_list_says_and_has_its_own_help():
    group = of_kind(TyperGroup, typer.main.get_command(app))
    context = typer.Context(group)
    assert group.list_commands(context) == list(COMMANDS)
    built = {name: present(group.get_command(context, name)) for name in COMMANDS}
    for name, place in COMMANDS.items():
        assert built[name].name == name
        assert built[name].help
        assert len(place.says) < 60
