"""The first minute of a new user: an empty HOME, the wizard, and the commands named by it and the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.postgres_server import PostgresServer
from support.terminal import Terminal
from support.warm_start import run_memory

PROGRAMS = Path(sys.executable).parent
ZEROCLAW = str(PROGRAMS / "zeroclaw")
INSPECTOR = str(PROGRAMS / "zeroclaw-tui")
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
ONBOARD = next(iter(re.findall(r"bin/zeroclaw (onboard --interactive)", README))).split()
"""The first command in the README."""
BACKENDS = ("sqlite", "lucid", "postgres", "markdown")
USER, PASSWORD = "newcomer", "first-one-4713"


@pytest.fixture
def home(clean_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, with a working `lucid` on PATH but no ZeroClaw."""
    programs = clean_environment / "bin"
    programs.mkdir()
    (programs / "lucid").write_text("#!/bin/sh\nexit 0\n")
    (programs / "lucid").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.chdir(clean_environment)
    return clean_environment


@pytest.fixture(scope="module")
def server(postgres: PostgresServer) -> PostgresServer:
    postgres.make_user(USER, PASSWORD, owns=USER)
    return postgres


def memory(*arguments: str) -> tuple[int, str]:
    """Return a function that runs a command and returns its output."""
    done = run_memory(*arguments)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_new_user_gets_from_nothing_to_the_first_memory(backend: str, home: Path, server: PostgresServer) -> None:
    is_fresh = backend == BACKENDS[0]
    with Terminal([ZEROCLAW, *ONBOARD], lines=50, fresh=is_fresh) as screen:
        screen.wait_for("(not on PATH)", "Which settings do you want to configure?", "❯ Basics")
        screen.press("enter")
        screen.wait_for("Which memory backend?", "❯ SQLite", "(default)", "← back")
        screen.press(*["down"] * BACKENDS.index(backend), "enter")
        if backend == "postgres":
            screen.wait_for("Step 2 ", "PostgreSQL URL?", "ctrl+b back")
            # Text typed before that line appears would be echoed by the terminal itself.
            screen.wait_until(lambda: screen.text.rstrip().splitlines()[-1].startswith(" ❯"), "the line to type in")
            screen.press(server.url(USER, PASSWORD, USER), "enter")
            screen.wait_for("PostgreSQL: connects in")
        if backend == "sqlite":
            screen.wait_for("Step 2 ", "Keep conversation memories", "default 30", "ctrl+b back")
            screen.wait_until(lambda: screen.text.rstrip().splitlines()[-1].startswith(" ❯"), "the line to type in")
            screen.press("enter")
        if backend in ("sqlite", "lucid"):
            screen.wait_for("Embedding provider?", "ctrl+b back")
            screen.wait_until(lambda: screen.text.rstrip().splitlines()[-1].startswith(" ❯"), "the line to type in")
            screen.press("enter")
        screen.wait_for("❯ Write", "Cancel without saving")
        screen.press("enter")
        screen.wait_for("Saved ~/.zeroclaw/config.toml", "What next?", "Open the inspector")
        screen.press("enter")
        assert screen.wait_exit() == 0
        assert PASSWORD.encode() not in screen.raw

    for verb in (("list",), ("recall", "Rust"), ("stats",)):
        code, message = memory(*verb)
        assert code == 0, message
        assert "No memories yet" in message
        assert f"`{ZEROCLAW} memory store KEY TEXT` creates it now." in message
    with Terminal([INSPECTOR], fresh=is_fresh) as screen:
        screen.wait_for("No memories yet", "n create")
        screen.press("q")
        assert screen.wait_exit() == 0

    code, message = memory("store", "user_lang", "User prefers Rust")
    assert code == 0, message
    for verb in (("list",), ("recall", "Rust")):
        code, message = memory(*verb)
        assert (code, "User prefers Rust" in message) == (0, True), message
    with Terminal([INSPECTOR]) as screen:
        screen.wait_for("1 memory", "User prefers Rust")
        screen.press("q")
        assert screen.wait_exit() == 0
    code, message = memory("forget", "user_lang", "--yes")
    if backend == "lucid":
        assert "Lucid keeps its own copy" in message
    assert code == 0, message
    assert "No memory entries found." in memory("list")[1]


def test_the_inspector_creates_the_store_and_saves_the_first_memory(home: Path) -> None:
    made = subprocess.run([ZEROCLAW, "onboard", "--defaults"], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    with Terminal([INSPECTOR]) as screen:
        screen.wait_for("No memories yet", "n create")
        screen.press("n")
        screen.wait_for("0 memories", "write a memory")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert (home / ".zeroclaw/data/memory/brain.db").is_file()
