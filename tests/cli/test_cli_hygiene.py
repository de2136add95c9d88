"""`zeroclaw memory hygiene` as a process: the plan, the run, what is left out, and the way back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.commands import Command
from support.small_store import make

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


def test_a_run_is_done_and_undo_brings_all_of_it_back(hygiene: Command, run: Command, zc: Path) -> None:
    before = state_of(zc)
    done = hygiene("--yes", "--json")
    assert done.code == 0, done.err
    assert (done.json["dry_run"], done.json["count"], done.json["changed"], done.json["gone"]) == (False, 4, [], [])
    assert done.json["action"] is not None
    files, keys = state_of(zc)
    assert [name for name in files if name.startswith("memory/")] == []
    assert "state/memory_hygiene_state.json" in files
    assert keys == ["kept", "young"]
    again = hygiene("--yes")
    for words in ("last run ", "Nothing to archive or delete.", "next when the agent starts after "):
        assert words in again.out
    back = run("memory", "--config-dir", str(zc), "undo", "--yes")
    assert (back.code, "unless you change its rules" in back.err) == (0, True)
    restored, restored_keys = state_of(zc)
    assert json.loads(restored.pop("state/memory_hygiene_state.json"))["last_report"]["purged_memory_archives"] == 3
    assert (restored, restored_keys) == before


@pytest.mark.parametrize(("as_of", "notes"), [("2020-01-12", 0), ("2020-01-13", 1), ("2020-01-28", 2)])
def test_a_date_is_the_midnight_it_begins_with(hygiene: Command, as_of: str, notes: int) -> None:
    """A note of the 5th is older than seven days on the 13th and not before."""
    found = hygiene("--dry-run", "--json", "--as-of", as_of, "--read-only").json
    assert found["as_of"] == f"{as_of}T00:00:00+00:00"
    assert sum(item["rule"] == "archive memory files" for item in found["items"]) == notes
    assert "young" in hygiene("--dry-run", "--json", "--as-of", "2099-01-01").out


def test_hostile_names_reach_the_terminal_cleaned(hygiene: Command, zc: Path) -> None:
    (zc / "workspace" / "memory" / f"{OLD}_\x1b[31m\u202e\x07.md").write_text("x")
    answer = hygiene("--dry-run")
    assert f"{OLD}_␛[31m⟨U+202E⟩␇.md" in answer.out
    assert "\x1b" not in answer.out
    assert "\u202e" not in hygiene("--dry-run", "--json").out
