"""Cleaning removes only the texts, also while an agent runs; undo restores the exact bytes."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.installs import Install, make_install
from support.left_texts import SESSIONS, snapshot
from support.libraries import preview_undo, undo
from support.memories import UndoConflicts

from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.traces.copies import clean_copies, find_copies
from zeroclaw_tui.curation.traces.search import TextPlace
from zeroclaw_tui.files import database as connections


@pytest.fixture
def place(tmp_path):
    return make_install(tmp_path / "zeroclaw", "G2")


SECRET = "The door code is 4711, tell nobody"
OTHER = "Prefers Rust for tools and Python for plots"


async def test_cleaning_removes_only_those_lines_and_undo_restores_the_bytes(tmp_path):
    """Line endings, invalid UTF-8, blanks and the mode of every file stay."""
    place = make_install(tmp_path / "zeroclaw", "G4", [{"key": "lang", "content": OTHER}])
    files = {
        place.write("MEMORY_SNAPSHOT.md", snapshot(("lang", OTHER), ("door", SECRET))): snapshot(
            ("lang", OTHER)
        ).encode(),
        place.write("MEMORY.md", f"# Long\r\n\r\n- **door**: {SECRET}\r\n\r\n- **b**: \xff \r\n".encode("latin-1")): (
            b"# Long\r\n\r\n\r\n- **b**: \xff \r\n"
        ),
        place.write("memory/archive/2026-01-01.md", f"{SECRET}\nlast line without an end"): b"last line without an end",
        place.write("memory/2026-03-01.md", f"first\n{SECRET}"): b"first\n",
    }
    before = {path: path.read_bytes() for path in files}
    for path in files:
        path.chmod(0o640)
    async with place.opened() as library:
        outcome = await clean_copies(library, await find_copies(library, [SECRET]))
        assert {path: path.read_bytes() for path in files} == files
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o640}
        assert (outcome.verb, outcome.count, outcome.notes) == ("clean", 4, ())
        assert outcome.action is not None
        assert await find_copies(library, [SECRET]) == []
        await undo(library)
        assert {path: path.read_bytes() for path in files} == before
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o640}
    assert not list(place.config_dir.rglob("*.tmp"))


async def test_a_file_changed_during_cleaning_is_skipped(place, monkeypatch):
    """The agent's write stays, a sentence says so, and nothing has to be undone."""
    notes = place.write("MEMORY.md", f"- **door**: {SECRET}\n")
    record = RunningAction.record

    def record_and_write(action, changes):
        record(action, changes)
        notes.write_text(f"{notes.read_text()}- **new**: from the agent\n")

    async with place.opened() as library:
        copies = await find_copies(library, [SECRET])
        monkeypatch.setattr(RunningAction, "record", record_and_write)
        outcome = await clean_copies(library, copies)
        assert (outcome.count, outcome.action) == (0, None)
        assert "changed while it was being cleaned" in outcome.notes[0]
        assert await library.trash.last() is None
    assert notes.read_text() == f"- **door**: {SECRET}\n- **new**: from the agent\n"


def _chats(place: Install, *contents: str) -> Path:
    """Create a sessions.db with these messages."""
    path = place.write("sessions/sessions.db", b"")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SESSIONS)
        for content in contents:
            connection.execute(
                "INSERT INTO sessions (session_key, role, content, created_at) VALUES ('k', 'user', ?, '')", (content,)
            )
    return path


def _messages(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [content for (content,) in connection.execute("SELECT content FROM sessions ORDER BY id")]


async def test_a_chat_is_cleaned_while_the_agent_writes(place):
    """The agent has the database open; its new messages stay, and the text is not in the log."""
    path = _chats(place, f"Mind: {SECRET}", OTHER)
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        agent.execute("INSERT INTO sessions (session_key, role, content, created_at) VALUES ('k', 'user', 'new', '')")
        async with place.opened() as library:
            outcome = await clean_copies(library, await find_copies(library, [SECRET]))
            assert (outcome.count, outcome.notes) == (1, ())
            assert _messages(path) == ["Mind: [removed]", OTHER, "new"]
            assert agent.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert not any(SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())
            agent.execute("UPDATE sessions SET content = 'the agent wrote this' WHERE id = 1")
            numbers = await library.trash.numbers_to_reverse(outcome.action.number, "undo")
            foreseen = await preview_undo(library, numbers)
            with pytest.raises(UndoConflicts):
                await undo(library)
            undone = await undo(library, on_conflict="skip")
        assert foreseen.conflict_count == 1
        assert any("changed since. It was skipped." in note for note in undone.notes)
        assert _messages(path)[0] == "the agent wrote this"


async def test_a_locked_chat_is_reported_and_skipped(place, monkeypatch):
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    path = _chats(place, SECRET)
    notes = place.write("MEMORY.md", f"{SECRET}\nrest\n")
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        agent.execute("BEGIN IMMEDIATE")
        async with place.opened() as library:
            outcome = await clean_copies(library, await find_copies(library, [SECRET]))
            assert outcome.count == 1
            assert "Database is locked" in " ".join(outcome.notes)
            assert (_messages(path), notes.read_text()) == ([SECRET], "rest\n")
            await undo(library)
            assert await library.trash.last() is None
    assert notes.read_text() == f"{SECRET}\nrest\n"


# Finding copies


async def _found(place: Install) -> dict[str, list[TextPlace]]:
    async with place.opened() as library:
        by_kind: dict[str, list[TextPlace]] = {}
        for copy in await find_copies(library, [SECRET]):
            by_kind.setdefault(copy.kind, []).append(copy)
        return by_kind


async def test_unreadable_files_are_reported(place):
    """Damaged databases, a log without an index, folders: each is reported with its reason, and the others are read.

    Reading that log would create a file next to another program's database.
    """
    other = small_store.make(place.root / "memory" / "discord.db", "G2", [])
    wal = place.write("memory/discord.db-wal", b"\x37\x7f\x06\x82" + b"\x00" * 100)
    (place.root / "sessions").mkdir(exist_ok=True)
    (place.root / "sessions" / "archive").symlink_to("archive")
    place.write("memory/audit.db", b"not a database at all" * 100)
    for name in ("memory/response_cache.db", "sessions/sessions.db", "memory/brain.db.backup-1"):
        place.write(name, b"SQLite format 3\x00" + b"\xff" * 4096)
    (place.root / "memory" / "2026-01-01.md").mkdir()
    place.write("memory/archive/2026-01-01.md", f"- **door**: {SECRET}\n")
    found = await _found(place)
    assert found["archive"][0].count == 1
    for kind in ("audit", "response cache", "backup", "chat"):
        (copy,) = found[kind]
        assert (copy.count, copy.can_clean) == (None, False)
        assert copy.why
    (folder,), (copy,) = found["folder"], found["other database"]
    assert (Path(folder.place).name, folder.count, folder.can_clean) == ("archive", None, False)
    assert "cannot be read" in folder.why
    assert copy.count is None
    assert wal.name in copy.why
    assert not other.with_name("discord.db-shm").exists()


async def test_notes_of_the_store_itself_are_not_copies(place):
    """In Markdown the same text on another line is another memory; agents' folders also belong to the store."""
    place.configure(backend="markdown")
    place.database.unlink()
    place.write("MEMORY.md", f"{SECRET}\n")
    place.write("memory/archive/2026-01-01.md", f"{SECRET}\n")
    found = await _found(place)
    assert found.keys() == {"archive"}
