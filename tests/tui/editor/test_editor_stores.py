"""Editing in real files of every generation, from the screen and from the person's own editor."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from editor_samples import ScreenApp, editor_program
from support import small_store
from support.screens import screen_words
from support.settling import press, running, until
from textual.widgets import Input
from tui.tui_samples import sample_config

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.widgets.text_fields import ContentArea

HOSTILE = "a\r\nb\rc\x00d\x1b]0;x\x07\u202e ␛\n"
INVALID = "CAST(x'61ff62' AS TEXT)"


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    """A file with a plain, a hostile and a non-UTF-8 memory."""
    config = sample_config(tmp_path)
    config.database.parent.mkdir(parents=True)
    rows = [{"id": "plain", "key": "plain", "content": "Likes tea."}, {"id": "hostile", "content": HOSTILE}]
    small_store.make(config.database, "G4", [*rows, {"id": "invalid"}])
    small_store.change(config.database, f"UPDATE memories SET content = {INVALID} WHERE id = 'invalid'")
    library = await open_library(config)
    yield library
    await library.close()


@pytest.fixture
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(external.tempfile, "tempdir", str(folder))
    return folder


async def row_of(library: Library, id: str) -> Row:
    row = await row_with_id(library.memory, id)
    assert row is not None
    return row


def on_disk(library: Library, id: str) -> dict[str, Any]:
    """The row as SQLite has it, texts as their bytes."""
    with closing(sqlite3.connect(library.config.database)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes
        return dict(connection.execute("SELECT * FROM memories WHERE id = ?", [id]).fetchone())


def stored_in(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*") if path.is_file()]


def outside(library: Library, row: Row) -> ScreenApp:
    return ScreenApp(lambda: EditorScreen(library, row, is_outside=True))


async def test_an_edit_reaches_the_file_and_can_be_undone(library: Library) -> None:
    """Content and category as typed, the other columns as they were, `updated_at` later; undo puts all back."""
    before = on_disk(library, "plain")
    row = await row_of(library, "plain")
    async with running(ScreenApp(lambda: EditorScreen(library, row))) as (app, pilot):
        app.screen.query_one("#category", Input).value = "Daily"
        await press(pilot, "= Or not.", "ctrl+s")
    assert len(app.results) == 1
    after = on_disk(library, "plain")
    assert after["updated_at"] > before["updated_at"]
    assert after == before | {"content": b"Likes tea. Or not.", "category": b"daily", "updated_at": after["updated_at"]}
    await undo(library)
    assert on_disk(library, "plain") == before


@pytest.mark.parametrize(("id", "expected"), [("hostile", HOSTILE.encode()), ("invalid", b"a\xffb")])
async def test_what_cannot_be_edited_here_stays_to_the_byte(library: Library, id: str, expected: bytes) -> None:
    """Hostile content, and bytes that are no UTF-8, where another field is changed."""
    before = on_disk(library, id)
    assert before["content"] == expected
    row = await row_of(library, id)
    async with running(ScreenApp(lambda: EditorScreen(library, row))) as (app, pilot):
        assert isinstance(app.screen, EditorScreen)
        assert app.screen.changed() == {}
        app.screen.query_one("#session_id", Input).value = "s1"
        await press(pilot, "ctrl+s")
    after = on_disk(library, id)
    assert after == before | {"session_id": b"s1", "updated_at": after["updated_at"]}


async def test_a_new_memory_reaches_the_file_and_a_used_key_is_reported(library: Library) -> None:
    before = on_disk(library, "plain")
    async with running(ScreenApp(lambda: EditorScreen(library, None))) as (app, pilot):
        await press(pilot, "=plain")
        app.screen.query_one(ContentArea).focus()
        await press(pilot, "=Text.", "ctrl+s")
        assert "There is already a memory" in screen_words(app)
        assert app.screen.query_one(ContentArea).text == "Text."
        assert on_disk(library, "plain") == before
        app.screen.query_one("#key", Input).value = "plai"
        await press(pilot, "ctrl+s")
    stored = on_disk(library, app.results[0].row.id)
    assert (stored["key"], stored["content"], stored["category"]) == (b"plai", b"Text.", b"core")


async def test_a_new_line_of_notes_gets_the_key_and_the_file_that_are_typed(tmp_path: Path) -> None:
    """Both are fixed once it is stored; what notes do not keep cannot be typed."""
    notes = tmp_path / ".zeroclaw" / "workspace"
    notes.mkdir(parents=True)
    notes.joinpath("MEMORY.md").write_text("- likes tea\n")
    library = await open_library(sample_config(tmp_path, backend="markdown"))
    async with running(ScreenApp(lambda: EditorScreen(library, None))) as (app, pilot):
        assert "A new memory" in screen_words(app)
        assert "session Markdown files keep no session." in screen_words(app)
        await press(pilot, "=ramen", "tab", "tab", "=Likes ramen.", "ctrl+s")
    assert len(app.results) == 1
    assert notes.joinpath("MEMORY.md").read_text() == "- likes tea\n\n- **ramen**: Likes ramen.\n"
    await library.close()


async def test_the_own_editor_gets_the_bytes_and_gives_new_ones(
    library: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is what was saved, and no copy of it is left."""
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, "path.write_bytes(before.replace(b'b', b'BB'))"))
    for name, expected in (("hostile", HOSTILE.replace("b", "BB").encode()), ("invalid", b"a\xffBB")):
        app = outside(library, await row_of(library, name))
        async with app.run_test() as pilot:
            await until(pilot, lambda app=app: app.results)
        assert app.results[0].count == 1
        assert on_disk(library, name)["content"] == expected
    assert stored_in(temporary_files) == []


async def test_a_change_while_the_editor_was_open_is_shown(
    library: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Escape leads to the editor screen with what was typed outside; the file is no longer needed then."""
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, "path.write_text('Mine.')"))
    row = await row_of(library, "plain")
    small_store.change(library.config.database, "UPDATE memories SET content = 'Theirs.' WHERE id = 'plain'")
    app = outside(library, row)
    async with running(app) as (_, pilot):
        await press(pilot, "escape")
        assert app.screen.query_one(ContentArea).text == "Mine."
        await press(pilot, "ctrl+s", "m")
        assert app.results
    assert on_disk(library, "plain")["content"] == b"Mine."
    assert stored_in(temporary_files) == []


async def test_what_cannot_be_saved_stays_on_the_screen(
    library: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that takes no writes any more: the sentence, and what was typed outside."""
    script = "path.write_text('Mine.')"
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, script))
    row = await row_of(library, "plain")
    small_store.change(library.config.database, "DROP TRIGGER memories_au")
    app = outside(library, row)
    async with running(app) as (_, pilot):
        await until(pilot, lambda: "memories_au" in screen_words(app))
        assert app.screen.query_one(ContentArea).text == "Mine."
    assert stored_in(temporary_files) == []
