"""`memory erase` as a process: plan, typed answer, report, JSON and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from support.commands import Brain, Command
from support.terminal import Terminal

TEXT = "named Mio"


def _contents(install: Path) -> set[str]:
    return {content for (content,) in Brain(install / "workspace" / "memory" / "brain.db").rows("content")}


def _holding(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if TEXT.lower().encode() in path.read_bytes().lower()]


def test_a_dry_run_shows_where_the_text_is(memory: Command, install: Path) -> None:
    answer = memory("erase", "NAMED mio", "--dry-run")
    assert answer.code == 0
    assert "Found in 1 place" in answer.out
    assert "brain.db" in answer.out
    assert "1 memory will be deleted: pet" in answer.out
    document = memory("erase", "NAMED mio", "--dry-run", "--json").json
    assert [list(place) for place in document["places"]] == [["kind", "place", "count", "can_clean", "remark"]]
    assert [memory["key"] for memory in document["memories"]] == ["pet"]
    assert "Cat named Mio" in _contents(install)


def test_everything_is_erased_and_the_report_omits_the_text(memory: Command, install: Path, tmp_path: Path) -> None:
    memory("forget", "lang", "--yes")
    report, copy = tmp_path / "report.json", tmp_path / "copy.jsonl"
    answer = memory("erase", TEXT, "Peanuts", "--yes", "--json", "--report", str(report), "--export", str(copy))
    assert answer.code == 0
    document = answer.json
    assert document["complete"] is True
    assert document["texts"] == 2
    assert document["scanned"]["hits"] == 0
    assert json.loads(report.read_text()) == document
    assert report.stat().st_mode & 0o777 == 0o600
    for message in (answer.out, answer.err, report.read_text()):
        assert TEXT.lower() not in message.lower()
        assert "peanuts" not in message.lower()
    assert _holding(install) == []
    assert len(copy.read_text().splitlines()) == 3
    assert copy.stat().st_mode & 0o777 == 0o600
    assert not _contents(install) & {"Cat named Mio", "Allergic to peanuts"}
    assert len(_contents(install)) == 6
    assert memory("undo", "--yes").code == 0
    assert "User prefers Rust" in _contents(install)


def test_remaining_copies_give_exit_code_one(memory: Command, install: Path) -> None:
    (install / "workspace" / "USER.md").write_text(f"- {TEXT}\n- stays\n")
    mine = install / "workspace" / "backups" / "mine.bin"
    mine.parent.mkdir()
    mine.write_bytes(b"\0" + TEXT.encode())
    answer = memory("erase", TEXT, "--yes")
    assert answer.code == 1
    assert "mine.bin (1): The text cannot be cut out of this file" in answer.out
    assert "Something is left." in answer.out
    assert (install / "workspace" / "USER.md").read_text() == "- stays\n"
    mine.unlink()
    assert memory("erase", TEXT, "--yes").code == 0


def test_the_text_may_come_from_stdin(memory: Command, install: Path) -> None:
    answer = memory("erase", "-", "--yes", stdin=f"{TEXT}\n".encode())
    assert answer.code == 0
    assert "history of your shell" not in answer.err
    assert "history of your shell" in memory("erase", TEXT, "--yes").err
    assert _holding(install) == []


def test_erase_asks_for_a_typed_answer(script: Callable[[str], str], install: Path) -> None:
    command = [script("zeroclaw"), "memory", "--config-dir", str(install), "erase", TEXT]
    with Terminal(command, columns=110, lines=30) as screen:
        screen.wait_for("Found in 1 place", "This cannot be undone", "Type erase to do it:")
        screen.press("y", "enter")
        assert screen.wait_exit() == 1
        assert "Nothing was changed." in screen.text
    assert "Cat named Mio" in _contents(install)
    with Terminal(command, columns=110, lines=30) as screen:
        screen.wait_for("Type erase to do it:")
        screen.press(*"erase", "enter")
        assert screen.wait_exit() == 0
        assert "Nothing is left in the places" in screen.text
    assert _holding(install) == []


def test_purge_everywhere_erases_the_texts_of_the_filtered_memories(memory: Command, install: Path) -> None:
    (install / "workspace" / "USER.md").write_text("- Cat named Mio\n- stays\n")
    planned = memory("purge", "--contains", TEXT, "--everywhere", "--dry-run", "--json").json
    assert [one["key"] for one in planned["memories"]] == ["pet"]
    assert "Cat named Mio" in _contents(install)
    answer = memory("purge", "--contains", TEXT, "--everywhere", "--yes", "--json")
    assert (answer.code, answer.json["complete"]) == (0, True)
    assert "Cat named Mio" not in _contents(install)
    assert (install / "workspace" / "USER.md").read_text() == "- stays\n"
    assert memory("purge", "--contains", "nowhere", "--everywhere", "--yes").out == "Nothing matches.\n"
