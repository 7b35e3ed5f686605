"""A misspelt word is refused before anything runs: by a type checker, and by the call."""

import inspect
import subprocess
import sys
from typing import get_type_hints

import pytest

import shortlist as sl
from shortlist import mechanisms
from shortlist.mechanisms import CanonicalTopK, SparseVector
from shortlist.scores import Scores, ScoreWords

KINDS = [getattr(mechanisms, name) for name in mechanisms.__all__]
METHODS = {
    method.__qualname__: method
    for kind in KINDS
    for name, method in inspect.getmembers(kind, inspect.isfunction)
    if "question" in inspect.signature(method).parameters and not name.startswith("_")
}
TAKERS = [sl.top_k, sl.select, sl.compare, sl.epsilon_for, sl.plan, *METHODS.values()]

SNIPPET = """
import shortlist as sl
from shortlist.mechanisms import CanonicalTopK, OneshotTopK

m = CanonicalTopK(k=1, epsilon=1)
m.release([1, 2], monotone=True, unit="user")
sl.top_k([1, 2], 1, epsilon=1, sensitivity=(1, 0), labels=["a", "b"], neighbours="add-remove", public=True)
sl.top_k([1, 2], 1, epsilom=1)
sl.select([1, 2], epsilon=1, monoton=True)
sl.compare([1, 2], 1, epsilon=1, sensitivty=1)
sl.epsilon_for(m, [1, 2], target=0.9, monoton=True)
m.release([1, 2], label=["a", "b"])
m.success_probability([1, 2], monoton=True)
m.release([1, 2], neighbours="swap")
OneshotTopK(k=1, epsilom=1)
"""
REFUSED = {8: "epsilom", 9: "monoton", 10: "sensitivty", 11: "monoton", 12: "label", 13: "monoton", 14: "neighbours",
           15: "epsilom"}  # fmt: skip


def test_the_words_are_those_of_scores():
    found = inspect.signature(Scores).parameters
    assert get_type_hints(ScoreWords) == {
        name: hint for name, hint in get_type_hints(Scores.__init__).items() if name in found and name != "values"
    }


@pytest.mark.parametrize("function", TAKERS, ids=lambda one: one.__qualname__)
def test_whatever_takes_plain_values_takes_these_words_and_no_others(function):
    assert function.__annotations__["question"] == "Unpack[ScoreWords]"
    assert function.__globals__["ScoreWords"] is ScoreWords


def test_a_type_checker_refuses_a_misspelt_word(tmp_path):
    """With a cold cache, for some ten seconds: mypy reads the whole package."""
    (tmp_path / "snippet.py").write_text(SNIPPET)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", "--follow-imports=silent", "snippet.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    errors = [line for line in run.stdout.splitlines() if "error:" in line]
    assert [int(line.split(":")[1]) for line in errors] == list(REFUSED), run.stdout + run.stderr
    assert all(word in line for word, line in zip(REFUSED.values(), errors, strict=True)), run.stdout


def test_a_misspelt_word_is_refused_by_the_call():
    for call in (
        lambda: sl.top_k([1, 2], 1, epsilom=1),  # type: ignore[call-arg]
        lambda: sl.select([1, 2], epsilon=1, monoton=True),  # type: ignore[call-arg]
        lambda: CanonicalTopK(k=1, epsilon=1).release([1, 2], label=["a", "b"]),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match=r"epsilom|monoton|label"):
            call()


def test_a_sparse_vector_says_what_it_knows_already():
    with pytest.raises(TypeError, match="monotone: already said by the mechanism; give it there"):
        SparseVector(threshold=3, k=1, epsilon=1).release([1, 2], monotone=True)


def test_a_picture_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    pictures = (
        sl.top_k([9, 5, 1], 1, epsilon=1.0, monotone=True),
        sl.compare([9, 5, 1], 1, epsilon=1.0, monotone=True),
        sl.plan(k=2, items=20, users=1000, shape="zipf:1.1", target=0.9, budget="pure", domain="known"),
    )
    for one in pictures:
        with pytest.raises(ModuleNotFoundError, match=r"^a picture needs matplotlib: pip install 'shortlist\[plot\]'$"):
            one.plot()
