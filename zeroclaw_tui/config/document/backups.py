"""The dated versions of config.toml that are kept beside it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from zeroclaw_tui.config.document.replacing import PRIVATE_FOLDER, make_folder, sync_folder, written_beside
from zeroclaw_tui.memory.errors import Unreadable

BACKUPS_KEPT = 10
_STAMP = "%Y-%m-%dT%H%M%S.%fZ"
_NAME = re.compile(r"config\.(\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z)\.toml")


@dataclass(frozen=True, slots=True)
class Backup:
    """One kept version of a config. `name` is what `--restore NAME` takes."""

    path: Path
    name: str
    when: datetime


def backups_folder(own_dir: Path) -> Path:
    """Where the backups lie."""
    return own_dir / "backups"


def make_backups_folder(own_dir: Path) -> Path:
    """The folder of the backups, made if it is missing, 0700. Raises OSError."""
    folder = backups_folder(own_dir)
    make_folder(folder)
    if folder.stat().st_mode & 0o777 != PRIVATE_FOLDER:
        folder.chmod(PRIVATE_FOLDER)
    return folder


def list_backups(own_dir: Path) -> tuple[Backup, ...]:
    """The backups, newest first; empty when there are none. Raises Unreadable when the folder cannot be read."""
    folder = backups_folder(own_dir)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Unreadable(
            f"The backups in {folder} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    stamps = [found.group(1) for name in names if (found := _NAME.fullmatch(name))]
    found_backups = [_backup(folder, when) for stamp in stamps if (when := _time_of(stamp)) is not None]
    return tuple(sorted(found_backups, key=lambda backup: backup.when, reverse=True))


def read_backup(backup: Backup) -> bytes:
    """The bytes of a backup. Raises Unreadable when it went meanwhile."""
    try:
        return backup.path.read_bytes()
    except FileNotFoundError as error:
        raise Unreadable(
            f"The backup {backup.name} is no longer there.", hint="`zeroclaw onboard --restore` lists those there are."
        ) from error
    except OSError as error:
        raise Unreadable(
            f"The backup {backup.path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error


def make_backup(own_dir: Path, data: bytes, now: datetime) -> Backup:
    """Keep `data`, durable, under a time later than that of every other backup. Raises OSError, Unreadable."""
    folder = make_backups_folder(own_dir)
    backup = _backup(folder, _moment(now, list_backups(own_dir)))
    with written_beside(backup.path, data) as beside:
        beside.replace(backup.path)
    try:
        sync_folder(folder)
    except OSError:
        withdraw_backup(backup)
        raise
    return backup


def withdraw_backup(backup: Backup) -> None:
    """Remove the backup of a save that did not happen, lest failures push out the older ones."""
    # The failure itself is on its way to be told; one backup too many harms nobody.
    with suppress(OSError):
        backup.path.unlink()


def prune_backups(own_dir: Path) -> None:
    """Remove all but the newest ten; one that cannot be removed is left for the next time."""
    for backup in list_backups(own_dir)[BACKUPS_KEPT:]:
        with suppress(OSError):
            backup.path.unlink()


def _moment(now: datetime, others: tuple[Backup, ...]) -> datetime:
    """The second, which is short to type; where that is taken, or the clock went back, a moment after the newest."""
    exact = now.astimezone(UTC)
    newest = others[0].when if others else datetime.min.replace(tzinfo=UTC)
    whole = exact.replace(microsecond=0)
    return whole if whole > newest else max(exact, newest + timedelta(microseconds=1))


def _backup(folder: Path, when: datetime) -> Backup:
    stamp = when.strftime(_STAMP)
    return Backup(folder / f"config.{stamp}.toml", stamp.replace(".000000Z", "Z"), when)


def _time_of(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        # Digits that are no date: not a name of ours, so the file is left alone.
        return None
