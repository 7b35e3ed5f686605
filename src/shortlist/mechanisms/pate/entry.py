"""The entries of PATE: labels from the votes of teachers, no methods of `top_k`, which takes scores."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry
from shortlist.mechanisms.pate.mechanism import PATE, MultiLabelPATE

ONE_LABEL = Entry(
    kind=PATE,
    page="pate.md",
    summary="the class that most teachers name, for a fixed number of queries",
    gives="one label",
    budgets="zCDP, stated at a δ",
    audited=Audited(law="shortlist.mechanisms.pate.certified:class_law", inputs="votes"),
)

MULTI_LABEL = Entry(
    kind=MultiLabelPATE,
    page="pate.md",
    summary="the labels on which a stable majority of teachers agrees, for a fixed number of queries",
    gives="a set of labels, or none",
    budgets="zCDP, stated at a δ",
    audited=Audited(law="shortlist.mechanisms.pate.certified:law", inputs="votes", sees_level=True),
)

ENTRY = (ONE_LABEL, MULTI_LABEL)
