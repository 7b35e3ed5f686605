"""A small form of every experiment runs, draws, judges, and repeats itself under a seed; data is read or made up."""

import math

import numpy as np
import pytest

from studies.papers.catalogue import EXPERIMENTS
from studies.papers.data import DATA_SETS, counts, data_file, made_up
from studies.papers.experiment import Setting
from studies.papers.store import write_parquet, write_svg
from tests.helpers.support import full_size, sized

SAVED = ("gap-pvalues", "adaptive-covid", "canonical-income")
"""All figures are drawn; in the suite these are written too, which takes matplotlib longer than us all the rest."""


@full_size
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_small_form_runs_draws_and_judges(name, tmp_path):
    experiment = EXPERIMENTS[name]
    result = experiment.run(Setting("small"))
    lengths = {len(cells) for cells in result.columns.values()}
    assert len(lengths) == 1
    assert lengths != {0}
    lines = experiment.lines(result.columns)
    assert len(lines) == sum(len(exhibit.claims) for exhibit in experiment.exhibits)
    assert lines or result.beyond
    assert all(text.strip() for line in lines for text in (line.what, line.paper, line.place, line.ours, line.why))
    cells = {cell for column in result.columns.values() for cell in column if isinstance(cell, str)}
    for exhibit in experiment.exhibits:
        assert set(exhibit.ours(Setting("fast")).get("competitors", ())) <= cells  # every competitor has its numbers
    write_parquet(result.columns, tmp_path / "table.parquet")
    figure = experiment.draw(result.columns)
    if name in sized(SAVED, full=tuple(EXPERIMENTS)):
        write_svg(figure, tmp_path / "figure.svg")
    assert set(result.made_up) == {DATA_SETS[one].title for one in small_data(experiment)}
    drawn = sized(("gap-pvalues", "adaptive-covid"), full=tuple(EXPERIMENTS))
    if name in drawn and not result.timed:
        assert str(experiment.run(Setting("small")).columns) == str(result.columns)


def small_data(experiment):
    """The small form of two experiments leaves some data sets out."""
    fewer = {"gap-thresholds": ("bms-pos",), "canonical-epsilon": ("netflix", "patent")}
    return fewer.get(experiment.name, experiment.uses)


def test_netflix_headlines_on_the_real_data(shared_data):
    from shortlist.planning.search import least_epsilon_reaching
    from shortlist.scores import Scores
    from studies.papers.contest import ENTRANTS, OURS, PEELING

    scores = Scores(counts("netflix", Setting("small", data=shared_data)).values, monotone=True)

    def needed(label, k):
        return least_epsilon_reaching(
            lambda epsilon: ENTRANTS[label](k, epsilon).success_probability(scores), 0.99, width=1e-3
        )

    for k, expected in ((10, 9.6), (100, 110)):
        assert math.isclose(needed(PEELING, k) / needed(OURS, k), expected, rel_tol=0.01)


def test_what_pate_costs_is_the_study_s_table():
    from shortlist.privacy import ZCDP
    from studies.papers.adaptive_pate import LEFT, charged, gaussian_bound, simple

    assert simple(0.20333) == pytest.approx(3.665, abs=1e-3)
    assert gaussian_bound(2, 1) == pytest.approx(71.4, abs=0.05)
    assert gaussian_bound(4, 2) == pytest.approx(144.0, abs=0.1)
    assert charged(2, 1) == pytest.approx(0.28073, abs=1e-5)
    assert charged(4, 2) == pytest.approx(1.12290, abs=1e-5)
    assert ZCDP(charged(4, 2)).epsilon_at(LEFT) == pytest.approx(8.580, abs=1e-3)


def test_the_noise_of_gumbel_values_is_the_study_s():
    from studies.papers.gumbel_variance import VARIANCE, gaussian_sound, laplace_sound, ours, theorem_4

    assert math.sqrt(ours(1.0, 1e-5) / VARIANCE) == pytest.approx(16.70122, abs=1e-4)
    assert math.sqrt(theorem_4(1.0, 1e-5) / VARIANCE) == pytest.approx(22.206, abs=3e-3)
    assert ours(1.0, 1e-5) < laplace_sound(1.0, 1e-5) < gaussian_sound(1.0, 1e-5)
    assert laplace_sound(4.0, 1e-5) < ours(4.0, 1e-5)  # composed tightly, Laplace noise is ahead there


def test_the_trade_off_of_one_value_is_the_closed_form():
    from studies.papers.gumbel_tradeoff import closed_form

    assert closed_form(1.0, 0.205568348) == pytest.approx(0.441207295, abs=1e-8)
    assert closed_form(1.0, 0.441207295) == pytest.approx(0.205568348, abs=1e-8)
    assert closed_form(0.5, 0.0) == 1.0
    assert closed_form(0.5, 1.0) == 0.0


def test_gaps_save_half_and_two_thirds_in_the_limit():
    from studies.papers.gap_error import THRESHOLD, TOP, theory

    assert theory(TOP, "laplace", 10**9) == pytest.approx(1 / 2, abs=1e-6)
    assert theory(TOP, "exponential", 10**9) == pytest.approx(2 / 3, abs=1e-6)
    assert theory(THRESHOLD, "exponential", 10**9) == pytest.approx(2 / 3, abs=1e-4)
    assert theory(TOP, "exponential", 10) == pytest.approx(0.6)


def test_made_up_counts_stand_in_where_the_folder_has_none(tmp_path):
    for name, found in DATA_SETS.items():
        if found.shape is not None and found.shape.items < 200_000:
            one = counts(name, Setting("small", data=tmp_path))
            assert not one.real
            assert len(one.values) == found.shape.items
            assert (one.values[:-1] >= one.values[1:]).all()
            assert made_up(one) == (found.title,)


def test_every_format_of_the_papers_data_is_read(tmp_path):
    setting = Setting("small", data=tmp_path)
    (tmp_path / "kosarak.dat").write_text("1 2 3\n2 3 3\n3\n")
    (tmp_path / "Brightkite_totalCheckins.txt").write_text(
        "a\tt\t0\t0\tx\na\tt\t0\t0\tx\nb\tt\t0\t0\tx\nb\tt\t0\t0\ty\n"
    )
    (tmp_path / "dataset_TSMC2014_TKY.txt").write_text("1\tv\tc\n2\tv\tc\n2\tw\tc\n")
    np.save(tmp_path / "HEPTH.n4096.npy", np.array([3, 9, 1]))
    wanted = {"kosarak": [3, 2, 1], "brightkite": [2, 1], "foursquare": [2, 1], "hepth": [9, 3, 1]}
    for name, values in wanted.items():
        found = counts(name, setting)
        assert found.real
        assert found.values.tolist() == values
        assert data_file(name, setting) == tmp_path / DATA_SETS[name].file


def test_covid_counts_are_read_from_the_folder_by_day_or_made_up(tmp_path):
    from studies.papers.adaptive_covid import days

    made, real = days(Setting("small"))
    assert not real
    assert len(made) == 40
    (tmp_path / "us-covid-cases-2020.csv").write_text(
        "date,state,cases\n2020-03-10,Ohio,3\n2020-03-12,Ohio,5\n2020-03-12,Iowa,7\n"
    )
    found, real = days(Setting("small", data=tmp_path))
    assert real
    assert [day.tolist() for day in found][:1] == [[7, 5]]


def test_votes_are_read_from_the_folder_or_made_up(tmp_path):
    from studies.papers.adaptive_pate import votes_and_truth

    votes, truth, real = votes_and_truth(Setting("small"))
    assert not real
    assert votes.shape == (12, 30, 40)
    np.savez(tmp_path / "celeba-votes.npz", votes=np.ones((2, 3, 4)), truth=np.zeros((2, 4)))
    votes, truth, real = votes_and_truth(Setting("small", data=tmp_path))
    assert real
    assert (votes.shape, truth.shape) == ((2, 3, 4), (2, 4))


def rows_at(data, k, gap, **epsilons):
    return [{"data": data, "k": k, "gap": gap, "mechanism": m, "epsilon": e} for m, e in epsilons.items()]


def test_the_distance_tells_ties_apart_and_counts_what_it_leaves_out():
    from studies.papers.canonical_epsilon import distance
    from studies.papers.contest import BOUND, OURS

    rows = rows_at("Netflix", 10, 5, **{OURS: 3.5, BOUND: 1.0}) + rows_at("Patent", 10, 0, **{OURS: 2.0, BOUND: 1.0})
    rows += rows_at("Income", 10, 0, **{OURS: math.inf, BOUND: 1.0})
    told = distance(rows)
    assert "3.50 to 3.50 times the lower bound in 1 cases without a tie" in told
    assert "2.00 to 2.00 times the lower bound in 1 cases with a tie" in told
    assert "1 of 3 cases are left out" in told
