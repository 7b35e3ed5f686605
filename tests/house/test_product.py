"""The contract with users: every snippet runs as written, in order."""

from pathlib import Path
from typing import Any

import pytest

from tests.house.test_docs import blocks

CONTRACT = Path(__file__).with_name("product.md")
SHARED = Path(__file__).parents[3] / "shared" / "PRODUCT.md"


def test_every_snippet_of_the_contract_runs_and_keeps_its_promises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen: list[Any] = []
    for source in blocks(CONTRACT, "python"):
        names = dict(seen[-1]) if seen else {}
        exec(compile(source, CONTRACT.name, "exec"), names)
        seen.append(names)
    _, analyst, researcher, engineer, learner, thresholds = seen
    release = analyst["release"]
    assert (len(release.items), release.ordered, release.secure) == (10, False, True)
    assert release.items == sorted(release.items)
    assert set(release.items) <= set(analyst["catalogue"])
    assert researcher["m"].probabilities(researcher["scores"]).sum() == pytest.approx(1, abs=1e-12)
    assert not engineer["found"].violated
    assert engineer["found"].epsilon_lower > 0.8
    assert learner["labels"] is None or learner["labels"] <= set(range(12))
    assert learner["pate"].spent.rho == pytest.approx(0.05)
    assert thresholds["sv"].guarantee == engineer["PureDP"](1.0)


def test_the_contract_is_the_shared_one():
    if not SHARED.exists():
        pytest.skip("the shared papers are not beside the repository")
    assert blocks(CONTRACT, "python") == blocks(SHARED, "python")
