"""Exporting and importing from the palette: what is asked, what is done, what can be taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from textual.pilot import Pilot
from transfer_samples import Place, command, ready, said
from tui.changes.changes_samples import NARROW, WIDE, screen_words, until

from zeroclaw_tui.curation.evaluation.queries import TestQuery, append_queries
from zeroclaw_tui.tui.dialogs import Form, Question
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.widgets.text_fields import LineInput


async def type_path(pilot: Pilot[Any], path: Path | str) -> None:
    pilot.app.screen.query_one(LineInput).value = str(path)
    await pilot.pause()


async def import_from(pilot: Pilot[Any], path: Path) -> None:
    """Name the file, and wait until something is asked about it, or told."""
    await command(pilot, "import_file")
    await until(pilot, lambda: isinstance(pilot.app.screen, Form))
    await type_path(pilot, path)
    await pilot.press("enter")
    asks = (Question,)
    await until(pilot, lambda: isinstance(pilot.app.screen, asks) or pilot.app._notifications)
    await ready(pilot)


@pytest.mark.parametrize("words", ["export", "import"])
async def test_the_palette_has_both(place: Place, words: str) -> None:
    app = place.app()
    async with app.run_test(size=NARROW) as pilot:
        await ready(pilot)
        await pilot.press("colon")
        await until(pilot, lambda: "Find a command" in screen_words(app) or app.screen.query("Input"))
        await pilot.press(*words)
        sentence = {"export": "Export the memories shown", "import": "Import memories from a file"}[words]
        await until(pilot, lambda: sentence in screen_words(app))


async def test_what_is_shown_goes_to_the_file_named(place: Place) -> None:
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await command(pilot, "export_shown")
        await until(pilot, lambda: isinstance(app.screen, Form))
        assert "Export 3 memories?" in screen_words(app)
        assert "~/zeroclaw-memories-2026-11-22.jsonl" in screen_words(app)
        assert "every column exactly" in screen_words(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
        assert " exported to ~/zeroclaw-memories-2026-11-22.jsonl" in said(pilot)
    written = (place.home / "zeroclaw-memories-2026-11-22.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in written]
    assert {row["key"] for row in rows if "key" in row} == {"tz", "food", "chat"}


async def test_superseded_memories_that_stay_out_are_counted(place: Place) -> None:
    """The list hides them, so the file misses them: that is said before."""
    place.database.unlink()
    small_store.make(place.database, "G2", [{"key": "old", "superseded_by": "id-001"}, {"key": "new"}])
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await command(pilot, "export_shown")
        await until(pilot, lambda: isinstance(app.screen, Form))
        assert "Export 1 memory?" in screen_words(app)
        assert "1 superseded memory is left out; “superseded” in the facets takes it along." in screen_words(app)
        await pilot.press("escape")


async def test_only_what_the_filters_leave_is_exported(place: Place) -> None:
    app = place.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await ready(pilot)
        browser = app.screen
        assert isinstance(browser, BrowserRoom)
        browser.panes.look(browser.view.toggled("category", "core"))
        await ready(pilot)
        await command(pilot, "export_shown")
        await until(pilot, lambda: isinstance(app.screen, Form))
        assert "Export 2 memories? core" in screen_words(app)
        await type_path(pilot, "~/core.csv")
        await pilot.pause()
        assert "CSV: a table for other programs" in screen_words(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
    text = (place.home / "core.csv").read_text(encoding="utf-8")
    assert "peanuts" in text
    assert "ramen" not in text


async def test_a_name_that_says_no_format_is_asked_about(place: Place) -> None:
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await command(pilot, "export_shown")
        await until(pilot, lambda: isinstance(app.screen, Form))
        await type_path(pilot, "~/memories")
        await pilot.press("enter")
        await pilot.pause()
        assert "The name does not say which format." in screen_words(app)
        await pilot.press("tab", "right", "right", "right", "enter")
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
    assert "peanuts" in (place.home / "memories").read_text(encoding="utf-8")


@pytest.mark.parametrize(("key", "is_replaced"), [("n", False), ("y", True)])
async def test_a_file_that_is_there_is_only_replaced_when_a_person_says_so(
    place: Place, key: str, is_replaced: bool
) -> None:
    there = place.home / "zeroclaw-memories-2026-11-22.jsonl"
    there.write_text("mine", encoding="utf-8")
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await command(pilot, "export_shown")
        await until(pilot, lambda: isinstance(app.screen, Form))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
    assert (there.read_text(encoding="utf-8") != "mine") is is_replaced


async def test_a_file_that_cannot_be_written_is_one_sentence(place: Place) -> None:
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await command(pilot, "export_shown")
        await until(pilot, lambda: isinstance(app.screen, Form))
        await type_path(pilot, "~/no/such/folder/x.jsonl")
        await pilot.press("enter")
        await until(pilot, lambda: bool(said(pilot)))
        assert "no/such/folder" in said(pilot)
        assert isinstance(app.screen, BrowserRoom)


@pytest.mark.parametrize(
    ("key", "food", "keys"),
    [
        ("s", "Allergic to peanuts.", {"pet"}),
        ("o", "Allergic to cats.", {"pet"}),
        ("r", "Allergic to peanuts.", {"pet", "food (imported)"}),
    ],
    ids=["skip", "overwrite", "rename"],
)
async def test_a_file_comes_in_by_the_policy_chosen_and_goes_back_with_u(
    place: Place, key: str, food: str, keys: set[str]
) -> None:
    path = place.exported(
        "in.jsonl", [{"key": "pet", "content": "Has a cat"}, {"key": "food", "content": "Allergic to cats."}]
    )
    before = place.contents()
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await import_from(pilot, path)
        assert "1 new · 1 whose id or key is taken" in screen_words(app), said(pilot)
        assert "Taken: food" in screen_words(app)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
        now = place.contents()
        assert now["food"] == food
        assert len(set(now) - set(before)) == len(keys)
        assert "Imported " in said(pilot)
        assert "· u takes" in said(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "Taken back" in said(pilot))
        await ready(pilot)
        assert place.contents() == before


async def test_nothing_is_imported_by_accident(place: Place) -> None:
    before = place.contents()
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await import_from(pilot, place.exported("in.jsonl", [{"key": "pet", "content": "Has a cat"}]))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
    assert place.contents() == before


@pytest.mark.parametrize(
    "text", ["", "no json\n", '{"key": "a"', '{"a": 1}\n{"b": 2}\n'], ids=["empty", "text", "truncated", "foreign"]
)
async def test_a_file_of_another_shape_is_one_sentence(place: Place, text: str) -> None:
    path = place.home / "in.jsonl"
    path.write_text(text, encoding="utf-8")
    before = place.contents()
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await import_from(pilot, path)
        assert said(pilot)
        assert isinstance(app.screen, BrowserRoom)
    assert place.contents() == before


async def test_a_store_that_is_only_read_takes_no_import(place: Place) -> None:
    app = place.app(read_only=True)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("colon")
        await until(pilot, lambda: bool(app.screen.query("Input")))
        await pilot.press(*"import")
        await until(pilot, lambda: "Import memories from a file" in screen_words(app))
        await until(pilot, lambda: app.screen.query_one("OptionList").option_count == 1)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: bool(said(pilot)))
        assert "read-only" in said(pilot)
        assert isinstance(app.screen, BrowserRoom)


async def test_what_seems_to_hold_a_secret_comes_in_once_it_is_asked_for(place: Place) -> None:
    lines = [
        {"type": "entity", "name": "door", "entityType": "fact", "observations": ["password: hunter2-hunter2-hunter2"]},
        {"type": "entity", "name": "bees", "entityType": "fact", "observations": ["they live in the roof"]},
    ]
    file = place.home / "memory.json"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        await import_from(pilot, file)
        assert "1 new" in screen_words(app)
        await pilot.press("f")
        await until(pilot, lambda: "2 new" in screen_words(app))
        assert "flagged" not in screen_words(app)
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom))
        await ready(pilot)
        assert "Imported 2 memories" in said(pilot)


async def test_an_import_says_which_recall_tests_lose_their_answer(place: Place) -> None:
    path = place.exported("in.jsonl", [{"key": "tz", "content": "Lives in Lima"}])
    app = place.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await ready(pilot)
        test = TestQuery("Timezone is EST", ("tz",), "the time")
        append_queries(place.config_dir / "zeroclaw-tui" / "tests.toml", test)
        await import_from(pilot, path)
        lost = "If it overwrites: 1 of 1 recall test loses its answer: the time."
        await until(pilot, lambda: lost in screen_words(app))
        await pilot.press("escape")
    assert place.contents()["tz"] == "Timezone is EST"
