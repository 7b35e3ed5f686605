"""The command line: its commands, their help and their defaults."""

from __future__ import annotations

import io
import re
import shlex
import sys
import warnings
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any

import typer

from shortlist._files import sweep
from shortlist._runtime import MissingPackageError, lazy_import, version
from shortlist._signals import COMMAND
from shortlist._text import terminal_safe
from shortlist.cli.output import Described, Hinting, echo_lines, hold_standard_handles, option
from shortlist.errors import Argument, ForPython, PrivacyWarning, Text
from shortlist.pages.theme import without_passwords
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, LedgerError, OutcomeUnknown

LISTS = {"--groups": "CH,DE,FR", "--candidates": "FILE", "--item": "COLUMN --item COLUMN"}
"""How a list is given on the command line, for example."""
SHORT = ("k", "q")
"""Options of one letter."""
ANY_BUDGET, EXAMPLE = "ApproxDP(epsilon, delta)", "--epsilon 1 --delta 1e-6, for example"
"""Any budget of a kind, and one of that kind on a line."""
TAB = "\\t"
"""A tab, as Python writes it."""


def with_options(text: Text, options: Collection[str], places: Mapping[str, str]) -> str:
    """A text as somebody reads it who writes these options and, by their names, arguments in their places.

    >>> known = {"-k", "--delta", "--value", "--clip"}
    >>> with_options(Text("$value and $clip go together: write $value='stars', $clip=(0, 5)"), known, {})
    '--value and --clip go together: write --value stars --clip 0,5'
    >>> with_options(Text("$k must be at least 1$<, as in top_k(scores, 1)>; $seed=3"), known, {})
    '-k must be at least 1; seed=3'
    """
    shown: list[str] = []
    for part in text.parts:
        if isinstance(part, Argument):
            written = f"-{part.name}" if part.name in SHORT else f"--{part.name.replace('_', '-')}"
            word = written if written in options else places.get(part.name, "")
            if shown[1:] and shown[-1] == ", " and word.startswith("-") and shown[-2].startswith("-"):
                shown[-1] = " "  # options stand side by side
            as_budget = part.value == ANY_BUDGET and "--delta" in options
            shown.append(_with_value(word, part.value) if word else EXAMPLE if as_budget else str(part))
        elif not isinstance(part, ForPython):
            shown.append(part)
    return "".join(shown)


def _with_value(word: str, value: str | None) -> str:
    """An option with its value, as it is written on a line."""
    plain = (value or "").strip("'\"")
    if value == "[...]":
        return f"{word} {LISTS.get(word, '...')}"
    if plain.startswith("["):
        return " ".join(f"{word} {one.strip()}" for one in plain[1:-1].split(","))
    if plain.startswith("("):
        return f"{word} {plain[1:-1].replace(', ', ',').replace('low,high', 'LOW,HIGH')}"
    if plain in ("", "True"):
        return word
    return f"no {word}" if plain == "None" else f"{word} {'tab' if plain == TAB else shlex.quote(plain)}"


UsageError: type[Any] = typer.BadParameter.__bases__[0]
"""What is raised for a line that is no command."""

TAKES = {
    "NUMBER": "a number, for example 0.5",
    "EPSILON": "a number, for example 0.5",
    "N": "a whole number, for example 10",
    "ENTRY": "a whole number, for example 3",
    "FORMAT": "one of table, csv, json, parquet",
}
"""What a value must be, by the metavar of its option."""
INSTEAD = {
    "sep": "separator", "delimiter": "separator", "eps": "epsilon", "budget": "epsilon", "n": "k", "top": "k",
    "output": "out", "o": "out", "html": "report", "png": "plot", "people": "user", "column": "item", "group-by": "by",
    "sort": "ordered", "filter": "where", "quantile": "q",
}  # fmt: skip
"""What others call an option."""
COMMA = re.compile(r"[+-]?\d*(?:,\d+)+(?:\.\d+)?", re.ASCII)
LEAST = re.compile(r"(?:equal to|>=)\s*(-?\d+(?:\.\d+)?)")


def describe_usage(error: Any) -> str:
    """What is wrong with a line, and what to write instead; the help itself where nothing at all was written."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.format_message())
    path = error.ctx.command_path if error.ctx else "shortlist"
    return f"shortlist: {_describe_mistake(error)}\nsee `{terminal_safe(path)} -h`"


def _describe_mistake(error: Any) -> str:
    kind, context = type(error).__name__, error.ctx
    said = terminal_safe(" ".join(str(error.format_message()).split()))
    params = context.command.get_params(context) if context else []
    options = [one for one in params if one.param_type_name == "option"]
    known = {opt.lstrip("-"): opt for one in options for opt in (*one.opts, *one.secondary_opts)}  # without lines
    if kind == "MissingParameter" and error.param is not None:
        missing = [one for one in params if one.required and one.name not in context.params] or [error.param]
        return f"give {'; and '.join(map(_describe_missing, missing))}"
    if kind == "NoSuchOption" and re.fullmatch(r"-[\d.]", error.option_name) and "k" not in known:
        return "a number here must not be below 0"
    if kind == "NoSuchOption":
        word = "n" if re.fullmatch(r"-\d", error.option_name) else error.option_name.lstrip("-")
        near = [INSTEAD.get(word, ""), *get_close_matches(word, known, n=1, cutoff=0.7)]
        meant = next((f"; did you mean {known[one]}?" for one in near if one in known), "")
        return f"there is no option {terminal_safe(error.option_name)}{meant}"
    if kind == "BadOptionUsage":
        return f"{terminal_safe(error.option_name)} needs a value after it"
    if kind == "BadParameter":
        return str(error.message) if error.param is None else _describe_value(error.param, said)
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", said)
    if extra:
        return f"{extra[1]}: nothing more is expected there; write text with blanks in quotes"
    return "name a command" if said == "Missing command." else said


def _describe_value(param: Any, said: str) -> str:
    """A value that is not what the option takes."""
    name, metavar, least = _name(param), param.metavar or "", LEAST.search(said)
    if least:
        return f"{name} must be {TAKES.get(metavar, 'a number').partition(',')[0]}, {least[1]} or more"
    line = [part for word in sys.argv[1:] for part in word.split("=", 1)]
    values = [after for before, after in pairwise(line) if before in param.opts]
    comma = any(map(COMMA.fullmatch, line if param.param_type_name == "argument" else values))  # it may be this value
    hint = ": write decimals with a point, and thousands without a comma" if comma else ""
    return f"{name} must be {TAKES[metavar]}{hint}" if metavar in TAKES else said


def _describe_missing(param: Any) -> str:
    """What to write for it, and what its help says."""
    words = str(param.help or "").rstrip(".")
    words = words if words[1:2].isupper() else words[:1].lower() + words[1:]
    return f"{_name(param)}{'' if param.param_type_name == 'argument' else f' {param.metavar}'}, {words}"


def _name(param: Any) -> str:
    return str(param.metavar or param.name) if param.param_type_name == "argument" else str(param.opts[0])


COMMANDS = {
    "top": ("shortlist.cli.releases", "top", "The k items with the most users, and nothing else."),
    "keys": ("shortlist.cli.releases", "keys", "Every name that enough people hold, with noisy counts."),
    "quantile": ("shortlist.cli.releases", "quantile", "A median or other quantiles of one number per person."),
    "plan": ("shortlist.cli.plan", "plan", "Rank the mechanisms for data described in a word."),
    "studio": ("shortlist.cli.studio", "studio", "A page that goes from a table to a private list."),
    "audit": ("shortlist.cli.audit", "audit", "A lower bound on the true epsilon of a mechanism."),
    "example": ("shortlist.cli.demo", "example", "Write made-up rows and the public list to them."),
    "demo": ("shortlist.cli.demo", "demo", "The whole story on a million made-up rows."),
    "ledger": ("shortlist.cli.ledger", "app", "A privacy budget in a file that nobody can overdraw."),
    "risk": ("shortlist.cli.plan", "show_risk", "What an epsilon means: how well an attacker can guess."),
}
"""Where each command is: a module and a name in it; and what the list of commands says of it."""
TABLES = ("top", "keys", "quantile")
"""Commands that read a table; `shortlist.toml` is for them."""
WIDEST = 100
"""Columns of a help: longer lines are hard to read, however wide the terminal."""
PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}


@cache
def load_command(name: str) -> Any:
    """Return the command of that name, or group of commands; its module is imported now."""
    group = typer.Typer(**PLAIN)
    group.callback()(lambda: None)
    module, function, _ = COMMANDS[name]
    command = getattr(import_module(module), function)
    if isinstance(command, typer.Typer):
        group.add_typer(command, name=name)
    else:
        group.command(name, cls=Described, no_args_is_help=name in (*TABLES, "risk"))(command)
    built: Any = typer.main.get_command(group)
    return built.commands[name]


class Commands(Hinting):
    """All commands; to list them loads none."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        return load_command(name) if name in COMMANDS else None

    def says(self, ctx: Any, name: str) -> str:
        return COMMANDS[name][2]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shortlist {version()}")
        raise typer.Exit


Version = Annotated[bool, option("Print the version.", None, "--version", "-V", callback=_version, is_eager=True)]


def main_options(context: typer.Context, version: Version = False) -> None:
    """Pick winners from private data, so that no single person's data shows.

    Try these two:

    \b
      shortlist example films
      shortlist top films.parquet -k 5 --user user_id --item film \\
        --candidates films.txt --epsilon 1 --values

    It ends with 0, 1 for bad input, 2 for bad usage, 3 if a budget has no room, 4 while a release waits for somebody's
    approval, 5 if it is not known whether a charge was booked, 130 after Ctrl-C.
    """
    if context.invoked_subcommand in TABLES:
        context.default_map = dict.fromkeys(TABLES, lazy_import("shortlist.cli.releases", "read_defaults")())


app = typer.Typer(
    cls=Commands, no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
    **{**PLAIN, "add_completion": True},
)  # fmt: skip
app.callback()(main_options)
COMMAND.clean = sweep


def load(arguments: list[str]) -> None:
    """Load the command that these arguments name, if they name one."""
    for name in arguments[:1]:
        if name in COMMANDS:
            import_module(COMMANDS[name][0])


EXITS: dict[type[Exception], int] = {BudgetExceeded: 3, ApprovalNeeded: 4, OutcomeUnknown: 5}
"""Exit codes of errors; other errors of ours end with 1."""
OURS: Any = (LedgerError, ValueError, TypeError, OSError, RuntimeError, MissingPackageError, *EXITS)


def work() -> int:
    """Run the command that was asked for; its exit code. What libraries warn of is for programmers: it is not shown."""
    hold_standard_handles()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that it has not is no error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PrivacyWarning)
        warnings.showwarning = lambda message, *_: _say(getattr(message, "text", str(message)))
        try:
            code = app(prog_name="shortlist", standalone_mode=False)
            return code if isinstance(code, int) else 0
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except UsageError as error:
            COMMAND.check()
            echo_lines(without_passwords(describe_usage(error)), err=True)
            return 2
        except MemoryError:
            return _fail("there was not enough memory; give --memory 512MB, for example")
        except OURS as error:
            return _fail(str(error), next((code for kind, code in EXITS.items() if isinstance(error, kind)), 1))
        except Exception as error:  # nobody expected it: its words, and those of a traceback, might show a row
            return _fail(f"something went wrong inside ({type(error).__name__})")


def _fail(words: str, code: int = 1) -> int:
    COMMAND.check()  # whatever went wrong, a signal that came first ended the work
    _say(words)
    return code


def _say(words: str) -> None:
    echo_lines(f"shortlist: {terminal_safe(without_passwords(in_options(words, sys.argv[1:3])))}", err=True)


def in_options(words: str, arguments: list[str]) -> str:
    """A text with the options of the command that these arguments name, where it is one with marks."""
    if not isinstance(words, Text):
        return words
    command: Any = load_command(arguments[0]) if arguments and arguments[0] in COMMANDS else None
    if hasattr(command, "commands"):
        command = command.commands.get(arguments[1]) if arguments[1:] else None
    params = command.params if command else []
    own = [one for one in params if one.param_type_name == "argument"]
    options = {opt for one in params if one not in own for opt in one.opts}
    return with_options(words, options, {one.name: str(one.metavar or one.name).upper() for one in own})
