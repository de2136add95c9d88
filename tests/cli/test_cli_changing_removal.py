"""`memory forget`, `purge`, `clear` and `undo`: what goes, what is said, and that all of it comes back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
COMMON = [
    "verb", "backend", "location", "dry_run", "count", "action", "until", "entries", "changed", "gone", "renamed",
    "notes", "also_found_in", "cleaned",
]  # fmt: skip


def _database(install: Path) -> Path:
    return install / "workspace" / "memory" / "brain.db"


def _rows(install: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(_database(install))) as connection:
        return connection.execute("SELECT rowid, * FROM memories ORDER BY rowid").fetchall()


def _keys(memory: Run, *options: str) -> set[str]:
    return {entry["key"] for entry in memory("list", "--json", *options).json["entries"]}


def _many(install: Path, count: int) -> None:
    with closing(sqlite3.connect(_database(install))) as connection, connection:
        at = "2026-02-01T10:00:00+00:00"
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at) VALUES (?, ?, ?, 'noise', ?, ?)",
            [(f"n-{number}", f"noise_{number}", f"noise {number}", at, at) for number in range(count)],
        )


def test_forget_deletes_one_and_undo_brings_it_back_whole(memory: Run, install: Path) -> None:
    before = _rows(install)
    answer = memory("forget", "pet", "--yes")
    assert answer.code == 0
    assert answer.out == "✓ Deleted key 'pet'; `zeroclaw memory undo` restores it.\n"
    assert memory("get", "pet").code == 1
    undone = memory("undo", "--yes")
    assert (undone.code, "deleted pet" in undone.out) == (0, True)
    assert _rows(install) == before
    assert [result["key"] for result in memory("recall", "Mio", "--json").json["results"]] == ["pet"]


def test_forget_as_json(memory: Run) -> None:
    document = memory("forget", "--id", "id-6", "--yes", "--json").json
    assert list(document) == COMMON
    assert (document["verb"], document["count"], document["dry_run"]) == ("forget", 1, False)
    assert [(entry["id"], entry["key"]) for entry in document["entries"]] == [("id-6", "--json")]
    assert document["until"] > "2026-04-01"


@pytest.mark.parametrize("asked", [("pe",), ("nobody",), ("--id", "id-99"), ("pet", "--id", "id-1")])
def test_forget_takes_no_beginning_of_a_key(memory: Run, install: Path, asked: tuple[str, ...]) -> None:
    before = _rows(install)
    answer = memory("forget", *asked, "--yes")
    assert (answer.code, answer.out) == (1, "")
    assert "No memory entry found" in answer.err
    assert _rows(install) == before


def test_the_empty_key_can_be_forgotten(memory: Run) -> None:
    assert memory("forget", "", "--yes", "--json").json["entries"][0]["id"] == "id-7"


@pytest.mark.parametrize(
    "arguments",
    [
        ("forget", "pet"), ("purge", "--category", "core"), ("clear",), ("clear", "--key", "pet"), ("undo",),
        ("trash", "empty"), ("forget", "pet", "--forever"), ("purge", "--category", "core", "--json"),
    ],
)  # fmt: skip
def test_without_a_terminal_nothing_is_asked_and_nothing_done(
    memory: Run, install: Path, arguments: tuple[str, ...]
) -> None:
    before = _rows(install)
    answer = memory(*arguments, stdin=b"y\n")
    assert (answer.code, answer.told) == (2, "")
    assert "--yes" in answer.err
    assert "--dry-run" in answer.err
    assert _rows(install) == before


def test_a_dry_run_shows_the_plan_and_does_nothing(memory: Run, install: Path) -> None:
    before = _rows(install)
    answer = memory("purge", "--category", "core", "--dry-run")
    assert answer.code == 0
    assert answer.out.startswith("Purge 6 memories?\n  core 6 · oldest 2026-03-01 · newest 2026-03-08 · ")
    assert '"User prefers Rust"' in answer.out
    assert "… 3 more" in answer.out
    assert "They go to the trash" in answer.out
    document = memory("purge", "--category", "core", "--dry-run", "--json").json
    assert list(document) == [*COMMON, "superseded_hidden"]
    assert (document["dry_run"], document["count"], document["action"]) == (True, 6, None)
    assert {entry["key"] for entry in document["entries"]} == {"lang", "editor", "pet", "food_allergy", "--json", ""}
    for arguments in (("forget", "pet"), ("clear",), ("clear", "--key", "pet")):
        assert memory(*arguments, "--dry-run", "--json").json["dry_run"] is True
    assert _rows(install) == before
    assert not (install / "zeroclaw-tui" / "trash.db").exists()


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        (("--category", "daily"), {"tz"}),
        (("--session", "tg_1"), {"pet", "tz"}),
        (("--older-than", "2026-03-02T12:00:00Z"), {"lang", "editor"}),
        (("--newer-than", "2026-03-07"), {"--json", ""}),
        (("--contains", "RUST"), {"lang", "food"}),
        (("--session", "tg_1", "--category", "core"), {"pet"}),
        (("--id", "id-0", "--id", "id-1"), {"lang", "editor"}),
        (("pet", "food"), {"pet", "food"}),
        (("--namespace", "other"), set()),
    ],
)  # fmt: skip
def test_a_purge_takes_what_the_filter_leaves_and_nothing_else(
    memory: Run, install: Path, options: tuple[str, ...], gone: set[str]
) -> None:
    rows, keys = _rows(install), _keys(memory)
    document = memory("purge", *options, "--yes", "--json").json
    assert document["count"] == len(gone)
    assert _keys(memory) == keys - gone
    if gone:
        assert memory("undo", "--yes", "--json").json["count"] == len(gone)
    assert _rows(install) == rows


@pytest.mark.parametrize("option", ["--contains", "--regex"])
def test_a_blank_text_beside_another_filter_purges_nothing(memory: Run, install: Path, option: str) -> None:
    rows = _rows(install)
    for blank in ("", "  "):
        answer = memory("purge", "--category", "core", option, blank, "--yes")
        assert (answer.code, answer.out) == (2, "")
        assert f"{option} is blank" in answer.err
    assert _rows(install) == rows


def test_superseded_memories_are_purged_only_when_named(memory: Run, install: Path) -> None:
    assert memory("purge", "--contains", "prefers C", "--yes", "--json").json["count"] == 0
    assert memory("purge", "--superseded", "only", "--yes", "--json").json["entries"][0]["key"] == "lang_old"


@pytest.mark.parametrize(
    "arguments",
    [
        ("purge",), ("purge", "--superseded"), ("purge", "--contains", ""), ("purge", "pet", "--category", "core"),
        ("purge", "--id", "id-1", "--older-than", "1d"), ("forget",), ("clear", "--key", "a", "--category", "core"),
        ("undo", "--overwrite", "--rename"), ("trash",), ("trash", "restore"),
        ("trash", "restore", "1", "--all"), ("trash", "restore", "first"), ("trash", "empty", "0"),
        ("get", "--history"),
    ],
)  # fmt: skip
def test_wrong_use_touches_nothing(memory: Run, install: Path, arguments: tuple[str, ...]) -> None:
    before = _rows(install)
    answer = memory(*arguments, "--yes")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("zeroclaw: ")
    assert _rows(install) == before


def test_a_purge_of_names_stops_at_one_that_is_not_there(memory: Run, install: Path) -> None:
    before = _rows(install)
    answer = memory("purge", "pet", "nobody", "--yes")
    assert answer.code == 1
    assert "nobody" in answer.err
    assert _rows(install) == before


def test_more_than_a_thousand_go_and_come_back(memory: Run, install: Path) -> None:
    _many(install, 1100)
    before = _rows(install)
    document = memory("purge", "--category", "noise", "--yes", "--json").json
    assert (document["count"], len(document["entries"])) == (1100, 1000)
    assert len(_rows(install)) == 9
    assert memory("undo", "--yes", "--json").json["count"] == 1100
    assert _rows(install) == before


def test_clear_speaks_as_zeroclaw_does(memory: Run, install: Path) -> None:
    answer = memory("clear", "--category", "core", "--yes")
    assert answer.code == 0
    assert answer.out.startswith("Found 6 entries in 'core'.\n✓ Cleared 6/6 entries.\n")
    everything = memory("clear", "--yes")
    assert everything.out.startswith("Found 2 entries in 'all categories'.\n✓ Cleared 2/2 entries.\n")
    assert [row[1] for row in _rows(install)] == ["id-old"]
    assert memory("clear", "--yes").out == "No memory entries found.\n"
    assert [memory("undo", "--yes").code for _ in range(2)] == [0, 0]
    assert len(_rows(install)) == 9


def test_clear_of_a_key_takes_the_only_key_that_begins_so(memory: Run) -> None:
    answer = memory("clear", "--key", "edi", "--yes")
    assert answer.out.startswith("✓ Deleted key: editor\n")
    several = memory("clear", "--key", "foo", "--yes")
    assert several.code == 1
    assert several.out.startswith("Prefix 'foo' matched 2 entries:")
    nothing = memory("clear", "--key", "nobody", "--yes")
    assert (nothing.code, nothing.out) == (1, "")
    assert len(_keys(memory)) == 7


def test_clear_has_no_cap_of_a_thousand(memory: Run, install: Path) -> None:
    _many(install, 1200)
    assert memory("clear", "--category", "noise", "--yes", "--json").json["count"] == 1200
    assert "first thousand" in memory("clear", "--help").out


def test_agents_are_kept_apart(run: Run, agents_install: Path) -> None:
    place = ("--config-dir", str(agents_install), "--yes", "--json")
    for arguments in (("forget", "lang"), ("clear", "--key", "lang"), ("purge", "lang")):
        answer = run("memory", *arguments, *place)
        assert (answer.code, answer.told) == (1, "")
        assert all(word in answer.err for word in ("default", "writer", "lang-writer"))
    assert run("memory", "purge", "lang", "--agent", "writer", *place).json["entries"][0]["id"] == "lang-writer"
    assert run("memory", "clear", "--agent", "writer", *place).json["count"] == 1
    assert run("memory", "list", *place).json["total"] == 1


def test_what_is_deleted_for_ever_is_in_no_trash(memory: Run, install: Path) -> None:
    memory("edit", "pet", "--content", "Cat named Kiki")
    answer = memory("forget", "pet", "--forever", "--yes", "--json")
    assert (answer.code, answer.json["count"], answer.json["action"], answer.json["until"]) == (0, 1, None, None)
    assert memory("trash", "list", "--json").json["entries"] == []
    assert memory("undo", "--yes").code == 1
    kept = b"".join(path.read_bytes() for path in (install / "zeroclaw-tui").glob("trash.db*"))
    assert b"Kiki" not in kept
    assert b"Mio" not in kept


def test_undo_says_what_it_would_do(memory: Run, install: Path) -> None:
    memory("store", "drink", "Oolong")
    memory("purge", "--session", "tg_1", "--yes")
    before = _rows(install)
    shown = memory("undo", "--dry-run")
    assert shown.code == 0
    assert "Change 2, " in shown.out
    assert 'comes back:  pet  "Cat named Mio"' in shown.out
    document = memory("undo", "--dry-run", "--json").json
    assert list(document) == [*COMMON, "undone", "on_clash", "clashing", "clashes"]
    assert (document["dry_run"], document["count"], document["undone"]["verb"]) == (True, 2, "purge")
    assert (document["on_clash"], document["clashing"], document["clashes"]) == ("refuse", 0, [])
    assert set(document["undone"]) == {"number", "verb", "at", "summary", "count"}
    assert _rows(install) == before
    first = memory("undo", "--yes", "--json").json
    assert (first["undone"]["verb"], first["verb"], first["count"]) == ("purge", "undo", 2)
    assert memory("undo", "--yes", "--json").json["undone"]["verb"] == "store"
    nothing = memory("undo", "--yes")
    assert (nothing.code, nothing.out) == (1, "")
    assert "every change is already undone." in nothing.err
    assert "`zeroclaw memory redo` redoes the last one." in nothing.err
    assert memory("trash", "empty", "--yes").code == 0
    assert "Nothing to undo." in memory("undo", "--yes").err


def test_a_key_that_exists_again_stops_an_undo_until_decided(memory: Run, install: Path) -> None:
    memory("forget", "pet", "--yes")
    with closing(sqlite3.connect(_database(install))) as connection, connection:
        at = "2026-05-01T10:00:00+00:00"
        connection.execute(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at)"
            " VALUES ('new-pet', 'pet', 'Dog named Rex', 'core', ?, ?)",
            (at, at),
        )
    before = _rows(install)
    answer = memory("undo", "--yes", "--json")
    assert (answer.code, answer.told) == (1, "")
    assert all(word in answer.err for word in ("id-2", "new-pet", "'pet'", "--overwrite", "--rename"))
    assert "`zeroclaw memory redo` reverses either." in answer.err
    because = "'pet' (id id-2): the key exists again (id new-pet)."
    assert answer.json["error"]["message"] == f"{because} Nothing was restored."
    on_conflict = {"id": "id-2", "key": "pet", "because": because, "present": "new-pet"}
    assert (answer.json["error"]["clashes"], answer.err.count(because)) == ([on_conflict], 1)
    shown = memory("undo", "--dry-run")
    assert (shown.code, because in shown.out, "in conflict, so" in shown.out) == (0, True, True)
    assert "`zeroclaw memory redo` reverses either." in shown.out
    for way, count in (("refuse", 0), ("overwrite", 1), ("rename", 1)):
        planned = memory("undo", "--dry-run", "--json", *([] if way == "refuse" else [f"--{way}"])).json
        assert (planned["count"], planned["on_clash"]) == (count, way)
        assert (planned["clashing"], planned["clashes"]) == (1, [on_conflict])
        assert planned["renamed"] == ({"pet": "pet (restored)"} if way == "rename" else {})
    assert _rows(install) == before
    renamed = memory("undo", "--yes", "--rename", "--json").json
    assert list(renamed["renamed"]) == ["pet"]
    assert memory("get", renamed["renamed"]["pet"], "--json").json["content"] == "Cat named Mio"
    assert memory("get", "--id", "new-pet", "--json").json["content"] == "Dog named Rex"
    assert memory("redo", "--yes").code == 0
    assert _rows(install) == before


def test_overwriting_puts_the_old_one_in_place_of_the_new(memory: Run) -> None:
    memory("forget", "pet", "--yes")
    memory("store", "pet", "Dog named Rex")
    number = memory("trash", "list", "--json").json["entries"][0]["number"]
    assert memory("trash", "restore", str(number)).code == 1
    assert memory("trash", "restore", str(number), "--overwrite").code == 0
    assert memory("get", "pet", "--json").json["content"] == "Cat named Mio"


def test_asking_verbs_repair_with_yes(memory: Run, install: Path) -> None:
    with closing(sqlite3.connect(_database(install))) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
    answer = memory("forget", "pet", "--yes", "--json")
    assert (answer.code, answer.json["count"]) == (0, 1)
    assert "Restored ZeroClaw's triggers" in answer.err


def test_copies_elsewhere_are_named_and_cleaned_when_asked(memory: Run, install: Path) -> None:
    snapshot = install / "workspace" / "MEMORY_SNAPSHOT.md"
    block = "### 🔑 `{}`\n\n{}\n\n*Created: 2026-03-01 | Updated: 2026-03-01*\n\n---\n\n"
    head = "# 🧠 ZeroClaw Memory Snapshot\n\n> a\n> b\n> c\n\n**Last exported:** 2026-03-01 10:00:00\n\n"
    text = (
        f"{head}**Total core memories:** 2\n\n---\n\n"
        + block.format("pet", "Cat named Mio")
        + block.format("lang", "User prefers Rust")
    )
    snapshot.write_text(text)
    plan = memory("forget", "pet", "--dry-run")
    assert "Also found in: snapshot (1)" in plan.out
    answer = memory("forget", "pet", "--yes")
    assert "Also found in: " in answer.out
    assert "(can be cleaned)" in answer.out
    assert "Cat named Mio" in snapshot.read_text()
    memory("undo", "--yes")
    document = memory("forget", "pet", "--yes", "--clean-copies", "--json").json
    assert document["cleaned"]["count"] >= 1
    assert document["cleaned"]["action"] != document["action"]
    assert all(set(copy) == {"kind", "place", "count", "can_clean", "remark"} for copy in document["also_found_in"])
    assert "Cat named Mio" not in snapshot.read_text()
    assert "User prefers Rust" in snapshot.read_text()
    assert memory("undo", "--yes", "--json").json["undone"]["verb"] == "clean"
    assert snapshot.read_text() == text
    assert memory("undo", "--yes", "--json").json["undone"]["verb"] == "forget"
    assert memory("get", "pet").code == 0
