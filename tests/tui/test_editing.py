"""Writing a memory: what is typed is saved, kept or thrown away exactly as a person says."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.inspector import RoomApp, Screen, running
from support.screens import WIDE
from textual.widgets import Input
from tui.samples import DiskInstall, editable, editor_program, sample_config

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.change import Draft, Row
from zeroclaw_tui.testing.tools import edit
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.rooms import editor as saving
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.widgets.text_fields import ContentArea


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return editable(tmp_path)


async def stored(library: Library, key: str) -> Any:
    entry = await library.memory.get(key)
    assert entry is not None, f"no memory {key}"
    return await row_with_id(library.memory, entry.id)


def editing(library: Library, row: Row | None, **parts: Any) -> RoomApp:
    return RoomApp(lambda: EditorScreen(library, row, **parts))


def area(app: RoomApp) -> ContentArea:
    return app.screen.query_one(ContentArea)


async def another_hand(library: Library, row: Row, **values: Any) -> Row:
    """What an agent does in the meantime."""
    written = await edit(library.memory, row, values)
    return written.rows[0]


async def test_a_new_memory_is_stored_with_every_field(library: Library) -> None:
    """Typed from the key on with enter and tab, saved with ctrl+s."""
    async with running(editing(library, None), WIDE) as screen:
        await screen.pilot.press(*"likes", "enter", "end", "ctrl+u", *"notes")
        await screen.pilot.press("enter", *"tg_1", "enter", *"home", "enter", *"0.8")
        await screen.pilot.press("tab", "space", "tab", "right", "tab", *"Tea,", "enter", *"green.", "ctrl+s")
        await screen.until(lambda: screen.app.given)
    entry = (await stored(library, "likes")).entry()
    assert (entry.content, entry.category, entry.session_id) == ("Tea,\ngreen.", "notes", "tg_1")
    assert (entry.namespace, entry.importance, entry.pinned, entry.agent) == ("home", 0.8, True, "researcher")
    (outcome,) = screen.app.given
    assert (outcome.verb, outcome.count) == ("store", 1)


async def test_nothing_is_written_where_nothing_was_typed(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving and escape leave at once."""
    monkeypatch.delattr(saving, "edit_memory")
    tz = await stored(library, "tz")
    for row, keys in ((tz, ["ctrl+s"]), (tz, ["x", "backspace", "escape"]), (None, ["x", "backspace", "escape"])):
        async with running(editing(library, row)) as screen:
            await screen.press(*keys)
        assert screen.app.given == [None]


async def test_what_was_typed_is_thrown_away_only_by_a_yes(library: Library) -> None:
    """No has the focus; escape and n go on typing, y throws it away."""
    async with running(editing(library, await stored(library, "tz"))) as screen:
        await screen.press("x")
        for key in ("enter", "n", "escape"):
            await screen.press("escape", shows="Discard your changes?")
            await screen.press(key)
            assert area(screen.app).text.endswith("spring.x")
        await screen.press("escape", "y")
    assert screen.app.given == [None]
    assert (await stored(library, "tz")).entry().content.startswith("Timezone")


REFUSED = [
    ("key", "", "A memory needs a key."),
    ("category", " ", "A memory needs a category."),
    ("importance", "much", "Importance 'much' is not a number."),
    ("importance", "7", "Importance must be between 0 and 1"),
    ("key", "fav_food", "There is already a memory"),
]


async def test_an_invalid_value_is_reported_and_stays_in_its_field(library: Library) -> None:
    """The sentence is in the screen, and everything typed is still there; the next letter takes it away."""
    row = await stored(library, "tz")
    async with running(editing(library, row), WIDE) as screen:
        for field, typed, sentence in REFUSED:
            line = screen.top.query_one(f"#{field}", Input)
            before, line.value = line.value, typed
            line.focus()
            await screen.settle()
            await screen.press("ctrl+s", shows=sentence)
            assert (line.value, line.has_focus) == (typed, True)
            await screen.press("x", hides=sentence)
            line.value = before
    assert screen.app.given == []
    assert await stored(library, "tz") == row


async def test_while_it_saves_the_screen_says_so_and_waits(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a second ctrl+s nor escape does anything in the meantime; the loop stays free."""
    started: list[Draft] = []
    go_on = asyncio.Event()

    async def slowly(library: Library, draft: Draft) -> Outcome:
        started.append(draft)
        await go_on.wait()
        return Outcome("store", 1)

    monkeypatch.setattr(saving, "store_memory", slowly)
    async with running(editing(library, None)) as screen:
        await screen.pilot.press("k", "ctrl+s")
        await screen.until("Saving …")
        await screen.pilot.press("ctrl+s", "escape", "ctrl+e", "z")
        assert (len(started), screen.app.given, screen.app.suspended) == (1, [], 0)
        go_on.set()
        await screen.until(lambda: screen.app.given)
    assert started[0].key == "k"


@asynccontextmanager
async def in_conflict(library: Library, **theirs: Any) -> AsyncIterator[Screen]:
    """An editor whose save met another's change."""
    row = await stored(library, "fav_food")
    async with running(editing(library, row), WIDE) as screen:
        await screen.press("= Mine.", "shift+tab")
        await another_hand(library, row, **theirs)
        await screen.press("ctrl+s", shows="fav_food changed while you edited it")
        yield screen


async def test_keeping_mine_keeps_their_other_fields(library: Library) -> None:
    """Only what was typed wins over theirs, also where they changed it another time in the meantime."""
    async with in_conflict(library, content="Theirs.", category="daily") as screen:
        screen.shows("category core → daily", "+ Theirs.")
        await another_hand(library, await stored(library, "fav_food"), content="Theirs again.")
        await screen.press("m", shows="+ Theirs again.")
        await screen.press("m")
    entry = (await stored(library, "fav_food")).entry()
    assert entry.content.endswith("eat from. Mine.")
    assert entry.category == "daily"
    assert screen.app.given[0].count == 1


async def test_keeping_theirs_or_typing_on_writes_nothing(library: Library) -> None:
    async with in_conflict(library, content="Theirs.") as screen:
        await screen.press("escape")
        assert area(screen.app).text.endswith("eat from. Mine.")
        await screen.press("ctrl+s", "t")
    assert screen.app.given == [None]
    assert (await stored(library, "fav_food")).entry().content == "Theirs."


async def test_a_memory_deleted_in_the_meantime_is_reported_and_the_typed_text_stays(library: Library) -> None:
    row = await stored(library, "fav_food")
    async with running(editing(library, row)) as screen:
        await screen.press("= Mine.")
        assert await library.memory.forget("fav_food")
        await screen.press("ctrl+s", shows=("This memory no longer exists", "from. Mine."))
        assert screen.app.given == []


async def test_the_editor_of_the_person_writes_into_the_screen(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+e gives what is there, not what is stored; one that fails leaves it. It is saved like what is typed."""
    async with running(editing(library, await stored(library, "tz"))) as screen:
        monkeypatch.setenv("EDITOR", "/nowhere/editor")
        await screen.press("x", "ctrl+e", shows="was not found")
        assert area(screen.app).text.endswith("spring.x")
        monkeypatch.setenv("EDITOR", editor_program(tmp_path, "path.write_bytes(before + b' And more.')"))
        await screen.press("ctrl+e")
        assert area(screen.app).text.endswith("And more.")
        await screen.press("ctrl+s")
    assert len(screen.app.given) == 1
    assert (await stored(library, "tz")).entry().content == "Timezone is EST, but travels in spring.x And more."


async def test_a_long_content_is_written_in_the_editor_only(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+e opens it; the other fields are typed as ever, and a short one afterwards can be typed over."""
    monkeypatch.setenv(
        "EDITOR", editor_program(tmp_path, "path.write_bytes(before * 2 if len(before) < 300_000 else b'short')")
    )
    tz = await stored(library, "tz")
    row = await another_hand(library, tz, content="long " * 50_000)
    async with running(editing(library, row)) as screen:
        screen.shows("250,000 characters are too many")
        await screen.pilot.press("ctrl+e")
        await screen.until("500,000 characters")
        await screen.pilot.press("ctrl+e")
        await screen.until(lambda: area(screen.app).text == "short")
        await screen.pilot.press("ctrl+s")
        await screen.until(lambda: screen.app.given)
    assert (await stored(library, "tz")).entry().content == "short"


async def test_hidden_characters_are_edited_in_the_editor_only(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content opens with ctrl+e; a key with them is only shown, while the other fields are typed as ever."""
    monkeypatch.setenv("EDITOR", editor_program(tmp_path, "path.write_bytes(before.replace(b'tea', b'coffee'))"))
    row = await another_hand(library, await stored(library, "tz"), content="Likes\x1b tea\u200b", key="t\u200bz")
    async with running(editing(library, row), WIDE) as screen:
        screen.shows("This content has control or hidden characters.", "Hidden characters: use `memory edit`")
        assert not screen.top.query("#key")
        screen.top.query_one("#category", Input).value = "daily"
        await screen.pilot.press("ctrl+e")
        await screen.until("coffee")
        await screen.press("ctrl+s")
    entry = (await stored(library, "t\u200bz")).entry()
    assert (entry.content, entry.category) == ("Likes\x1b coffee\u200b", "daily")


HOSTILE = "a\r\nb\rc\x00d\x1b]0;x\x07\u202e ␛\n"


@pytest.fixture
async def on_disk(tmp_path: Path) -> AsyncIterator[Library]:
    """A file with a plain, a hostile and a non-UTF-8 memory."""
    rows = [{"id": "plain", "key": "plain", "content": "Likes tea."}, {"id": "hostile", "content": HOSTILE}]
    install = DiskInstall(tmp_path, [*rows, {"id": "invalid"}], generation="G4")
    small_store.change(install.database, "UPDATE memories SET content = CAST(x'61ff62' AS TEXT) WHERE id = 'invalid'")
    library = await install.open()
    yield library
    await library.close()


@pytest.fixture
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(external.tempfile, "tempdir", str(folder))
    return folder


async def row_of(library: Library, id: str) -> Any:
    return await row_with_id(library.memory, id)


def row_on_disk(library: Library, id: str) -> dict[str, Any]:
    """The row as SQLite has it, texts as their bytes."""
    with closing(sqlite3.connect(library.config.database)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes
        return dict(connection.execute("SELECT * FROM memories WHERE id = ?", [id]).fetchone())


def stored_in(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*") if path.is_file()]


def outside(library: Library, row: Row) -> RoomApp:
    return RoomApp(lambda: EditorScreen(library, row, is_outside=True))


async def test_an_edit_reaches_the_file_and_can_be_undone(on_disk: Library) -> None:
    """Content and category as typed, the other columns as they were, `updated_at` later; undo puts all back."""
    before = row_on_disk(on_disk, "plain")
    row = await row_of(on_disk, "plain")
    async with running(RoomApp(lambda: EditorScreen(on_disk, row))) as screen:
        screen.top.query_one("#category", Input).value = "Daily"
        await screen.press("= Or not.", "ctrl+s")
    assert len(screen.app.given) == 1
    after = row_on_disk(on_disk, "plain")
    assert after["updated_at"] > before["updated_at"]
    assert after == before | {"content": b"Likes tea. Or not.", "category": b"daily", "updated_at": after["updated_at"]}
    await undo(on_disk)
    assert row_on_disk(on_disk, "plain") == before


@pytest.mark.parametrize(("id", "expected"), [("hostile", HOSTILE.encode()), ("invalid", b"a\xffb")])
async def test_what_cannot_be_edited_here_stays_to_the_byte(on_disk: Library, id: str, expected: bytes) -> None:
    """Hostile content, and bytes that are no UTF-8, where another field is changed."""
    before = row_on_disk(on_disk, id)
    assert before["content"] == expected
    row = await row_of(on_disk, id)
    async with running(RoomApp(lambda: EditorScreen(on_disk, row))) as screen:
        assert isinstance(screen.top, EditorScreen)
        assert screen.top.changed() == {}
        screen.top.query_one("#session_id", Input).value = "s1"
        await screen.press("ctrl+s")
    after = row_on_disk(on_disk, id)
    assert after == before | {"session_id": b"s1", "updated_at": after["updated_at"]}


async def test_a_new_line_of_notes_gets_the_key_and_the_file_that_are_typed(tmp_path: Path) -> None:
    """Both are fixed once it is stored; what notes do not keep cannot be typed."""
    notes = tmp_path / ".zeroclaw" / "workspace"
    notes.mkdir(parents=True)
    notes.joinpath("MEMORY.md").write_text("- likes tea\n")
    library = await open_library(sample_config(tmp_path, backend="markdown"))
    async with running(RoomApp(lambda: EditorScreen(library, None))) as screen:
        screen.shows("A new memory", "session Markdown files keep no session.")
        await screen.press("=ramen", "tab", "tab", "=Likes ramen.", "ctrl+s")
    assert len(screen.app.given) == 1
    assert notes.joinpath("MEMORY.md").read_text() == "- likes tea\n\n- **ramen**: Likes ramen.\n"
    await library.close()


async def test_the_own_editor_gets_the_bytes_and_gives_new_ones(
    on_disk: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is what was saved, and no copy of it is left."""
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, "path.write_bytes(before.replace(b'b', b'BB'))"))
    for name, expected in (("hostile", HOSTILE.replace("b", "BB").encode()), ("invalid", b"a\xffBB")):
        app = outside(on_disk, await row_of(on_disk, name))
        async with running(app):
            assert app.given[0].count == 1
        assert row_on_disk(on_disk, name)["content"] == expected
    assert stored_in(temporary_files) == []


async def test_a_change_while_the_editor_was_open_is_shown(
    on_disk: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Escape leads to the editor screen with what was typed outside; its file stays until that is saved."""
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, "path.write_text('Mine.')"))
    row = await row_of(on_disk, "plain")
    small_store.change(on_disk.config.database, "UPDATE memories SET content = 'Theirs.' WHERE id = 'plain'")
    app = outside(on_disk, row)
    async with running(app) as screen:
        await screen.press("escape")
        assert screen.top.query_one(ContentArea).text == "Mine."
        assert stored_in(temporary_files) == ["Mine."]
        await screen.press("ctrl+s", "m")
        assert screen.app.given
    assert row_on_disk(on_disk, "plain")["content"] == b"Mine."
    assert stored_in(temporary_files) == []


async def test_what_cannot_be_saved_stays_on_the_screen(
    on_disk: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that takes no writes any more: the sentence, what was typed outside, and its file until a yes."""
    script = "path.write_text('Mine.')"
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, script))
    row = await row_of(on_disk, "plain")
    small_store.change(on_disk.config.database, "DROP TRIGGER memories_au")
    app = outside(on_disk, row)
    async with running(app) as screen:
        screen.shows("memories_au")
        assert screen.top.query_one(ContentArea).text == "Mine."
        await screen.press("escape", "escape")
        assert stored_in(temporary_files) == ["Mine."]
        await screen.press("escape", "y")
        assert screen.app.given == [None]
    assert stored_in(temporary_files) == []
