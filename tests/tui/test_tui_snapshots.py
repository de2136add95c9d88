"""What every state looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import NARROW, Inspector, SampleMemory, hostile_memories, settled

from zeroclaw_tui.config.settings import save_theme
from zeroclaw_tui.memory.errors import Locked, NoInstall
from zeroclaw_tui.tui.widgets.search_bar import SearchBar

Snap = Callable[..., bool]
MIDDLE = (120, 30)
BOTH = pytest.mark.parametrize("size", [NARROW, MIDDLE], ids=["80x24", "120x30"])


@pytest.fixture
def inspector() -> Inspector:
    """In a folder whose name is always the same, since some screens show it."""
    return Inspector(Path("/srv/zeroclaw"))


def keys(*pressed: str, query: str | None = None) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Wait for the store, press keys one after the other, and type a query into the bar."""

    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press(*pressed)
        await settled(pilot)
        if query is not None:
            pilot.app.screen.query_one(SearchBar).input.value = query
            await settled(pilot)

    return press


@BOTH
def test_browsing(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Newest first, the cursor on the first row; facets where there is room; one line at most between panes."""
    assert snap_compare(inspector.app(), terminal_size=size, run_before=keys())


@BOTH
def test_recall(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Ranked, with bars where there is room; entries under the threshold are dim and say why; the formula below."""
    before = keys("slash", query="what would she like to eat?")
    assert snap_compare(inspector.app(), terminal_size=size, run_before=before)


@pytest.mark.parametrize("pressed", ["F", "p", "question_mark"], ids=["filters", "profiles", "keys"])
def test_panels(inspector: Inspector, snap_compare: Snap, pressed: str) -> None:
    """A panel over a dimmed list, no box, its keys at the bottom."""
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys(pressed))


def test_palette(inspector: Inspector, snap_compare: Snap) -> None:
    """Every command by its sentence, with its key."""
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys("colon"))


def test_a_failure_while_browsing(inspector: Inspector, snap_compare: Snap) -> None:
    """The rows stay; a banner says what is wrong and which key tries again."""

    async def fail(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        assert isinstance(inspector.store, SampleMemory)
        inspector.store.failure = Locked("Another program holds the database.", hint="It may be migrating.")
        await pilot.press("r")
        await settled(pilot)

    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=fail)


def test_an_empty_store(snap_compare: Snap) -> None:
    """Says what will fill it."""
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory())
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys())


def test_no_install(inspector: Inspector, snap_compare: Snap) -> None:
    """Title, one sentence, what to do; the demo and a path are a key away."""
    inspector.failure = NoInstall(
        "There is no ZeroClaw install in ~/.zeroclaw, and none of its variables is set.",
        hint="Give the path of a config dir, a workspace or a brain.db, or look around with --demo.",
    )
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys())


@pytest.mark.parametrize("row", [0, 3])
def test_hostile_memories(snap_compare: Snap, row: int) -> None:
    """Every column stays in its place; control characters and direction marks are visible; nothing is styled."""
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory(hostile_memories()))
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys(*["j"] * row))


def test_markdown(inspector: Inspector, snap_compare: Snap) -> None:
    """The content of the recipe laid out."""
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys("m"))


def test_light_theme(snap_compare: Snap, tmp_path: Path) -> None:
    """The same calm in daylight."""
    inspector = Inspector(tmp_path)
    save_theme(inspector.configs[0].install, "zeroclaw-light")
    before = keys("slash", query="what would she like to eat?")
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=before)


def test_no_colour(inspector: Inspector, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colour the cursor, the bars and what is dim can still be told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    before = keys("slash", query="what would she like to eat?")
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=before)
