"""The command line. A command's module is loaded when that command is asked for, and no other."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from shortlist._files import sweep
from shortlist._imports import MissingPackageError
from shortlist._signals import COMMAND
from shortlist._text import Advice, terminal_safe, without_passwords
from shortlist._version import version
from shortlist.cli.defaults import defaults
from shortlist.cli.output import Described, Hinting, echo_lines, hold_standard_handles
from shortlist.cli.usage import UsageError, usage_in_words
from shortlist.cli.words import in_the_words_of, without_python
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, LedgerError, OutcomeUnknown


class Place(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    name: str
    says: str


COMMANDS = {
    "top": Place("shortlist.cli.top", "top", "The k items with the most users, and nothing else."),
    "keys": Place("shortlist.cli.keys", "keys", "Every name that enough people hold, with noisy counts."),
    "quantile": Place("shortlist.cli.quantile", "quantile", "A median or other quantiles of one number per person."),
    "plan": Place("shortlist.cli.plan", "plan", "Rank the mechanisms for data described in a word."),
    "studio": Place("shortlist.cli.studio", "studio", "A page that goes from a table to a private list."),
    "audit": Place("shortlist.cli.audit", "audit", "A lower bound on the true epsilon of a mechanism."),
    "example": Place("shortlist.cli.example", "example", "Write made-up rows and the public list to them."),
    "demo": Place("shortlist.cli.demo", "demo", "The whole story on a million made-up rows."),
    "ledger": Place("shortlist.cli.ledger", "app", "A privacy budget in a file that nobody can overdraw."),
    "risk": Place("shortlist.cli.risk", "show_risk", "What an epsilon means: how well an attacker can guess."),
}
TABLES = ("top", "keys", "quantile")
"""Commands that read a table; `shortlist.toml` is for them."""
WIDEST = 100
"""Columns of a help: longer lines are hard to read, however wide the terminal."""
PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}


class Late(MutableMapping[str, Any]):
    """The commands by name, each built when it is looked at."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _command(name, COMMANDS[name])
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _command(name: str, place: Place) -> Any:
    group = typer.Typer(**PLAIN)
    group.callback()(lambda: None)
    command = getattr(import_module(place.module), place.name)
    if isinstance(command, typer.Typer):
        group.add_typer(command, name=name)
    else:
        group.command(name, cls=Described, no_args_is_help=name in (*TABLES, "risk"))(command)
    built: Any = typer.main.get_command(group)
    return built.commands[name]


class Commands(Hinting):
    """All commands; to list them loads none."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {}})
        self.commands = Late()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def says(self, ctx: Any, name: str) -> str:
        return COMMANDS[name].says


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shortlist {version()}")
        raise typer.Exit


def main_options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Pick winners from private data, so that no single person's data shows.

    Try these two:

    \b
      shortlist example films
      shortlist top films.parquet -k 5 --user user_id --item film \\
        --candidates films.txt --epsilon 1 --values

    It ends with 0, 1 for bad input, 2 for bad usage, 3 if a budget has no room, 4 while a release waits for somebody's
    approval, 5 if it is not known whether a charge was booked, 130 after Ctrl-C.
    """
    context.default_map = dict.fromkeys(TABLES, defaults()) if context.invoked_subcommand in TABLES else None


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
            import_module(COMMANDS[name].module)


def work() -> int:
    """Run the command that was asked for; its exit code. What libraries warn of is for programmers: it is not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", Advice)
        warnings.showwarning = lambda message, *_: _say(str(message))
        return _worked()


def _worked() -> int:
    hold_standard_handles()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that it has not is no error
    try:
        code = app(prog_name="shortlist", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except UsageError as error:
        COMMAND.check()
        echo_lines(without_passwords(usage_in_words(error)), err=True)
        return 2
    except BudgetExceeded as error:
        return _fail(error, 3)
    except ApprovalNeeded as error:
        return _fail(error, 4)
    except OutcomeUnknown as error:
        return _fail(error, 5)
    except MemoryError:
        return _fail(MemoryError("there was not enough memory; give --memory 512MB, for example"), 1)
    except (LedgerError, ValueError, TypeError, OSError, RuntimeError, MissingPackageError) as error:
        return _fail(error, 1)
    except Exception as error:  # nobody expected it: its words, and those of a traceback, might show a row
        return _fail(RuntimeError(f"something went wrong inside ({type(error).__name__})"), 1)


def main() -> None:
    """As `shortlist._entry.main`, the console's own, for a process that goes on: it gets its signals back."""
    COMMAND.begin()
    COMMAND.install()
    try:
        sys.exit(COMMAND.run(work))
    finally:
        COMMAND.restore()


def _fail(error: Exception, code: int) -> int:
    COMMAND.check()  # whatever went wrong, a signal that came first ended the work
    _say(str(error))
    return code


def _say(words: str) -> None:
    said = in_options(without_python(words), sys.argv[1:3])
    echo_lines(f"shortlist: {terminal_safe(without_passwords(said))}", err=True)


def in_options(words: str, arguments: list[str]) -> str:
    """Words for Python, as `delta=1e-6`, in those of the command that these arguments name."""
    command: Any = app_commands().get(arguments[0]) if arguments else None
    if hasattr(command, "commands"):
        command = command.commands.get(arguments[1]) if arguments[1:] else None
    if command is None:
        return words
    own = [one for one in command.params if one.param_type_name == "argument"]
    options = {opt for one in command.params if one not in own for opt in one.opts}
    return in_the_words_of(options, words, {one.name: str(one.metavar or one.name).upper() for one in own})


def app_commands() -> Late:
    """The commands by name."""
    commands: Late = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return commands


if __name__ == "__main__":
    main()
