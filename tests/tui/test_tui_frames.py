"""What is on the screen in the end does not depend on what was painted in between, and when."""

from __future__ import annotations

import pytest
from support.screens import screen_text
from support.settling import press, running, uneven
from tui_samples import Inspector

SEARCHED = ("slash", "=eat", "enter")


async def _screen(inspector: Inspector, pressed: tuple[str, ...]) -> str:
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, *pressed)
        return screen_text(app)


@pytest.mark.parametrize(
    "pressed",
    [
        (),
        ("enter",),
        (":health",),
        ("4",),
        (*SEARCHED, "x"),
        (*SEARCHED, "w"),
    ],
    ids="-".join,
)
async def test_a_machine_under_load_ends_with_the_same_screen(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch, pressed: tuple[str, ...]
) -> None:
    calm = await _screen(inspector, pressed)
    for seed in range(4):
        with monkeypatch.context() as loaded:
            uneven(loaded, seed)
            assert await _screen(inspector, pressed) == calm
