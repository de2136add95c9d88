"""Questions in a real terminal: No is the default, large numbers are typed, ctrl-c leaves everything as it was."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.terminal import Terminal

Run = Callable[..., Any]
Ask = Callable[..., Terminal]


@pytest.fixture
def ask(script: Callable[[str], str], install: Path) -> Ask:
    """Run `zeroclaw memory ...` in a terminal."""

    def ask(*arguments: str) -> Terminal:
        command = [script("zeroclaw"), "memory", "--config-dir", str(install), *arguments]
        return Terminal(command, columns=100, lines=30)

    return ask


def _count(install: Path) -> int:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])


def _many(install: Path, count: int) -> None:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection, connection:
        at = "2026-02-01T10:00:00+00:00"
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at) VALUES (?, ?, ?, 'noise', ?, ?)",
            [(f"n-{number}", f"noise_{number}", f"noise {number}", at, at) for number in range(count)],
        )


def test_a_plan_is_shown_and_yes_carries_it_out(ask: Ask, install: Path) -> None:
    with ask("purge", "--session", "tg_1") as screen:
        screen.wait_for("Purge 2 memories?", "core 1 · daily 1", "Cat named Mio", "Go on? [y/N]")
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
        assert "2 memories are in the trash until" in screen.text
    assert _count(install) == 7


def test_what_would_be_refused_is_refused_before_a_question(ask: Ask, memory: Run, install: Path) -> None:
    memory("forget", "pet", "--yes")
    memory("store", "pet", "Dog named Rex")
    number = memory("undo", "--list", "--json").json["actions"][1]["number"]
    with ask("undo", "--id", str(number)) as screen:
        assert screen.wait_exit() == 1
        assert "the key exists again" in screen.text
        assert "Undo it?" not in screen.text
    with ask("undo", "--id", str(number), "--rename") as screen:
        screen.wait_for("1 comes back under another key", "pet becomes pet (restored).", "Undo it? [y/N]")
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
    assert _count(install) == 10


@pytest.mark.parametrize("answer", [("enter",), ("n", "enter"), ("yep", "enter"), ("\x04",)])
def test_anything_but_yes_is_no(ask: Ask, install: Path, answer: tuple[str, ...]) -> None:
    with ask("forget", "pet") as screen:
        screen.wait_for("Forget 1 memory?", "[y/N]")
        screen.press(*answer)
        assert screen.wait_exit() == 1
        assert "Nothing was changed." in screen.text
    assert _count(install) == 9


@pytest.mark.parametrize("arguments", [("forget", "pet"), ("purge", "--category", "core"), ("clear",), ("undo",)])
def test_ctrl_c_at_a_question_ends_it_at_once(ask: Ask, memory: Run, install: Path, arguments: tuple[str, ...]) -> None:
    assert memory("edit", "tz", "--category", "core").code == 0
    with ask(*arguments) as screen:
        screen.wait_for("[y/N]")
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
        assert "Nothing was changed." in screen.text
        assert "Traceback" not in screen.text
    assert _count(install) == 9


def test_over_ten_the_number_is_typed(ask: Ask, install: Path) -> None:
    _many(install, 1200)
    for typed, code in (("y", 1), ("1199", 1), ("1,200", 0)):
        with ask("purge", "--category", "noise") as screen:
            screen.wait_for("Purge 1,200 memories?", "… 1,197 more", "Type 1,200 to purge:")
            screen.press(typed, "enter")
            assert screen.wait_exit() == code
    assert _count(install) == 9


def test_for_ever_needs_the_key_typed(ask: Ask, install: Path) -> None:
    for typed, code in (("y", 1), ("pe", 1), ("pet", 0)):
        with ask("forget", "pet", "--forever") as screen:
            screen.wait_for("This cannot be undone", "Type its key to delete it permanently:")
            screen.press(typed, "enter")
            assert screen.wait_exit() == code
    assert _count(install) == 8


def test_a_key_that_cannot_be_typed_asks_for_the_number(ask: Ask, memory: Run, install: Path) -> None:
    assert memory("edit", "pet", "--key", "\u202eevil\x1b]0;x\x07").code == 0
    with ask("forget", "--id", "id-2", "--forever") as screen:
        screen.wait_for("Type 1 to forget permanently:")
        assert b"\x1b]0;x" not in screen.raw
        screen.press("1", "enter")
        assert screen.wait_exit() == 0
    assert _count(install) == 8


def test_clear_asks_once_and_no_is_the_default(ask: Ask, install: Path) -> None:
    for typed, code, left in (((), 1, 9), (("y",), 0, 1)):
        with ask("clear") as screen:
            screen.wait_for("Found 8 entries in 'all categories'.", "[y/N]")
            screen.press(*typed, "enter")
            assert screen.wait_exit() == code
        assert _count(install) == left


def test_undo_says_what_comes_back_before_it_asks(ask: Ask, memory: Run, install: Path) -> None:
    memory("forget", "pet", "--yes")
    with ask("undo") as screen:
        screen.wait_for("Change 1, ", "deleted pet", "comes back:  pet", "Undo it? [y/N]")
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
        assert "Undid: " in screen.text
    assert _count(install) == 9


def test_missing_triggers_are_put_back_after_a_yes(ask: Ask, install: Path) -> None:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
    for last, code, left in (("n", 1, 9), ("y", 0, 8)):
        with ask("forget", "pet") as screen:
            screen.wait_for("Go on? [y/N]")
            screen.press("y", "enter")
            screen.wait_for("Restore them and continue? [y/N]")
            screen.press(last, "enter")
            assert screen.wait_exit() == code
        assert _count(install) == left


def test_a_document_stays_alone_on_stdout_while_a_person_is_asked(
    script: Callable[[str], str], install: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answer.json"
    command = f"{script('zeroclaw')} memory --config-dir {install} forget pet --json > {file}"
    with Terminal(["/bin/sh", "-c", command], columns=100, lines=30) as screen:
        screen.wait_for("Forget 1 memory?", "Cat named Mio", "[y/N]")
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
    assert json.loads(file.read_text())["count"] == 1


def test_hostile_text_in_a_plan_reaches_no_terminal(ask: Ask, install: Path) -> None:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection, connection:
        hostile = "\x1b]0;owned\x07\x9b31m"
        connection.execute("UPDATE memories SET content = ?, category = ? WHERE key = 'pet'", (hostile, hostile))
    with ask("forget", "pet") as screen:
        screen.wait_for("[y/N]")
        assert b"\x1b]0;owned" not in screen.raw
        assert b"\xc2\x9b" not in screen.raw
        screen.press("enter")
        assert screen.wait_exit() == 1


def test_emptying_a_full_trash_needs_the_number(ask: Ask, memory: Run, install: Path) -> None:
    _many(install, 12)
    memory("purge", "--category", "noise", "--yes")
    for typed, code, left in (("y", 1, 12), ("12", 0, 0)):
        with ask("trash", "empty") as screen:
            screen.wait_for("Empty the trash of 12 memories?", "neither can any change made to this store so far")
            screen.press(typed, "enter")
            assert screen.wait_exit() == code
        assert memory("trash", "list", "--json").json["total"] == left
