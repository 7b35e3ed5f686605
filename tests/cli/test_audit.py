"""`shortlist audit`: exit code 1 on a violation, a sentence on bad input, JSON for programs."""

import json

import pytest
from typer.testing import CliRunner

from shortlist.audit import attack
from shortlist.cli.app import app
from shortlist.privacy import ApproxDP, PureDP

runner = CliRunner()
FEW = ["--trials", "20000", "--seed", "1", "--workers", "1"]


def test_a_sound_mechanism_passes_and_is_proved_on_a_box():
    result = runner.invoke(app, ["audit", "permute-and-flip", "--epsilon", "1", *FEW])
    assert result.exit_code == 0
    assert "epsilon is at least 0." in result.stdout
    assert "proved on this box" in result.stdout


def test_json():
    result = runner.invoke(app, ["audit", "exponential", "--json", *FEW])
    found = json.loads(result.stdout)
    assert found["violated"] is False
    assert 0 < found["epsilon_lower"] < 1


def test_anybodys_function_is_audited_and_a_violation_is_exit_code_1(tmp_path):
    page = tmp_path / "theirs.py"
    page.write_text("def pick(scores):\n    return int(scores.argmax())\n")
    result = runner.invoke(app, ["audit", f"{page}:pick", "--trials", "2000"])
    assert result.exit_code == 1
    assert "VIOLATED" in result.stdout


@pytest.mark.parametrize("arguments", [["audit"], ["audit", "x.py:f"], ["audit", "nothing"]])
def test_bad_input_is_refused(arguments):
    assert runner.invoke(app, arguments).exit_code != 0


def test_every_name_makes_a_mechanism():
    for name in attack.mechanism_names():
        for budget in (PureDP(1.0), ApproxDP(1.0, 1e-6)):
            try:
                assert attack.mechanism_named(name, 1, budget).proof
            except (TypeError, ValueError):
                continue
            break
        else:
            pytest.fail(name)
