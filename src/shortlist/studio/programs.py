"""The program that asks the same question again, as a file of Python and as a notebook: a new draw, charged again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from shortlist.privacy import PureDP
from shortlist.studio.folder import Folder
from shortlist.studio.form import Form

WORDS = "The same question again, in the studio's folder: a new draw, and the ledger is charged again."
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class Code(str):
    """A word of a program, shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Program:
    """The three parts of a program, and what it is for."""

    imports: str
    question: str
    report: str
    purpose: str

    def python(self) -> str:
        """As a file of Python."""
        return f'"""{WORDS}"""\n\n{self.imports}\n\n{self.question}\nprint(release)\n{self.report}\n'

    def notebook(self) -> str:
        """As a notebook, which shows the release as a table."""
        purpose = self.purpose or "A private release, asked again"
        title = "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#!|$" else letter for letter in purpose)
        cells = [
            _cell("markdown", f"# {title}\n\n{WORDS} Keep this notebook in that folder, or change the names.", 0),
            _cell("code", self.imports, 1),
            _cell("code", f"{self.question}\nrelease", 2),
            _cell("markdown", "A report, as one page to hand on:", 3),
            _cell("code", self.report, 4),
        ]
        whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(whole, indent=1) + "\n"


def _cell(kind: str, text: str, place: int) -> dict[str, Any]:
    cell = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def list_program(folder: Folder, form: Form) -> Program:
    """Of a list, or of every name that enough people hold."""
    listed = form.candidates if form.candidates is None else form.listed()
    known = {} if listed is None else {"candidates": listed if isinstance(listed, list) else folder.name(listed)}
    keys = {"groups": list(form.groups)} if form.groups else {}
    columns: dict[str, Any] = {
        "user": form.user,
        "item": form.items[0] if len(form.items) == 1 else list(form.items),
        **known,
    }
    columns |= {} if form.most is None else {"most": form.most}
    columns |= {"where": form.where} if form.where else {}
    columns |= {"by": form.by, **keys, "groups_per_user": form.groups_per_user} if form.by else {}
    columns |= {"unit": form.unit} if form.unit != "user" else {}
    columns |= {"separator": form.separator} if form.separator else {}
    paid: dict[str, object] = {"epsilon": form.budget.epsilon}
    paid = paid if isinstance(form.budget, PureDP) else {"budget": Code(f"sl.{form.budget!r}")}
    order = {name: True for name in ("ordered", "values") if getattr(form, name) and form.k is not None}
    paid |= {"largest": False} if form.smallest else {}
    paid |= order | ({"allow_large": True} if form.large else {}) | {"ledger": Code("ledger")}
    paid |= {"purpose": form.purpose} if form.purpose else {}
    table = repr(folder.name(form.table))
    name, k, report = ("keys", "", "names.html") if form.k is None else ("top_k", f"k={form.k}, ", f"top{form.k}.html")
    call = f"sl.{name}({table}, {k}{arguments(columns | paid)})"
    question = f"with sl.Ledger({folder.name(form.ledger)!r}) as ledger:\n    release = {call}"
    return Program("import shortlist as sl", question, report_line(report, form.purpose), form.purpose)


def arguments(words: dict[str, Any]) -> str:
    """The arguments of a call, by name."""
    return ", ".join(f"{name}={word!r}" for name, word in words.items())


def report_line(file: str, purpose: str) -> str:
    """The line that writes the report."""
    return f'release.report("{file}"{f", title={purpose!r}" if purpose else ""})'
