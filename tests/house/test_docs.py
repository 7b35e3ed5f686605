"""Every snippet of the README and the guide runs as written, and the README's output is the real one."""

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

import shortlist as sl
from tests.helpers.support import full_size, sized

mpl.use("Agg")
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLAN, COMPARE = sl.plan, sl.compare
HABITS = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]


def blocks(page, language):
    """The fenced blocks of one language, in order."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [text for name, text in fences if name == language]


def plan_of_fewer(plan):
    """In the suite a plan is made of fewer items than the page says, and in one currency where that is left open: its
    words are the same, and it takes less time."""

    def fewer(**words):
        few = {"items": min(words["items"], 40)} if "items" in words else {}
        one = {} if "budget" in words or "delta" in words or words.get("domain") == "unknown" else {"budget": "pure"}
        return plan(**words | few | one)

    return sized(fewer, full=plan)


@full_size
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sl, "plan", plan_of_fewer(sl.plan))
    namespace: dict[str, Any] = {}
    for source in blocks(page, "python"):
        if not source.startswith(">>>"):
            exec(compile(source, page.name, "exec"), namespace)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def without_noise(shown):
    """What is printed of a release, without its noisy numbers and the blanks that line them up."""
    lines = [re.sub(r"[\d,]+ ± (\d+) \(95%\)$", r"± \1", line) for line in shown.strip().splitlines()]
    return [re.sub(r"-{3,}| +", " ", line).strip() for line in lines]


def test_the_output_in_the_readme_is_the_real_one(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    exec(compile(blocks(ROOT / "README.md", "python")[0], "README.md", "exec"), namespace)
    shown = blocks(ROOT / "README.md", "text")[0]
    assert without_noise(capsys.readouterr().out) == without_noise(shown)


@full_size
def test_the_rows_of_the_readme_run_after_its_first_snippet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sl, "plan", sized(lambda **words: inspect.signature(PLAN).bind(**words), full=PLAN))
    monkeypatch.setattr(
        sl, "compare", sized(lambda scores, k, epsilon: COMPARE(scores, k=1, epsilon=1.0), full=COMPARE)
    )
    page = ROOT / "README.md"
    namespace: dict[str, Any] = {}
    exec(compile(blocks(page, "python")[0], "README.md", "exec"), namespace)
    rows = page.read_text().split("| you want | write |")[1].split("\n\n")[0].splitlines()[2:]
    codes = [code for row in rows for code in re.findall(r"`([^`]+)`", row.rpartition(" | ")[2])]
    run = [
        code for code in codes if re.match(r"sl\.|from |rows, |scores = |ledger|print|release\.|list\(|NoisyMax", code)
    ]
    assert len(run) >= len(rows) - 4, "others are for a shell, or ends of lines"
    for code in run:
        exec(compile(code, code, "exec"), namespace)


@pytest.mark.parametrize("page", [*PAGES, *HABITS], ids=lambda page: page.name)
def test_links_between_pages_resolve(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page):
    for path in re.findall(r"`((?:src|tests|bench|docs)/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_the_names_a_user_types_are_there():
    for name in sl.__all__:
        assert getattr(sl, name) is not None
