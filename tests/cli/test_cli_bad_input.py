"""Every failure is reported in one sentence with an exit code, never as a traceback."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from support.commands import Command

HOSTILE = "\x1b]0;owned\x07 \x9b31m [/bold] \u202egnp.exe \x00end"
RAW = "\x1b\x07\x9b\u202e\x00"


def _check_error(answer: Any, code: int) -> None:
    assert answer.code == code, answer.err
    assert answer.err.startswith("zeroclaw: ")
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_a_missing_install_is_reported(run: Command, tmp_path: Path) -> None:
    answer = run("memory", "list")
    _check_error(answer, 3)
    assert "--config-dir" in answer.err
    _check_error(run("memory", "list", "--location", str(tmp_path / "nowhere.db")), 3)
    _check_error(run("memory", "list", "--config-dir", str(tmp_path / "nowhere")), 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[memory]\nbackend = "sqlite\n', ""),
        (f"x = {'[' * 50_000}", ""),
        (None, "not a regular file"),  # A named pipe: reading one would wait for a writer forever.
    ],
    ids=["no end", "nested", "pipe"],
)
def test_an_unreadable_config_is_reported_in_one_sentence(
    memory: Command, install: Path, text: str | None, words: str
) -> None:
    config = install / "config.toml"
    config.unlink()
    if text is None:
        os.mkfifo(config)
    else:
        config.write_text(text)
    answer = memory("list")
    _check_error(answer, 2)
    assert len(answer.err.splitlines()) == 2
    assert "config.toml" in answer.err
    assert words in answer.err


@pytest.mark.parametrize("backend", ["markdown", "none"])
def test_a_database_path_is_opened_as_a_database_whatever_the_backend(
    run: Command, install: Path, tmp_path: Path, backend: str
) -> None:
    """It is never opened as notes, since a change would remove lines from it."""
    database, other = install / "workspace" / "memory" / "brain.db", tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text(f'[memory]\nbackend = "{backend}"\n')
    answer = run("memory", "list", "--location", str(database), "--config-dir", str(other))
    assert answer.code == 0
    assert "User prefers Rust" in answer.out
    answer = run("memory", "list", "--location", str(database), "--backend", "markdown")
    _check_error(answer, 3)
    assert f"There is no directory {database}" in answer.err


def test_health_json_is_printed_even_if_rows_are_damaged(memory: Command, install: Path) -> None:
    database = install / "workspace" / "memory" / "brain.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE memories SET content = ?", ("long " * 5000,))
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    whole = bytearray(database.read_bytes())
    whole[(root - 1) * size : root * size] = b"\xff" * size
    database.write_bytes(whole)
    answer = memory("health", "--json")
    assert (answer.code, answer.err) == (3, "")
    assert (answer.json["ok"], answer.json["generation"]) == (False, "G2")
    assert "corrupt" in answer.json["summary"]


@pytest.fixture
def hostile(install: Path) -> Path:
    """The install with terminal escapes in every column of a memory, and a memory that is not UTF-8."""
    at = "2026-04-01T10:00:00+00:00"
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection, connection:
        columns = "id, key, content, category, created_at, updated_at, session_id, namespace"
        statement = f"INSERT INTO memories ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        text = HOSTILE
        connection.execute(statement, (f"i{text}", f"evil{text}", f"rust {text}", text, at, at, text, text))
        broken = b"rust \xed\xa0\x80 \xff\xfe"
        connection.execute(
            statement.replace("?, ?, ?, ?", "?, ?, CAST(? AS TEXT), ?", 1),
            ("broken", "broken", broken, "core", at, at, None, "default"),
        )
    return install


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",), ("get", "evil"), ("get", "broken"), ("recall", "rust"), ("stats",), ("health",),
        ("get", "e"),
    ],
)  # fmt: skip
def test_control_characters_of_memories_do_not_reach_the_terminal(
    memory: Command, hostile: Path, arguments: tuple[str, ...]
) -> None:
    answer = memory(*arguments)
    assert answer.err == "" or "Traceback" not in answer.err
    assert not set(RAW) & set(answer.out + answer.err)


@pytest.mark.parametrize("variables", [{}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0"}])
def test_json_has_hostile_text_unchanged(memory: Command, hostile: Path, variables: dict[str, str]) -> None:
    answer = memory("get", "evil", "--json", **variables)
    assert answer.json["content"] == f"rust {HOSTILE}"
    assert answer.json["key"] == f"evil{HOSTILE}"
    assert not set(RAW) & set(answer.out)
    assert memory("get", "broken", "--json", **variables).json["content"].startswith("rust ")


def test_closing_stdout_early_is_no_error(script: Callable[[str], str], install: Path) -> None:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection, connection:
        connection.execute("UPDATE memories SET content = ?", ("long " * 100_000,))
    command = f"{script('zeroclaw')} memory list --json --config-dir {install} | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{\n  "backe', b"")


def test_an_unexpected_exception_is_reported_in_one_sentence(install: Path) -> None:
    code = (
        "import sys, zeroclaw_tui.cli.verbs as m\n"
        "def broken(given): raise KeyError('secret memory text')\n"
        "m.run_verb = broken\n"
        "from zeroclaw_tui.cli.main import zeroclaw\n"
        "sys.argv = ['zeroclaw', 'memory', 'list']\n"
        "sys.exit(zeroclaw())\n"
    )

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **variables}
        )

    calm = run()
    assert calm.returncode == 1
    assert "KeyError" in calm.stderr
    assert "report" in calm.stderr
    assert "Traceback" not in calm.stderr
    assert "secret memory text" not in calm.stderr
    assert "Traceback" in run(ZEROCLAW_TUI_DEBUG="1").stderr


def test_ctrl_c_exits_with_130(install: Path) -> None:
    code = (
        "import sys, os, signal, asyncio, zeroclaw_tui.cli.verbs as m\n"
        "async def slow(given): os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(60)\n"
        "m._run = slow\n"
        "from zeroclaw_tui.cli.main import zeroclaw\n"
        "sys.argv = ['zeroclaw', 'memory', 'list']\n"
        "sys.exit(zeroclaw())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


SHORT_WAIT = """
import sys
from zeroclaw_tui.files import database
database.BUSY_SECONDS = 0.05
from zeroclaw_tui.cli.main import zeroclaw
sys.exit(zeroclaw())
"""


@pytest.mark.parametrize(("lock", "arguments"), [("EXCLUSIVE", ("list",)), ("IMMEDIATE", ("store", "drink", "Oolong"))])
def test_a_locked_database_is_reported_after_the_timeout(
    memory: Command, install: Path, lock: str, arguments: tuple[str, ...]
) -> None:
    before = memory("list", "--json").json
    command = [sys.executable, "-c", SHORT_WAIT, "memory", "--config-dir", str(install), *arguments]
    database = install / "workspace" / "memory" / "brain.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute(f"BEGIN {lock}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("zeroclaw: ")
    assert "locked" in done.stderr
    assert "Traceback" not in done.stderr
    assert memory("list", "--json").json == before
    assert memory(*arguments).code == 0


def test_a_relevant_warning_about_the_config_is_on_stderr(memory: Command, install: Path) -> None:
    (install / "config.toml").write_text(
        '[memory]\nbackend = "sqlite"\nauto_save = "perhaps"\nkeyword_weight = "much"\nembedding_dimensions = 0\n'
    )
    recalled = memory("recall", "rust", "--json")
    assert recalled.code == 0
    assert "keyword_weight" in recalled.err
    assert "auto_save" not in recalled.err
    assert recalled.json["results"]
    for quiet in (("list",), ("get", "lang"), ("stats",), ("export", "-"), ("store", "k", "text")):
        answer = memory(*quiet)
        assert answer.code == 0
        assert "memory." not in answer.err
    message = " ".join(memory("health", "--json").json["findings"])
    assert "auto_save" in message
    assert "keyword_weight" in message
    assert "embedding_dimensions" not in message


@pytest.mark.parametrize(("verb", "unbuffered"), [(("stats",), "1"), (("stats", "--json"), ""), (("audit",), "")])
def test_a_full_stdout_is_reported_in_one_sentence(
    install: Path, script: Callable[[str], str], verb: tuple[str, ...], unbuffered: str
) -> None:
    command = [script("zeroclaw"), "memory", *verb, "--config-dir", str(install)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 3
    assert done.stderr.startswith("zeroclaw: Cannot write to stdout: ")
    assert "fault" not in done.stderr


def test_a_password_in_a_connection_string_is_never_shown(memory: Command, run: Command) -> None:
    string = "host=127.0.0.1 port=1 password=s3same-0pen user=x"
    for answer in (
        memory("list", "--backend", "postgres", "--location", string),
        memory("list", "--location", string, "--json"),
        memory("copy", "--to", "sqlite", "--to-location", string, "--yes"),
        memory("list", "--backend", "postgres", "--location", *string.split()),
        run(string, program="zeroclaw-tui"),
    ):
        assert answer.code == 2
        assert "s3same" not in answer.out + answer.err
    assert "postgres://user:password@host:5432/database" in memory("list", "--location", string).err


URLS = (
    "http://u:swordfish@127.0.0.1:6?api_key=tunafish", "https://u:swordfish@h/x?token=tunafish",
    "HTTP://u:swordfish@h:6333/#api_key=tunafish", "ftp://u:swordfish@h/tunafish",
    "http:/u:swordfish@h?api_key=tunafish",
    "postgres://u:swordfish@127.0.0.1:6/db?password=tunafish", "redis://:swordfish@127.0.0.1:6/0?password=tunafish",
)  # fmt: skip
VERBS = ("list", "health", "doctor", "stats", "recall rust", "store a b", "copy --to markdown")


@pytest.mark.parametrize(("backend", "url"), zip(cycle(["sqlite", "markdown", "none"]), URLS, strict=False))
def test_no_password_of_a_url_is_printed(run: Command, install: Path, backend: str, url: str) -> None:
    (install / "config.toml").write_text(f'[memory]\nbackend = "{backend}"\nauto_save = true\n')
    before = sorted(install.parent.rglob("*"))
    for verb in VERBS:
        for form in ((), ("--json",)):
            answer = run("memory", "--config-dir", str(install), *verb.split(), "--location", url, "--yes", *form)
            assert answer.code in (1, 2, 3), (verb, answer)
            assert "swordfish" not in answer.out + answer.err, (verb, answer)
            assert "tunafish" not in answer.out + answer.err, (verb, answer)
    assert sorted(install.parent.rglob("*")) == before
