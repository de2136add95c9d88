"""`*` marks by a filter, at once, and `d` behind it takes exactly what that means."""

from __future__ import annotations

from support.screens import WIDE, line, screen_text, screen_words
from support.settling import burst, press, running, settled, until
from tui_samples import Inspector, browser, entries_in


async def test_star_marks_before_anything_is_read_and_d_right_behind_it_means_all(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        burst(app, "*d")
        await until(pilot, lambda: "Delete 245 memories?" in screen_text(app))
        assert "3 superseded memories stay" in screen_words(app)
        await press(pilot, "=245", "enter")
        assert browser(app).rows.row_count == 0
        assert len(entries_in(inspector.store)) == 3
        await press(pilot, "u")
        assert browser(app).rows.row_count == 245


async def test_another_filter_unmarks_all_of_the_filter_before(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        browser(app).panes.toggle("category", "core")
        await settled(pilot)
        await press(pilot, "asterisk")
        assert "● 4 marked" in screen_text(app)
        browser(app).panes.toggle("category", "core")
        await settled(pilot)
        assert "marked" not in screen_text(app)


async def test_space_takes_one_row_out_of_all(inspector: Inspector) -> None:
    """A full stop before shows one session, and all again, with the cursor where it was."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "G", "full_stop")
        assert "✕" in line(app, 2)
        place = browser(app).rows.selected_entry
        await press(pilot, "full_stop")
        assert "✕" not in line(app, 2)
        assert browser(app).rows.row_count == 245
        assert browser(app).rows.selected_entry == place
        await press(pilot, "g", "asterisk", "space")
        assert "● 244 memories marked" in screen_text(app) or "● 244 marked" in screen_text(app)
        await press(pilot, "d")
        assert "Delete 244 memories?" in screen_text(app)
        await press(pilot, "=244", "enter")
        assert browser(app).rows.row_count == 1
        assert "recipe" in {entry.key for entry in entries_in(inspector.store)}
        assert "● " not in screen_text(app).splitlines()[-6]
