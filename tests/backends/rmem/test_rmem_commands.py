"""Shell commands open R-Mem's database by its path alone."""

from __future__ import annotations

import json

import pytest
from support.rmem_file import BEES_KEY, BREAD_KEY, create_milas_store
from support.warm_start import run_memory


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Mila's memories, next to a rustmem.toml whose key must never be read."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    (tmp_path / "rustmem.toml").write_text('[embedding]\napi_key = "sk-secret-of-rmem"\nmodel = "nomic"\n')
    return create_milas_store(tmp_path / "rustmem.db")


@pytest.fixture
def ask(file):
    """Return the JSON document that a command prints for the file."""

    def asked(*arguments):
        done = run_memory(*arguments, "--location", str(file.path), "--json")
        assert "secret" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout)

    return asked


def test_recall_names_its_rule_and_its_sources(ask):
    recalled = ask("recall", "honey bread")
    assert (recalled["mode"], recalled["limit"], recalled["layer"]) == ("rmem", 10, "store")
    assert [(one["stage"], one["source"], one["score"]) for one in recalled["results"]] == [
        ("rmem", "graph", pytest.approx(0.9)), ("rmem", "active", None)
    ]  # fmt: skip
    assert {one["injected"] for one in recalled["results"]} == {None}


def test_explain_ends_with_what_rmem_returns(ask):
    left_out = ask("explain", BEES_KEY, "--query", "rye bread")
    assert (left_out["returned"], left_out["injected"], left_out["stopped_at"]) == (False, None, "rank")
    assert "R-Mem does not return it" in left_out["verdict"]
    assert [step["stage"] for step in left_out["steps"]] == ["words", "rank"]
    returned = ask("explain", BREAD_KEY, "--query", "rye bread")
    assert (returned["returned"], returned["place"], returned["of"]) == (True, 1, 1)


CHANGES = (("forget", BREAD_KEY, "--yes"), ("store", "tea", "Mila likes tea"), ("erase", "rye bread", "--yes"))


@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
def test_every_change_is_refused_with_one_sentence(file, change):
    before = file.everything()
    refused = run_memory(*change, "--location", str(file.path))
    assert (refused.returncode, refused.stdout) == (1, "")
    sentence = "R-Mem databases are read-only here, because R-Mem keeps each deleted text in its archive and history."
    assert refused.stderr.count(sentence) == 1
    assert file.everything() == before


def test_a_backend_name_without_a_file_asks_for_the_path(tmp_path):
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "rmem"\n')
    message = run_memory("list", "--config-dir", str(tmp_path))
    assert message.returncode == 2
    assert "No file of R-Mem given" in message.stderr
