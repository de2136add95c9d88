"""Replacing config.toml in one step, with a dated backup, and getting a backup back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

BACKUPS_KEPT = 10


@dataclass(frozen=True, slots=True)
class Backup:
    """One kept version of a config. `name` is what `--restore NAME` takes."""

    path: Path
    name: str
    when: datetime


def read_config(config_file: Path) -> bytes | None:
    """The bytes of a config, None when there is no such file.

    Raises BrokenConfig for a folder, a link to nothing, or a file that cannot be read, each with its own sentence.
    """
    raise NotImplementedError


def save_config(config_file: Path, before: bytes | None, after: bytes, own_dir: Path, now: datetime) -> Backup | None:
    """Put `after` in the place of `before`; the backup made of `before`, None when there was no file.

    First the backup, durable, then a temporary file beside the real one (a link is followed and stays a link), fsync,
    a last comparison with `before`, rename, fsync of the folder; mode 0600, owner kept. Only the last ten backups stay.
    Killed anywhere, the old or the new file is there, whole. Raises Refused when the file is no longer `before`
    (nothing is written), Unreadable when it cannot be written (no permission, full disk, read-only file system), each
    with what to do.
    """
    raise NotImplementedError


def list_backups(own_dir: Path) -> tuple[Backup, ...]:
    """The backups, newest first; empty when there are none. Raises Unreadable when the folder cannot be read."""
    raise NotImplementedError


def read_backup(backup: Backup) -> bytes:
    """The bytes of a backup. Raises Unreadable when it went meanwhile."""
    raise NotImplementedError


def write_private(path: Path, data: bytes) -> None:
    """Replace a file of our own in one step, 0600, its folder made 0700. Raises Unreadable when that fails."""
    raise NotImplementedError
