"""What a person does with hygiene, and what it does to the folder and the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from support.screens import WIDE
from support.settling import press, running, settled, until
from upkeep_samples import HOSTILE, Workspace, chat

from zeroclaw_tui.backends.lookup import row_with_id, whole_entry
from zeroclaw_tui.curation.changes import edit_memory
from zeroclaw_tui.memory.change import Edit


async def test_it_says_when_hygiene_ran_when_it_is_due_and_what_it_takes(workspace: Workspace) -> None:
    """A rule under the cursor shows only its own; those that take nothing are one line."""
    async with running(workspace.app(), WIDE) as (app, pilot):
        assert "Hygiene is on, every 12 h · last run 2026-11-20 01:04" in app.words
        assert "next when the agent starts after 13:04" in app.words
        assert "6 items due" in app.words
        assert "– 2 other rules with nothing to do: archived session files older than 30 days" in app.words
        await press(pilot, "tab")
        assert "last report 2 files archived, 1 file" in app.words
        await press(pilot, "j", "j", "j")
        listed = "\n".join(line[:90] for line in app.lines[12:])
        assert "memory/archive/2026-10-01.md" in listed
        assert "memory/2026-11-02.md" not in listed
        await press(pilot, "G")
        assert any(line.startswith("▌conversation rows older than 30 days are deleted") for line in app.lines)
        await press(pilot, "escape")
        assert "memory/2026-11-02.md" in app.words
        await press(pilot, "question_mark")
        assert f"zeroclaw memory hygiene --config-dir {workspace.config_dir}" in app.words


async def test_a_run_moves_and_deletes_undo_brings_all_of_it_back_and_capital_u_does_it_again(
    workspace: Workspace,
) -> None:
    """Files, rows and the state file; after each step the list shows what is true. The first answer keeps all."""
    files, keys = workspace.files(), workspace.keys()
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "enter")
        assert "Run hygiene now?" in app.words
        for fact in ("3 files archived", "1 file deleted", "2 rows to the trash"):
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
        assert "u restores all of it" in app.told
        assert "Nothing to archive or delete now." in app.words
        assert "last run 2026-11-20 12:00" in app.words
        await press(pilot, "u")
        assert (workspace.files(), workspace.keys()) == (files, keys)
        assert "unless you change its rules" in app.told
        assert "6 items due" in app.words
        await press(pilot, "U")
        assert (workspace.files(), workspace.keys()) == (after, ["user_msg_3"])
        assert "Redid" in app.told
        await press(pilot, "escape")
        assert app.given == [True]


async def test_what_is_left_out_stays(workspace: Workspace) -> None:
    """One note, and all that a rule takes; `\\` takes everything in again. All of it left out runs nothing."""
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "tab", "space", "enter")
        assert "Everything is excluded" in app.told
        await press(pilot, "space")
        assert "6 items due" in app.words
        await press(pilot, "escape", "space")
        assert "5 items due" in app.words
        await press(pilot, "tab", "G", "space")
        assert "3 items due" in app.words
        assert "3 excluded" in app.words
        await press(pilot, "escape", "enter", "y")
        assert "memory/2026-11-02.md" in workspace.files()
        assert "memory/2026-11-09.md" not in workspace.files()
        assert workspace.keys() == ["user_msg_1", "user_msg_2", "user_msg_3"]
        await press(pilot, "u", "backslash")
        assert "3 excluded" not in app.words


async def test_a_day_to_come_can_be_seen_but_not_run_and_a_past_one_can(workspace: Workspace) -> None:
    """Three days on a note and a row more are due; eight days ago only the older note had its time."""
    files = workspace.files()
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "right", "right", "right")
        for shown in ("2026-11-23", "preview · ", "memory/2026-11-15.md", "user_msg_3"):
            assert shown in app.words
        await press(pilot, "enter")
        assert "Press 0 to run what is due now" in app.told
        assert workspace.files() == files
        await press(pilot, "0")
        assert "user_msg_3" not in app.words
        await press(pilot, "less_than_sign", "left", "enter", "y")
        assert "memory/2026-11-02.md" not in workspace.files()
        assert "memory/2026-11-09.md" in workspace.files()


async def test_what_vanishes_between_plan_and_run_is_told(workspace: Workspace) -> None:
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "enter")
        (workspace.root / "memory" / "2026-11-09.md").unlink()
        await press(pilot, "y")
        assert "5 of 6 done" in app.told
        assert "memory/2026-11-09.md no longer exists" in app.told
        assert workspace.keys() == ["user_msg_3"]


async def test_a_run_can_be_taken_back_after_other_changes(workspace: Workspace) -> None:
    """The last change is another; the run comes back, and that one stays."""
    files, keys = workspace.files(), workspace.keys()
    async with running(workspace.app(), WIDE) as (app, pilot):
        await app.screen.run_command("undo_run")
        await settled(pilot)
        assert "No hygiene run to undo." in app.told
        await press(pilot, "enter", "y")
        row = await row_with_id(app.library.memory, "chat-3")
        assert row is not None
        await edit_memory(app.library, row.id, Edit({"content": "Another topic."}), row.fingerprint)
        await app.screen.run_command("undo_run")
        await settled(pilot)
        assert (workspace.files(), workspace.keys()) == (files, keys)
        assert (await whole_entry(app.library.memory, row.handle)).content == "Another topic."


async def test_a_store_that_is_only_read_says_why(workspace: Workspace) -> None:
    files = workspace.files()
    async with running(workspace.app(read_only=True)) as (app, pilot):
        await press(pilot, "enter", "u")
        assert app.told.count("The store was opened read-only") == 2
        assert workspace.files() == files
        assert "6 items due" in app.words


async def test_enter_on_a_rule_goes_to_what_it_takes(workspace: Workspace) -> None:
    async with running(workspace.app(), WIDE) as (app, pilot):
        await press(pilot, "tab", "j")
        assert "Change the rule with `zeroclaw onboard" in app.words
        await press(pilot, "enter", "space")
        assert "5 items due" in app.words


async def test_a_lone_database_has_rows_only(tmp_path: Path, workspace: Workspace) -> None:
    lone = tmp_path / "alone.db"
    with closing(sqlite3.connect(workspace.database)) as source, closing(sqlite3.connect(lone)) as target:
        source.backup(target)
    async with running(workspace.app(path=lone), WIDE) as (app, _):
        assert "2 items due" in app.words
        assert "only its rows are checked" in app.words


async def test_many_rows_go_in_one_run(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, files={}, rows=[chat(number, 31 + number % 9) for number in range(600)])
    async with running(workspace.app()) as (_, pilot):
        await press(pilot, "enter", "y")
        await until(pilot, lambda: not workspace.keys())
        await settled(pilot)
        await press(pilot, "u")
        await until(pilot, lambda: len(workspace.keys()) == 600)


async def test_hostile_names_reach_no_terminal(tmp_path: Path) -> None:
    names = ("\x1b[31m\x07", "\u202egpj.exe", "[bold]no[@x]", "long" * 50, "全角文字也要对齐")
    rows = [chat(number, 40, key=key) for number, key in enumerate((HOSTILE, "k" * 300, "宽字符" * 40, ""))]
    workspace = Workspace(tmp_path, rows=rows, files={f"memory/2026-11-01_{name}.md": "x" for name in names})
    async with running(workspace.app(), WIDE) as (app, pilot):
        assert "9 items due" in app.words
        for key in "jjjjjjjj":
            assert not any(sign in "".join(app.lines) for sign in "\x1b\x07\x9b\u202e")
            await press(pilot, key)
