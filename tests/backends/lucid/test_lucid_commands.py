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
