"""Where the agents of ZeroClaw >= 0.8 keep their notes."""

from __future__ import annotations

from pathlib import Path

from zeroclaw_tui.config.layouts import is_folder
from zeroclaw_tui.config.memory_config import MemoryConfig


def agent_folders(config: MemoryConfig) -> dict[str, Path]:
    """Each agent's own folder of notes that is there: the path its config gives, else agents/<alias>/workspace."""
    folder = config.install.config_dir
    if config.location or config.install.layout != "data" or folder is None:
        return {}
    usual = {alias: folder / "agents" / alias / "workspace" for alias in config.agents}
    given = {alias: folder / Path(path).expanduser() for alias, path in config.agent_workspaces.items()}
    return {alias: path for alias, path in (usual | given).items() if is_folder(path)}
