"""What every room has over it, and what is there without an install."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from support.settling import running, settled
from textual.widgets import Static
from tui_samples import Inspector, keys

from zeroclaw_tui.memory.errors import NoInstall
from zeroclaw_tui.tui.widgets.growing_text import GrowingText

Snap = Callable[..., bool]
MIDDLE = (120, 30)


@pytest.fixture
def inspector() -> Inspector:
    """In a folder whose name is always the same, since some screens show it."""
    return Inspector(Path("/srv/zeroclaw"))


@pytest.mark.parametrize("pressed", ["F", "question_mark"], ids=["filters", "keys"])
def test_panels(inspector: Inspector, snap_compare: Snap, pressed: str) -> None:
    """A panel over a dimmed list, no box, its keys at the bottom."""
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys(pressed))


def test_palette(inspector: Inspector, snap_compare: Snap) -> None:
    """Every command by its sentence, with its key."""
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys("colon"))


async def test_a_text_that_is_changed_again_before_it_is_idle_gets_the_height_it_needs(inspector: Inspector) -> None:
    """The first change was laid out by then, with one next to it."""
    async with running(inspector.app()) as (app, pilot):
        text, beside = GrowingText(), Static()
        await app.screen.mount_all([text, beside])
        await settled(pilot)
        was_laid_out = asyncio.Event()

        async def change_twice() -> None:
            text.update("one line")
            beside.update("two\nlines")
            app.screen.screen_layout_refresh_signal.subscribe(app.screen, lambda _: was_laid_out.set())
            await was_laid_out.wait()
            text.update("now\nthree\nlines")

        text.call_later(change_twice)
        await settled(pilot)
        assert text.size.height == 3


def test_no_install(inspector: Inspector, snap_compare: Snap) -> None:
    """Title, one sentence, what to do; the demo and a path are a key away."""
    inspector.failure = NoInstall(
        "There is no ZeroClaw install in ~/.zeroclaw, and none of its variables is set.",
        hint="Give the path of a config dir, a workspace or a brain.db, or look around with --demo.",
    )
    assert snap_compare(inspector.app(), terminal_size=MIDDLE, run_before=keys())
