"""Hygiene: what is due, a run of it, and what it does to the directory and the store."""

from __future__ import annotations

from support.screens import WIDE
from support.settling import press, running
from upkeep_samples import Workspace, go_to


async def test_a_run_is_shown_by_rules_carried_out_undone_and_redone(workspace: Workspace) -> None:
    """Files, rows and the state file. The first answer cancels."""
    files, keys = workspace.files(), workspace.keys()
    async with running(workspace.app(), WIDE) as (app, pilot):
        assert "Hygiene is on, every 12 h · last run 2026-11-20 01:04" in app.words
        assert "next when the agent starts after 13:04" in app.words
        assert "6 items due" in app.words
        await press(pilot, "enter")
        for fact in ("Run hygiene now?", "3 files archived", "1 file deleted", "2 rows to the trash"):
            assert fact in app.words
        await press(pilot, "enter")
        assert (workspace.files(), workspace.keys()) == (files, keys)
        await press(pilot, "enter", "y")
        after = workspace.files()
        assert after["memory/archive/2026-11-02.md"] == files["memory/2026-11-02.md"]
        assert "memory/2026-11-02.md" not in after
        assert "memory/archive/2026-10-01.md" not in after
        assert after["memory/2026-11-15.md"] == files["memory/2026-11-15.md"]
        assert workspace.keys() == ["user_msg_3"]
        assert "u restores all of it" in app.message
        assert "Nothing to archive or delete now." in app.words
        await press(pilot, "u")
        note = "state/memory_hygiene_state.json"
        assert (workspace.files(), workspace.keys()) == ({**files, note: after[note]}, keys)
        assert "6 items due" in app.words
        await press(pilot, "U", "escape")
        assert (workspace.files(), workspace.keys()) == (after, ["user_msg_3"])
        assert app.given == [True]


async def test_what_is_excluded_stays(workspace: Workspace) -> None:
    """With everything excluded nothing runs."""
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "space")
        assert "5 items due" in app.words
        await go_to(pilot, app, "user_msg_1")
        await press(pilot, "space")
        assert "4 items due" in app.words
        assert "2 excluded" in app.words
        await press(pilot, "enter", "y")
        assert "memory/2026-11-02.md" in workspace.files()
        assert "memory/2026-11-09.md" not in workspace.files()
        assert workspace.keys()[0] == "user_msg_1"
        await press(pilot, "enter")
        assert "Everything is excluded" in app.message
        await press(pilot, "asterisk")
        assert "2 items due" in app.words


async def test_another_day_is_previewed_and_only_a_past_one_can_be_run(workspace: Workspace) -> None:
    files = workspace.files()
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "right", "right", "right")
        for shown in ("2026-11-23", "preview", "memory/2026-11-15.md", "user_msg_3"):
            assert shown in app.words
        await press(pilot, "enter")
        assert "This is a preview" in app.message
        assert workspace.files() == files
        await press(pilot, "left", "left", "left")
        assert "user_msg_3" not in app.words
        await press(pilot, *["left"] * 8, "enter", "y")
        assert "memory/2026-11-02.md" not in workspace.files()
        assert "memory/2026-11-09.md" in workspace.files()


async def test_what_vanishes_between_plan_and_run_is_reported(workspace: Workspace) -> None:
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "enter")
        (workspace.root / "memory" / "2026-11-09.md").unlink()
        await press(pilot, "y")
        assert "5 of 6 done" in app.message
        assert "memory/2026-11-09.md no longer exists" in app.message
        assert workspace.keys() == ["user_msg_3"]
