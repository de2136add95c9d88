"""`memory test`: what passes and what fails, and tests made of what was asked."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
AS_OF = ("--as-of", "2026-03-06T00:00:00Z")
TESTS = """\
# mine
[[query]]
query = "Rust"
expected = ["lang", "food"]

[[query]]
name = "no cat"
query = "Helix editor"
expected = "editor"
rejected = ["pet"]
"""
HOSTILE = "\x1b]0;owned\x07 <&]]> [/bold] \ufffe Rust"


@pytest.fixture
def tests(install: Path) -> Path:
    """The tests beside the settings of the install."""
    path = install / "zeroclaw-tui" / "tests.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(TESTS)
    return path


def test_all_pass_and_without_a_file_the_one_beside_the_settings_is_asked(memory: Run, tests: Path) -> None:
    answer = memory("test", *AS_OF)
    assert (answer.code, "2 pass" in answer.out, "All pass." in answer.out) == (0, True, True)
    document = memory("test", str(tests), "--json", *AS_OF).json
    assert (document["tests"], document["passed"], document["failed"]) == (2, 2, 0)


def test_without_tests_it_is_said_how_to_get_some(memory: Run) -> None:
    answer = memory("test")
    assert answer.code == 1
    assert "import-queries" in answer.err


def test_what_is_missing_or_should_not_come_fails(memory: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[[query]]\nquery = 'Rust'\nexpected = ['lang', 'pet']\nrejected = 'food'\n")
    answer = memory("test", str(path), *AS_OF)
    assert answer.code == 1
    assert "missing pet; should not come: food" in answer.out
    (result,) = memory("test", str(path), "--json", *AS_OF).json["results"]
    assert (result["passed"], result["missing"], result["unwanted"]) == (False, ["pet"], ["food"])


def test_words_alone_say_nothing_of_what_the_agent_gets(memory: Run, install: Path, tests: Path) -> None:
    config = install / "config.toml"
    endpoint = "embedding_provider = 'custom:http://127.0.0.1:1'\nembedding_dimensions = 3\n"
    config.write_text(config.read_text().replace("[memory]\n", f"[memory]\n{endpoint}"))
    answer = memory("test", *AS_OF)
    assert answer.code == 3
    assert "Tests asked by words alone tell nothing of what the agent gets." in answer.err


def test_hostile_text_sends_no_escape_sequence(memory: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"query": HOSTILE, "expected": [HOSTILE]}))
    answer = memory("test", str(path))
    assert "\x1b" not in answer.out + answer.err


def test_tests_are_made_of_what_was_asked_and_put_behind_what_stands(memory: Run, install: Path, tests: Path) -> None:
    chats = install / "workspace" / "sessions" / "sessions.db"
    chats.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(chats)) as connection, connection:
        connection.execute(
            "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, session_key TEXT, role TEXT, content TEXT,"
            " created_at TEXT NOT NULL)"
        )
        connection.executemany(
            "INSERT INTO sessions (session_key, role, content, created_at) VALUES (?, ?, ?, '')",
            [
                ("gw_1", "user", "Which editor?"),
                ("gw_1", "assistant", "Timezone"),
                ("gw_2", "user", "Which editor?"),
                ("gw_2", "user", "zebras"),
            ],
        )
    document = memory("test", "import-queries", "--json").json
    assert (document["written"], document["unanswered"]) == (1, 1)
    assert tests.read_text().startswith(TESTS)
    assert 'query = "Which editor?"' in tests.read_text()
    assert 'note = "as it was on ' in tests.read_text()
    before = tests.read_bytes()
    assert memory("test", "import-queries", "--json").json["written"] == 0
    assert tests.read_bytes() == before
