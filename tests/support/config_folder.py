"""A folder with a config.toml, and the functions that create and save it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from zeroclaw_tui.config.save import Backup, save_config
from zeroclaw_tui.config.toml import read_config

OLD = b'# mine\r\n[memory]\nbackend = "sqlite"\n'
NEW = OLD.replace(b"sqlite", b"postgres")
NOW = datetime(2026, 11, 22, 4, 15, 30, 250_000, tzinfo=UTC)


@dataclass(frozen=True)
class Folder:
    """A config dir and what is saved in it."""

    config: Path

    @property
    def own_dir(self) -> Path:
        return self.config.parent / "zeroclaw-tui"

    @property
    def backups(self) -> Path:
        return self.own_dir / "backups"

    def temporary_files(self) -> list[str]:
        return [path.name for path in self.config.parent.parent.rglob("*") if ".zeroclaw-tui-" in path.name]


def make_folder(parent: Path) -> Folder:
    """Create a config.toml with mode 0644 and the bytes `OLD`."""
    config = parent / "install" / "config.toml"
    config.parent.mkdir()
    config.write_bytes(OLD)
    config.chmod(0o644)
    return Folder(config)


def saved_backup(folder: Folder, after: bytes = NEW, now: datetime = NOW) -> Backup:
    backup = save_config(folder.config, read_config(folder.config), after, folder.own_dir, now)
    assert backup is not None
    return backup
