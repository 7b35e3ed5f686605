"""`shortlist studio`: a page on this machine, from a table to a private list, a receipt and the code."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from shortlist._files import remove, sweep, temporary_name
from shortlist._signals import COMMAND, Stopped
from shortlist.cli.output import argument, flag, option
from shortlist.studio.inputs import Folder
from shortlist.studio.server import Studio

try:
    import fcntl
except ImportError:  # Windows: nobody removes a file that is open there, which serves as a lock
    fcntl = None  # type: ignore[assignment]


HERE = Path(".")


def studio(
    folder: Annotated[Path, argument("The folder with tables and ledgers; no other is looked at.", "FOLDER")] = HERE,
    port: Annotated[int, option("0 takes a free one.", "N", min=0, max=65535)] = 0,
    browser: Annotated[bool, flag("Open the page in the browser.", "--open/--no-open")] = True,
    quiet: Annotated[bool, flag("No line for each request.", "--quiet")] = False,
) -> None:
    """Open a page, on this machine only, that goes from a table to a private list. Ctrl-C ends it.

    \b
    For example: shortlist studio data/
    """
    offered = Folder.of(folder)
    COMMAND.more = lambda: "what was booked stays booked"
    _sweep()
    with hold_folder() as own:
        tempfile.tempdir = str(own)  # whatever a count puts on the disk goes when the studio goes
        with Studio(offered, port=port, log=(lambda line: None) if quiet else None) as server:
            typer.echo(f"the studio is at {server.address}")
            typer.echo("whoever has this address may spend your budget; Ctrl-C ends it")
            if browser:
                _show(server.address, own)
            try:
                server.serve_forever(poll_interval=0.1)
            except (Stopped, KeyboardInterrupt):
                with contextlib.suppress(OSError):  # after a hang-up there is nobody to tell
                    typer.echo("the studio has ended; what was booked stays booked")
    if server.answers.work.busy:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        sweep()
        os._exit(0)  # a count that is under way cannot be asked to stop, and nobody is left to read its list


PREFIX, LOCK = "shortlist-studio-", "in-use"
SOON = 60.0
"""Seconds within which a new folder is locked."""


@contextlib.contextmanager
def hold_folder() -> Iterator[Path]:
    """A private folder that goes with the studio, locked while it lives: the system unlocks it however that ends."""
    path = Path(temporary_name(PREFIX))
    try:
        path.mkdir(mode=0o700)
        with open(path / (LOCK if fcntl is None else f"{LOCK}-soon"), "w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
                os.rename(lock.name, path / LOCK)  # what is called so is locked, or left over
            yield path
    finally:
        remove(str(path))


def _sweep() -> None:
    """Take away what studios of this user left that could not: they were killed, and counts may lie there."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if left.is_symlink() or (hasattr(os, "getuid") and left.stat().st_uid != os.getuid()):
                continue
            if (left / LOCK).exists():
                with open(left / LOCK, "r+") as lock:
                    if fcntl is not None:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if its studio lives
                        shutil.rmtree(left, ignore_errors=True)
                if fcntl is None:
                    os.unlink(left / LOCK)  # an error while its studio has it open
                    shutil.rmtree(left, ignore_errors=True)
            elif time.time() - left.stat().st_mtime > SOON:
                shutil.rmtree(left, ignore_errors=True)


def _show(address: str, own: Path) -> None:
    """Through a file that only this user may read: a browser's command line can be read by everybody."""
    door = own / "open.html"
    door.touch(mode=0o600)
    door.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">')
    webbrowser.open(door.as_uri())
