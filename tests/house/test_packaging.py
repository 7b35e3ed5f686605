"""What a package index and a newcomer meet: a README whose links lead somewhere, commands that run, true facts."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from tests.helpers.terminal import run
from tests.helpers.typed import present
from tests.house.test_docs import blocks, without_noise

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = "https://shortlist.example"
TARGETS = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def core():
    """The metadata as the build makes them."""
    return ProjectMetadata(str(ROOT), PluginManager()).core


def test_every_link_of_the_readme_is_absolute_on_an_index(core):
    repository = PROJECT["urls"]["Repository"]
    shown, written = TARGETS.findall(core.readme), TARGETS.findall(README.read_text())
    assert len(shown) == len(written) > 20
    for absolute, relative in zip(shown, written, strict=True):
        view = "raw" if relative.endswith((".png", ".svg")) else "blob"
        assert absolute == f"{repository}/{view}/main/{relative}"
        assert (ROOT / relative).exists()


def test_the_readme_of_an_index_says_what_the_readme_says(core):
    def without_targets(text):
        return TARGETS.sub("]()", text)

    assert without_targets(core.readme) == without_targets(README.read_text())


def test_addresses_that_do_not_exist_yet_stand_in_one_place():
    """Once there is a home, one file changes; what else names the reserved host is listed here."""
    assert all(address.startswith(HOME) for address in PROJECT["urls"].values())
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        pytest.skip("this is no checkout")
    texts = [ROOT / name for name in listed if name.endswith((".md", ".toml", ".yml", ".yaml", ".cff", ".py"))]
    naming = {str(path.relative_to(ROOT)) for path in texts if path.exists() and HOME in path.read_text()}
    assert naming <= {"pyproject.toml", "tests/house/test_packaging.py", "CITATION.cff"}


def test_the_commands_of_the_readme_run(tmp_path):
    lines = [line for block in blocks(README, "sh") for line in block.splitlines() if line.startswith("shortlist ")]
    assert len(lines) >= 2
    for line in lines:
        done = run(*shlex.split(line)[1:], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), line


def test_the_first_snippet_needs_nothing_that_is_optional(tmp_path):
    """In a process that finds no frames and no matplotlib, as after a plain `pip install shortlist`."""
    optional = ("polars", "pandas", "pyarrow", "matplotlib", "ibis", "pyspark", "sklearn")
    hidden = f"""
import importlib.util, sys
HIDDEN = {optional!r}
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
there = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in HIDDEN else there(name, package)
"""
    seeded = """
import random, types
from shortlist.sampling import entropy
entropy.os = types.SimpleNamespace(urandom=random.Random(5).randbytes)
"""  # otherwise films change places in 1 of 50,000 runs
    code = hidden + seeded + blocks(README, "python")[0]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (without_noise(done.stdout), done.stderr) == (without_noise(blocks(README, "text")[0]), "")


def test_the_facts_of_the_package_are_there(core):
    assert core.authors == [{"name": "The shortlist authors"}]
    minor = int(core.requires_python.rpartition(".")[2])
    assert f"Programming Language :: Python :: 3.{minor}" in core.classifiers
    assert f"Programming Language :: Python :: 3.{minor - 1}" not in core.classifiers
    assert "Typing :: Typed" in core.classifiers
    assert (ROOT / "src" / "shortlist" / "py.typed").exists()
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} <= set(core.urls)


def test_the_readme_begins_with_how_to_install_it_and_what_is_drawn():
    install, *_ = blocks(README, "sh")
    extra = present(re.search(r"^pip install '\.\[(\w+)\]'", install))[1]
    assert extra in PROJECT["optional-dependencies"]
    assert README.read_text().index(install) < README.read_text().index(blocks(README, "python")[0])


def test_every_dependency_has_a_floor():
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    named = [one for group in groups for one in group if not one.startswith("shortlist[")]
    assert all(">=" in one for one in named)
    floors = {}
    for one in PROJECT["dependencies"]:
        name, floor = one.split(">=")
        floors[name] = tuple(map(int, floor.split(".")))
    assert floors["narwhals"] >= (2, 10), "earlier ones have no Expr.floor"
    assert floors["duckdb"] >= (1, 5), "relations of earlier ones are not read"


def test_versions_agree():
    """The version under way has its place in the changes, and what may be cited is the last one that is out."""
    changes = (ROOT / "CHANGELOG.md").read_text()
    version = PROJECT["version"].partition(".dev")[0]
    assert f"## {'Unreleased: ' if 'dev' in PROJECT['version'] else ''}{version}" in changes
    out = present(re.search(r"^## (\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)$", changes, re.MULTILINE))
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {out[1]}\n" in citation
    assert f'date-released: "{out[2]}"' in citation


def test_machines_run_the_commands_that_people_run():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    hooks = re.findall(r"entry: make (\w+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert hooks == ["lint", "types"]
    flows = "".join(path.read_text() for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")))
    assert re.findall(r"run: make (\w+) PYTHON=python", flows) == ["docs", "demo", "test", "lowest"]
    told = set(re.findall(r"`make (\w+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert {*hooks, "demo", *told} <= set(targets)
    assert told >= {"lint", "types", "test", "docs", "audit", "mutants", "bench"}


def test_the_site_lists_every_page():
    """`make docs` refuses pages that are left out; this says so without building it."""
    listed = re.findall(r"([\w/-]+\.(?:md|ipynb))$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {
        str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*") if page.suffix in (".md", ".ipynb")
    }
    assert sorted(listed) == sorted(pages)
