"""`python -m bench.command_line`: what every command says of itself, into the page that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from shortlist.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command-line.md"


def commands(command: Any = None, name: str = "shortlist") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name."""
    command = typer.main.get_command(app) if command is None else command
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = typer.Context(command)
    for part in command.list_commands(context):
        yield from commands(command.get_command(context, part), f"{name} {part}")


def described(name: str, command: Any) -> str:
    """A command as a part of the page: its help, its example, its arguments and options."""
    words, _, example = command.help.partition("\b")
    lines = [f"## {name}", "", " ".join(words.split())]
    for paragraph in filter(None, example.strip().split("\n\n")):
        text = re.sub(r"\s*\\\n\s*", " ", paragraph).strip()
        said, _, line = text.partition(": ")
        lines += ["", f"{said}: `{line}`" if said == "For example" else " ".join(text.split())]
    params = [one for one in command.params if one.name != "help"]
    if params:
        lines += ["", "| argument or option | |", "|---|---|"]
    for one in params:
        shown = f"{one.metavar}" if one.param_type_name == "argument" else f"{one.opts[0]}"
        value = "" if one.param_type_name == "argument" or not one.metavar else f" {one.metavar}"
        text = one.help.replace("|", "\\|") + (" (needed)" if one.required else "")
        lines.append(f"| `{shown}{value}` | {text} |".replace("|csv|json|parquet`", "\\|csv\\|json\\|parquet`"))
    return "\n".join(lines)


def written() -> str:
    """The page with its commands as they are."""
    block = "\n\n".join(["<!-- commands -->", *(described(*one) for one in commands()), "<!-- end commands -->"])
    page, times = re.subn(
        "<!-- commands -->.*?<!-- end commands -->", lambda _: block, PAGE.read_text(encoding="utf-8"), flags=re.S
    )
    assert times == 1
    return page


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
