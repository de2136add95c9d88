"""Run the real scripts as processes on small databases with ZeroClaw's own tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onboard_samples import CONFIG
from support.commands import Answer, Brain, Command, run_command
from support.installs import make_install
from support.warm_start import SCRIPTS


@pytest.fixture
def script() -> Callable[[str], str]:
    """Return the path of an installed console script."""
    return lambda name: str(SCRIPTS / name)


@pytest.fixture
def run() -> Command:
    """Run an installed script without a terminal; fail if it prints a traceback or a secret ("…sekret…")."""

    def run(*arguments: str, **more: Any) -> Answer:
        answer = run_command(*arguments, **more)
        assert not re.search(b"Traceback|Internal error|sekret", answer.raw + answer.err.encode())
        return answer

    return run


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """Return a PATH whose first `zeroclaw` prints its arguments, one per line, and exits with 7."""
    program = tmp_path / "bin" / "zeroclaw"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor argument; do printf "<%s>\\n" "$argument"; done\nexit 7\n')
    program.chmod(0o755)
    return f"{program.parent}:/usr/bin:/bin"


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    """A small config of ZeroClaw <= 0.7.5 with comments and a channel."""
    file = tmp_path / "zc" / "config.toml"
    file.parent.mkdir()
    file.write_text(CONFIG)
    return file


@pytest.fixture
def onboard(run: Command, tmp_path: Path) -> Command:
    """Run `zeroclaw onboard --config-dir DIR ...`."""
    return lambda *arguments, **more: run("onboard", "--config-dir", str(tmp_path / "zc"), *arguments, **more)


@pytest.fixture
def memory(run: Command, install: Path) -> Command:
    """Run `zeroclaw memory ...` on the small install."""
    return lambda *arguments, **more: run("memory", *arguments, **{"ZEROCLAW_CONFIG_DIR": str(install)} | more)


ROWS = (
    ("lang", "User prefers Rust", "core", None),
    ("editor", "User uses Helix editor daily", "core", None),
    ("pet", "Cat named Mio", "core", "tg_1"),
    ("tz", "Timezone is EST", "daily", "tg_1"),
    ("food", "Likes ramen and rust colored plates\nand tea", "travel notes", None),
    ("food_allergy", "Allergic to peanuts", "core", "tg_2"),
    ("--json", "A key that looks like an option", "core", None),
    ("", "The empty key", "core", None),
)
"""Key, content, category and session; one memory per day from the first of March."""


def row(
    memory_id: str, key: str, content: str, category: str = "core", day: str = "03-01", **more: Any
) -> dict[str, Any]:
    """Return a database row stored at ten o'clock on a day of 2026."""
    at = f"2026-{day}T10:00:00+00:00"
    named = {"id": memory_id, "key": key, "content": content, "category": category}
    return named | {"created_at": at, "updated_at": at} | more


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A config dir of the 0.5.7-0.7.5 generation with eight memories and a superseded one."""
    rows = [
        row(f"id-{at}", key, content, category, f"03-0{at + 1}", session_id=session)
        for at, (key, content, category, session) in enumerate(ROWS)
    ]
    rows.append(row("id-old", "lang_old", "User prefers C", day="02-01", superseded_by="id-0"))
    return make_install(tmp_path / "zc", "G2", rows).config_dir


@pytest.fixture
def agents_install(tmp_path: Path) -> Path:
    """A config dir of 0.8.3 or later whose agents `default` and `writer` both have the key `lang`."""
    rows = [row(f"lang-{agent}", "lang", f"Rust, says {agent}", agent=agent) for agent in ("default", "writer")]
    rows.append(row("pen", "pen", "Rust coloured ink", agent="writer"))
    return make_install(tmp_path / "zc8", "G4", rows).config_dir


@pytest.fixture
def brain(install: Path) -> Brain:
    return Brain(install / "workspace" / "memory" / "brain.db")
