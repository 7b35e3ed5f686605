"""The command line."""

from __future__ import annotations

import atexit
import signal
import sys

import typer

from shortlist._text import terminal_safe
from shortlist.commands import audit, ledger, plan, reproduce, studio
from shortlist.commands.top import top
from shortlist.privacy import BudgetExceeded, LedgerError

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(ledger.app, name="ledger")
app.command(no_args_is_help=True)(top)
app.command(name="plan")(plan.plan)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="studio")(studio.studio)
app.command()(audit.audit)


@app.callback()
def main_options() -> None:
    """Pick winners from private data and show nobody's secret."""


@app.command()
def demo() -> None:
    """Make a million rows, count them, release a top 10 in two ways beside the truth, and draw a picture."""
    from shortlist.demo import run

    run()


def main() -> None:
    """The entry point of the `shortlist` command.

    It ends with 0, 1 for bad input, 2 for bad usage, 3 for an exceeded budget, or 128 + a signal that stopped it (130
    for Ctrl-C).
    """
    try:
        app()
    except BudgetExceeded as error:
        sys.exit(_fail(error, 3))
    except MemoryError:
        sys.exit(_fail(MemoryError("there was not enough memory; give --memory 512MB, for example"), 1))
    except (LedgerError, ValueError, TypeError, OSError, RuntimeError) as error:
        sys.exit(_fail(error, 1))
    finally:
        # All is done: a Ctrl-C while the interpreter ends must not change what is told.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _fail(error: Exception, code: int) -> int:
    typer.echo(f"shortlist: {terminal_safe(str(error))}", err=True)
    return code


if __name__ == "__main__":
    main()
