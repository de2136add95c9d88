"""Exporting and importing from the palette: what is asked, what is done, what can be undone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.inspector import Screen, running
from support.screens import WIDE, unsaid
from tui.samples import DiskInstall

from zeroclaw_tui.tui.dialogs import Question
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.widgets.text_fields import LineInput

MOMENT = "2026-10-01T08:00:00+00:00"
ROWS = (
    {"key": "tz", "content": "Timezone is EST"},
    {"key": "food", "content": "Allergic to peanuts."},
    {"key": "chat", "content": "Asked about ramen", "category": "daily"},
)


@pytest.fixture
def place(clean_environment: Path) -> DiskInstall:
    return DiskInstall(clean_environment, ROWS, generation="G1", clock=lambda: datetime(2026, 11, 22, 9, tzinfo=UTC))


def exported(file: Path, contents: dict[str, str]) -> Path:
    """A JSONL of ours with these memories."""
    plain = {"category": "core", "created_at": MOMENT, "updated_at": MOMENT}
    rows = [plain | {"id": f"import-{key}", "key": key, "content": text} for key, text in contents.items()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


async def type_path(screen: Screen, path: Path | str) -> None:
    screen.top.query_one(LineInput).value = str(path)
    await screen.settle()


async def import_from(screen: Screen, path: Path) -> None:
    """Name the file, and wait until something is asked or reported."""
    await screen.command("import_file")
    await type_path(screen, path)
    await screen.press("enter")


async def test_the_listed_memories_are_exported_to_the_named_file(place: DiskInstall) -> None:
    """One that is there is only replaced when a person says so; one that cannot be written is reported."""
    there = place.config_dir.parent / "zeroclaw-memories-2026-11-22.jsonl"
    there.write_text("mine", encoding="utf-8")
    async with running(place.app()) as screen:
        await screen.command("export")
        screen.shows("Export 3 memories?", "~/zeroclaw-memories-2026-11-22.jsonl", "all columns, lossless")
        await screen.press("enter")
        assert isinstance(screen.top, Question)
        await screen.press("n")
        assert there.read_text(encoding="utf-8") == "mine"
        await screen.command("export")
        await screen.press("enter", "y", says=" exported to ~/zeroclaw-memories-2026-11-22.jsonl")
        rows = [json.loads(line) for line in there.read_text(encoding="utf-8").splitlines()]
        assert {row["key"] for row in rows if "key" in row} == {"tz", "food", "chat"}
        await screen.command("export")
        await type_path(screen, "~/no/such/folder/x.jsonl")
        await screen.press("enter", says="no/such/folder")
        assert isinstance(screen.top, BrowserRoom)


async def test_the_filtered_memories_are_exported_in_the_format_of_the_file_name(place: DiskInstall) -> None:
    async with running(place.app(), WIDE) as screen:
        browser = screen.top
        assert isinstance(browser, BrowserRoom)
        browser.look(browser.view.toggled("category", "core"))
        await screen.command("export")
        screen.shows("Export 2 memories? core")
        await type_path(screen, "~/core.csv")
        screen.shows("CSV: a table for other programs")
        await screen.press("enter")
        await screen.command("export")
        await type_path(screen, "~/memories")
        await screen.press("enter", shows="The file name has no known ending.")
        await type_path(screen, "~/memories.md")
        await screen.press("enter")
        assert isinstance(screen.top, BrowserRoom)
    for name in ("core.csv", "memories.md"):
        text = (place.config_dir.parent / name).read_text(encoding="utf-8")
        assert "peanuts" in text
        assert "ramen" not in text


POLICIES = {
    "s": ("Allergic to peanuts.", {"pet"}),
    "o": ("Allergic to cats.", {"pet"}),
    "r": ("Allergic to peanuts.", {"pet", "food (imported 499a)"}),
}
"""Skip, overwrite, rename: what is there of food then, and which keys are new."""


async def test_a_file_is_imported_by_the_chosen_policy_and_undone(place: DiskInstall) -> None:
    path = exported(place.root / "in.jsonl", {"pet": "Has a cat", "food": "Allergic to cats."})
    before = place.contents()
    async with running(place.app()) as screen:
        for key, (food, new) in POLICIES.items():
            unsaid(screen.app)
            await import_from(screen, path)
            screen.shows("1 new · 1 whose key is taken", "Already in use: food")
            await screen.press(key)
            now = place.contents()
            assert now["food"] == food
            assert set(now) - set(before) == new
            screen.says("Imported ", "· u reverses")
            await screen.press("u", says="Undid")
            assert place.contents() == before


async def test_nothing_is_imported_by_accident_and_a_file_of_another_shape_is_one_sentence(place: DiskInstall) -> None:
    before = place.contents()
    path = exported(place.root / "in.jsonl", {"pet": "Has a cat"})
    async with running(place.app()) as screen:
        await import_from(screen, path)
        await screen.press("enter")
        assert isinstance(screen.top, BrowserRoom)
        for text in ("", "no json\n", '{"key": "a"', '{"a": 1}\n{"b": 2}\n'):
            path.write_text(text, encoding="utf-8")
            unsaid(screen.app)
            await import_from(screen, path)
            assert screen.said
            assert isinstance(screen.top, BrowserRoom)
    assert place.contents() == before


async def test_a_flagged_text_is_imported_on_request(place: DiskInstall) -> None:
    lines = [
        {"type": "entity", "name": "door", "entityType": "fact", "observations": ["password: hunter2-hunter2-hunter2"]},
        {"type": "entity", "name": "bees", "entityType": "fact", "observations": ["they live in the roof"]},
    ]
    file = place.config_dir.parent / "memory.json"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    async with running(place.app()) as screen:
        await import_from(screen, file)
        screen.shows("1 new")
        await screen.pilot.press("f")
        await screen.until("2 new")
        screen.hides("flagged")
        await screen.press("y")
        assert isinstance(screen.top, BrowserRoom)
        screen.says("Imported 2 memories")


async def test_however_much_gets_lost_the_answers_stay_in_sight(place: DiskInstall) -> None:
    path = place.config_dir.parent / "mem0.json"
    about = {"hash": "x", "actor_id": "a", "role": "user", "metadata": {"topic": "home"}}
    memory = {"id": "9a1b", "memory": "Keeps bees in a hive on the roof of the house by the river", "user_id": "mila"}
    rows = [{**memory, **about, "agent_id": "zoe", "run_id": str(at), "id": f"{at}"} for at in range(4)]
    path.write_text(json.dumps({"results": rows}), encoding="utf-8")
    async with running(place.app(), (60, 8)) as screen:
        await import_from(screen, path)
        screen.shows("Import 4 memories from mem0.json?")
        before = screen.words
        assert "n Cancel y Import the 4 new pgdn more" in before
        await screen.press("pagedown")
        assert screen.words != before
        await screen.press("y", says="Imported 4 memories")
