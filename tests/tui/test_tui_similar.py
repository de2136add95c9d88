"""ctrl+f leads to what is near a text: by vectors or by rare words, and it says which."""

from __future__ import annotations

from tui_samples import WIDE, Inspector, browser, settled

from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Mode


def shown_keys(app: InspectorApp) -> list[str]:
    recalled = browser(app).panes.recalled
    assert recalled is not None
    return [result.entry.key for result in recalled.results]


async def test_a_text_typed_in_the_mode_similar_is_compared(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        while browser(app).view.mode is not Mode.SIMILAR:
            await pilot.press("ctrl+f")
        await pilot.press(*"chopsticks or a wok", "enter")
        await settled(pilot)
        assert shown_keys(app)[0] == "cutlery"
        await pilot.press("slash", *" x")
        await settled(pilot)
        assert browser(app).view.similar_to is None
