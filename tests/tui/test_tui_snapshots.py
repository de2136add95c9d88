"""What every state looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import NARROW, WIDE, Inspector, SampleMemory, hostile_memories, sample_config, settled

from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.config.settings import save_theme
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


@BOTH
def test_browsing(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Newest first, the cursor on the first row; facets where there is room; one line at most between panes."""
    assert snap_compare(inspector.app(), terminal_size=size, run_before=keys())


@BOTH
def test_recall(inspector: Inspector, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Ranked, with bars where there is room; entries under the threshold are dim and say why; the formula below."""
    before = keys("slash", query="what would she like to eat?")
    assert snap_compare(inspector.app(), terminal_size=size, run_before=before)


def test_recall_without_embeddings(snap_compare: Snap) -> None:
    """No vector column; the line under the list tells how embeddings are turned on."""
    inspector = Inspector(Path("/srv/zeroclaw"), embeds=False)
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("slash", query="ramen"))


def test_recall_of_nothing(inspector: Inspector, snap_compare: Snap) -> None:
    """Says what find would show and which key that is."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("slash", query="rame"))


def test_contains(inspector: Inspector, snap_compare: Snap) -> None:
    """The found text is lit up in the rows."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("slash", "ctrl+f", query="ramen"))


def test_contains_nothing(inspector: Inspector, snap_compare: Snap) -> None:
    """One sentence and two keys."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("slash", "ctrl+f", query="zebra"))


def test_filters_with_chips(inspector: Inspector, snap_compare: Snap) -> None:
    """Two chips in the second line, each with its cross; dots at the facets that hold."""
    before = keys("1", "j", "enter", "j", "enter", "escape")
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=before)


def test_filters_that_leave_nothing(inspector: Inspector, snap_compare: Snap) -> None:
    """Names the filters and the key that changes them."""

    async def narrow(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        screen = pilot.app.screen_stack[0]
        screen.look(screen.view.toggled("category", "notes").toggled("age", "today"))  # type: ignore[attr-defined]
        await settled(pilot)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=narrow)


@pytest.mark.parametrize("pressed", ["F", "o", "p", "question_mark"], ids=["filters", "orders", "profiles", "keys"])
def test_panels(inspector: Inspector, snap_compare: Snap, pressed: str) -> None:
    """A panel over a dimmed list, no box, its keys at the bottom."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys(pressed))


def test_palette(inspector: Inspector, snap_compare: Snap) -> None:
    """Every command by its sentence, with its key."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("colon"))


def test_two_installs(snap_compare: Snap) -> None:
    """A quiet line names the other one."""
    inspector = Inspector(Path("/srv/zeroclaw"))
    inspector.configs = (sample_config(Path("/srv/one")), sample_config(Path("/srv/two")))
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys())


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


def test_a_failure_while_browsing(inspector: Inspector, snap_compare: Snap) -> None:
    """The rows stay; a banner says what is wrong and which key tries again."""

    async def fail(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        assert isinstance(inspector.store, SampleMemory)
        inspector.store.failure = Locked("Another program holds the database.", hint="It may be migrating.")
        await pilot.press("r")
        await settled(pilot)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=fail)


def test_an_empty_store(snap_compare: Snap) -> None:
    """Says what will fill it."""
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory())
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys())


def test_the_backend_none(snap_compare: Snap) -> None:
    """Says why nothing is kept."""
    inspector = Inspector(Path("/srv/zeroclaw"), NoneMemory())
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys())


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


@pytest.mark.parametrize("row", range(len(hostile_memories())))
def test_hostile_memories(snap_compare: Snap, row: int) -> None:
    """Every column stays in its place; control characters and direction marks are visible; nothing is styled."""
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory(hostile_memories()))
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys(*["j"] * row))


def test_markdown(inspector: Inspector, snap_compare: Snap) -> None:
    """The content of the recipe laid out."""
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=keys("m"))


def test_light_theme(snap_compare: Snap, tmp_path: Path) -> None:
    """The same calm in daylight."""
    inspector = Inspector(tmp_path)
    save_theme(inspector.configs[0].install, "zeroclaw-light")
    before = keys("slash", query="what would she like to eat?")
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=before)


def test_no_colour(inspector: Inspector, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colour the cursor, the bars and what is dim can still be told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    before = keys("slash", query="what would she like to eat?")
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=before)
