"""Putting a config.toml in place in one step, its dated backups, and what differs between two versions of it."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.masking import masked_line, masked_toml
from zeroclaw_tui.files.disk import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    NotARegularFileError,
    cannot_write,
    make_folder,
    read_regular,
    remove_stale_temp_files,
    rename_exclusive,
    sync_folder,
    translate_os_errors,
    write_temp_file,
)
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, Unreadable
from zeroclaw_tui.memory.text import shell_word

_AGAIN = "Nothing was written. Run it again to start from the current file."
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EBADF})
BACKUPS_KEPT = 10
_STAMP = "%Y-%m-%dT%H%M%S.%fZ"
_NAME = re.compile(r"config\.(\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z)\.toml")
Kind = Literal["section", "removed", "added"]
Block = tuple[int, int, int, int]
"""Lines i1 to i2 of the old text stand where lines j1 to j2 of the new one do."""
_MOST_EQUAL_PAIRS = 50_000


def read_config(config_file: Path) -> bytes | None:
    """The bytes of a config, None when there is no such file.

    Raises BrokenConfig for a folder, a link to nothing, or a file that cannot be read, each with its own sentence.
    """
    try:
        return read_regular(config_file)
    except FileNotFoundError as error:
        if config_file.is_symlink():
            raise BrokenConfig(
                f"{config_file} is a link to {os.path.realpath(config_file)}, which is not there.",
                hint="Fix the link, or remove it to start with a new file.",
            ) from error
        return None
    except (IsADirectoryError, NotARegularFileError) as error:
        what = "is a directory, not a file" if isinstance(error, IsADirectoryError) else "is not a regular file"
        raise BrokenConfig(f"{config_file} {what}.", hint="Move it away; ZeroClaw expects its config there.") from error
    except OSError as error:
        raise _cannot_read(config_file, error) from error


def save_config(config_file: Path, before: bytes | None, after: bytes, own_dir: Path, now: datetime) -> Backup | None:
    """Put `after` in the place of `before`; the backup made of `before`, None when there was no file.

    First the backup, durable, then a temporary file beside the real one (a link is followed and stays a link), fsync,
    a last comparison with `before`, rename, fsync of the folder; mode 0600, owner kept. Only the last ten backups stay.
    Killed anywhere, the old or the new file is there, whole. Raises Refused when the file is no longer `before`, is
    write-protected, belongs to another user, or is being saved by another run (nothing is written), Unreadable when it
    cannot be written (no permission, full disk, read-only file system), each with what to do.
    """
    target = config_file if before is None else Path(os.path.realpath(config_file))
    _still(config_file, target, before)
    with translate_os_errors(config_file):
        if before is None:
            make_folder(config_file.parent)
        else:
            _may_write(target)
    with translate_os_errors(own_dir):
        folder = make_backups_folder(own_dir)
    with _alone(folder, config_file):
        with translate_os_errors(config_file):
            for place in {target.parent, config_file.parent, own_dir, folder}:
                remove_stale_temp_files(place)
        with translate_os_errors(own_dir):
            backup = None if before is None else make_backup(own_dir, before, now)
        _replace(config_file, target, before, after, backup)
        _made_durable(config_file, target)
        prune_backups(own_dir)
    return backup


def _cannot_read(config_file: Path, error: OSError) -> BrokenConfig:
    if error.errno == errno.ELOOP:
        return BrokenConfig(f"{config_file} is a link that leads in a circle.", hint="Mend the link.")
    if error.errno == errno.ENOTDIR:
        return BrokenConfig(
            f"{config_file} cannot be there: {config_file.parent} is not a directory.",
            hint="Name the config directory.",
        )
    if isinstance(error, PermissionError):
        return BrokenConfig(
            f"{config_file} cannot be read: you have no permission.", hint="Run it as the user ZeroClaw runs as."
        )
    return BrokenConfig(f"{config_file} cannot be read: {error.strerror}.", hint="Check the disk.")


def _still(config_file: Path, target: Path, before: bytes | None) -> None:
    """Raise Refused unless the file is what was read."""
    if before is None:
        if os.path.lexists(config_file):
            raise _made_meanwhile(config_file)
        return
    found = read_config(config_file)
    if found is None:
        raise Refused(f"{config_file} was removed while you were answering.", hint=_AGAIN)
    if found != before or Path(os.path.realpath(config_file)) != target:
        raise Refused(f"{config_file} was changed by another program while you were answering.", hint=_AGAIN)


def _made_meanwhile(config_file: Path) -> Refused:
    return Refused(f"{config_file} was created by another program while you were answering.", hint=_AGAIN)


def _may_write(target: Path) -> None:
    """A rename would replace a file that its owner has protected, so the file itself is asked."""
    if os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return
    if os.statvfs(target).f_flag & os.ST_RDONLY:
        raise cannot_write(target, OSError(errno.EROFS, os.strerror(errno.EROFS)))
    owner = target.stat().st_uid
    if owner != os.geteuid():
        raise Refused(
            f"{target} belongs to another user (id {owner}), and you may not write it.",
            hint="Nothing was written. Run it as that user.",
        )
    raise Refused(
        f"{target} is write-protected.",
        hint=f"Nothing was written. If it is meant to change: chmod u+w {shell_word(str(target))}",
    )


@contextmanager
def _alone(folder: Path, config_file: Path) -> Iterator[None]:
    """Keep other runs of this program out, whose temporary files would look like those of a killed run."""
    with translate_os_errors(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused(
                f"Another run of this program is writing {config_file} at this moment.", hint="Try again."
            ) from error
        except OSError as error:
            # Some network file systems have no locks; there the last comparison has to do.
            if error.errno not in _NO_LOCKS:
                raise cannot_write(folder, error) from error
        yield
    finally:
        os.close(handle)


def _replace(
    config_file: Path,
    target: Path,
    before: bytes | None,
    after: bytes,
    backup: Backup | None,
) -> None:
    try:
        with translate_os_errors(config_file), write_temp_file(target, after, mode=PRIVATE_FILE) as temporary:
            _still(config_file, target, before)
            if before is None:
                _put_first(temporary, target)
            else:
                temporary.replace(target)
    except BaseException:
        # An interrupt may come after the rename; then the old version lives in the backup alone.
        if backup is not None and _is_surely_not(target, after):
            withdraw_backup(backup)
        raise


def _put_first(temporary: Path, target: Path) -> None:
    try:
        rename_exclusive(temporary, target)
    except FileExistsError as error:
        raise _made_meanwhile(target) from error


def _is_surely_not(target: Path, after: bytes) -> bool:
    try:
        return target.read_bytes() != after
    except OSError:
        return False


def _made_durable(config_file: Path, target: Path) -> None:
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise Unreadable(
            f"{config_file} was written, but the disk did not confirm it: {error.strerror}.",
            hint="Check the disk and the file; the previous version is among the backups.",
        ) from error


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
            f"The backup {backup.name} is no longer there.", hint="Run it again with an existing one."
        ) from error
    except OSError as error:
        raise Unreadable(
            f"The backup {backup.path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error


def make_backup(own_dir: Path, data: bytes, now: datetime) -> Backup:
    """Keep `data`, durable, under a time later than that of every other backup. Raises OSError, Unreadable."""
    folder = make_backups_folder(own_dir)
    backup = _backup(folder, _moment(now, list_backups(own_dir)))
    with write_temp_file(backup.path, data) as temporary:
        temporary.replace(backup.path)
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


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`section` lines are the table headers that the changes below them stand in. `text` is masked, but not yet
    cleaned of control characters; it has no line end."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The lines that differ, and how many are replaced by another, added, removed and unchanged."""

    lines: tuple[DiffLine, ...]
    replaced: int
    added: int
    removed: int
    unchanged: int

    @property
    def differing(self) -> int:
        """How many lines differ, a replaced one counted once."""
        return self.replaced + self.added + self.removed


def difference(before: ConfigDocument, after: ConfigDocument) -> Difference:
    """Compare two documents. Values of keys that name a secret, `enc2:`/`enc:`/`op://` values, passwords in URLs and
    look-alike keys become four dots, also in multi-line strings, arrays and inline tables."""
    old, new = _Lines(before), _Lines(after)
    blocks = _changed_blocks(old.texts, new.texts)
    return _counted(_shown(old, new, blocks), blocks, len(old.texts))


class _Lines:
    """The lines of a text: as they are (to compare), as they may be shown, and under which header each stands.

    A config has thousands of lines and few that change: only the sections that contain these are masked.
    """

    def __init__(self, document: ConfigDocument) -> None:
        self.texts = _lines(document.text)
        self._headers: list[int | None] = []
        self._is_statement: list[bool] = []
        header = None
        for statement in document.statements:
            count = len(_lines(statement.text))
            if statement.is_header:
                header = len(self._headers)
            self._headers += [header] * count
            self._is_statement += [statement.kind != "other"] * count
        self._shown: dict[int, list[str]] = {}

    def shown(self, at: int) -> str:
        """A line without its secrets."""
        start = self._headers[at] or 0
        if start not in self._shown:
            end = bisect_right(self._headers, start, key=lambda header: header or 0)
            self._shown[start] = masked_toml("\n".join(self.texts[start:end])).split("\n")
        return self._shown[start][at - start]

    def header_of(self, at: int, block_end: int) -> int | None:
        """The header to show above a changed line, which can be in the changed block itself; None before the first."""
        following = next((line for line in range(at, block_end) if self._is_statement[line]), None)
        if following is not None and self._headers[following] == following:
            # A comment above a new header belongs to it, although TOML counts it to the section before.
            return following
        return self._headers[at]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Where the lines differ. What both begin and end with is set aside first, since the comparison is quadratic."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if old[len(old) - 1 - at] != new[len(new) - 1 - at]), rest)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    matcher = SequenceMatcher(None, before, after, autojunk=_are_alike(before, after))
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _are_alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """True where so many lines say the same that comparing each with each would take seconds.

    The matcher then looks for the rarer lines first, and sees the common ones only beside these.
    """
    counted = Counter(new)
    return sum(counted[line] for line in old) > _MOST_EQUAL_PAIRS


def _shown(old: _Lines, new: _Lines, blocks: Sequence[Block]) -> Iterator[DiffLine]:
    unchanged = _unchanged_lines(blocks, len(old.texts))
    section: tuple[str, int] | None = None
    for i1, i2, j1, j2 in blocks:
        sides: tuple[tuple[_Lines, Kind, int, int], ...] = ((old, "removed", i1, i2), (new, "added", j1, j2))
        for lines, kind, first, last in sides:
            for at in range(first, last):
                header = lines.header_of(at, last)
                # A header that stays is one and the same in both texts.
                found = None if header is None else _place(kind, header, unchanged)
                if found != section and header is not None and not first <= header < last:
                    yield DiffLine("section", lines.shown(header).strip())
                section = found
                yield DiffLine(kind, lines.shown(at))


def _place(kind: Kind, header: int, unchanged: dict[int, int]) -> tuple[Kind, int]:
    if kind == "removed" and header in unchanged:
        return "added", unchanged[header]
    return kind, header


def _unchanged_lines(blocks: Sequence[Block], count: int) -> dict[int, int]:
    """For each old line that stays, the new one it is."""
    unchanged: dict[int, int] = {}
    i = j = 0
    for i1, i2, _, j2 in [*blocks, (count, count, 0, 0)]:
        unchanged.update(zip(range(i, i1), range(j, j + i1 - i), strict=True))
        i, j = i2, j2
    return unchanged


def any_difference(before: bytes, after: bytes, path: Path) -> Difference:
    """Compare two versions by their bytes: as TOML, or by lines where one of them cannot be read."""
    try:
        return difference(ConfigDocument.from_bytes(before, path), ConfigDocument.from_bytes(after, path))
    except BrokenConfig:
        return _by_lines(_raw_lines(before), _raw_lines(after))


def _by_lines(before: list[str], after: list[str]) -> Difference:
    lines: list[DiffLine] = []
    blocks = _changed_blocks(before, after)
    shown = ""
    for i, j, k, m in blocks:
        header = _header_above(before, i)
        if header and header != shown:
            lines.append(DiffLine("section", masked_line(header)))
        shown = header
        lines += [DiffLine("removed", masked_line(line)) for line in before[i:j]]
        lines += [DiffLine("added", masked_line(line)) for line in after[k:m]]
    return _counted(lines, blocks, len(before))


def _counted(lines: Iterable[DiffLine], blocks: Sequence[Block], lines_before: int) -> Difference:
    sizes = [(i2 - i1, j2 - j1) for i1, i2, j1, j2 in blocks]
    replaced = sum(min(size) for size in sizes)
    removed = sum(before for before, _ in sizes)
    added = sum(after for _, after in sizes)
    return Difference(tuple(lines), replaced, added - replaced, removed - replaced, lines_before - removed)


def _raw_lines(raw: bytes) -> list[str]:
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _header_above(lines: list[str], at: int) -> str:
    above: Iterator[str] = (line for line in reversed(lines[:at]) if line.lstrip().startswith("["))
    return next(above, "")
