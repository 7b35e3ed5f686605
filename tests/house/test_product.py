"""The contract with users: every snippet runs as written, in order."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.terminal import called, run
from tests.helpers.typed import present
from tests.house.test_docs import blocks

CONTRACT, SECOND = (Path(__file__).with_name(name) for name in ("product.md", "product2.md"))


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


def commands_of(page):
    """What stands on the lines of a page's block of commands, as a shell would take it."""
    parts = (part for line in blocks(page, "")[0].splitlines() for part in line.split(";  "))
    return [shlex.split(part, comments=True)[1:] for part in parts]


TAKES_LONG = ("audit", "plan", "demo")


def ran(commands, folder, call):
    """What each says; a ledger is made before it is used."""
    told = {}
    for words in sorted(commands, key=lambda words: words[:2] != ["ledger", "init"]):
        done = call(*words, cwd=folder)
        assert (done.returncode, done.stderr) == (0, ""), words
        told[" ".join(words)] = done.stdout
    return told


def test_the_commands_of_the_first_part_do_what_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(blocks(CONTRACT, "python")[0], CONTRACT.name, "exec"), names)
    (tmp_path / "catalogue.txt").write_text("\n".join(names["catalogue"]))
    told = list(
        ran([words for words in commands_of(CONTRACT) if words[0] not in TAKES_LONG], tmp_path, called).values()
    )
    assert len(told) == 4
    assert "10 of 10 asked for." in told[1]
    assert "booked: epsilon 1 of 3" in told[1]
    assert (tmp_path / "top.png").stat().st_size > 5_000
    assert " of 10 asked for" in told[2]
    assert "epsilon 1 of 3 at delta 1e-6, 1 release" in told[3]


@pytest.mark.long
def test_the_commands_of_the_first_part_that_take_long(tmp_path):
    told = ran([words for words in commands_of(CONTRACT) if words[0] in TAKES_LONG], tmp_path, run)
    assert len(told) == 4
    assert (tmp_path / "report" / "index.html").exists()


def run_second(part, tmp_path, monkeypatch):
    """A part of the second page, after what comes before every part: the names it leaves, and what was drawn in it."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for source in (blocks(CONTRACT, "python")[0], blocks(SECOND, "python")[0]):
        exec(compile(source, SECOND.name, "exec"), names)
    drawn: list[Any] = []
    for name in ("top_k", "keys", "risk", "quantile"):
        monkeypatch.setattr(names["sl"], name, kept(getattr(names["sl"], name), drawn))
    exec(compile(part, SECOND.name, "exec"), names)
    return names, drawn


def kept(function, drawn):
    """The same function, whose answers are kept."""

    def called(*given, **words):
        drawn.append(function(*given, **words))
        return drawn[-1]

    return called


def test_releases_explain_themselves(tmp_path, monkeypatch, capsys):
    names, (release, risk) = run_second(blocks(SECOND, "python")[1], tmp_path, monkeypatch)
    shown = capsys.readouterr().out
    assert names["release"] is release
    assert len(release) == 5
    assert "film 001" in release
    assert re.match(
        r"5 of 5 asked for\. 200 candidates, declared public by the caller\. Best guess .* at epsilon 1\.0\.$",
        release.summary,
    )
    assert all(word in shown for word in (release.summary, "value", "±", "(95%)", "film 001"))
    assert names["sl"].Release.load("top5.json") == release
    assert "right at most 73.2% of the time" in str(risk)
    assert release.margins[0].error < release.margins[0].half_width


def test_names_come_from_the_data(tmp_path, monkeypatch):
    names, drawn = run_second(blocks(SECOND, "python")[2], tmp_path, monkeypatch)
    every, top, histogram, smallest, booked = drawn
    films = set(names["films"])
    assert len(every) > 10
    assert set(every) <= films
    assert len(every.values) == len(every.margins) == len(every)
    assert 0 < len(top) <= 20
    assert len(top.values) == len(top.margins) == len(top)
    assert len(histogram) == 100
    assert "noisy histogram" in histogram.mechanism
    assert (len(smallest), smallest.largest) == (3, False)
    assert present(booked.receipt).entry == 1
    assert names["ledger"].spent.epsilon == 0.5
    assert set(booked) <= films


def test_groups_filters_and_budgets_over_time(tmp_path, monkeypatch, capsys):
    names, (lists,) = run_second(blocks(SECOND, "python")[3], tmp_path, monkeypatch)
    assert list(lists) == ["CH", "DE", "FR"]
    assert {len(one) for one in lists.values()} == {3}
    assert present(lists.receipt).entry == 1
    assert names["ledger"].spent.epsilon == 0.5
    assert len(names["ledger"].entries()) == 1
    names["sl"].top_k(names["by_country"], k=3, budget=names["share"], ledger=names["ledger"])
    assert "1 release" in capsys.readouterr().out
    assert all((tmp_path / page).stat().st_size > 2_000 for page in ("lists.html", "q4.html"))


def test_quantiles_and_tuning(tmp_path, monkeypatch):
    names, (found,) = run_second(blocks(SECOND, "python")[4], tmp_path, monkeypatch)
    assert found.q == [0.25, 0.5, 0.75]
    assert found.values == sorted(found.values)
    assert all(16 <= age <= 90 for age in found.values)
    best = names["best"]
    assert best.candidate in (0.1, 1.0, 10.0)
    assert best.score == float(best.candidate)
    assert 0.1 < best.guarantee.as_pure().epsilon < 0.2


def test_the_command_line_does_what_it_says(tmp_path):
    told = {}
    for words in commands_of(SECOND):
        done = called(*words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), words
        told[" ".join(words)] = done.stdout
    lines = list(told)
    listed, grouped, keys, quantile = (told[line] for line in lines[2:6])
    assert "5 of 5 asked for." in listed
    assert (
        "booked: epsilon 1 of 3 at delta 1e-6, 1 release; a charge of up to epsilon 2 would still be admitted" in listed
    )
    assert all(country in grouped for country in ("CH", "DE", "FR"))
    assert set(json.loads(keys)) >= {"items", "ordered", "guarantee", "mechanism", "why", "values"}
    assert "value" in quantile
    assert (tmp_path / "q4.html").exists()
    assert "right at most 73.2% of the time" in told[lines[-1]]
