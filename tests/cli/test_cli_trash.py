"""`memory trash`: what was deleted is listed, comes back, or goes for ever; each memory has a history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def emptied(memory: Run) -> Run:
    """The install after two memories were deleted, one by one, and one category."""
    for arguments in (("forget", "pet"), ("forget", "lang"), ("purge", "--category", "daily")):
        assert memory(*arguments, "--yes").code == 0
    return memory


def _keys(memory: Run, *options: str) -> list[str]:
    return [entry["key"] for entry in memory("trash", "list", "--json", *options).json["entries"]]


def test_an_empty_trash_is_told(memory: Run) -> None:
    answer = memory("trash", "list")
    assert answer.code == 0
    assert answer.out.startswith("The trash is empty.\n")
    assert memory("trash", "list", "--json").json["total"] == 0


@pytest.mark.parametrize("verb", [("get",), ("forget", "--yes"), ("edit", "--content", "x")])
def test_a_memory_asked_for_that_was_deleted_has_its_way_back_told(emptied: Run, verb: tuple[str, ...]) -> None:
    name, *options = verb
    answer = emptied(name, "pet", *options)
    assert answer.code == 1
    assert "No memory entry found for key: pet" in answer.err
    (number,) = [one["number"] for one in emptied("trash", "list", "--json").json["entries"] if one["key"] == "pet"]
    assert f"`zeroclaw memory trash restore {number}`" in answer.err
    assert emptied("trash", "restore", str(number), "--yes").code == 0
    assert emptied("get", "pet").code == 0


def test_list_as_json(emptied: Run, install: Path) -> None:
    document = emptied("trash", "list", "--json").json
    assert list(document) == ["backend", "location", "total", "offset", "limit", "usage", "entries"]
    assert [entry["key"] for entry in document["entries"]] == ["tz", "lang", "pet"]
    first = document["entries"][0]
    assert (first["id"], first["content"], first["session_id"], first["verb"]) == (
        "id-3",
        "Timezone is EST",
        "tg_1",
        "purge",
    )
    assert {"number", "action", "deleted_at", "until", "size", "store"} <= set(first)
    assert first["until"] > first["deleted_at"]
    assert set(document["usage"]) == {"rows", "bytes", "days_kept", "bytes_kept", "oldest"}
    assert (document["usage"]["rows"], document["usage"]["days_kept"]) == (3, 30)


def test_list_for_people_in_pages_and_by_text(emptied: Run) -> None:
    shown = emptied("trash", "list", "--limit", "2").out
    assert "Timezone is EST" in shown
    assert "Cat named Mio" not in shown
    assert "1 more; use --offset 2." in shown
    assert "each stays for 30 days" in shown
    assert _keys(emptied, "--contains", "RUST") == ["lang"]
    assert _keys(emptied, "--offset", "2") == ["pet"]
    assert _keys(emptied, "--limit", "0") == []


@pytest.mark.parametrize(
    ("how", "left"),
    [
        (("--all",), []), (("--contains", "rust"), ["tz", "pet"]), (("--id", "id-2"), ["tz", "lang"]),
    ],
)  # fmt: skip
def test_restore_brings_back_what_is_named(emptied: Run, how: tuple[str, ...], left: list[str]) -> None:
    document = emptied("trash", "restore", *how, "--json").json
    assert (document["verb"], document["count"]) == ("restore", 3 - len(left))
    assert _keys(emptied) == left
    assert emptied("list", "--json").json["total"] == 8 - len(left)


def test_restore_by_numbers_and_redo_of_the_deletion(emptied: Run) -> None:
    numbers = {entry["key"]: str(entry["number"]) for entry in emptied("trash", "list", "--json").json["entries"]}
    answer = emptied("trash", "restore", numbers["pet"], numbers["lang"])
    assert (answer.code, "Restored 2 memories." in answer.out) == (0, True)
    assert emptied("get", "pet", "--json").json["id"] == "id-2"
    again = emptied("trash", "restore", numbers["pet"])
    assert again.code == 1
    assert numbers["pet"] in again.err
    assert emptied("redo", "--yes", "--json").json["redone"]["verb"] == "forget"
    assert emptied("get", "pet").code == 1


def test_restore_says_before_what_comes_back_and_what_is_in_its_way(emptied: Run) -> None:
    emptied("store", "pet", "Dog named Rex")
    (other,) = [entry["id"] for entry in emptied("list", "--json").json["entries"] if entry["key"] == "pet"]
    before = emptied("list", "--json").json
    shown = emptied("trash", "restore", "--all", "--dry-run")
    assert (shown.code, "Nothing was changed." in shown.err) == (0, True)
    told = f"'pet' (id id-2): the key exists again (id {other})."
    for words in ("Restore 3 memories?", 'comes back:  pet  "Cat named Mio"', "1 in conflict", told):
        assert words in shown.out
    assert "becomes pet (restored)." in emptied("trash", "restore", "--all", "--dry-run", "--rename").out
    planned = emptied("trash", "restore", "--all", "--dry-run", "--json", "--overwrite").json
    assert (planned["verb"], planned["dry_run"], planned["count"], planned["action"]) == ("restore", True, 3, None)
    assert {entry["key"] for entry in planned["entries"]} == {"tz", "lang", "pet"}
    assert planned["clashes"] == [{"id": "id-2", "key": "pet", "because": told, "present": other}]
    refused = emptied("trash", "restore", "--all", "--dry-run", "--json").json
    assert (refused["count"], refused["on_clash"], refused["clashing"]) == (0, "refuse", 1)
    alone = emptied("trash", "restore", "--contains", "rust", "--dry-run", "--json", "--read-only").json
    assert (alone["count"], alone["clashing"]) == (1, 0)
    assert "Conflicts were not checked" in alone["notes"][0]
    assert (emptied("list", "--json").json, len(_keys(emptied))) == (before, 3)


@pytest.mark.parametrize("how", [("999",), ("--contains", "zebra"), ("--id", "id-99")])
def test_restore_of_nothing(emptied: Run, how: tuple[str, ...]) -> None:
    for options in ((), ("--dry-run",)):
        answer = emptied("trash", "restore", *how, *options)
        assert (answer.code, answer.out) == (1, "")
        assert "trash" in answer.err
    assert len(_keys(emptied)) == 3


def test_empty_lets_go_for_ever(emptied: Run, install: Path) -> None:
    number = emptied("trash", "list", "--json").json["entries"][2]["number"]
    dry = emptied("trash", "empty", str(number), "--dry-run")
    assert "Permanently delete 1 memory?" in dry.out
    assert len(_keys(emptied)) == 3
    document = emptied("trash", "empty", str(number), "--yes", "--json").json
    assert (document["verb"], document["count"], document["action"]) == ("empty", 1, None)
    assert _keys(emptied) == ["tz", "lang"]
    assert emptied("trash", "empty", "--yes").out == "✓ 2 memories permanently deleted.\n"
    assert _keys(emptied) == []
    kept = b"".join(path.read_bytes() for path in (install / "zeroclaw-tui").glob("trash.db*"))
    assert not any(word in kept for word in (b"Mio", b"Timezone is EST", b"User prefers Rust"))


def test_history_tells_every_step_with_what_changed(memory: Run) -> None:
    memory("edit", "pet", "--content", "Cat named Kiki", "--category", "daily")
    memory("forget", "pet", "--yes")
    memory("undo", "--yes")
    document = memory("get", "--history", "pet", "--json").json
    assert list(document) == ["backend", "location", "ids", "versions"]
    assert document["ids"] == ["id-2"]
    assert [version["verb"] for version in document["versions"]] == ["forget", "edit"]
    edit = document["versions"][1]
    assert set(edit) == {"action", "verb", "at", "id", "before", "after", "diff"}
    assert (edit["before"]["content"], edit["after"]["category"]) == ("Cat named Mio", "daily")
    assert edit["diff"].splitlines()[1:] == ["-Cat named Mio", "+Cat named Kiki"]
    assert document["versions"][0]["after"] is None
    shown = memory("get", "--history", "--id", "id-2").out
    assert "category: core → daily" in shown
    assert "+Cat named Kiki" in shown


def test_a_deleted_memory_has_a_history_too(emptied: Run) -> None:
    assert [v["verb"] for v in emptied("get", "--history", "pet", "--json").json["versions"]] == ["forget"]
    emptied("store", "pet", "Dog named Rex")
    again = emptied("get", "--history", "pet", "--json").json
    assert [version["verb"] for version in again["versions"]] == ["store", "forget"]
    assert len(again["ids"]) == 2


def test_history_of_nothing(memory: Run) -> None:
    assert memory("get", "--history", "pet").out == "No change was made to this memory here.\n"
    for asked in (("nobody",), ("--id", "id-99")):
        answer = memory("get", "--history", *asked)
        assert (answer.code, answer.out) == (1, "")
        assert "No memory entry found" in answer.err


def test_hostile_text_stays_harmless_in_every_listing(memory: Run) -> None:
    evil = "\x1b]0;owned\x07 \x9b31m \u202egnp.exe"
    assert memory("store", f"evil{evil}", evil, "--category", evil).code == 0
    assert memory("edit", f"evil{evil}", "--content", f"{evil} again").code == 0
    assert memory("forget", f"evil{evil}", "--yes").code == 0
    for arguments in (("trash", "list"), ("get", "--history", f"evil{evil}"), ("trash", "empty", "--dry-run")):
        answer = memory(*arguments)
        assert answer.code == 0
        assert not set("\x1b\x07\x9b\u202e") & set(answer.out + answer.err)


def test_a_broken_trash_is_one_sentence(memory: Run, install: Path) -> None:
    (install / "zeroclaw-tui").mkdir()
    (install / "zeroclaw-tui" / "trash.db").write_bytes(b"no database at all " * 300)
    for arguments in (("trash", "list"), ("forget", "pet", "--yes"), ("undo", "--yes"), ("store", "a", "b")):
        answer = memory(*arguments)
        assert (answer.code, answer.out) == (3, ""), answer
        assert "trash.db" in answer.err
        assert "Traceback" not in answer.err
    assert memory("get", "pet").code == 0
