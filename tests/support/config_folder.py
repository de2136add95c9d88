"""A folder with a config, and what calls something as a user without rights."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.save import Backup, save_config
from zeroclaw_tui.config.toml import read_config

NOBODY = 65534
OLD = b'# mine\r\n[memory]\nbackend = "sqlite"\n'
NEW = OLD.replace(b"sqlite", b"postgres")
NOW = datetime(2026, 11, 22, 4, 15, 30, 250_000, tzinfo=UTC)


@dataclass(frozen=True)
class Folder:
    """A config dir with a config.toml of 0644 whose bytes are `OLD`."""

    config: Path

    @property
    def own_dir(self) -> Path:
        return self.config.parent / "zeroclaw-tui"

    @property
    def backups(self) -> Path:
        return self.own_dir / "backups"

    def temporary_files(self) -> list[str]:
        return [path.name for path in self.config.parent.parent.rglob("*") if ".zeroclaw-tui-" in path.name]


def made(parent: Path) -> Folder:
    config = parent / "install" / "config.toml"
    config.parent.mkdir()
    config.write_bytes(OLD)
    config.chmod(0o644)
    return Folder(config)


def saved(folder: Folder, after: bytes = NEW, now: datetime = NOW) -> Backup:
    backup = save_config(folder.config, read_config(folder.config), after, folder.own_dir, now)
    assert backup is not None
    return backup


def in_child(work: Callable[[], Any], queue: Any) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        queue.put(work())
    except Exception as error:  # noqa: BLE001 - the parent gets every failure
        queue.put((type(error).__name__, str(error)))
