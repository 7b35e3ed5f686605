"""Every engine answers every question as it was recorded (tests/recorded/engines.py)."""

import json

import pytest

from tests.recorded.engines import PATH, QUESTIONS, answer, answers, rows
from tests.tables.tables import ENGINES

RECORDED = json.loads(PATH.read_text())

pytestmark = [pytest.mark.newest, pytest.mark.usefixtures("one_duckdb")]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_question_is_answered_as_it_was_recorded(engine, tmp_path):
    assert list(RECORDED) == list(QUESTIONS)
    wanted = {question: words.get("but", {}).get(engine, words["answer"]) for question, words in RECORDED.items()}
    assert answers(engine, tmp_path) == wanted


def test_another_table_gives_other_answers(tmp_path):
    fewer = rows().head(400)
    same = [question for question in QUESTIONS if answer(question, fewer) == RECORDED[question]["answer"]]
    assert len(same) < len(QUESTIONS) / 2, same
