"""Results on disk: written once, taken up again only if nothing that decides them has changed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from studies.papers.catalogue import EXPERIMENTS
from studies.papers.experiment import GUMBEL, Claim, Exhibit, Experiment, Finding, Result, Setting
from studies.papers.figures import canvas, columns_of
from studies.papers.runner import reproduce
from studies.papers.store import package_hash, read, read_parquet, stored, write_parquet
from tests.helpers.typed import present


def toy(calls):
    def run(setting):
        calls.append(setting)
        words = setting.source("toy").words(3) >> 12
        rows = [{"x": i, "y": int(word) / 2**52, "name": f"it's {i}"} for i, word in enumerate(words)]
        return Result(columns_of(rows), "a caption", ("Netflix",))

    def draw(columns):
        figure, axes = canvas()
        axes[0, 0].plot(columns["x"], columns["y"])
        return figure

    claim = Claim("<what>", "section 0", lambda columns: Finding("confirmed", "9.6", "why"))
    facts = {"k": (1, 2), "mu": 1.0}
    exhibit = Exhibit(
        "figure 0", "A toy", facts, lambda setting: facts | {"mu": 2.0}, {"mu": "ours"}, (claim,), ("netflix",)
    )
    return Experiment("noisy-max", GUMBEL, "A toy", "Why?", "See.", (exhibit,), run, draw)


def test_a_table_survives_its_file(tmp_path):
    columns: dict[str, list[Any]] = {"a": [1, 2], "b": [0.1, float("inf")], "c": ["x", "it's"], "d": [True, False]}
    write_parquet(columns, tmp_path / "it's.parquet")
    assert read_parquet(tmp_path / "it's.parquet") == columns


def test_a_column_of_two_types_is_refused(tmp_path):
    with pytest.raises(TypeError, match="one type"):
        write_parquet({"a": [1, "x"]}, tmp_path / "a.parquet")


def test_a_finished_experiment_is_not_run_again(tmp_path):
    calls: list[Any] = []
    first = reproduce(tmp_path, Setting("small"), [toy(calls)])
    again = reproduce(tmp_path, Setting("small"), [toy(calls)])
    assert len(calls) == 1
    assert first == again


@pytest.mark.parametrize("change", [{"seed": 2}, {"effort": "fast"}])
def test_another_seed_or_effort_runs_again(tmp_path, change):
    calls: list[Any] = []
    reproduce(tmp_path, Setting("small"), [toy(calls)])
    reproduce(tmp_path, replace(Setting("small"), **change), [toy(calls)])
    assert len(calls) == 2


def test_other_code_anywhere_in_the_package_runs_again(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "planning").mkdir(parents=True)
    (package / "planning" / "plans.py").write_text("x = 1\n")
    monkeypatch.setattr("studies.papers.store.PACKAGE", package)
    calls: list[Any] = []
    seen = []
    for text in ("x = 1\n", "x = 2\n"):
        (package / "planning" / "plans.py").write_text(text)
        package_hash.cache_clear()
        seen.append(reproduce(tmp_path / "out", Setting("small"), [toy(calls)])[0].fingerprint)
    assert len(calls) == 2
    assert seen[0] != seen[1]


def test_the_page_says_with_which_seed_and_effort_each_was_made(tmp_path):
    reproduce(tmp_path, Setting("small", seed=77), [toy([])])
    assert "Effort: small; seed: 77" in (tmp_path / "index.html").read_text()


def test_other_data_runs_again(tmp_path):
    import numpy as np

    calls: list[Any] = []
    data = tmp_path / "data"
    data.mkdir()
    reproduce(tmp_path, Setting("small", data=data), [toy(calls)])
    np.save(data / "NETFLIX.n17770.npy", np.arange(5))
    reproduce(tmp_path, Setting("small", data=data), [toy(calls)])
    assert len(calls) == 2


@pytest.mark.parametrize("damage", ["missing figure", "broken record", "foreign record"])
def test_a_damaged_result_runs_again(tmp_path, damage):
    calls: list[Any] = []
    experiment = toy([])
    reproduce(tmp_path, Setting("small"), [toy(calls)])
    record = tmp_path / "noisy-max.json"
    if damage == "missing figure":
        (tmp_path / "noisy-max.svg").unlink()
    else:
        record.write_text("{" if damage == "broken record" else json.dumps({"lines": [], "paper": {}}))
    assert stored(tmp_path, experiment, Setting("small")) is None
    reproduce(tmp_path, Setting("small"), [toy(calls)])
    assert len(calls) == 2


@pytest.mark.long
def test_two_processes_give_the_same_results_as_one(tmp_path):
    chosen = [EXPERIMENTS[name] for name in ("gap-theta", "gap-pvalues", "noisy-max")]
    heard = []
    for folder, jobs in (("one", 1), ("two", 2)):
        reproduce(tmp_path / folder, Setting("small"), chosen, lambda one, record: heard.append(record.name), jobs)
    assert sorted(heard[3:]) == sorted(one.name for one in chosen)
    for name in ("gap-theta", "gap-pvalues"):
        one, two = (read_parquet(tmp_path / folder / f"{name}.parquet") for folder in ("one", "two"))
        assert one == two


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    files = ("noisy-max.svg", "noisy-max.parquet")
    for folder in ("one", "two"):
        reproduce(tmp_path / folder, Setting("small"), [toy([])])
    one, two = ([(tmp_path / folder / file).read_bytes() for file in files] for folder in ("one", "two"))
    assert one == two


def test_the_index_shows_every_record_and_escapes_it(tmp_path):
    reproduce(tmp_path, Setting("small"), [toy([])])
    page = (tmp_path / "index.html").read_text()
    assert "&lt;what&gt;" in page
    assert "noisy-max.parquet" in page
    record = present(read(tmp_path, "noisy-max"))
    assert record.lines[0].ours == "9.6"
    assert (record.lines[0].verdict, record.lines[0].place) == ("confirmed", "section 0; figure 0")
    assert record.exhibits[0].theirs == (("k", "1, 2"), ("mu", "1"))
    assert [(one.word, one.theirs, one.ours, one.why) for one in record.exhibits[0].differences] == [
        ("mu", "1", "2", "ours")
    ]


def test_made_up_data_is_said_on_the_picture_itself(tmp_path):
    reproduce(tmp_path, Setting("small"), [toy([])])
    assert "MADE-UP DATA in place of Netflix" in (tmp_path / "noisy-max.svg").read_text()


def test_names_are_unique_and_said_in_full():
    for name, experiment in EXPERIMENTS.items():
        assert name == experiment.name
        texts = (experiment.question, experiment.see, experiment.title, experiment.shows)
        assert all(text.strip() for text in texts)
