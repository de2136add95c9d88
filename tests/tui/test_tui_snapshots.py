"""What every state looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import NARROW, WIDE, Inspector, sample_config, settled

from zeroclaw_tui.memory.errors import BrokenConfig, Corrupt, InspectorError, Locked, NoInstall, Unreadable
from zeroclaw_tui.tui.widgets.search_bar import SearchBar

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])


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


@pytest.mark.parametrize("pressed", ["F", "o", "p", "question_mark"], ids=["filters", "orders", "profiles", "keys"])
def test_panels(inspector: Inspector, snap_compare: Snap, pressed: str) -> None:
    """A panel over a dimmed list, no box, its keys at the bottom."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys(pressed))


def test_palette(inspector: Inspector, snap_compare: Snap) -> None:
    """Every command by its sentence, with its key."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("colon"))


def test_choosing_an_install(snap_compare: Snap) -> None:
    """Both places with the rule that found them."""
    inspector = Inspector(Path("/srv/zeroclaw"))
    inspector.configs = (sample_config(Path("/srv/one")), sample_config(Path("/srv/two")))
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("i"))


def test_notices(snap_compare: Snap) -> None:
    """A count in the header, the sentences on a panel."""
    inspector = Inspector(Path("/srv/zeroclaw"), embeds=False)
    inspector.store.notices = ("The folder is read-only: this is a picture of one moment, it does not follow.",)

    async def open_notices(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.app.screen.run_action("show_notices")
        await settled(pilot)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=open_notices)


FAILURES: list[InspectorError] = [
    NoInstall(
        "There is no ZeroClaw install in ~/.zeroclaw, and none of its variables is set.",
        hint="Give the path of a config dir, a workspace or a brain.db, or look around with --demo.",
    ),
    Unreadable("/srv/brain.db belongs to another user and cannot be read.", hint="Open it as its owner."),
    Corrupt("/srv/brain.db is damaged.", hint="Stop ZeroClaw, copy the file, and recover the copy."),
    Locked("Another program holds /srv/brain.db.", hint="Wait until it is done, then try again."),
    BrokenConfig("/srv/config.toml cannot be read as TOML: line 3, column 7.", hint="Mend that line, then try again."),
]


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_what_cannot_be_opened(inspector: Inspector, snap_compare: Snap, error: InspectorError) -> None:
    """Title, one sentence, what to do, two keys."""
    inspector.failure = error
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys())
