"""What a person does on the hygiene screen, and what it does to the folder and the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hygiene_samples import (
    NARROW,
    WIDE,
    HygieneApp,
    Workspace,
    chat,
    dialog_words,
    screen_text,
    screen_words,
    told,
    until,
)
from support.settling import settled
from textual.pilot import Pilot

from zeroclaw_tui.curation.hygiene.plan import HygieneItem
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.hygiene import HygieneScreen
from zeroclaw_tui.tui.screens.hygiene_rules import RuleReviewScreen, RuleSettingsScreen
from zeroclaw_tui.tui.screens.hygiene_words import item_words
from zeroclaw_tui.tui.widgets.hygiene_lists import RuleList


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def test_it_says_when_hygiene_ran_and_when_it_is_due(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        words = screen_words(app)
        assert "on, every 12 h · last 2026-11-20 01:04 by ZeroClaw" in words
        assert "next when the agent starts after 13:04" in words
        assert "2 files archived, 1 file deleted, 41 rows deleted" in words
        assert "6 things would go" in words


async def test_run_moves_and_deletes_and_undo_brings_all_of_it_back(workspace: Workspace) -> None:
    """Files, rows and the state file; after each step the list shows what is true."""
    files, keys = workspace.files(), workspace.keys()
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        assert isinstance(app.screen, QuestionScreen)
        asked = dialog_words(app)
        assert "3 files archived" in asked
        assert "1 file deleted" in asked
        assert "2 rows to the trash" in asked
        await press(pilot, "y")
        after = workspace.files()
        assert after["memory/archive/2026-11-02.md"] == files["memory/2026-11-02.md"]
        assert "memory/2026-11-02.md" not in after
        assert "memory/archive/2026-10-01.md" not in after
        assert after["memory/2026-11-15.md"] == files["memory/2026-11-15.md"]
        assert workspace.keys() == ["user_msg_3"]
        words = screen_words(app)
        assert "u brings it back" in told(app)
        assert "Nothing has to go now." in words
        assert "by this program" in words
        await press(pilot, "u")
        assert workspace.files() == files
        assert workspace.keys() == keys
        assert "unless the rules change" in told(app)
        assert "6 things would go" in screen_words(app)
        await press(pilot, "escape")
        assert app.given == [True]


async def test_the_first_answer_keeps_everything(workspace: Workspace) -> None:
    files, keys = workspace.files(), workspace.keys()
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "enter", "enter")
        assert (workspace.files(), workspace.keys()) == (files, keys)
        await press(pilot, "escape")
        assert app.given == [False]


async def test_what_is_left_out_stays(workspace: Workspace) -> None:
    """One note, and all that a rule takes; `\\` takes everything in again."""
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "space")
        assert "5 things would go" in screen_words(app)
        await press(pilot, "tab", "j", "j", "j", "j", "j", "space")
        assert "3 things would go" in screen_words(app)
        assert "3 left out" in screen_words(app)
        await press(pilot, "escape", "enter", "y")
        assert "memory/2026-11-02.md" in workspace.files()
        assert "memory/2026-11-09.md" not in workspace.files()
        assert workspace.keys() == ["user_msg_1", "user_msg_2", "user_msg_3"]
        await press(pilot, "u", "backslash")
        assert "left out" not in screen_words(app).replace("leave out", "")


async def test_everything_left_out_runs_nothing(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "space", "enter")
        assert "Everything is left out" in told(app)
        await press(pilot, "space")
        assert "6 things would go" in screen_words(app)


async def test_a_rule_under_the_cursor_shows_only_its_own(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "j", "j", "j")
        text = screen_text(app)
        assert "memory/archive/2026-10-01.md" in text
        assert "memory/2026-11-02.md" not in text
        await press(pilot, "j")
        assert "Nothing has to go now by this rule." in text or "by this rule" in screen_words(app)
        await press(pilot, "escape")
        assert "memory/2026-11-02.md" in screen_text(app)


async def test_a_day_to_come_can_be_seen_but_not_run(workspace: Workspace) -> None:
    """Three days on a note and a row more are due; `0` is today again."""
    files = workspace.files()
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "right", "right", "right")
        words = screen_words(app)
        assert "2026-11-23" in words
        assert "preview · " in words
        assert "memory/2026-11-15.md" in words
        assert "user_msg_3" in words
        await press(pilot, "enter")
        assert "only what is due now can be run" in told(app)
        assert workspace.files() == files
        await press(pilot, "0")
        assert "preview" not in screen_words(app).partition("▸")[2].partition("esc")[0]
        assert "user_msg_3" not in screen_words(app)


async def test_a_day_that_is_past_can_be_run(workspace: Workspace) -> None:
    """Eight days ago only the older note had its time."""
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "less_than_sign", "left", "enter", "y")
        assert "memory/2026-11-02.md" not in workspace.files()
        assert "memory/2026-11-09.md" in workspace.files()


async def test_what_vanishes_between_plan_and_run_is_told(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        (workspace.root / "memory" / "2026-11-09.md").unlink()
        await press(pilot, "y")
        assert "5 of 6 done" in told(app)
        assert "memory/2026-11-09.md has gone meanwhile" in told(app)
        assert workspace.keys() == ["user_msg_3"]


async def test_undo_leaves_other_changes_alone(workspace: Workspace) -> None:
    """The last change was no run of hygiene: it says which, and nothing is taken back."""
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "u")
        assert "There is no run of hygiene to take back." in told(app)


async def test_a_store_that_is_only_read_says_why(workspace: Workspace) -> None:
    files = workspace.files()
    app = HygieneApp(workspace, read_only=True)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        for key in ("enter", "u", "c"):
            await press(pilot, key)
            assert told(app).count("opened read-only, as asked") == ("enter", "u", "c").index(key) + 1
        assert workspace.files() == files
        assert "6 things would go" in screen_words(app)


async def test_changing_a_rule_saves_only_that_key(workspace: Workspace) -> None:
    """The review names the line and the warning with its count; the plan is made anew; a backup stays."""
    app = HygieneApp(workspace)
    file = workspace.config_dir / "config.toml"
    before = file.read_bytes()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "c")
        assert isinstance(app.screen, RuleSettingsScreen)
        await press(pilot, "j", "j", "j", "enter", "7", "enter", "s")
        assert isinstance(app.screen, RuleReviewScreen)
        words = dialog_words(app)
        assert "+ conversation_retention_days = 7" in words
        assert "deletes conversation rows after 7 days in place of 30" in words
        assert "3 rows deleted" in words
        assert file.read_bytes() == before
        await press(pilot, "y")
        assert file.read_bytes() == before + b"conversation_retention_days = 7\n"
        assert [path.read_bytes() for path in workspace.config_dir.rglob("backups/*")] == [before]
        words = screen_words(app)
        assert "conversation rows older than 7 days are deleted 3 rows" in words
        assert app.library is not None
        assert app.library.config.conversation_retention_days == 7


async def test_leaving_the_review_changes_nothing(workspace: Workspace) -> None:
    """Escape goes back to the settings with what was chosen; a second one leaves."""
    app = HygieneApp(workspace)
    before = (workspace.config_dir / "config.toml").read_bytes()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "c", "enter", "s", "escape")
        assert "on → off" in screen_words(app)
        await press(pilot, "s", "enter")
        assert (workspace.config_dir / "config.toml").read_bytes() == before
        assert "on, every 12 h" in screen_words(app)


async def test_a_config_that_changed_meanwhile_is_not_overwritten(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    file = workspace.config_dir / "config.toml"
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "c", "enter", "s")
        changed = file.read_bytes() + b"# by hand\n"
        file.write_bytes(changed)
        await press(pilot, "y")
        assert "changed by another program meanwhile" in told(app)
        assert file.read_bytes() == changed


async def test_a_number_out_of_range_is_said(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "c", "j", "enter", *"99999999999", "enter")
        assert "archive_after_days must be" in dialog_words(app)
        await press(pilot, "escape", "s")
        assert "Nothing is changed yet" in dialog_words(app)


async def test_a_lone_database_has_rows_but_no_rules_to_change(tmp_path: Path, workspace: Workspace) -> None:
    """Its remark says that only the rows are looked at, `i` shows it in full, and `c` says why not."""
    lone = tmp_path / "alone.db"
    with closing(sqlite3.connect(workspace.database)) as source, closing(sqlite3.connect(lone)) as target:
        source.backup(target)
    app = HygieneApp(workspace, path=lone)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "2 things would go" in screen_words(app)
        await press(pilot, "i")
        assert "there are only its rows to look at" in dialog_words(app)
        await press(pilot, "escape", "c")
        assert "no config.toml" in told(app)


async def test_the_keys_that_work_here_are_told(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "question_mark")
        words = screen_words(app)
        for sentence in ("Do now what the list shows", "Take back the last run", "What would go a day later"):
            assert sentence in words


async def test_many_rows_go_in_one_run(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, files={}, rows=[chat(number, 31 + number % 9) for number in range(2500)])
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "enter", "y")
        await until(pilot, lambda: not workspace.keys())
        await settled(pilot)
        await press(pilot, "u")
        await until(pilot, lambda: len(workspace.keys()) == 2500)


@pytest.mark.parametrize(("text", "keys"), [("memory = never\n", ()), ("memory = 3\n", ("enter", "s"))])
async def test_a_broken_config_is_said_and_left(workspace: Workspace, text: str, keys: tuple[str, ...]) -> None:
    """Where the file is no TOML, or [memory] no table, nothing is changed."""
    app = HygieneApp(workspace)
    file = workspace.config_dir / "config.toml"
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        file.write_text(text)
        await press(pilot, "c", *keys)
        assert "Broken config" in told(app)
        assert file.read_text() == text


async def test_the_line_of_a_day_to_come_fits_eighty_columns(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "space", "right")
        line = next(line for line in screen_text(app).split("\n") if "as of" in line)
        assert line.rstrip().endswith("1 left out")


async def test_any_number_of_things_is_shown_whole(workspace: Workspace) -> None:
    app = HygieneApp(workspace)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, HygieneScreen)
        plan = app.screen.plan
        assert plan is not None
        many = tuple(replace(plan.items[0], id=f"file-{number}") for number in range(122_187))
        app.screen.query_one(RuleList).show(replace(plan, items=many), set())
        await settled(pilot)
        assert "122,187 things" in screen_words(app)
        assert "122,187 files" in screen_words(app)


def test_a_long_key_leaves_room_for_what_becomes_of_it() -> None:
    item = HygieneItem("row", "conversation rows", "k" * 500, "2026-10-01T00:00:00+00:00", 4)
    words = item_words(item, stays=True)
    assert "left out: it stays as it is" in words[:120]
