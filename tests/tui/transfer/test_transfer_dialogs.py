"""Exporting and importing from the palette: what is asked, what is done, what can be undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import small_store
from support.screens import WIDE, said, screen_words, unsaid
from support.settling import press, running, settled, until
from textual.pilot import Pilot
from transfer_samples import Place, command

from zeroclaw_tui.tui.dialogs import Question
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.widgets.text_fields import LineInput


async def type_path(pilot: Pilot[Any], path: Path | str) -> None:
    pilot.app.screen.query_one(LineInput).value = str(path)
    await settled(pilot)


async def import_from(pilot: Pilot[Any], path: Path) -> None:
    """Name the file, and wait until something is asked or reported."""
    await command(pilot, "import_file")
    await type_path(pilot, path)
    await press(pilot, "enter")


async def test_the_listed_memories_are_exported_to_the_named_file(place: Place) -> None:
    """One that is there is only replaced when a person says so; one that cannot be written is reported."""
    there = place.home / "zeroclaw-memories-2026-11-22.jsonl"
    there.write_text("mine", encoding="utf-8")
    async with running(place.app()) as (app, pilot):
        await command(pilot, "export")
        assert "Export 3 memories?" in screen_words(app)
        assert "~/zeroclaw-memories-2026-11-22.jsonl" in screen_words(app)
        assert "all columns, lossless" in screen_words(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, Question)
        await press(pilot, "n")
        assert there.read_text(encoding="utf-8") == "mine"
        await command(pilot, "export")
        await press(pilot, "enter", "y")
        assert " exported to ~/zeroclaw-memories-2026-11-22.jsonl" in said(app)
        rows = [json.loads(line) for line in there.read_text(encoding="utf-8").splitlines()]
        assert {row["key"] for row in rows if "key" in row} == {"tz", "food", "chat"}
        await command(pilot, "export")
        await type_path(pilot, "~/no/such/folder/x.jsonl")
        await press(pilot, "enter")
        assert "no/such/folder" in said(app)
        assert isinstance(app.screen, BrowserRoom)


async def test_the_filtered_memories_are_exported_in_the_format_of_the_file_name(place: Place) -> None:
    async with running(place.app(), WIDE) as (app, pilot):
        browser = app.screen
        assert isinstance(browser, BrowserRoom)
        browser.panes.look(browser.view.toggled("category", "core"))
        await command(pilot, "export")
        assert "Export 2 memories? core" in screen_words(app)
        await type_path(pilot, "~/core.csv")
        assert "CSV: a table for other programs" in screen_words(app)
        await press(pilot, "enter")
        await command(pilot, "export")
        await type_path(pilot, "~/memories")
        await press(pilot, "enter")
        assert "The file name has no known ending." in screen_words(app)
        await type_path(pilot, "~/memories.md")
        await press(pilot, "enter")
        assert isinstance(app.screen, BrowserRoom)
    for name in ("core.csv", "memories.md"):
        text = (place.home / name).read_text(encoding="utf-8")
        assert "peanuts" in text
        assert "ramen" not in text


async def test_superseded_memories_that_stay_out_are_counted(place: Place) -> None:
    """The list hides them, so the file misses them: that is said before."""
    place.database.unlink()
    small_store.make(place.database, "G2", [{"key": "old", "superseded_by": "id-001"}, {"key": "new"}])
    async with running(place.app()) as (app, pilot):
        await command(pilot, "export")
        assert "Export 1 memory?" in screen_words(app)
        assert "1 superseded memory is left out; “superseded” in the facets takes it along." in screen_words(app)
        await pilot.press("escape")


POLICIES = {
    "s": ("Allergic to peanuts.", {"pet"}),
    "o": ("Allergic to cats.", {"pet"}),
    "r": ("Allergic to peanuts.", {"pet", "food (imported 499a)"}),
}
"""Skip, overwrite, rename: what is there of food then, and which keys are new."""


async def test_a_file_is_imported_by_the_chosen_policy_and_undone(place: Place) -> None:
    path = place.exported(
        "in.jsonl", [{"key": "pet", "content": "Has a cat"}, {"key": "food", "content": "Allergic to cats."}]
    )
    before = place.contents()
    async with running(place.app()) as (app, pilot):
        for key, (food, new) in POLICIES.items():
            unsaid(app)
            await import_from(pilot, path)
            assert "1 new · 1 whose key is taken" in screen_words(app), said(app)
            assert "Already in use: food" in screen_words(app)
            await press(pilot, key)
            now = place.contents()
            assert now["food"] == food
            assert set(now) - set(before) == new
            assert "Imported " in said(app)
            assert "· u reverses" in said(app)
            await press(pilot, "u")
            assert "Undid" in said(app)
            assert place.contents() == before


async def test_nothing_is_imported_by_accident_and_a_file_of_another_shape_is_one_sentence(place: Place) -> None:
    before = place.contents()
    path = place.exported("in.jsonl", [{"key": "pet", "content": "Has a cat"}])
    async with running(place.app()) as (app, pilot):
        await import_from(pilot, path)
        await press(pilot, "enter")
        assert isinstance(app.screen, BrowserRoom)
        for text in ("", "no json\n", '{"key": "a"', '{"a": 1}\n{"b": 2}\n'):
            path.write_text(text, encoding="utf-8")
            unsaid(app)
            await import_from(pilot, path)
            assert said(app)
            assert isinstance(app.screen, BrowserRoom)
    assert place.contents() == before


async def test_a_flagged_text_is_imported_on_request(place: Place) -> None:
    lines = [
        {"type": "entity", "name": "door", "entityType": "fact", "observations": ["password: hunter2-hunter2-hunter2"]},
        {"type": "entity", "name": "bees", "entityType": "fact", "observations": ["they live in the roof"]},
    ]
    file = place.home / "memory.json"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    async with running(place.app()) as (app, pilot):
        await import_from(pilot, file)
        assert "1 new" in screen_words(app)
        await pilot.press("f")
        await until(pilot, lambda: "2 new" in screen_words(app))
        assert "flagged" not in screen_words(app)
        await press(pilot, "y")
        assert isinstance(app.screen, BrowserRoom)
        assert "Imported 2 memories" in said(pilot.app)


async def test_however_much_gets_lost_the_answers_stay_in_sight(place: Place) -> None:
    path = place.home / "mem0.json"
    about = {"hash": "x", "actor_id": "a", "role": "user", "metadata": {"topic": "home"}}
    memory = {"id": "9a1b", "memory": "Keeps bees in a hive on the roof of the house by the river", "user_id": "mila"}
    rows = [{**memory, **about, "agent_id": "zoe", "run_id": str(at), "id": f"{at}"} for at in range(4)]
    path.write_text(json.dumps({"results": rows}), encoding="utf-8")
    async with running(place.app(), (60, 8)) as (app, pilot):
        await import_from(pilot, path)
        assert "Import 4 memories from mem0.json?" in screen_words(app)
        before = screen_words(app)
        assert "n Cancel y Import the 4 new pgdn more" in before
        await press(pilot, "pagedown")
        assert screen_words(app) != before
        await press(pilot, "y")
        assert "Imported 4 memories" in said(app)
