"""Builds the compiled passes over scores (`src/shortlist/_scan.c`) where there is a C compiler.

Without one, and in a checkout that nobody may write to, they are left out without a word. The library stands beside
its source, so that an editable installation finds it as a wheel does. A wheel with it is for one platform, one without
it for all. `SHORTLIST_COMPILED=0` builds without it. Nothing is fetched.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SOURCES = ("_scan.c", "_scan_noise.h", "_scan_choice.h", "_scan_skips.h", "_scan_of_type.h", "_scan_columns.h")
LIBRARY = "_scan.native"  # a name that Python does not take for a module
FLAGS = ("-std=gnu11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC", "-shared")
WAYS = (("-DSEVERAL_PROCESSORS",), ())
"""The first that works: not every system can choose among functions when a library is loaded."""


def digest(folder: Path) -> str:
    """Of what the library is made of; it stands in the library, which is built anew when it changes."""
    made_of = [" ".join((*FLAGS, *WAYS[0])).encode(), *((folder / name).read_bytes() for name in SOURCES)]
    return hashlib.sha256(b"\n".join(made_of)).hexdigest()


def compiler() -> list[str]:
    """The command of the C compiler; nothing if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]


def built(folder: Path, into: Path) -> bool:
    """Whether the library of the sources in that folder is there, built now if it was not.

    Never an error: where nothing may be written, or what CC says is no command, the library is done without.
    """
    try:
        return _built(folder, into)
    except (OSError, ValueError):
        return False


def _built(folder: Path, into: Path) -> bool:
    mark = digest(folder)
    if into.exists() and mark.encode() in into.read_bytes():
        return True
    command = compiler()
    if not command or os.name != "posix":
        return False
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, LIBRARY)
        for way in WAYS:
            words = [*command, *FLAGS, *way, f'-DDIGEST="{mark}"', str(folder / SOURCES[0]), "-o", str(made), "-lm"]
            try:
                done = subprocess.run(words, capture_output=True, check=False, timeout=300)
            except (OSError, subprocess.TimeoutExpired):
                return False
            if done.returncode == 0:
                whole = into.with_name(f".{LIBRARY}.{os.getpid()}")  # nobody loads half a library
                try:
                    shutil.copy(made, whole)
                    whole.replace(into)
                finally:
                    whole.unlink(missing_ok=True)
                return True
    return False


def platform_tag() -> str:
    """That of this machine."""
    if sys.platform == "darwin":
        return next(platform_tags())
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


class Compiled(BuildHookInterface[Any]):
    """Adds the library to a wheel, and the platform to its name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root, "src", "shortlist")
        wanted = self.target_name == "wheel" and os.environ.get("SHORTLIST_COMPILED") != "0"
        if wanted and built(folder, folder / LIBRARY):
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"
            build_data["artifacts"].append(f"src/shortlist/{LIBRARY}")
