"""A line that is no command, in words of our own: which option, what it takes, what to write.

The library that reads the line says such things in the words of programs ("unable to parse string as a number"), and
every version of it in others. Here they are said by what an option itself says of its value: its metavar.
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import typer

from shortlist._text import terminal_safe
from shortlist.cli.options import Format

UsageError: type[Any] = typer.BadParameter.__bases__[0]
"""What is raised for a line that is no command."""

TAKES = {
    "NUMBER": "a number, for example 0.5",
    "EPSILON": "a number, for example 0.5",
    "N": "a whole number, for example 10",
    "ENTRY": "a whole number, for example 3",
    "FORMAT": f"one of {', '.join(Format)}",
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


def in_own_words(error: Any) -> str:
    """What is wrong with a line, and what to write instead."""
    kind, context = type(error).__name__, error.ctx
    said = terminal_safe(" ".join(str(error.format_message()).split()))
    if kind == "MissingParameter" and error.param is not None:
        return f"give {'; and '.join(f'{_written(one)}, {_help(one)}' for one in _missing(error))}"
    if kind == "NoSuchOption" and re.fullmatch(r"-[\d.]", error.option_name) and "-k" not in _known(context).values():
        return "a number here must not be below 0"
    if kind == "NoSuchOption":
        return f"there is no option {terminal_safe(error.option_name)}{_near(error.option_name, context)}"
    if kind == "BadOptionUsage":
        return f"{terminal_safe(error.option_name)} needs a value after it"
    if kind == "BadParameter":
        return str(error.message) if error.param is None else _unfit(error.param, said)
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", said)
    if extra:
        return f"{extra[1]}: nothing more is expected there; write text with blanks in quotes"
    return "name a command" if said == "Missing command." else said


def _unfit(param: Any, said: str) -> str:
    """A value that is not what the option takes."""
    name, metavar = _name(param), param.metavar or ""
    least = LEAST.search(said)
    if least:
        return f"{name} must be {TAKES.get(metavar, 'a number').partition(',')[0]}, {least[1]} or more"
    comma = ": write decimals with a point, and thousands without a comma" if _with_comma(param) else ""
    return f"{name} must be {TAKES[metavar]}{comma}" if metavar in TAKES else said


def _with_comma(param: Any) -> bool:
    """Whether a number on the line that may be this option's has a comma in it."""
    line = [part for word in sys.argv[1:] for part in word.split("=", 1)]
    values = [after for before, after in pairwise(line) if before in param.opts]
    return any(map(COMMA.fullmatch, line if param.param_type_name == "argument" else values))


def _missing(error: Any) -> list[Any]:
    """All that is needed and was not written: what was is read first."""
    read = error.ctx.params if error.ctx else ()
    params = error.ctx.command.get_params(error.ctx) if error.ctx else ()
    return [one for one in params if one.required and one.name not in read] or [error.param]


def _name(param: Any) -> str:
    return str(param.metavar or param.name) if param.param_type_name == "argument" else str(param.opts[0])


def _written(param: Any) -> str:
    """As it stands on a line."""
    return _name(param) if param.param_type_name == "argument" else f"{param.opts[0]} {param.metavar}"


def _help(param: Any) -> str:
    words = str(param.help or "").rstrip(".")
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


def _options(context: Any) -> list[Any]:
    return [one for one in context.command.get_params(context) if one.param_type_name == "option"] if context else []


def _known(context: Any) -> dict[str, str]:
    """The options of a command, by their names without lines in front."""
    return {opt.lstrip("-"): opt for one in _options(context) for opt in (*one.opts, *one.secondary_opts)}


def _near(written: str, context: Any) -> str:
    """The option that was meant, if one can tell."""
    known = _known(context)
    word = "n" if re.fullmatch(r"-\d", written) else written.lstrip("-")
    near = [one for one in (INSTEAD.get(word, ""), *get_close_matches(word, known, n=1, cutoff=0.7)) if one in known]
    return f"; did you mean {known[near[0]]}?" if near else ""


def usage_in_words(error: Any) -> str:
    """The whole answer: what is wrong, and where to read on; the help itself where nothing at all was written."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.format_message())
    path = error.ctx.command_path if error.ctx else "shortlist"
    return f"shortlist: {in_own_words(error)}\nsee `{terminal_safe(path)} -h`"
