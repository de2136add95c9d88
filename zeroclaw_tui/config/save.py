"""Save a config.toml atomically, manage its dated backups, and compare two versions of it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, NamedTuple

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.masking import masked_toml
from zeroclaw_tui.config.toml import KeyPath, read_config
from zeroclaw_tui.files.disk import (
    PRIVATE_FILE,
    make_folder,
    names_in,
    read_bytes,
    rename,
    sync_folder,
    translate_os_errors,
    write_temp_file,
)
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.memory.text import shell_word

_AGAIN = "Nothing was written. Run it again to start from the current file."
MAX_BACKUPS = 10
_BACKUPS = "backups"
_STAMP = "%Y-%m-%dT%H%M%S.%fZ"
_NAME = re.compile(r"config\.(\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z)\.toml")
LineKind = Literal["section", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Backup:
    """An earlier version of a config. `name` is the argument for `--restore NAME`."""

    path: Path
    name: str
    when: datetime


def save_config(config_file: Path, before: bytes | None, after: bytes, own_dir: Path, now: datetime) -> Backup | None:
    """Replace `before` by `after`, and return the backup of `before`, None if there was no file.

    A temporary file in the same folder is written (a link is followed and stays a link), then the backup, both durable;
    after a last comparison with `before` it is renamed. After a kill at any point, one of both files exists completely.
    Raises Refused if the file is no longer `before` or write-protected, and Unreadable if writing fails.
    """
    target = config_file if before is None else Path(os.path.realpath(config_file))
    folder = own_dir / _BACKUPS
    _check_unchanged(config_file, target, before)
    with translate_os_errors(config_file):
        make_folder(config_file.parent)
        if before is not None:
            _check_writable(target)
    with translate_os_errors(own_dir):
        make_folder(folder)
    with translate_os_errors(config_file), write_temp_file(target, after, mode=PRIVATE_FILE) as temporary:
        with translate_os_errors(own_dir):
            backup = None if before is None else make_backup(own_dir, before, now)
        _check_unchanged(config_file, target, before)
        try:
            rename(temporary, target, replaces=before is not None)
        except FileExistsError as error:
            raise Refused(f"{target} was created by another program while you were answering.", hint=_AGAIN) from error
    # The file is already replaced, so errors from here on must not be raised.
    with suppress(OSError, Unreadable):
        sync_folder(target.parent)
        for old in list_backups(own_dir)[MAX_BACKUPS:]:
            _delete_backup(old)
    return backup


def _check_unchanged(config_file: Path, target: Path, before: bytes | None) -> None:
    """Raise Refused if the file has changed since it was read."""
    if before is None:
        happened = "created by another program" if os.path.lexists(config_file) else ""
    else:
        found = read_config(config_file)
        is_same = found == before and Path(os.path.realpath(config_file)) == target
        happened = "removed" if found is None else "" if is_same else "changed by another program"
    if happened:
        raise Refused(f"{config_file} was {happened} while you were answering.", hint=_AGAIN)


def _check_writable(target: Path) -> None:
    """Raise Refused for a write-protected file, because a rename would replace it anyway."""
    if os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return
    raise Refused(
        f"{target} is write-protected, belongs to another user, or is on a read-only file system.",
        hint=f"Nothing was written. If it is meant to change: chmod u+w {shell_word(str(target))}",
    )


def list_backups(own_dir: Path) -> tuple[Backup, ...]:
    """List the backups, newest first; empty if there are none. Raises Unreadable if the folder cannot be read."""
    folder = own_dir / _BACKUPS
    named = filter(None, map(_NAME.fullmatch, reversed(names_in(folder))))
    backups = (_backup(folder, when) for name in named if (when := _time_of(name[1])) is not None)
    return tuple(backup for backup in backups if not backup.path.is_symlink())


def read_backup(backup: Backup) -> bytes:
    """Read a backup. Raises Unreadable if it was removed or cannot be read."""
    data = read_bytes(backup.path)
    if data is None:
        raise Unreadable(f"The backup {backup.path} was removed.", hint="Choose another backup.")
    return data


def make_backup(own_dir: Path, data: bytes, now: datetime) -> Backup:
    """Write a durable backup, named after the current second, or after a time later than every other backup."""
    exact = now.astimezone(UTC)
    whole = exact.replace(microsecond=0)
    others = list_backups(own_dir)
    newest = others[0].when if others else datetime.min.replace(tzinfo=UTC)
    folder = own_dir / _BACKUPS
    backup = _backup(folder, whole if whole > newest else max(exact, newest + timedelta(microseconds=1)))
    with write_temp_file(backup.path, data) as temporary:
        temporary.replace(backup.path)
    try:
        sync_folder(folder)
    except OSError:
        _delete_backup(backup)
        raise
    return backup


def _delete_backup(backup: Backup) -> None:
    """Delete a backup; if that fails, the next save tries again."""
    with suppress(OSError):
        backup.path.unlink()


def _backup(folder: Path, when: datetime) -> Backup:
    stamp = when.strftime(_STAMP)
    return Backup(folder / f"config.{stamp}.toml", stamp.replace(".000000Z", "Z"), when)


def _time_of(stamp: str) -> datetime | None:
    """Parse the time in a backup's name; None for an invalid date."""
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ConfigDiffLine:
    """A differing line, or (`section`) the header of the table that contains the following lines."""

    kind: LineKind
    text: str
    """Masked and without line end; it may contain control characters."""
    path: KeyPath = ()
    """The full path of the key that it sets, empty for other lines."""


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """The differing lines, and the numbers of replaced, added, removed and unchanged lines."""

    lines: tuple[ConfigDiffLine, ...]
    replaced: int
    added: int
    removed: int
    unchanged: int

    @property
    def differing(self) -> int:
        """The number of differing lines, counting a replaced one once."""
        return self.replaced + self.added + self.removed


def compare_configs(before: ConfigDocument, after: ConfigDocument) -> ConfigDiff:
    """Compare two documents; secrets are masked in the result."""
    old, new = _lines_of(before), _lines_of(after)
    lines: list[ConfigDiffLine] = []
    replaced = added = removed = at_old = at_new = 0
    header = ""
    matcher = SequenceMatcher(None, [line.text for line in old], [line.text for line in new], autojunk=False)
    for start_old, start_new, length in matcher.get_matching_blocks():
        old_lines, new_lines = old[at_old:start_old], new[at_new:start_new]
        changed: list[tuple[LineKind, _Line]] = [("removed", line) for line in old_lines]
        for kind, line in [*changed, *(("added", line) for line in new_lines)]:
            if line.path and line.header not in ("", header):
                lines.append(ConfigDiffLine("section", line.header))
            if line.path or line.shown.strip() == line.header:
                header = line.header
            lines.append(ConfigDiffLine(kind, line.shown, line.path))
        pairs = min(len(old_lines), len(new_lines))
        replaced, added, removed = replaced + pairs, added + len(new_lines) - pairs, removed + len(old_lines) - pairs
        at_old, at_new = start_old + length, start_new + length
    return ConfigDiff(tuple(lines), replaced, added, removed, len(old) - replaced - removed)


class _Line(NamedTuple):
    """A line: the text to compare, and the text to show, without secrets."""

    text: str
    shown: str
    header: str
    """The header of its section, masked."""
    path: KeyPath
    """The key that it sets, empty for other lines."""


def _lines_of(document: ConfigDocument) -> list[_Line]:
    shown = iter(_split(masked_toml(document.text)))
    lines: list[_Line] = []
    header = ""
    for statement in document.statements:
        for number, text in enumerate(_split(statement.text)):
            masked = next(shown)
            header = masked.strip() if statement.is_header and number == 0 else header
            lines.append(_Line(text, masked, header, statement.path if statement.kind == "key" else ()))
    return lines


def _split(text: str) -> list[str]:
    """Split a text into lines without line ends."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
