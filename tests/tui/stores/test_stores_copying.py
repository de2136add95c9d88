"""A copy from the open store to another one of the same config."""

from __future__ import annotations

from pathlib import Path

from support.screens import WIDE, said, screen_text, screen_words
from support.settling import settled, until
from support.two_stores import install_of_two_stores
from tui_samples import NOW, STILL, browser

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp


async def test_c_copies_the_shown_store_into_the_one_under_the_cursor(tmp_path: Path) -> None:
    """With a plan that says what gets lost, and an outcome that was verified; the source keeps every byte."""
    folder = install_of_two_stores(tmp_path)
    source = folder / "workspace" / "memory" / "brain.db"
    before = source.read_bytes()
    app = InspectorApp(OpenOptions(path=folder), clock=lambda: NOW, pace=STILL)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(pilot, lambda: "2 memories" in screen_text(app))
        await settled(pilot)
        await pilot.press("6")
        await until(pilot, lambda: "3 answer" in screen_text(app))
        await pilot.press("C")
        await until(pilot, lambda: "This is the open store" in said(app))
        await pilot.press("j", "C")
        await until(pilot, lambda: "Copy 2 memories to" in screen_text(app))
        assert "2 new" in screen_words(app)
        await pilot.press("y")
        await until(pilot, lambda: "Copied 2 memories to" in said(app))
        assert "Verified 2 by comparing" in said(app)
        await until(pilot, lambda: "✓ answers 5" in screen_words(app))
        await pilot.press("enter")
        await until(pilot, lambda: "5 memories" in screen_text(app))
        assert browser(app).library is not None
    assert source.read_bytes() == before
    assert "ramen it is" in "".join(path.read_text() for path in (folder / "workspace").rglob("*.md"))
