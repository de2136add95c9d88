"""`memory test`: what passes, gates, reports, tests made of what was asked; and plans that say what they lose."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

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
    assert (document["tests"], document["passed"], document["failed"], document["gate"]) == (2, 2, 0, None)


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


def test_a_gate_names_what_was_lost_and_lets_pass_what_failed_before(memory: Run, tests: Path, tmp_path: Path) -> None:
    tests.write_text(TESTS + "[[query]]\nquery = 'zebras'\nexpected = 'pet'\n")
    baseline, report = tmp_path / "base.json", tmp_path / "report.xml"
    assert memory("test", "--save-baseline", str(baseline), *AS_OF).code == 0
    assert memory("test", "--gate", str(baseline), *AS_OF).code == 0
    memory("forget", "food", "--yes")
    answer = memory("test", "--gate", str(baseline), "--junit", str(report), *AS_OF)
    assert answer.code == 1
    assert "1 loses its answer against" in answer.out
    document = memory("test", "--gate", str(baseline), "--json", *AS_OF).json
    assert [(loss["query"], loss["missing"]) for loss in document["gate"]["lost"]] == [("Rust", ["food"])]
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")


def test_a_gate_holds_every_test_of_one_message_to_what_it_had(memory: Run, tests: Path, tmp_path: Path) -> None:
    tests.write_text(TESTS + "[[query]]\nquery = 'Rust'\nexpected = 'lang'\n")
    baseline = tmp_path / "base.json"
    assert memory("test", "--save-baseline", str(baseline), *AS_OF).code == 0
    memory("forget", "food", "--yes")
    answer = memory("test", "--gate", str(baseline), "--json", *AS_OF)
    assert answer.code == 1
    assert [loss["missing"] for loss in answer.json["gate"]["lost"]] == [["food"]]


def test_words_alone_pass_no_gate_and_make_no_baseline(memory: Run, install: Path, tests: Path, tmp_path: Path) -> None:
    baseline, other = tmp_path / "base.json", tmp_path / "other.json"
    assert memory("test", "--save-baseline", str(baseline), *AS_OF).code == 0
    config = install / "config.toml"
    endpoint = "embedding_provider = 'custom:http://127.0.0.1:1'\nembedding_dimensions = 3\n"
    config.write_text(config.read_text().replace("[memory]\n", f"[memory]\n{endpoint}"))
    answer = memory("test", "--gate", str(baseline), "--save-baseline", str(other), *AS_OF)
    assert answer.code == 3
    assert "Tests asked by words alone tell nothing of what the agent gets, and no baseline is written." in answer.err
    assert not other.exists()


def test_a_new_test_is_no_loss_and_one_no_longer_asked_is_counted(memory: Run, tests: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "base.json"
    memory("test", "--save-baseline", str(baseline), *AS_OF)
    tests.write_text("[[query]]\nquery = 'zebras'\nexpected = 'pet'\n")
    answer = memory("test", "--gate", str(baseline), "--json", *AS_OF)
    assert answer.code == 0
    assert answer.json["gate"] | {"file": ""} == {"file": "", "lost": [], "new": ["zebras"], "not_asked": 2}
    told = memory("test", "--gate", str(baseline), *AS_OF).out
    assert "so nothing is compared." in told
    assert "None loses its answer" not in told


@pytest.mark.parametrize("content", [b"", b"{}", b'{"form": 1}', b"\xff", b"[[[[", b'{"tests": [1]}'])
def test_what_is_no_baseline_is_said_in_one_sentence(memory: Run, tests: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "base.json"
    path.write_bytes(content)
    answer = memory("test", "--gate", str(path))
    assert (answer.code, answer.told) == (2, "")
    assert "is no baseline of recall tests." in answer.err


def test_hostile_text_makes_valid_xml_and_no_escape_sequence(memory: Run, tmp_path: Path) -> None:
    path, report = tmp_path / "a.jsonl", tmp_path / "report.xml"
    path.write_text(json.dumps({"query": HOSTILE, "expected": [HOSTILE]}))
    answer = memory("test", str(path), "--junit", str(report))
    assert "\x1b" not in answer.out + answer.err
    (case,) = ElementTree.parse(report).getroot().iter("testcase")
    assert "<&]]>" in (case.get("name") or "")
    assert case[0].tag == "failure"


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
