"""A release as a value: copies, pickles, JSON and files give it back unchanged, and what is damaged is refused."""

import contextlib
import copy
import dataclasses
import datetime
import functools
import json
import math
import os
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Ledger, PureDP, Release
from shortlist import release_io as release_format
from shortlist._arrays import Frame
from shortlist.mechanisms import SparseVector
from shortlist.privacy import (
    BoundedRange,
    ExPost,
    Guarantee,
    GumbelDP,
    Mixed,
    Poisson,
    RenyiDP,
    ThinnedRange,
    Tuned,
    compose,
)
from shortlist.release import Extras
from shortlist.testing import seeded
from shortlist.utility.estimates import ThresholdGaps
from tests.helpers.releases import NUMBERED, PUBLIC, UNKNOWN
from tests.helpers.support import LETTERS
from tests.helpers.taint import COUNTS
from tests.helpers.terminal import called
from tests.helpers.typed import of_kind, present
from tests.tables.tables import ENGINES, source

GOLDEN = Path(__file__).parent / "golden_releases"
FAMILIES = {**PUBLIC, **NUMBERED, **UNKNOWN}


def release_of(name, seed=5, **more):
    scores = sl.Scores(COUNTS, monotone=True, public=name not in UNKNOWN)
    return FAMILIES[name].release(scores, rng=seeded(seed), **more)


kept = functools.cache(release_of)
"""The same, drawn once for all examples of a test; nobody may change it."""


def ways(release):
    """Every way there is and back."""
    return {
        "copy": copy.copy(release),
        "deepcopy": copy.deepcopy(release),
        "json": Release.from_json(release.to_json()),
        "bytes": Release.from_json(release.to_json().encode()),
        **{f"pickle {n}": pickle.loads(pickle.dumps(release, n)) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    }


def check_unchanged(release):
    for way, again in ways(release).items():
        assert again == release, way
        assert hash(again) == hash(release), way
        assert str(again) == str(release), way
        assert again.to_json() == release.to_json(), way
        assert list(map(type, again.items or ())) == list(map(type, release.items or ())), way


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_comes_back_unchanged(name, tmp_path):
    ledger = Ledger(tmp_path / "book.db", budget=ApproxDP(100.0, 0.1))
    for release in (release_of(name), release_of(name, ledger=ledger, purpose="=1 ünï\x1b\n")):
        check_unchanged(release)
        release.save(tmp_path / "release.json")
        assert Release.load(tmp_path / "release.json") == release


@pytest.mark.parametrize("engine", ENGINES)
def test_releases_of_every_engine_come_back_unchanged_and_make_the_same_frame(engine, tmp_path):
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
    pairs = [(user, days[n], bool(n), f"x{n}", n) for n in range(3) for user in range(300 * (n + 1))]
    rows = pl.DataFrame(pairs, schema=["user", "day", "new", "what", "n"], orient="row")
    table = source(engine, rows, tmp_path)
    scores = sl.count(table, user="user", item=["day", "new", "what", "n"])
    release = sl.top_k(scores, 2, epsilon=5.0, delta=1e-3)
    check_unchanged(release)
    again = Release.from_json(release.to_json())
    one, other = release.to_frame(), again.to_frame()
    assert type(one) is type(other)
    assert str(one) == str(other) or engine == "ibis"
    if engine not in ("csv", "jsonl"):
        assert set(map(type, of_kind(tuple, present(release.items)[0]))) == {datetime.date, bool, str, int}


def test_frames_have_the_items_own_types(tmp_path):
    import duckdb
    import pyarrow as pa

    table = pa.table({"user": [1, 2], "item": pa.array(["a", "b"], pa.large_string())})
    asked: dict[str, Any] = {"user": "user", "item": "item", "candidates": ["a", "b", "c"]}
    release = sl.top_k(sl.count(table, **asked), 2, epsilon=1.0, ordered=True)
    assert release.to_frame().schema.types == [pa.int64(), pa.large_string()]
    frame = table.to_pandas(types_mapper=lambda kind: __import__("pandas").ArrowDtype(kind))
    release = sl.top_k(sl.count(frame, **asked), 2, epsilon=1.0)
    assert release.to_frame()["item"].dtype == frame["item"].dtype
    none = dataclasses.replace(release, items=[], indices=None)
    assert none.to_frame()["item"].dtype == frame["item"].dtype
    private = duckdb.connect()
    private.execute("CREATE TABLE secrets AS SELECT 1 AS user, DATE '2024-01-01' AS item")
    days = sl.top_k(
        sl.count(private.table("secrets"), user="user", item="item", candidates=["2024-01-01", "2024-01-02"]),
        1, epsilon=9.0,
    ).to_frame()  # fmt: skip
    assert [str(kind) for kind in days.types] == ["DATE"]
    with pytest.raises(duckdb.CatalogException):
        days.query("other", "SELECT * FROM secrets")


def test_no_item_column_is_lost_to_its_name():
    rows = pl.DataFrame({"user": [1, 2], "value": ["x", "y"], "item value": [1, 2]})
    scores = sl.count(rows, user="user", item=["value", "item value"], candidates=[("x", 1), ("y", 2)])
    frame = sl.top_k(scores, 1, epsilon=1.0, values=True, gaps=True).to_frame()
    assert frame.columns == ["rank", "item value", "item item value", "value", "margin", "gap"]
    assert frame.dtypes == [pl.Int64, pl.String, pl.Int64, *[pl.Float64] * 3]


def test_without_a_session_spark_says_what_to_do():
    pytest.importorskip("pyspark")
    release = dataclasses.replace(sl.select([9, 1], epsilon=1.0), frame=Frame("spark", ("bigint",)))
    with pytest.raises(RuntimeError, match="active session"):
        release.to_frame()


def test_a_frame_of_unknown_types_is_refused_in_words():
    release = sl.select([9, 1], epsilon=1.0)
    for frame in (Frame("duckdb"), Frame("polars", ("Object",)), Frame("pandas", ("int64", "int64"))):
        with pytest.raises(ValueError, match=r"read \.columns"):
            dataclasses.replace(release, frame=frame).to_frame()


plain = (
    st.text(LETTERS) | st.integers() | st.booleans() | st.floats(allow_nan=False) | st.none() | st.dates()
    | st.datetimes() | st.datetimes(timezones=st.just(datetime.UTC))
)  # fmt: skip
labels = st.recursive(plain, lambda parts: st.lists(parts, max_size=3).map(tuple), max_leaves=4)


@settings(deadline=None, max_examples=200)
@given(st.lists(labels, min_size=1, max_size=4))
def test_labels_keep_their_types(items):
    release = dataclasses.replace(kept("ordered"), items=items, indices=None)
    with contextlib.suppress(ValueError):  # nested deeper than a label may be
        text = release.to_json()
        again = Release.from_json(text)
        assert again == release
        assert repr(again.items) == repr(release.items)  # -0.0, and True for 1, too
        assert "NaN" not in json.dumps(json.loads(text)["version"])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=4))
def test_numbers_come_back_bit_by_bit(numbers):
    release = dataclasses.replace(
        kept("ordered"), items=numbers, indices=None, extras=Extras(values=numbers, gaps=numbers)
    )
    text = release.to_json()
    assert "Infinity" not in text
    again = Release.from_json(text)
    assert (
        list(map(float.hex, present(again.values)))
        == list(map(float.hex, numbers))
        == list(map(float.hex, present(again.gaps)))
    )


def test_labels_of_other_kinds_are_refused_in_words_and_pickle_still_works():
    for label in (Decimal("1.5"), frozenset({1}), b"bytes", 2**5000, ((((((((((1,),),),),),),),),),)):
        release = dataclasses.replace(release_of("ordered"), items=[label, "x"], indices=None)
        with pytest.raises(ValueError, match="JSON"):
            release.to_json()
        assert pickle.loads(pickle.dumps(release)) == release


GUARANTEES = [
    PureDP(0.1), ApproxDP(0.1, 1e-6), ZCDP(0.3, 1e-9), RenyiDP([2.0, 3.0], [0.1, 0.2]), BoundedRange(0.7),
    ThinnedRange(0.1, 3, 1e-7), GumbelDP(0.3, 4, False), ExPost(1.0, 0.3),
    compose(PureDP(0.1), BoundedRange(0.2), PureDP(0.1)),
    Mixed(((PureDP(0.1), 2), (BoundedRange(0.2), 1))), Tuned(PureDP(0.1), Poisson(3.0)),
]  # fmt: skip


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: type(one).__name__)
def test_every_guarantee_comes_back_unchanged(guarantee):
    release = dataclasses.replace(release_of("set"), guarantee=guarantee, charge=guarantee)
    check_unchanged(release)
    assert json.loads(release.to_json())["guarantee"]["kind"] == type(guarantee).__name__


def test_the_format_knows_every_guarantee_and_every_field():
    """Whoever adds one finds out here."""
    subclasses = (kind for kind in Guarantee.__subclasses__() if kind.__module__.startswith("shortlist."))
    kinds = {kind.__name__ for kind in subclasses}  # by name: a class with slots is made twice
    assert kinds == {"Mixed", "Tuned", *(kind.__name__ for kind in release_format.GUARANTEES)}
    known = {*release_format.COMMON, *release_format.NUMBERS, *release_format.EXTRAS}
    common, extras = ({one.name for one in dataclasses.fields(kind)} for kind in (Release, Extras))
    assert known == (common - {"extras"}) | extras
    assert {type(one).__name__ for one in GUARANTEES} == kinds


def test_equality_is_by_content_and_by_type():
    release = release_of("ordered")
    assert release == release_of("ordered")
    assert release != release_of("set")
    assert release != "release"
    whole, real, truth = (dataclasses.replace(release, items=[one, (one,)], indices=None) for one in (1, 1.0, True))
    assert len({whole, real, truth}) == 3
    assert whole != real != truth != whole
    for one in dataclasses.fields(Release):
        other = copy.copy(release)
        object.__setattr__(other, one.name, "something else")
        assert other != release, one.name


def test_answers_and_evidence_still_work_when_they_come_back():
    release = release_of("sparse vector")
    again = Release.from_json(release.to_json())
    assert again.lower_bound(0.9) == release.lower_bound(0.9)
    assert again.refine([1.0, 2.0], variance=1.0) == release.refine([1.0, 2.0], variance=1.0)
    assert present(again.answers)[0].lower_bound(0.9) == present(release.answers)[0].lower_bound(0.9)
    assert again.cost == release.cost
    whole = SparseVector(threshold=100, k=1, epsilon=1.0, noise="geometric", monotone=True).release([900, 1])
    law = of_kind(ThresholdGaps, Release.from_json(whole.to_json()).evidence).laws[0]
    assert type(law.threshold) is int


# ---- files


def test_a_saved_file_is_for_its_owner_and_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    release = release_of("set")
    path = tmp_path / "top.json"
    release.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == release.to_json() + "\n"
    path.chmod(0o644)
    release.save(str(path))
    assert path.stat().st_mode & 0o777 == 0o644
    broken = dataclasses.replace(release, items=[Decimal(1), "x"], indices=None)
    with pytest.raises(ValueError, match="Decimal"):
        broken.save(path)
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        release.save(path)
    assert os.listdir(tmp_path) == ["top.json"]
    with pytest.raises(TypeError, match="path must be text"):
        release.save(b"top.json")
    with pytest.raises(FileNotFoundError):
        Release.load(tmp_path / "nothing.json")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_stay_readable(path):
    text = path.read_text()
    release = Release.load(path)
    assert json.loads(release.to_json()) == json.loads(text)  # adds nothing, loses nothing
    assert release == pickle.loads(pickle.dumps(release))
    assert str(release)
    assert release.to_frame() is not None or release.items is None


def test_what_the_golden_files_say():
    assert len(list(GOLDEN.glob("*.json"))) >= 16
    dated = Release.load(GOLDEN / "dates-and-tuples.json")
    assert dated.items == [
        (datetime.date(2024, 1, 2), True, "tea", 7),
        (datetime.date(2024, 1, 3), False, "=1+1", 2**64 - 1),
    ]
    assert dated.item_columns == ("day", "new", "what", "n")
    kinds = Release.load(GOLDEN / "labels.json")
    assert repr(kinds.items) == (
        "['\\x1b[31m', -1, -0.0, inf, True, None, datetime.date(1, 1, 1), "
        "datetime.datetime(2024, 1, 1, 12, 30, 0, 5), (1, ('x', 1.0)), 1267650600228229401496703205376]"
    )
    failed = Release.load(GOLDEN / "stable-failed.json")
    assert failed.items is None
    assert Release.load(GOLDEN / "large-gap.json").k == 2
    assert present(Release.load(GOLDEN / "exponential-with-gap.json").p_value) > 0
    assert present(Release.load(GOLDEN / "sparse-vector.json").answers)[0].above
    paid = Release.load(GOLDEN / "paid.json")
    assert present(paid.receipt).entry == 1
    assert present(paid.receipt).spent.delta > 0


def test_the_command_line_prints_the_release_itself_with_its_receipt(tmp_path):
    rows = [(user, day) for n, day in enumerate(("2024-01-01", "2024-01-02")) for user in range(900 - n)]
    days = pl.DataFrame(rows, schema=["who", "day"], orient="row").with_columns(pl.col("day").str.to_date())
    days.write_parquet(tmp_path / "rows.parquet")
    Ledger(tmp_path / "book.db", budget=ApproxDP(3.0, 1e-3))
    asked = ("top", "rows.parquet", "-k", "2", "--user", "who", "--item", "day", "--epsilon", "1", "--delta", "1e-6")
    done = called(*asked, "--ledger", "book.db", "--json", cwd=tmp_path)
    release = Release.from_json(done.stdout)
    assert release.items == [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    assert (present(release.receipt).entry, present(release.receipt).ledger) == (1, "book.db")
    assert {"items", "ordered", "guarantee", "mechanism", "why"} <= set(json.loads(done.stdout))


# ---- what is no release


def edited(**changes):
    content = json.loads(release_of("sparse vector").to_json())
    content.update(changes)
    return json.dumps({name: value for name, value in content.items() if value != "GONE"})


MARGINS = [{"error": 1.0, "half_width": 2.0}] * 2
Q = {"q": [0.2, 0.5]}
DAY = {"date": "2024-01-31"}

BROKEN = {
    "nothing": "",
    "no JSON": "release",
    "a list": "[]",
    "a number": "3",
    "cut off": release_of("set").to_json()[:-5],
    "two releases": release_of("set").to_json() * 2,
    "another format": edited(format="shortlist ledger"),
    "no format": edited(format="GONE"),
    "a later version": edited(version=2),
    "a version as text": edited(version="1"),
    "a version that is true": edited(version=True),
    "a version of 1.0": edited(version=1.0),
    "a missing field": edited(items="GONE"),
    "missing extras": edited(extras="GONE"),
    "unknown field": edited(margins=[1]),
    "unknown extra": edited(extras={"margins": [1]}),
    "items as text": edited(items="tea"),
    "a label that is an object": edited(items=[{"a": 1}, "x"]),
    "a date that is none": edited(items=[{"date": "2024-13-01"}, "x"]),
    "a date in another way": edited(items=[{"date": "20240101"}, "x"]),
    "a float that is NaN": edited(items=[{"float": "nan"}, "x"]),
    "a float that is finite": edited(items=[{"float": "1.5"}, "x"]),
    "a deep label": edited(items=[[[[[[[[[[[1]]]]]]]]]], "x"]),
    "one gap too few": edited(gaps=[1.0]),
    "gaps as text": edited(gaps=["1", "2"]),
    "one index too many": edited(indices=[1, 2, 3]),
    "truth as a number": edited(ordered=1),
    "items without parts": edited(item_columns=["day", "what"]),
    "a law too few": edited(extras={"evidence": {"kind": "ThresholdGaps", "laws": []}}),
    "a law without noise": edited(extras={"evidence": {"kind": "ChainedGaps", "deviation": 0.0}}),
    "an unknown guarantee": edited(guarantee={"kind": "Perfect"}),
    "a guarantee without numbers": edited(guarantee={"kind": "PureDP"}),
    "a negative epsilon": edited(guarantee={"kind": "PureDP", "epsilon": -1.0}),
    "an infinite epsilon": edited(guarantee={"kind": "PureDP", "epsilon": "inf"}),
    "a guarantee that is a list": edited(guarantee=["PureDP"]),
    "a kind that is a list": edited(guarantee={"kind": ["PureDP"]}),
    "an empty composition": edited(guarantee={"kind": "Composition", "parts": []}),
    "unknown neighbours": edited(neighbours="cousins"),
    "an unknown engine": edited(frame={"engine": "excel", "types": []}),
    "long words": edited(frame={"engine": "polars", "types": ["x" * 33]}),
    "a receipt without a head": edited(receipt={"ledger": "a"}),
    "NaN": edited().replace('"indices": [0, 1]', '"indices": [0, NaN]'),
    "Infinity": edited(gaps=[math.inf, 1.0]),
    "a huge float": edited(gaps=["HUGE", 1.0]).replace('"HUGE"', "1e999"),
    "a huge number": edited(indices=["HUGE", 1]).replace('"HUGE"', "9" * 5000),
    "a long number": edited(items=["HUGE", 1]).replace('"HUGE"', "9" * 2000),
    "a key twice": edited().replace('{"format"', '{"format": "shortlist release", "format"'),
    "a bomb of lists": "[" * 200_000,
    "a bomb inside": edited(items="BOMB").replace('"BOMB"', "[" * 100_000 + "]" * 100_000),
    "a bomb of guarantees": edited(guarantee="BOMB").replace(
        '"BOMB"', '{"kind": "Composition", "parts": [[' * 300 + '{"kind": "PureDP", "epsilon": 1.0}' + ", 1]]}" * 300
    ),
    "bytes that are no text": b"\xff\xfe{}",
    "a mark in front": "\ufeff" + edited(),
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_no_release_is_refused_in_one_sentence(text):
    with pytest.raises(ValueError, match=r"^this is no release that shortlist can read: ") as refused:
        Release.from_json(text)
    assert type(refused.value) is ValueError
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_the_sentence_says_what_is_wrong():
    for text, words in {
        edited(version=2): "its version is not 1; a newer shortlist may know it",
        edited(extras={"colours": []}): "something that this version does not know",
        edited(extras={"margins": []}): "margins are not as many as items",
        edited(extras={"margins": MARGINS}): "margins are there without the values they belong to",
        edited(gaps="GONE", extras=Q): "items that are quantiles must be numbers, or dates",
        edited(items=[1, DAY], gaps="GONE", extras=Q): "items that are quantiles must be numbers, or dates",
        edited(items=[1, 2], gaps="GONE", values=[1.0, 2.0], extras=Q): "values do not go with q",
        edited(items=[1, 2], gaps=[1.0, 2.0], extras=Q): "gaps do not go with q",
        edited(items=[[1], [2]], gaps="GONE", item_columns=["a"], extras=Q): "item_columns do not go with q",
        edited(gaps=["x", 1.0]): "gaps: a number is wanted",
        edited(items="GONE"): "items is missing",
        edited(guarantee={"kind": "PureDP", "epsilon": -1.0}): "guarantee: this is no PureDP",
    }.items():
        with pytest.raises(ValueError, match=words):
            Release.from_json(text)
    with pytest.raises(TypeError, match=r"release\.to_json"):
        Release.from_json(json.loads(edited()))


MIXED = ["set", "sparse vector", "values", "hybrid sparse vector", "exponential with gap", "stable, failed"]


@pytest.mark.parametrize("name", MIXED)
def test_parts_of_two_releases_are_read_and_shown_or_refused(name):
    """Whatever stands beside the items, a document that is read can be shown in every way."""
    whole, shown = json.loads(kept(name).to_json()), 0
    for more in (json.loads(kept(other).to_json()) for other in MIXED):
        parts = [("", key, more[key]) for key in ("values", "gaps", "items", "ordered") if key in more]
        for place, key, part in [*parts, *(("extras", *pair) for pair in more["extras"].items())]:
            content = json.loads(json.dumps(whole))
            (content[place] if place else content)[key] = part
            with contextlib.suppress(ValueError):
                release = Release.from_json(json.dumps(content))
                assert isinstance(str(release) + release._repr_html_() + release.note, str)
                assert release.to_frame() is not None
                assert len(set(map(len, release.columns().values()))) == 1
                shown += 1
    assert shown > 3


def test_items_that_do_not_fit_the_types_of_their_frame_are_told_in_words():
    content = edited(items=["a", "b"], frame={"engine": "polars", "types": ["Int64"]})
    with pytest.raises(ValueError, match="do not fit the types"):
        Release.from_json(content).to_frame()


def test_other_tools_may_write_whole_floats_without_a_point():
    text = release_of("set").to_json().replace('"epsilon": 2.0', '"epsilon": 2')
    assert Release.from_json(text) == release_of("set")


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_damaged_text_is_read_or_refused_and_nothing_else(data):
    text = bytearray(kept("sparse vector").to_json().encode())
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        again = Release.from_json(bytes(text))
        assert Release.from_json(again.to_json()) == again


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=3) | st.sampled_from(["inf", "PureDP", "tea"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["kind", "date", "epsilon"]), parts),
    max_leaves=5,
)  # fmt: skip


def places(content, path=()):
    """Every place in a JSON value."""
    yield path
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


@settings(deadline=None, max_examples=400)
@given(st.data(), st.sampled_from(["sparse vector", "Gumbel values", "exponential with gap", "stable, failed"]))
def test_whatever_stands_in_whatever_place_is_read_or_refused_in_words(data, name):
    content = json.loads(kept(name).to_json())
    *path, last = data.draw(st.sampled_from([place for place in places(content) if place]))
    inside = content
    for key in path:
        inside = inside[key]
    inside[last] = data.draw(anything)
    said = ""
    try:
        release = Release.from_json(json.dumps(content))
    except ValueError as error:
        said = str(error)
    if said:
        assert said.startswith("this is no release that shortlist can read: ")
        return
    assert Release.from_json(release.to_json()) == release
    assert hash(release) == hash(copy.deepcopy(release))
    assert isinstance(str(release) + repr(release) + release._repr_html_(), str)
    if release.gaps is not None and hasattr(release.evidence, "lower_bound"):
        assert len(release.lower_bound(0.9)) == len(present(release.items))


def test_a_pickle_of_version_0_1_0_is_refused_in_words():
    """Its state was a list of the fields, one of which could be a method of the private counts."""
    release = release_of("set")
    empty: Any = object.__new__(Release)
    state = [getattr(release, one.name) for one in dataclasses.fields(release)]
    with pytest.raises(ValueError, match="pickled by another version"):
        empty.__setstate__(state)
    with pytest.raises(ValueError, match="pickled by another version"):
        empty.__setstate__(("shortlist release 2", {}))


def test_a_release_is_a_collection_of_its_items():
    release = release_of(next(iter(PUBLIC)))
    assert (len(release), list(release)) == (len(release.items), release.items)
    assert all(item in release for item in release.items)
    assert "nobody" not in release
    assert bool(release)


@pytest.mark.parametrize("items", [None, []])
def test_a_release_of_nothing_is_false_and_can_be_looped_over(items):
    nothing = dataclasses.replace(release_of(next(iter(UNKNOWN))), items=items, indices=None)
    assert not nothing
    assert (len(nothing), list(nothing), None in nothing) == (0, [], False)
