"""Memory in Markdown files, read as ZeroClaw reads it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import Capabilities, Entries, Health, Memory, Scored, StoreRecall
from zeroclaw_tui.backends.listing import sort_key
from zeroclaw_tui.backends.markdown.files import (
    NoteFile,
    NoteFolder,
    Notes,
    ParsedFile,
    Signature,
    collect,
    find_files,
    read_file,
    signature,
)
from zeroclaw_tui.backends.markdown.recall import SCALE, STAGE, recall_lines
from zeroclaw_tui.config.layouts import exists
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, Unreadable
from zeroclaw_tui.memory.query import Cursor, MemoryFilter, Page, Sort, SortField
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, profile_for
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

_WHY_NOT = {
    "vectors": "Markdown memory has no vectors: ZeroClaw scores a line by the share of the query's words it contains.",
    "sessions": "Markdown files keep no session.",
    "agents": "These Markdown files belong to no agent.",
    "namespaces": "Markdown files keep no namespace.",
    "superseded": "Markdown files keep every version of a memory side by side.",
    "pinned": "Markdown files cannot pin a memory.",
    "importance": "Markdown files keep no importance.",
    "kind": "Markdown files keep no kind.",
    "write": "Markdown memory is only read in this release.",
}


class MarkdownMemory(Memory):
    """Each line of MEMORY.md (core) and memory/*.md (daily) is a memory; its key is "<file stem>:<line>".

    `root` is the folder that holds them, or one .md file. `agents` maps an alias to that agent's own folder
    (ZeroClaw >= 0.8). Without an agent named, all folders are read as one.
    """

    name = "markdown"
    read_only_because = _WHY_NOT["write"]

    def __init__(self, root: Path, *, agents: Mapping[str, Path] | None = None) -> None:
        self.location = str(root)
        self._root = root
        self._agents = tuple(NoteFolder(folder, alias) for alias, folder in (agents or {}).items())
        reasons = {name: why for name, why in _WHY_NOT.items() if name != "agents" or not self._agents}
        self.capabilities = Capabilities(
            keyword=True, sessions=False, agents=bool(self._agents), watch=True, why_not=reasons
        )
        self._parsed: dict[NoteFile, tuple[Signature, ParsedFile]] = {}
        self._signature: Signature | None = None
        self._notes = Notes()
        self._version = 0
        self._lock = threading.Lock()

    async def open(self) -> None:
        """Read the files. Raises Unreadable when there is no such folder."""
        if not exists(self._root):
            raise Unreadable(
                f"There is no folder {self._root}.", hint="Give the folder that holds MEMORY.md or memory/."
            )
        notes = await self._read()
        if not notes.files:
            self.notices = (self._nothing_yet,)
        else:
            self.notices = notes.problems

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Refused."""
        raise self.refuse_to_write()

    async def forget(self, key: str) -> bool:
        """Refused."""
        raise self.refuse_to_write()

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Recall by the rules of the newest ZeroClaw; the session makes no difference."""
        entries = (await self._read()).entries
        return await asyncio.to_thread(recall_lines, entries, query, limit, profile_for(NEWEST), since, until)

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """Recall by the rules of `profile`; of several agents the first is the one that asks, the others its peers.

        ZeroClaw >= 0.8 puts the agent's alias before each key, and its own lines before those of its peers.
        """
        entries = (await self._read()).entries
        notes: list[str] = []
        if request.session_id is not None:
            notes.append("Markdown files keep no session, so the session of this recall leaves nothing out.")
        if request.namespace not in (None, "default"):
            return StoreRecall((), STAGE, SCALE, (*notes, f"{_WHY_NOT['namespaces']} All count as 'default'."))
        if request.agents is None or not self._agents or profile.agent_scope == "none":
            bounds = (request.since, request.until)
            found = await asyncio.to_thread(recall_lines, entries, request.query, request.limit, profile, *bounds)
        else:
            found = await asyncio.to_thread(_recall_of_agents, entries, request, request.agents, profile)
        return StoreRecall(tuple(found), STAGE, SCALE, tuple(notes))

    async def get(self, key: str) -> MemoryEntry | None:
        """The first memory whose key is this or whose content contains it, as ZeroClaw looks it up."""
        entries = (await self._read()).entries
        return next((entry for entry in entries if entry.key == key or key in entry.content), None)

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """Every memory of exactly that key; where there is none, the first that contains it, as ZeroClaw does."""
        entries = [entry for entry in (await self._read()).entries if agent is None or entry.agent == agent]
        exact = [entry for entry in entries if entry.key == key]
        return exact or [entry for entry in entries if key in entry.content][:1]

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories, the newest file first; MEMORY.md comes before dates. The session makes no difference."""
        return [entry for entry in (await self._read()).entries if category is None or entry.category == category]

    async def count(self) -> int:
        """How many memories there are."""
        return len((await self._read()).entries)

    async def health_check(self) -> bool:
        """True when the folder exists."""
        return await asyncio.to_thread(exists, self._root)

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page:
        """The rows after `cursor`, as excerpts."""
        page = await super().page(filter, sort, cursor, limit)
        return replace(page, entries=tuple(entry.excerpt() for entry in page.entries))

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these handles, in that order, as excerpts."""
        by_handle = (await self._read()).by_handle
        return [by_handle[str(handle)].excerpt() for handle in handles if str(handle) in by_handle]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotThere when the line has gone."""
        entry = (await self._read()).by_handle.get(str(handle))
        if entry is None:
            raise NotThere("This line is no longer there.", hint="r reloads the list.")
        return entry

    async def data_version(self) -> int | None:
        """Changes when a file was written, came or went."""
        await self._read()
        return self._version

    async def health(self) -> Health:
        """Which files are read, and which of them stand in ZeroClaw's way."""
        exists = await self.health_check()
        notes = await self._read()
        findings = notes.problems if exists else (f"There is no folder {self._root}.", *notes.problems)
        if exists and not notes.files:
            findings = (self._nothing_yet,)
        facts = {
            "folder": str(self._root),
            "memories": len(notes.entries),
            "files": notes.files,
            "bytes": notes.size,
            "lines that begin with # and are not read": notes.headings,
        }
        ok = exists and not notes.problems
        return Health(ok, "answers" if ok else "has files that cannot be read", findings, facts)

    async def _ordered(self, filter: MemoryFilter, sort: Sort) -> Entries:
        found = await self.entries(filter)
        if sort.field in (SortField.STORED, SortField.UPDATED):
            return found if sort.descending else found[::-1]
        # Without the handle, equal values stay in the order of the files: "x:10" comes after "x:9".
        return sorted(found, key=lambda entry: sort_key(entry, sort)[0], reverse=sort.descending)

    @property
    def _nothing_yet(self) -> str:
        return f"{self._root} has no MEMORY.md and no memory/*.md: nothing is remembered here yet."

    async def _read(self) -> Notes:
        return await asyncio.to_thread(self._refresh)

    def _refresh(self) -> Notes:
        """Parse what has changed since the last look."""
        with self._lock:
            files = [note for folder in self._folders() for note in find_files(folder)]
            now = signature(files)
            if now != self._signature:
                self._notes = collect((note, self._parse(note)) for note in files)
                self._signature = now
                self._version += 1
            return self._notes

    def _parse(self, note: NoteFile) -> ParsedFile:
        state = signature([note])
        known = self._parsed.get(note)
        if known is None or known[0] != state:
            known = (state, read_file(note))
            self._parsed[note] = known
        return known[1]

    def _folders(self) -> Iterable[NoteFolder]:
        if self._root.is_file():
            return (NoteFolder(self._root.parent, only=self._root.name),)
        return (NoteFolder(self._root), *self._agents)


def _recall_of_agents(
    entries: Iterable[MemoryEntry], request: RecallRequest, aliases: Sequence[str], profile: ScoringProfile
) -> Scored:
    merged: Scored = []
    held = list(entries)
    for alias in aliases:
        own = [replace(entry, key=f"[{alias}] {entry.key}") for entry in held if entry.agent == alias]
        merged += recall_lines(own, request.query, request.limit, profile, request.since, request.until)
    return [replace(scored, rank=rank) for rank, scored in enumerate(merged[: request.limit], 1)]
