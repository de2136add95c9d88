"""R-Mem's database through the commands of a shell, opened by its path alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.rmem_file import BEES_KEY, BREAD, BREAD_KEY, WHITE_KEY, RMemFile, mila, vector
from support.warm_start import run_memory

from zeroclaw_tui.embeddings.base import local_vector

Ask = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RMemFile:
    """Mila's memories, beside a rustmem.toml whose key must never be looked at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    (tmp_path / "rustmem.toml").write_text('[embedding]\napi_key = "sk-secret-of-rmem"\nmodel = "nomic"\n')
    return mila(tmp_path / "rustmem.db")


@pytest.fixture
def ask(file: RMemFile) -> Ask:
    """The document that a command prints of the file."""

    def asked(*arguments: str) -> Any:
        done = run_memory(*arguments, "--location", str(file.path), "--json")
        assert "secret" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout)

    return asked


def test_the_list_is_that_of_the_file(ask: Ask) -> None:
    listed = ask("list")
    assert (listed["backend"], listed["total"], listed["superseded_hidden"]) == ("rmem", 3, 1)
    assert [entry["key"] for entry in listed["entries"]][1:] == [BREAD_KEY, BEES_KEY]
    assert ask("list", "--superseded", "only")["entries"][0]["key"] == WHITE_KEY
    assert ask("list", "--namespace", "tom")["total"] == 0
    assert ask("list", "--category", "preference", "--contains", "RYE")["total"] == 1


def test_stats_count_categories_and_users(ask: Ask) -> None:
    stats = ask("stats")
    assert stats["by_category"] == {"personal": 1, "preference": 1, "relation": 1}
    assert stats["by_namespace"] == {"mila": 4}


def test_get_tells_history_and_relations(ask: Ask) -> None:
    got = ask("get", BREAD_KEY)
    assert (got["id"], got["namespace"], got["embedding_dimensions"]) == (BREAD, "mila", 3)
    assert got["history"] == [
        {"action": "ADD", "old": None, "new": "Mila prefers rye bread", "at": "2026-04-11 09:00:00"}
    ]
    assert [one["content"] for one in got["related"]] == ["Mila prefers white bread", "Mila sells Honey"]


def test_recall_names_its_rule_and_its_sources(ask: Ask) -> None:
    recalled = ask("recall", "honey bread")
    assert (recalled["mode"], recalled["limit"], recalled["layer"]) == ("rmem", 10, "store")
    assert [(one["stage"], one["source"], one["score"]) for one in recalled["results"]] == [
        ("rmem", "graph", pytest.approx(0.9)), ("rmem", "active", None)
    ]  # fmt: skip
    assert {one["injected"] for one in recalled["results"]} == {None}


def test_explain_goes_to_what_rmem_returns_and_no_further(ask: Ask) -> None:
    left_out = ask("explain", BEES_KEY, "--query", "rye bread")
    assert (left_out["returned"], left_out["injected"], left_out["stopped_at"]) == (False, None, "rank")
    assert "R-Mem does not return it: only what the keyword stage (“rye OR bread”) picks" in left_out["verdict"]
    assert [step["stage"] for step in left_out["steps"]] == ["words", "rank"]
    returned = ask("explain", BREAD_KEY, "--query", "rye bread")
    assert (returned["returned"], returned["place"], returned["of"]) == (True, 1, 1)
    archived = ask("explain", WHITE_KEY, "--query", "bread")
    assert "the archive is ranked by vectors alone" in archived["verdict"]


def test_health_says_what_zeroclaw_would_do_with_the_name(ask: Ask) -> None:
    health = ask("health")
    assert health["ok"]
    assert "ZeroClaw itself does not know that name and would use Markdown" in health["chosen"]
    assert any("1 earlier text lies in the archive" in finding for finding in health["findings"])


def test_the_audit_lists_the_traps_with_the_rows_behind_them(ask: Ask, file: RMemFile) -> None:
    """An archived text that recall may bring back is a row; removing it is refused, as R-Mem removes none."""
    (found,) = ask("audit", "--only", "earlier-texts")["findings"]
    assert (found["kind"], found["count"], found["won"]) == ("earlier texts", 1, 0)
    assert [sample["excerpt"] for sample in found["samples"]] == ["Mila prefers white bread"]
    assert "nothing from its archive" in found["remark"]
    refused = run_memory("audit", "--only", "earlier-texts", "--purge", "--yes", "--location", str(file.path))
    assert refused.returncode == 1
    assert "R-Mem removes nothing from its archive" in refused.stderr


def test_texts_that_stay_in_the_history_are_a_finding_without_rows(ask: Ask, file: RMemFile) -> None:
    file.reset("mila")
    found = {one["kind"]: one for one in ask("audit")["findings"]}["texts in history"]
    assert (found["count"], found["samples"]) == (0, [])
    assert "history holds the texts of 2 memories" in found["remark"]
    told = run_memory("audit", "--location", str(file.path))
    assert "texts in history" in told.stdout
    assert "--only texts-in-history --purge" not in told.stdout


def test_the_embedder_of_a_config_makes_the_vector_of_a_query(file: RMemFile, tmp_path: Path) -> None:
    """Where its length is that of the vectors here: then R-Mem's whole rule is shown."""
    for id, text in file.run("SELECT id, text FROM memories"):  # noqa: A001
        file.run("UPDATE memories SET embedding = ? WHERE id = ?", local_vector(str(text), 64), id)
    config = tmp_path / "install" / "config.toml"
    config.parent.mkdir()
    config.write_text('[memory]\nbackend = "sqlite"\nembedding_provider = "local"\nembedding_dimensions = 64\n')
    place = ("--config-dir", str(config.parent), "--backend", "rmem", "--location", str(file.path), "--json")
    recalled = json.loads(run_memory("recall", "roof with bees?", *place).stdout)
    assert next(one["key"] for one in recalled["results"]) == BEES_KEY
    assert recalled["results"][0]["vector_score"] > 0.5
    listed = run_memory("list", *place)
    assert json.loads(listed.stdout)["total"] == 3
    config.write_text(config.read_text().replace("64", "32"))
    told = run_memory("recall", "bees", *place)
    assert "The query's vector has 32 numbers and those here have 64" in told.stderr
    assert json.loads(told.stdout)["results"][0]["score"] is None


def test_a_deletion_and_its_undo_by_commands(file: RMemFile, ask: Ask) -> None:
    before = file.everything()["memories"]
    done = run_memory("forget", BREAD_KEY, "--yes", "--location", str(file.path))
    assert done.returncode == 0, done.stderr
    assert "a copy is in its archive" in done.stderr
    assert ask("list")["total"] == 2
    assert run_memory("undo", "--yes", "--location", str(file.path)).returncode == 0
    assert file.everything()["memories"] == before
    refused = run_memory("edit", BREAD_KEY, "--content", "cake", "--location", str(file.path))
    assert refused.returncode == 1
    assert "needs a vector" in refused.stderr


def test_emptying_a_store_with_relations_names_the_way_on_and_that_way_goes(file: RMemFile, ask: Ask) -> None:
    place = ("--location", str(file.path))
    before = file.everything()
    refused = run_memory("clear", "--yes", *place)
    assert refused.returncode == 1
    assert "--category NAME` takes the living memories of a category (personal, preference)" in refused.stderr
    assert file.everything() == before
    assert ask("purge", "--category", "personal", "--category", "preference", "--yes")["count"] == 2
    assert [entry["category"] for entry in ask("list")["entries"]] == ["relation"]


def test_a_deletion_for_ever_leaves_what_rmems_own_leaves(file: RMemFile) -> None:
    """A copy in the archive, a line of history with the text, and the graph; but no word in the keyword index."""
    before = file.everything()
    done = run_memory("forget", BREAD_KEY, "--forever", "--yes", "--location", str(file.path))
    assert done.returncode == 0, done.stderr
    assert "R-Mem keeps what it deletes" in done.stderr
    after = file.everything()
    text = "Mila prefers rye bread"
    assert file.run("SELECT id, text, reason FROM archive WHERE reason = 'DELETED'") == [(BREAD, text, "DELETED")]
    assert file.run("SELECT action, old_text FROM history ORDER BY rowid DESC LIMIT 1") == [("DELETE", text)]
    assert after["relations"] == before["relations"]
    assert file.found_by("rye") == []


def test_a_name_without_a_file_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "rmem"\n')
    told = run_memory("list", "--config-dir", str(tmp_path))
    assert told.returncode == 2
    assert "R-Mem needs to know which file" in told.stderr


def test_a_config_may_name_the_file(file: RMemFile, tmp_path: Path) -> None:
    config = tmp_path / "install" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[memory]\nbackend = "rmem"\n[storage.rmem]\npath = "{file.path}"\n')
    health = json.loads(run_memory("health", "--config-dir", str(config.parent), "--json").stdout)
    assert (health["backend"], health["facts"]["memories"]) == ("rmem", 2)
    assert "ZeroClaw itself would use markdown, since it does not know that name" in health["chosen"]


def test_a_link_is_not_followed_and_the_file_is_named(file: RMemFile, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(file.path)
    told = run_memory("list", "--location", str(tmp_path / "link.db"))
    assert told.returncode == 3
    assert f"Give the file itself: {file.path}" in " ".join(told.stderr.split())


def test_erasing_takes_a_text_from_every_table(ask: Ask, file: RMemFile) -> None:
    report = ask("erase", "rye bread", "--yes")
    assert report["complete"]
    assert report["scanned"]["files"] == 1
    assert [(one["kind"], one["place"], one["found"]) for one in report["erased"]] == [("store", str(file.path), 2)]
    assert b"rye bread" not in file.path.read_bytes()


def test_its_memories_come_into_a_store_of_zeroclaw(file: RMemFile, tmp_path: Path) -> None:
    target = str(tmp_path / "brain.db")
    source = ("copy", "--location", str(file.path), "--to", "sqlite", "--to-location", target)
    assert json.loads(run_memory(*source, "--yes", "--json").stdout)["count"] == 3
    listed = json.loads(run_memory("list", "--location", target, "--json").stdout)
    assert BREAD_KEY in [entry["key"] for entry in listed["entries"]]


def test_a_stale_keyword_index_is_made_anew_behind_a_backup(file: RMemFile) -> None:
    """The words of deleted memories go, those of rows older than the index come; nothing else changes."""
    file.add("3" * 32, "mila", "secret garden", vector(1, 0, 0))
    file.delete("3" * 32)
    file.add("4" * 32, "mila", "plain soup", vector(1, 0, 0))
    file.add("5" * 32, "mila", "old tea", vector(1, 0, 0), indexed=False)
    before = file.everything()
    assert (file.found_by("secret"), file.found_by("tea")) == ([3], [])
    audited = run_memory("audit", "--location", str(file.path))
    assert "`zeroclaw memory doctor --repair rebuild-keyword-index` makes R-Mem's own keyword index anew" in " ".join(
        audited.stdout.split()
    )
    planned = run_memory("doctor", "--repair", "rebuild-keyword-index", "--dry-run", "--location", str(file.path))
    assert "Undo does not take it back, the backup does." in " ".join(planned.stdout.split())
    assert file.found_by("secret") == [3]
    refused = run_memory(
        "doctor", "--repair", "rebuild-keyword-index", "--yes", "--read-only", "--location", str(file.path)
    )
    assert refused.returncode != 0
    done = run_memory("doctor", "--repair", "rebuild-keyword-index", "--yes", "--location", str(file.path))
    assert "The keyword index has the words of the memories that are there" in done.stdout, done.stderr
    assert (file.found_by("secret"), file.found_by("tea")) == ([], [4])
    assert file.everything() == before
    (backup,) = [line for line in done.stderr.splitlines() if "The backup is" in line]
    assert Path(backup.partition("The backup is ")[2].rstrip(".")).exists()


def test_an_archived_text_is_brought_back_by_its_key(ask: Ask, file: RMemFile) -> None:
    assert ask("edit", WHITE_KEY, "--unsupersede", "--yes")["fields"] == ["key", "category", "superseded_by"]
    assert ("Mila prefers white bread",) in file.run("SELECT text FROM memories")
