"""Rules of every command that changes memories: questions, plans, refusals, errors, agents, other programs."""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import Brain, Command

COMMON = [
    "verb", "backend", "location", "dry_run", "count", "action", "until", "entries", "changed", "missing", "renamed",
    "notes", "also_found_in", "cleaned",
]  # fmt: skip
PLAIN = {"store k v": "store", "edit pet --key x": "edit", "trash restore --all": "restore"}
"""Commands that change the store without asking, and the verb in their JSON."""
ASKING = {
    "forget pet": "forget", "purge --category core": "purge", "clear": "clear", "clear --key pet": "clear",
    "undo": "undo", "redo": "redo", "trash empty": "empty", "forget pet --forever": "forget",
}  # fmt: skip
"""Commands that ask before they change the store, and the verb in their JSON."""
OTHERS_ASKING = (
    "hygiene", "audit --merge", "audit --only too-short --purge", "doctor --repair all", "doctor --compact", "reindex",
    "erase Mio", "copy --to markdown", "import notes.jsonl", "hydrate notes.jsonl", "purge --contains Mio --everywhere",
)  # fmt: skip
"""Commands that also ask and print their own JSON."""


@pytest.fixture
def changed(memory: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The install after a deletion and an undone deletion, so that undo, redo and restore have work."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.jsonl").write_text('{"key": "new", "content": "A new memory", "category": "core"}\n')
    for command in ("forget tz", "forget editor", "undo"):
        assert memory(*command.split(), "--yes").code == 0
    return memory


@pytest.mark.parametrize("command", [*PLAIN, *ASKING, *OTHERS_ASKING])
def test_nothing_changes_without_yes_in_a_dry_run_or_read_only(changed: Command, install: Path, command: str) -> None:
    def state() -> dict[Path, bytes]:
        files = (path for path in install.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
        return {path: path.read_bytes() for path in files}

    before, words = state(), command.split()
    if command != "doctor --repair all":  # Nothing is broken.
        refused = changed(*words, "--read-only", "--yes")
        assert (refused.code, refused.out, "read-only" in refused.err) == (1, "", True)
    if command not in PLAIN:
        unanswered = changed(*words, "--json", stdin=b"y\n")
        assert (unanswered.code, unanswered.message, "--dry-run" in unanswered.err) == (2, "", True)
        assert "--yes" in unanswered.json["error"]["hint"]
    if command not in ("store k v", "edit pet --key x", "reindex"):
        shown = changed(*words, "--dry-run")
        assert (shown.code, "Nothing was changed." in shown.err) == (0, True)
        document = changed(*words, "--dry-run", "--yes", "--json").json
        assert document.get("dry_run", True)
        if command not in OTHERS_ASKING:
            assert list(document)[: len(COMMON)] == COMMON
            assert (document["count"] > 0, document["action"]) == (True, None)
    assert state() == before


@pytest.mark.parametrize(("command", "verb"), (PLAIN | ASKING).items())
def test_with_yes_the_json_says_what_was_done(changed: Command, command: str, verb: str) -> None:
    document = changed(*command.split(), "--yes", "--json").json
    assert list(document)[: len(COMMON)] == COMMON
    assert (document["verb"], document["dry_run"], document["count"] > 0) == (verb, False, True)
    is_undoable = verb in ("store", "edit", "purge", "clear") or command == "forget pet"
    assert (document["action"] is not None) == (document["until"] is not None) == is_undoable


def test_a_keyword_index_without_triggers_must_be_repaired_before_a_change(memory: Command, brain: Brain) -> None:
    brain.drop_triggers()
    before = brain.rows()
    for command in (("store", "k", "v"), ("edit", "pet", "--key", "x"), ("forget", "pet", "--yes")):
        refused = memory(*command)
        assert (refused.code, refused.out) == (1, "")
        assert "Run `zeroclaw memory doctor --repair all`." in refused.err
    assert brain.rows() == before
    assert memory("doctor", "--repair", "all", "--yes").code == 0
    assert memory("forget", "pet", "--yes", "--json").json["count"] == 1
    assert memory("recall", "Mio", "--json").json["results"] == []


def test_an_incomplete_keyword_index_is_reported(memory: Command, brain: Brain) -> None:
    before = brain.rows()
    brain.execute("INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')")
    refused = memory("edit", "pet", "--content", "Dog named Rex")
    assert (refused.code, "keyword index does not match the memories" in refused.err) == (3, True)
    assert brain.rows() == before
    assert memory("doctor", "--repair", "all", "--yes").code == 0
    assert memory("purge", "--category", "core", "--yes").code == 0
    assert memory("undo", "--yes").code == 0
    assert brain.rows() == before
    brain.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")


def test_the_reason_why_a_store_is_read_only_is_printed_once(memory: Command, brain: Brain) -> None:
    brain.execute("DROP TABLE embedding_cache", "CREATE TABLE embedding_cache (content_hash TEXT)")
    for command in (("store", "k", "v"), ("forget", "pet", "--yes"), ("undo", "--yes"), ("clear", "--yes", "--json")):
        refused = memory(*command)
        assert (refused.code, refused.message) == (1, "")
        assert refused.err.count("no ZeroClaw version can open it") == 1


def test_a_broken_trash_is_reported_in_one_sentence(memory: Command, install: Path) -> None:
    (install / "zeroclaw-tui").mkdir()
    (install / "zeroclaw-tui" / "trash.db").write_bytes(b"no database at all " * 300)
    for command in (("trash", "list"), ("forget", "pet", "--yes"), ("undo", "--yes"), ("store", "k", "v")):
        answer = memory(*command)
        assert (answer.code, answer.out) == (3, "")
        assert "trash.db" in answer.err
        assert "Traceback" not in answer.err
    assert memory("get", "pet").code == 0


_BESIDE = """
import sqlite3, sys
import zeroclaw_tui.curation.changes as module
done = module.{name}
async def with_another(*arguments, **more):
    with sqlite3.connect({database!r}) as connection:
        connection.execute("UPDATE memories SET content = 'written at the same time' WHERE key = 'pet'")
    connection.close()
    return await done(*arguments, **more)
module.{name} = with_another
from zeroclaw_tui.cli.main import zeroclaw
sys.argv = ['zeroclaw', 'memory', '--config-dir', {install!r}, *{arguments!r}]
sys.exit(zeroclaw())
"""


def test_a_memory_changed_by_another_program_is_not_edited_or_deleted(
    memory: Command, install: Path, brain: Brain
) -> None:
    def run_with_writer(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        code = _BESIDE.format(name=name, database=str(brain.path), install=str(install), arguments=arguments)
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    edited = run_with_writer("edit_memory", "edit", "pet", "--content", "mine")
    assert (edited.returncode, edited.stdout) == (1, "")
    assert "Another program changed this memory" in edited.stderr
    brain.execute("UPDATE memories SET content = 'Cat' WHERE key = 'pet'")
    purged = run_with_writer("remove_memories", "purge", "--session", "tg_1", "--yes", "--json")
    document = json.loads(purged.stdout)
    assert (purged.returncode, document["count"], document["changed"]) == (1, 1, ["id-2"])
    assert [entry["key"] for entry in document["entries"]] == ["tz"]
    assert memory("get", "pet", "--json").json["content"] == "written at the same time"


_INTERRUPTED = """
import os, signal, sys, threading
import zeroclaw_tui.cli.plans as plans
real = plans.Progress.advance
# A signal that comes right before the loop waits is only heard once something else wakes it.
signal.signal(signal.SIGUSR1, lambda *_: None)
def advance(self, done):
    if 0 < done < 2400 and not self.stopped:
        os.kill(os.getpid(), signal.SIGINT)
        while not self.stopped: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    return real(self, done)
plans.Progress.advance = advance
from zeroclaw_tui.cli.main import zeroclaw
sys.argv = ['zeroclaw', 'memory', '--config-dir', {install!r}, *{arguments!r}]
sys.exit(zeroclaw())
"""


def test_ctrl_c_stops_a_purge_or_an_undo_and_undo_can_continue(memory: Command, install: Path, brain: Brain) -> None:
    brain.add_noise(2400)
    before = brain.rows()

    def interrupted(*arguments: str) -> dict[str, Any]:
        code = _INTERRUPTED.format(install=str(install), arguments=(*arguments, "--yes", "--json"))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 130, done.stderr
        assert "Stopped after " in done.stderr
        assert "Traceback" not in done.stderr
        return dict(json.loads(done.stdout))

    purged = interrupted("purge", "--category", "noise")["count"]
    assert len(brain.rows()) == len(before) - purged
    assert memory("purge", "--category", "noise", "--yes").code == 0
    undone = interrupted("undo")["count"]
    assert 0 < undone < 2400 - purged
    assert memory("undo", "--yes", "--json").json["count"] == 2400 - purged - undone
    assert memory("undo", "--yes", "--json").json["count"] == purged
    assert brain.rows() == before


def test_changes_are_checkpointed_unless_another_program_has_the_database_open(
    memory: Command, brain: Brain, tmp_path: Path
) -> None:
    """ZeroClaw 0.8 moves the database without its log, and so does a user who copies only the file."""
    assert memory("forget", "pet", "--yes").code == 0
    alone = Path(shutil.copy(brain.path, tmp_path / "alone.db"))
    with closing(sqlite3.connect(alone)) as connection:
        assert connection.execute("SELECT count(*) FROM memories WHERE key = 'pet'").fetchone() == (0,)
    with closing(sqlite3.connect(brain.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        before = other.execute("SELECT count(*) FROM memories").fetchone()
        done = memory("forget", "tz", "--yes")
        assert (done.code, done.err) == (0, "")
        assert brain.path.with_name("brain.db-wal").stat().st_size > 0
        other.execute("COMMIT")
        assert other.execute("SELECT count(*) FROM memories").fetchone() == (before[0] - 1,)


def test_the_trash_of_a_database_without_install_is_in_the_home_folder(
    run: Command, brain: Brain, tmp_path: Path
) -> None:
    lone = tmp_path / "a copy.db"
    brain.path.rename(lone)
    forgotten = run("memory", "forget", "pet", "--yes", "--location", str(lone))
    assert forgotten.code == 0
    assert [path.name for path in Path.home().rglob("trash.db")] == ["trash.db"]
    assert list(tmp_path.glob("*trash*")) == []
    # The printed command opens the same store.
    _, *undo = shlex.split(forgotten.out.split("`")[1])
    assert run(*undo, "--yes").code == 0
    assert run("memory", "get", "pet", "--location", str(lone)).code == 0
