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

from hatch_compiled import SOURCES as SCAN
from hatch_compiled import built, compiler, digest, platform_tag
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


def test_it_is_for_one_platform_if_it_has_compiled_passes_and_for_all_otherwise(wheel):
    compiled = "shortlist/_scan.native" in zipfile.ZipFile(wheel).namelist()
    assert wheel.name.endswith(f"-py3-none-{platform_tag() if compiled else 'any'}.whl")
    sources = {f"shortlist/{name}" for name in SCAN}
    assert sources <= set(zipfile.ZipFile(wheel).namelist())


def test_it_is_for_all_platforms_where_nothing_is_to_be_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("SHORTLIST_COMPILED", "0")
    pure = Path(next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path)))))
    assert pure.name.endswith("-py3-none-any.whl")
    assert "shortlist/_scan.native" not in zipfile.ZipFile(pure).namelist()


@pytest.mark.parametrize("command", ["", "no-such-compiler", "false", 'cc "'])
def test_where_no_compiler_works_nothing_is_built_and_nothing_said(command, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CC", command)
    monkeypatch.setenv("PATH", os.environ["PATH"] if command else "")
    assert not built(SOURCES, tmp_path / "made")
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_the_compiled_passes_are_those_of_the_source():
    library = SOURCES / "_scan.native"
    if not library.exists():
        pytest.skip("not built here: there was no C compiler")
    assert digest(SOURCES).encode() in library.read_bytes(), "build them again: pip install -e ."
    assert built(SOURCES, library)


def small_source(folder, first=""):
    source = folder / "small"
    source.mkdir()
    (source / "_scan.c").write_text(f"{first}const char mark[] = DIGEST;\n")
    for header in SCAN[1:]:
        (source / header).write_text("")
    return source


@pytest.mark.skipif(not compiler(), reason="no C compiler here")
@pytest.mark.parametrize("step", ["copy", "replace"])
def test_where_nothing_may_be_written_nothing_is_built_and_nothing_stays(step, tmp_path, monkeypatch, capfd):
    """A checkout that is read only: for everybody, also for whoever may write everywhere."""

    def refuse(*words):
        raise PermissionError(13, "Permission denied")

    source = small_source(tmp_path)
    monkeypatch.setattr(*{"copy": ("shutil.copy", refuse), "replace": ("pathlib.Path.replace", refuse)}[step])
    assert not built(source, tmp_path / "made")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["small"]
    assert capfd.readouterr() == ("", "")


def test_the_source_archive_holds_all_that_a_wheel_is_made_of_and_nothing_compiled(tmp_path):
    archive = next(iter(SdistBuilder(str(ROOT)).build(directory=str(tmp_path))))
    with tarfile.open(archive) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "hatch_compiled.py"}
    assert needed | {str(path.relative_to(ROOT)) for path in SOURCES.rglob("*.py")} <= inside
    assert {f"src/shortlist/{name}" for name in SCAN} <= inside
    assert not [name for name in inside if name.endswith((".native", ".pyc", ".so"))]


@pytest.mark.skipif(not compiler(), reason="no C compiler here")
def test_a_compiler_that_cannot_choose_functions_when_loading_builds_them_too(tmp_path, monkeypatch):
    """One that refuses the first way stands in for it; a small source for ours."""
    source = small_source(tmp_path, "#ifdef SEVERAL_PROCESSORS\n#error\n#endif\n")
    assert built(source, tmp_path / "made")
    assert digest(source).encode() in (tmp_path / "made").read_bytes()
    monkeypatch.setenv("CC", "false")
    assert built(source, tmp_path / "made")  # as it is there already


@pytest.mark.skipif(not compiler(), reason="no C compiler here")
@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only", "-O2"])
def test_nothing_is_built_where_floats_may_be_reordered_or_taken_for_finite(flag):
    """-inf is compared, and error bounds are those of operations as they stand."""
    words = [*compiler(), "-std=gnu11", "-fsyntax-only", flag, str(SOURCES / "_scan.c")]
    assert (subprocess.run(words, capture_output=True, check=False).returncode == 0) == (flag == "-O2")


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
