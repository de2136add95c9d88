"""What finding looks like in each mode, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import NARROW, WIDE, Inspector, SampleMemory, browser, memory, sample_memories, settled

from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.search_bar import SearchBar

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
HOSTILE = (
    (
        "hostile_\u202eyek",
        "\x1b[31mred [bold]noodles[/bold] \u202egnp.exe\u202c \x07 Cafe\u0301 noodle\x00bar 花生酱拉面",
    ),
    ("noodle_tabs", "a\tnoodle\t\tand\tanother NOODLE\r\nand a second line of noodles"),
    ("wide", "花生" * 60 + " noodle 面条"),
    ("far_noodle", "word " * 300 + "the noodle at the very end"),
)


def searching(mode: Mode, *typed: str, enter: bool = False) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("slash")
        screen = browser(pilot.app)  # type: ignore[arg-type]
        while screen.view.mode is not mode:
            await pilot.press("ctrl+f")
        for text in typed:
            screen.query_one(SearchBar).input.value = text
            await settled(pilot)
        if enter:
            await pilot.press("enter")
            await settled(pilot)

    return press


@pytest.fixture
def noodles() -> SampleMemory:
    odd = [memory(key, text, "core", at + 0.5, 900 + at) for at, (key, text) in enumerate(HOSTILE)]
    return SampleMemory([*sample_memories(), *odd])


@BOTH
@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (Mode.CONTAINS, "noodle"),
        (Mode.WORDS, "nood LE far"),
        (Mode.REGEX, r"noodles?\b|花生"),
        (Mode.REGEX, r"\s+\w+\s"),
    ],
    ids=["contains", "words", "regex", "blanks"],
)
def test_finding(
    snap_compare: Snap, inspector: Inspector, noodles: SampleMemory, size: tuple[int, int], mode: Mode, text: str
) -> None:
    inspector.store = noodles
    assert snap_compare(inspector.app(), terminal_size=size, run_before=searching(mode, text, enter=True))


def test_a_pattern_half_typed(snap_compare: Snap, inspector: Inspector, noodles: SampleMemory) -> None:
    inspector.store = noodles
    before = searching(Mode.REGEX, "noodle", "noodle(s|")
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=before)


@pytest.mark.parametrize("mode", [Mode.WORDS, Mode.REGEX], ids=["words", "regex"])
def test_the_bar_before_anything_is_typed(snap_compare: Snap, inspector: Inspector, mode: Mode) -> None:
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=searching(mode))


def test_words_that_only_finding_finds(snap_compare: Snap, inspector: Inspector, noodles: SampleMemory) -> None:
    """The empty recall counts what holds the text and what holds its words."""
    inspector.store = noodles
    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=searching(Mode.RECALL, "oodl ery"))
