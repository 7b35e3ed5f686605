"""Made-up rows to try things on: nobody's, the same every time, and large enough for clear answers."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import numpy as np

from shortlist._arrays import FRAMES, Floats, Frame, Indices
from shortlist.release_io import make_frame, write_table, write_text
from shortlist.sampling.entropy import Seeded

USERS, ROWS, FILMS = 3_000, 40_000, 200
STRIDE = 77
"""Prime to the number of films: names that say little of the rank."""
COUNTRIES = {"CH": 0.30, "DE": 0.30, "FR": 0.17, "IT": 0.13, "AT": 0.10}
"""Which share of the people lives there."""
TRAVELLERS = 0.1
"""Which share of the people watches in a second country too: a third of their rows."""
SEED = 2026
"""Of a stream that anybody can repeat. Nothing private depends on it: there are no people behind these rows."""

TYPES = {"user_id": "BIGINT", "film": "VARCHAR", "country": "VARCHAR", "week": "BIGINT", "age": "BIGINT",
         "stars": "BIGINT"}  # fmt: skip


def example(name: str) -> tuple[Any, list[str]]:
    """Made-up rows and the public list that belongs to them. Nobody is behind them, so they may be shown.

    `"films"`: 40,000 rows of who watched what, by 3,000 people, with the columns `user_id`, `film`, `country` (CH, DE,
    FR, IT or AT), `week` (1 to 52), `age` (16 to 90) and `stars` (1 to 5); and the list of 200 films, "film 001" and
    on. A person may have several rows of one film, and rows in two countries. The rows are the same every time.

    Parameters
    ----------
    name
        Which example: `"films"`.

    Returns
    -------
    tuple
        The rows, as a frame of polars, pandas or pyarrow, whichever is installed, or else as a DuckDB relation; and
        the public list.

    Raises
    ------
    ValueError
        if there is no example of that name.

    Examples
    --------
    >>> import shortlist as sl
    >>> rows, films = sl.example("films")
    >>> len(rows), films[:2], len(films)
    (40000, ['film 001', 'film 002'], 200)
    >>> scores = sl.count(rows, user="user_id", item="film", candidates=films)
    >>> sl.select(scores, epsilon=1.0).item
    'film 001'
    """
    check_example(name)
    library = next((one for one in FRAMES if find_spec(one)), None)
    frame = Frame("duckdb", tuple(TYPES.values())) if library is None else Frame(library)
    return make_frame(film_rows(), frame), film_names()


def write_example(folder: str, name: str) -> tuple[str, str]:
    """Write the rows and the list into a folder, as films.parquet and films.txt. Returns their paths.

    Raises
    ------
    FileExistsError
        if one of them is there: it stays as it is, and nothing is written.
    """
    check_example(name)
    table, listed = example_files(folder, name)
    for path in (table, listed):
        if os.path.lexists(path):
            raise FileExistsError(f"{path} is there already and stays as it is; remove it first, or give --folder")
    write_table(table, film_rows(), private=False)
    write_text(listed, "".join(f"{film}\n" for film in film_names()), private=False)
    return table, listed


def example_files(folder: str, name: str) -> tuple[str, str]:
    """Where the rows and the list belong."""
    table, listed = (os.path.normpath(os.path.join(folder, f"{name}.{ending}")) for ending in ("parquet", "txt"))
    return table, listed


def check_example(name: object) -> None:
    """Refuse a name that there is no example of."""
    if name != "films":
        raise ValueError("there is no example of that name; write 'films'")


def film_names() -> list[str]:
    """The public list."""
    return [f"film {number:03d}" for number in range(1, FILMS + 1)]


def film_rows() -> dict[str, list[Any]]:
    """The rows, column by column: some films are watched far more than others, and some people watch far more."""
    stream = Seeded(SEED)
    home, second = _places(_uniform(stream, USERS)), _places(_uniform(stream, USERS))
    travels = _uniform(stream, USERS) < TRAVELLERS
    one, other = _uniform(stream, USERS), _uniform(stream, USERS)
    age = 16 + (75 * one * (1 + other) / 2).astype(np.int64)  # up to 90, the young more often
    draws = _uniform(stream, ROWS - USERS)  # some people come far more often; a square root is the same everywhere
    user = np.concatenate([np.arange(USERS), (USERS * draws * np.sqrt(draws)).astype(np.int64)])
    shares = np.cumsum(1 / np.arange(1, FILMS + 1))  # the n-th film is watched in proportion to 1/n
    rank = np.searchsorted(shares[:-1] / shares[-1], _uniform(stream, ROWS), side="right")
    away = travels[user] & (_uniform(stream, ROWS) < 1 / 3)
    country = np.where(away, second[user], home[user])
    week = 1 + (52 * _uniform(stream, ROWS)).astype(np.int64)
    liked = 2.5 + (rank * 7 % 11) / 5  # some films more than others, whatever their popularity
    stars = np.clip(np.floor(liked + 2.5 * (_uniform(stream, ROWS) - 0.5) + 0.5), 1, 5).astype(np.int64)
    names, places = film_names(), list(COUNTRIES)
    order = np.argsort(_uniform(stream, ROWS), kind="stable")
    return {
        "user_id": (1 + user[order]).tolist(),
        "film": [names[STRIDE * place % FILMS] for place in rank[order].tolist()],
        "country": [places[place] for place in country[order].tolist()],
        "week": week[order].tolist(),
        "age": age[user[order]].tolist(),
        "stars": stars[order].tolist(),
    }


def _uniform(stream: Seeded, number: int) -> Floats:
    """Numbers in [0, 1) with 53 bits."""
    return (stream.words(number) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _places(draws: Floats) -> Indices:
    """Countries by their number."""
    return np.searchsorted(np.cumsum(list(COUNTRIES.values()))[:-1], draws, side="right")
