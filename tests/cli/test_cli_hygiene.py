"""`zeroclaw memory hygiene` as a process: the plan, the run, what is left out, and the way back."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.opened import opened_at
from support.small_store import make
from support.terminal import Terminal

from zeroclaw_tui.cli.hygiene import hygiene_lines
from zeroclaw_tui.curation.hygiene import HygieneItem, plan_hygiene

Command = Callable[..., Any]
OLD, NEW = "2020-01-05", "2020-01-20"


def row(key: str, at: str, category: str = "conversation") -> dict[str, Any]:
    return {"id": f"id-{key}", "key": key, "category": category, "created_at": at, "updated_at": at}


@pytest.fixture
def zc(tmp_path: Path) -> Path:
    """A config dir with two notes, one archived note, an old and a young chat row, and a core row."""
    memory = tmp_path / "zc" / "workspace" / "memory"
    memory.mkdir(parents=True)
    young = datetime.now().astimezone().isoformat()
    rows = [row("old", f"{OLD}T10:00:00+00:00"), row("young", young), row("kept", f"{OLD}T10:00:00+00:00", "core")]
    make(memory / "brain.db", "G2", rows)
    (memory / "archive").mkdir()
    for name in (f"{OLD}.md", f"{NEW}.md", "archive/2019-01-01.md"):
        (memory / name).write_text(f"# {name}\n")
    (tmp_path / "zc" / "config.toml").write_text(
        'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
    )
    return tmp_path / "zc"


@pytest.fixture
def hygiene(run: Command, zc: Path) -> Command:
    return lambda *more, **variables: run(
        "memory", "--config-dir", str(zc), "--profile", "0.7.5", "hygiene", *more, **variables
    )


def state_of(zc: Path) -> tuple[dict[str, str], list[str]]:
    """Every text file of the workspace and every key of its database."""
    root = zc / "workspace"
    files = {
        str(path.relative_to(root)): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "brain.db" not in path.name
    }
    with closing(sqlite3.connect(root / "memory" / "brain.db")) as connection:
        return files, [key for (key,) in connection.execute("SELECT key FROM memories ORDER BY key")]


def test_a_dry_run_names_everything_and_writes_nothing(hygiene: Command, zc: Path) -> None:
    before = state_of(zc)
    answer = hygiene("--dry-run")
    assert answer.code == 0, answer.err
    assert "on, every 12 h · never run · next when the agent starts" in answer.out
    assert "daily files older than 7 days are archived" in answer.out
    assert f"memory/{OLD}.md" in answer.out
    assert f"→ archive/{OLD}.md, then deleted" in answer.out
    assert '"text"' in answer.out
    assert "2 files archived · 3 files deleted · 1 row to the trash" in answer.out
    assert "Nothing was changed." in answer.err
    assert state_of(zc) == before


def test_the_document_has_every_item_by_its_rule(hygiene: Command, zc: Path) -> None:
    found = hygiene("--dry-run", "--json").json
    assert (found["backend"], found["profile"], found["dry_run"], found["enabled"]) == ("sqlite", "0.7.5", True, True)
    assert found["root"] == str(zc / "workspace")
    assert (found["last_run"], found["next_due"], found["state_problem"], found["problems"]) == (None, None, None, [])
    by_rule = {rule["name"]: rule for rule in found["rules"]}
    assert by_rule["archive memory files"]["count"] == 2
    assert by_rule["conversation rows"] | {"sentence": "", "size": 0} == {
        "name": "conversation rows",
        "sentence": "",
        "on": True,
        "days": 30,
        "most": None,
        "count": 1,
        "size": 0,
    }
    note = next(item for item in found["items"] if item["name"] == f"memory/{OLD}.md")
    assert note["target"] == f"memory/archive/{OLD}.md"
    assert note["and_purged"] is True
    assert note["date"] == OLD
    assert [item["name"] for item in found["items"] if item["rule"] == "conversation rows"] == ["old"]
    assert "count" not in found


def test_a_run_does_it_and_undo_brings_all_of_it_back(hygiene: Command, run: Command, zc: Path) -> None:
    before = state_of(zc)
    done = hygiene("--yes", "--json")
    assert done.code == 0, done.err
    assert (done.json["dry_run"], done.json["count"], done.json["changed"], done.json["gone"]) == (False, 4, [], [])
    assert done.json["action"] is not None
    files, keys = state_of(zc)
    assert [name for name in files if name.startswith("memory/")] == []
    assert "state/memory_hygiene_state.json" in files
    assert keys == ["kept", "young"]
    again = hygiene("--dry-run")
    assert "by this program" in again.out
    assert "Nothing to archive or delete." in again.out
    assert "next when the agent starts after " in again.out
    back = run("memory", "--config-dir", str(zc), "undo", "--yes")
    assert back.code == 0, back.err
    assert "unless you change its rules" in back.err
    assert state_of(zc) == before


def test_what_undo_would_bring_back_to_the_audit_log_is_named(hygiene: Command, run: Command, zc: Path) -> None:
    with closing(sqlite3.connect(zc / "workspace" / "memory" / "audit.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE memory_audit (id INTEGER PRIMARY KEY, operation TEXT, key TEXT, timestamp TEXT)"
        )
        connection.execute("INSERT INTO memory_audit VALUES (7, 'store', 'old', ?)", (f"{OLD}T10:00:00+00:00",))
    assert run("memory", "--config-dir", str(zc), "--profile", "0.8.4", "hygiene", "--yes").code == 0
    shown = run("memory", "--config-dir", str(zc), "undo", "--dry-run").out
    assert "audit entry restored:  /" in shown


def test_a_run_says_what_it_did_in_words(hygiene: Command) -> None:
    answer = hygiene("--yes", "--without", f"memory/{OLD}.md")
    assert answer.code == 0
    assert "1 file archived · 2 files deleted · 1 row to the trash." in answer.out
    assert "`zeroclaw memory undo` restores all of it, including files" in answer.out
    assert "1 excluded." in answer.out


def test_nothing_to_do_is_done(hygiene: Command) -> None:
    assert hygiene("--yes").code == 0
    again = hygiene("--yes")
    assert again.code == 0
    assert "Nothing to archive or delete." in again.out
    assert hygiene("--yes", "--json").json["count"] == 0


def test_what_is_left_out_by_name_or_id_stays(hygiene: Command, zc: Path) -> None:
    ids = {item["name"]: item["id"] for item in hygiene("--dry-run", "--json").json["items"]}
    done = hygiene("--yes", "--json", "--without", f"memory/{OLD}.md", "--without", ids["old"]).json
    assert sorted(item["name"] for item in done["left_out"]) == [f"memory/{OLD}.md", "old"]
    assert done["count"] == 2
    files, keys = state_of(zc)
    assert f"memory/{OLD}.md" in files
    assert f"memory/{NEW}.md" not in files
    assert keys == ["kept", "old", "young"]


@pytest.mark.parametrize("name", ["memory/nope.md", "", "\x1b[31mkey"])
def test_leaving_out_what_is_not_in_the_plan_is_wrong_use(hygiene: Command, zc: Path, name: str) -> None:
    before = state_of(zc)
    answer = hygiene("--yes", "--without", name)
    assert answer.code == 2
    assert "is not part of this plan" in answer.err
    assert "\x1b" not in answer.err
    assert state_of(zc) == before


@pytest.mark.parametrize(("as_of", "notes"), [("2020-01-12", 0), ("2020-01-13", 1), ("2020-01-28", 2)])
def test_a_date_is_the_midnight_it_begins_with(hygiene: Command, as_of: str, notes: int) -> None:
    """A note of the 5th is older than seven days on the 13th and not before."""
    found = hygiene("--dry-run", "--json", "--as-of", as_of).json
    assert found["as_of"] == f"{as_of}T00:00:00+00:00"
    assert sum(item["rule"] == "archive memory files" for item in found["items"]) == notes


def test_a_run_as_of_the_past_takes_only_what_was_due_then(hygiene: Command, zc: Path) -> None:
    assert hygiene("--yes", "--as-of", "2020-01-13T00:00:00Z").code == 0
    files, _ = state_of(zc)
    assert f"memory/archive/{OLD}.md" in files
    assert f"memory/{NEW}.md" in files


@pytest.mark.parametrize("as_of", ["in 3d", "+12h", "2099-01-01"])
def test_a_moment_to_come_can_only_be_looked_at(hygiene: Command, zc: Path, as_of: str) -> None:
    before = state_of(zc)
    assert "young" in hygiene("--dry-run", "--json", "--as-of", "in 40d").out
    answer = hygiene("--yes", "--as-of", as_of)
    assert answer.code == 2
    assert "cannot run as of a future time" in answer.err
    assert state_of(zc) == before


@pytest.mark.parametrize("as_of", ["soon", "", "in 9999999w", "0001-01-01", "2026-13-45"])
def test_what_is_no_moment_is_wrong_use(hygiene: Command, as_of: str) -> None:
    answer = hygiene("--dry-run", "--as-of", as_of)
    assert answer.code == 2
    assert len(answer.err.splitlines()) <= 2
    assert answer.out == ""


@pytest.mark.parametrize("as_of", ["0001-01-03", "9999-12-30"])
def test_the_ends_of_the_calendar_can_be_looked_at(hygiene: Command, as_of: str) -> None:
    assert hygiene("--dry-run", "--json", "--as-of", as_of).code == 0


def test_it_asks_and_no_is_the_default(zc: Path) -> None:
    """In a terminal the plan is shown with the question; a bare enter changes nothing."""
    before = state_of(zc)
    command = [str(Path(sys.executable).parent / "zeroclaw"), "memory", "--config-dir", str(zc), "hygiene"]
    with Terminal(command, columns=120, lines=40) as screen:
        screen.wait_for("2 files archived", "Run it? [y/N]")
        screen.press("enter")
        screen.wait_for("Nothing was changed.")
        assert screen.wait_exit() == 1
    assert state_of(zc) == before
    with Terminal(command, columns=120, lines=40) as screen:
        screen.wait_for("Run it? [y/N]")
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
        assert "restores all of it" in screen.text
    assert state_of(zc)[1] == ["kept", "young"]


def test_without_a_terminal_it_does_not_ask(hygiene: Command, zc: Path) -> None:
    before = state_of(zc)
    answer = hygiene()
    assert answer.code == 2
    assert "--yes" in answer.err
    assert state_of(zc) == before


def test_a_store_that_is_only_read_is_not_run(hygiene: Command, zc: Path) -> None:
    before = state_of(zc)
    answer = hygiene("--yes", "--read-only")
    assert answer.code == 1
    assert state_of(zc) == before
    assert hygiene("--dry-run", "--read-only").code == 0


def test_hostile_names_reach_the_terminal_cleaned(hygiene: Command, zc: Path) -> None:
    (zc / "workspace" / "memory" / f"{OLD}_\x1b[31m\u202e\x07.md").write_text("x")
    answer = hygiene("--dry-run")
    assert f"{OLD}_␛[31m⟨U+202E⟩␇.md" in answer.out
    assert "\x1b" not in answer.out
    assert "\u202e" not in hygiene("--dry-run", "--json").out


@pytest.mark.parametrize(
    ("state", "said"), [("{", "state"), ('{"last_run_at": "2099-01-01T00:00:00+00:00", "last_report": {}}', "state")]
)
def test_a_state_file_that_is_wrong_is_said_and_the_run_mends_it(
    hygiene: Command, zc: Path, state: str, said: str
) -> None:
    file = zc / "workspace" / "state" / "memory_hygiene_state.json"
    file.parent.mkdir()
    file.write_text(state)
    answer = hygiene("--dry-run", "--json").json
    assert said in answer["state_problem"]
    assert hygiene("--yes").code == 0
    mended = hygiene("--dry-run", "--json").json
    assert mended["state_problem"] is None
    assert mended["last_report"]["archived_memory_files"] == 2
    due = datetime.fromisoformat(mended["next_due"])
    assert due - datetime.fromisoformat(mended["last_run"]) == timedelta(hours=12)


def test_a_rule_that_is_off_is_said(hygiene: Command, zc: Path) -> None:
    with (zc / "config.toml").open("a") as config:
        config.write("hygiene_enabled = false\narchive_after_days = 0\n")
    answer = hygiene("--dry-run")
    assert "off: ZeroClaw does not run it" in answer.out
    assert "daily files are never archived" in answer.out


async def test_the_text_of_a_plan_names_excluded_items(tmp_path: Path) -> None:
    database = make(tmp_path / "brain.db", "G2", [])
    async with opened_at(database) as library:
        plan = await plan_hygiene(library, datetime.now().astimezone())
        items = tuple(
            HygieneItem(f"row {number}", "conversation rows", f"key{number}", OLD, 1, "") for number in range(9)
        )
        full = replace(plan, items=items)
        lines = [*hygiene_lines(library, full, full.without(["row 0", "row 1"]))]
    assert sum("excluded: key" in str(part) for line in lines for part in line) == 2
