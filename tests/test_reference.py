"""The reference: every public name stands in it, with its parameters, and every command with its options."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
import typer

from shortlist.cli import app

PAGES = Path(__file__).parents[1] / "docs" / "reference"
MODULES = ("shortlist", "shortlist.mechanisms", "shortlist.privacy", "shortlist.pate", "shortlist.testing")


def names_of(module):
    """What a module offers: what it says, or what it defines."""
    found = importlib.import_module(module)
    own = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == module]
    return [name for name in getattr(found, "__all__", own) if not name.startswith("_")]


PUBLIC = {
    f"{module}.{name}": getattr(importlib.import_module(module), name)
    for module in MODULES
    for name in names_of(module)
    if not inspect.ismodule(getattr(importlib.import_module(module), name))
}


def entries():
    """(where it is defined, how it is headed) of every entry of the reference."""
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    return re.findall(r"^::: ([\w.]+)\n    options:\n      heading: (\w+)$", texts, re.MULTILINE)


def test_every_public_name_has_an_entry():
    listed = set(entries())
    for name, value in PUBLIC.items():
        assert (f"{value.__module__}.{value.__qualname__}", value.__name__) in listed, name


def test_every_entry_is_something_that_is_there_and_stands_once():
    found = entries()
    assert len(found) == len(set(found)) > 40
    for where, heading in found:
        module, _, name = where.rpartition(".")
        assert getattr(importlib.import_module(module), name).__name__ == name == heading


def commands(command, name):
    """Every command that does something, by its full name."""
    for part, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {part}")
    if not getattr(command, "commands", None):
        yield name, command


@pytest.mark.parametrize(("name", "command"), list(commands(typer.main.get_command(app), "shortlist")))
def test_every_command_and_option_is_described(name, command):
    page = (PAGES / "command-line.md").read_text(encoding="utf-8")
    _, _, part = page.partition(f"\n## {name}\n")
    part = part.partition("\n## ")[0]
    assert part, name
    options = {word for one in command.params if one.param_type_name == "option" for word in one.opts} - {"--help"}
    arguments = {one.name.upper() for one in command.params if one.param_type_name == "argument"}
    assert set(re.findall(r"(?<=[|,] )`([^`]+)`", part)) == options | arguments
