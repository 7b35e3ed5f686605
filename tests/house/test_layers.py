"""The map of the package holds: imports stand at the top and point down, and whoever asks for little loads little."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
import typer
from typer.core import TyperGroup

import shortlist
from bench import size
from shortlist.cli.app import app
from tests.helpers.typed import of_kind, present

HOME = Path(shortlist.__file__).parent
ROOT = Path(__file__).parents[2]
CORE = next(one for one in size.CONTRACTS if one["name"] == size.CORE)
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


def test_the_trusted_core_imports_nothing_outside_it():
    """The contract forbids what explains; beside that no module may be forgotten, or its size would be too small."""
    graph = grimp.build_graph("shortlist", exclude_type_checking_imports=True)
    core, forbidden = (tuple(CORE[name]) for name in ("source_modules", "forbidden_modules"))
    imports = {
        (module, used)
        for module in graph.modules
        for used in graph.find_modules_directly_imported_by(module)
        if is_in(module, core) and not is_in(used, (*core, "shortlist")) and not is_in(used, forbidden)
    }
    assert imports == set()


def is_in(module, packages):
    return any(module == one or (module.startswith(f"{one}.") and one != "shortlist") for one in packages)


def test_the_map_in_the_docs_is_current():
    """But for the code lines, which may have moved; `python -m bench size` writes it anew."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("<!-- size-map -->\n")[2].partition("\n<!-- end")[0].splitlines()
    assert [names_of(row) for row in table] == [names_of(row) for row in size.map_table()], "python -m bench size-map"


def names_of(row):
    """The layer and the module of a row of the map."""
    return row.split("|")[1:3]


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
    names = group.list_commands(context)
    assert {"top", "keys", "quantile", "ledger", "plan", "audit", "studio"} <= {*names}
    for name in names:
        command = present(group.get_command(context, name))
        assert (command.name, bool(command.help)) == (name, True)
