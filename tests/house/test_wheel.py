"""The wheel: whole, and enough for the README, top to bottom."""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.house.test_docs import blocks

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SOURCES = ROOT / "src" / "shortlist"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return Path(next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel"))))))


def test_it_has_every_file_of_the_package_and_no_other(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("shortlist/")}
    here = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "shortlist").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == here
    assert "shortlist/py.typed" in inside


def test_it_is_pure_python(wheel):
    """One wheel for all platforms, without a compiler."""
    assert wheel.name.endswith("-py3-none-any.whl")
    metadata = next(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/WHEEL"))
    assert "Root-Is-Purelib: true" in zipfile.ZipFile(wheel).read(metadata).decode()
    assert not [path for path in SOURCES.rglob("*") if path.suffix in {".c", ".h", ".so", ".pyd", ".native"}]


def test_the_source_archive_holds_all_that_a_wheel_is_made_of_and_nothing_binary(tmp_path):
    archive = next(iter(SdistBuilder(str(ROOT)).build(directory=str(tmp_path))))
    with tarfile.open(archive) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "hatch_build.py"}
    assert needed | {str(path.relative_to(ROOT)) for path in SOURCES.rglob("*.py")} <= inside
    assert not [name for name in inside if name.endswith((".c", ".pyc", ".so"))]


def test_the_readme_runs_from_it(wheel, tmp_path):
    """In a process that finds the wheel in place of the checkout."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")
    first = f"import sys; sys.path.insert(0, {str(tmp_path / 'unpacked')!r})\n"
    checked = "\nimport shortlist; assert 'unpacked' in shortlist.__file__, shortlist.__file__\n"
    code = first + "\n".join(blocks(README, "python")[:2]) + checked
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env=CLEAN
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_clean_environment_needs_nothing_but_the_wheel(wheel, tmp_path):
    """As somebody pastes it: an environment of its own, the install line, every snippet, every command."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = next(line for line in blocks(README, "sh")[0].splitlines() if line.startswith("pip install"))
    extra = re.search(r"\[(\w+)\]", install)
    assert extra
    subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[{extra[1]}]"], check=True, env=CLEAN)
    done = subprocess.run(
        [python, "-c", "\n".join(blocks(README, "python")[:2])], capture_output=True, text=True, check=False,
        cwd=tmp_path, env=CLEAN,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for block in blocks(README, "sh") for line in block.splitlines() if line.startswith("shortlist ")]
    for line in lines:
        command = [str(python.parent / "shortlist"), *shlex.split(line)[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=CLEAN)
        assert (done.returncode, done.stderr) == (0, ""), line
