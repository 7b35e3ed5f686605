"""Mechanisms as measurements of OpenDP: with the library where it is installed, and what is refused without it."""

import sys
from types import SimpleNamespace

import pytest

import shortlist as sl
import shortlist.compat.opendp as opendp
from shortlist.mechanisms import CanonicalTopK, NoisyMax, OneshotTopK
from shortlist.privacy import ZCDP, ApproxDP, PureDP


@pytest.fixture(scope="module")
def dp():
    prelude = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


def test_a_measurement_draws_and_knows_its_price(dp):
    for budget, loss in ((PureDP(1.0), 1.0), (ZCDP(0.2), 0.2), (ApproxDP(1.0, 1e-6), (1.0, 1e-6))):
        made = opendp.measurement(NoisyMax(budget=budget, noise="gumbel"), monotone=True)
        assert made([9000.0, 20.0, 500.0]) == [0]
        assert made.map(1.0) == made.map(0.5) == loss


def test_the_map_refuses_more_than_the_noise_is_for(dp):
    made = opendp.measurement(NoisyMax(epsilon=1.0), sensitivity=2.0)
    assert made.map(2.0) == 1.0
    with pytest.raises(dp.OpenDPException, match="at most 2"):
        made.map(2.0000001)


def test_sets_lists_and_whole_numbers(dp):
    assert opendp.measurement(CanonicalTopK(k=2, epsilon=5.0), T=int, size=3)([9000, 20, 5000]) == [0, 2]
    made = opendp.measurement(OneshotTopK(k=2, epsilon=5.0), T=int, monotone=True)
    assert made([20, 9000, 5000]) == [1, 2]


def test_it_composes_with_theirs(dp):
    made = opendp.measurement(NoisyMax(epsilon=1.0), size=3)
    both = dp.c.make_composition([made, made])
    assert both.map(1.0) == pytest.approx(2.0)
    assert both([9000.0, 0.0, 0.0]) == [[0], [0]]


class Prelude(SimpleNamespace):
    """What is called of OpenDP, written down."""

    def __init__(self):
        name = "max_divergence zero_concentrated_divergence approximate atom_domain vector_domain linf_distance"
        calls = {one: (lambda *a, _name=one, **k: (_name, *a, *k.items())) for one in name.split()}
        super().__init__(**calls, m=SimpleNamespace(make_user_measurement=lambda *a, **k: SimpleNamespace(a=a, **k)))


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "opendp.prelude", Prelude())


@pytest.mark.usefixtures("stand_in")
def test_what_opendp_is_told():
    made = opendp.measurement(NoisyMax(epsilon=0.5), sensitivity=3, monotone=True)
    _, metric, measure, draw, price = made.a
    assert metric == ("linf_distance", ("T", float), ("monotonic", True))
    assert measure == ("max_divergence",)
    assert draw([9000.0, 1.0]) == [0]
    assert price(3.0) == 0.5
    with pytest.raises(ValueError, match="at most 3"):
        price(float("nan"))


def test_what_is_refused(monkeypatch):
    with pytest.raises(TypeError, match="mechanism must be"):
        opendp.measurement(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="T must be"):
        opendp.measurement(NoisyMax(epsilon=1.0), T=str)
    with pytest.raises(ValueError, match="sensitivity"):
        opendp.measurement(NoisyMax(epsilon=1.0), sensitivity=0.0)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ImportError, match="pip install opendp"):
        opendp.measurement(NoisyMax(epsilon=1.0))
    assert sl.__version__
