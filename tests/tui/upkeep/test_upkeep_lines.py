"""The lines for a shell say what is under the cursor, and which store it is."""

from __future__ import annotations

from support.screens import WIDE
from support.settling import press, running
from upkeep_samples import RoomApp, Workspace, clean_up_app


async def shell_line(app: RoomApp, typed: str, *keys: str) -> str:
    """What the help copies for the key that is looked for."""
    async with running(app, WIDE) as (_, pilot):
        await press(pilot, *keys, "question_mark", f"={typed}", "enter")
        return app.clipboard


async def test_a_kind_of_pollution(workspace: Workspace) -> None:
    rows = [{"key": f"note_{at}", "content": f"ok {at}"} for at in range(3)]
    line = await shell_line(clean_up_app(workspace.root / "polluted", rows), "delete marked")
    assert line.startswith("zeroclaw memory audit --purge --only too-short --")


async def test_a_finding_of_the_doctor(workspace: Workspace) -> None:
    """Also one that nothing is done about."""
    line = await shell_line(workspace.app("health"), "do it")
    assert line.startswith("zeroclaw memory doctor --repair FINDING --config-dir ")
