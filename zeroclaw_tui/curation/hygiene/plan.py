"""Exactly which files and rows ZeroClaw's hygiene would take at a moment, and taking them as it does."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.cancellation import read_in_thread
from zeroclaw_tui.backends.factory import create_memory, has_database
from zeroclaw_tui.backends.health import Budget, Outdated, Retention
from zeroclaw_tui.backends.lookup import require_database, row_with_id
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import Outcome, refuse_read_only, run_change
from zeroclaw_tui.curation.external import canonical, file_row, link_target, read_file
from zeroclaw_tui.curation.hygiene.rules import ROWS_SINCE, HygieneRule, HygieneRules, RuleName, rules_for, rules_of
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.files.database import as_text, columns_of
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import AUDIT_LOG, Change, Journal, ProgressCallback, Row, RowChange, RowVersion, Value
from zeroclaw_tui.memory.days import Day, day_of_note, day_of_session, shown_day
from zeroclaw_tui.memory.errors import InspectorError, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.scoring.injection import zeroclaw_moment
from zeroclaw_tui.scoring.profiles import parse_version

INTERVAL_HOURS = 12
NAME = "memory_hygiene_state.json"

_LARGEST = 2**64 - 1
_RUNS = "so hygiene runs at the next start of the agent."

_NANOSECONDS = 1_000_000_000
ARCHIVE = "archive"
_NUMBERED = 10_000
_SESSIONS_DATABASE = "sessions.db"
_ORDER: Mapping[RuleName, int] = {name: at for at, name in enumerate(get_args(RuleName))}
_COUNTED_AS: Mapping[str, tuple[RuleName, ...]] = {
    "archived_memory_files": ("archive memory files",),
    "archived_session_files": ("archive session files",),
    "purged_memory_archives": ("purge memory archives",),
    "purged_session_archives": ("purge session archives",),
    "pruned_conversation_rows": ("conversation rows",),
    "pruned_daily_rows": ("daily rows", "daily budget"),
    "pruned_core_rows": ("core rows", "core budget"),
}
_CATEGORY_RULES: Mapping[str, RuleName] = {
    "conversation": "conversation rows", "daily": "daily rows", "core": "core rows",
}  # fmt: skip
_BUDGET_RULES: Mapping[str, RuleName] = {"core": "core budget", "daily": "daily budget"}


@dataclass(frozen=True, slots=True)
class HygieneState:
    """What the state file says. `problem` is one sentence where it is broken, lacks fields or lies in the future.

    `last_run` is None where it cannot be told; `report` holds ZeroClaw's counts by their names in the file. `due` is
    the moment from which the next start of the agent runs hygiene: None means at its very next start.
    """

    file: Path
    last_run: datetime | None
    report: Mapping[str, int]
    due: datetime | None
    problem: str | None = None
    by_us: bool = False
    """Whether the last run was one of ours, as the trash tells."""


def counted_by(version: str) -> tuple[str, ...]:
    """The names of the counts that ZeroClaw of this version writes, in its order."""
    return tuple(_COUNTED_AS)[: 5 if parse_version(version) < ROWS_SINCE else 7]


def state_file(root: Path) -> Path:
    """Where it lies, whether or not it exists."""
    return root / "state" / NAME


def read_state(root: Path, version: str, now: datetime) -> HygieneState:
    """Read `<root>/state/memory_hygiene_state.json` as ZeroClaw of that version does. Never raises for its content."""
    file = state_file(root)
    try:
        data = read_bytes(file)
        text = (data or b"").decode()
    except (Unreadable, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, Unreadable) else f"{file} is not UTF-8."
        told = f"{why} ZeroClaw's hygiene fails at every start until it is taken away."
        return HygieneState(file, None, {}, None, told)
    if data is None:
        return HygieneState(file, None, {}, None)
    try:
        found = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return HygieneState(file, None, {}, None, f"{NAME} is no JSON, {_RUNS}")
    return _state_of(file, found, version, now)


def state_bytes(version: str, now: datetime, report: Mapping[str, int]) -> bytes:
    """The file as ZeroClaw of that version writes it: pretty JSON, UTC with nine digits, no final newline."""
    moment = now.astimezone(UTC)
    ran = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000+00:00"
    counts = {name: report.get(name, 0) for name in counted_by(version)}
    return json.dumps({"last_run_at": ran, "last_report": counts}, indent=2).encode()


def _state_of(file: Path, found: Any, version: str, now: datetime) -> HygieneState:
    broken = f"{NAME} is not what ZeroClaw {version} writes"
    if not isinstance(found, dict):
        return HygieneState(file, None, {}, None, f"{broken}, {_RUNS}")
    counts = found.get("last_report")
    report = {name: count for name, count in counts.items() if _is_count(count)} if isinstance(counts, dict) else {}
    ran = found.get("last_run_at")
    last = zeroclaw_moment(ran) if isinstance(ran, str) else None
    lacking = [name for name in counted_by(version) if name not in report]
    if lacking:
        return HygieneState(file, last, report, None, f"{broken}: it lacks {', '.join(lacking)}, {_RUNS}")
    if last is None:
        return HygieneState(file, None, report, None, f"{NAME} does not say when hygiene ran, {_RUNS}")
    due = last + timedelta(hours=INTERVAL_HOURS)
    if last > now:
        told = (
            f"{NAME} says that hygiene ran in the future, so it does not run until {due.astimezone():%Y-%m-%d %H:%M}."
        )
        return HygieneState(file, last, report, due, told)
    return HygieneState(file, last, report, due if due > now else None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(name)


@dataclass(frozen=True, slots=True)
class Cutoff:
    """What is older than some days at a moment. ZeroClaw takes days off the local date, and hours off the clock.

    `day` is None for so many days that nothing can be that old (ZeroClaw itself fails at those).
    """

    day: Day | None
    nanoseconds: int
    text: str
    """RFC 3339 in local time; rows are compared with it as text, whatever offset they were written in."""

    def is_past(self, found: Day) -> bool:
        """Whether a day is older."""
        return self.day is not None and found < self.day


def cutoff_at(as_of: datetime, days: int) -> Cutoff:
    """The cutoff so many days before a moment."""
    now = as_of.astimezone()
    nanoseconds = _nanoseconds(now) - days * 86_400 * _NANOSECONDS
    try:
        day: date = now.date() - timedelta(days=days)
        moment = (now.astimezone(UTC) - timedelta(days=days)).astimezone()
    except OverflowError:
        return Cutoff(None, nanoseconds, "")
    return Cutoff((day.year, day.month, day.day), nanoseconds, _rfc3339(moment))


def _nanoseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _NANOSECONDS + since.microseconds * 1000


def _rfc3339(moment: datetime) -> str:
    """As few groups of three fraction digits as tell the moment, as ZeroClaw's library writes them."""
    microseconds = moment.microsecond
    digits = "microseconds" if microseconds % 1000 else "milliseconds" if microseconds else "seconds"
    return moment.isoformat(timespec=digits)


@dataclass(frozen=True, slots=True)
class HygieneItem:
    """One thing that would go. `id` is unique within a plan and names it to `run_hygiene`.

    `name` is for people: a path below the root ("memory/2026-03-12.md"), a memory's key, or an audit entry. `date` is
    what the rule goes by (a day, or an RFC 3339 moment), `size` in bytes. `target` is where a file is archived, below
    the root. `and_purged` says that this archived file is deleted in the same run. `stamp` is a row's; `excerpt` the
    start of its content. `state` is a file's size and modification time, `row` an audit entry.
    """

    id: str
    rule: RuleName
    name: str
    date: str
    size: int = 0
    target: str | None = None
    and_purged: bool = False
    stamp: RowVersion | None = None
    excerpt: str = ""
    state: str = ""
    row: Row | None = None


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


_FOLDERS: Sequence[tuple[str, RuleName, RuleName]] = (
    ("memory", "archive memory files", "purge memory archives"),
    ("sessions", "archive session files", "purge session archives"),
)
_THEN_PURGED = {archiving: purging for _, archiving, purging in _FOLDERS}


def old_files(root: Path, rules: HygieneRules, as_of: datetime) -> FilesFound:
    """Look at memory/ and sessions/; files of one folder in the order of their names, where ZeroClaw takes any.

    A file that is archived and already old enough to be deleted is one item: ZeroClaw does both in one run, and goes by
    the name it has in the archive.
    """
    found, purged = FilesFound(), list[HygieneItem]()
    for folder, archiving, purging in _FOLDERS:
        try:
            archived = _archived(root, folder, archiving, purging, rules, as_of, found)
            days = rules.days(purging)
            if days is not None:
                cutoff, below = cutoff_at(as_of, days), f"{folder}/{ARCHIVE}"
                purged += [
                    _item(purging, below, entry, date)
                    for entry in _files(root / below)
                    if (date := _date_of(entry, folder, rules, cutoff)) is not None
                ]
        except OSError as error:
            found.is_whole = False
            found.problems.append(
                f"{folder}/ cannot be read ({error.strerror}), and ZeroClaw's hygiene stops there too."
            )
        else:
            found.items += archived
    found.items += purged
    return found


def _archived(
    root: Path,
    folder: str,
    archiving: RuleName,
    purging: RuleName,
    rules: HygieneRules,
    as_of: datetime,
    found: FilesFound,
) -> list[HygieneItem]:
    days, purge_days = rules.days(archiving), rules.days(purging)
    archive = root / folder / ARCHIVE
    taken = set(os.listdir(archive)) if archive.is_dir() else set()
    items: list[HygieneItem] = []
    if days is None:
        return items
    cutoff = cutoff_at(as_of, days)
    purge = None if purge_days is None else cutoff_at(as_of, purge_days)
    for entry in _files(root / folder):
        date = _date_of(entry, folder, rules, cutoff)
        if date is None:
            continue
        target = _free_name(entry.name, taken)
        if target is None:
            found.problems.append(
                f"{one_line(entry.name)} has no free name in {folder}/{ARCHIVE}/; ZeroClaw would overwrite what has "
                "its name there."
            )
            continue
        taken.add(target)
        going = purge is not None and _date_of(replace(entry, name=target), folder, rules, purge) is not None
        items.append(_item(archiving, folder, entry, date, target, and_purged=going))
        if entry.name == _SESSIONS_DATABASE:
            found.problems.append(
                f"{folder}/{entry.name} is the database of ZeroClaw's sessions, not a leftover: ZeroClaw "
                f"{rules.version} archives it all the same. Leave it out to keep it in use."
            )
    return items


def _item(
    rule: RuleName, folder: str, entry: _Entry, date: str, target: str | None = None, *, and_purged: bool = False
) -> HygieneItem:
    name, state = f"{folder}/{entry.name}", f"{entry.size} {entry.changed}"
    place = None if target is None else f"{folder}/{ARCHIVE}/{target}"
    return HygieneItem(f"file:{name}", rule, name, date, entry.size, place, and_purged, state=state)


def _date_of(entry: _Entry, folder: str, rules: HygieneRules, cutoff: Cutoff) -> str | None:
    """The date of a file that is older than a cutoff, None of any other.

    It is the day in the name; without one, notes have none, and sessions that of their last change (<= 0.8.1 any file,
    later only those of the old format).
    """
    is_session = folder == "sessions"
    day = day_of_session(entry.name) if is_session else day_of_note(entry.name, reads_long=rules.reads_long_dates)
    if day is not None:
        return shown_day(day) if cutoff.is_past(day) else None
    if not is_session or entry.changed >= cutoff.nanoseconds:
        return None
    is_old_format = entry.name.endswith((".jsonl", ".jsonl.migrated"))
    return _moment(entry.changed) if rules.archives_any_session_file or is_old_format else None


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


@dataclass(frozen=True, slots=True)
class HygienePlan:
    """What a run at `as_of` would do. `items` are in ZeroClaw's order of doing.

    `root` is the workspace or data folder it looks at. `problems` are sentences about what could not be looked at, and
    about rows that ZeroClaw would take from a store which is not the one open here. `is_whole` is False where a folder
    or the rows could not be looked at: ZeroClaw stops there, and writes no state file.
    """

    as_of: datetime
    root: Path
    rules: HygieneRules
    state: HygieneState
    items: tuple[HygieneItem, ...]
    problems: tuple[str, ...] = ()
    is_whole: bool = True

    def of(self, rule: RuleName) -> tuple[HygieneItem, ...]:
        """The items of one rule."""
        return tuple(item for item in self.items if item.rule == rule)

    def report(self) -> Mapping[str, int]:
        """The counts that ZeroClaw of this version writes into its state file, by its names."""
        done = Counter(item.rule for item in self.items)
        done.update(_THEN_PURGED[item.rule] for item in self.items if item.and_purged)
        return {name: sum(done[rule] for rule in _COUNTED_AS[name]) for name in counted_by(self.rules.version)}


async def plan_hygiene(library: Library, as_of: datetime) -> HygienePlan:
    """Look at files and rows; any moment will do. Files are looked at in a thread.

    Of a lone database outside of any workspace only the rows are planned, and a problem says so. Raises Unreadable and
    Locked where the open store cannot be read.
    """
    rules, root = rules_of(library), library.config.install.root
    state = await asyncio.to_thread(read_state, root, rules.version, library.trash.now())
    state = replace(state, by_us=await _is_ours(library, state))
    found = FilesFound()
    if has_folder(library.config):
        found = await asyncio.to_thread(old_files, root, rules, as_of)
    else:
        found.problems.append("This database is outside of any workspace, so only its rows are checked.")
    rows = await _rows(library, rules, as_of, found)
    entries = await _entries(library, rules, as_of, found)
    items = sorted([*found.items, *rows, *entries], key=lambda item: _ORDER[item.rule])
    return HygienePlan(as_of, root, rules, state, tuple(items), tuple(found.problems), found.is_whole)


def has_folder(config: MemoryConfig) -> bool:
    """Whether there is a workspace or data folder around the store."""
    install = config.install
    return install.layout != "lone" or install.database == install.root / "memory" / "brain.db"


def audit_file(root: Path) -> Path:
    """Where ZeroClaw keeps its log of memory operations."""
    return canonical(root / "memory" / "audit.db")


def retention_of(rules: HygieneRules, as_of: datetime) -> Retention:
    """The rules about rows, for the database."""
    cutoffs = {}
    for category, name in _CATEGORY_RULES.items():
        days = rules.days(name)
        if days is not None and (cutoff := cutoff_at(as_of, days)).text:
            cutoffs[category] = cutoff.text
    budgets = {}
    for category, name in _BUDGET_RULES.items():
        rule = rules.rule(name)
        if rule is not None and rule.is_on:
            budgets[category] = Budget(rule.most or 0, rule.most_bytes or 0)
    return Retention(cutoffs, budgets, rules.spares_pinned, rules.evict_order)


class Expiry:
    """What ZeroClaw's next hygiene takes of memories that a store gets with the dates they have.

    `keeps_lines` says that it is a store of notes, of which only those of no agent of their own are archived.
    """

    def __init__(self, rules: HygieneRules, as_of: datetime, *, keeps_lines: bool) -> None:
        self._rules, self._keeps_lines = rules, keeps_lines
        self._retention = retention_of(rules, as_of)
        days = rules.days("archive memory files")
        self._oldest_note = None if days is None else cutoff_at(as_of, days)

    @classmethod
    def of(cls, config: MemoryConfig, memory: Memory, version: str, as_of: datetime) -> Expiry | None:
        """Of a store, or one that is yet to be made; None where hygiene takes none of its memories."""
        rules, root = rules_for(config, version), config.install.root
        if not rules.is_enabled or not has_folder(config):
            return None
        if memory.keeps_lines and config.location is None:
            return cls(rules, as_of, keeps_lines=True)
        is_usual = has_database(memory.name) and canonical(config.database) == canonical(root / "memory" / "brain.db")
        return cls(rules, as_of, keeps_lines=False) if is_usual else None

    def rule(self, row: Row) -> HygieneRule | None:
        """The rule that takes a memory as it would be stored, None where it stays."""
        if self._keeps_lines:
            return self._rules.rule("archive memory files") if self._is_old_note(row) else None
        category = row.values.get("category")
        cutoff = self._retention.cutoffs.get(category) if isinstance(category, str) else None
        date = row.values.get("created_at" if category == "core" else "updated_at")
        if cutoff is None or not isinstance(date, str) or date >= cutoff:
            return None
        if self._rules.spares_pinned and row.values.get("pinned"):
            return None
        return self._rules.rule(_CATEGORY_RULES[str(category)])

    def _is_old_note(self, row: Row) -> bool:
        stem = row.values.get("created_at")
        if self._oldest_note is None or row.agent is not None or not isinstance(stem, str):
            return False
        day = day_of_note(f"{stem}.md", reads_long=self._rules.reads_long_dates)
        return day is not None and self._oldest_note.is_past(day)


async def _rows(library: Library, rules: HygieneRules, as_of: datetime, found: FilesFound) -> list[HygieneItem]:
    retention = retention_of(rules, as_of)
    if not retention.cutoffs and not retention.budgets:
        return []
    memory, usual = library.memory, library.config.install.root / "memory" / "brain.db"
    if memory.about.path is not None:
        if rules.spares_pinned and "pinned" in memory.why_not:
            found.problems.append(
                f"ZeroClaw {rules.version} has not opened this database yet: its first hygiene fails for lack of the "
                "column pinned, and the next one does this."
            )
        if has_folder(library.config) and canonical(memory.about.path) != canonical(usual):
            found.problems.append(
                f"ZeroClaw's own hygiene looks at {usual}; these are the rows of {memory.about.path}."
            )
        return [_item_of(row) for row in await require_database(memory).expired(retention)]
    if not memory.keeps_lines and not memory.about.keeps_nothing:
        found.problems.append(
            f"ZeroClaw's hygiene deletes rows of memory/brain.db alone: in the {memory.name} store memories stay "
            "forever."
        )
    if has_folder(library.config) and usual.exists():
        found.problems += await _elsewhere(library, usual, retention)
    return []


async def _elsewhere(library: Library, database: Path, retention: Retention) -> list[str]:
    """What ZeroClaw would take from a database that is not the store open here."""
    memory = create_memory(library.config._replace(backend="sqlite", location=str(database), read_only=True))
    try:
        try:
            await memory.open()
            count = len(await require_database(memory).expired(retention))
        finally:
            await memory.close()
    except InspectorError as error:
        return [f"ZeroClaw would also look at memory/brain.db, which cannot be read here: {error.message}"]
    if not count:
        return []
    rows = counted(count, "row")
    return [
        f"ZeroClaw would also delete {rows} of memory/brain.db, which is not the store open here; "
        "open it with --backend sqlite to clean them up by hand."
    ]


async def _entries(library: Library, rules: HygieneRules, as_of: datetime, found: FilesFound) -> list[HygieneItem]:
    days, file = rules.days("audit log"), audit_file(library.config.install.root)
    if days is None or not has_folder(library.config) or not file.exists():
        return []
    cutoff = cutoff_at(as_of, days).text

    def read(connection: sqlite3.Connection) -> list[HygieneItem]:
        columns = columns_of(connection, AUDIT_LOG)
        if not {"id", "timestamp"} <= set(columns):
            return []
        found = connection.execute(f"SELECT * FROM {AUDIT_LOG} WHERE timestamp < ? ORDER BY id", (cutoff,))
        return [_item_of_entry(file, dict(zip(columns, values, strict=True))) for values in found]

    try:
        return await read_in_thread(file, read)
    except InspectorError as error:
        found.problems.append(f"The audit log cannot be read, so ZeroClaw skips it: {error.message}")
        return []


def _item_of_entry(file: Path, values: dict[str, Value]) -> HygieneItem:
    row = external.audit_row(file, values)
    name = " ".join(as_text(values[column]) for column in ("operation", "key") if values.get(column))
    return HygieneItem(f"audit:{row.handle}", "audit log", name, as_text(values["timestamp"]), row.size, row=row)


def _item_of(row: Outdated) -> HygieneItem:
    stamp, rules = row.stamp, _BUDGET_RULES if row.is_over_budget else _CATEGORY_RULES
    return HygieneItem(
        f"row:{stamp.id}", rules[row.category], stamp.key, row.date, stamp.size, stamp=stamp, excerpt=row.excerpt
    )


async def _is_ours(library: Library, state: HygieneState) -> bool:
    """Whether what the state file holds was written by a run of ours."""
    if state.last_run is None:
        return False
    file = link_target(state.file)
    kept = await library.trash.history_of_file(str(file))
    ours = {step.after.fingerprint for step in kept if step.verb == "hygiene" and step.after is not None}
    if not ours:
        return False
    data = await asyncio.to_thread(read_bytes, file)
    return data is not None and file_row(file, data).fingerprint in ours


_GONE = "{} no longer exists."
_CHANGED = "{} changed after the plan was made and was left alone."


async def run_hygiene(
    library: Library, plan: HygienePlan, *, without: Collection[str] = (), on_progress: ProgressCallback | None = None
) -> Outcome:
    """Do the items of a plan but those of the ids in `without`, then write the state file (last run = now).

    One action of verb "hygiene": one undo takes all of it back, files too. `count` is how many items were done;
    `changed` and `gone` are the ids of items left alone because they changed or vanished since the plan, each also a
    note. Everything is looked at again first, so that nothing goes which the rules no longer take; what came since the
    plan waits for the next run. A folder that takes no files costs its items, each with a note, and the rest goes on.
    The state file is written when all that was not left out was done or had gone; the audit log does not count, since
    ZeroClaw too passes over what goes wrong there. Raises UsageError for a plan of a moment later than now, Refused
    where the store is read-only, and what the trash raises.
    """
    refuse_read_only(library)
    if plan.as_of > library.trash.now():
        raise UsageError(
            "Hygiene runs as of now or of a moment before.", hint="A later time only works with --dry-run."
        )
    chosen = [item for item in plan.items if item.id not in without]

    async def work(action: RunningAction, going: ProgressCallback) -> Outcome:
        # Only now: another inspector may have been at work while this one waited for its turn.
        present = await plan_hygiene(library, plan.as_of)
        return await _Running(library, present, chosen).work(action, going)

    return await run_change(library, "hygiene", _summary(chosen), work, on_progress)


class _Running:
    """One run. `present` is the plan as it would be now, `chosen` what a person saw and wants done."""

    def __init__(self, library: Library, present: HygienePlan, chosen: Sequence[HygieneItem]) -> None:
        self._library, self._present, self._chosen = library, present, chosen
        self._root = present.root
        self._done: list[HygieneItem] = []
        self._changed: list[HygieneItem] = []
        self._gone: list[HygieneItem] = []
        self._notes: list[str] = []
        self._is_cancelled = self._has_failed = False

    async def work(self, action: RunningAction, going: ProgressCallback) -> Outcome:
        """All of it, in that action."""
        unchanged = await self._unchanged()
        rows = [item for item in unchanged if item.stamp is not None]
        files = [item for item in unchanged if item.id.startswith("file:")]
        entries = [item for item in unchanged if item.id.startswith("audit:")]
        await self._remove_rows(rows, action, going)
        for number, item in enumerate(files):
            if not self._is_cancelled:
                await self._do_file(item, action)
                self._is_cancelled = not going(len(rows) + number + 1)
        if not self._is_cancelled:
            await self._remove_entries(entries, action, going)
        await self._write_state(action)
        if len(self._done) != len(self._chosen):
            await action.set_summary(_summary(self._done))
        return Outcome(
            "hygiene",
            len(self._done),
            changed=tuple(item.id for item in self._changed),
            gone=tuple(item.id for item in self._gone),
            cancelled=self._is_cancelled,
            notes=tuple(self._notes),
        )

    def _leave(self, item: HygieneItem, *, is_gone: bool) -> None:
        """An item that is no longer what was shown."""
        (self._gone if is_gone else self._changed).append(item)
        self._notes.append((_GONE if is_gone else _CHANGED).format(one_line(item.name)))

    def _fail(self, item: HygieneItem, why: str) -> None:
        """An item that could not be done."""
        self._notes.append(f"{one_line(item.name)} was left: {one_line(why)}")
        self._has_failed = True

    async def _unchanged(self) -> list[HygieneItem]:
        """The chosen items that the rules still take and that still are what was shown, as they are planned now."""
        present = {item.id: item for item in self._present.items}
        unchanged = []
        for item in self._chosen:
            now = present.get(item.id)
            if now is not None and _is_same(item, now):
                unchanged.append(now)
            else:
                self._leave(item, is_gone=await self._is_gone(item))
        return unchanged

    async def _is_gone(self, item: HygieneItem) -> bool:
        if item.stamp is not None:
            return await row_with_id(self._library.memory, item.stamp.id) is None
        if item.id.startswith("file:"):
            return not (self._root / item.name).exists()
        return True

    async def _remove_rows(self, items: Sequence[HygieneItem], journal: Journal, going: ProgressCallback) -> None:
        if not items:
            return
        by_id = {item.stamp.id: item for item in items if item.stamp is not None}
        stamps = [item.stamp for item in items if item.stamp is not None]
        changes = [Change(stamp, None) for stamp in stamps]
        removal = await self._library.memory.apply(changes, journal, on_progress=going)
        left = {*removal.skipped, *removal.already}
        for name in removal.skipped:
            self._leave(by_id[name], is_gone=False)
        for name in removal.already:
            self._leave(by_id[name], is_gone=True)
        removed = [item for item in items if item.stamp is not None and item.stamp.id not in left]
        # Rows go in their order, so what a stop left are the last ones.
        self._done += removed[: removal.written]
        self._is_cancelled = removal.cancelled or not going(len(items))

    async def _do_file(self, item: HygieneItem, journal: Journal) -> None:
        path = canonical(self._root / item.name)
        try:
            file = await asyncio.to_thread(read_file, path)
        except Refused as error:
            self._fail(item, error.message)
            return
        if file is None:
            self._leave(item, is_gone=True)
            return
        if not os.access(path.parent, os.W_OK | os.X_OK):
            self._fail(item, f"{path.parent} cannot be written: Permission denied.")
            return
        # What ZeroClaw archives and deletes in one run is deleted at once.
        target = None if item.target is None or item.and_purged else canonical(self._root / item.target)
        changes = (RowChange(file, None),) if target is None else external.move(file, target)
        result = await external.apply(changes, journal)
        if not result.skipped:
            self._done.append(item)
        elif result.notes:
            self._fail(item, result.notes[0])
        elif str(target) in result.skipped:
            self._fail(item, "another file has its name in the archive by now.")
        else:
            self._leave(item, is_gone=not path.exists())

    async def _remove_entries(self, items: Sequence[HygieneItem], journal: Journal, going: ProgressCallback) -> None:
        by_id = {item.row.id: item for item in items if item.row is not None}
        changes = [RowChange(item.row, None) for item in items if item.row is not None]
        done = len(self._done)
        try:
            result = await external.apply(changes, journal, on_progress=lambda count: going(done + count))
        except InspectorError as error:
            self._notes.append(f"The audit log was left as it is: {one_line(error.message)}")
            return
        for name in (*result.skipped, *result.already):
            self._leave(by_id.pop(name), is_gone=True)
        self._done += list(by_id.values())[: result.written]
        self._is_cancelled |= result.cancelled

    async def _write_state(self, journal: Journal) -> None:
        if not has_folder(self._library.config):
            return
        why = self._why_no_state()
        if why is not None:
            self._notes.append(f"{NAME} was not written, {why}")
            return
        report = replace(self._present, items=tuple(self._done)).report()
        data = state_bytes(self._present.rules.version, self._library.trash.now(), report)
        path = link_target(state_file(self._root))
        try:
            before = await asyncio.to_thread(read_file, path)
            change = RowChange(before, file_row(path, data, stays_if_changed=True))
            result = await external.apply([change], journal)
            self._notes += result.notes
        except InspectorError as error:
            self._notes.append(f"{NAME} was not written: {one_line(error.message)}")

    def _why_no_state(self) -> str | None:
        """Why ZeroClaw should still see hygiene as due."""
        if self._is_cancelled:
            return "since the run was stopped."
        if self._has_failed or self._changed:
            return "since not everything was done: the agent's own hygiene tries the rest."
        return None if self._present.is_whole else "because not everything could be checked."


def _is_same(shown: HygieneItem, present: HygieneItem) -> bool:
    """Whether an item is still what was shown; only its name in the archive may be another by now."""
    if shown.stamp is not None and present.stamp is not None:
        return shown.stamp.state == present.stamp.state
    return replace(shown, target=None) == replace(present, target=None)


def _summary(items: Sequence[HygieneItem]) -> str:
    """Like "hygiene: 41 memories, 4 files"."""
    kinds = (("row:", "memory"), ("file:", "file"), ("audit:", "audit entry"))
    parts = [
        counted(count, what) for start, what in kinds if (count := sum(item.id.startswith(start) for item in items))
    ]
    return f"hygiene: {', '.join(parts) or 'nothing to do'}"
