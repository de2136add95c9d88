"""`zeroclaw memory list --blocks` shows blocks, and says so where a store has none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from zeroclaw_tui.backends.sqlite.ddl import create_database


def listed(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "zeroclaw"), "memory", *arguments]
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


def test_the_list_command_shows_blocks(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Mine\n\n- **lang**: Rust\n  - nested\n\n```\nopen\n")
    where = ("--backend", "markdown", "--location", str(tmp_path))
    done = listed(*where, "list", "--blocks", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert [(entry["id"], entry["key"]) for entry in document["entries"]] == [
        ("MEMORY:0-1", "lang"),
        ("MEMORY:2-3", "Mine"),
    ]
    assert document["total"] == 2
    assert "Nothing closes the code fence in line 6 of MEMORY.md" in listed(*where, "health").stdout
    one = listed(*where, "get", "--id", "MEMORY:0-1", "--json")
    assert json.loads(one.stdout)["content"] == "- **lang**: Rust\n  - nested"
    refused = listed(*where, "edit", "--id", "MEMORY:0-1", "--content", "x")
    assert refused.returncode == 1
    assert "a memory for each of its lines" in refused.stderr


def test_a_store_without_blocks_says_so(tmp_path: Path) -> None:
    create_database(tmp_path / "brain.db", "G1")
    done = listed("--location", str(tmp_path / "brain.db"), "list", "--blocks")
    assert done.returncode == 1
    assert "sqlite has no blocks to show." in done.stderr
