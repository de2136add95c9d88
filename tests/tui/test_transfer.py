"""Export and import from the palette: questions, results and undo."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.inspector import Screen, running
from support.screens import WIDE, clear_notifications
from textual.widgets import Static
from tui.installs import DiskInstall

from zeroclaw_tui.tui.dialogs import Question
from zeroclaw_tui.tui.widgets.lines import LineInput

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
    """Write a JSONL export with these memories."""
    plain = {"category": "core", "created_at": MOMENT, "updated_at": MOMENT}
    rows = [plain | {"id": f"import-{key}", "key": key, "content": text} for key, text in contents.items()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


async def type_path(screen: Screen, path: Path | str) -> None:
    screen.top.query_one(LineInput).value = str(path)
    await screen.settle()


async def import_from(screen: Screen, path: Path) -> None:
    """Type the path of a file and wait for a question or a message."""
    await screen.command("import_file")
    await type_path(screen, path)
    await screen.press("enter")


async def test_the_memories_of_the_list_are_exported_in_the_format_of_the_file_name(place: DiskInstall) -> None:
    """An existing file is replaced only after a confirmation; an unwritable one is reported."""
    home = place.config_dir.parent
    there = home / "zeroclaw-memories-2026-11-22.jsonl"
    there.write_text("mine", encoding="utf-8")
    async with running(place.app(), WIDE) as screen:
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
        screen.browser.show_view(screen.browser.view.toggled("category", "core"))
        await screen.command("export")
        screen.shows("Export 2 memories? core")
        await type_path(screen, "~/memories")
        await screen.press("enter", shows="The file name has no known ending.")
        await type_path(screen, "~/core.csv")
        screen.shows("CSV: a table for other programs")
        await screen.press("enter")
        exported = (home / "core.csv").read_text(encoding="utf-8")
        assert "peanuts" in exported
        assert "ramen" not in exported
        await screen.command("export")
        await type_path(screen, "~/no/such/folder/x.jsonl")
        await screen.press("enter", says="no/such/folder")
        assert screen.top is screen.browser


POLICIES = {
    "s": ("Allergic to peanuts.", {"pet"}),
    "o": ("Allergic to cats.", {"pet"}),
    "r": ("Allergic to peanuts.", {"pet", "food (imported 499a)"}),
}
"""Skip, overwrite, rename: the resulting content of food, and the new keys."""


async def test_a_file_is_imported_by_the_chosen_policy_and_undone(place: DiskInstall) -> None:
    """An import needs a confirmation; for a file that cannot be read, the path is asked for again with the reason."""
    path = exported(place.root / "in.jsonl", {"pet": "Has a cat", "food": "Allergic to cats."})
    before = place.contents()
    async with running(place.app()) as screen:
        await import_from(screen, path)
        await screen.press("enter")
        assert (screen.top, place.contents()) == (screen.browser, before)
        for key, (food, new) in POLICIES.items():
            clear_notifications(screen.app)
            await import_from(screen, path)
            screen.shows("1 new · 1 whose key is taken", "Already in use: food")
            await screen.press(key)
            now = place.contents()
            assert now["food"] == food
            assert set(now) - set(before) == new
            screen.says("Imported ", "· u reverses")
            await screen.press("u", says="Undid")
            assert place.contents() == before
        for text in ("", "no json\n", '{"key": "a"', '{"a": 1}\n{"b": 2}\n'):
            path.write_text(text, encoding="utf-8")
            await import_from(screen, path)
            assert str(screen.top.query_one("#body", Static).content)
            await screen.press("x")
            assert screen.top.query_one(LineInput).value == f"{path}x"
            await screen.press("escape")
    assert place.contents() == before


async def test_a_flagged_text_is_imported_on_request_and_the_choices_stay_visible(place: DiskInstall) -> None:
    """Even with a long list of losses."""
    door = {"name": "door", "entityType": "fact", "observations": ["password: hunter2-hunter2-hunter2"]}
    bees = {"name": "bees", "entityType": "fact", "observations": ["they live in the roof"]}
    server, mem0 = place.root / "memory.json", place.root / "mem0.json"
    server.write_text("\n".join(json.dumps({"type": "entity"} | one) for one in (door, bees)), encoding="utf-8")
    about = {"memory": "Keeps bees", "user_id": "mila", "hash": "x", "actor_id": "a", "metadata": {"topic": "home"}}
    rows = [about | {"id": f"{at}", "role": "user", "agent_id": "zoe", "run_id": str(at)} for at in range(4)]
    mem0.write_text(json.dumps({"results": rows}), encoding="utf-8")
    async with running(place.app()) as screen:
        await import_from(screen, server)
        screen.shows("1 new")
        await screen.pilot.press("f")
        await screen.until("2 new")
        screen.hides("flagged")
        await screen.press("y", says="Imported 2 memories")
        await screen.pilot.resize_terminal(60, 8)
        await import_from(screen, mem0)
        screen.shows("Import 4 memories from mem0.json?")
        before = screen.words
        assert "n Cancel y Import the 4 new pgdn more" in before
        await screen.press("pagedown")
        assert screen.words != before
        await screen.press("y", says="Imported 4 memories")
