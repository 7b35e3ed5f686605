"""The notebooks of the tutorials: every cell runs, and what they show is there and holds no place of a machine."""

import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import shortlist as sl
from tests.helpers.support import full_size
from tests.house.test_docs import plan_of_fewer

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
mpl.use("Agg")


def cells(notebook, kind):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


def test_there_are_three():
    assert [one.stem for one in NOTEBOOKS] == ["a-privacy-officers-quarter", "films", "products-by-country-and-week"]


@full_size
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_run_in_order(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sl, "plan", plan_of_fewer(sl.plan))
    namespace: dict[str, Any] = {}
    for cell in cells(notebook, "code"):
        exec(compile("".join(cell["source"]), notebook.name, "exec"), namespace)
    plt.close("all")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_was_run_and_shows_what_came_out(notebook):
    code = cells(notebook, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(outputs) >= len(code) - 1
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert not re.search(r"(?<![\w.])/(?:home|work|root|tmp|Users)/", notebook.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_links_lead_somewhere(notebook):
    text = "".join(line for cell in cells(notebook, "markdown") for line in cell["source"])
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (FOLDER / target).exists(), target
