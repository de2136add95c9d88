"""Marking, deleting and taking back, as a person does it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from changing_samples import Writable, asked, back, keys_in, rows_of, said, screen_of
from support.settling import settled
from textual.pilot import Pilot
from textual.widgets import Static
from tui_samples import NARROW, WIDE, Inspector, click_text, paced, screen_text, screen_words, until

from zeroclaw_tui.curation.changes import edit_memory, store_memory
from zeroclaw_tui.memory.change import Draft, Edit
from zeroclaw_tui.memory.errors import Locked
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.actions import PlannedMemories
from zeroclaw_tui.tui.dialogs import ProgressScreen, Question, TypedConfirmation
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settled(pilot)


async def test_d_asks_with_no_first_and_u_brings_it_back(inspector: Inspector) -> None:
    """Enter at the question keeps the memory; y moves it to the trash; u puts the very row back."""
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        before = await inspector.store.with_key("recipe")
        await pilot.press("d")
        await asked(pilot)
        assert "Delete recipe?" in screen_text(app)
        assert "It goes to the trash; u brings it back." in screen_words(app)
        await pilot.press("enter")
        await back(pilot)
        assert "recipe" in keys_in(inspector.store)
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await back(pilot)
        assert "recipe" not in keys_in(inspector.store)
        assert "244 memories" in screen_text(app)
        assert "recipe is in the trash until 20 Dec · u brings it back." in said(pilot)
        await pilot.press("u")
        await back(pilot)
        assert await inspector.store.with_key("recipe") == before
        assert "245 memories" in screen_text(app)
        assert "Taken back" in said(pilot)


async def test_the_smallest_window_has_room_for_the_whole_question(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=(40, 12)) as pilot:
        await settled(pilot)
        await pilot.press("d")
        await asked(pilot)
        shown = screen_words(app)
        for part in ("Delete recipe?", "It goes to the trash; u brings it back.", "Keep it", "Delete it", "esc leave"):
            assert part in shown


async def test_marks_outlive_filter_order_and_recall_and_d_takes_them(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "space", "j", "space")
        assert "● 2 marked ·" in screen_text(app)
        screen_of(pilot).panes.look(screen_of(pilot).view.toggled("category", "notes"))
        await settled(pilot)
        assert "● 2 marked, 1 not among these" in screen_text(app)
        await press(pilot, "slash", *"ramen", "enter")
        assert "● 2 marked, 1 not among these" in screen_text(app)
        await press(pilot, "escape")
        screen_of(pilot).panes.look(screen_of(pilot).view.cleared())
        await press(pilot, "r")
        await pilot.press("d")
        await asked(pilot)
        assert "Delete 2 memories?" in screen_text(app)
        assert "recipe" in screen_text(app)
        await pilot.press("y")
        await back(pilot)
        assert not {"recipe", "cutlery"} & keys_in(inspector.store)
        assert "marked" not in screen_text(app)
        assert len(keys_in(inspector.store)) == 246


async def test_v_marks_from_the_last_mark_to_the_cursor_and_backslash_none(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "space", "j", "j", "v")
        assert len(rows_of(pilot).marks) == 4
        await press(pilot, "k", "space")
        assert len(rows_of(pilot).marks) == 3
        await press(pilot, "backslash")
        assert len(rows_of(pilot).marks) == 0
        assert "marked" not in screen_text(app)


async def test_star_after_a_recall_marks_the_results(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "slash", *"to eat", "enter", "asterisk")
        shown = {result.entry.id for result in screen_of(pilot).panes.recalled.results}  # type: ignore[union-attr]
        assert shown
        assert {stamp.id for stamp in rows_of(pilot).marks.stamps} == shown


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
async def test_from_eleven_on_the_number_is_typed(inspector: Inspector, size: tuple[int, int]) -> None:
    """Neither y nor a wrong number purges; the right one does; u brings all back."""
    app = inspector.app()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "space", *["j"] * 10, "v")
        count = len(rows_of(pilot).marks)
        assert count == 12
        await pilot.press("d")
        await asked(pilot)
        assert "Delete 12 memories?" in screen_text(app)
        await pilot.press("y", "1", "3", "enter")
        assert isinstance(app.screen, TypedConfirmation)
        assert "That is another number." in screen_text(app)
        await pilot.press("backspace", "2", "enter")
        await back(pilot)
        assert len(keys_in(inspector.store)) == 236
        assert "12 memories are in the trash until 20 Dec · u brings them back." in said(pilot)
        await pilot.press("u")
        await back(pilot)
        assert len(keys_in(inspector.store)) == 248


async def test_v_in_the_plan_shows_every_memory_and_esc_goes_back_one_step(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "asterisk")
        await pilot.press("d")
        await asked(pilot)
        assert "(v to see all)" in screen_text(app)
        await pilot.press("v")
        await asked(pilot)
        await pilot.press("G")
        await until(pilot, lambda: "recipe" in screen_text(app))
        await pilot.press("escape")
        assert isinstance(app.screen, TypedConfirmation)
        await pilot.press("escape")
        await back(pilot)
        assert len(keys_in(inspector.store)) == 248
        assert "● 245 marked" in screen_text(app)


async def test_a_plan_of_all_that_is_shown_says_which_memories_stay(inspector: Inspector) -> None:
    """Superseded ones are hidden, so all of the list is not all of the store; of a part of it nothing is said."""
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        stay = "3 superseded memories stay; “superseded” in the facets takes them along."
        for keys, is_said in ((("space", "j", "space"), False), (("asterisk",), True)):
            await press(pilot, *keys)
            await pilot.press("d")
            await asked(pilot)
            said_there = app.screen.query_one("#remarks", Static).content
            assert (stay in str(said_there)) is is_said
            await pilot.press("escape")
            await back(pilot)


async def test_rows_that_come_after_the_answer_was_given_are_for_nobody(inspector: Inspector) -> None:
    """The plan is left while its rows are still being read: that is no fault of the program."""
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("asterisk", "d")
        await asked(pilot)
        plan = app.screen.query_one(PlannedMemories)
        handles = [entry.handle for entry in await inspector.store.list()]
        rows = MemoryList.RowsWanted(plan.query_one(MemoryList), handles)
        await pilot.press("escape")
        await back(pilot)
        assert not plan.is_attached
        plan.on_memory_list_rows_wanted(rows)
        assert screen_of(pilot).is_attached


async def test_the_palette_deletes_all_that_is_shown(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        screen_of(pilot).panes.look(screen_of(pilot).view.toggled("category", "notes"))
        await settled(pilot)
        await screen_of(pilot).run_action("delete_shown")
        await asked(pilot)
        assert "Delete 2 memories?" in screen_text(app)
        await pilot.press("y")
        await back(pilot)
        assert not {"market", "recipe"} & keys_in(inspector.store)
        assert len(keys_in(inspector.store)) == 246


async def test_a_memory_changed_since_it_was_marked_stays_and_stays_marked(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "space", "space")
        await inspector.store.store("recipe", "Something quite different.", "notes")
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await back(pilot)
        assert "recipe" in keys_in(inspector.store)
        assert "1 memory changed meanwhile and stayed." in said(pilot)
        assert "● 1 marked" in screen_text(app)
        await pilot.press("d")
        await asked(pilot)
        assert "Something quite different." in screen_text(app)
        await pilot.press("y")
        await back(pilot)
        assert "recipe" not in keys_in(inspector.store)


async def test_a_failure_is_one_sentence_and_the_marks_stay(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "space", "space")
        inspector.store.refusal = Locked("Another program holds the database.", hint="Wait until it is done.")
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await back(pilot)
        assert "Another program holds the database. Wait until it is done." in said(pilot)
        assert "● 2 marked" in screen_text(app)
        assert len(keys_in(inspector.store)) == 248


@pytest.mark.parametrize("answer", ["y", "escape"])
async def test_missing_triggers_are_repaired_when_wanted_and_the_deletion_goes_on(
    inspector: Inspector, answer: str
) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        inspector.store.missing_triggers = ["memories_ai"]
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: "memories_ai" in screen_text(app))
        await pilot.press(answer)
        if answer == "y":
            await back(pilot)
            assert "recipe" not in keys_in(inspector.store)
            assert len(keys_in(inspector.store)) == 247
        else:
            await back(pilot)
            assert "recipe" in keys_in(inspector.store)


async def test_a_clash_is_asked_about_and_leaving_it_changes_nothing(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await back(pilot)
        await inspector.store.store("recipe", "Written again.", "core")
        await pilot.press("u")
        await asked(pilot)
        assert "Overwrite" in screen_text(app)
        await pilot.press("enter")
        await back(pilot)
        assert [entry.content for entry in await inspector.store.with_key("recipe")] == ["Written again."]
        await pilot.press("u")
        await asked(pilot)
        await pilot.press("j", "enter")
        await back(pilot)
        (entry,) = await inspector.store.with_key("recipe")
        assert "broth of **miso**" in entry.content


async def test_nothing_to_take_back_is_a_sentence(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "u")
        assert "There is nothing to take back" in said(pilot)


async def test_progress_shows_how_far_it_is_and_esc_stops_after_the_batch(inspector: Inspector) -> None:
    app = inspector.app(pace=paced(patience=0.001))
    began = asyncio.Event()
    goes_on = asyncio.Event()
    allowed: list[bool] = []

    async def steps(advance: Any) -> None:
        advance(1)
        began.set()
        await goes_on.wait()
        allowed.append(advance(1))

    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        inspector.store.steps = steps
        await press(pilot, "space", "space")
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: began.is_set() and isinstance(app.screen, ProgressScreen))
        await until(pilot, lambda: "1 of 2" in screen_text(app))
        await pilot.press("escape")
        assert "Stopping after this batch" in screen_text(app)
        goes_on.set()
        await back(pilot)
        assert allowed == [False]


async def test_the_mouse_marks_at_the_left_edge_and_answers(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        rows = rows_of(pilot)
        await pilot.click(offset=(rows.region.x, rows.region.y + 2))
        await settled(pilot)
        assert "● 1 marked" in screen_text(app)
        await pilot.click(offset=(rows.region.x, rows.region.y + 2))
        await settled(pilot)
        assert "marked" not in screen_text(app)
        await pilot.press("d")
        await asked(pilot)
        await click_text(pilot, "Delete it")
        await back(pilot)
        assert len(keys_in(inspector.store)) == 247


@pytest.mark.parametrize("key", ["n", "e", "E", "d", "u"])
async def test_a_read_only_store_says_why_at_each_dimmed_key(inspector: Inspector, key: str) -> None:
    inspector.store.read_only_because = "The folder of the database is not yours to write."
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        assert "read-only" in screen_text(app).splitlines()[0]
        await press(pilot, key)
        assert "The folder of the database is not yours to write." in said(pilot)
        assert app.screen is screen_of(pilot)
        await press(pilot, "space")
        assert "● 1 marked" in screen_text(app)


async def test_a_hundred_thousand_marks_are_no_burden(inspector: Inspector) -> None:
    """Setting one more mark does not go through the others: no row is asked for again, and all of them are counted."""
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        (stamp,) = await inspector.store.stamps_of([1])
        marks = rows_of(pilot).marks
        marks.put(replace(stamp, id=str(number), handle=10_000 + number) for number in range(100_000))
        await press(pilot, "space")
        assert "● 100,001 marked, 100,000 not among these" in one_line(screen_text(app))
        assert isinstance(inspector.store, Writable)


async def test_the_question_names_a_hostile_memory_harmlessly(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await inspector.store.store("[/x]\x1b[31m", "[@click=app.quit()]q[/] \x1b]52;c;aGk=\x1b\\ text", "[bold]")
        await settled(pilot)
        await press(pilot, "r")
        await press(pilot, "o", "enter")
        await press(pilot, "g")
        await pilot.press("d")
        await asked(pilot)
        assert isinstance(app.screen, Question)
        shown = screen_text(app)
        assert "Delete [/x]␛[31m?" in shown
        assert "[@click=app.quit()]q[/] ␛]52;c;aGk=␛\\ text" in shown
        await pilot.press("y")
        await back(pilot)
        assert "[/x]␛[31m is in the trash" in said(pilot)


async def test_a_new_memory_is_under_the_cursor_at_once_and_an_edit_is_seen_where_it_was(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "G")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, EditorScreen))
        assert inspector.library is not None
        app.screen.dismiss(await store_memory(inspector.library, Draft("fresh_key", "Just typed.")))
        await back(pilot)
        entry = rows_of(pilot).selected_entry
        assert entry is not None
        assert entry.key == "fresh_key"
        assert "Stored fresh_key · u takes it back." in said(pilot)
        await press(pilot, "space", "k")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditorScreen))
        row = await inspector.store.stored(entry.id)
        assert row is not None
        edit = Edit({"content": "Typed anew."})
        app.screen.dismiss(await edit_memory(inspector.library, row.id, edit, row.fingerprint))
        await back(pilot)
        assert "Typed anew." in screen_text(app)
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await back(pilot)
        assert "fresh_key" not in keys_in(inspector.store)


async def test_after_everything_is_gone_and_back_the_list_has_the_focus_and_the_detail_its_memory(
    inspector: Inspector,
) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        screen_of(pilot).panes.look(screen_of(pilot).view.toggled("category", "notes"))
        await press(pilot, "asterisk")
        await pilot.press("d")
        await asked(pilot)
        await pilot.press("y")
        await back(pilot)
        assert "No memory passes these filters." in screen_text(app)
        await pilot.press("u")
        await back(pilot)
        assert rows_of(pilot).has_focus
        assert "broth of" in screen_words(app)
