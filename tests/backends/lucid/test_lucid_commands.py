"""The commands as processes, on an install that is configured for lucid, with the stand-in on PATH."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.lucid_program import LucidProgram, write_program
from support.small_store import make
from support.warm_start import run_memory

CONFIG = 'default_temperature = 0.7\n[memory]\nbackend = "lucid"\nauto_save = true\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "lucid.work"\n[storage.lucid.work]\nrecall_timeout_ms = 60000\n'
ROWS = [{"key": "tea", "content": "Likes green tea"}, {"key": "cup", "content": "The blue cup"}]
LUCID = [("decision", "lang: prefers tea"), ("Visual, image", "a \x1b[31mpot of tea")]

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def install(folder: Path, text: str = CONFIG, generation: str = "G2", layout: str = "workspace") -> None:
    database = folder / ".zeroclaw" / layout / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / ".zeroclaw" / "config.toml").write_text(text)
    make(database, generation, ROWS)


@pytest.fixture
def program(tmp_path: Path) -> LucidProgram:
    return write_program(tmp_path / "bin", memories=LUCID)


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Run `zeroclaw memory …` with the folder `bin` first on PATH."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
            "ZEROCLAW_LUCID_RECALL_TIMEOUT_MS": "60000",
            "ZEROCLAW_LUCID_STORE_TIMEOUT_MS": "60000",
            **variables,
        }
        return run_memory(*arguments, environment=environment)

    return run


def stages(document: dict[str, Any]) -> Sequence[tuple[str, str]]:
    return [(row["key"], row["stage"]) for row in document["results"]]


def test_recall_has_lucid_s_rows(tmp_path: Path, program: LucidProgram, run: Command) -> None:
    """Marked by their stage; the arguments are ZeroClaw's; what happened is reported next to the document."""
    install(tmp_path)
    done = run("recall", "tea", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert (document["backend"], document["mode"]) == ("lucid", "keyword")
    assert stages(document) == [("tea", "keyword"), ("lucid_0", "lucid"), ("lucid_1", "lucid")]
    assert [row["score"] for row in document["results"][1:]] == [1.0, 0.95]
    assert document["results"][2]["content"] == "a \x1b[31mpot of tea"
    assert "zeroclaw: Lucid was asked and gave 2 memories." in done.stderr
    assert program.calls == [["context", "tea", "--budget=200", f"--project={tmp_path}/.zeroclaw/workspace"]]


def test_no_agent_from_0_8_0_on_is_given_what_lucid_adds(tmp_path: Path, program: LucidProgram, run: Command) -> None:
    """It is shown as kept from the agent, and none of it counts as injected; 0.7.5 injects it."""
    install(tmp_path, f'{MODERN}binary_path = "{program.path}"\n', "G4", "data")
    for version in ("0.8.0", "0.8.4"):
        assert stages(json.loads(run("--profile", version, "recall", "tea", "--json").stdout)) == [("tea", "keyword")]
        assert "withheld from the agent: lucid_1 (lucid's own)" in run("--profile", version, "recall", "tea").stdout
    earlier = json.loads(run("--profile", "0.7.5", "recall", "tea", "--json").stdout)
    assert [row["injected"] for row in earlier["results"] if row["stage"] == "lucid"] == [True, True]


def test_upkeep_works_on_the_database(tmp_path: Path, program: LucidProgram, run: Command) -> None:
    """Doctor, statistics, hygiene, snapshot and compacting are SQLite's; none of them runs the program."""
    install(tmp_path)
    for arguments in (
        ("doctor", "--json"),
        ("stats", "--json"),
        ("hygiene", "--json", "--yes"),
        ("snapshot", "--json"),
        ("audit", "--json"),
        ("doctor", "--compact", "--dry-run"),
        ("health", "--json"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    health = json.loads(done.stdout)
    assert health["backend"] == "lucid"
    assert health["facts"]["lucid program"] == str(program.path)
    assert program.calls == []
