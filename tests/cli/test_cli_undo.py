"""`memory undo` and `redo`: which change, and the one that is named."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def _keys(install: Path) -> set[str]:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM memories")}


@pytest.mark.parametrize(
    "nothing",
    [
        ("edit", "pet", "--category", "core"),
        ("purge", "--category", "nobody has it", "--yes"),
        ("clear", "--category", "nobody has it", "--yes"),
        ("hygiene", "--as-of", "2020-01-01", "--yes"),
    ],
)
def test_undo_skips_a_command_that_changed_nothing(nothing: tuple[str, ...], memory: Run, install: Path) -> None:
    """A loop of `undo --yes` goes on until nothing is left."""
    before = _keys(install)
    for key in ("tz", "pet"):
        assert memory(*nothing).code == 0
        assert memory("forget", key, "--yes").code == 0
    assert memory("store", "pet", "Mio", "--category", "core").code == 0
    assert memory(*nothing).code == 0
    assert [memory("undo", "--yes").code for _ in range(4)] == [0, 0, 0, 1]
    assert _keys(install) == before


def test_what_changes_something_afterwards_is_taken_back_at_once(memory: Run, install: Path) -> None:
    """Also where a deletion for ever came in between, of which nothing is kept."""
    memory("forget", "tz", "--yes")
    memory("purge", "--category", "nobody has it", "--yes")
    memory("forget", "pet", "--forever", "--yes")
    assert "Undid: deleted tz. (1 change)" in memory("undo", "--yes").out
    memory("purge", "--category", "nobody has it", "--yes")
    memory("store", "new", "text")
    assert "Undid: stored new. (1 change)" in memory("undo", "--yes").out
    assert "new" not in _keys(install)


def test_a_change_is_taken_back_by_its_number_whatever_came_after_it(memory: Run, install: Path) -> None:
    numbers = [memory("forget", key, "--yes", "--json").json["action"] for key in ("tz", "pet", "editor")]
    listed = memory("undo", "--list", "--json").json["actions"]
    assert [(one["number"], one["verb"], one["summary"], one["open"]) for one in listed] == [
        (numbers[2], "forget", "deleted editor", 1),
        (numbers[1], "forget", "deleted pet", 1),
        (numbers[0], "forget", "deleted tz", 1),
    ]
    assert f"{numbers[1]}  " in memory("undo", "--list").out
    done = memory("undo", "--id", str(numbers[1]), "--yes", "--json").json
    assert (done["undone"]["number"], done["undone"]["summary"]) == (numbers[1], "deleted pet")
    assert done["next"]["number"] == numbers[2]
    assert _keys(install).isdisjoint({"tz", "editor"})
    assert "pet" in _keys(install)
    assert "undone: deleted pet" in memory("undo", "--list").out


def test_changes_are_told_on_the_clock_of_who_looks(memory: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever zone each was made in."""
    for zone, key in (("Pacific/Kiritimati", "tz"), ("Pacific/Pago_Pago", "pet")):
        monkeypatch.setenv("TZ", zone)
        assert memory("forget", key, "--yes").code == 0
    monkeypatch.setenv("TZ", "UTC")
    made = [one["at"] for one in memory("undo", "--list", "--json").json["actions"]]
    assert [at[-6:] for at in made] == ["-11:00", "+14:00"]
    here = [datetime.fromisoformat(at).astimezone(UTC).strftime("%Y-%m-%d %H:%M") for at in made]
    assert [line[8:24] for line in memory("undo", "--list").out.splitlines()[1:]] == here
    assert [line[8:24] for line in memory("trash", "list").out.splitlines()[1:3]] == here


def test_a_number_that_cannot_be_taken_back_is_one_sentence(memory: Run, install: Path) -> None:
    number = memory("forget", "tz", "--yes", "--json").json["action"]
    memory("undo", "--yes")
    for wanted, told in ((number, "is already undone"), (999, "has no change 999")):
        answer = memory("undo", "--id", str(wanted), "--yes")
        assert (answer.code, told in answer.err) == (1, True), answer.err
    assert memory("undo", "--id", "1", "--list").code == 2


def test_an_earlier_change_to_what_changed_since_names_what_is_in_the_way(memory: Run, install: Path) -> None:
    number = memory("edit", "pet", "--content", "Cat named Mia", "--json").json["action"]
    memory("edit", "pet", "--content", "Cat named Mo")
    refused = memory("undo", "--id", str(number), "--yes")
    assert refused.code == 1
    assert "pet" in refused.err


def test_redo_does_again_what_undo_took_back_until_something_else_is_changed(memory: Run, install: Path) -> None:
    first, second = (memory("forget", key, "--yes", "--json").json["action"] for key in ("tz", "pet"))
    assert memory("redo", "--yes").code == 1
    memory("undo", "--yes")
    memory("undo", "--yes")
    assert {"tz", "pet"} <= _keys(install)
    planned = memory("redo", "--dry-run", "--json").json
    assert (planned["verb"], planned["dry_run"], planned["redone"]["number"]) == ("redo", True, first)
    assert [entry["key"] for entry in planned["entries"]] == ["tz"]
    assert "goes:  tz" in memory("redo", "--dry-run").out
    assert {"tz", "pet"} <= _keys(install)
    done = memory("redo", "--yes", "--json").json
    assert (done["count"], done["redone"]["summary"], done["next"]["number"]) == (1, "deleted tz", second)
    assert "Redid: deleted pet. (1 change)" in memory("redo", "--yes").out
    assert _keys(install).isdisjoint({"tz", "pet"})
    memory("undo", "--yes")
    memory("store", "new", "text")
    refused = memory("redo", "--yes")
    assert (refused.code, "Nothing to redo." in refused.err) == (1, True)
    assert memory("redo", "--id", str(second), "--yes").code == 0
    assert "pet" not in _keys(install)
    assert "is not undone" in memory("redo", "--id", str(second), "--yes").err


def test_the_command_that_a_deletion_prints_can_be_run_where_path_has_no_script_of_ours(
    memory: Run, install: Path
) -> None:
    before = _keys(install)
    answer = memory("forget", "tz", "--yes", PATH="/usr/bin:/bin")
    command = re.findall("`(.+ memory undo)`", answer.out)[0]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(install)}
    line = f"{command} --yes --config-dir {install}"
    done = subprocess.run(line, shell=True, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert _keys(install) == before
