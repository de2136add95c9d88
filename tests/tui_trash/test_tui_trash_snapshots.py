"""What trash, history and copies look like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_trash_samples import (
    NARROW,
    OTHER_STORE,
    WIDE,
    Sample,
    ScreenApp,
    hostile_rows,
    row,
    row_id,
    settled,
)

from zeroclaw_tui.curation.copies.copies import Copy
from zeroclaw_tui.curation.trash import file as trash_file
from zeroclaw_tui.memory.change import RowChange
from zeroclaw_tui.tui.screens.copies import CopiesScreen
from zeroclaw_tui.tui.screens.history import HistoryScreen
from zeroclaw_tui.tui.screens.trash import TrashScreen

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])

COPIES = (
    Copy("embedding cache", "brain.db", 290, True, "Vectors of these texts; the text itself is not in there."),
    Copy("snapshot", "/srv/zeroclaw/workspace/MEMORY_SNAPSHOT.md", 3, True, "ZeroClaw reads it when brain.db is lost."),
    Copy(
        "archive", "/srv/zeroclaw/memory/archive/[/foo]\x1b[31m.md", 1, True, "[bold]Hygiene[/] deletes it in\x07 time."
    ),
    Copy("write-ahead log", "brain.db-wal", None, False, "The agent holds it open; SQLite overwrites this in time."),
    Copy("backup", f"/srv/{'long/' * 30}brain.db.bak", 12, False, "Backups stay as they are. " * 5),
)


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """Its trash has one size, whatever the version of SQLite makes of it."""
    monkeypatch.setattr(trash_file, "size_on_disk", lambda file: 1_400_000 if file.exists() else 0)
    return Sample(tmp_path)


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(*(key[1:] if key.startswith("=") else [key]))
            await settled(pilot)

    return press


def trash_app(sample: Sample, before: Callable[[], Any] | None = None) -> ScreenApp:
    return ScreenApp(lambda: TrashScreen(sample.library, sample.clock, debounce=0), before)


@BOTH
@pytest.mark.parametrize(
    "pressed",
    [
        (),
        ("slash", "=eat"),
        ("space", "j", "space", "k"),
        ("x",),
        ("asterisk", "x", "j", "enter"),
        ("a", "j"),
        ("question_mark",),
    ],
    ids=["full", "search", "marked", "let_go", "typed", "every_store", "keys"],
)
def test_the_trash(sample: Sample, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Rows in columns, the whole memory beside or below, dialogs over a dimmed list."""

    async def fill() -> None:
        await sample.fill()
        await sample.deleted([row(900, "other", "elsewhere")], timedelta(hours=1), store=OTHER_STORE)

    assert snap_compare(trash_app(sample, fill), terminal_size=size, run_before=keys(*pressed))


def test_an_empty_trash(sample: Sample, snap_compare: Snap) -> None:
    """Says what would fill it."""
    assert snap_compare(trash_app(sample), terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize("at", range(len(hostile_rows())))
def test_hostile_memories(sample: Sample, snap_compare: Snap, at: int) -> None:
    """Every column stays in its place; nothing is styled, nothing reaches the terminal."""

    async def fill() -> None:
        await sample.deleted(hostile_rows(), timedelta(days=1), "purge")

    assert snap_compare(trash_app(sample, fill), terminal_size=NARROW, run_before=keys(*["j"] * at))


def test_a_store_that_is_only_read(sample: Sample, snap_compare: Snap) -> None:
    """What writes is dimmed, and a line says why."""
    sample.memory.read_only_because = "It was opened with --read-only."
    assert snap_compare(trash_app(sample, sample.fill), terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize("pressed", [("r",), ("asterisk", "r", "j")], ids=["one", "many"])
def test_a_clash(sample: Sample, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """Both memories one under the other, leaving it first."""

    async def fill() -> None:
        await sample.deleted(hostile_rows(), timedelta(days=1), "purge")
        await sample.deleted([row(1, "fav_food", "Likes ramen and rust coloured plates.")], timedelta(hours=2))
        for key in ("fav_food", "[/markup]", "bidi", "宽字符"):
            await sample.memory.store(key, f"Now [bold]something[/] else \x1b[31m: {key}", "core")

    assert snap_compare(trash_app(sample, fill), terminal_size=NARROW, run_before=keys(*pressed))


def ramen(*lines: str, **more: Any) -> Any:
    return row(1, more.pop("key", "recipe"), "\n".join(lines), more.pop("category", "notes"), **more)


@pytest.mark.parametrize("steps", range(3), ids=["deleted", "fields", "content"])
def test_the_history(sample: Sample, snap_compare: Snap, steps: int) -> None:
    """Steps on one side, the difference of one on the other: + and - in two colours, fields from what to what."""
    rest = ["", "Serve hot.", "", *(f"Note {number}." for number in range(9))]
    first = ramen("# Ramen", "", "- broth", "- noodles", "- an egg", *rest, embedding=bytes(1024))
    soft = "she likes them soft, " * 8
    second = ramen(
        "# Ramen", "", "- broth of **miso** [/foo] \x1b[31m\u202e", "- noodles", f"- 全角 eggs: {soft}", *rest[:-1],
        category="daily",
    )  # fmt: skip
    third = row(1, "ramen", str(second.values["content"]), "[/x]\x07", importance=0.5, embedding=bytes(4096))

    async def fill() -> None:
        await sample.kept("edit", [RowChange(first, second)], timedelta(days=4))
        await sample.kept("edit", [RowChange(second, third)], timedelta(days=2))
        await sample.deleted([third], timedelta(hours=3))

    app = ScreenApp(lambda: HistoryScreen(sample.library, row_id(1), "ramen", sample.clock), fill)
    assert snap_compare(app, terminal_size=NARROW, run_before=keys(*["j"] * steps))


def test_no_history(sample: Sample, snap_compare: Snap) -> None:
    """Says that nothing was changed here."""
    app = ScreenApp(lambda: HistoryScreen(sample.library, row_id(1), "[/foo]\x1b", sample.clock))
    assert snap_compare(app, terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize("pressed", [(), ("asterisk", "enter"), ("G", "end", "space")], ids=["first", "asked", "fixed"])
def test_copies(sample: Sample, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """Each place on two lines, what cannot be cleaned dimmed with its reason."""
    app = ScreenApp(lambda: CopiesScreen(sample.library, COPIES))
    assert snap_compare(app, terminal_size=NARROW, run_before=keys(*pressed))


def test_no_colour(sample: Sample, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colour the cursor and the marks can still be told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    before = keys("space", "j", "space", "k")
    assert snap_compare(trash_app(sample, sample.fill), terminal_size=NARROW, run_before=before)
