"""What all tabs share: their lines for a shell, and the way to the changes."""

from __future__ import annotations

from support.screens import WIDE
from support.settling import press, running
from upkeep_samples import Home, RoomApp, Workspace, clean_up_app

from zeroclaw_tui.tui.rooms.changes import ChangesRoom


async def shell_line(app: RoomApp, typed: str, *keys: str) -> str:
    """The shell command that is copied for a key."""
    async with running(app, WIDE) as (_, pilot):
        await press(pilot, *keys, "question_mark", f"={typed}", "ctrl+y")
        return app.clipboard


async def test_a_kind_of_pollution(workspace: Workspace) -> None:
    rows = [{"key": f"note_{at}", "content": f"ok {at}"} for at in range(3)]
    line = await shell_line(clean_up_app(workspace.root / "polluted", rows), "delete marked")
    assert line.startswith("zeroclaw memory audit --purge --only too-short --")


async def test_a_finding_of_the_doctor(workspace: Workspace) -> None:
    """Also one that nothing is done about."""
    line = await shell_line(workspace.app("health"), "repair this")
    assert line.startswith("zeroclaw memory doctor --repair FINDING --config-dir ")


async def test_the_changes_are_a_key_away_and_what_is_undone_there_shows(home: Home) -> None:
    async with running(home.app(), WIDE) as (app, pilot):
        await press(pilot, "W", "y")
        assert "have the same 7 memories" in app.words
        await press(pilot, "T")
        assert isinstance(app.screen, ChangesRoom)
        await press(pilot, "u", "escape")
        assert "2 only there" in app.words
