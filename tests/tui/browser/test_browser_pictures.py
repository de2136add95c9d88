"""What the browser looks like: at 120 columns, where the layout breaks, and when something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.settling import press, settled
from textual.pilot import Pilot
from tui_samples import Inspector, SampleMemory, browser, hostile_memories, keys

from zeroclaw_tui.config.settings import save_theme
from zeroclaw_tui.memory.errors import Locked

Snap = Callable[..., bool]
USUAL, SMALL = (120, 30), (80, 24)
QUESTION = "what would she like to eat?"


@pytest.fixture
def inspector() -> Inspector:
    """In a folder whose name is always the same, since some screens show it."""
    return Inspector(Path("/srv/zeroclaw"))


@pytest.mark.parametrize("size", [USUAL, SMALL], ids=["120x30", "80x24"])
def test_browsing(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Last stored first; facets where there is room; one line at most between panes."""
    assert snap_compare(inspector.app(), terminal_size=size, run_before=keys())


@pytest.mark.parametrize("size", [(160, 40), USUAL, SMALL], ids=["160x40", "120x30", "80x24"])
def test_recall(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Ranked, on two lines, the words of the message lit; what is under the threshold is quiet and says why."""
    assert snap_compare(inspector.app(), terminal_size=size, run_before=keys("slash", query=QUESTION))


def test_contains_with_chips_and_marks(inspector: Inspector, snap_compare: Snap) -> None:
    """What was found is lit, chips have their cross, marks their sign and their count."""

    async def narrow(pilot: Pilot[Any]) -> None:
        await keys("slash", "tab", query="to eat")(pilot)
        browser(pilot.app).panes.toggle("category", "core")  # type: ignore[arg-type]
        await settled(pilot)
        await press(pilot, "enter", "asterisk", "j", "space", "k")

    assert snap_compare(inspector.app(), terminal_size=SMALL, run_before=narrow)


def test_a_recall_of_nothing_without_embeddings(snap_compare: Snap) -> None:
    """Says what finding would show, which key that is, and how vectors are turned on."""
    inspector = Inspector(Path("/srv/zeroclaw"), embeds=False)
    assert snap_compare(inspector.app(), terminal_size=SMALL, run_before=keys("slash", query="rame"))


def test_a_failure_while_browsing(inspector: Inspector, snap_compare: Snap) -> None:
    """The rows stay; a banner says what is wrong and which key tries again."""

    async def fail(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        assert isinstance(inspector.store, SampleMemory)
        inspector.store.failure = Locked("Another program holds the database.", hint="It may be migrating.")
        await press(pilot, "r")

    assert snap_compare(inspector.app(), terminal_size=SMALL, run_before=fail)


def test_an_empty_store(snap_compare: Snap) -> None:
    """Says what will fill it."""
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory())
    assert snap_compare(inspector.app(), terminal_size=SMALL, run_before=keys())


def test_hostile_memories(snap_compare: Snap) -> None:
    """Every column stays in its place; control characters and direction marks are visible; nothing is styled."""
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory(hostile_memories()))
    assert snap_compare(inspector.app(), terminal_size=USUAL, run_before=keys(*["j"] * 8))


def test_light_theme(snap_compare: Snap, tmp_path: Path) -> None:
    """The same calm in daylight."""
    inspector = Inspector(tmp_path)
    save_theme(inspector.configs[0].install, "zeroclaw-light")
    assert snap_compare(inspector.app(), terminal_size=SMALL, run_before=keys("slash", query=QUESTION))


def test_no_colour(inspector: Inspector, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colour the cursor, the bars and what is quiet can still be distinguished."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(inspector.app(), terminal_size=SMALL, run_before=keys("slash", query=QUESTION))
