"""What commands share: help, checks of what they write, and progress."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import stat
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from shortlist._text import terminal_safe
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from shortlist.release_io import json_line, resolve_target, write_whole

if TYPE_CHECKING:
    from rich.console import Console


def option(help: str, metavar: str | None = None, *written: str, **more: Any) -> Any:
    """One option of a command, for `Annotated`; `written` is how it is written, if not by its name."""
    return typer.Option(*written, help=help, metavar=metavar, **more)


def argument(help: str, metavar: str) -> Any:
    """One argument of a command, for `Annotated`."""
    return typer.Argument(help=help, show_default=False, metavar=metavar)


def flag(help: str, written: str) -> Any:
    """An option without a value."""
    return typer.Option(written, help=help)


Json = Annotated[bool, flag("Print one JSON object, for programs.", "--json")]


def read_budget(
    epsilon: float | None, delta: float | None, rho: float | None, first: str = "--epsilon (with --delta or without)"
) -> PureDP | ApproxDP | ZCDP:
    """The guarantee that these options name; `first` is how an epsilon is given."""
    if rho is not None and epsilon is None:
        return ZCDP(rho, delta or 0.0)
    if epsilon is None or rho is not None:
        raise typer.BadParameter(f"give {first}, or --rho: one of them")
    return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)


class Described(TyperCommand):
    """A command whose help names arguments by what they are, and no types of Python."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        names = [(one.metavar, one.required) for one in _arguments(self, ctx)]
        return ["[OPTIONS]", *(name if needed else f"[{name}]" for name, needed in names)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        said = [(one.metavar, f"{one.help}{'  [required]' if one.required else ''}") for one in _arguments(self, ctx)]
        if said:
            with formatter.section("Arguments"):
                formatter.write_dl(said)
        options = [one for one in self.get_params(ctx) if one.param_type_name == "option"]
        titles = {name: title for title, names in SECTIONS.items() for name in names} if len(options) > LONG else {}
        first = "What is asked" if titles else "Options"
        for title in (first, *SECTIONS):
            shown = [one.get_help_record(ctx) for one in options if titles.get(one.name, first) == title]
            if shown:
                with formatter.section(title):
                    formatter.write_dl([(name, _say_plainly(help)) for name, help in filter(None, shown)])


SECTIONS = {
    "Which rows count": ("where", "by", "groups", "groups_per_user"),
    "What it costs": ("epsilon", "delta", "rho", "yes_really", "ledger", "purpose", "unit"),
    "How the file is read": ("separator", "multiline", "memory"),
    "What is printed and written": ("out", "plot", "report", "shown", "as_json", "quiet", "help"),
}
"""Where an option stands in a help that is long; all others are about what is asked."""
LONG = 20
RANGES = ((r"\[(.*?)x>=(\d+)\]", r"[\1\2 or more]"), (r"\[(.*?)(\d+)<=x<=(\d+)\]", r"[\1\2 to \3]"))
"""How the library says what a number may be, and how people do."""


def _say_plainly(help: str) -> str:
    """What the help says of an option, without what only programmers write."""
    said = re.sub(r"default: \(([^)]*)\)", r"default: \1", help).replace("1e-06", "1e-6")
    for written, meant in RANGES:
        said = re.sub(written, meant, said)
    return said


def _arguments(command: TyperCommand, ctx: Any) -> list[Any]:
    return [one for one in command.get_params(ctx) if one.param_type_name == "argument"]


class Hinting(TyperGroup):
    """Commands of which a name that is not known leads to one that is."""

    instead: ClassVar[dict[str, str]] = {
        "median": "quantile", "quantiles": "quantile", "topk": "top", "top-k": "top", "names": "keys",
        "balance": "show", "status": "show", "spent": "show", "create": "init", "new": "init", "list": "show",
        "history": "show", "log": "show", "entries": "show", "help": "-h", "version": "--version",
    }  # fmt: skip
    """What others call them."""

    def says(self, ctx: Any, name: str) -> str:
        """The first paragraph of a command's help, whole."""
        command: Any = self.get_command(ctx, name)
        return " ".join(command.help.partition("\n\n")[0].split())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.says(ctx, name)) for name in self.list_commands(ctx)])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known = args[0], self.list_commands(ctx)
        if name not in known:
            known_too = [*known, "-h", *(["--version"] if ctx.parent is None else [])]
            near = [one for one in [self.instead.get(name), *get_close_matches(name, known, n=1)] if one in known_too]
            if near:
                ctx.fail(f"there is no command {name!r}: write `{ctx.command_path} {near[0]}`")
            ctx.fail(f"there is no command {name!r}; there are {', '.join(known)}")
        return super().resolve_command(ctx, args)


def echo_lines(words: str, *, err: bool = False) -> None:
    """Sentences: on a terminal broken between words, which it would cut in two; as they are for all that reads them."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None and stream.isatty():
        width = shutil.get_terminal_size().columns
        broken = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        words = "\n".join(one if len(one) <= width else broken.fill(one) for one in words.split("\n"))
    typer.echo(words, err=err)


def print_table(
    console: Console, columns: Mapping[str, Sequence[str]], right: Container[str] = (), styles: Sequence[str] = ()
) -> None:
    """A table on a terminal; the columns named in `right` end where their names end. `styles` are of the first rows."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(Text(terminal_safe(name)), justify="right" if name in right else "left", overflow="fold")
    for place, cells in enumerate(zip(*columns.values(), strict=True)):
        table.add_row(*map(Text, cells), style=styles[place] if place < len(styles) else None)
    console.print(table)


def show_table(
    columns: Mapping[str, Sequence[str]],
    right: Container[str],
    plain: Callable[[], str],
    *,
    above: Iterable[tuple[str, str]] = (),
    below: Iterable[tuple[str, str]] = (),
    styles: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """A table on a terminal, with (style, line) above and below; the text that `plain` gives in a pipe.

    Where the terminal has no room for all columns, those in `spare` are left out, the first of them first.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        typer.echo(plain())
        return
    wide = {name: max(map(len, (name, *cells))) + 3 for name, cells in columns.items()}
    for name in spare:  # no word is to be broken
        if sum(wide.values()) - 3 > console.width:
            wide.pop(name, None)
    out = [name for name in spare if name in columns and name not in wide]
    for style, line in above:
        console.print(Text(line, style=style, overflow="fold"))
    if columns:
        print_table(console, {name: columns[name] for name in wide}, right, styles)
    hidden = [("dim", f"not shown in so few columns: {', '.join(out)}")] if out else []
    for style, line in (*below, *hidden):
        console.print(Text(line, style=style, overflow="fold"))


def echo_json(text: str) -> None:
    """JSON for programs; where the stream has no such letters, with escapes in their place."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text))
    typer.echo(text)


def tell(facts: Mapping[str, Any], words: str, *, as_json: bool) -> None:
    """What a command found: one JSON object for programs, or sentences."""
    echo_json(json_line(facts)) if as_json else echo_lines(words)


def check_shown() -> None:
    """Refuse, before anything is charged, to release a list that nobody would see."""
    if sys.stdout is None or sys.stdout.closed:
        raise OSError("standard output is closed, so nobody would see the list: leave it open, or give --out list.csv")
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # it is no file, or this system cannot say
        return
    if any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)):
        raise OSError("nobody reads the standard output any more: leave it open, or give --out list.csv")


def hold_standard_handles() -> None:
    """Open what is closed of 0, 1 and 2, or the next file would get that number: a ledger could be printed into."""
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number


def check_writable(option: str, path: str, endings: tuple[str, ...], inputs: Iterable[str] = ()) -> None:
    """Refuse, before anything is read or charged, what could not be written afterwards, and the files to be `kept`."""
    if not path.lower().endswith(endings):
        many = f"{', '.join(endings[:-1])} or {endings[-1]}" if endings[1:] else endings[0]
        raise typer.BadParameter(f"{option} must end in {many}: {path}")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not there: {option} needs a folder to write to")
    if not (_new_or_regular(path) and os.access(folder, os.W_OK)):
        raise PermissionError(f"{path} cannot be written")
    resolve_target(path)
    there, target = os.path.exists(path), os.path.realpath(path)
    for one in inputs:
        if target == os.path.realpath(one) or (there and os.path.exists(one) and os.path.samefile(path, one)):
            raise typer.BadParameter(f"{option} must be a file of its own, not one that is read or written: {path}")


def _new_or_regular(path: str) -> bool:
    """Whether a file may be made or replaced there: no folder, device, pipe, circle of links or endless name."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def write_picture(path: str, figure: Any, *, dpi: int, private: bool = True) -> None:
    """A picture, in the format that the path ends in."""
    write_whole(path, lambda draft: figure.savefig(draft, dpi=dpi), private=private)


def check_matplotlib() -> None:
    """Load it before anything is charged: a package that is there can still be broken."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt  # noqa: F401
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "matplotlib"
        near = "" if missing else ", and what is installed does not load"
        raise typer.BadParameter(f"--plot needs matplotlib{near}: pip install 'shortlist[plot]'") from None


@contextmanager
def bar() -> Iterator[Callable[[float], None] | None]:
    """A progress bar on a terminal: the share of the rows that were read, and nothing about them."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as shown:
        task = shown.add_task("rows read", total=1.0)
        yield lambda share: shown.update(task, completed=share)
