"""How large the package is, how much of it a release has to be trusted to, and how far a reader has to walk."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import shortlist as sl

HOME = Path(sl.__file__).parent
SETTINGS = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["tool"]
CONTRACTS = SETTINGS["importlinter"]["contracts"]
CORE = "The trusted core imports nothing that explains, plans, plots or audits"
NOT_CODE = {
    tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT
}  # fmt: skip
PARTICIPLES = {
    "asked", "begun", "built", "chosen", "drawn", "found", "given", "grown", "held", "kept", "known", "lent", "made",
    "meant", "paid", "said", "seen", "sent", "shown", "spent", "taken", "thrown", "told", "written",
}  # fmt: skip
NOT_PARTICIPLES = {
    "embed", "exceed", "feed", "fixed", "grouped", "need", "ordered", "proceed", "red", "seed", "shed", "speed",
    "unused", "weighted",
}  # fmt: skip
FRESH = """
import sys, time, numpy
start = time.perf_counter()
import shortlist as sl
sl.top_k([5, 9, 3, 7, 1, 8, 2], k=3, epsilon=1.0, monotone=True)
print(time.perf_counter() - start, sum(name.partition(".")[0] == "shortlist" for name in sys.modules))
"""


def code_lines(path: Path) -> int:
    """Count the lines that hold anything but docstrings, comments and blanks."""
    text = path.read_text()
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for part in body if isinstance(body, list) else ():
            value = part.value if isinstance(part, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docs.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docs)


def is_participle(name: str) -> bool:
    """Return whether a function's name starts with a past participle."""
    first = name.strip("_").partition("_")[0]
    return first in PARTICIPLES or (first.endswith("ed") and len(first) > 3 and first not in NOT_PARTICIPLES)


def function_names() -> list[str]:
    """List the names of all functions and methods that Python does not name itself."""
    trees = (ast.parse(path.read_text()) for path in HOME.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    names = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [name for name in names if not name.startswith("__")]


def files_of(module: str) -> list[Path]:
    """Return the files of a module or a package of ours."""
    place = HOME.joinpath(*module.split(".")[1:])
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def core_files() -> dict[str, list[Path]]:
    """Return the files of the trusted core, by the modules that its import contract names."""
    contract = next(one for one in CONTRACTS if one["name"] == CORE)
    return {module: files_of(module) for module in contract["source_modules"]}


def layers() -> list[list[str]]:
    """Return the modules of each layer, the highest first."""
    contract = next(one for one in CONTRACTS if one["type"] == "layers")
    return [layer.split(" : ") for layer in contract["layers"]]


def summary_of(module: str) -> str:
    """Return the first sentence of a module's docstring, or of the package's."""
    files = files_of(module)
    text = ast.get_docstring(ast.parse((files[0].parent / "__init__.py" if len(files) > 1 else files[0]).read_text()))
    return " ".join((text or "").partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def map_table() -> Iterator[str]:
    """The packages and modules in `src/shortlist`; bold are those of the trusted core"""
    core = core_files()
    yield "| layer | module | code lines | what it is |"
    yield "|---|---|---|---|"
    for level, modules in zip(range(len(layers()), 0, -1), layers(), strict=True):
        for module in sorted(modules, key=lambda name: name.strip("_")):
            files = files_of(f"shortlist.{module}")
            name = f"`{module}.py`" if not (HOME / module).is_dir() else f"`{module}/`"
            shown = f"**{name}**" if f"shortlist.{module}" in core else name
            lines = sum(map(code_lines, files))
            yield f"| {level} | {shown} | {max(round(lines, -1), 10):,} | {summary_of(f'shortlist.{module}')} |"
    trusted = sum(code_lines(path) for files in core.values() for path in files)
    yield f"| | **the trusted core** | **{round(trusted, -1):,}** | all modules in bold together |"
    yield f"| | the whole package | {round(sum(map(code_lines, HOME.rglob('*.py'))), -1):,} | |"


def visit(call: Callable[[], object]) -> Counter[str]:
    """Count the calls of our own functions by file, once everything is imported and cached."""
    call()
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(HOME)):
            calls[str(Path(frame.f_code.co_filename).relative_to(HOME))] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls


def visit_often(call: Callable[[], object], times: int = 9) -> Counter[str]:
    """Return the median visit of several: how far a draw walks depends on what it draws."""
    return sorted((visit(call) for _ in range(times)), key=Counter.total)[times // 2]


def start_fresh(times: int = 9) -> tuple[float, int]:
    """Return the least time of a first `top_k` beyond `import numpy`, and how many modules of ours it loads."""
    command = [sys.executable, "-W", "ignore", "-c", FRESH]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(times)]
    return min(float(seconds) for seconds, _ in runs), int(runs[0][1])


def size_table() -> Iterator[str]:
    """Size and shape of the package; a code line is one that holds more than docstrings and comments"""
    core = sum(code_lines(path) for files in core_files().values() for path in files)
    sizes = {path: code_lines(path) for path in HOME.rglob("*.py")}
    names = function_names()
    seconds, modules = start_fresh()
    values = sl.Scores(np.arange(1, 400) ** 2, monotone=True)
    rows, films = sl.example("films")
    walks = {
        "`top_k(array)`": visit_often(lambda: sl.top_k(values, 5, epsilon=1.0)),
        "`top_k(table)`": visit_often(
            lambda: sl.top_k(rows, 5, epsilon=1.0, user="user_id", item="film", candidates=films)
        ),
    }
    yield "| figure | now |"
    yield "|---|---|"
    yield f"| code lines in the wheel | {sum(sizes.values()):,} |"
    yield f"| of them the trusted core | {core:,} |"
    yield f"| files | {len(sizes)} |"
    yield f"| functions named by a participle | {sum(map(is_participle, names)) / len(names):.1%} |"
    yield f"| modules of 40 code lines or fewer | {sum(0 < lines <= 40 for lines in sizes.values())} |"
    yield f"| layers | {len(layers())} |"
    yield f"| modules loaded by `top_k([...])` | {modules} |"
    for name, calls in walks.items():
        yield f"| walk of {name}: files, calls | {len(calls)}, {calls.total():,} |"
    yield f"| lines of C | {sum(len(path.read_text().splitlines()) for path in HOME.rglob('*.[ch]'))} |"
    yield f"| first `top_k` of a list in a fresh process, beyond `import numpy` | {seconds:.2f} s |"


TABLES = {"size": size_table, "size-map": map_table}
