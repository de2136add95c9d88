"""Which notes that a person names are no agent's memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from zeroclaw_tui.config.layouts import CORE_NAME, DAILY_FOLDER, exists, has_loose_markdown, holds_loose_notes
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.memory.errors import Refused


def is_loose(given: Path, config: MemoryConfig) -> bool:
    """Whether a folder or file that a person named is loose notes: no memory of an agent, and in no workspace.

    Raises Refused for a file of a workspace that is no memory.
    """
    is_file = given.is_file()
    if is_file and (given.name == CORE_NAME or given.parent.name == DAILY_FOLDER):
        return False
    folder = given.parent if is_file else given
    known = [config.install.root] if config.install.layout != "lone" else []
    known += agent_folders(replace(config, location=None)).values()
    loose = holds_loose_notes(folder) and not any(exists(path) and path.samefile(folder) for path in known)
    if is_file and not loose and has_loose_markdown(folder):
        raise Refused(
            f"{given} is no memory: of its folder ZeroClaw reads {CORE_NAME} and {DAILY_FOLDER}/*.md alone.",
            hint=f"--location {folder} opens the memory there.",
        )
    return loose
