"""The Lucid bridge: the local brain.db is the authority, and the lucid program adds what it lacks."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends import generic_recall
from zeroclaw_tui.backends.base import Entries, Health, Memory, Stamps, StoreRecall
from zeroclaw_tui.backends.lucid import words
from zeroclaw_tui.backends.lucid.asking import Asking, Question
from zeroclaw_tui.backends.lucid.context import type_of
from zeroclaw_tui.backends.lucid.program import run
from zeroclaw_tui.backends.lucid.settings import LucidConfig, LucidSettings
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.change import (
    Advance,
    Draft,
    Edit,
    Keep,
    Removal,
    Stamp,
    StoredRow,
    Vector,
    Written,
)
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotReachable, NotThere, Refused
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import Evidence
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, parse_version
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig

_NOTHING_SAID = LucidConfig({}, {})


class LucidMemory(SqliteMemory):
    """A brain.db whose recall asks the lucid program for more, and which hands it each new memory.

    All else is the database's own. What lucid answers is no row of it: such an entry has text as its handle, can be
    read as long as it is the last answer, and is refused to whoever would change or delete it. A batch is stored in the
    database alone: lucid would be started once for each of its memories.
    """

    name = "lucid"
    has_quotas = False

    def __init__(
        self,
        path: Path,
        *,
        location: str | None = None,
        read_only: bool = False,
        project: Path | None = None,
        config: LucidConfig = _NOTHING_SAID,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`project` is ZeroClaw's workspace or data folder; `clock` gives seconds that only rise."""
        super().__init__(path, location=location, read_only=read_only)
        around = path.parent.parent if path.parent.name == "memory" else path.parent
        self._project = project or around
        self._config = config
        self._asking = Asking(clock)
        self._version: str | None = None

    @classmethod
    def from_config(cls, config: MemoryConfig) -> LucidMemory:
        """The bridge of an install. Raises what SqliteMemory's does."""
        local = SqliteMemory.from_config(config)
        project = None if config.location else config.install.root
        return cls(local.path, read_only=config.read_only, project=project, config=LucidConfig.of(config))

    @property
    def trash_name(self) -> str:
        """That of the database: its rows are the same by either name."""
        return SqliteMemory.name

    @property
    def standing(self) -> str | None:
        """How long lucid is not asked any more after it failed."""
        seconds = self._asking.seconds_of_rest(self._settings)
        return words.rests(seconds) if seconds else None

    async def open(self) -> None:
        """Open the database; lucid itself is looked for when it is asked."""
        await super().open()
        told = words.notice(is_written=self.read_only_because is None)
        self.notices, self.facts = (*self.notices, told), (*self.facts, told)
        why_not = {**self.capabilities.why_not, "zeroclaw_forget": words.KEEPS}
        self.capabilities = replace(self.capabilities, why_not=why_not)

    async def close(self) -> None:
        """Stop asking, and what SqliteMemory does."""
        self._asking.stop()
        await super().close()

    def interrupt(self) -> None:
        """Stop the search that runs now, the program too."""
        self._asking.stop()
        super().interrupt()

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """The database's recall and, where that finds too little, what lucid adds, by the rules of `profile`.

        A program that fails, hangs or is not there costs nothing but its rows; a note says so.
        """
        self._version = profile.version
        # ZeroClaw asks for twice the limit and then picks out the namespace, which lucid's rows pass through too.
        doubled = replace(request, namespace=None, limit=request.limit * 2)
        wanted = request if request.namespace is None else doubled
        local = await super().search(wanted, profile, settings, query_vector)
        question = Question(request, wanted.limit, profile, self._settings, self._project, self.capabilities.namespaces)
        found = await self._asking.completed(question, local)
        unread = self._config.unread_by(parse_version(profile.version))
        return replace(found, notes=(*found.notes, words.unread(unread, profile.version))) if unread else found

    # Lucid's rows come behind what the database has decided, so only the answer of `search` can be judged.
    recall_evidence = Memory.recall_evidence

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """That of the database, unless lucid's rows take part in this recall: then only its answer can be judged."""
        found = await self.search(request, profile, settings, query_vector)
        if any(_is_lucid(scored.entry.handle) for scored in found.entries):
            return generic_recall.as_found(request, found, profile, settings)
        evidence = await super().evidence(request, profile, settings, query_vector)
        local = await super().search(request, profile, settings, query_vector)
        notes = tuple(note for note in found.notes if note not in local.notes)
        return replace(evidence, notes=(*evidence.notes, *notes))

    async def whole_rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of the database and of lucid's last answer, in that order."""
        held = {entry.handle: entry for entry in await super().whole_rows(handles)}
        held |= {entry.handle: entry for entry in self._asking.answered()}
        return [held[handle] for handle in handles if handle in held]

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of the database and of lucid's last answer, as excerpts, in that order."""
        held = {entry.handle: entry for entry in await super().rows([each for each in handles if not _is_lucid(each)])}
        held |= {entry.handle: entry.excerpt() for entry in self._asking.answered()}
        return [held[handle] for handle in handles if handle in held]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotThere when it has gone, or was of an earlier answer of lucid's."""
        if not _is_lucid(handle):
            return await super().whole(handle)
        for entry in self._asking.answered():
            if entry.handle == handle:
                return entry
        raise NotThere("Lucid has been asked something else since.", hint="Recall it again.")

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of the database's rows. Raises Refused where all that is meant is lucid's."""
        own = [handle for handle in handles if not _is_lucid(handle)]
        if handles and not own:
            raise _not_ours()
        return await super().stamps_of(own)

    async def stored(self, id: str) -> StoredRow | None:
        """One memory of the database. Raises Refused for one of lucid's last answer."""
        row = await super().stored(id)
        if row is None and any(entry.id == id for entry in self._asking.answered()):
            raise _not_ours()
        return row

    async def create(self, draft: Draft, keep: Keep, *, vector: Vector | None = None, replace: bool = False) -> Written:
        """Store a new memory in the database, then hand it to lucid; where that fails a note says so."""
        written = await super().create(draft, keep, vector=vector, replace=replace)
        draft, settings = draft.checked(), self._settings
        arguments = [
            "store",
            f"{draft.key}: {draft.content}",
            f"--type={type_of(draft.category)}",
            f"--project={words.path_text(self._project)}",
        ]
        try:
            await run(settings.binary_path, arguments, settings.store_timeout_ms)
        except NotReachable as failure:
            return Written(written.change, (*written.notes, words.not_handed_over(failure.message)))
        return written

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change a row of the database; ZeroClaw has no such verb, and lucid none to be told by."""
        await self.stored(id)
        written = await super().update(id, edit, expected, keep, vector=vector)
        return Written(written.change, (*written.notes, words.KEEPS))

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete rows of the database. Raises Refused where one of them is lucid's."""
        if any(_is_lucid(stamp.handle) for stamp in stamps):
            raise _not_ours()
        removal = await super().remove(stamps, keep, advance, zero=zero)
        return replace(removal, notes=(*removal.notes, words.KEEPS)) if removal.removed else removal

    async def health(self) -> Health:
        """The database's, and the facts of the program, which is looked for but not run."""
        health, settings = await super().health(), self._settings
        program = await asyncio.to_thread(shutil.which, settings.binary_path)
        missing = () if program else (words.missing(settings.binary_path),)
        return replace(
            health, findings=(*health.findings, *missing), facts={**health.facts, **words.facts(program, settings)}
        )

    @property
    def _settings(self) -> LucidSettings:
        """By the version whose rules the last search had, else the newest that has this schema."""
        return self._config.for_version(parse_version(self._version or self.newest_version or NEWEST))


def _is_lucid(handle: Handle) -> bool:
    """The database's own handles are numbers."""
    return isinstance(handle, str)


def _not_ours() -> Refused:
    return Refused(words.NOT_OURS, hint=words.NO_COMMAND)
