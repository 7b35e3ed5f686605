"""Exports to dp-accounting, whose events are stood in for here: it is not installed for the tests."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from shortlist.accounting.tight_zcdp import pure_rho, range_rho
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, GumbelDP, PureDP, compose


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


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match="pip install dp-accounting"):
        PureDP(0.1).to_dp_event()
