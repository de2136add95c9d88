"""What the dialogs of export and import look like, at both sizes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import Screen
from tui_trash_samples import NARROW, WIDE, ScreenApp, settled

from zeroclaw_tui.curation.transfer.imports import ImportPlan
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.screens.asking import AnswersScreen, PathScreen
from zeroclaw_tui.tui.screens.transfer import ExportScreen
from zeroclaw_tui.tui.screens.transfer_words import import_answers, import_title, narrowed_words, plan_body

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
HOSTILE = "[/foo] \x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u202c 全角文字 \x00 " + "x" * 5000


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press(*pressed)
        await settled(pilot)

    return press


def exporting(path: str = "/srv/zeroclaw-memories-2026-11-22.jsonl", narrowed: str = "") -> Screen[Any]:
    words = narrowed_words(["core", "older than 30 d"], narrowed, is_recall=bool(narrowed))
    return ExportScreen(248, words, Path(path), has_vectors=True)


@BOTH
@pytest.mark.parametrize(
    "pressed",
    [(), ("tab", "right", "right"), ("tab", "tab", "right"), ("ctrl+u", "x", "enter")],
    ids=["path", "format", "vectors", "no_format"],
)
def test_an_export(snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """What goes, where to, how; what the format holds below."""
    assert snap_compare(ScreenApp(exporting), terminal_size=size, run_before=keys(*pressed))


def test_a_hostile_export(snap_compare: Snap) -> None:
    """Neither the path nor what is looked for reaches the terminal."""
    path = f"/srv/{HOSTILE[:200].replace(chr(0), '')}.csv"
    assert snap_compare(ScreenApp(lambda: exporting(path, HOSTILE)), terminal_size=NARROW, run_before=keys())


def importing(plan: ImportPlan) -> Screen[Any]:
    body: Content = plan_body(plan)
    return AnswersScreen(import_title(plan), body, "Import nothing", import_answers(plan))


def plan_of(name: str, *, title: str = "a table", **parts: Any) -> ImportPlan:
    return ImportPlan(path=Path("/srv") / name, format="csv", title=title, **parts)


@BOTH
@pytest.mark.parametrize(
    "plan",
    [
        plan_of("out.jsonl", new=1204, same=12, taken=0),
        plan_of("out.csv", new=1204, same=12, taken=41, samples=("food", "tz"), losses=("The vectors do not fit.",)),
        plan_of("out.csv", new=0, same=12, taken=0),
        plan_of(HOSTILE.replace("/", "-"), new=3, same=0, taken=9, samples=(HOSTILE,) * 5, notes=(HOSTILE,) * 3),
        plan_of(
            "export.json",
            new=2,
            same=0,
            taken=0,
            title="mem0",
            why="its results have a memory each",
            previews=(
                MemoryEntry("1", "mem0_9a1b00000000", "Mila keeps bees", "hobbies", "2026-02-01T10:00:00+00:00"),
                MemoryEntry("2", "mem0_9a1b00000001", HOSTILE, HOSTILE[:40], "2026-02-02T10:00:00+00:00"),
            ),
            notes=("ZeroClaw has no place for metadata (2).",),
        ),
    ],
    ids=["new", "taken", "nothing", "hostile", "foreign"],
)
def test_an_import(snap_compare: Snap, size: tuple[int, int], plan: ImportPlan) -> None:
    """What is new, here already and taken; leaving it first."""
    assert snap_compare(ScreenApp(lambda: importing(plan)), terminal_size=size, run_before=keys())


def test_which_file(snap_compare: Snap) -> None:
    """A line to type a path on."""
    app = ScreenApp(lambda: PathScreen("Import which file?", "A JSONL or CSV export of this program, or Markdown."))
    assert snap_compare(app, terminal_size=NARROW, run_before=keys())
