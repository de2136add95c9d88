"""Another program writes, holds the lock, or the person presses ctrl-c, all in the middle of a change."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from support.terminal import Terminal

Run = Callable[..., Any]

_BESIDE = """
import sqlite3, sys
import zeroclaw_tui.curation.changes as module
done = module.{name}
async def beside(*arguments, **more):
    with sqlite3.connect({database!r}) as connection:
        connection.execute("UPDATE memories SET content = 'written meanwhile' WHERE key = 'pet'")
    connection.close()
    return await done(*arguments, **more)
module.{name} = beside
from zeroclaw_tui.cli.main import zeroclaw
sys.argv = ['zeroclaw', 'memory', '--config-dir', {install!r}, *{arguments!r}]
sys.exit(zeroclaw())
"""


def _database(install: Path) -> Path:
    return install / "workspace" / "memory" / "brain.db"


def _beside(install: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, with another program changing the memory `pet` between the plan and the change."""
    code = _BESIDE.format(name=name, database=str(_database(install)), install=str(install), arguments=arguments)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def _noise(install: Path, count: int) -> None:
    with closing(sqlite3.connect(_database(install))) as connection, connection:
        at = "2026-02-01T10:00:00+00:00"
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at) VALUES (?, ?, ?, 'noise', ?, ?)",
            [(f"n-{number}", f"noise_{number}", f"noise {number}", at, at) for number in range(count)],
        )


def _interrupted(install: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command on 1,200 memories that is sent ctrl-c once some of them are done."""
    code = (
        "import os, signal, sys, threading\n"
        "import zeroclaw_tui.cli.plans as plans\n"
        "real = plans.Progress.advance\n"
        # A signal that comes right before the loop waits is only heard once something else wakes it.
        "signal.signal(signal.SIGUSR1, lambda *_: None)\n"
        "def advance(self, done):\n"
        "    if 0 < done < 1200 and not self.stopped:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        while not self.stopped: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)\n"
        "    return real(self, done)\n"
        "plans.Progress.advance = advance\n"
        "from zeroclaw_tui.cli.main import zeroclaw\n"
        f"sys.argv = {['zeroclaw', 'memory', '--config-dir', str(install), *arguments]!r}\n"
        "sys.exit(zeroclaw())\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_an_edit_of_what_changed_meanwhile_is_refused(memory: Run, install: Path) -> None:
    done = _beside(install, "edit_memory", "edit", "pet", "--content", "mine")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Another program changed this memory" in done.stderr
    assert memory("get", "pet", "--json").json["content"] == "written meanwhile"


def test_a_memory_that_changed_after_the_plan_stays_and_is_named(memory: Run, install: Path) -> None:
    done = _beside(install, "remove_memories", "purge", "--session", "tg_1", "--yes", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["count"], document["changed"]) == (1, 1, ["id-2"])
    assert [entry["key"] for entry in document["entries"]] == ["tz"]
    assert memory("get", "pet", "--json").json["content"] == "written meanwhile"


def test_ctrl_c_in_the_middle_of_a_purge_stops_it_and_undo_still_brings_all_back(memory: Run, install: Path) -> None:
    _noise(install, 1200)
    done = _interrupted(install, "purge", "--category", "noise", "--yes")
    assert done.returncode == 130, done.stderr
    assert "Stopped after " in done.stderr
    assert "Traceback" not in done.stderr
    left = memory("list", "--json", "--limit", "0").json["total"]
    assert 8 < left < 1208
    assert memory("undo", "--yes", "--json").json["count"] == 1208 - left
    assert memory("list", "--json", "--limit", "0").json["total"] == 1208


def test_ctrl_c_in_the_middle_of_an_undo_is_told_and_another_undo_goes_on(memory: Run, install: Path) -> None:
    _noise(install, 1200)
    before = memory("list", "--json", "--limit", "2000").json
    assert memory("purge", "--category", "noise", "--yes").code == 0
    done = _interrupted(install, "undo", "--yes", "--json")
    count = json.loads(done.stdout)["count"]
    assert (done.returncode, 0 < count < 1200) == (130, True)
    assert f"Stopped after {count:,} of 1,200 changes" in done.stderr
    assert memory("undo", "--yes", "--json").json["count"] == 1200 - count
    assert memory("list", "--json", "--limit", "2000").json == before


def test_a_long_purge_shows_how_far_it_is_in_a_terminal_only(
    memory: Run, install: Path, script: Callable[[str], str]
) -> None:
    _noise(install, 1100)
    command = [script("zeroclaw"), "memory", "--config-dir", str(install), "purge", "--category", "noise", "--yes"]
    with Terminal(command, columns=100) as screen:
        assert screen.wait_exit() == 0
        assert b"Purging " in screen.raw
        assert "Purging" not in screen.text
        assert "Purged 1,100 memories." in screen.text
    assert memory("undo", "--yes").err == ""


def test_a_lone_database_has_its_trash_in_the_home(memory: Run, run: Run, install: Path, tmp_path: Path) -> None:
    lone = tmp_path / "copy.db"
    _database(install).rename(lone)
    assert run("memory", "forget", "pet", "--yes", "--location", str(lone)).code == 0
    assert [path.name for path in Path(os.environ["HOME"]).rglob("trash.db")] == ["trash.db"]
    assert list(tmp_path.glob("*trash*")) == []
    assert run("memory", "undo", "--yes", "--location", str(lone)).code == 0
    assert run("memory", "get", "pet", "--location", str(lone)).code == 0
