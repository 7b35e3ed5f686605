"""A misspelt word is refused before anything runs: by a type checker, and by the call."""

import inspect
import sys
from typing import get_type_hints

import pytest

import shortlist as sl
from shortlist import Scores, mechanisms
from shortlist.api import QuantileOptions, SelectOptions, TopKOptions
from shortlist.mechanisms import CanonicalTopK, OneshotTopK, SparseVector
from shortlist.query import OPTIONS, TABLE_OPTIONS, GroupOptions, options_of
from shortlist.scores import QuestionOptions, ScoresOptions

KINDS = [getattr(mechanisms, name) for name in mechanisms.__all__]
METHODS = {
    method.__qualname__: method
    for kind in KINDS
    for name, method in inspect.getmembers(kind, inspect.isfunction)
    if "question" in inspect.signature(method).parameters and not name.startswith("_")
}
TAKERS = [sl.top_k, sl.select, sl.compare, sl.epsilon_for, sl.plan, *METHODS.values()]


def test_the_words_are_those_of_scores():
    found = inspect.signature(Scores).parameters
    assert get_type_hints(ScoresOptions) == {
        name: hint for name, hint in get_type_hints(Scores.__init__).items() if name in found and name != "values"
    }


def test_every_option_of_a_call_is_declared_once_and_as_its_signature_has_it():
    for call in (sl.top_k, sl.select, sl.keys, sl.quantile):
        words = {name: one.default for name, one in inspect.signature(call).parameters.items() if name != "question"}
        given = [*words][1:]
        asked = {one.name: one for one in options_of(call.__name__)}
        assert set(given) <= asked.keys()
        written = GroupOptions.__annotations__.keys() if "scores" in words else set[str]()
        assert asked.keys() - {*given} <= written
        for name in given:
            needed = words[name] is inspect.Parameter.empty
            assert needed or words[name] == asked[name].default, name
            hint = call.__annotations__[name]
            assert hint in (asked[name].type, "Any", asked[name].type.removesuffix(" | None")), (name, hint)
    assert all(one.help.endswith(".") and len(one.help) < 80 for one in OPTIONS.values())


@pytest.mark.parametrize(
    ("kind", "call"), [(SelectOptions, "select"), (TopKOptions, "top_k"), (QuantileOptions, "quantile")]
)
def test_type_checkers_know_every_option_as_it_is_declared(kind, call):
    asked = {one.name: one.type for one in options_of(call)}
    assert kind.__annotations__.keys() == asked.keys() - {"k", "parallel", "by"}
    for name, hint in kind.__annotations__.items():
        assert hint.__forward_arg__ in (asked[name], asked[name].removesuffix(" | None"), "Iterable[Hashable] | None")


def test_the_words_of_a_table_are_those_of_count_and_how_far_it_is():
    counted = get_type_hints(sl.count)
    of_tables = {name: hint for name, hint in get_type_hints(GroupOptions).items() if name in TABLE_OPTIONS}
    for release in (sl.keys, sl.quantile):
        assert get_type_hints(release)["progress"] == of_tables["progress"]
    del of_tables["progress"]
    assert of_tables == {name: counted[name] for name in counted if name not in ("source", "unit", "return")}


@pytest.mark.parametrize("function", TAKERS, ids=lambda one: one.__qualname__)
def test_whatever_takes_plain_values_takes_these_words_and_no_others(function):
    words = GroupOptions if function in (sl.top_k, sl.select) else QuestionOptions  # a table in place of values
    assert function.__annotations__["question"] == f"Unpack[{words.__name__}]"
    assert inspect.unwrap(function).__globals__[words.__name__] is words


def test_a_misspelt_word_is_refused_by_the_call():
    """And by a type checker: `make types` refuses a `type: ignore` that is not needed."""
    mechanism = CanonicalTopK(k=1, epsilon=1)
    for call in (
        lambda: sl.top_k([1, 2], 1, epsilom=1),  # type: ignore[call-overload]
        lambda: sl.select([1, 2], epsilon=1, monoton=True),  # type: ignore[call-overload]
        lambda: sl.compare([1, 2], 1, epsilon=1, sensitivty=1),  # type: ignore[call-arg]
        lambda: sl.epsilon_for(mechanism, [1, 2], target=0.9, monoton=True),  # type: ignore[call-arg]
        lambda: mechanism.release([1, 2], label=["a", "b"]),  # type: ignore[call-arg]
        lambda: mechanism.success_probability([1, 2], monoton=True),  # type: ignore[call-arg]
        lambda: OneshotTopK(k=1, epsilom=1),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match=r"epsilom|monoton|label|sensitivty"):
            call()
    with pytest.raises(ValueError, match="neighbours"):
        mechanism.release([1, 2], neighbours="swap")  # type: ignore[arg-type]


def test_the_words_are_taken_by_the_call():
    mechanism = CanonicalTopK(k=1, epsilon=1)
    assert mechanism.release([1, 2], monotone=True, unit="user").items
    words = sl.top_k([1, 2], 1, epsilon=1, sensitivity=(1, 0), labels=["a", "b"], neighbours="add-remove", public=True)
    assert words.items


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
