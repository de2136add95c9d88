"""Which files ZeroClaw's hygiene would archive and delete, and under which names they would be archived."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from zeroclaw_tui.curation.hygiene.dates import Cutoff, cutoff_at
from zeroclaw_tui.curation.hygiene.item import HygieneItem
from zeroclaw_tui.curation.hygiene.rules import HygieneRules, RuleName
from zeroclaw_tui.memory.days import day_of_note, day_of_session, shown_day
from zeroclaw_tui.memory.text import one_line

ARCHIVE = "archive"
_NUMBERED = 10_000
_SESSIONS_DATABASE = "sessions.db"


@dataclass(slots=True)
class FilesFound:
    """The items in ZeroClaw's order, and what could not be looked at. `is_whole` is False where ZeroClaw would stop."""

    items: list[HygieneItem] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file as it lies there: `size` in bytes, `changed` in nanoseconds since 1970."""

    name: str
    size: int
    changed: int


Age = Callable[[_Entry, Cutoff], str | None]
"""The date of a file that is older than a cutoff, None of any other."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Files of one kind: where they lie below the root, the rules for them, and how old each is."""

    folder: str
    archiving: RuleName
    purging: RuleName
    age: Age


def old_files(root: Path, rules: HygieneRules, as_of: datetime) -> FilesFound:
    """Look at memory/ and sessions/; files of one folder in the order of their names, where ZeroClaw takes any.

    A file that is archived and already old enough to be deleted is one item: ZeroClaw does both in one run, and goes by
    the name it has in the archive.
    """
    kinds = (
        _Kind("memory", "archive memory files", "purge memory archives", _age_of_notes(rules)),
        _Kind("sessions", "archive session files", "purge session archives", _age_of_sessions(rules)),
    )
    found, purged = FilesFound(), list[HygieneItem]()
    for kind in kinds:
        try:
            archived, deleted = _looked_at(root, kind, rules, as_of, found)
        except OSError as error:
            found.is_whole = False
            found.problems.append(
                f"{kind.folder}/ cannot be looked at ({error.strerror}), and ZeroClaw's hygiene stops there too."
            )
            continue
        found.items += archived
        purged += deleted
    found.items += purged
    return found


def _looked_at(
    root: Path, kind: _Kind, rules: HygieneRules, as_of: datetime, found: FilesFound
) -> tuple[list[HygieneItem], list[HygieneItem]]:
    """The items that are archived, and those that are only deleted."""
    folder = root / kind.folder
    archive = folder / ARCHIVE
    archived_names = _names(archive)
    archived: list[HygieneItem] = []
    purge_days = rules.days(kind.purging)
    purge = None if purge_days is None else cutoff_at(as_of, purge_days)
    archive_days = rules.days(kind.archiving)
    if archive_days is not None:
        cutoff = cutoff_at(as_of, archive_days)
        for entry in _files(folder):
            date = kind.age(entry, cutoff)
            if date is None:
                continue
            target = _free_name(entry.name, archived_names)
            if target is None:
                found.problems.append(
                    f"{one_line(entry.name)} has no free name in {kind.folder}/{ARCHIVE}/; ZeroClaw would overwrite "
                    "what has its name there."
                )
                continue
            archived_names.add(target)
            moved = _Entry(target, entry.size, entry.changed)
            going = purge is not None and kind.age(moved, purge) is not None
            archived.append(_item(kind.archiving, kind.folder, entry, date, target, and_purged=going))
            if entry.name == _SESSIONS_DATABASE:
                found.problems.append(
                    f"{kind.folder}/{entry.name} is the database of ZeroClaw's sessions, not a leftover: "
                    f"ZeroClaw {rules.version} archives it all the same. Leave it out to keep it in use."
                )
    if purge is None:
        return archived, []
    dated = [(entry, kind.age(entry, purge)) for entry in _files(archive)]
    below = f"{kind.folder}/{ARCHIVE}"
    return archived, [_item(kind.purging, below, entry, date) for entry, date in dated if date is not None]


def _item(
    rule: RuleName, folder: str, entry: _Entry, date: str, target: str | None = None, *, and_purged: bool = False
) -> HygieneItem:
    name = f"{folder}/{entry.name}"
    return HygieneItem(
        id=f"file:{name}",
        rule=rule,
        name=name,
        date=date,
        size=entry.size,
        target=None if target is None else f"{folder}/{ARCHIVE}/{target}",
        and_purged=and_purged,
        state=f"{entry.size} {entry.changed}",
    )


def _age_of_notes(rules: HygieneRules) -> Age:
    def age(entry: _Entry, cutoff: Cutoff) -> str | None:
        day = day_of_note(entry.name, reads_long=rules.reads_long_dates)
        return shown_day(day) if day is not None and cutoff.is_past(day) else None

    return age


def _age_of_sessions(rules: HygieneRules) -> Age:
    """By the day in the name, else by the last change; <= 0.8.1 any file, later only those of the old format."""

    def age(entry: _Entry, cutoff: Cutoff) -> str | None:
        day = day_of_session(entry.name)
        if day is not None:
            return shown_day(day) if cutoff.is_past(day) else None
        if not rules.archives_any_session_file and not entry.name.endswith((".jsonl", ".jsonl.migrated")):
            return None
        return _moment(entry.changed) if entry.changed < cutoff.nanoseconds else None

    return age


def _files(folder: Path) -> Iterator[_Entry]:
    """Everything in a folder that is no folder and whose name is UTF-8, as ZeroClaw looks at it."""
    if not folder.is_dir():
        return
    for name in sorted(os.listdir(folder)):
        path = folder / name
        try:
            name.encode()
            status = path.stat()
        except UnicodeEncodeError:
            continue
        except FileNotFoundError:
            # A link to nothing, or a file that went meanwhile.
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield _Entry(name, status.st_size, status.st_mtime_ns)


def _names(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.is_dir() else set()


def _free_name(name: str, taken: set[str]) -> str | None:
    """The name in the archive: its own, or with a number before its last ending."""
    if name not in taken:
        return name
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    end = f".{ending}" if ending else ""
    return next((free for at in range(1, _NUMBERED) if (free := f"{stem}_{at}{end}") not in taken), None)


def _moment(nanoseconds: int) -> str:
    try:
        return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).astimezone().isoformat()
    except (OverflowError, ValueError, OSError):
        return "before the calendar"
