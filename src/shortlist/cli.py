"""The command line."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.callback()
def main_options() -> None:
    """Pick winners from private data and show nobody's secret."""


@app.command()
def demo() -> None:
    """Make a small election, release its winner and its top 10, and say what that cost."""
    from shortlist.demo import run

    run()


def main() -> None:
    """The entry point of the `shortlist` command."""
    app()
