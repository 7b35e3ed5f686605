"""Neighbours through the door: the lines of one person move every count by at most one, or the table is refused."""

import gzip
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist as sl
from shortlist.tables.dialect import Dialect
from shortlist.tables.errors import TableError
from tests.helpers.typed import of_kind
from tests.tables.tables import found

QUICK = settings(max_examples=25, deadline=None, derandomize=True, database=None)
LONG = settings(max_examples=3000, deadline=None, derandomize=True, database=None)
FORMATS = ["csv", "tsv", "jsonl", "csv.gz"]

BITS = st.sampled_from(
    [b'"', b'"', b'""', b'","', b",", b"\t", b"\\", b'\\"', b"\r", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xc3", b" ", b"",
     b"tea", b"milk", b"9", b"#", b"'", b"\x0b", b"\x0c", b"\x1a", b"\xc2\x85", b"\xe2\x80\xa8", b"NULL", b"\\N", b"{",
     b"}", b"[", b"]", b":", b'{"user": 7, "item": "tea"}', b'"}', b"\\ud800", b"\\u0000", b"1e999", b"null", b"7,tea",
     b"7\ttea", b'"7","tea"']
)  # fmt: skip
CARELESS = st.sampled_from(
    [b'"y', b'"tea', b'5"', b'tea"', b'"', b'"a""', b'\\"', b"te\ra", b"tea\0", b"te\xff", b'"a"b']
)
ODD = st.one_of(CARELESS, st.lists(BITS, max_size=5).map(b"".join))
MILD = st.sampled_from([b"tea", b"milk", b"", b" tea", b"a\\", b"#", b"'", b"te\x0ba", b"te\xe2\x80\xa8a", b"NULL"])


def fields(kind, user, item):
    """A line of a careful exporter."""
    if kind == "jsonl":
        return b'{"user": "%s", "item": "%s"}' % (user, item)
    return (b"\t" if kind == "tsv" else b",").join([user, item])


@st.composite
def neighbours(draw, kind):
    """(a file, the same file with the lines of one person somewhere in it), as bytes."""
    carelessness = draw(st.sampled_from(["none", "an open quote", "any"]))
    items = st.sampled_from([b"tea", b"milk", b"", b"caf\xc3\xa9"])
    if "csv" in kind and carelessness != "an open quote":
        items |= st.sampled_from([b'"tea"', b'"a,b"', b'"say ""x"""'])
    users = st.integers(10, 99).map(b"%d".__mod__)
    others = [fields(kind, *one) for one in draw(st.lists(st.tuples(users, items), min_size=3, max_size=8))]
    mild = MILD.map(lambda text: text.replace(b"\\", b"\\\\").replace(b"\x0b", b"\\u000b")) if kind == "jsonl" else MILD
    own = st.builds(lambda rest: fields(kind, b"9", rest), mild if carelessness == "none" else ODD)
    mine = draw(st.lists(own, max_size=3))
    if carelessness == "an open quote":
        others.append(fields(kind, b"4", b'5"'))  # inches
        mine = [fields(kind, b"9", draw(st.sampled_from([b'"y', b'"tea', b'"'])))]
    elif carelessness == "any":
        others.insert(draw(st.integers(0, len(others))), draw(st.one_of(ODD, own)))
        mine = draw(st.one_of(st.just(mine), ODD.map(lambda line: [line])))  # anything, on one line
    place, end = draw(st.integers(0, len(others))), draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) if kind != "jsonl" else b""
    header = [] if kind == "jsonl" else [fields(kind, b"user", b"item")]
    both, last = [*others[:place], *mine, *others[place:]], draw(st.sampled_from([b"", end]))
    return tuple(mark + end.join([*header, *lines]) + last for lines in (others, both))


def written(folder, name, content):
    path = Path(folder) / name
    path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    return path


def counts(path):
    """Label to count, or None where the table is refused; whoever is counted can be named."""
    try:
        scores = sl.count(path, user="user", item="item")
    except TableError:
        return None
    return found(scores)


def unsafe(path):
    """What DuckDB gives when it follows quotes wherever they lead, as it does without a check."""
    relation = (
        f"read_csv('{path}', auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
        "allow_quoted_nulls = false, columns = {'u': 'VARCHAR', 'm': 'VARCHAR'})"
    )
    query = f"SELECT m, count(DISTINCT u) FROM {relation} WHERE u IS NOT NULL AND m IS NOT NULL GROUP BY m"
    try:
        return dict(duckdb.execute(query).fetchall())
    except (duckdb.Error, UnicodeDecodeError):
        return None


def holds(before, after):
    """Whether adding a person moved every count up by at most one."""
    if before is None or after is None:
        return True
    return all(0 <= after.get(label, 0) - before.get(label, 0) <= 1 for label in {*before, *after})


def moved(read, kind, pair):
    with tempfile.TemporaryDirectory() as folder:
        return [read(written(folder, f"{n}.{kind}", content)) for n, content in enumerate(pair)]


@pytest.mark.usefixtures("one_duckdb")
@pytest.mark.parametrize("kind", FORMATS)
def test_the_lines_of_one_person_move_every_count_by_at_most_one(kind):
    accepted = []

    @settings(QUICK, max_examples=60 if kind == "csv" else 25)
    @given(neighbours(kind))
    def check(pair):
        before, after = moved(counts, kind, pair)
        assert holds(before, after), pair
        accepted.append(before is not None and after is not None)

    check()
    assert sum(accepted) > 5, "almost nothing was counted: the test has no power"


@pytest.mark.long
@pytest.mark.usefixtures("one_duckdb")
@pytest.mark.parametrize("kind", FORMATS)
def test_the_lines_of_one_person_move_every_count_by_at_most_one_at_length(kind):
    @LONG
    @given(neighbours(kind))
    def check(pair):
        assert holds(*moved(counts, kind, pair)), pair

    check()


def test_a_reader_that_follows_quotes_over_lines_is_found_out():
    """The property has power: the reader without the check breaks it."""
    broken: list[bool] = []

    @settings(QUICK, max_examples=200)
    @given(neighbours("csv"))
    def check(pair):
        if not any(broken):  # one is enough
            broken.append(not holds(*moved(unsafe, "csv", pair)))

    check()
    assert any(broken)


def test_one_line_cannot_swallow_a_thousand_others(tmp_path):
    lines = [*(f"{n},tea" for n in range(1000)), '5000,5"']
    before, after = (
        written(tmp_path, f"{n}.csv", "\n".join(["u,m", *mine, *lines, ""]).encode())
        for n, mine in enumerate([[], ['6000,"y']])
    )
    assert (unsafe(before)["tea"], unsafe(after).get("tea")) == (1000, None)
    for path, said in ((before, "a quote opens on one line"), (after, "a quote opens on one line")):
        with pytest.raises(TableError, match=said):
            sl.count(path, user="u", item="m")
    tabs = written(tmp_path, "rows.tsv", "\n".join(["u,m", '6000,"y', *lines]).replace(",", "\t").encode())
    assert found(sl.count(tabs, user="u", item="m")) == {"tea": 1000, '"y': 1, '5"': 1}


GOOD = "user,item\n1,tea\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", GOOD + '2,5" nails\n', "a quote opens on one line and does not close on it"),
        ("a.csv", GOOD + '2,5" by 6"\n', "a quote stands where none may"),
        ("a.csv", GOOD + '2,"tea" \n', "a quote stands where none may"),
        ("a.csv", GOOD + '2, "tea"\n', "a quote stands where none may"),
        ("a.csv", GOOD + '2,"te"a\n', "a quote stands where none may"),
        ("a.csv", GOOD + '2,"two\nlines"\n', r"write multiline=True"),
        ("a.csv", GOOD + '2,"te\\"a"\n', "a quote"),
        ("a.csv", GOOD + "2,te\ra\n", "carriage return inside a line"),
        ("a.tsv", GOOD.replace(",", "\t") + "2\tte\ra\n", "carriage return inside a line"),
        ("a.csv", GOOD + "2,tea\r\n", "some of its lines end with CRLF and some with LF"),
        ("a.csv", GOOD.replace("\n", "\r\n") + "2,tea\n", "some of its lines end with CRLF and some with LF"),
        ("a.csv", GOOD.replace("\n", "\r"), "its header is no line"),
        ("a.csv", GOOD + "2,te\0a\n", "NUL"),
        ("a.csv", GOOD + "2\n", "more or fewer fields"),
        ("a.csv", GOOD + "2,a,b\n", "more or fewer fields"),
        ("a.csv", GOOD + " \n", "more or fewer fields"),
        ("a.csv", GOOD + "2," + "x" * 2_000_001 + "\n", "longer than 2,000,000 bytes"),
        ("a.csv", GOOD.encode("utf-16"), "its header is no line"),
        ("a.csv", '"us\ner",item\n1,a\n', "its header is no line"),
        ("a.csv", 'user,it"em\n1,a\n', "its header is no line"),
        ("a.csv", "\nuser,item\n1,a\n", "it has no header"),
        ("a.jsonl", '{"user": 1, "item": "tea"} {"user": 2, "item": "tea"}\n', "a line is no JSON object"),
        ("a.jsonl", '[{"user": 1, "item": "tea"}, {"user": 2, "item": "tea"}]\n', "a line is no JSON object"),
        ("a.jsonl", '{"user": 1, "item": "te\na"}\n', "a line is no JSON object"),
        ("a.jsonl", '{"user": 1, "user": 2, "item": "tea"}\n', "has a field twice"),
        ("a.jsonl", '{"user": 1, "item": "\\ud800"}\n', "a line is no JSON object"),
        ("a.jsonl", b'\xef\xbb\xbf{"user": 1, "item": "tea"}\n', "byte order mark"),
    ],
)
def test_what_is_outside_the_dialect_is_refused_as_a_whole(tmp_path, name, content, said):
    path = written(tmp_path, name, content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TableError, match=said) as caught:
        sl.count(path, user="user", item="item")
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)


@pytest.mark.parametrize("block", [3, 7, 16, 1 << 24])
def test_blocks_do_not_change_what_is_refused(tmp_path, monkeypatch, block):
    """The check looks at blocks of whole lines; whatever their size it must say the same."""
    monkeypatch.setattr("shortlist.tables.dialect.BLOCK", block)
    good = ['u,m\r\n1,"a ""b"""\r\n"2",""\r\n3,c', 'u,m\n\n1,""""\n', "u,m\n1,a", "u,m", '\ufeffu,m\n"1","a"\n']
    bad = ['u,m\n1,a"\n2,"b\n', 'u,m\n1,"a\n', 'u,m\n1,"a"b\n', "u,m\r\n1,a\n", "u,m\n1,a\r\n", "u,m\n1,a\r", "u,m\n\0"]
    for n, text in enumerate([*good, *bad]):
        path = str(written(tmp_path, f"{n}.csv", text.encode()))
        if text in good:
            Dialect(",", quoted=True).check(path)
            continue
        with pytest.raises(TableError):
            Dialect(",", quoted=True).check(path)
    spread = str(written(tmp_path, "spread.csv", b'u,m\r\n1,"a\nb""\nc"\r\n2,d\r\n'))
    Dialect(",", quoted=True, multiline=True).check(spread)
    with pytest.raises(TableError, match="never closed"):
        Dialect(",", quoted=True, multiline=True).check(str(written(tmp_path, "open.csv", b'u,m\n1,"a\nb""\n')))


def test_fields_over_several_lines_are_read_where_they_are_asked_for(tmp_path):
    """Excel ends rows with CRLF and breaks lines inside a cell with LF."""
    path = written(tmp_path, "rows.csv", b'user,item\r\n1,"two\nlines"\r\n2,"two\nlines"\r\n3,tea\r\n')
    assert found(sl.count(path, user="user", item="item", multiline=True)) == {"two\nlines": 2, "tea": 1}
    stray = written(tmp_path, "stray.csv", b'user,item\n1,"two\nlines"\n2,5" nails\n3,5" bolts\n')
    with pytest.raises(TableError, match="a quote stands where none may"):
        sl.count(stray, user="user", item="item", multiline=True)
    for source in (tmp_path / "rows.tsv", tmp_path / "rows.parquet", tmp_path / "rows.jsonl"):
        source.write_bytes(b"user\titem\n")
        with pytest.raises(ValueError, match="multiline is for CSV files"):
            sl.count(source, user="user", item="item", multiline=True)
    with pytest.raises(TypeError, match="multiline is for files"):
        sl.count(pl.DataFrame({"user": [1], "item": ["a"]}), user="user", item="item", multiline=True)
    with pytest.raises(TypeError, match="multiline must be True or False"):
        sl.count(path, user="user", item="item", multiline="yes")  # type: ignore[call-overload]


def test_a_public_list_may_have_names_over_several_lines(tmp_path):
    path = written(tmp_path, "known.csv", b'item\n"two\nlines"\ntea\n')
    rows = pl.DataFrame({"user": [1], "item": ["two\nlines"]})
    assert found(sl.count(rows, user="user", item="item", candidates=path)) == {"two\nlines": 1, "tea": 0}


@pytest.mark.parametrize("inner", [b"1,x\n" * 80, b",\n" * 160], ids=["rows", "separators"])
def test_a_field_over_several_lines_may_lie_across_the_parts_that_threads_read(tmp_path, inner):
    """DuckDB's threads start at byte 8,000,000: one that starts inside a quoted field took its lines for rows."""
    long, many = b"tea" * 40, 64_500  # long lines: as many bytes, and fewer people to count
    lines = b"".join(b'%07d,"%s"\n' % (n, long) for n in range(many))
    for before in (5, 50):
        cut = lines.rfind(b"\n", 0, 8_000_000 - before) + 1
        content = b"user,item\n" + lines[:cut] + b'9,"' + inner + b'"\n' + lines[cut:]
        scores = sl.count(written(tmp_path, "rows.csv", content), user="user", item="item", multiline=True)
        assert found(scores) == {long.decode(): many, inner.decode(): 1}


def test_quotes_on_one_line_may_lie_across_the_parts_that_threads_read(tmp_path):
    line, many = b'%07d,"' + b'a,""b"",""\\,c' * 8 + b'"\n', 152_000
    content = b"user,item\n" + b"".join(line % n for n in range(many))
    assert len(content) > 17_000_000
    scores = sl.count(written(tmp_path, "rows.csv", content), user="user", item="item")
    assert found(scores) == {'a,"b","\\,c' * 8: many}


def test_gzip_files_in_several_parts_are_whole_and_torn_ones_are_refused(tmp_path):
    path = tmp_path / "rows.csv.gz"
    packed = gzip.compress(GOOD.encode()) + gzip.compress(b"2,tea\n")
    path.write_bytes(packed)
    assert found(sl.count(path, user="user", item="item")) == {"tea": 2}
    wrong = bytearray(packed)
    wrong[-6] ^= 1  # the checksum, which DuckDB does not look at
    for torn in (packed[:-4], packed[:-9], packed + b"rubbish", bytes(wrong)):
        path.write_bytes(torn)
        with pytest.raises(TableError, match="it is no whole gzip file"):
            sl.count(path, user="user", item="item")


def test_a_file_that_changes_between_the_check_and_the_count_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path, "rows.csv", GOOD.encode())
    checked = Dialect.check

    def then_somebody_writes(self, file):
        checked(self, file)
        with open(file, "ab") as more:
            more.write(b'2,"y\n3,tea\n4,y"\n')

    monkeypatch.setattr(Dialect, "check", then_somebody_writes)
    with pytest.raises(TableError, match="it changed while it was read"):
        sl.count(path, user="user", item="item")


CELLS = st.sampled_from([b"tea", b"milk", b"", b"\xff", b"a\xc3", b"\xed\xa0\x80", b"a\0b", b"caf\xc3\xa9", None])


def texts(cells):
    """Arrow's text of these bytes, which it takes as they are."""
    made = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(made), made.buffers(), made.null_count)


DUCKDB = duckdb.connect()
FRAMES = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "polars lazy": lambda table: of_kind(pl.DataFrame, pl.from_arrow(table)).lazy(),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas text": lambda table: pd.DataFrame(
        {"user": table["user"].to_pylist(), "item": pd.Series(pd.arrays.ArrowStringArray(table["item"]))}
    ),
    "duckdb": lambda table: DUCKDB.cursor().from_arrow(table),
}


@pytest.mark.parametrize("library", FRAMES)
def test_the_rows_of_one_person_in_a_frame_move_every_count_by_at_most_one(library):
    """Text in memory may be no UTF-8: `count` says so, and what it accepts can be named."""

    @QUICK
    @given(st.lists(CELLS, max_size=5), st.lists(CELLS, max_size=4), st.integers(0, 5))
    def check(others, mine, place):
        def counted(lines):
            users, cells = zip(*lines, strict=True) if lines else ((), ())
            table = pa.table({"user": pa.array(users, pa.int64()), "item": texts(list(cells))})
            return counts(FRAMES[library](table))

        before = list(enumerate(others))
        both = [*before[:place], *((99, cell) for cell in mine), *before[place:]]
        one, other = counted(before), counted(both)
        assert holds(one, other)
        good = all(cell is None or cell.decode(errors="replace").encode() == cell for cell in (*others, *mine))
        assert (other is not None) == good

    check()
