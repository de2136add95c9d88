"""What each store looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from stores_samples import GONE, NO_SESSION, NO_VECTORS, Away, Fusing, Known, Lucid, TraitOnly, none, notes, sqlite
from textual.pilot import Pilot
from tui_samples import NARROW, WIDE, Inspector, sample_memories, settled

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.switching import NOT_THERE_YET, Standing

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
PLACE = Path("/srv/zeroclaw")
_TO_HYBRID = 5
ALL = ("keyword", "vectors", "sessions", "superseded", "pinned", "importance", "write")


def keys(*pressed: str, typed: str = "") -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in (*pressed, *typed):
            await pilot.press(key)
            await settled(pilot)

    return press


def stores() -> dict[str, Memory]:
    return {"sqlite": sqlite(), "markdown": notes(), "none": none()}


def test_every_store_is_being_asked(snap_compare: Snap) -> None:
    """Their names and places stand at once; each line says that it is being asked."""
    known = Known(PLACE, stores())
    known.answers = dict.fromkeys(known.memories)

    async def before(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("b")
        while len(known.asked) < 3:
            await pilot.pause()
        await pilot.pause()

    assert snap_compare(known.app(), terminal_size=NARROW, run_before=before)


@BOTH
def test_every_store_has_answered(snap_compare: Snap, size: tuple[int, int]) -> None:
    """Counts right-aligned; below, where the chosen one is, what it can, and what not and why."""
    known = Known(PLACE, stores())
    known.answers = {
        "sqlite": Standing(True, "answers", 12431, ALL, (("agents", "This database has no column for agents."),)),
        "markdown": Standing(
            True,
            "answers",
            4,
            ("keyword", "write"),
            (("vectors", NO_VECTORS), ("sessions", NO_SESSION), ("agents", "These notes are one agent's.")),
        ),
        "none": Standing(True, "keeps nothing", 0, (), (("keyword", "Nothing is stored."),)),
    }
    assert snap_compare(known.app(), terminal_size=size, run_before=keys("b", "j"))


def test_some_stores_fail_and_one_may_be_another_programs(snap_compare: Snap) -> None:
    known = Known(PLACE, {**stores(), "postgres": sqlite(), "postgres.work": sqlite(), "qdrant": sqlite()})
    known.foreign = frozenset({"postgres"})
    known.answers = {
        "postgres": Standing(True, "answers", 1_204, ("keyword", "sessions"), (("write", "It is read-only."),)),
        "postgres.work": Standing(False, "No server listens at db:5432."),
        "qdrant": Standing(False, NOT_THERE_YET),
    }
    assert snap_compare(known.app(), terminal_size=NARROW, run_before=keys("b", "j", "j", "j"))


def test_more_stores_than_lines(snap_compare: Snap) -> None:
    many = {f"postgres.team_{number:02}": sqlite() for number in range(40)}
    known = Known(PLACE, {"sqlite": sqlite(), **many})
    assert snap_compare(known.app(), terminal_size=NARROW, run_before=keys("b", "G"))


@pytest.mark.parametrize("name", ["markdown", "postgres", "plain", "none"])
def test_each_store_and_what_is_dimmed_there(snap_compare: Snap, name: str) -> None:
    made = {"markdown": notes, "postgres": Fusing, "plain": TraitOnly, "none": none}[name]()
    assert snap_compare(Known(PLACE, {name: made}).app(), terminal_size=NARROW, run_before=keys())


def test_what_markdown_cannot_is_told_in_the_filters(snap_compare: Snap) -> None:
    assert snap_compare(Known(PLACE, {"markdown": notes()}).app(), terminal_size=NARROW, run_before=keys("F"))


@BOTH
def test_blocks(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Known(PLACE, {"markdown": notes()}).app(), terminal_size=size, run_before=keys("B"))


def test_words_found_are_no_bars(snap_compare: Snap) -> None:
    """Another scale is named under the list, and no bar is drawn for it."""
    known = Known(PLACE, {"markdown": notes()}, embeds=False)
    assert snap_compare(known.app(), terminal_size=NARROW, run_before=keys("slash", typed="ramen"))


def test_rows_of_lucid(snap_compare: Snap) -> None:
    """Marked in a column of their own; the header says that the program rests."""
    store = Lucid(sqlite()._by_key.values())
    store.resting = "lucid rests for 12 s"
    known = Known(PLACE, {"lucid": store})
    assert snap_compare(known.app(), terminal_size=NARROW, run_before=keys("slash", "e", "a", "t", "enter", "G"))


def test_the_stores_own_fusion(snap_compare: Snap) -> None:
    known = Known(PLACE, {"postgres": Fusing(sqlite()._by_key.values())})
    before = keys("slash", "e", "a", "t", *["ctrl+f"] * _TO_HYBRID)
    assert snap_compare(known.app(), terminal_size=NARROW, run_before=before)


def test_a_store_that_went_away(snap_compare: Snap) -> None:
    """The rows stay; one banner says what happened and which key tries again."""
    store = Away(sample_memories())

    async def before(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        store.failure = GONE
        await pilot.press("r")
        await settled(pilot)

    assert snap_compare(Inspector(PLACE, store).app(), terminal_size=NARROW, run_before=before)
