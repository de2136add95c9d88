"""The editor saves, keeps or discards the typed text exactly as the user decides."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.inspector import RoomApp, running
from support.libraries import Library, Outcome
from support.memories import Draft, MemoryEntry, Row
from support.screens import WIDE
from support.stores import row_with_id
from textual.widgets import Input
from tui.samples import GONE, editable, editor_program

from zeroclaw_tui.testing.tools import edit
from zeroclaw_tui.tui.rooms import editor as saving
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.widgets.text_fields import ContentArea


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return editable(tmp_path)


async def row_of(library: Library, key: str) -> Any:
    """Return the stored row of a key."""
    entry = await library.memory.get(key)
    assert entry is not None, f"no memory {key}"
    return await row_with_id(library.memory, entry.id)


async def stored(library: Library, key: str) -> MemoryEntry:
    """Return the stored memory of a key."""
    entry: MemoryEntry = (await row_of(library, key)).entry()
    return entry


def editing(library: Library, row: Row | None, **parts: Any) -> RoomApp:
    return RoomApp(lambda: EditorScreen(library, row, **parts))


def area(app: RoomApp) -> ContentArea:
    return app.screen.query_one(ContentArea)


async def edit_elsewhere(library: Library, row: Row, **values: Any) -> Row:
    """Change the row as an agent would do at the same time."""
    written = await edit(library.memory, row, values)
    return written.rows[0]


def stored_in(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*") if path.is_file()]


async def test_a_new_memory_is_stored_with_every_field(library: Library) -> None:
    """Fields are typed from the key on with enter and tab, and saved with ctrl+s."""
    async with running(editing(library, None), WIDE) as screen:
        await screen.pilot.press(*"likes", "enter", "end", "ctrl+u", *"notes")
        await screen.pilot.press("enter", *"tg_1", "enter", *"home", "enter", *"0.8")
        await screen.pilot.press("tab", "space", "tab", "right", "tab", *"Tea,", "enter", *"green.", "ctrl+s")
        await screen.until(lambda: screen.app.given)
    entry = await stored(library, "likes")
    assert (entry.content, entry.category, entry.session_id) == ("Tea,\ngreen.", "notes", "tg_1")
    assert (entry.namespace, entry.importance, entry.pinned, entry.agent) == ("home", 0.8, True, "researcher")
    (outcome,) = screen.app.given
    assert (outcome.verb, outcome.count) == ("store", 1)


async def test_typed_text_is_discarded_only_after_yes_and_no_change_writes_nothing(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No has the focus; escape and n continue typing, y discards. Without a change both keys leave at once."""
    monkeypatch.delattr(saving, "edit_memory")
    tz = await row_of(library, "tz")
    for row, keys in ((tz, ["ctrl+s"]), (tz, ["x", "backspace", "escape"]), (None, ["x", "backspace", "escape"])):
        async with running(editing(library, row)) as screen:
            await screen.press(*keys)
        assert screen.app.given == [None]
    async with running(editing(library, tz)) as screen:
        await screen.press("x")
        for key in ("enter", "n", "escape"):
            await screen.press("escape", shows="Discard your changes?")
            await screen.press(key)
            assert area(screen.app).text.endswith("spring.x")
        await screen.press("escape", "y")
    assert screen.app.given == [None]
    assert await row_of(library, "tz") == tz


REFUSED = [
    ("key", "", "A memory needs a key."),
    ("category", " ", "A memory needs a category."),
    ("importance", "much", "Importance 'much' is not a number."),
    ("importance", "7", "Importance must be between 0 and 1"),
    ("key", "fav_food", "There is already a memory"),
]


async def test_an_invalid_value_is_reported_and_stays_in_its_field(library: Library) -> None:
    """The error and all typed text are on the screen; the next letter removes the error."""
    row = await row_of(library, "tz")
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
    assert await row_of(library, "tz") == row


async def test_the_editor_shows_that_it_is_saving_and_waits(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second ctrl+s and escape have no effect during the save; the event loop is not blocked."""
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


async def test_the_user_chooses_between_two_changes_and_mine_keeps_other_fields(library: Library) -> None:
    """ "Mine" overwrites only the typed fields, also after a third change; "theirs" and typing on write nothing."""
    for answer in ("mine", "theirs"):
        row = await row_of(library, "fav_food")
        async with running(editing(library, row), WIDE) as screen:
            await screen.press("= Mine.", "shift+tab")
            await edit_elsewhere(library, row, content=f"Not {answer}.", category="daily")
            await screen.press("ctrl+s", shows=("fav_food changed while you edited it", f"+ Not {answer}."))
            await screen.press("escape")
            assert area(screen.app).text.endswith(" Mine.")
            await screen.press("ctrl+s")
            if answer == "mine":
                screen.shows("category core → daily")
                await edit_elsewhere(library, await row_of(library, "fav_food"), content="Theirs again.")
                await screen.press("m", shows="+ Theirs again.")
            await screen.press(answer[0])
        entry = await stored(library, "fav_food")
        if answer == "mine":
            assert entry.content.endswith("eat from. Mine.")
            assert entry.category == "daily"
            assert screen.app.given[0].count == 1
        else:
            assert (entry.content, screen.app.given) == ("Not theirs.", [None])
    async with running(editing(library, await row_of(library, "fav_food"))) as screen:
        await screen.press("= Mine.")
        assert await library.memory.forget("fav_food")
        await screen.press("ctrl+s", shows=("This memory no longer exists", " Mine."))
        assert screen.app.given == []


async def test_text_of_the_users_editor_is_put_on_the_screen(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+e passes the text on the screen, not the stored one; a failing editor keeps it; it is saved as if typed."""
    async with running(editing(library, await row_of(library, "tz"))) as screen:
        monkeypatch.setenv("EDITOR", "/nowhere/editor")
        await screen.press("x", "ctrl+e", shows="was not found")
        assert area(screen.app).text.endswith("spring.x")
        monkeypatch.setenv("EDITOR", editor_program(tmp_path, "path.write_bytes(before + b' And more.')"))
        await screen.press("ctrl+e")
        assert area(screen.app).text.endswith("And more.")
        await screen.press("ctrl+s")
    assert len(screen.app.given) == 1
    assert (await stored(library, "tz")).content == "Timezone is EST, but travels in spring.x And more."
    # A long content can only be changed in the user's editor; a short one can then be typed again.
    script = "path.write_bytes(before * 2 if len(before) < 300_000 else b'short')"
    monkeypatch.setenv("EDITOR", editor_program(tmp_path, script))
    row = await edit_elsewhere(library, await row_of(library, "tz"), content="long " * 50_000)
    async with running(editing(library, row)) as screen:
        screen.shows("250,000 characters are too many")
        await screen.pilot.press("ctrl+e")
        await screen.until("500,000 characters")
        await screen.press("ctrl+e")
        assert area(screen.app).text == "short"
        await screen.press("ctrl+s")
    assert (await stored(library, "tz")).content == "short"


async def test_hidden_characters_can_be_edited_only_in_the_users_editor(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content opens with ctrl+e; a key with them is read-only, and the other fields can be typed."""
    monkeypatch.setenv("EDITOR", editor_program(tmp_path, "path.write_bytes(before.replace(b'tea', b'coffee'))"))
    row = await edit_elsewhere(library, await row_of(library, "tz"), content="Likes\x1b tea\u200b", key="t\u200bz")
    async with running(editing(library, row), WIDE) as screen:
        screen.shows("This content has control or hidden characters.", "Hidden characters: use `memory edit`")
        assert not screen.top.query("#key")
        screen.top.query_one("#category", Input).value = "daily"
        await screen.pilot.press("ctrl+e")
        await screen.until("coffee")
        await screen.press("ctrl+s")
    entry = await stored(library, "t\u200bz")
    assert (entry.content, entry.category) == ("Likes\x1b coffee\u200b", "daily")


HOSTILE = "a\r\nb\rc\x00d\x1b]0;x\x07\u202e ␛\n"


@pytest.mark.parametrize("content", [HOSTILE, "a\udcffb"], ids=["hostile", "no UTF-8"])
async def test_uneditable_content_keeps_its_bytes_and_the_users_editor_gets_them(
    library: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """The stored bytes are those saved, and no copy is left."""
    row = await edit_elsewhere(library, await row_of(library, "tz"), content=content)
    async with running(editing(library, row)) as screen:
        assert screen.top.changed() == {}
        screen.top.query_one("#session_id", Input).value = "s1"
        await screen.press("ctrl+s")
    entry = await stored(library, "tz")
    assert (entry.content, entry.session_id) == (content, "s1")
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, "path.write_bytes(before.replace(b'b', b'BB'))"))
    async with running(editing(library, await row_of(library, "tz"), is_outside=True)) as screen:
        assert screen.app.given[0].count == 1
    assert (await stored(library, "tz")).content == content.replace("b", "BB")
    assert stored_in(temporary_files) == []


async def test_text_written_outside_stays_on_screen_and_in_its_file_until_saved(
    library: Library, tmp_path: Path, temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a concurrent change and in a failing store it stays until yes discards it."""
    monkeypatch.setenv("VISUAL", editor_program(tmp_path, "path.write_text('Mine.')"))
    row = await row_of(library, "tz")
    await edit_elsewhere(library, row, content="Theirs.")
    async with running(editing(library, row, is_outside=True)) as screen:
        await screen.press("escape")
        assert area(screen.app).text == "Mine."
        assert stored_in(temporary_files) == ["Mine."]
        await screen.press("ctrl+s", "m")
        assert screen.app.given
    assert (await stored(library, "tz")).content == "Mine."
    assert stored_in(temporary_files) == []
    row = await row_of(library, "fav_food")
    library.memory.failure = GONE  # type: ignore[attr-defined]
    async with running(editing(library, row, is_outside=True)) as screen:
        assert area(screen.app).text == "Mine."
        await screen.press("escape", "escape")
        assert stored_in(temporary_files) == ["Mine."]
        await screen.press("escape", "y")
        assert screen.app.given == [None]
    assert stored_in(temporary_files) == []
