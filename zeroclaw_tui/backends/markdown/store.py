"""Memory in Markdown files, read as ZeroClaw reads it.

Inserting or deleting lines between two pages of a list changes the numbers of lines, and with them their keys.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.about import About, Notice
from zeroclaw_tui.backends.base import ReloadedMemory, SearchedMemory, check_writable
from zeroclaw_tui.backends.cancellation import cancellable_progress, wait_until_done
from zeroclaw_tui.backends.fallback import ignored_parts, visit_rows
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.markdown.files import (
    CORE,
    WHY_NOT,
    NoteFiles,
    NoteFolder,
    Notes,
    find_files,
    read_notes,
    version_of_line,
)
from zeroclaw_tui.backends.markdown.write import NoteChanges
from zeroclaw_tui.backends.note_lines import in_one_line, is_line, note_line
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.config.locations import CORE_NAME, notes_root
from zeroclaw_tui.config.memory_config import agent_folders
from zeroclaw_tui.files.disk import file_stamps, is_folder, make_folder
from zeroclaw_tui.memory.change import (
    ApplyResult,
    Change,
    Journal,
    OnConflict,
    ProgressCallback,
    Row,
    RowVersion,
    RowVisitor,
    Value,
)
from zeroclaw_tui.memory.days import moment, parse_day
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, Refused, Unreadable
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, OLDEST_STORED, MemoryFilter, Query
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.evidence import OwnEvidence, StoreRecall, depth_of, own_evidence
from zeroclaw_tui.scoring.profiles import OwnRule, ScoringProfile, Trial, parse_version

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig


SCALE = "matched words / words"
STAGE = "markdown"
_BLANKS = re.compile(f"[{WHITE_SPACE}]+")


def threshold_meaning(profile: ScoringProfile, threshold: float) -> str:
    """Explain the threshold in terms of the scores of lines."""
    score = "Markdown's score is the share of the message's words that a line contains"
    return f"{score}; the threshold is {threshold:.2f}."


class MarkdownMemory(SearchedMemory, ReloadedMemory[Notes]):
    """Each line of MEMORY.md (core) and memory/*.md (daily) is a memory; its key is "<file stem>:<line>".

    `root` is the folder that contains them. `agents` maps an alias to that agent's own folder (ZeroClaw >= 0.8). A
    request without agents reads all folders as one. `is_makeable` is True if ZeroClaw creates a missing folder at its
    first start.
    """

    name = "markdown"
    about = About(
        rule=OwnRule(reads_times=False, has_one_namespace=True, threshold_meaning=threshold_meaning),
        keeps_deleted=None,
        is_line_based=True,
    )

    def __init__(
        self,
        root: Path,
        *,
        agents: Mapping[str, Path] | None = None,
        read_only: bool = False,
        is_makeable: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.about = self.about._replace(location=str(root))
        self._root, self._is_makeable, self._clock = root, is_makeable, clock
        agents = agents or {}
        self._folders = (NoteFolder(root), *(NoteFolder(folder, alias) for alias, folder in agents.items()))
        self.why_not = {name: reason for name, reason in WHY_NOT.items() if name != "agents" or not agents}
        if read_only:
            self.why_not |= {"write": ASKED_READ_ONLY}
        self._writing = threading.Lock()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> MarkdownMemory:
        """Use the notes of an install or of --location, with each agent's own folder (ZeroClaw >= 0.8)."""
        root = notes_root(Path(config.location).expanduser()) if config.location else config.install.root
        return cls(root, agents=agent_folders(config), read_only=config.read_only, is_makeable=not config.location)

    async def open(self) -> None:
        if not await self.health_check():
            kind = NothingYet if self._is_makeable else Unreadable
            raise kind(f"There is no directory {self._root}.", hint="ZeroClaw makes its own at its first start.")
        if "write" not in self.why_not and (because := await asyncio.to_thread(self._not_writable)) is not None:
            self.why_not = {**self.why_not, "write": because}
        self.about = self.about._replace(notices=tuple(map(Notice, self._findings(await self._loaded()))))

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(maker=self)

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Create the folder, without files until the first memory. Raises Refused if it exists."""
        if dry_run:
            return
        if await self.health_check():
            raise Refused(f"{self._root} exists already; its files are created with the first memory.")
        check_writable(self)
        try:
            await asyncio.to_thread(make_folder, self._root)
        except OSError as error:
            raise Refused(
                f"{self._root} cannot be created: {error.strerror}.", hint="Check its permissions."
            ) from error

    async def forget(self, key: str) -> bool:
        """Delete the line with this key, "<file stem>:<line>". Raises Refused if several folders have it."""
        entries = (await self._loaded()).entries
        found = [entry for entry in entries if entry.id == key] or [entry for entry in entries if entry.key == key]
        if len(found) > 1:
            ids = ", ".join(entry.id for entry in found)
            raise Refused(f"Several folders have a line {key}.", hint=f"Name one of {ids}.")
        return (await self.apply([Change(version_of_line(entry), None) for entry in found], None)).written > 0

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        """Recall by the rules of the profile; the first of several agents is the one that asks, the others its peers.

        ZeroClaw >= 0.8 prefixes each key with the agent's alias, and lists the agent's lines before its peers'.
        """
        request, profile = trial.request, trial.profile
        entries = (await self._loaded()).entries
        depth, found = depth_of(request, deep=deep), list[ScoredEntry]()
        wanted, is_here = replace(request, limit=depth), request.namespace in (None, "default")
        if is_here and (request.agents is None or len(self._folders) == 1 or profile.agent_scope == "none"):
            found = await asyncio.to_thread(recall_lines, entries, wanted, profile)
        elif is_here:
            found = await asyncio.to_thread(recall_of_agents, entries, wanted, profile, request.agents or ())
        notes = tuple(ignored_parts(request, self.why_not))
        return own_evidence(trial, StoreRecall(tuple(found), STAGE, SCALE, notes), depth)

    async def get(self, key: str) -> MemoryEntry | None:
        """Get the first memory with this key or with the key in its content, as ZeroClaw does."""
        entries = (await self._loaded()).entries
        return next((entry for entry in entries if entry.key == key or key in entry.content), None)

    async def health_check(self) -> bool:
        return await asyncio.to_thread(lambda: any(is_folder(folder.root) for folder in self._folders))

    async def health(self) -> Health:
        exists, notes = await self.health_check(), await self._loaded()
        findings = self._findings(notes) if exists else (f"There is no directory {self._root}.", *notes.problems)
        facts = {"folder": str(self._root), "memories": len(notes.entries), "files": notes.files}
        ok = exists and not notes.problems
        return Health(ok, "answers" if ok else "has files that cannot be read", findings, facts)

    def version_of(self, row: Row) -> RowVersion:
        return version_of_line(row.entry())

    async def _state(self) -> object:
        return await asyncio.to_thread(lambda: file_stamps(note.path for note in find_files(self._folders)))

    async def _load(self) -> Notes:
        return await asyncio.to_thread(lambda: read_notes(find_files(self._folders)))

    async def scan(self, visit: RowVisitor, filter: MemoryFilter | None = None) -> None:
        """Call `visit` with the fields of every memory, without the bytes of its line and its position in the file."""
        entries = await self.rows(Query(ENTRIES, filter or EVERYTHING, OLDEST_STORED))
        await visit_rows(map(Row.from_entry, entries), visit)

    async def _rows_of(self, entries: Sequence[MemoryEntry]) -> Sequence[Row]:
        """Get the lines of these memories with their exact bytes; `line` is the position in the file, from 0."""
        rows = await asyncio.to_thread(self._note_files().stored, [entry.id for entry in entries])
        return [rows[entry.id] for entry in entries if entry.id in rows]

    async def as_stored(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Convert each row to the line that ZeroClaw would write, with the stem of its file as its time."""
        check_writable(self)
        agents = {folder.agent for folder in self._folders}
        return await asyncio.to_thread(lambda: [_as_line(row, agents) for row in rows])

    async def apply(
        self,
        changes: Iterable[Change],
        journal: Journal | None,
        *,
        on_conflict: OnConflict = "skip",
        dry_run: bool = False,
        permanently: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> ApplyResult:
        """Change lines of files; each file is written once per call, atomically.

        A new memory is appended, whatever its key. The journal also records each file before and after: undoing that
        change restores every byte and preserves lines that others appended since. The disk blocks of the old file are
        not overwritten.
        """
        check_writable(self)
        stop = threading.Event()

        def write() -> ApplyResult:
            with self._writing:
                files, progress = self._note_files(), cancellable_progress(stop, on_progress)
                work = NoteChanges(files, journal, on_conflict=on_conflict, dry_run=dry_run, on_progress=progress)
                return work.apply(changes)

        return await wait_until_done(asyncio.ensure_future(asyncio.to_thread(write)), stop.set)

    def _findings(self, notes: Notes) -> tuple[str, ...]:
        if not notes.files:
            return (f"{self._root} has no MEMORY.md and no memory/*.md: this store has no memories yet.",)
        return notes.problems

    def _note_files(self) -> NoteFiles:
        return NoteFiles(self._folders, self._clock)

    def _not_writable(self) -> str | None:
        """Name the first folder or file that this user cannot write, in a sentence."""
        for folder in self._folders:
            notes = [folder.root / name for name in folder.names()]
            for path in (folder.root, *(Path(os.path.realpath(note)).parent for note in notes), *notes):
                if path.exists() and not os.access(path, os.W_OK):
                    return f"{path} is read-only for this user."
        return None


def _as_line(row: Row, agents: Collection[str | None]) -> Row:
    """Convert a row: core memories are written to MEMORY.md, others to the file of their day."""
    entry, is_known, core_stem = row.entry(), is_line(row), Path(CORE_NAME).stem
    if is_known:
        stem = entry.timestamp
    elif entry.category in ("", CORE):
        stem = core_stem
    else:
        written = moment(entry.timestamp)
        stem = "undated" if written is None else written.astimezone().date().isoformat()
    values: dict[str, Value] = {
        "key": entry.key,
        "content": in_one_line(entry.content) if is_known else note_line(entry.key, entry.content),
        "category": CORE if stem == core_stem else "daily",
        "created_at": stem,
    }
    return Row("", values, None, row.agent if row.agent in agents else None)


def recall_lines(entries: Iterable[MemoryEntry], request: RecallRequest, profile: ScoringProfile) -> list[ScoredEntry]:
    """Rank lines, best first, equal ones in the given order; a blank query returns the newest, each with score 1."""
    first, last = _days_of(request, profile)
    within = [entry for entry in entries if (day := parse_day(entry.timestamp)) is None or first <= day <= last]
    is_star = profile.star_lists_recent and request.query.strip(WHITE_SPACE) == "*"
    words = [] if is_star else [word for word in _BLANKS.split(request.query.lower()) if word]
    if not words:
        newest = within[: request.limit] if profile.blank_lists_recent else []
        return [ScoredEntry(entry, rank, 1.0, stage="recent") for rank, entry in enumerate(newest, 1)]
    contents = ((entry, entry.content.lower()) for entry in within)
    scored = [(sum(word in content for word in words) / len(words), entry) for entry, content in contents]
    hits = sorted((hit for hit in scored if hit[0] > 0), key=lambda hit: hit[0], reverse=True)[: request.limit]
    return [ScoredEntry(entry, rank, score, stage=STAGE) for rank, (score, entry) in enumerate(hits, 1)]


def recall_of_agents(
    entries: Sequence[MemoryEntry], request: RecallRequest, profile: ScoringProfile, aliases: Sequence[str]
) -> list[ScoredEntry]:
    """Recall for the first agent, followed by the lines of its peers, with the agent's alias before each key."""
    merged: list[ScoredEntry] = []
    for alias in aliases:
        own = [replace(entry, key=f"[{alias}] {entry.key}") for entry in entries if entry.agent == alias]
        merged += recall_lines(own, request, profile)
    return [scored._replace(rank=rank) for rank, scored in enumerate(merged[: request.limit], 1)]


def _days_of(request: RecallRequest, profile: ScoringProfile) -> tuple[date, date]:
    """The first and last day of a recall, from its bounds as written, in their own UTC offset.

    ZeroClaw >= 0.8.0 compares them with a file's date, and lets other names pass; older versions ignore the bounds.
    """
    if parse_version(profile.version) < (0, 8, 0):
        return date.min, date.max
    first, last = (parse_day((bound or "").strip()[:10]) for bound in (request.since, request.until))
    return first or date.min, last or date.max
