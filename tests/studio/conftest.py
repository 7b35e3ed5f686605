"""What the tests of the studio share."""

import json

import pytest

from shortlist.studio import planner

ANSWER = {
    "described": "20 items, 3,000 users, counts zipf:1.1",
    "rows": [
        {"mechanism": "guarded top-3", "reached": 0.93, "needed": 0.71},
        {"mechanism": "one-shot top-3", "reached": 0.5, "needed": None},
    ],
    "bound": 0.1,
}


@pytest.fixture
def known_plans(monkeypatch):
    """Every plan has the same answer, and at once.

    A page shows it as it shows others. What plans say, and that each comes from a process of its own, is tested
    without a page.
    """
    monkeypatch.setattr(planner.Planner, "_compute", lambda *_question: json.dumps({"answer": ANSWER}).encode())
