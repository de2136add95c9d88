"""Texts in chats, traces and databases of other things: found however they are written, cleaned without harm."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from copies_samples import OTHER, SECRET, Place
from support import small_store
from support.left_texts import SESSIONS

from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import foresee, undo
from zeroclaw_tui.curation.traces.copies import Copy, Text, clean_copies, find_copies
from zeroclaw_tui.files import database as connections
from zeroclaw_tui.memory.change import Conflicts

DOOR = Text("id-gone", "door", SECRET)
ODD = 'Said "no"\tto C:\\new\\über, twice'


async def _found(place: Place, *texts: Text) -> dict[str, Copy]:
    async with place.opened() as library:
        return {Path(copy.place).name: copy for copy in await find_copies(library, texts or (DOOR,))}


def _chats(place: Place, *contents: str) -> Path:
    """A sessions.db with these messages."""
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


def _nested(value: object, times: int, *, ascii_only: bool) -> str:
    for _ in range(times):
        value = json.dumps({"role": "user", "content": value}, ensure_ascii=ascii_only)
    return str(value)


async def test_json_is_read_and_stays_json(place: Place) -> None:
    """Also JSON in a string of JSON, with every letter as it is or all but ASCII escaped."""
    forms = [(times, ascii_only) for times in (1, 2) for ascii_only in (False, True)]
    texts = [Text("x", "odd", f"{ODD} {at}.") for at in range(len(forms))]
    held = [
        _nested(f"He {text.content}!", times, ascii_only=only) for text, (times, only) in zip(texts, forms, strict=True)
    ]
    first, last = _nested(OTHER, 1, ascii_only=False), _nested(f"x {OTHER}", 1, ascii_only=False)
    trace = place.write("state/runtime-trace.jsonl", "\n".join([first, *held, last]))
    async with place.opened() as library:
        copies = await find_copies(library, texts)
        assert [(copy.kind, copy.count, copy.can_clean) for copy in copies] == [("trace", len(texts), True)]
        assert (await clean_copies(library, copies)).count == 1
        before, *lines, after = trace.read_text().split("\n")
        assert (before, after) == (first, last)
        for (times, _), cut in zip(forms, lines, strict=True):
            for _ in range(times):
                read = json.loads(cut)
                assert read["role"] == "user"
                cut = read["content"]
            assert cut == "He [removed]!"
        assert await find_copies(library, texts) == []


async def test_a_chat_that_goes_on_is_cleaned_beside_the_agent(place: Place) -> None:
    """The agent has the database open; its new messages stay, and the log keeps nothing."""
    path = _chats(place, f"Mind: {SECRET}", OTHER)
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        agent.execute("INSERT INTO sessions (session_key, role, content, created_at) VALUES ('k', 'user', 'new', '')")
        async with place.opened() as library:
            outcome = await clean_copies(library, await find_copies(library, [DOOR]))
            assert (outcome.count, outcome.notes) == (1, ())
            assert _messages(path) == ["Mind: [removed]", OTHER, "new"]
            assert agent.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert not any(SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())
            agent.execute("UPDATE sessions SET content = 'the agent wrote this' WHERE id = 1")
            assert outcome.action is not None
            numbers = await library.trash.numbers_of_change(outcome.action.number)
            foreseen = await foresee(library, numbers)
            with pytest.raises(Conflicts):
                await undo(library)
            undone = await undo(library, on_conflict="skip")
        assert foreseen.conflict_count == 1
        assert any("changed since. It was skipped." in note for note in undone.notes)
        assert _messages(path)[0] == "the agent wrote this"


async def test_a_locked_chat_is_named_and_nothing_is_lost(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    path = _chats(place, SECRET)
    notes = place.write("MEMORY.md", f"{SECRET}\nrest\n")
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        agent.execute("BEGIN IMMEDIATE")
        async with place.opened() as library:
            outcome = await clean_copies(library, await find_copies(library, [DOOR]))
            assert outcome.count == 1
            assert "Database is locked" in " ".join(outcome.notes)
            assert (_messages(path), notes.read_text()) == ([SECRET], "rest\n")
            await undo(library)
            assert await library.trash.last() is None
    assert notes.read_text() == f"{SECRET}\nrest\n"


async def test_an_index_that_would_fall_behind_is_left_alone(place: Place) -> None:
    path = _chats(place, SECRET)
    small_store.change(path, "DROP TRIGGER sessions_au")
    async with place.opened() as library:
        outcome = await clean_copies(library, await find_copies(library, [DOOR]))
        assert (outcome.count, outcome.action) == (0, None)
        assert "lacks the trigger" in outcome.notes[0]
    assert _messages(path) == [SECRET]


async def test_a_row_cut_apart_by_pages_is_found(place: Place) -> None:
    """SQLite fills the pages behind a row to the end, 4,092 bytes each, so one ends that far before the row does."""
    for at in range(0, len(SECRET), 4):
        (place.root / "sessions" / "sessions.db").unlink(missing_ok=True)
        _chats(place, "x" * 5000 + SECRET + "y" * (4092 - at))
        assert (await _found(place))["sessions.db"].can_clean, at


async def test_large_files_are_read_in_pieces(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that reaches over two pieces is one line; what is too large for an undo stays, and a note says so."""
    monkeypatch.setattr(connections, "READ_AT_ONCE", 64)
    filler = json.dumps({"content": OTHER})
    place.write("state/runtime-trace.jsonl", f"{filler}\n" * 20 + json.dumps({"content": SECRET}) + f"\n{filler}\n")
    place.write("backups/one/chat.txt", f"{OTHER} " * 3 + SECRET)
    assert (await _found(place)).keys() == {"runtime-trace.jsonl", "chat.txt"}
    monkeypatch.setattr(external, "LARGEST_FILE", 500)
    async with place.opened() as library:
        outcome = await clean_copies(library, await find_copies(library, [DOOR]))
    assert outcome.count == 0
    assert "too large for undo" in outcome.notes[0]


KILLED = """
import asyncio, os, sys
from pathlib import Path
from zeroclaw_tui.curation.traces import copies as looking
from zeroclaw_tui.curation.traces.copies import Text, find_copies
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.running_action import RunningAction

async def main():
    library = await open_library(configs_for(OpenOptions(config_dir=Path(sys.argv[1])))[0])
    record = RunningAction.record
    def record_and_die(action, changes):
        record(action, changes)
        os._exit(9)
    if sys.argv[2] == "kept":
        RunningAction.record = record_and_die
    else:
        looking.external.optimize_keyword_indexes = lambda file: os._exit(9)
    copies = await find_copies(library, [Text("x", "door", sys.argv[3])])
    await looking.clean_copies(library, copies)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["kept", "done"])
async def test_a_cleaning_that_was_killed_is_put_right(place: Place, moment: str) -> None:
    """What was kept but not done is nothing to undo; what was done comes back."""
    path = _chats(place, SECRET, OTHER)
    arguments = [sys.executable, "-c", KILLED, str(place.config_dir), moment, SECRET]
    died = await asyncio.to_thread(subprocess.run, arguments, capture_output=True)
    assert died.returncode == 9, died.stderr
    assert _messages(path) == [SECRET if moment == "kept" else "[removed]", OTHER]
    async with place.opened() as library:
        await library.trash.recover(library.memory)
        assert (await library.trash.last() is None) == (moment == "kept")
        if moment == "done":
            assert (await undo(library)).count == 1
    assert _messages(path) == [SECRET, OTHER]
