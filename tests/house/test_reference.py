"""The reference: every public name stands in it, with its parameters, and every command with its options."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from bench.command_line import PAGE, commands, written

PAGES = Path(__file__).parents[2] / "docs" / "reference"
MODULES = (
    "shortlist", "shortlist.mechanisms", "shortlist.noise", "shortlist.privacy", "shortlist.pate",
    "shortlist.testing", "shortlist.sklearn", "shortlist.compat.mbi", "shortlist.compat.opendp",
)  # fmt: skip


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
    """Every entry of the reference, as it is written there, and what it is."""
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    for entry in re.findall(r"^::: (\S+)$", texts, re.MULTILINE):
        module, _, name = entry.rpartition(".")
        yield entry, getattr(importlib.import_module(module), name)


def test_every_public_name_has_one_entry():
    found = [value for _, value in entries()]
    assert all(found.count(value) == 1 for value in PUBLIC.values())
    assert len(found) == len(set(map(id, found))) > 40


def test_every_command_and_option_is_described_as_it_describes_itself():
    assert written() == PAGE.read_text(encoding="utf-8"), "python -m bench.command_line"


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_command_has_an_example_that_begins_like_it_and_options_without_types_of_python(name, command):
    assert f"For example: {name}" in command.help
    for one in command.params:
        assert one.metavar or one.is_flag or one.name == "help", one.name
        assert one.opts[0].islower(), "some versions of typer take a metavar for the name, where it is the same word"


def section(text, title):
    """A section of a docstring in the manner of numpy."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-{{3,}}$|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def documented(text):
    """The names that a docstring's Parameters describe, each with words."""
    entries = re.findall(r"^(\S[^\n]*)\n((?: +\S[^\n]*\n?|\n)+)", section(text, "Parameters"), re.MULTILINE)
    return {name.strip().lstrip("*") for names, words in entries if words.strip() for name in names.split(",")}


def parameters(function):
    """The names that a caller may write."""
    found = inspect.signature(function).parameters
    return {name for name in found if not name.startswith("_") and name not in ("self", "cls")}


def own_methods(kind):
    """Public methods that a class defines itself, with their docstrings or those of the classes it stands on."""
    for name, value in vars(kind).items():
        function = getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function, inspect.getdoc(getattr(kind, name)) or ""


def described(kind):
    """Everything that is said about a class and its methods, and about those it stands on."""
    texts = [inspect.getdoc(one) or "" for one in kind.__mro__ if one.__module__.startswith("shortlist")]
    texts += [text for one in kind.__mro__ if one.__module__.startswith("shortlist") for *_, text in own_methods(one)]
    return "\n".join(texts)


CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if not inspect.isclass(value)}
ABSTRACT = {
    "shortlist.mechanisms.Mechanism", "shortlist.noise.Noise", "shortlist.privacy.Guarantee",
    "shortlist.privacy.Budget",
}  # fmt: skip
"""Nobody makes one of these."""


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_callable_documents_all_its_parameters(name):
    wanted = set() if name in ABSTRACT | {"shortlist.privacy.LedgerError"} else parameters(PUBLIC[name])
    assert documented(inspect.getdoc(PUBLIC[name])) == wanted


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_runs(name):
    """`--doctest-modules` runs it."""
    text = inspect.getdoc(PUBLIC[name])
    assert ">>> " in section(text, "Examples")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_says_what_it_returns_and_raises(name):
    text = inspect.getdoc(FUNCTIONS[name])
    assert section(text, "Returns").strip()
    assert section(text, "Raises").strip() or name in ("shortlist.audit", "shortlist.testing.seeded")


@pytest.mark.parametrize("name", CLASSES)
def test_every_method_of_a_public_class_is_described_with_its_parameters(name):
    kind = CLASSES[name]
    known = set(re.findall(r"`(\w+)`", described(kind))) | documented(described(kind))
    for method, function, text in own_methods(kind):
        assert text, f"{name}.{method}"
        assert parameters(function) <= known | documented(text), f"{name}.{method}"
