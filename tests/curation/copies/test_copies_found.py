"""Where a removed text is found again, place by place."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from copies_samples import OTHER, SECRET, Place, make_side_databases
from support import small_store
from support.left_texts import cache, snapshot

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.copies import copies as looking
from zeroclaw_tui.curation.copies import texts
from zeroclaw_tui.curation.copies.copies import Copy, find_copies, summary
from zeroclaw_tui.curation.copies.texts import Text
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.store_choice import configs_for

DOOR = Text("id-gone", "door", SECRET)
Make = Callable[..., Place]
CODE = "Codes:\n- door 4711\n- cellar 0815"


async def _found(place: Place, open_place: Callable[..., Any], *texts: Text) -> dict[str, list[Copy]]:
    async with open_place(place) as library:
        by_kind: dict[str, list[Copy]] = {}
        for copy in await find_copies(library, texts or (DOOR,)):
            by_kind.setdefault(copy.kind, []).append(copy)
        return by_kind


def _told(copy: Copy) -> tuple[str, int | None, bool]:
    return Path(copy.place).name, copy.count, copy.can_clean


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("brain.db-")
    }


async def test_nothing_is_found_where_nothing_is(make_place: Make, open_place: Any) -> None:
    place = make_place(rows=({"key": "lang", "content": OTHER},))
    assert await _found(place, open_place) == {}
    async with open_place(place) as library:
        assert await find_copies(library, []) == []


@pytest.mark.parametrize("generation", ["G2", "G4"])
async def test_every_place_of_a_full_install_is_told(make_place: Make, open_place: Any, generation: str) -> None:
    """Each place by its path, with what can be cleaned and why the rest cannot; looking changes no byte."""
    place = make_place(generation, ({"id": "1", "key": "lang", "content": OTHER},))
    place.write("MEMORY_SNAPSHOT.md", snapshot(("lang", OTHER), ("door", SECRET)))
    place.write("memory/archive/2026-01-01.md", f"# Daily Log\n\n- **x**: {SECRET}\n")
    place.write("sessions/archive/2026-01-01.jsonl", f'{{"text": "{SECRET}"}}\n')
    place.write("MEMORY.md", f"# Long-Term Memory\n\n- **door**: {SECRET}\n")
    make_side_databases(place)
    small_store.make(place.root / "memory" / "discord.db", generation, [{"content": SECRET}])
    small_store.make(place.root / "memory" / "brain.db.backup-20260801T000000", "G1", [{"content": SECRET}])
    old = place.config_dir / "backup-20260801T000000" / "legacy-workspace" / "memory"
    old.mkdir(parents=True)
    small_store.make(old / "brain.db", "G1", [{"key": "door", "content": "an older code"}])
    migrated = place.root / "memory" / "migrations" / "openclaw-20260801-000000"
    migrated.mkdir(parents=True)
    small_store.make(migrated / "brain.db", "G1", [{"content": SECRET}])
    before = _digests(place.config_dir)

    found = await _found(place, open_place)

    assert _digests(place.config_dir) == before
    told = {
        kind: [(Path(copy.place).name, copy.count, copy.can_clean) for copy in some] for kind, some in found.items()
    }
    assert told == {
        "snapshot": [("MEMORY_SNAPSHOT.md", 1, True)],
        "archive": [("2026-01-01.md", 1, True), ("2026-01-01.jsonl", 1, True)],
        "markdown": [("MEMORY.md", 1, True)],
        "backup": [
            ("brain.db.backup-20260801T000000", 1, False),
            ("brain.db", 1, False),
            ("brain.db", 1, False),
        ],
        "audit": [("audit.db", 1, False)],
        "response cache": [("response_cache.db", 1, False)],
        "other database": [("discord.db", 1, False)],
    }
    assert all(copy.texts == (DOOR,) and copy.remark for some in found.values() for copy in some)


async def test_other_memories_with_the_content_are_named(make_place: Make, open_place: Any) -> None:
    """Superseded ones and those of other agents too, but not the memory itself while it is still stored."""
    hidden = {"id": "2", "key": "hidden", "content": SECRET, "superseded_by": "x"}
    place = make_place("G4", ({"id": "1", "key": "door", "content": SECRET}, hidden))
    itself = Text("1", "door", SECRET)
    (copy,) = (await _found(place, open_place, itself))["memories"]
    assert (copy.count, copy.can_clean) == (1, False)
    assert "hidden" in copy.remark
    assert "door" not in copy.remark


async def test_a_stored_memory_is_no_copy_in_the_snapshot(make_place: Make, open_place: Any) -> None:
    """What ZeroClaw would export again anyway is not offered: a twin, the row after an edit."""
    rows = ({"id": "1", "key": "door", "content": "new code"}, {"id": "2", "key": "twin", "content": SECRET})
    place = make_place("G2", rows)
    edited = Text("1", "door", SECRET)
    place.write("MEMORY_SNAPSHOT.md", snapshot(("door", "new code"), ("twin", SECRET)))
    assert "snapshot" not in await _found(place, open_place, edited)
    place.write("MEMORY_SNAPSHOT.md", snapshot(("door", SECRET), ("twin", SECRET)))
    assert (await _found(place, open_place, edited))["snapshot"][0].count == 1


async def test_an_older_version_in_the_snapshot_is_found_by_its_key(make_place: Make, open_place: Any) -> None:
    """ZeroClaw would bring a deleted memory back under its key, whatever it said then."""
    place = make_place()
    place.write("MEMORY_SNAPSHOT.md", snapshot(("door", "an older code")))
    assert (await _found(place, open_place))["snapshot"][0].count == 1


async def test_the_log_and_the_pages_keep_what_was_deleted(make_place: Make, open_place: Any) -> None:
    place = make_place("G2", ({"id": "1", "key": "door", "content": SECRET},))
    with closing(sqlite3.connect(place.database, isolation_level=None)) as writer:
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        writer.execute("PRAGMA secure_delete = OFF")
        writer.execute("UPDATE memories SET session_id = 'a' WHERE id = '1'")
        stored = await _found(place, open_place)
        assert stored == {"memories": stored["memories"]}
        writer.execute("DELETE FROM memories")
        found = await _found(place, open_place)
        assert {"write-ahead log", "free pages"} <= found.keys()
        assert not any(copy.can_clean for some in found.values() for copy in some)
        assert "VACUUM" in found["free pages"][0].remark
        assert found["write-ahead log"][0].place == f"{place.database}-wal"


async def test_before_a_removal_the_memories_themselves_are_no_copies(make_place: Make, open_place: Any) -> None:
    """A plan tells where else its memories lie: not in the rows and pages they are stored in, but in the snapshot."""
    rows = ({"id": "1", "key": "door", "content": SECRET}, {"id": "2", "key": "twin", "content": SECRET})
    place = make_place("G4", rows)
    place.write("MEMORY_SNAPSHOT.md", snapshot(("door", SECRET), ("twin", SECRET)))
    found = await _found(place, open_place, Text("1", "door", SECRET), Text("2", "twin", SECRET))
    assert {kind: copies[0].count for kind, copies in found.items()} == {"snapshot": 2}


async def test_what_was_not_looked_for_is_told(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where many texts meet much to search, and where a file is too large to be read."""
    place = make_place("G2", ({"id": "1", "key": "door", "content": SECRET},))
    place.write("MEMORY.md", f"I noted: {SECRET}\n")
    small_store.change(place.database, "DELETE FROM memories")
    second = Text("y", "second", "a second text, never stored")
    monkeypatch.setattr(texts, "COMPARED", 1)
    assert "Only the first 1 texts" in (await _found(place, open_place, DOOR, second))["markdown"][0].remark
    monkeypatch.setattr(looking, "LARGEST", 10)
    (copy,) = (await _found(place, open_place))["free pages"]
    assert copy.count is None
    assert "larger than" in copy.remark


async def test_blank_texts_are_found_nowhere(make_place: Make, open_place: Any) -> None:
    place = make_place("G2", ({"id": "2", "key": " ", "content": ""},))
    place.write("MEMORY.md", "\n\n- \n")
    place.write("MEMORY_SNAPSHOT.md", snapshot(("", "kept"), ("other", "")))
    assert await _found(place, open_place, Text("1", "", ""), Text("1", " ", "\n")) == {}


async def test_long_contents_are_found_though_pages_cut_them(make_place: Make, open_place: Any) -> None:
    long = " ".join(f"word{number}" for number in range(5000))
    place = make_place("G2", ({"id": "1", "key": "long", "content": long},))
    with closing(sqlite3.connect(place.database, isolation_level=None)) as writer:
        writer.execute("PRAGMA secure_delete = OFF")
        writer.execute("DELETE FROM memories")
        found = await _found(place, open_place, Text("1", "long", long))
    assert found.keys() & {"write-ahead log", "free pages"}


async def test_short_texts_are_found_only_as_a_whole(make_place: Make, open_place: Any) -> None:
    """`ok` is a part of half of all words."""
    place = make_place(rows=({"key": "lang", "content": "ok is a word, look at tokens"},))
    place.write("MEMORY.md", "- **a**: looks ok to me\n")
    place.write("sessions/archive/2026-01-01.jsonl", '{"text": "ok"}')
    make_side_databases(place)
    short = Text("x", "short", "ok")
    assert await _found(place, open_place, short) == {}
    place.write("MEMORY.md", "- **a**: looks ok to me\n- **b**: ok\n")
    place.write("MEMORY_SNAPSHOT.md", snapshot(("b", "ok")))
    assert (await _found(place, open_place, short)).keys() == {"markdown", "snapshot"}


@pytest.mark.parametrize(
    ("notes", "is_found"),
    [
        (f"- **door**: {SECRET}\n", True),
        (f"{SECRET}\r\n", True),
        (f"I noted: {SECRET} (really)\n", True),
        (f"- **a**: {SECRET[:-1]}\n", False),
    ],
)
async def test_lines_that_hold_a_text(make_place: Make, open_place: Any, notes: str, is_found: bool) -> None:
    place = make_place()
    place.write("memory/2026-03-01.md", f"# Daily Log\n\n{notes}")
    assert ("markdown" in await _found(place, open_place)) is is_found


async def test_a_content_of_several_lines_is_found_as_a_block(make_place: Make, open_place: Any) -> None:
    place = make_place()
    codes = Text("x", "codes", CODE)
    place.write("MEMORY.md", "- **codes**: Codes:\n- door 4711\n")
    assert await _found(place, open_place, codes) == {}
    place.write("MEMORY.md", "- **codes**: Codes:\n- door 4711\n- cellar 0815\n")
    assert (await _found(place, open_place, codes))["markdown"][0].count == 1


@pytest.mark.parametrize(
    "content",
    [
        "before\x00after the NUL byte",
        "no UTF-8: \udcff\udcfe and more",
        ".*(a+)+$ [x] {2,} \\",
        "A note\n### 🔑 `looks like an entry`\nwith a tail\n---\n*Created: never*\nend",
        "`; DROP TABLE memories; -- % _ '",
    ],
)
async def test_hostile_texts_are_found_everywhere(make_place: Make, open_place: Any, content: str) -> None:
    """In the snapshot as ZeroClaw writes it, in notes and in a backup, and nothing that only looks alike."""
    place = make_place()
    raw = content.encode("utf-8", "surrogateescape")
    place.write(
        "MEMORY_SNAPSHOT.md", snapshot(("safe", "kept")).encode() + b"### \xf0\x9f\x94\x91 `h`\n\n" + raw + b"\n"
    )
    place.write("MEMORY.md", b"- **h**: " + raw + b"\n")
    backup = small_store.make(place.root / "memory" / "brain.db.backup-1", "G1", [{"key": "other"}])
    small_store.change(backup, "UPDATE memories SET content = CAST(? AS TEXT)", [raw])
    found = await _found(place, open_place, Text("x", "gone", content))
    assert {kind: copies[0].count for kind, copies in found.items()} == {"snapshot": 1, "markdown": 1, "backup": 1}
    assert await _found(place, open_place, Text("x", "gone", f"{content}!")) == {}


async def test_what_cannot_be_read_is_told(make_place: Make, open_place: Any) -> None:
    """A damaged database and a folder among files: each says why, none stops the rest."""
    place = make_place()
    place.write("memory/audit.db", b"not a database at all" * 100)
    place.write("memory/response_cache.db", b"SQLite format 3\x00" + b"\xff" * 4096)
    place.write("sessions/sessions.db", b"SQLite format 3\x00" + b"\xff" * 4096)
    place.write("memory/brain.db.backup-1", b"SQLite format 3\x00" + b"\xff" * 4096)
    (place.root / "memory" / "2026-01-01.md").mkdir()
    place.write("MEMORY.md", f"- **door**: {SECRET}\n")
    found = await _found(place, open_place)
    assert found["markdown"][0].count == 1
    for kind in ("audit", "response cache", "backup", "chat"):
        (copy,) = found[kind]
        assert (copy.count, copy.can_clean) == (None, False)
        assert copy.remark


async def test_a_file_that_may_not_be_read_is_told(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", SECRET)
    read = Path.read_bytes

    def refused(path: Path) -> bytes:
        if path == notes:
            raise PermissionError(errno.EACCES, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    (copy,) = (await _found(place, open_place))["markdown"]
    assert (copy.count, copy.can_clean) == (None, False)
    assert "Permission denied" in copy.remark


async def test_a_log_nobody_indexed_is_left_as_it_is(make_place: Make, open_place: Any) -> None:
    """Reading it would make a file beside a database of another program; that it was not read is said."""
    place = make_place()
    backup = small_store.make(place.root / "memory" / "discord.db", "G2", [])
    wal = place.write("memory/discord.db-wal", b"\x37\x7f\x06\x82" + b"\x00" * 100)
    (copy,) = (await _found(place, open_place))["other database"]
    assert copy.count is None
    assert wal.name in copy.remark
    assert not backup.with_name("discord.db-shm").exists()


async def test_a_log_in_use_is_read(make_place: Make, open_place: Any) -> None:
    place = make_place()
    discord = small_store.make(place.root / "memory" / "discord.db", "G2", [])
    with closing(sqlite3.connect(discord)) as agent:
        agent.execute("INSERT INTO memories VALUES ('1', 'k', ?, 'core', NULL, '', '', NULL, '', 0, NULL)", (SECRET,))
        agent.commit()
        assert (await _found(place, open_place))["other database"][0].count == 1


async def test_cached_vectors_are_counted(make_place: Make, open_place: Any) -> None:
    """By the hash of the content."""
    place = make_place()
    cache(place.database, SECRET, "something else")
    (copy,) = (await _found(place, open_place, DOOR, Text("y", "k", "never cached")))["embedding cache"]
    assert (copy.count, copy.can_clean, copy.texts) == (1, True, (DOOR,))


async def test_lucid_keeps_what_it_was_given(make_place: Make, open_place: Any) -> None:
    place = make_place(backend="lucid")
    async with open_place(place, backend="sqlite") as library:
        (copy,) = await find_copies(library, [DOOR])
    assert (copy.kind, copy.count, copy.can_clean) == ("lucid", None, False)


async def test_notes_of_the_store_itself_are_no_copies(make_place: Make, open_place: Any) -> None:
    """Where memory is Markdown, the same text on another line is another memory; agents' folders are the store too."""
    place = make_place(backend="markdown")
    place.database.unlink()
    place.write("MEMORY.md", f"{SECRET}\n")
    place.write("memory/archive/2026-01-01.md", f"{SECRET}\n")
    found = await _found(place, open_place)
    assert found.keys() == {"memories", "archive"}


async def test_agents_own_notes_are_found(make_place: Make, open_place: Any) -> None:
    place = make_place("G4")
    notes = place.config_dir / "agents" / "anna" / "workspace" / "memory"
    notes.mkdir(parents=True)
    (notes / "2026-01-01.md").write_text(f"- **x**: {SECRET}\n")
    assert [copy.place for copy in (await _found(place, open_place))["markdown"]] == [str(notes / "2026-01-01.md")]


async def test_the_notes_of_an_agent_whose_folder_the_config_names_are_found(
    make_place: Make, open_place: Any, tmp_path: Path
) -> None:
    place = make_place("G4")
    notes = tmp_path / "elsewhere"
    notes.mkdir()
    (notes / "MEMORY.md").write_text(f"- **x**: {SECRET}\n")
    config = place.config_dir / "config.toml"
    config.write_text(f'{config.read_text()}\n[agents.anna.workspace]\npath = "{notes}"\n')
    assert [copy.place for copy in (await _found(place, open_place))["markdown"]] == [str(notes / "MEMORY.md")]


async def test_a_lone_database_has_no_notes_but_backups(tmp_path: Path) -> None:
    """Notes that happen to lie in the same folder are another program's."""
    database = small_store.make(tmp_path / "brain.db", "G2", [])
    small_store.make(tmp_path / "brain.db.backup-20260801T000000", "G1", [{"content": SECRET}])
    (tmp_path / "MEMORY.md").write_text(SECRET)
    library = await open_library(configs_for(OpenOptions(path=database))[0])
    try:
        assert [copy.kind for copy in await find_copies(library, [DOOR])] == ["backup"]
    finally:
        await library.close()


async def test_a_trash_that_cannot_be_read_is_told(make_place: Make, open_place: Any) -> None:
    place = make_place()
    async with open_place(place) as library:
        library.trash.file.parent.mkdir()
        library.trash.file.write_bytes(b"no database" * 100)
        (copy,) = await find_copies(library, [DOOR])
    assert (copy.kind, copy.count) == ("trash", None)


def test_the_summary_is_one_line() -> None:
    def copy(kind: Any, place: str, count: int | None) -> Copy:
        return Copy(kind, place, count, False, "")

    copies = [
        copy("embedding cache", "/x/brain.db", 1290),
        copy("snapshot", "/x/MEMORY_SNAPSHOT.md", 3),
        copy("archive", "/x/a.md", 2),
        copy("archive", "/x/b.md", 1),
        copy("write-ahead log", "/x/brain.db-wal", None),
        copy("markdown", "/x/\x1b[2J\n.md", 1),
    ]
    assert summary(copies) == (
        "embedding cache (1,290), MEMORY_SNAPSHOT.md (3), 2 archived files (3), write-ahead log, ␛[2J .md (1)"
    )
    assert summary([]) == ""
