"""Preview what ZeroClaw's hygiene archives and deletes at a given time, and run it with undo."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.cancellation import read_in_thread
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.schema import fits
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import run_change
from zeroclaw_tui.curation.hygiene_rules import ROWS_SINCE, Cutoff, HygieneRules, RuleName, rules_for
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.files.database import columns_of
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.memory.change import ApplyResult, Change, ProgressCallback, Row, RowChange, RowVersion
from zeroclaw_tui.memory.days import date_shown, day_of_note, day_of_session
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import InspectorError, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.scoring.injection import zeroclaw_moment
from zeroclaw_tui.scoring.profiles import parse_version

INTERVAL_HOURS = 12
STATE_FILE = "memory_hygiene_state.json"
COUNTED_AS: Mapping[str, tuple[RuleName, ...]] = {
    "archived_memory_files": ("archive memory files",),
    "archived_session_files": ("archive session files",),
    "purged_memory_archives": ("purge memory archives",),
    "purged_session_archives": ("purge session archives",),
    "pruned_conversation_rows": ("conversation rows",),
    "pruned_daily_rows": ("daily rows", "daily budget"),
    "pruned_core_rows": ("core rows", "core budget"),
}
"""ZeroClaw's counters by their names in its state file, and the rules that each of them counts."""

_ARCHIVE, _AUDIT_LOG = "archive", "memory_audit"
_FOLDERS: Sequence[tuple[str, RuleName, RuleName]] = (
    ("memory", "archive memory files", "purge memory archives"),
    ("sessions", "archive session files", "purge session archives"),
)


class HygieneState(NamedTuple):
    """The content of ZeroClaw's state file; `problem` is a sentence if it is broken, `report` has its counts by name.

    Agent starts from `due` on run hygiene; None means that the very next start does.
    """

    last_run: datetime | None = None
    report: Mapping[str, int] = MappingProxyType({})
    due: datetime | None = None
    problem: str = ""


def counts_of(version: str) -> tuple[str, ...]:
    """The names of the counts that a version of ZeroClaw writes, in its order."""
    return tuple(COUNTED_AS)[: 5 if parse_version(version) < ROWS_SINCE else 7]


def read_state(root: Path, version: str, now: datetime) -> HygieneState:
    """Read the state file as a version of ZeroClaw does; problems are returned as sentences, not raised. Blocks."""
    file = root / "state" / STATE_FILE
    try:
        data = read_bytes(file)
        text = (data or b"").decode()
    except (Unreadable, UnicodeDecodeError) as error:
        reason = error.message if isinstance(error, Unreadable) else f"{file} is not UTF-8."
        return HygieneState(problem=f"{reason} ZeroClaw's hygiene fails at every start until you remove it.")
    if data is None:
        return HygieneState()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    values = document if isinstance(document, dict) else {}
    counts, ran = values.get("last_report"), values.get("last_run_at")
    counts = counts if isinstance(counts, dict) else {}
    report = {name: value for name, value in counts.items() if fits("count", value)}
    last_run = zeroclaw_moment(ran) if isinstance(ran, str) else None
    if last_run is None or not set(counts_of(version)) <= set(report):
        wrong = f"{STATE_FILE} is not what ZeroClaw {version} writes, so hygiene runs at the next start of the agent."
        return HygieneState(last_run, report, problem=wrong)
    due = last_run + timedelta(hours=INTERVAL_HOURS)
    return HygieneState(last_run, report, due if due > now else None)


def state_bytes(version: str, now: datetime, report: Mapping[str, int]) -> bytes:
    """The state file as a version of ZeroClaw writes it: pretty JSON, UTC with nine digits, no final newline."""
    moment = now.astimezone(UTC)
    last_run_at = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000+00:00"
    counts = {name: report.get(name, 0) for name in counts_of(version)}
    return json.dumps({"last_run_at": last_run_at, "last_report": counts}, indent=2).encode()


class HygieneItem(NamedTuple):
    """A file, row or audit entry that a rule archives or deletes. `id` is unique within a plan.

    `name` is shown to people: a path below the root, a memory's key, or the audit entry. The rule compares `date`;
    `size` is in bytes. `target` is the archive path of a file, below the root; with `also_deleted` the same run deletes
    it. A row has a `version`, an audit entry a `row`, a file `changed_at`, its modification time in nanoseconds.
    """

    id: str
    rule: RuleName
    name: str
    date: str
    size: int
    target: str | None = None
    also_deleted: bool = False
    excerpt: str = ""
    version: RowVersion | None = None
    row: Row | None = None
    changed_at: int = 0

    @property
    def effect(self) -> Literal["archive", "delete", "trash"]:
        """What a run finally does with the item."""
        if self.version is not None:
            return "trash"
        return "delete" if self.target is None or self.also_deleted else "archive"

    def effect_text(self) -> str:
        """Describe the effect: "→ archive/2026-03-12.md, then deleted". It may contain control characters."""
        if self.target is None:
            return "to the trash" if self.version is not None else "deleted"
        return f"→ {self.target.partition('/')[2]}{', then deleted' if self.also_deleted else ''}"

    def as_json(self) -> dict[str, Any]:
        document = {name: getattr(self, name) for name in ("rule", "name", "date", "size", "target")}
        return {**document, "and_purged": self.also_deleted, "id": self.id}


class HygienePlan(NamedTuple):
    """The plan of a run as of a given time, with `items` in ZeroClaw's order; `problems` say what was not read."""

    as_of: datetime
    root: Path
    rules: HygieneRules
    state: HygieneState
    items: tuple[HygieneItem, ...]
    problems: tuple[str, ...] = ()

    def items_of(self, rule: RuleName) -> tuple[HygieneItem, ...]:
        return tuple(item for item in self.items if item.rule == rule)

    def without(self, ids: Collection[str]) -> HygienePlan:
        """The plan without the items with these ids."""
        return self._replace(items=tuple(item for item in self.items if item.id not in ids))

    def report(self) -> Mapping[str, int]:
        """The counts that ZeroClaw of this version writes into its state file."""
        counts = Counter(item.rule for item in self.items)
        for _, archiving, purging in _FOLDERS:
            counts[purging] += sum(item.rule == archiving and item.also_deleted for item in self.items)
        return {name: sum(counts[rule] for rule in COUNTED_AS[name]) for name in counts_of(self.rules.version)}

    def status(self, now: datetime) -> tuple[str, ...]:
        """Whether hygiene is on, when it ran last and when it runs next, as phrases."""
        last, after = "last run not known" if self.state.problem else "never run", ""
        if self.state.last_run is not None:
            last = f"last run {self.state.last_run.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
        if not self.rules.is_enabled:
            return "off: ZeroClaw does not run it", last
        if self.state.due is not None and self.state.due > now:
            due = self.state.due.astimezone(now.tzinfo)
            after = f" after {due:%H:%M}" if due.date() == now.date() else f" after {due:%Y-%m-%d %H:%M}"
        return f"on, every {INTERVAL_HOURS} h", last, f"next when the agent starts{after}"

    def sentences(self) -> tuple[str, ...]:
        """Summarize the run in phrases: "2 files archived"."""
        files = [item for item in self.items if item.version is None and item.row is None]
        archived = sum(item.effect == "archive" for item in files)
        deleted = sum(item.effect == "delete" for item in files)
        rows = sum(item.version is not None for item in self.items)
        entries = len(self.items) - len(files) - rows
        facts = (
            (archived, f"{counted(archived, 'file')} archived"),
            (deleted, f"{counted(deleted, 'file')} deleted"),
            (rows, f"{counted(rows, 'row')} to the trash"),
            (entries, f"{counted(entries, 'entry')} of the audit log deleted"),
        )
        return tuple(text for number, text in facts if number)

    def as_json(self) -> dict[str, Any]:
        state, rules = self.state, list[dict[str, Any]]()
        for rule in self.rules.rules:
            sizes = [item.size for item in self.items_of(rule.name)]
            stated = {"name": rule.name, "sentence": rule.sentence, "on": rule.is_on, "days": rule.days}
            rules.append({**stated, "most": rule.most, "count": len(sizes), "size": sum(sizes)})
        return {
            "root": str(self.root),
            "profile": self.rules.version,
            "as_of": self.as_of.isoformat(),
            "enabled": self.rules.is_enabled,
            "last_run": state.last_run.isoformat() if state.last_run else None,
            "last_report": dict(state.report),
            "next_due": state.due.isoformat() if state.due and self.rules.is_enabled else None,
            "state_problem": state.problem or None,
            "rules": rules,
            "items": [item.as_json() for item in self.items],
            "problems": list(self.problems),
        }


async def plan_hygiene(library: Library, as_of: datetime) -> HygienePlan:
    """Plan hygiene as of any time. Raises Unreadable or Locked if the store or a folder cannot be read."""
    install, path = library.config.install, library.memory.about.path
    rules = rules_for(library.config, library.profile.profile.version)
    state = await asyncio.to_thread(read_state, install.root, rules.version, library.trash.now())
    items, problems = list[HygieneItem](), list[str]()
    if install.has_workspace:
        for folder, archiving, purging in _FOLDERS:
            try:
                items += await asyncio.to_thread(_old_files, install.root / folder, archiving, purging, rules, as_of)
            except OSError as error:
                sentence = f"{folder}/ cannot be read ({error.strerror}), and ZeroClaw's hygiene stops there too."
                raise Unreadable(sentence, hint="Check the permissions of the folder.") from error
    else:
        problems.append("This database is outside of any workspace, so only its rows are checked.")
    retention = rules.retention(as_of)
    if retention.cutoffs or retention.budgets:
        for row in [] if path is None else await require_database(library.memory).expired(retention):
            rule, version = f"{row.category} {'budget' if row.is_over_budget else 'rows'}", row.version
            item = HygieneItem(
                f"row:{version.id}", rule, version.key, row.date, version.size, excerpt=row.excerpt, version=version
            )
            items.append(item)
        brain = external.canonical(install.root / "memory" / "brain.db")
        is_other = brain.exists() if path is None else external.canonical(path) != brain
        if install.has_workspace and is_other:
            problems.append(f"ZeroClaw's own hygiene deletes rows of {brain} alone.")
    cutoff = rules.cutoff("audit log", as_of)
    file = external.canonical(install.root / "memory" / "audit.db")
    if install.has_workspace and cutoff is not None and file.exists():
        try:
            items += await read_in_thread(file, partial(_old_audit_entries, file=file, cutoff=cutoff))
        except InspectorError as error:
            problems.append(f"The audit log cannot be read, so ZeroClaw skips it: {error.message}")
    order = [rule.name for rule in rules.rules]
    items.sort(key=lambda item: order.index(item.rule))
    return HygienePlan(as_of, install.root, rules, state, tuple(items), tuple(problems))


def _old_files(
    folder: Path, archiving: RuleName, purging: RuleName, rules: HygieneRules, as_of: datetime
) -> list[HygieneItem]:
    """Find the files of a folder that ZeroClaw archives, then the archived files that it deletes."""
    archive = folder / _ARCHIVE
    used = set(os.listdir(archive)) if archive.is_dir() else set()
    purge_cutoff = rules.cutoff(purging, as_of)
    items = []
    for place, rule in ((folder, archiving), (archive, purging)):
        cutoff = rules.cutoff(rule, as_of)
        for name, status in _files_in(place):
            date = _expired_date(folder, name, status, rules, cutoff)
            if date is None:
                continue
            shown = str((place / name).relative_to(folder.parent))
            item = HygieneItem(f"file:{shown}", rule, shown, date, status.st_size, changed_at=status.st_mtime_ns)
            if place is folder:
                target = _free_name(name, used)
                used.add(target)
                # ZeroClaw archives and deletes a file in one run if it is also old enough under its new name.
                is_deleted = _expired_date(folder, target, status, rules, purge_cutoff) is not None
                item = item._replace(target=f"{folder.name}/{_ARCHIVE}/{target}", also_deleted=is_deleted)
            items.append(item)
    return items


def _files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files in a folder whose names are valid UTF-8, sorted by name."""
    for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
        with suppress(UnicodeEncodeError, FileNotFoundError):
            name.encode()
            status = (folder / name).stat()
            if not stat.S_ISDIR(status.st_mode):
                yield name, status


def _expired_date(
    folder: Path, name: str, status: os.stat_result, rules: HygieneRules, cutoff: Cutoff | None
) -> str | None:
    """The date of a file that is older than a cutoff, else None.

    It is the day in the name; for sessions (up to 0.8.1 any file, later JSON lines) else the day of the last change.
    """
    if cutoff is None:
        return None
    is_session = folder.name == "sessions"
    day = day_of_session(name) if is_session else day_of_note(name, reads_long=rules.reads_long_dates)
    if day is not None:
        return day.isoformat() if cutoff.day is not None and day < cutoff.day else None
    is_taken = rules.archives_any_session_file or name.endswith((".jsonl", ".jsonl.migrated"))
    if not is_session or not is_taken or status.st_mtime_ns >= cutoff.nanoseconds:
        return None
    return datetime.fromtimestamp(status.st_mtime_ns // 1_000_000_000, UTC).astimezone().isoformat()


def _free_name(name: str, used: set[str]) -> str:
    """Choose the name in the archive: its own, or, if taken, with a number before the last suffix."""
    if name not in used:
        return name
    stem, dot, suffix = name.rpartition(".")
    stem, end = (stem, f".{suffix}" if suffix else "") if dot else (name, "")
    return next(free for number in count(1) if (free := f"{stem}_{number}{end}") not in used)


def _old_audit_entries(connection: sqlite3.Connection, file: Path, cutoff: Cutoff) -> list[HygieneItem]:
    columns = columns_of(connection, _AUDIT_LOG)
    if not {"id", "timestamp"} <= set(columns):
        return []
    items = []
    for values in connection.execute(f"SELECT * FROM {_AUDIT_LOG} WHERE timestamp < ? ORDER BY id", (cutoff.text,)):
        named = dict(zip(columns, values, strict=True))
        row = external.database_row(file, _AUDIT_LOG, named["id"], named)
        name = " ".join(as_text(row.values[column]) for column in ("operation", "key") if row.values.get(column))
        date = as_text(row.values["timestamp"])
        items.append(HygieneItem(f"audit:{row.handle}", "audit log", name, date, row.size, row=row))
    return items


async def run_hygiene(library: Library, plan: HygienePlan, *, on_progress: ProgressCallback | None = None) -> Outcome:
    """Archive and delete the items of a plan that have not changed since, then write the state file.

    `count` is the number of items done; `changed` and `missing` are ids of skipped items, and notes name them and the
    files that cannot be archived or deleted. The state file is written only if everything else was done, and stays if
    the run is undone. Raises UsageError for a plan of the future, Refused, and the errors of the trash.
    """
    check_writable(library.memory)
    if plan.as_of > library.trash.now():
        raise UsageError("Hygiene runs as of now or of a moment before.", hint="A later time needs --dry-run.")

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        run, others = _Run(plan, on_progress), dict[str, HygieneItem]()
        rows = {item.version.id: item for item in plan.items if item.version is not None}
        if rows:
            removals = (Change(item.version, None) for item in rows.values())
            run.note(rows, await library.memory.apply(removals, action, on_progress=on_progress))
        run.note(others, await external.apply(run.external_changes(others), action))
        done = plan._replace(items=tuple(run.done))
        if len(run.done) != len(plan.items):
            await action.set_summary(_summary(done))
        if library.config.install.has_workspace:
            is_incomplete = len(run.done) + len(run.missing) < len(plan.items)
            run.notes += await asyncio.to_thread(_write_state, done, library.trash.now(), is_incomplete=is_incomplete)
        changed, missing, notes = map(tuple, (run.changed, run.missing, run.notes))
        return Outcome("hygiene", len(run.done), None, changed, missing, cancelled=run.is_cancelled, notes=notes)

    return await run_change(library, "hygiene", _summary(plan), work, on_progress)


def run_sentences(outcome: Outcome, plan: HygienePlan, undo: str) -> Iterator[str]:
    """Say what a run of a plan did, and how to undo it (`undo` is the key or command)."""
    if outcome.count == len(plan.items):
        yield f"{' · '.join(plan.sentences()) or 'Nothing to do'}."
    else:
        yield f"{outcome.count:,} of {len(plan.items):,} done."
    if outcome.count and outcome.action is not None:
        yield f"{undo} restores all of it, including files, until {date_shown(outcome.action.until)}."


@dataclass(slots=True)
class _Run:
    """One run of all items of a plan."""

    plan: HygienePlan
    on_progress: ProgressCallback
    done: list[HygieneItem] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_cancelled: bool = False

    def external_changes(self, begun: dict[str, HygieneItem]) -> Iterator[RowChange]:
        """Yield the changes of items that are not memories, and add each to `begun` by the id of its row. Blocks."""
        for item in self.plan.items:
            if item.version is not None:
                continue
            self.is_cancelled |= not self.on_progress(len(self.done) + len(begun))
            if self.is_cancelled:
                return
            row = item.row
            if row is None:
                try:
                    row = external.read_file(external.canonical(self.plan.root / item.name))
                except Refused as error:
                    self.notes.append(one_line(error.message))
                    continue
                if row is None or row.values["mtime_ns"] != item.changed_at:
                    self._skip(item, is_missing=row is None)
                    continue
            begun[row.id] = item
            if item.effect == "archive":
                yield from external.move(row, external.canonical(self.plan.root / str(item.target)))
            else:
                yield RowChange(row, None)

    def note(self, items: dict[str, HygieneItem], result: ApplyResult) -> None:
        """Note the results of items by the ids of their rows; a cancelled removal has not done the last ones."""
        self.notes += map(one_line, result.notes)
        for name in (*result.skipped, *result.already):
            # The new file of a move is not an item.
            if item := items.pop(name, None):
                self._skip(item, is_missing=name in result.already)
        self.done += list(items.values())[: result.written]
        self.is_cancelled |= result.cancelled

    def _skip(self, item: HygieneItem, *, is_missing: bool) -> None:
        """Note an item that is no longer as in the plan."""
        (self.missing if is_missing else self.changed).append(item.id)
        what = "no longer exists" if is_missing else "was left alone: it changed since the plan, or cannot be changed"
        self.notes.append(f"{one_line(item.name)} {what}.")


def _write_state(done: HygienePlan, now: datetime, *, is_incomplete: bool) -> list[str]:
    """Write the state file of a run, unless hygiene must stay due for ZeroClaw; returns why not. Blocks."""
    if is_incomplete:
        return [f"{STATE_FILE} was not written, so that the agent's own hygiene does the rest."]
    data, file = state_bytes(done.rules.version, now, done.report()), done.root / "state" / STATE_FILE
    try:
        retry_if_changed(lambda: replace_bytes(file, read_bytes(file), data), file)
    except InspectorError as error:
        return [f"{STATE_FILE} was not written: {one_line(error.message)}"]
    return []


def _summary(plan: HygienePlan) -> str:
    """Name a run in the list of changes: "hygiene: 4 files archived, 41 rows to the trash"."""
    return f"hygiene: {', '.join(plan.sentences()) or 'nothing to do'}"
