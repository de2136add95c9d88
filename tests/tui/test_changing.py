"""Deleting, undoing and erasing from the list, on the sample store, on a real database, and in a real terminal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.inspector import running
from support.libraries import edit_memory, undo
from support.memories import Edit, Locked, Row
from support.screens import NARROW, WIDE
from support.settling import burst
from support.stores import entries_with_key
from tui.installs import DiskInstall
from tui.samples import NOW, Inspector, keys_in, paced

from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.tui.dialogs import ProgressScreen, Question
from zeroclaw_tui.tui.external import Edited
from zeroclaw_tui.tui.rooms.editor import EditorScreen


async def test_d_asks_with_no_as_default_and_u_restores_the_memory(inspector: Inspector) -> None:
    """Enter at the question keeps the memory; y moves it to the trash; u restores the row, U deletes it again."""
    async with running(inspector.app()) as screen:
        before = await entries_with_key(inspector.store, "recipe")
        await screen.press("u", says="Nothing to undo")
        await screen.press("d", shows=("Delete recipe?", "Deleted memories go to the trash. Press u to undo."))
        await screen.press("enter")
        assert "recipe" in keys_in(inspector.store)
        await screen.press("d", "y")
        assert "recipe" not in keys_in(inspector.store)
        screen.shows("244 memories")
        screen.says("recipe is in the trash until 2026-12-20 · u restores it.")
        await screen.press("u")
        assert await entries_with_key(inspector.store, "recipe") == before
        screen.shows("245 memories")
        assert screen.rows.selected_entry.key == "recipe"
        screen.says("Undid: deleted recipe.")
        await screen.press("U", says="Redid: deleted recipe.")
        assert "recipe" not in keys_in(inspector.store)
        await screen.press("U", says="Nothing to redo.")
        # Keys typed ahead are for the rows after each deletion.
        count = len(inspector.store.entries)
        burst(screen.app, "dydydyu")
        await screen.until(lambda: len(inspector.store.entries) == count - 2 and "Undid" in screen.notifications)
        # The whole question fits the smallest window.
        await screen.pilot.resize_terminal(40, 12)
        await screen.press("d", shows=("Delete market?", "Deleted memories go to the trash. Press u to undo."))
        screen.shows("n Cancel", "y Delete", "esc cancel")


async def test_marks_survive_filter_order_and_recall_and_d_deletes_them(inspector: Inspector) -> None:
    """`v` marks from the last mark to the cursor, two stars unmark all, and a star after a recall marks its results."""
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("space", "j", "j", "v")
        assert len(screen.rows.marked) == 4
        await screen.press("k", "space")
        assert len(screen.rows.marked) == 3
        await screen.press("asterisk", "asterisk")
        assert len(screen.rows.marked) == 0
        screen.hides("marked")
        await screen.press("g", "space", "j", "space", shows="● 2 marked ·")
        screen.browser.show_view(screen.browser.view.toggled("category", "notes"))
        await screen.settle()
        screen.shows("● 2 marked")
        await screen.press("slash", "=ramen", "enter", shows="● 2 marked")
        await screen.press("escape")
        await screen.command("no_filter")
        await screen.press("r", "d", shows=("Delete 2 memories?", "recipe"))
        await screen.press("y")
        assert not {"recipe", "cutlery"} & keys_in(inspector.store)
        screen.hides("● ")
        assert len(keys_in(inspector.store)) == 246
        await screen.press("slash", "=to eat", "enter", "asterisk")
        shown = {result.entry.id for result in screen.browser.page.recall.results}  # type: ignore[union-attr]
        assert shown
        assert len(screen.rows.marked) == len(shown)
        assert all(one in screen.rows.marked for one in shown)


async def test_a_failed_deletion_is_reported_and_the_marks_stay(inspector: Inspector) -> None:
    """Either the store fails, or a memory changes during the question."""
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("space", "space", "d")
        inspector.store.failure = Locked("Another program holds the database.", hint="Wait until it is done.")
        await screen.press("y", shows="Another program holds the database. Wait until it is done.")
        screen.shows("● 2 marked")
        assert len(keys_in(inspector.store)) == 248
        inspector.store.failure = None
        await screen.press("d")
        await inspector.store.store("recipe", "Something quite different.", "notes")
        await screen.press("y")
        assert "recipe" in keys_in(inspector.store)
        screen.says("1 memory skipped because of a newer change.")
        screen.shows("● 1 marked")
        await screen.press("d", shows="Something quite different.")
        await screen.press("y")
        assert "recipe" not in keys_in(inspector.store)
        assert len(keys_in(inspector.store)) == 246


async def test_a_deletion_shows_its_progress_and_esc_stops_after_the_batch(inspector: Inspector) -> None:
    app = inspector.app(pace=paced(patience=0.001))
    began = asyncio.Event()
    goes_on = asyncio.Event()
    allowed: list[bool] = []

    async def steps(on_progress: Any) -> None:
        on_progress(1)
        began.set()
        await goes_on.wait()
        allowed.append(on_progress(1))

    async with running(app, NARROW, rests=False) as screen:
        await screen.settle()
        inspector.store.steps = steps
        await screen.press("space", "space", "d")
        await screen.pilot.press("y")
        await screen.until(lambda: began.is_set() and isinstance(screen.top, ProgressScreen), "1 of 2")
        await screen.pilot.press("escape")
        screen.shows("Stopping after this batch")
        goes_on.set()
        await screen.settle()
        assert allowed == [False]


async def test_a_new_memory_gets_the_cursor_and_an_edited_one_stays_in_a_recall(inspector: Inspector) -> None:
    """An edited memory stays in place, even if the recall no longer finds it."""
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("G", "n", "=fresh_key")
        screen.top.query_one("#content").focus()
        await screen.press("=Just typed.", "ctrl+s", says="Stored fresh_key · u reverses that.")
        assert screen.rows.selected_entry.key == "fresh_key"
        await screen.press("e", "ctrl+u", "=Typed over.", "ctrl+s", shows="Typed over.")
        assert screen.rows.selected_entry.key == "fresh_key"
        await screen.press("slash", "=ramen", "enter", "e", "ctrl+u", "=Likes soba.", "ctrl+s")
        screen.shows("edited: no longer in this list")
        assert screen.rows.selected_entry.content == "Likes soba."


async def changed(inspector: Inspector, key: str, content: str) -> None:
    """Edit a memory outside the browser, with an entry in the trash."""
    (entry,) = await entries_with_key(inspector.store, key)
    await edit_memory(inspector.library, entry.id, Edit({"content": content}), Row.from_entry(entry).fingerprint)


async def content_of(inspector: Inspector, key: str) -> str:
    (entry,) = await entries_with_key(inspector.store, key)
    return entry.content


async def test_text_left_by_the_users_editor_is_saved_or_discarded_after_yes(
    inspector: Inspector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "outside" / "memory.md"
    given: list[str] = []

    def edits(app: Any, text: str) -> Edited:
        given.append(text)
        file.parent.mkdir()
        file.write_text(f"Written {len(given)}.")
        return Edited(f"Written {len(given)}.", file)

    monkeypatch.setattr("zeroclaw_tui.tui.rooms.editor.edit_text", edits)
    async with running(inspector.app()) as screen:
        before = await content_of(inspector, "recipe")
        await screen.press("E", says="Changed recipe · u reverses that.", shows="Written 1.")
        assert await content_of(inspector, "recipe") == "Written 1."
        await screen.press("e", "ctrl+e", "ctrl+q", "n", shows="Written 2.")
        assert given == [before, "Written 1."]
        assert file.read_text() == "Written 2."
        await screen.press("ctrl+q")
        await screen.pilot.press("y")
        await screen.until(lambda: screen.app._exit)
        assert not file.parent.exists()


async def test_quitting_asks_about_unsaved_text(inspector: Inspector) -> None:
    """No has the focus and continues typing, in a comparison too; yes quits without saving."""
    question = "Quit without saving your changes?"
    async with running(inspector.app()) as screen:
        await screen.press("e", "X", "ctrl+q", "ctrl+q", shows=question)
        await screen.press("enter")
        assert isinstance(screen.top, EditorScreen)
        await changed(inspector, "recipe", "Theirs.")
        await screen.press("ctrl+s")
        assert isinstance(screen.top, Question)
        await screen.press("ctrl+q", shows=question)
        await screen.press("n")
        assert isinstance(screen.top, Question)
        await screen.press("ctrl+q", shows=question)
        await screen.pilot.press("y")
        await screen.until(lambda: screen.app._exit)
    assert await content_of(inspector, "recipe") == "Theirs."
    async with running(inspector.app()) as screen:
        await screen.press("e")
        assert isinstance(screen.top, EditorScreen)
        # Nothing was typed, so no question is shown.
        await screen.pilot.press("ctrl+q")
        await screen.until(lambda: screen.app._exit)


async def test_quitting_during_a_purge_finishes_the_batch_and_undo_restores_it(inspector: Inspector) -> None:
    before = keys_in(inspector.store)
    started = asyncio.Event()
    store: Any = inspector.store

    async def batches(on_progress: Any) -> None:
        started.set()
        # The change runs until it is stopped, like a sequence of batches.
        while on_progress(1):  # noqa: ASYNC110
            await asyncio.sleep(0)

    store.steps = batches
    async with running(inspector.app(pace=paced(patience=0.001))) as screen:
        await screen.press("asterisk", "d")
        await screen.pilot.press("2", "4", "5", "enter")
        await asyncio.wait_for(started.wait(), 10)
        await screen.pilot.press("ctrl+q")
        await screen.until(lambda: screen.app._exit)
    library = inspector.library
    deleted = before - keys_in(inspector.store)
    action = await library.trash.last()
    assert len(await library.trash.numbers()) == len(deleted)
    if deleted:
        await undo(library, expected=action.number)
    assert keys_in(inspector.store) == before


async def test_undo_reverses_only_the_last_change_before_u_was_pressed(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change made in between is not undone, and a sentence says so."""
    async with running(inspector.app()) as screen:
        await screen.press("d", "y")
        trash, last = inspector.library.trash, inspector.library.trash.last

        async def another_comes(*_: Any) -> Any:
            found = await last()
            monkeypatch.setattr(trash, "last", last)
            await changed(inspector, "fav_food", "Changed in between.")
            return found

        monkeypatch.setattr(trash, "last", another_comes)
        await screen.press("u")
        assert "Another change was made in between." in screen.notifications + screen.words
        assert await content_of(inspector, "fav_food") == "Changed in between."
        assert screen.browser.is_current


async def test_a_superseded_memory_is_reactivated_and_hidden_again_by_undo(tmp_path: Path) -> None:
    """The detail names the newer memory; the agent sees the old one again."""
    install = DiskInstall(tmp_path, [{"key": "old", "superseded_by": "new"}, {"key": "new"}])
    before = install.rows()
    async with running(install.app(), WIDE) as screen:
        screen.browser.show_view(screen.browser.view.toggled("superseded", "only"))
        await screen.settle()
        screen.shows("superseded by new")
        await screen.command("show_again")
        screen.says("Changed old · u reverses that.")
        assert install.rows() != before
        await screen.press(":no filter", shows="2 memories")
        await screen.press("u")
        assert install.rows() == before
        await screen.command("show_again")
        screen.says("This memory is not superseded")


CONFIG = '[memory]\nbackend = "sqlite"\nembedding_provider = "local"\nembedding_model = "words"\n'


async def test_re_embed_creates_the_vector_or_says_why_not(tmp_path: Path) -> None:
    install = DiskInstall(tmp_path, [{"content": " \n"}, {"content": "likes ramen"}], config=CONFIG)
    async with running(install.app()) as screen:
        await screen.press(":re-embed", says="Its embedding now matches its content.")
        await screen.press("j", ":re-embed", says="This memory has no text to embed.")
    assert install.rows("key, embedding IS NULL") == [("key0", 1), ("key1", 0)]


async def test_undo_asks_about_a_change_of_an_earlier_session(inspector: Inspector) -> None:
    async with running(inspector.app()) as screen:
        library = inspector.library
        await screen.press("d", "y")
        # The trash as another process reads it.
        library.trash = Trash(library.config.install, library.trash.store, lambda: NOW)
        await screen.press("u", shows="Undo: deleted recipe, 2026-11-20 12:00?")
        screen.shows("It was made in an earlier session")
        await screen.press("n")
        assert "recipe" not in keys_in(inspector.store)
        await screen.press("u", "enter")
        assert "recipe" not in keys_in(inspector.store)
        await screen.press("u", "y")
        assert "recipe" in keys_in(inspector.store)
