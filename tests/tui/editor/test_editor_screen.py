"""Writing a memory: what is typed is saved, kept or thrown away exactly as a person says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from editor_samples import G4, MARKDOWN, ScreenApp, editor_program, library_with
from support.screens import WIDE, screen_words
from support.settling import press, running, until
from textual.pilot import Pilot
from textual.widgets import Input

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.change import Draft, Edit, Row
from zeroclaw_tui.testing.tools import edit
from zeroclaw_tui.tui.rooms import editor as saving
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.widgets.text_fields import ContentArea, OutsideContent


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return library_with(G4, folder=tmp_path)


async def stored(library: Library, key: str) -> Row:
    entry = await library.memory.get(key)
    assert entry is not None, f"no memory {key}"
    row = await row_with_id(library.memory, entry.id)
    assert row is not None
    return row


def editing(library: Library, row: Row | None, **parts: Any) -> ScreenApp:
    return ScreenApp(lambda: EditorScreen(library, row, **parts))


def area(app: ScreenApp) -> ContentArea:
    return app.screen.query_one("#content ContentArea", ContentArea)


async def another_hand(library: Library, row: Row, **values: Any) -> Row:
    """What an agent does in the meantime."""
    written = await edit(library.memory, row, values)
    return written.rows[0]


async def test_a_new_memory_is_stored_with_every_field(library: Library) -> None:
    """Typed from the key on with enter and tab, saved with ctrl+s."""
    async with running(editing(library, None), WIDE) as (app, pilot):
        await pilot.press(*"likes", "enter", "end", "ctrl+u", *"notes")
        await pilot.press("enter", *"tg_1", "enter", *"home", "enter", *"0.8")
        await pilot.press("tab", "space", "tab", "right", "tab", *"Tea,", "enter", *"green.", "ctrl+s")
        await until(pilot, lambda: app.results)
    entry = (await stored(library, "likes")).entry()
    assert (entry.content, entry.category, entry.session_id) == ("Tea,\ngreen.", "notes", "tg_1")
    assert (entry.namespace, entry.importance, entry.pinned, entry.agent) == ("home", 0.8, True, "researcher")
    (outcome,) = app.results
    assert (outcome.verb, outcome.count) == ("store", 1)


async def test_an_edit_names_only_what_changed(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields nobody typed in are not written: another's change of them would be lost."""
    seen: list[Edit] = []
    edit_memory = saving.edit_memory

    async def watch(library: Library, id: str, edit: Edit, expected: str) -> Outcome:
        seen.append(edit)
        return await edit_memory(library, id, edit, expected)

    monkeypatch.setattr(saving, "edit_memory", watch)
    async with running(editing(library, await stored(library, "tz"))) as (app, pilot):
        await press(pilot, "= New.", "ctrl+s")
    assert len(app.results) == 1
    assert seen == [Edit({"content": "Timezone is EST, but travels in spring. New."})]
    assert (await stored(library, "tz")).entry().content.endswith("spring. New.")


async def test_nothing_is_written_where_nothing_was_typed(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving and escape leave at once."""
    monkeypatch.delattr(saving, "edit_memory")
    tz = await stored(library, "tz")
    for row, keys in ((tz, ["ctrl+s"]), (tz, ["x", "backspace", "escape"]), (None, ["x", "backspace", "escape"])):
        async with running(editing(library, row)) as (app, pilot):
            await press(pilot, *keys)
        assert app.results == [None]


async def test_what_was_typed_is_thrown_away_only_by_a_yes(library: Library) -> None:
    """No has the focus; escape and n go on typing, y throws it away."""
    async with running(editing(library, await stored(library, "tz"))) as (app, pilot):
        await press(pilot, "x")
        for key in ("enter", "n", "escape"):
            await press(pilot, "escape")
            assert "Discard your changes?" in screen_words(app)
            await press(pilot, key)
            assert area(app).text.endswith("spring.x")
        await press(pilot, "escape", "y")
    assert app.results == [None]
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
    async with running(editing(library, row), WIDE) as (app, pilot):
        for field, typed, sentence in REFUSED:
            line = app.screen.query_one(f"#{field}", Input)
            before, line.value = line.value, typed
            line.focus()
            await press(pilot, "ctrl+s")
            assert sentence in screen_words(app)
            assert (line.value, line.has_focus) == (typed, True)
            await press(pilot, "x")
            assert sentence not in screen_words(app)
            line.value = before
    assert app.results == []
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
    async with running(editing(library, None)) as (app, pilot):
        await pilot.press("k", "ctrl+s")
        await until(pilot, lambda: "Saving …" in screen_words(app))
        await pilot.press("ctrl+s", "escape", "ctrl+e", "z")
        assert (len(started), app.results, app.suspended) == (1, [], 0)
        go_on.set()
        await until(pilot, lambda: app.results)
    assert started[0].key == "k"


@asynccontextmanager
async def in_conflict(library: Library, **theirs: Any) -> AsyncIterator[tuple[ScreenApp, Pilot[Any]]]:
    """An editor whose save met another's change."""
    row = await stored(library, "fav_food")
    async with running(editing(library, row), WIDE) as (app, pilot):
        await press(pilot, "= Mine.", "shift+tab")
        await another_hand(library, row, **theirs)
        await press(pilot, "ctrl+s")
        assert "fav_food changed while you edited it" in screen_words(app)
        yield app, pilot


async def test_keeping_mine_keeps_their_other_fields(library: Library) -> None:
    """Only what was typed wins over theirs, also where they changed it another time in the meantime."""
    async with in_conflict(library, content="Theirs.", category="daily") as (app, pilot):
        assert "category core → daily" in screen_words(app)
        assert "+ Theirs." in screen_words(app)
        await another_hand(library, await stored(library, "fav_food"), content="Theirs again.")
        await press(pilot, "m")
        assert "+ Theirs again." in screen_words(app)
        await press(pilot, "m")
    entry = (await stored(library, "fav_food")).entry()
    assert entry.content.endswith("eat from. Mine.")
    assert entry.category == "daily"
    assert app.results[0].count == 1


async def test_keeping_theirs_or_typing_on_writes_nothing(library: Library) -> None:
    async with in_conflict(library, content="Theirs.") as (app, pilot):
        await press(pilot, "escape")
        assert area(app).text.endswith("eat from. Mine.")
        await press(pilot, "ctrl+s", "t")
    assert app.results == [None]
    assert (await stored(library, "fav_food")).entry().content == "Theirs."


async def test_a_deleted_memory_can_be_stored_as_new(library: Library) -> None:
    """With all its fields and what was typed; or one types on."""
    row = await stored(library, "fav_food")
    async with running(editing(library, row)) as (app, pilot):
        await press(pilot, "= Mine.")
        assert await library.memory.forget("fav_food")
        for answer in ("n", "escape", "y"):
            assert app.results == []
            assert isinstance(app.screen, EditorScreen)
            await press(pilot, "ctrl+s")
            assert "This memory was deleted while you edited it" in screen_words(app)
            await press(pilot, answer)
    assert len(app.results) == 1
    kept = await library.memory.get("fav_food")
    assert kept is not None
    assert kept.content.endswith("from. Mine.")
    assert (kept.category, kept.session_id) == ("core", row.entry().session_id)


async def test_the_editor_of_the_person_writes_into_the_screen(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+e gives what is there, not what is stored; one that fails leaves it. It is saved like what is typed."""
    async with running(editing(library, await stored(library, "tz"))) as (app, pilot):
        monkeypatch.setenv("EDITOR", "/nowhere/editor")
        await press(pilot, "x", "ctrl+e")
        assert "was not found" in screen_words(app)
        assert area(app).text.endswith("spring.x")
        monkeypatch.setenv("EDITOR", editor_program(tmp_path, "path.write_bytes(before + b' And more.')"))
        await press(pilot, "ctrl+e")
        assert area(app).text.endswith("And more.")
        await press(pilot, "ctrl+s")
    assert len(app.results) == 1
    assert (await stored(library, "tz")).entry().content == "Timezone is EST, but travels in spring.x And more."


async def test_a_long_content_is_written_in_the_editor_only(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E opens it; the other fields are typed as ever, and a short one afterwards can be typed over."""
    monkeypatch.setenv(
        "EDITOR", editor_program(tmp_path, "path.write_bytes(before * 2 if len(before) < 300_000 else b'short')")
    )
    tz = await stored(library, "tz")
    row = await another_hand(library, tz, content="long " * 50_000)
    async with running(editing(library, row)) as (app, pilot):
        assert "250,000 characters are too many" in screen_words(app)
        await pilot.press("E")
        await until(pilot, lambda: "500,000 characters" in screen_words(app))
        await pilot.press("E")
        await until(pilot, lambda: app.screen.query("ContentArea"))
        assert area(app).text == "short"
        assert not app.screen.query(OutsideContent)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.results)
    assert (await stored(library, "tz")).entry().content == "short"


async def test_hidden_characters_are_edited_in_the_editor_only(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content opens with E; a key with them is only shown, while the other fields are typed as ever."""
    monkeypatch.setenv("EDITOR", editor_program(tmp_path, "path.write_bytes(before.replace(b'tea', b'coffee'))"))
    row = await another_hand(library, await stored(library, "tz"), content="Likes\x1b tea\u200b", key="t\u200bz")
    async with running(editing(library, row), WIDE) as (app, pilot):
        assert "This content has control or hidden characters." in screen_words(app)
        assert "Hidden characters: use `memory edit`" in screen_words(app)
        assert not app.screen.query("#key")
        app.screen.query_one("#category", Input).value = "daily"
        await pilot.press("E")
        await until(pilot, lambda: "coffee" in screen_words(app))
        await press(pilot, "ctrl+s")
    entry = (await stored(library, "t\u200bz")).entry()
    assert (entry.content, entry.category) == ("Likes\x1b coffee\u200b", "daily")


async def test_what_cannot_be_changed_is_not_saved(tmp_path: Path) -> None:
    """Only the content of a Markdown memory can be typed over."""
    library = library_with(MARKDOWN, folder=tmp_path)
    async with running(editing(library, await stored(library, "tz"))) as (app, pilot):
        assert not app.screen.query(Input)
        assert isinstance(app.screen, EditorScreen)
        assert app.screen.changed() == {}
        await pilot.press("x")
        assert app.screen.changed().keys() == {"content"}
