"""Caps of arrow tables of many chunks: arrow's joins keep no order of rows, so none may stand between a row and its
person."""

import numpy as np
import pyarrow as pa
import pytest

import shortlist as sl

PEOPLE, LOUD = 250_000, 1_000


def _table(users: np.ndarray, items: np.ndarray, chunks: int, kind: pa.DataType) -> pa.Table:
    parts = np.array_split(np.random.default_rng(1).permutation(len(users)), chunks)
    who, what = (pa.chunked_array([pa.array(cells[part]).cast(kind) for part in parts]) for cells in (users, items))
    return pa.table({"who": who, "what": what})


def _kept(table: pa.Table) -> dict[object, int]:
    scores = sl.count(table, user="who", item="what", most=1).as_public()
    return dict(zip(scores.labels, scores.values.tolist(), strict=True))


@pytest.mark.parametrize(("chunks", "kind"), [(300, pa.int64()), (1, pa.int64())])
def test_one_loud_person_moves_one_count_of_an_arrow_table(chunks: int, kind: pa.DataType) -> None:
    users = np.append(np.zeros(LOUD, np.int64), np.arange(1, PEOPLE + 1))
    items = np.append(np.arange(LOUD), np.arange(PEOPLE) % LOUD)
    everybody = _kept(_table(users, items, chunks, kind))
    others = _kept(_table(users[LOUD:], items[LOUD:], chunks, kind))
    moved = [everybody.get(item, 0) - others.get(item, 0) for item in everybody | others]
    assert sorted(moved)[-2:] == [0, 1]
    assert min(moved) == 0
