"""`--agent`: every command is limited to the given agents or refuses the option; none ignores it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.commands import Brain, Command

from zeroclaw_tui.cli.verbs import every_verb, verb_parser

FOREIGN = "foreign"
"""Occurs in every memory that does not belong to `writer`."""

AGENT_COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list", "list --contains rust"),
    "search": ("search rust", "search --regex [Rr]ust"),
    "get": ("get lang", "get --id w-1", "get lang --history", "get --id w-1 --history"),
    "recall": ("recall rust", "recall rust --layer store"),
    "stats": ("stats", "stats --category core"),
    "explain": ("explain lang --query rust",),
    "similar": ("similar lang", "similar --query ink"),
    "prompt": ("prompt rust",),
    "test": ("test {tests}",),
    "tail": ("tail",),
    "store": ("store new text", "store lang again"),
    "edit": ("edit lang --category daily", "edit --id w-1 --category daily"),
    "forget": ("forget lang", "forget --id w-1"),
    "purge": ("purge lang", "purge --id w-1", "purge --category core"),
    "clear": ("clear", "clear --key lang"),
    "audit": ("audit", "audit --only too-short --purge", "audit --only exact-duplicates --merge"),
    "hydrate": ("hydrate {snapshot}",),
    "export": ("export -", "export {folder}/out.jsonl"),
    "import": ("import {csv}", "import {jsonl}"),
    "copy": ("copy --to sqlite --to-location {folder}/copied.db",),
}
"""Arguments for each verb with --agent, run as `writer`."""


@pytest.fixture
def place(agents_install: Path, tmp_path: Path) -> Path:
    """The install whose agents both have `lang`, with duplicate, short and similar memories of both."""
    Brain(_database(agents_install)).execute(
        "UPDATE memories SET content = 'Rust, says foreign' WHERE id = 'lang-default'",
        "UPDATE memories SET id = 'w-1' WHERE id = 'lang-writer'",
    )
    rows: list[dict[str, Any]] = []
    for alias, who in (("default", FOREIGN), ("writer", "own")):
        twins = f"Rust of {who} hands, and more rust ink"
        for number, text in enumerate((twins, twins, who)):
            rows.append({"id": f"{who}{number}-id", "key": f"{who}{number}", "content": text, "agent": alias})
    small_store.add(_database(agents_install), rows)
    (tmp_path / "tests.toml").write_text("[[query]]\nquery = 'rust'\nexpected = ['own1']\n" * 4)
    (tmp_path / "rows.csv").write_text("key,content\nbrought,some text\n")
    (tmp_path / "rows.jsonl").write_text('{"key": "brought", "content": "some text", "agent": "default"}\n')
    (tmp_path / "MEMORY_SNAPSHOT.md").write_text(
        "# 🧠 ZeroClaw Memory Snapshot\n\n> Auto-generated.\n\n---\n\n### 🔑 `brought`\n\nsome text\n\n"
        "*Created: 2026-03-01T10:00:00+00:00 | Updated: 2026-03-01T10:00:00+00:00*\n\n---\n"
    )
    return agents_install


def _database(install: Path) -> Path:
    return install / "data" / "memory" / "brain.db"


def _foreign_rows(install: Path) -> list[tuple[Any, ...]]:
    statement = "SELECT m.* FROM memories m JOIN agents a ON a.id = m.agent_id WHERE alias <> 'writer' ORDER BY m.id"
    with closing(sqlite3.connect(_database(install))) as connection:
        return connection.execute(statement).fetchall()


def _called(run: Command, place: Path, tmp_path: Path, command: str, *options: str) -> Any:
    files = {
        "tests": tmp_path / "tests.toml", "csv": tmp_path / "rows.csv", "jsonl": tmp_path / "rows.jsonl",
        "snapshot": tmp_path / "MEMORY_SNAPSHOT.md",
        "folder": tmp_path,
    }  # fmt: skip
    words = [word.format(**files) for word in command.split()]
    return run("memory", "--config-dir", str(place), "--yes", *words, *options)


def test_every_verb_is_limited_to_the_agent_or_refuses_it(run: Command, place: Path, tmp_path: Path) -> None:
    before = _foreign_rows(place)
    for name, verb in every_verb().items():
        if name not in AGENT_COMMANDS:
            words = "text" if name == "erase" else ""
            answer = _called(run, place, tmp_path, f"{name} {words}", "--agent", "writer")
            assert answer.code == 2, name
            assert "does not take --agent" in answer.err, name
            assert "--agent" not in verb_parser(verb).format_help(), name
            continue
        assert "--agent ALIAS" in verb_parser(verb).format_help(), name
        for command in AGENT_COMMANDS[name]:
            answer = _called(run, place, tmp_path, command, "--agent", "writer", *["--json"] * (command != "export -"))
            assert answer.code in (0, 1 if name == "test" else 0), (command, answer.err)
            assert FOREIGN not in answer.out + answer.err, command
            for written in (tmp_path / "out.jsonl", tmp_path / "copied.db"):
                assert not written.exists() or FOREIGN.encode() not in written.read_bytes(), command
            assert _foreign_rows(place) == before, command
            run("memory", "--config-dir", str(place), "--yes", "undo")


def test_an_unknown_agent_is_refused_and_the_known_ones_listed(run: Command, place: Path, tmp_path: Path) -> None:
    """A misspelt agent is not one without memories: a backup is not replaced by an empty file."""
    backup = tmp_path / "out.jsonl"
    backup.write_text("all there was")
    for name, (command, *_) in (AGENT_COMMANDS | {"export": ("export {folder}/out.jsonl --overwrite",)}).items():
        answer = _called(run, place, tmp_path, command, "--agent", "nobody")
        assert answer.code == 1, (name, answer.out)
        assert " no agent 'nobody'" in answer.err, name
        assert "default, writer." in answer.err, name
    assert backup.read_text() == "all there was"


def test_in_a_store_without_agents_only_a_recall_accepts_one(memory: Command, tmp_path: Path) -> None:
    backup = tmp_path / "out.jsonl"
    refused = memory("export", str(backup), "--agent", "main")
    assert (refused.code, backup.exists()) == (1, False)
    assert "agent" in refused.err
    recalled = memory("recall", "rust", "--agent", "main", "--json")
    assert (recalled.code, len(recalled.json["results"])) == (0, 2)
    assert "knows no agents, so every agent's memories are recalled." in recalled.err
