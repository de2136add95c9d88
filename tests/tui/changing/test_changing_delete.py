"""Marking, deleting and undoing, as a person does it."""

from __future__ import annotations

import asyncio
from typing import Any

from changing_samples import keys_in, rows_of, screen_of
from support.screens import NARROW, WIDE, line, said, screen_text, screen_words, unsaid
from support.settling import press, running, settled, until
from tui_samples import Inspector, paced

from zeroclaw_tui.backends.lookup import entries_with_key, row_with_id
from zeroclaw_tui.curation.changes import edit_memory, store_memory
from zeroclaw_tui.memory.change import Draft, Edit
from zeroclaw_tui.memory.errors import Locked
from zeroclaw_tui.tui.dialogs import ProgressScreen, TypedConfirmation
from zeroclaw_tui.tui.rooms.editor import EditorScreen


async def test_d_asks_with_no_first_and_u_brings_it_back(inspector: Inspector) -> None:
    """Enter at the question keeps the memory; y moves it to the trash; u puts the very row back."""
    async with running(inspector.app()) as (app, pilot):
        before = await entries_with_key(inspector.store, "recipe")
        await press(pilot, "u")
        assert "Nothing to undo" in said(app)
        await press(pilot, "d")
        assert "Delete recipe?" in screen_text(app)
        assert "Deleted memories go to the trash. Press u to undo." in screen_words(app)
        await press(pilot, "enter")
        assert "recipe" in keys_in(inspector.store)
        await press(pilot, "d", "y")
        assert "recipe" not in keys_in(inspector.store)
        assert "244 memories" in screen_text(app)
        assert "recipe is in the trash until 20 Dec · u restores it." in said(app)
        await press(pilot, "u")
        assert await entries_with_key(inspector.store, "recipe") == before
        assert "245 memories" in screen_text(app)
        assert "Undid" in said(app)


async def test_the_smallest_window_has_room_for_the_whole_question(inspector: Inspector) -> None:
    async with running(inspector.app(), (40, 12)) as (app, pilot):
        await press(pilot, "d")
        shown = screen_words(app)
        for part in (
            "Delete recipe?",
            "Deleted memories go to the trash. Press u to undo.",
            "n Cancel",
            "y Delete",
            "esc cancel",
        ):
            assert part in shown


async def test_marks_outlive_filter_order_and_recall_and_d_takes_them(inspector: Inspector) -> None:
    """`v` marks from the last mark to the cursor, two stars none, and a star behind a recall its results."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "space", "j", "j", "v")
        assert len(rows_of(pilot).marked) == 4
        await press(pilot, "k", "space")
        assert len(rows_of(pilot).marked) == 3
        await press(pilot, "asterisk", "asterisk")
        assert len(rows_of(pilot).marked) == 0
        assert "marked" not in screen_text(app)
        await press(pilot, "g", "space", "j", "space")
        assert "● 2 marked ·" in screen_text(app)
        screen_of(pilot).panes.look(screen_of(pilot).view.toggled("category", "notes"))
        await settled(pilot)
        assert "● 2 marked" in screen_text(app)
        await press(pilot, "slash", "=ramen", "enter")
        assert "● 2 marked" in screen_text(app)
        await press(pilot, "escape")
        screen_of(pilot).panes.look(screen_of(pilot).view.cleared())
        await press(pilot, "r", "d")
        assert "Delete 2 memories?" in screen_text(app)
        assert "recipe" in screen_text(app)
        await press(pilot, "y")
        assert not {"recipe", "cutlery"} & keys_in(inspector.store)
        assert "● " not in screen_text(app)
        assert len(keys_in(inspector.store)) == 246
        await press(pilot, "slash", "=to eat", "enter", "asterisk")
        shown = {result.entry.id for result in screen_of(pilot).panes.page.recall.results}  # type: ignore[union-attr]
        assert shown
        assert len(rows_of(pilot).marked) == len(shown)
        assert all(one in rows_of(pilot).marked for one in shown)


async def test_from_eleven_on_the_number_is_typed(inspector: Inspector) -> None:
    """Neither y nor a wrong number purges; the right one does; u brings all back."""
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "space", *["j"] * 10, "v")
        count = len(rows_of(pilot).marked)
        assert count == 12
        await press(pilot, "d")
        assert "Delete 12 memories?" in screen_text(app)
        await pilot.press("y", "1", "3", "enter")
        assert isinstance(app.screen, TypedConfirmation)
        assert "The number does not match." in screen_text(app)
        await press(pilot, "backspace", "2", "enter")
        assert len(keys_in(inspector.store)) == 236
        assert "12 memories are in the trash until 20 Dec · u restores them." in said(pilot.app)
        await press(pilot, "u")
        assert len(keys_in(inspector.store)) == 248


async def test_what_keeps_a_deletion_back_is_a_sentence_and_the_marks_stay(inspector: Inspector) -> None:
    """A store that fails, a memory that changed since it was marked, and triggers that are put back when wanted."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "space", "space")
        inspector.store.refusal = Locked("Another program holds the database.", hint="Wait until it is done.")
        await press(pilot, "d", "y")
        assert "Another program holds the database. Wait until it is done." in said(app)
        assert "● 2 marked" in screen_text(app)
        assert len(keys_in(inspector.store)) == 248
        inspector.store.refusal = None
        await inspector.store.store("recipe", "Something quite different.", "notes")
        await press(pilot, "d", "y")
        assert "recipe" in keys_in(inspector.store)
        assert "1 memory skipped because of a newer change." in said(app)
        assert "● 1 marked" in screen_text(app)
        await press(pilot, "d")
        assert "Something quite different." in screen_text(app)
        await press(pilot, "y")
        assert "recipe" not in keys_in(inspector.store)
        assert len(keys_in(inspector.store)) == 246


async def test_progress_shows_how_far_it_is_and_esc_stops_after_the_batch(inspector: Inspector) -> None:
    app = inspector.app(pace=paced(patience=0.001))
    began = asyncio.Event()
    goes_on = asyncio.Event()
    allowed: list[bool] = []

    async def steps(on_progress: Any) -> None:
        on_progress(1)
        began.set()
        await goes_on.wait()
        allowed.append(on_progress(1))

    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        inspector.store.steps = steps
        await press(pilot, "space", "space", "d")
        await pilot.press("y")
        await until(pilot, lambda: began.is_set() and isinstance(app.screen, ProgressScreen))
        await until(pilot, lambda: "1 of 2" in screen_text(app))
        await pilot.press("escape")
        assert "Stopping after this batch" in screen_text(app)
        goes_on.set()
        await settled(pilot)
        assert allowed == [False]


async def test_a_read_only_store_says_why_at_each_dimmed_key(inspector: Inspector) -> None:
    reason = "The folder of the database is not yours to write."
    inspector.store.why_not = {**inspector.store.why_not, "write": reason}
    async with running(inspector.app()) as (app, pilot):
        assert "read-only" in line(app, 1)
        for key in ("n", "e", "E", "d", "u"):
            unsaid(app)
            await press(pilot, key)
            assert reason in said(app)
            assert app.screen is screen_of(pilot)
        await press(pilot, "space")
        assert "● 1 marked" in screen_text(app)


async def test_a_new_memory_is_under_the_cursor_at_once_and_an_edit_is_seen_where_it_was(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "G", "n")
        assert isinstance(app.screen, EditorScreen)
        assert inspector.library is not None
        app.screen.dismiss(await store_memory(inspector.library, Draft("fresh_key", "Just typed.")))
        await settled(pilot)
        entry = rows_of(pilot).selected_entry
        assert entry is not None
        assert entry.key == "fresh_key"
        assert "Stored fresh_key · u reverses that." in said(pilot.app)
        await press(pilot, "space", "k", "e")
        assert isinstance(app.screen, EditorScreen)
        row = await row_with_id(inspector.store, entry.id)
        assert row is not None
        edit = Edit({"content": "Typed anew."})
        app.screen.dismiss(await edit_memory(inspector.library, row.id, edit, row.fingerprint))
        await settled(pilot)
        assert "Typed anew." in screen_text(app)
        await press(pilot, "d", "y")
        assert "fresh_key" not in keys_in(inspector.store)


async def test_an_edited_memory_stays_in_sight_of_a_recall_that_no_longer_finds_it(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=ramen", "enter", "e", "ctrl+u", "=Likes soba.", "ctrl+s")
        assert "edited: no longer in this list" in screen_words(app)
        entry = rows_of(pilot).selected_entry
        assert entry is not None
        assert entry.content == "Likes soba."
