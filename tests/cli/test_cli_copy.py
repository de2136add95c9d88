"""`zeroclaw memory copy`: says what would come over and what is lost, asks, copies, checks, and undo reverses that."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Command
from support.rmem_file import mila


def _contents(database: Path) -> dict[str, str]:
    with closing(sqlite3.connect(database)) as connection:
        return dict(connection.execute("SELECT key, content FROM memories"))


def test_a_dry_run_reports_the_plan_and_what_is_lost_and_makes_nothing(
    memory: Command, install: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    done = memory("copy", "--to", "markdown", "--to-location", str(notes), "--dry-run")
    assert done.code == 0
    assert done.out.splitlines() == [
        f"Copy 8 memories to {notes}?",
        f"  {notes} is created first.",
        "  8 new",
        "  Markdown drops or changes: time of change (8), time of creation (8), session (3), content (2),"
        " category (1).",
        "  1 superseded memory is left out; --superseded show takes it along.",
        f"  `zeroclaw memory undo --config-dir {install} --backend markdown --location {notes}` reverses that.",
    ]
    assert "Nothing was changed." in done.err
    assert not notes.exists()
    assert not (install / "zeroclaw-tui").exists()


def test_it_copies_verifies_and_the_undo_it_names_takes_it_back(memory: Command, install: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    done = memory("copy", "--to", "sqlite", "--to-location", str(new), "--yes", "--superseded")
    assert (done.code, done.out.splitlines()[:2]) == (
        0,
        [f"✓ Copied 9 memories to {new}.", "Verified 9 by comparing what the target stores."],
    )
    assert _contents(new) == _contents(install / "workspace" / "memory" / "brain.db")
    again = memory("copy", "--to", "sqlite", "--to-location", str(new), "--yes", "--superseded")
    assert (again.code, again.out.splitlines()[0]) == (0, f"Nothing to copy of 9 memories to {new}")
    assert memory("undo", "--backend", "sqlite", "--location", str(new), "--yes").code == 0
    assert _contents(new) == {}


def test_filters_choose_and_the_document_has_it_all(memory: Command, install: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    arguments = ("copy", "--to", "sqlite", "--to-location", str(new), "--session", "tg_1", "--json")
    planned = memory(*arguments, "--dry-run").json
    named = {"verb": "copy", "backend": "sqlite", "location": str(new), "new": 2, "same": 0, "taken": 0, "losses": []}
    assert planned.items() >= {**named, "dry_run": True, "count": 2, "action": None, "verified": 0}.items()
    done = memory(*arguments, "--yes").json
    assert done.items() >= {**named, "dry_run": False, "count": 2, "verified": 2, "differs": 0, "left": 0}.items()
    assert done["from"] == {"backend": "sqlite", "location": str(install / "workspace" / "memory" / "brain.db")}
    assert done["action"] is not None
    assert done["until"] is not None
    assert set(_contents(new)) == {"pet", "tz"}


@pytest.mark.parametrize(("backend", "name"), [("markdown", "notes"), ("sqlite", "new.db")])
def test_the_undo_it_names_finds_a_copy_of_a_lone_file(
    backend: str, name: str, run: Command, install: Path, tmp_path: Path
) -> None:
    lone, place = tmp_path / "lone.db", tmp_path / "place" / name
    shutil.copy(install / "workspace" / "memory" / "brain.db", lone)
    place.parent.mkdir()
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": ""}
    copied = run(
        "memory", "copy", "--location", str(lone), "--to", backend, "--to-location", str(place), "--yes", **home
    )
    command = re.search(r"`zeroclaw (.*)` reverses that", copied.out)
    assert (copied.code, command is not None) == (0, True), copied.err
    assert command is not None
    undone = run(*shlex.split(command[1]), "--yes", **home)
    assert undone.code == 0, undone.err
    assert undone.out.splitlines() == ["✓ Undid: copied from sqlite. (8 changes)"]


DATA = Path(__file__).parents[1] / "data" / "formats"


def _usual_install(home: Path) -> Path:
    """The database of an install where ZeroClaw looks for it by itself; it is not there yet."""
    (home / ".zeroclaw").mkdir(parents=True)
    (home / ".zeroclaw" / "config.toml").write_text('default_temperature = 0.7\n[memory]\nbackend = "sqlite"\n')
    return home / ".zeroclaw" / "workspace" / "memory" / "brain.db"


@pytest.mark.parametrize(("title", "content"), [("memory-rs", "User likes tea"), ("R-Mem", "Mila prefers rye bread")])
def test_the_import_of_another_programs_store_names_the_copy_that_works(
    run: Command, tmp_path: Path, title: str, content: str
) -> None:
    home = {"HOME": str(tmp_path / "home")}
    database = _usual_install(tmp_path / "home")
    file = DATA / "memory_rs.json" if title == "memory-rs" else mila(tmp_path / "rustmem.db").path
    refused = run("memory", "import", str(file), "--yes", **home)
    assert refused.code == 2
    assert f"{file.name} is a store of {title}." in refused.err
    command = re.search(r"`zeroclaw (memory copy .*)` copies its memories", refused.err)
    assert command is not None
    copied = run(*shlex.split(command[1]), "--yes", **home)
    assert copied.code == 0, copied.err
    assert content in _contents(database).values()
