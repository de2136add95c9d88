"""What finding looks like in each mode, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import Inspector, SampleMemory, browser, memory, sample_memories, settled

from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.search_bar import SearchBar

Snap = Callable[..., bool]
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


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (Mode.CONTAINS, "noodle"),
        (Mode.REGEX, r"noodles?\b|花生"),
    ],
    ids=["contains", "regex"],
)
def test_finding(snap_compare: Snap, inspector: Inspector, noodles: SampleMemory, mode: Mode, text: str) -> None:
    inspector.store = noodles
    assert snap_compare(inspector.app(), terminal_size=(120, 30), run_before=searching(mode, text, enter=True))
