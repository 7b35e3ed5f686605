"""`shortlist studio`: a page on this machine, from a table to a private list, a receipt and the code."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
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
    for kind in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(kind) is not signal.SIG_IGN:  # nohup asks to outlive the terminal
            signal.signal(kind, _end)
    _sweep()
    with _own_folder() as own:
        tempfile.tempdir = str(own)  # whatever a count puts on the disk goes when the studio goes
        with Studio(offered, port=port, log=(lambda line: None) if quiet else None) as server:
            typer.echo(f"the studio is at {server.address}")
            typer.echo("whoever has this address may spend your budget; Ctrl-C ends it")
            if browser:
                _show(server.address, own)
            try:
                server.serve_forever(poll_interval=0.1)
            except KeyboardInterrupt:
                with contextlib.suppress(OSError):  # after a hang-up there is nobody to tell
                    typer.echo("the studio has ended; what was booked stays booked")
    if server.answers.busy:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(0)  # a count that is under way cannot be asked to stop, and nobody is left to read its list


PREFIX, LOCK = "shortlist-studio-", "in-use"
SOON = 60.0
"""Seconds within which a new folder is locked."""


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """A private folder that goes with the studio, locked while it lives: the system unlocks it however that ends."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        own = Path(name)
        with open(own / f"{LOCK}-soon", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(lock.name, own / LOCK)  # what is called so is locked, or left over
            yield own


def _sweep() -> None:
    """Take away what studios of this user left that could not: they were killed, and counts may lie there."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if left.is_symlink() or left.stat().st_uid != os.getuid():
                continue
            if (left / LOCK).exists():
                with open(left / LOCK, "r+") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(left, ignore_errors=True)
            elif time.time() - left.stat().st_mtime > SOON:
                shutil.rmtree(left, ignore_errors=True)


def _show(address: str, own: Path) -> None:
    """Through a file that only this user may read: a browser's command line can be read by everybody."""
    door = own / "open.html"
    door.touch(mode=0o600)
    door.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">')
    webbrowser.open(door.as_uri())


def _end(*_: object) -> None:
    raise KeyboardInterrupt
