"""The page of one release: complete, alone, readable, and without anything that was not released."""

import os
from typing import Literal

import numpy as np
import pytest

import shortlist as sl
from shortlist import risk
from shortlist.mechanisms import NoisyMax
from shortlist.pages.release_page import release_page
from shortlist.privacy import BoundedRange
from tests.helpers.browser import check_contrast, check_keyboard, check_width

NAMES = ["oak", "elm", "<b>ash</b>", "a name of many letters " * 8, "yew"]
VOTES = {name: 90_000 - 10_000 * place for place, name in enumerate(NAMES)} | {"secret loser": 1}


@pytest.fixture
def ledger(tmp_path):
    return sl.Ledger(tmp_path / "budget.db", budget=sl.ApproxDP(3.0, 1e-6))


def test_the_page_says_what_was_released_promised_and_paid(tmp_path, ledger):
    release = sl.top_k(VOTES, 3, epsilon=1.0, monotone=True, public=True, ledger=ledger, purpose="weekly chart")
    release.report(tmp_path / "top3.html", title="Trees of the year")
    text = (tmp_path / "top3.html").read_text()
    for said in ("Trees of the year", "oak", "elm", "&lt;b&gt;ash", "guarded top-3", "PureDP(epsilon=1.0)", "73.2%"):
        assert said in text
    for said in ("weekly chart", "budget.db", "of up to epsilon 2 would", ledger.head[:16], "@misc", "secure source"):
        assert said in text
    assert str(tmp_path) not in text
    assert sorted(os.listdir(tmp_path)) == ["budget.db", "top3.html"]


def test_nothing_unreleased_is_in_the_file(tmp_path):
    release = sl.top_k(VOTES, 2, epsilon=5.0, monotone=True, public=True)
    release.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "secret loser" not in text
    assert "yew" not in text
    assert not any(str(count) in text for count in VOTES.values() if count > 1)


def test_the_receipt_shows_the_ledger_after_the_charge(ledger):
    first = sl.select([9, 1], epsilon=0.5, ledger=ledger, purpose="one")
    second = sl.select([9, 1], epsilon=0.25, ledger=ledger)
    assert first.receipt is not None
    assert second.receipt is not None
    assert (first.receipt.entry, second.receipt.entry) == (1, 2)
    assert first.receipt.spent.epsilon == 0.5
    assert second.receipt.spent == ledger.spent
    assert second.receipt.remaining == ledger.remaining
    assert second.receipt.head == ledger.head
    assert sl.select([9, 1], epsilon=0.5).receipt is None


def test_a_seeded_release_is_called_not_private():
    seeded = sl.top_k([9, 8, 1], 2, epsilon=1.0, monotone=True, gaps=True, rng=sl.testing.seeded(1))
    assert "Not private" in release_page(seeded)
    assert "lead over next <b>" in release_page(seeded)
    assert "Not private" not in release_page(sl.select([9, 1], epsilon=1.0))


@pytest.mark.parametrize("wrong", [{"path": b"x"}, {"path": "x.html", "title": 3}])
def test_a_wrong_argument_is_named(wrong):
    with pytest.raises(TypeError, match=r"path|title"):
        sl.select([9, 1], epsilon=1.0).report(**wrong)


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        sl.select([9, 1], epsilon=1.0).report(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


def test_risk_follows_from_the_guarantee():
    pure = risk(sl.PureDP(1.0))
    assert pure.guess == pytest.approx(0.7310586, abs=1e-6)
    assert dict(pure.posterior)[0.01] == pytest.approx(0.01 * 2.718281828 / (0.99 + 0.01 * 2.718281828), rel=1e-6)
    assert dict(pure.power)[0.01] == pytest.approx(0.0271828, rel=1e-5)
    approximate = risk(sl.ApproxDP(1.0, 1e-6))
    assert approximate.posterior == ()
    assert approximate.guess >= pure.guess
    assert risk(BoundedRange(1.0)).guess < pure.guess
    assert 0.5 < risk(sl.ZCDP(0.1)).guess < 0.64  # at most (1 + sqrt(rho / 2)) / 2, by Pinsker
    assert risk(sl.PureDP(50.0)).guess <= 1.0
    assert "right at most 50.1% of the time" in str(risk(sl.PureDP(1e-9)))


@pytest.mark.parametrize("epsilon", [1e-13, 1e-17, 1e-100])
def test_no_chance_is_shown_below_the_truth(epsilon):
    found = risk(sl.PureDP(epsilon))
    assert "right at most 50.1% of the time" in str(found)
    assert all(after > before for before, after in found.posterior)
    page = release_page(sl.select([9, 1], epsilon=epsilon))
    assert all(said in page for said in ("1.1%", "10.1%", "50.1%"))
    assert "right at most 73.2% of the time" in str(risk(sl.PureDP(1.0000004)))
    assert "right at most 100% of the time" in str(risk(sl.PureDP(900.0)))


def test_an_approximate_guarantee_is_said_as_it_is():
    """That delta bounds the chance of saying more than epsilon admits would be false: here that chance is above .1."""
    budget = sl.ApproxDP(1.0, 0.01)
    mechanism = NoisyMax(budget=budget, noise="gumbel")
    with_one, without = (
        np.array(mechanism.probabilities(sl.Scores(votes, sensitivity=1.0, monotone=False)))
        for votes in ([-3.0, 0.0], [-4.0, 1.0])
    )
    assert with_one[np.log(with_one / without) > budget.epsilon].sum() > 0.1
    assert np.clip(with_one - np.exp(budget.epsilon) * without, 0, None).sum() <= budget.delta
    words: dict[Literal["add-remove", "replace"], str] = {
        "add-remove": "without them",
        "replace": "with the other version of their data",
    }
    for neighbours, other in words.items():
        scores = sl.Scores([9.0, 1.0], sensitivity=1.0, monotone=False, neighbours=neighbours)
        page = release_page(mechanism.release(scores))
        assert "may say more" not in page
        assert "robability" not in page
        assert f"at most e<sup>ε</sup> times what it would be {other}" in " ".join(page.split())
        assert "plus δ = 0.01" in page


def test_no_cost_is_shown_smaller_than_it_is():
    page = release_page(sl.select([9, 1], epsilon=1.0000004))
    assert "ε = 1.0000004</span>, for every single" in page
    assert "multiply ε = 1.0000004 by m" in page


def test_a_name_cannot_turn_the_line_around():
    release = sl.top_k({"\u202eabc": 90, "b": 1, "c": 0}, 2, epsilon=5.0, monotone=True, public=True, gaps=True)
    assert '<bdi class="name"> abc</bdi>' in release_page(release)


def test_a_report_follows_a_link(tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "page.html").symlink_to(tmp_path / "real.html")
    sl.select([9, 1], epsilon=1.0).report(tmp_path / "page.html")
    assert (tmp_path / "real.html").read_text().startswith("<!")
    assert (tmp_path / "page.html").is_symlink()


@pytest.mark.parametrize("budget", [sl.PureDP(1.0), sl.ApproxDP(1.0, 1e-6), sl.ZCDP(0.05)], ids=str)
def test_the_page_reads_well_for_every_budget(look, tmp_path, ledger, budget):
    release = sl.top_k(VOTES, 4, budget=budget, monotone=True, public=True, ledger=ledger)
    release.report(tmp_path / "page.html")
    for width, scheme in ((360, "dark"), (1440, "light")):
        page = look((tmp_path / "page.html").as_uri(), width=width, scheme=scheme)
        check_width(page)
        check_contrast(page)
    check_keyboard(page)
    assert look.complaints == []
    assert len(look.requests) == 2


def test_the_command_writes_the_same_page(tmp_path):
    from typer.testing import CliRunner

    from shortlist.cli.app import app
    from tests.helpers.studios import fill

    fill(tmp_path)
    asked = (
        f"top {tmp_path}/rentals.csv -k 3 --user who --item film --candidates {tmp_path}/films.txt --epsilon 1".split()
    )
    paid = ["--ledger", f"{tmp_path}/year.db", "--purpose", "films of the week", "--report", f"{tmp_path}/page.html"]
    assert CliRunner().invoke(app, [*asked, *paid]).exit_code == 0
    text = (tmp_path / "page.html").read_text()
    assert "<h1>films of the week</h1>" in text
    assert "year.db" in text
    assert CliRunner().invoke(app, [*asked, "--report", f"{tmp_path}/page.txt"]).exit_code != 0
    assert sl.Ledger(tmp_path / "year.db").spent.epsilon == 1.0
    unsaid = [*asked, "--ledger", f"{tmp_path}/year.db", "--report", f"{tmp_path}/unsaid.html"]
    assert CliRunner().invoke(app, unsaid).exit_code == 0
    assert str(tmp_path) not in (tmp_path / "unsaid.html").read_text()
    assert "top 3 of rentals.csv" in (tmp_path / "unsaid.html").read_text()


def test_a_lead_stands_between_the_value_and_its_bar():
    release = sl.top_k(
        list(range(40)), 15, epsilon=1.0, monotone=True, values=True, gaps=True, rng=sl.testing.seeded(1)
    )
    page = release_page(release, "")
    assert page.count('<span class="value lead">') == page.count('</b></span><span class="track"') == 15
    assert ".value + .lead + .track { grid-row: 3; }" in page, "in two columns it has a row of its own"
