"""The command line."""

from __future__ import annotations

import sys

import typer

from shortlist._signals import COMMAND
from shortlist._text import terminal_safe
from shortlist.cli import audit, example, ledger, plan, reproduce, studio
from shortlist.cli.top import top
from shortlist.privacy import BudgetExceeded, LedgerError

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(ledger.app, name="ledger")
app.command(no_args_is_help=True)(top)
app.command(name="plan")(plan.plan)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="studio")(studio.studio)
app.command()(audit.audit)
app.command(name="example")(example.example)


@app.callback()
def main_options() -> None:
    """Pick winners from private data and show nobody's secret."""


@app.command()
def demo() -> None:
    """Make a million rows, count them, release a top 10 in two ways beside the truth, and draw a picture."""
    from shortlist.cli.demo import run

    run()


def work() -> int:
    """Run the command that was asked for; its exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BudgetExceeded as error:
        return _fail(error, 3)
    except MemoryError:
        return _fail(MemoryError("there was not enough memory; give --memory 512MB, for example"), 1)
    except (LedgerError, ValueError, TypeError, OSError, RuntimeError) as error:
        return _fail(error, 1)
    except Exception as error:  # nobody expected it: its words, and those of a traceback, might show a row
        return _fail(RuntimeError(f"something went wrong inside ({type(error).__name__})"), 1)
    return 0


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
    typer.echo(f"shortlist: {terminal_safe(str(error))}", err=True)
    return code


if __name__ == "__main__":
    main()
