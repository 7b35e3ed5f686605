"""A small form of every experiment runs, draws, says something, and repeats itself under a seed."""

import math

import pytest

from shortlist.reproduce.catalogue import EXPERIMENTS
from shortlist.reproduce.experiment import ADAPTIVE, FREE_GAP, Setting
from shortlist.reproduce.store import write_parquet, write_svg


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_small_form_runs_and_draws(name, tmp_path):
    experiment = EXPERIMENTS[name]
    result = experiment.run(Setting("small"))
    lengths = {len(cells) for cells in result.columns.values()}
    assert len(lengths) == 1
    assert lengths != {0}
    assert result.lines
    assert all(text.strip() for line in result.lines for text in (line.what, line.paper, line.ours, line.why))
    write_parquet(result.columns, tmp_path / "table.parquet")
    write_svg(experiment.draw(result.columns), tmp_path / "figure.svg")
    assert "GENERATED" in result.caption or not result.generated
    if experiment.paper in (FREE_GAP, ADAPTIVE) and not result.timed:  # the others draw nothing
        again = experiment.run(Setting("small"))
        assert str(again.columns) == str(result.columns)
        assert again.lines == result.lines


def test_netflix_headlines_on_the_real_data(shared_data):
    from shortlist.planning.search import least_epsilon_reaching
    from shortlist.reproduce.contest import ENTRANTS, OURS, PEELING
    from shortlist.reproduce.data import counts
    from shortlist.scores import Scores

    scores = Scores(counts("netflix", Setting("small", data=shared_data)).values, monotone=True)

    def needed(label, k):
        return least_epsilon_reaching(
            lambda epsilon: ENTRANTS[label](k, epsilon).success_probability(scores), 0.99, width=1e-3
        )

    for k, expected in ((10, 9.6), (100, 110)):
        assert math.isclose(needed(PEELING, k) / needed(OURS, k), expected, rel_tol=0.01)
