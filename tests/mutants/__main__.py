"""`python -m tests.mutants [word ..]`: plant one bug at a time in a copy of the tree; the named tests must fail.

Without words all are planted, otherwise those whose file or reason contains one of them. First the named tests must
pass as the code stands. Exits with 1 if a bug survives, if a place is no longer found exactly once, or if no
test ran.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.planted import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
COPIED = (
    "src", "studies", "tests", "docs", "examples", "bench", "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
    "SECURITY.md", "CITATION.cff", "LICENSE", "pyproject.toml", "hatch_build.py", "mkdocs.yml", "Makefile", ".github",
    ".pre-commit-config.yaml",
)  # fmt: skip
PER_TEST = 120
"""Seconds for one test: a bug may make it hang, and a test that was stopped has failed."""
NOTICED, PASSED = 1, 0
"""Whether a test failed, or all passed; everything else that pytest returns says that the tests did not run."""


class Copy:
    """A copy of the tree, beside a link to the data that some tests use."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir(parents=True)
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, self.root / name)
        if (ROOT.parent / "shared").exists():
            (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())

    def run(self, tests: tuple[str, ...]) -> tuple[int, str]:
        """(NOTICED if a test failed, else what pytest returned; its last lines)."""
        options = ["-x", "-q", "-p", "no:cacheprovider", f"--timeout={PER_TEST}", "--hypothesis-profile=unshrunk"]
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryFile("w+") as said:
            # no pipe, which a process that a failed test left behind would hold open
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=self.root, env=environment, stdout=said, stderr=said, text=True, start_new_session=True,
            )  # fmt: skip
            code = process.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            said.seek(0)
            lines = said.read().splitlines()
        noticed = any(
            line.startswith("FAILED ") for line in lines
        )  # a process may die of the bug after its test failed
        return NOTICED if noticed else code or PASSED, "\n".join(lines[-15:])

    def plant(self, mutant: Mutant) -> tuple[int, str]:
        """The tests of a mutant with its bug in place, which is taken out again."""
        place = self.root / mutant.file
        text = place.read_text()
        place.write_text(text.replace(mutant.old, mutant.new))
        try:
            return self.run(mutant.tests)
        finally:
            place.write_text(text)


def lost(mutants: list[Mutant]) -> list[str]:
    """Bugs that can no longer be planted as they are written down."""
    found = []
    for one in mutants:
        place = ROOT / one.file
        times = place.read_text().count(one.old) if place.exists() else 0
        if times != 1 or one.old == one.new:
            found.append(f"{one.file}: {one.old!r} is there {times} times, not once")
    return found


def main(words: list[str]) -> int:
    chosen = [one for one in MUTANTS if not words or any(word in f"{one.file} {one.why}" for word in words)]
    problems = lost(chosen)
    cores = max(1, min(os.cpu_count() or 1, len(chosen)))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(cores) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for n in range(cores):
            copies.put(Copy(Path(folder, str(n))))

        def with_a_copy(work):
            copy, start = copies.get(), time.monotonic()
            try:
                return *work(copy), time.monotonic() - start
            finally:
                copies.put(copy)

        named = list(dict.fromkeys(test for one in chosen for test in one.tests))
        parts = [tuple(named[n::cores]) for n in range(cores)]
        for code, said, _ in pool.map(lambda part: with_a_copy(lambda copy: copy.run(part)), filter(None, parts)):
            if code != PASSED:
                problems.append(f"the named tests do not pass as the code stands:\n{said}")
        if problems:
            print("\n".join(problems))
            return 1
        results = pool.map(lambda one: with_a_copy(lambda copy: copy.plant(one)), chosen)
        for one, (code, said, seconds) in zip(chosen, results, strict=True):
            verdict = {NOTICED: "killed", PASSED: "SURVIVED"}.get(code, "NO VERDICT")
            print(f"{verdict:10} {seconds:6.1f} s  {one.file}: {one.why}", flush=True)
            if code != NOTICED:
                problems.append(f"{one.file}: {one.old!r} -> {one.new!r}\n{said if code else ''}")
    print(f"\n{len(chosen) - len(problems)} of {len(chosen)} planted bugs were noticed")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
