"""Exports to dp-accounting, whose events are stood in for here: it is not installed for the tests."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from shortlist.privacy import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    GumbelDP,
    NegativeBinomial,
    PureDP,
    Tuned,
    compose,
)
from tests.helpers.inside import pure_rho, range_rho


@dataclass
class ZCDpEvent:
    rho: float
    xi: float = 0.0


@dataclass
class SelfComposedDpEvent:
    event: ZCDpEvent
    count: int


@dataclass
class ComposedDpEvent:
    events: list[SelfComposedDpEvent]


@pytest.fixture
def dp_accounting(monkeypatch):
    package, events = ModuleType("dp_accounting"), ModuleType("dp_accounting.dp_event")
    for stand_in in (ZCDpEvent, SelfComposedDpEvent, ComposedDpEvent):
        setattr(events, stand_in.__name__, stand_in)
    monkeypatch.setitem(sys.modules, "dp_accounting", package)
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", events)


@pytest.mark.usefixtures("dp_accounting")
def test_every_charge_is_exported_with_its_count():
    event = compose(BoundedRange(0.5).repeat(100), PureDP(0.5)).to_dp_event()
    assert event.events == [
        SelfComposedDpEvent(ZCDpEvent(range_rho(0.5)), 100),
        SelfComposedDpEvent(ZCDpEvent(pure_rho(0.5)), 1),
    ]
    assert ZCDP(0.25).to_dp_event() == ComposedDpEvent([SelfComposedDpEvent(ZCDpEvent(0.25), 1)])


@pytest.mark.usefixtures("dp_accounting")
def test_what_no_event_can_say_is_refused():
    with pytest.raises(ValueError, match="exponential tail"):
        GumbelDP(0.1).to_dp_event()
    with pytest.raises(ValueError, match="may reveal everything"):
        compose(PureDP(0.1), ApproxDP(0.1, 1e-6)).to_dp_event()


@dataclass
class Distribution:
    """{multiple of the step: mass}, and what is infinite; the same for adding and for removing."""

    masses: dict[int, float]
    step: float
    infinite: float

    def delta(self, epsilon: float) -> float:
        losses = {place * self.step: mass for place, mass in self.masses.items()}
        return self.infinite + sum(-math.expm1(epsilon - loss) * p for loss, p in losses.items() if loss > epsilon)


@pytest.fixture
def distributions(monkeypatch):
    package, pmf, pld = (ModuleType(name) for name in ("dp_accounting.pld", "pld_pmf", "privacy_loss_distribution"))
    monkeypatch.setattr(pmf, "create_pmf", lambda *found: Distribution(*found[:3]), raising=False)
    monkeypatch.setattr(pld, "PrivacyLossDistribution", lambda found: found, raising=False)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", package)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.pld_pmf", pmf)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", pld)


TUNED = Tuned(PureDP(0.5), NegativeBinomial(mean=5))
EXPORTED = [PureDP(0.5), BoundedRange(1.0), ZCDP(0.1), ApproxDP(0.5, 1e-6), TUNED]


@pytest.mark.usefixtures("dp_accounting", "distributions")
@pytest.mark.parametrize("guarantee", EXPORTED, ids=repr)
def test_a_distribution_of_losses_never_says_less_and_little_more(guarantee):
    found = guarantee.to_pld(step=1e-3)
    assert sum(found.masses.values()) + found.infinite == pytest.approx(1, abs=1e-9)
    for epsilon in (0.0, 0.1, 0.3333, 0.7):
        least, most = guarantee.delta_bounds(epsilon)
        assert least <= found.delta(epsilon) <= most + 1e-4  # its hull, which may be below a bound with one order


@pytest.mark.parametrize("guarantee", [*EXPORTED, compose(PureDP(0.2).repeat(3), ZCDP(0.05))], ids=repr)
def test_the_real_distribution_never_says_less_than_ours_and_little_more(guarantee):
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    losses = guarantee.to_pld()
    for epsilon in (0.1, 0.5, 1.0):
        least, most = guarantee.delta_bounds(epsilon)
        assert least <= losses.get_delta_for_epsilon(epsilon) <= most + 1e-4
    several = losses.self_compose(4)
    least, most = guarantee.repeat(4).delta_bounds(1.0)
    assert least * (1 - 1e-6) <= several.get_delta_for_epsilon(1.0)
    if isinstance(guarantee, PureDP):  # of the others no one distribution says all, so that ours are smaller
        assert several.get_delta_for_epsilon(1.0) <= most + 1e-3


def test_their_own_distributions_stay_below_ours():
    """The other way round: what their mechanisms lose is within the guarantee that we export for them."""
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    theirs = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    pairs = [(theirs.from_laplace_mechanism(2.0), PureDP(0.5)), (theirs.from_gaussian_mechanism(2.0), ZCDP(0.125))]
    pairs += [(theirs.from_randomized_response(0.5, 2), PureDP(math.log(3)))]
    for one, guarantee in pairs:
        for epsilon in (0.1, 0.4, 1.0):
            known = one.get_delta_for_epsilon(epsilon)
            assert known <= guarantee.to_pld().get_delta_for_epsilon(epsilon) + 1e-4
            assert known <= guarantee.delta_at(epsilon) + 1e-4  # their own rounding


@pytest.mark.parametrize("guarantee", [PureDP(0.5), BoundedRange(1.0), ZCDP(0.1), TUNED], ids=repr)
def test_their_accountants_never_say_less_than_ours(guarantee):
    dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    rdp = pytest.importorskip("dp_accounting.rdp")
    event = guarantee.repeat(3).to_dp_event()
    relations = dp_accounting.NeighboringRelation
    for relation in (relations.ADD_OR_REMOVE_ONE, relations.REPLACE_ONE):
        books = rdp.RdpAccountant(neighboring_relation=relation).compose(event)
        epsilon = books.get_epsilon(1e-6)
        assert guarantee.repeat(3).epsilon_bounds(1e-6)[0] <= epsilon
        rho = sum(part.event.rho * part.count for part in event.events)
        assert epsilon <= 1.05 * ZCDP(rho).epsilon_at(1e-6) + 0.05  # its orders are a grid


def test_a_step_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="step must be larger"):
        PureDP(1.0).to_pld(step=1e-9)
    with pytest.raises(ValueError, match="step must be"):
        PureDP(1.0).to_pld(step=0.0)


def test_a_missing_package_is_named(monkeypatch):
    for name in ("dp_accounting", "dp_accounting.dp_event", "dp_accounting.pld.pld_pmf"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install dp-accounting"):
        PureDP(0.1).to_pld()
    with pytest.raises(ImportError, match="pip install dp-accounting"):
        PureDP(0.1).to_dp_event()
