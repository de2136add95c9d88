"""The ways out of the browser by key: $EDITOR, trash, history, copies; and leaving while something is unsaved."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from changing_samples import keys_in, screen_of
from support.screens import said, screen_text, screen_words
from support.settling import press, running, until
from textual.pilot import Pilot
from tui_samples import Inspector, paced

from zeroclaw_tui.backends.lookup import entries_with_key, row_with_id
from zeroclaw_tui.curation.changes import edit_memory, undo
from zeroclaw_tui.curation.traces import copies
from zeroclaw_tui.curation.traces.files import TextPlace
from zeroclaw_tui.memory.change import Edit
from zeroclaw_tui.tui.dialogs import Question
from zeroclaw_tui.tui.external import Edited
from zeroclaw_tui.tui.rooms.editor import EditorScreen


def found_in(monkeypatch: pytest.MonkeyPatch, *found: TextPlace) -> None:
    async def find(*_: Any) -> list[TextPlace]:
        return list(found)

    monkeypatch.setattr(copies, "find_copies", find)


SNAPSHOT = TextPlace("snapshot", "/srv/MEMORY_SNAPSHOT.md", 1, True, "An export for people.")
LUCID = TextPlace("lucid", "lucid", None, False, "It has no delete.")


async def changed(inspector: Inspector, pilot: Pilot[Any], key: str, content: str) -> None:
    """Edit a memory behind the browser's back, through the trash."""
    assert inspector.library is not None
    (entry,) = await entries_with_key(inspector.store, key)
    row = await row_with_id(inspector.store, entry.id)
    assert row is not None
    await edit_memory(inspector.library, row.id, Edit({"content": content}), row.fingerprint)


async def content_of(inspector: Inspector, key: str) -> str:
    (entry,) = await entries_with_key(inspector.store, key)
    return entry.content


async def test_capital_e_saves_what_the_persons_editor_left(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def edits(app: Any, text: str) -> Edited:
        given.append(text)
        return Edited(text="Written outside.")

    monkeypatch.setattr("zeroclaw_tui.tui.rooms.editor.edit_text", edits)
    found_in(monkeypatch)
    async with running(inspector.app()) as (app, pilot):
        before = await content_of(inspector, "recipe")
        await press(pilot, "E")
        assert given == [before]
        assert await content_of(inspector, "recipe") == "Written outside."
        assert "Changed recipe · u reverses that." in said(app)
        assert "Written outside." in screen_text(app)


async def test_the_palette_shows_other_copies_and_erases_the_marked_memories(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A way out changes nothing."""
    found_in(monkeypatch, SNAPSHOT, LUCID)
    async with running(inspector.app()) as (app, pilot):
        await app.screen.run_action("copies")
        await until(pilot, lambda: isinstance(app.screen, Question))
        assert "The text is still in 2 places" in screen_words(app)
        await press(pilot, "escape", "space", "j", "space")
        await app.screen.run_action("erase")
        await until(pilot, lambda: "Erase 2 memories and their text from the whole install" in screen_text(app))
        await press(pilot, "escape")
        assert "245 memories" in screen_text(app)


async def test_quitting_asks_for_what_was_typed(inspector: Inspector) -> None:
    """No has the focus and goes on typing, in a comparison too; yes quits with the memory as it was."""
    question = "Quit without saving your changes?"
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "e", "X", "ctrl+q", "ctrl+q")
        assert question in screen_words(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, EditorScreen)
        await changed(inspector, pilot, "recipe", "Theirs.")
        await press(pilot, "ctrl+s")
        assert isinstance(app.screen, Question)
        await press(pilot, "ctrl+q")
        assert question in screen_words(app)
        await press(pilot, "n")
        assert isinstance(app.screen, Question)
        await press(pilot, "ctrl+q")
        assert question in screen_words(app)
        await pilot.press("y")
        await until(pilot, lambda: app._exit)
    assert await content_of(inspector, "recipe") == "Theirs."
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "e")
        assert isinstance(app.screen, EditorScreen)
        # Nothing was typed, so nothing is asked.
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit)


async def test_quitting_during_a_purge_finishes_the_batch_and_undo_restores_all_of_it(inspector: Inspector) -> None:
    before = keys_in(inspector.store)
    started = asyncio.Event()
    store: Any = inspector.store

    async def batches(on_progress: Any) -> None:
        started.set()
        # The change goes on for as long as it may, as a batch after the other would.
        while on_progress(1):  # noqa: ASYNC110
            await asyncio.sleep(0)

    store.steps = batches
    async with running(inspector.app(pace=paced(patience=0.001))) as (app, pilot):
        await press(pilot, "asterisk", "d")
        await pilot.press("2", "4", "5", "enter")
        await asyncio.wait_for(started.wait(), 10)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit)
    library = inspector.library
    assert library is not None
    gone = before - keys_in(inspector.store)
    action = await library.trash.last()
    assert len(await library.trash.numbers()) == len(gone)
    if gone:
        assert action is not None
        await undo(library, expected=action.number)
    assert keys_in(inspector.store) == before


async def test_undo_reverses_only_the_change_that_was_last_when_u_was_pressed(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that comes in between is left alone, and that is said."""
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "d", "y")
        assert inspector.library is not None
        trash, last = inspector.library.trash, inspector.library.trash.last

        async def another_comes(*_: Any) -> Any:
            found = await last()
            monkeypatch.setattr(trash, "last", last)
            await changed(inspector, pilot, "fav_food", "Changed in between.")
            return found

        monkeypatch.setattr(trash, "last", another_comes)
        await press(pilot, "u")
        assert "Another change was made in between." in said(pilot.app) + screen_words(app)
        assert await content_of(inspector, "fav_food") == "Changed in between."
        assert screen_of(pilot).is_current
