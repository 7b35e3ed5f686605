"""The compiled passes give what NumPy gives, bit for bit, or nothing; a release is the same with and without them."""

import os
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import shortlist as sl
from shortlist import _scan, _scan_hits
from shortlist.exact.noise_distributions import KINDS
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.mechanisms import NoisyMax, OneshotTopK, SparseVector
from shortlist.sampling.skip_levels import ByLevel, held, rule_of
from shortlist.sampling.skip_threshold import sampled
from shortlist.scores import Scores, as_scores
from tests.helpers.typed import present

built = pytest.mark.skipif(_scan.LIBRARY is None, reason="not built here: there was no C compiler, or it is turned off")

DTYPES = [np.dtype(name) for name in _scan.TYPES.values()]
LAYOUTS = {
    "contiguous": lambda values: values,
    "every third": lambda values: np.repeat(values, 3)[::3],
    "backwards": lambda values: values[::-1],
    "from an odd place": lambda values: np.concatenate([values[:1], values])[1:],
    "read only": lambda values: np.frombuffer(values.tobytes(), values.dtype),
    "one for all": lambda values: np.broadcast_to(values[0], values.shape),
}


def some(dtype, d, seed=1):
    """Scores of that type all over its range, with ties, and -inf among floats."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        values = (rng.normal(0, 30, d) // 0.25 * 0.25).astype(dtype)
        values[rng.integers(0, d, d // 10)] = -np.inf
        values[rng.integers(0, d, d // 10)] = -0.0
        return values
    bounds = np.iinfo(dtype)
    low, high = (bounds.min, bounds.max) if seed % 2 else (max(bounds.min, -99), min(bounds.max, 99))
    return rng.integers(low, high, d, dtype, endpoint=True)


def laid_out():
    return [pytest.param(dtype, way, id=f"{dtype}, {name}") for dtype, (name, way) in product(DTYPES, LAYOUTS.items())]


@built
@pytest.mark.parametrize(("dtype", "way"), laid_out())
@pytest.mark.parametrize("run", [32, 512])
def test_maxima_of_runs_and_columns_are_those_of_numpy(dtype, way, run):
    values = way(some(dtype, 9 * 512 + 77))
    found = present(_scan.run_maxima(values, run))
    plain = np.maximum.reduceat(values, np.arange(0, len(values), run))
    assert found.dtype == dtype
    assert np.array_equal(found, plain)
    blocks = np.array([4, 0, 7, 8])
    for columns in (1, run // 32):
        table = values[: len(values) // run * run].reshape(-1, run // columns, columns)
        assert np.array_equal(present(_scan.column_maxima(values, run, columns, blocks)), table[blocks].max(1).ravel())


@built
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("dtype", "way"), laid_out())
def test_levels_and_histograms_are_those_of_numpy(dtype, way, seed, monkeypatch):
    values = way(some(dtype, 2048 + 5, seed))
    index, blocks = np.arange(0, len(values), 7)[::-1], np.array([1, 0, 3])
    for noise, scale in product(KINDS.values(), (Fraction(1, 3), Fraction(10), Fraction(2**40))):
        contest = Contest(values, 3, scale, noise, sorted(values.tolist())[-3])
        for threshold, (at, starts) in product((-3.5, 0.0, 7.25), ((None, None), (index, index), (index, index * 2))):
            with monkeypatch.context() as without:
                without.setattr(_scan, "LIBRARY", None)
                plain = ByLevel.of(contest, values, threshold, 5, index=at, starts=starts, size=3)
            rule = present(rule_of(contest, threshold))
            found = _scan.sorted_by_level(values, at, rule, 1.0, starts, 3)
            if dtype != np.int64 or seed == 2:
                found = present(found)
            if found is not None:  # 64-bit integers may lie too far apart
                assert np.array_equal(found[0], plain.starts)
                assert {level: count for level, count in enumerate(found[1]) if count} == plain.counts
                assert found[2] == plain.high
        counts = _scan.height_counts(values, 512, blocks, present(rule_of(contest)))
        with monkeypatch.context() as without:
            without.setattr(_scan, "LIBRARY", None)
            others = held(contest, values, 512, blocks)
        assert counts is None or np.array_equal(counts, others)


@built
def test_heights_at_the_edges_of_their_bins_are_counted_as_numpy_counts_them(monkeypatch):
    edges = np.arange(-104, 104) / 2
    values = np.concatenate([edges, np.nextafter(edges, -99), np.nextafter(edges, 99), [-np.inf, -0.0, 1e300, -1e308]])
    contest = Contest(values, 1, Fraction(1), KINDS["gumbel"], 0.0)
    found = present(_scan.height_counts(values, len(values), np.array([0]), present(rule_of(contest))))
    monkeypatch.setattr(_scan, "LIBRARY", None)
    assert np.array_equal(found, held(contest, values, len(values), np.array([0])))
    assert found.sum() < len(values)


@built
@pytest.mark.parametrize("place", [0, 511, 512, 2047, 2100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_nan_is_seen_wherever_it_stands(place, dtype):
    values = np.full(2101, -np.inf, dtype)
    assert _scan.run_maxima(values, 512) is not None
    values[place] = np.nan
    assert _scan.run_maxima(values, 512) is None
    assert _scan.run_maxima(np.repeat(values, 2)[::2], 512) is None


@built
@pytest.mark.parametrize(("dtype", "way"), laid_out())
def test_the_kth_largest_is_that_of_numpy(dtype, way):
    for values in (some(dtype, 300), np.sort(some(dtype, 300, 2)), some(dtype, 300, 3)[np.zeros(300, int)]):
        laid = way(values)
        for k in (2, 31, 128):
            assert _scan.kth_of(laid, k) == np.sort(laid)[-k]
        assert _scan.kth_of(laid, 129) is None
        assert _scan.kth_of(laid[: _scan.MANY - 1], 2) is None


@built
@pytest.mark.parametrize(("dtype", "way"), laid_out())
def test_clear_winners_are_those_of_numpy(dtype, way, monkeypatch):
    """From the same words, whether they are clear or not; also where all win, and where a score is -inf."""
    source = sl.testing.seeded(5)
    for (d, k), seed, noise in product([(2, 1), (5, 5), (40, 3), (300, 32)], (1, 2), KINDS.values()):
        base = some(dtype, d, seed)
        base[: k + 1] = 1  # at least k are above -inf
        values = way(base)
        contest = Contest(values, k, Fraction(3, 2), noise, kth_largest(values, k))
        words = source.words(d)
        found = contest.clear_winners(words)
        with monkeypatch.context() as without:
            without.setattr(_scan, "LIBRARY", None)
            plain = contest.clear_winners(words)
        assert found is None or plain is None or found.tolist() == plain.tolist()
        assert found is not None or dtype == np.int64 or seed == 1


@built
def test_what_the_passes_do_not_know_is_left_to_numpy():
    plain = np.arange(4096.0)
    unaligned = np.frombuffer(b"x" + plain.tobytes(), np.uint8)[1:].view(np.float64)
    assert not unaligned.flags.aligned
    rule = present(rule_of(Contest(plain, 1, Fraction(1), KINDS["gumbel"], 0.0)))
    strange = [unaligned, plain.astype(plain.dtype.newbyteorder()), plain.astype(np.float16), plain.astype(np.uint64)]
    for values in [*strange, plain.astype(np.longdouble), plain.reshape(2, -1), plain > 5, plain.astype(object)]:
        assert _scan.run_maxima(values, 512) is None
        assert _scan.column_maxima(values, 512, 16, np.array([0])) is None
        assert _scan.sorted_by_level(values, None, rule, 1.0, None, 1) is None
        assert _scan.height_counts(values, 512, np.array([0]), rule) is None
        assert _scan.kth_of(values, 2) is None
        assert _scan_hits.clear_winners(values, np.zeros(len(values), np.uint64), 1, 0, 1.0, 0) is None
        hits = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.uint64)
        assert _scan_hits.clear_hits(values, hits, 1, 0, rule) is None
        assert _scan.threshold_place(values, values, sampled(len(plain), KINDS["gumbel"]), rule, 1.0) is None


@built
@pytest.mark.parametrize(
    "values", [np.array([-(2**63), 2**63 - 1] * 256), np.array([-1.7e308, 1.7e308] * 256)], ids=["integers", "floats"]
)
def test_differences_that_leave_the_range_are_left_to_numpy(values):
    contest = Contest(values, 1, Fraction(1), KINDS["laplace"], values.max().item())
    rule = present(rule_of(contest))
    assert _scan.sorted_by_level(values, None, rule, 1.0, None, 1) is None
    assert _scan.height_counts(values, 512, np.array([0]), rule) is None
    assert _scan.threshold_place(values, values, sampled(len(values), KINDS["laplace"]), rule, 1.0) is None


@built
def test_no_scores_and_no_blocks_are_fine():
    nothing, none = np.empty(0), np.empty(0, np.int64)
    rule = present(rule_of(Contest(nothing, 1, Fraction(1), KINDS["gumbel"], 0.0)))
    assert present(_scan.run_maxima(nothing, 512)).shape == (0,)
    assert present(_scan.column_maxima(nothing, 512, 16, none)).shape == (0,)
    assert present(_scan.sorted_by_level(nothing, None, rule, 1.0, None, 1))[0].shape == (0,)
    assert present(_scan.height_counts(nothing, 512, none, rule)).shape == (0, _scan.BINS)


SHAPES = {
    "bell": lambda rng, d: rng.normal(0, 100, d),
    "never": lambda rng, d: np.where(rng.random(d) < 0.5, -np.inf, rng.normal(0, 100, d)),
    "tied": lambda rng, d: np.minimum(rng.pareto(1.0, d) * 10, 100).round(),
    "sorted": lambda rng, d: np.sort(rng.normal(0, 100, d)),
    "extreme": lambda rng, d: rng.choice([-1.7e308, 0.0, 1e300, 1.7e308], d),
    "equal": lambda rng, d: np.zeros(d),
}


def released(values, source):
    """Several releases from one source, and the word that it gives next."""
    one = NoisyMax(epsilon=0.1, noise="half-logistic").release(values, monotone=True, rng=source)
    ten = OneshotTopK(k=10, epsilon=1.0, noise="laplace").release(values, monotone=True, rng=source)
    above = SparseVector(k=3, threshold=90, epsilon=1.0, monotone=True).release(values, rng=source)
    return one.index, ten.indices, above.indices, source.words(1).tolist()


@built
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_release_is_the_same_with_and_without_them(shape, dtype, monkeypatch):
    for d, seed in ((5000, 1), (70_001, 2)):
        with np.errstate(all="ignore"):
            values = SHAPES[shape](np.random.default_rng(seed), d)
            if np.dtype(dtype).kind != "f":
                values = np.nan_to_num(values).clip(np.iinfo(dtype).min // 2, np.iinfo(dtype).max // 2)
            values = values.astype(dtype)
            if dtype == "float32":
                values = values.clip(max=1e38)
        with_them = released(values, sl.testing.seeded(seed))
        with monkeypatch.context() as without:
            without.setattr(_scan, "LIBRARY", None)
            assert released(values, sl.testing.seeded(seed)) == with_them


def test_what_is_no_list_of_scores_is_refused_in_the_same_words(monkeypatch):
    for wrong in (np.nan, np.inf):
        values = np.zeros(2 * _scan.LOOKED_AT)
        values[12_345] = wrong
        said = []
        for library in (_scan.LIBRARY, None):
            monkeypatch.setattr(_scan, "LIBRARY", library)
            with pytest.raises(ValueError, match="must not be") as error:
                sl.select(values, epsilon=1.0)
            said.append(str(error.value))
        assert said[0] == said[1]
    with pytest.raises(ValueError, match="every score is -inf"):
        sl.select(np.full(2 * _scan.LOOKED_AT, -np.inf), epsilon=1.0)


@built
def test_a_look_is_kept_for_one_call_alone():
    """Scores that somebody holds are looked at anew, and an array that changed between calls is seen as it is now."""
    values = np.zeros(2 * _scan.LOOKED_AT)
    assert Scores(values)._seen is None
    asked = as_scores(values, monotone=True)
    assert present(asked._seen).shape == (len(values) // _scan.RUN,)
    assert asked.values.tolist() == values.tolist()
    assert asked._with("_values", values)._seen is None
    assert as_scores(values, labels=range(len(values)), public=True)._seen is None
    for place in (7, 20_000):
        values[:] = 0.0
        values[place] = 1e6
        assert sl.select(values, epsilon=1.0, monotone=True).index == place
        assert sl.select(values, epsilon=1.0, monotone=True, largest=False).index != place


def test_only_many_plain_floats_are_looked_at_once(monkeypatch):
    many = np.ones(_scan.LOOKED_AT)
    for other in (many.tolist(), many[1:], many.reshape(2, -1), many.astype(int), np.ma.masked_array(many)):
        assert _scan.float_peaks(other) is None
    monkeypatch.setattr(_scan, "LIBRARY", None)
    assert _scan.float_peaks(many) is None


def test_a_file_that_is_no_library_or_of_another_version_is_left_alone(tmp_path, monkeypatch):
    assert _scan.library(tmp_path / "nothing") is None
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"no library")
    assert _scan.library(wrong) is None
    place = Path(_scan.__file__).with_name("_scan.native")
    if place.exists():
        assert _scan.library(place) is not None
        monkeypatch.setattr(_scan, "NUMBER", _scan.NUMBER + 1)
        assert _scan.library(place) is None


def test_the_environment_turns_them_off():
    code = "import shortlist._scan as scan; assert scan.LIBRARY is None"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "SHORTLIST_COMPILED": "0"})
