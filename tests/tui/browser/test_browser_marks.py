"""`*` marks by a filter, at once, and `d` behind it takes exactly what that means."""

from __future__ import annotations

from support.settling import settled
from tui_samples import Inspector, browser, screen_text, screen_words, until

WIDE = (140, 40)


async def stored(inspector: Inspector) -> set[str]:
    return {entry.key for entry in inspector.store._by_key.values()}


async def test_star_marks_before_anything_is_read_and_d_right_behind_it_means_all(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("asterisk", "d")
        await until(pilot, lambda: "Delete 245 memories?" in screen_text(app))
        assert "3 superseded memories stay" in screen_words(app)
        await pilot.press(*"245", "enter")
        await until(pilot, lambda: not browser(app).rows.row_count)
        assert len(inspector.store._by_key) == 3
        await settled(pilot)
        await pilot.press("u")
        await until(pilot, lambda: browser(app).rows.row_count == 245)


async def test_space_takes_one_row_out_of_all(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("asterisk", "space")
        await settled(pilot)
        assert "● 244 memories marked" in screen_text(app) or "● 244 marked" in screen_text(app)
        await pilot.press("d")
        await until(pilot, lambda: "Delete 244 memories?" in screen_text(app))
        await pilot.press(*"244", "enter")
        await until(pilot, lambda: browser(app).rows.row_count == 1)
        assert "recipe" in await stored(inspector)
        assert "● " not in screen_text(app).splitlines()[-6]


async def test_all_of_a_filter_stays_marked_wherever_the_list_goes(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        browser(app).panes.toggle("category", "core")
        await settled(pilot)
        await pilot.press("asterisk")
        browser(app).panes.toggle("category", "core")
        await settled(pilot)
        assert "● 4 marked" in screen_text(app)
        await pilot.press("d")
        await until(pilot, lambda: "core 4" in screen_words(app))


async def test_the_session_of_a_row_is_deleted_in_six_keys(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        before = len(inspector.store._by_key)
        while (entry := browser(app).rows.selected_entry) is None or entry.session_id != "discord_77":
            await pilot.press("j")
            await settled(pilot)
        await pilot.press("full_stop")
        await until(pilot, lambda: browser(app).rows.row_count == 82)
        await pilot.press("asterisk", "d")
        await until(pilot, lambda: "Delete 82 memories?" in screen_text(app))
        await pilot.press(*"82", "enter")
        await until(pilot, lambda: not browser(app).rows.row_count)
        assert len(inspector.store._by_key) == before - 82


async def test_the_full_stop_shows_one_session_and_all_again(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("G")
        await settled(pilot)
        await pilot.press("full_stop")
        await settled(pilot)
        assert "✕" in screen_text(app).splitlines()[1]
        place = browser(app).rows.selected_entry
        await pilot.press("full_stop")
        await settled(pilot)
        assert "✕" not in screen_text(app).splitlines()[1]
        assert browser(app).rows.row_count == 245
        assert browser(app).rows.selected_entry == place
