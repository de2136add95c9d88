"""What marks, questions, plans and progress look like at both sizes, with memories that mean harm."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from changing_samples import Writable, asked, screen_of
from textual.pilot import Pilot
from tui_samples import NARROW, WIDE, Inspector, hostile_memories, memory, sample_memories, screen_text, settled, until
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen

from zeroclaw_tui.curation.copies import copies
from zeroclaw_tui.memory.change import Clashes, ClashFound, TriggersMissing
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.progress import Progress, ProgressScreen

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
PLACE = "/srv/zeroclaw/.zeroclaw/workspace/MEMORY_SNAPSHOT.md"


def everything() -> list[MemoryEntry]:
    """The usual memories, and the hostile ones last stored."""
    usual = sample_memories()
    parts = [(one.key, one.content, one.category) for one in hostile_memories()]
    return [*usual, *(memory(*part, 1, len(usual) + number) for number, part in enumerate(parts, 1))]


@pytest.fixture
def inspector(monkeypatch: pytest.MonkeyPatch) -> Inspector:
    """In a folder whose name is always the same; copies are where they are said to be."""

    async def found(*_: Any) -> list[copies.Copy]:
        return [copies.Copy("snapshot", PLACE, 3, True, "An export for people.")]

    monkeypatch.setattr("zeroclaw_tui.tui.screens.confirm.find_copies", found)
    return Inspector(Path("/srv/zeroclaw"), Writable(everything()))


def keys(*pressed: str, asks: bool = False) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(key)
            if pilot.app.screen is screen_of(pilot) and key != "d":
                await settled(pilot)
        if asks:
            await asked(pilot)

    return press


@BOTH
def test_marks(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Marked rows carry a dot at the left edge, the one under the cursor a ring; the count stands under the list."""
    before = keys("space", "space", "j", "space", "space", "k")
    assert snap_compare(inspector.app(), terminal_size=size, run_before=before)


def test_marks_in_a_recall(inspector: Inspector, snap_compare: Snap) -> None:
    """Results carry the same dot; marks that are not among them are counted."""
    before = keys("space", "slash", *"to eat", "enter", "j", "space")
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=before)


def test_marks_without_colour(inspector: Inspector, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark, cursor, and both at once can be told apart by their signs."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("space", "space", "k"))


@pytest.mark.parametrize("row", [0, 3, 4, 7, 8], ids=["format", "wide", "emoji", "escape", "long"])
def test_deleting_one(inspector: Inspector, snap_compare: Snap, row: int) -> None:
    """What it is and where it goes; keeping it is chosen."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys(*["j"] * row, "d", asks=True))


def test_deleting_in_markdown(inspector: Inspector, snap_compare: Snap) -> None:
    """The store's own sentence about what ZeroClaw would do stands below."""
    sentence = "ZeroClaw itself never deletes in Markdown files; this takes the lines out of the file."
    store = inspector.store
    can = Writable.capabilities
    store.capabilities = type(can)(**{**_parts(can), "why_not": {"zeroclaw_forget": sentence}})
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("d", asks=True))


def _parts(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def test_deleting_a_few(inspector: Inspector, snap_compare: Snap) -> None:
    """All of them are shown; keeping everything is chosen."""
    before = keys("space", *["j"] * 8, "v", "d", asks=True)
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=before)


@BOTH
def test_purge_plan(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Counts, ages, bytes, the first few, where copies lie, and the number to type."""
    assert snap_compare(inspector.app(), terminal_size=size, run_before=keys("asterisk", "d", asks=True))


def test_purge_plan_with_all(inspector: Inspector, snap_compare: Snap) -> None:
    """Every memory of the plan in a list to scroll."""
    before = keys("space", *["j"] * 14, "v", "d", asks=True)

    async def all_of_them(pilot: Pilot[Any]) -> None:
        await before(pilot)
        await pilot.press("v")
        await asked(pilot)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=all_of_them)


@pytest.mark.parametrize("is_stopped", [False, True], ids=["going", "stopping"])
def test_progress(inspector: Inspector, snap_compare: Snap, is_stopped: bool) -> None:
    """How far it is, and the key that stops it."""

    async def show(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        progress = Progress(10_000)
        progress.advance(3_750)
        pilot.app.push_screen(ProgressScreen("Deleting 10,000 memories", progress))
        await asked(pilot)
        if is_stopped:
            await pilot.press("escape")

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=show)


def test_undo_clash(inspector: Inspector, snap_compare: Snap) -> None:
    """What would come back beside what is there now, and three ways to go on."""

    async def show(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        stamps = [await inspector.store.stored(entry.id) for entry in everything()[-3:]]
        found = [ClashFound(stamps[0], stamps[1], "key exists"), ClashFound(stamps[2], None, "gone")]  # type: ignore[arg-type]
        pilot.app.push_screen(ClashScreen(Clashes(found, 14)))
        await asked(pilot)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=show)


def test_repair(inspector: Inspector, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing and what putting it back does."""

    async def lacks(*_: Any, **__: Any) -> None:
        raise TriggersMissing(["memories_ai", "memories_ad", "memories_au"])

    monkeypatch.setattr("zeroclaw_tui.curation.changes.remove_memories", lacks)

    async def delete(pilot: Pilot[Any]) -> None:
        await keys("d", asks=True)(pilot)
        await pilot.press("y")
        await until(pilot, lambda: "lacks" in screen_text(pilot.app))

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=delete)


def test_read_only(inspector: Inspector, snap_compare: Snap) -> None:
    """The header says so, the keys that write are dim, a dimmed key says why."""
    inspector.store.read_only_because = "The folder of the database is not yours to write."
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("e"))


@pytest.mark.parametrize("pressed", ["question_mark", "colon"], ids=["keys", "palette"])
def test_read_only_panels(inspector: Inspector, snap_compare: Snap, pressed: str) -> None:
    """What cannot be done is dim there as well."""
    inspector.store.read_only_because = "The folder of the database is not yours to write."
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys(pressed))


def test_banner_of_copies(inspector: Inspector, snap_compare: Snap) -> None:
    """After a deletion a quiet line names the other places and the key that shows them."""

    async def deleted(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        screen = screen_of(pilot)
        banner: Any = screen.query_one("#copies")
        banner.show("quiet", "Also found in embedding cache (290), MEMORY_SNAPSHOT.md (3)", "C", "shows them", "x")
        await until(pilot, lambda: banner.display)
        await asyncio.sleep(0)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=deleted)
