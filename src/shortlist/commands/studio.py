"""`shortlist studio`: a page on this machine, from a table to a private list, a receipt and the code."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def studio(
    folder: Annotated[Path, typer.Argument(help="The folder with tables and ledgers; no other is looked at.")] = Path(
        "."
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each request.")] = False,
) -> None:
    """Open a page, on this machine only, that goes from a table to a private list. Ctrl-C ends it."""
    from shortlist.report.studio.folder import Folder
    from shortlist.report.studio.server import Studio

    offered = Folder.of(folder)
    with tempfile.TemporaryDirectory(prefix="shortlist-studio-", ignore_cleanup_errors=True) as own:
        tempfile.tempdir = own  # whatever a count puts on the disk goes when the studio goes
        with Studio(offered, port=port, log=(lambda line: None) if quiet else None) as server:
            typer.echo(f"the studio is at {server.address}")
            typer.echo("whoever has this address may spend your budget; Ctrl-C ends it")
            signal.signal(signal.SIGTERM, _end)
            if browser:
                _show(server.address, Path(own))
            try:
                server.serve_forever(poll_interval=0.1)
            except KeyboardInterrupt:
                typer.echo("the studio has ended; what was booked stays booked")
    if server.answers.busy:
        sys.stdout.flush()
        os._exit(0)  # a count that is under way cannot be asked to stop, and nobody is left to read its list


def _show(address: str, own: Path) -> None:
    """Through a file that only this user may read: a browser's command line can be read by everybody."""
    door = own / "open.html"
    door.touch(mode=0o600)
    door.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">')
    webbrowser.open(door.as_uri())


def _end(*_: object) -> None:
    raise KeyboardInterrupt
