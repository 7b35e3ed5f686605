"""Canonical paper, table 1: the six data sets, their sizes and how steep they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.pages.plots import PALETTE
from studies.papers.canonical_data import FIGURES, SIZES
from studies.papers.data import counts, made_up
from studies.papers.experiment import (
    CANONICAL,
    Claim,
    Columns,
    Exhibit,
    Experiment,
    Finding,
    Result,
    Setting,
    held,
)
from studies.papers.figures import canvas, columns_of, curve, distinct, legend, log_axis, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {"Netflix": 17_770, "Patent": 4_096, "Searchlogs": 4_096, "Medcost": 4_096, "Income": 4_096, "Hepth": 4_096}


def run(setting: Setting) -> Result:
    data = [counts(which, setting) for which in FIGURES]
    rows = []
    for one in data:
        ranks = np.unique(np.geomspace(1, len(one.values), setting.pick(5, 80, 80)).astype(int)).tolist()
        rows += [
            {"data": one.title, "made_up": not one.real, "items": len(one.values), "rank": rank}
            | {"count": int(one.values[rank - 1])}
            for rank in ranks
        ]
    ties = [f"{one.title}, k = {k}" for one in data for k in SIZES if one.values[k - 1] == one.values[k]]
    beyond = (f"Ties across rank k, where the true top k is one of several: {'; '.join(ties) or 'none'}.",)
    return Result(columns_of(rows), "Counts by rank.", made_up(*data), beyond=beyond)


def judge(columns: Columns) -> Finding:
    sizes = dict(zip(columns["data"], columns["items"], strict=True))
    ours = ", ".join(f"{title} {size:,}" for title, size in sizes.items())
    return held(sizes == ROWS, ours, "section 7.1 and figure 5 print 17700 for Netflix, table 1 and figure 4 17770")


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 1, (6.6, 4.4))
    for title, colour in zip(distinct(columns, "data"), PALETTE, strict=False):
        curve(axes[0, 0], [row for row in rows_of(columns, data=title) if row["count"] > 0], "rank", "count",
              color=colour, label=title)  # fmt: skip
    log_axis(axes[0, 0], "x")
    log_axis(axes[0, 0], "y")
    name(axes[0, 0], "The six data sets", "rank", "count")
    legend(axes[0, 0])
    return figure


TABLE_1 = Exhibit(
    place="table 1", about="Six data sets and their sizes", theirs={"d": tuple(ROWS.values())},
    ours=lambda _: {"d": tuple(ROWS.values())}, because={},
    claims=(Claim("The data sets have so many items.", "appendix A.2", judge),), data=tuple(FIGURES),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="canonical-table",
    paper=CANONICAL,
    title="The data of the canonical paper",
    question="How many items, and how far apart are their counts?",
    see="Where a curve is flat, ranks can hardly be told apart.",
    exhibits=(TABLE_1,),
    run=run,
    draw=draw,
)
