"""`zeroclaw memory` on Markdown: which files of a folder are an agent's memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.warm_start import run_memory


def listed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_memory(*arguments, environment={**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"})


NO_MEMORY = {"SOUL.md": "# Soul\n- Steph is kind\n", "AGENTS.md": "- Steph asks first\n", "README.md": "Steph\n"}


def workspace_in(folder: Path) -> Path:
    """Create a workspace in which ZeroClaw finds no memory."""
    folder.mkdir(parents=True)
    for name, text in NO_MEMORY.items():
        (folder / name).write_text(text)
    return folder


def named_workspace(tmp_path: Path, how: str) -> tuple[Path, tuple[str, ...]]:
    """Return a workspace without memory and the options that name it."""
    config = '[memory]\nbackend = "markdown"\nauto_save = true\n'
    if how == "an agent of a config dir":
        workspace = workspace_in(tmp_path / "z" / "agents" / "default" / "workspace")
        (tmp_path / "z" / "config.toml").write_text(
            'schema_version = 3\n[memory]\nbackend = "markdown.default"\n[agents.default]\n'
        )
        return workspace, ("--config-dir", str(tmp_path / "z"), "--agent", "default")
    workspace = workspace_in(tmp_path / "z" / "workspace")
    if how == "a config dir":
        (tmp_path / "z" / "config.toml").write_text(config)
        return workspace, ("--config-dir", str(tmp_path / "z"))
    return workspace, ("--backend", "markdown", "--location", str(workspace))


@pytest.mark.parametrize("how", ["a config dir", "an agent of a config dir", "a folder"])
def test_the_first_memory_can_be_stored_in_an_empty_workspace(tmp_path, how):
    """No other file in it is shown, recalled or cleared as memory."""
    workspace, where = named_workspace(tmp_path, how)
    assert json.loads(listed(*where, "list", "--json").stdout)["total"] == 0
    assert json.loads(listed(*where, "recall", "Steph", "--json").stdout)["results"] == []
    assert listed(*where, "prompt", "Steph").stdout == ""
    assert json.loads(listed(*where, "audit", "--json").stdout)["rows"] == 0
    cleared = listed(*(option for option in where if option not in ("--agent", "default")), "clear", "--yes")
    assert cleared.returncode == 0
    stored = listed(*where, "store", "lang", "Prefers Rust")
    assert stored.returncode == 0, stored.stderr
    assert (workspace / "MEMORY.md").read_text() == "# Long-Term Memory\n\n- **lang**: Prefers Rust\n"
    assert {name: (workspace / name).read_text() for name in NO_MEMORY} == NO_MEMORY
    assert json.loads(listed(*where, "list", "--json").stdout)["total"] == 1
