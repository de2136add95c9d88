"""Store, edit, delete and restore lines in notes files with any other content."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.edits import edited
from support.memories import Draft, Refused, RowVersion
from support.stores import row_with_id, versions_at

from zeroclaw_tui.backends.markdown import write as write_lines
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.files import disk
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, undo

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DAY = NOW.astimezone().date().isoformat()
ODD = (
    b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n# Heading\r\n\r\n- one\r\n  - nested\r\n```\r\n- in a fence\r\n```\r\n"
    b"caf\xe9\r\n\r\n- last without an end"
)


async def opened(root: Path, data: bytes | None = None, **options: Any) -> MarkdownMemory:
    if data is not None:
        (root / "MEMORY.md").write_bytes(data)
    memory = MarkdownMemory(root, clock=lambda: NOW, **options)
    await memory.open()
    return memory


def core(root: Path) -> bytes:
    return (root / "MEMORY.md").read_bytes()


async def stamped(memory: MarkdownMemory, *contents: str) -> list[RowVersion]:
    entries = [entry for entry in await memory.list() if entry.content in contents]
    return await versions_at(memory, [entry.handle for entry in entries])


async def test_new_files_begin_like_zeroclaws(tmp_path):
    memory = await opened(tmp_path)
    await create(memory, Draft("lang", "Prefers Rust", "CORE"))
    await create(memory, Draft("two", "again"))
    done = await create(memory, Draft("chat", "hi", "conversation", session_id="s", importance=0.5))
    assert core(tmp_path) == b"# Long-Term Memory\n\n- **lang**: Prefers Rust\n\n- **two**: again\n"
    daily = tmp_path / "memory" / f"{DAY}.md"
    assert daily.read_text() == f"# Daily Log — {DAY}\n\n- **chat**: hi\n"
    contents = [entry.content for entry in await memory.list()]
    assert contents == ["**lang**: Prefers Rust", "**two**: again", "**chat**: hi"]
    assert len(done.notes) == 3
    assert any("read back as category daily" in note for note in done.notes)


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        ("one", "uno", ODD.replace(b"- one\r\n", b"- uno\r\n")),
        ("caf\udce9", "café", ODD.replace(b"caf\xe9", "café".encode())),
        ("last without an end", " end \n", ODD.replace(b"last without an end", b"end")),
        ("\ufeff---", "+++", ODD.replace(b"---", b"+++", 1)),
    ],
)
async def test_an_edit_changes_only_the_bytes_of_its_line(old, new, now, tmp_path):
    memory, journal = await opened(tmp_path, ODD), JournalRecorder()
    (stamp,) = await stamped(memory, old)
    await edited(memory, stamp.id, journal, content=new)
    assert core(tmp_path) == now
    await undo(memory, journal.changes[::-1])
    assert core(tmp_path) == ODD


async def test_undo_appends_a_line_whose_position_is_lost_and_says_so(tmp_path):
    memory, journal = await opened(tmp_path, b"# T\n- a\n- b\n- c\n- d\n- e\n- f\n- g\n"), JournalRecorder()
    await delete(memory, await stamped(memory, "d"), journal)
    (tmp_path / "MEMORY.md").write_bytes(b"new start\nnew text\nnew end")
    result = await undo(memory, journal.changes[::-1])
    assert core(tmp_path) == b"new start\nnew text\nnew end\n- d\n"
    assert "at the end now" in result.notes[0]


async def test_a_moved_line_is_found_by_its_text(tmp_path):
    memory = await opened(tmp_path, b"- a\n- b\n- c\n")
    (stamp,) = await stamped(memory, "c")
    row = await row_with_id(memory, "MEMORY:1")
    (tmp_path / "MEMORY.md").write_bytes(b"- new\n- newer\n- a\n- b\n- c\n")
    done = await edit(memory, row, {"content": "B"})
    assert done.rows[0].id == "MEMORY:3"
    assert (await delete(memory, [stamp])).written == 1
    assert core(tmp_path) == b"- new\n- newer\n- a\n- B\n"


async def test_of_equal_lines_the_chosen_one_is_removed(tmp_path):
    memory = await opened(tmp_path, b"- same\n- x\n- same\n- y\n- same\n- z\n")
    stamps = await versions_at(memory, ["MEMORY:0", "MEMORY:2", "MEMORY:2"])
    assert (await delete(memory, stamps)).written == 2
    assert core(tmp_path) == b"- x\n- y\n- same\n- z\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [("two\nlines", "line break"), ("a\rb", "line break"), ("# hidden", "heading"), ("x\udce9", "UTF-8")],
)
async def test_content_that_cannot_be_a_line_is_refused(content, why, tmp_path):
    memory, journal = await opened(tmp_path, b"- one\n"), JournalRecorder()
    with pytest.raises(Refused, match=why):
        await create(memory, Draft("key", content), journal)
    with pytest.raises(Refused, match=why):
        await edited(memory, "MEMORY:0", journal, content=content)
    assert journal.changes == []
    assert core(tmp_path) == b"- one\n"


async def test_symlinks_and_file_modes_are_kept(tmp_path):
    real = tmp_path / "elsewhere" / "notes.md"
    real.parent.mkdir()
    real.write_bytes(b"- one\n")
    real.chmod(0o640)
    root = tmp_path / "root"
    root.mkdir()
    (root / "MEMORY.md").symlink_to(real)
    memory = await opened(root)
    await edited(memory, "MEMORY:0", content="uno")
    assert (root / "MEMORY.md").is_symlink()
    assert real.read_bytes() == b"- uno\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert os.listdir(real.parent) == ["notes.md"]


def agent_writes_once(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Have the agent write between the reading of a file and its replacement."""
    left = [write]
    replacing = disk.replace_bytes

    def replaced(path: Path, expected: bytes | None, data: bytes | None) -> None:
        if left:
            left.pop()()
        replacing(path, expected, data)

    monkeypatch.setattr(write_lines, "replace_bytes", replaced)


async def test_concurrent_writes_of_the_agent_are_kept(tmp_path, monkeypatch):
    memory, journal = await opened(tmp_path, b"- a\n- b\n- c\n"), JournalRecorder()
    file = tmp_path / "MEMORY.md"
    agent_writes_once(monkeypatch, lambda: file.write_bytes(b"- first\n" + file.read_bytes()))
    await edited(memory, "MEMORY:1", journal, content="B")
    assert core(tmp_path) == b"- first\n- a\n- B\n- c\n"
    agent_writes_once(monkeypatch, lambda: file.write_bytes(file.read_bytes() + b"- last\n"))
    await delete(memory, await stamped(memory, "a", "c"), journal)
    assert core(tmp_path) == b"- first\n- B\n- last\n"
    agent_writes_once(monkeypatch, lambda: file.write_bytes(file.read_bytes() + b"- more\n"))
    await create(memory, Draft("k", "v"), journal)
    assert core(tmp_path) == b"- first\n- B\n- last\n- more\n\n- **k**: v\n"
    agent_writes_once(monkeypatch, lambda: file.write_bytes(b"- zero\n" + file.read_bytes()))
    assert (await undo(memory, journal.changes[::-1])).done == 4
    lines = [line for line in core(tmp_path).split(b"\n") if line]
    assert lines == [b"- zero", b"- first", b"- a", b"- b", b"- c", b"- last", b"- more"]


async def test_a_line_changed_concurrently_by_the_agent_is_not_removed(tmp_path, monkeypatch):
    memory = await opened(tmp_path, b"- a\n- b\n")
    agent_writes_once(monkeypatch, lambda: (tmp_path / "MEMORY.md").write_bytes(b"- a\n- b changed\n"))
    result = await delete(memory, await stamped(memory, "a", "b"))
    assert result.written == 1
    assert core(tmp_path) == b"- b changed\n"
    row = await row_with_id(memory, "MEMORY:0")
    agent_writes_once(monkeypatch, lambda: (tmp_path / "MEMORY.md").write_bytes(b"- b again\n"))
    (conflict,) = (await edit(memory, row, {"content": "mine"})).conflicts
    assert conflict.existing.values["content"] == "b again"


async def test_a_store_without_write_permission_is_read_only_and_names_the_file(tmp_path, monkeypatch):
    (tmp_path / "MEMORY.md").write_bytes(b"- one\n")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "MEMORY.md")
    memory = await opened(tmp_path)
    assert "MEMORY.md is read-only" in memory.why_not["write"]
    with pytest.raises(Refused, match=r"MEMORY\.md is read-only"):
        await memory.store("k", "v", "core")
