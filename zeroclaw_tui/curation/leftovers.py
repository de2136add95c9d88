"""Files around a store that a killed program left before it renamed them to their target."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from zeroclaw_tui.backends.factory import has_database, has_notes
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.files.disk import names_in, remove_stale_temp_files
from zeroclaw_tui.memory.errors import InspectorError

_BELOW_ROOT = ("", "state", "memory", "memory/archive", "sessions", "sessions/archive")


def remove_leftovers(config: MemoryConfig) -> None:
    """Remove what killed runs of this program left, where a lock proves that the writer has ended."""
    with suppress(InspectorError):
        for folder in {os.path.realpath(folder): folder for folder in _folders(config)}.values():
            with suppress(OSError):
                remove_stale_temp_files(folder)


def _folders(config: MemoryConfig) -> Iterator[Path]:
    """The folders in which files of a store are written, whether or not they exist."""
    install = config.install
    yield from (install.own_dir, install.own_dir / "backups")
    if install.config_dir is not None:
        yield install.config_dir
    if has_database(config.backend):
        yield config.database.parent
    roots = [install.root]
    if has_notes(config.backend) and config.location is not None:
        roots.append(Path(config.location))
    if install.config_dir is not None:
        agents = install.config_dir / "agents"
        roots += [agents / name / "workspace" for name in names_in(agents)]
    for root in roots:
        yield from (root / name for name in _BELOW_ROOT)
