"""A user that is NaN is nobody, in files too whose statistics know of no NaN."""

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shortlist as sl

NAN = float("nan")
ROWS = {"user": [1.0, 2.0, NAN, NAN, 3.0], "item": ["a", "a", "a", "b", "b"], "value": [1.0, NAN, 1.0, 1.0, 2.0]}


def written(kind, folder):
    path = folder / "rows.parquet"
    if kind == "polars":
        pl.DataFrame(ROWS).write_parquet(path)
    elif kind == "pyarrow":
        pq.write_table(pa.table(ROWS), path)
    elif kind == "pandas":
        pd.DataFrame(ROWS).to_parquet(path)
    else:
        return pl.DataFrame(ROWS)
    return str(path)


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "pandas", "frame"])
def test_a_user_or_a_value_that_is_nan_does_not_count(kind, tmp_path):
    asked: dict[str, Any] = {"user": "user", "item": "item", "candidates": ["a", "b"]}
    counted = sl.count(written(kind, tmp_path), **asked).as_public()
    assert dict(zip(counted.labels, counted.values.tolist(), strict=True)) == {"a": 2, "b": 1}
    summed = sl.count(written(kind, tmp_path), **asked, value="value", clip=(0, 5)).as_public()
    assert dict(zip(summed.labels, summed.values.tolist(), strict=True)) == {"a": 1.0, "b": 2.0}
