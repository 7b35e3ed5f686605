"""The ledger's commands on a server: made, shared, read, closed, and what is missing said in one sentence."""

import json

from shortlist.ledger import ledger as opening
from tests.helpers.postgres import OWNER
from tests.helpers.terminal import called


def test_the_commands_of_a_shared_ledger(server, tmp_path):
    url = server.url("ledgers", "commands")
    anna = url.replace(OWNER, "anna")
    made = called("ledger", "init", url, "--epsilon", "3", "--delta", "1e-6")
    assert made.returncode == 0, made.stderr
    again = called("ledger", "init", url, "--epsilon", "3", "--delta", "1e-6")
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    refused = called("ledger", "show", anna)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "its owner" in refused.stderr
    assert "anna may charge and read it" in called("ledger", "grant", url, "anna").stdout
    table = tmp_path / "rows.csv"
    table.write_text("user,item\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(40)))
    line = ("top", str(table), "-k", "1", "--user", "user", "--item", "item", "--epsilon", "1", "--delta", "1e-7")
    done = called(*line, "--ledger", anna, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["receipt"]["ledger"] == "commands"
    shown = json.loads(called("ledger", "show", anna, "--json").stdout)
    assert [entry["who"] for entry in shown["entries"]] == ["anna"]
    assert called("ledger", "verify", anna, "--head", shown["head"]).returncode == 0
    assert called("ledger", "report", anna, "--out", str(tmp_path / "q4.html")).returncode == 0
    assert called("ledger", "export", anna, "--exact").stdout.count("\n") == 2
    closed = called("ledger", "close", anna, "--reason", "over")
    assert (closed.returncode, "only the owner" in closed.stderr) == (1, True)
    assert "is closed for good" in called("ledger", "close", url, "--reason", "over").stdout
    late = called(*line, "--ledger", anna)
    assert (late.returncode, "books nothing more: over" in late.stderr) == (1, True)
    assert "anna may no longer use it" in called("ledger", "revoke", url, "anna").stdout
    assert called("ledger", "show", anna).returncode == 1


def test_a_missing_library_is_named(monkeypatch):
    def missing(module, name):
        raise ImportError

    monkeypatch.setattr(opening, "lazy_import", missing)
    said = called("ledger", "show", "postgresql://anna:secret@db/base?name=q4")
    assert (said.returncode, "pip install 'shortlist[postgres]'" in said.stderr) == (1, True)
    assert "secret" not in said.stderr
