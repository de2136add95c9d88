"""What was left half written around a store, by this program, by ZeroClaw or by another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.factory import has_database, has_notes
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.files.disk import is_abandoned, is_unfinished, names_in, remove_stale_temp_files
from zeroclaw_tui.memory.errors import InspectorError

Writer = Literal["ours", "zeroclaw", "unknown"]

_ZEROCLAWS = re.compile(
    r"\.config\.toml\.tmp-.+|\.active_workspace\.toml\.tmp-.+|runtime-trace\.(tmp|migrate)\.\d+\.\d+", re.DOTALL
)
"""How ZeroClaw (0.1.2 to 0.8.4) names what it writes before it renames it."""
_UNKNOWN = re.compile(r"\.[a-z0-9_]{8}\.tmp")
"""A name as many programs give one to a file that is not whole yet."""
_BELOW_ROOT = ("", "state", "memory", "memory/archive", "sessions", "sessions/archive")


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file or folder that was never put in its place. `is_abandoned` is None where nothing proves that nobody is
    still writing it."""

    path: Path
    writer: Writer
    is_abandoned: bool | None


def find_leftovers(config: MemoryConfig) -> list[Leftover]:
    """What lies half written around a store, but for what is being written at this moment. Raises Unreadable."""
    found: list[Leftover] = []
    for folder in _folders(config):
        for name in names_in(folder):
            path = folder / name
            if is_unfinished(name):
                gone = is_abandoned(path)
                if gone is not False:
                    found.append(Leftover(path, "ours", gone))
            elif _ZEROCLAWS.fullmatch(name):
                found.append(Leftover(path, "zeroclaw", None))
            elif _UNKNOWN.fullmatch(name):
                found.append(Leftover(path, "unknown", None))
    return found


def remove_leftovers(config: MemoryConfig) -> None:
    """Remove what runs of this program left that were killed, where its lock proves that the writer is gone.

    What cannot be looked at or removed stays, for `find_leftovers` to name.
    """
    with suppress(InspectorError):
        for folder in _folders(config):
            with suppress(OSError):
                remove_stale_temp_files(folder)


def _folders(config: MemoryConfig) -> list[Path]:
    """Where files are written for this store, those that are there, each once."""
    return list({os.path.realpath(folder): folder for folder in _all_folders(config) if folder.is_dir()}.values())


def _all_folders(config: MemoryConfig) -> Iterator[Path]:
    install = config.install
    yield install.own_dir
    yield install.own_dir / "backups"
    roots = [install.root]
    if install.config_dir is not None:
        yield install.config_dir
        agents = install.config_dir / "agents"
        roots += [agents / name / "workspace" for name in names_in(agents)]
    if has_database(config.backend):
        yield config.database.parent
    elif has_notes(config.backend) and config.location is not None:
        roots.append(Path(config.location))
    for root in roots:
        yield from (root / name for name in _BELOW_ROOT)
