"""The target and the plan of an import or a copy, and writing the memories."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from zeroclaw_tui.backends.base import Memory, check_writable
from zeroclaw_tui.backends.factory import backend_info, create_memory
from zeroclaw_tui.backends.lookup import make_store
from zeroclaw_tui.backends.note_lines import is_line, read_line
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import run_change
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.library import Library, open_library, profile_for_new_store
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import Compared, Comparison, Incoming, State, Stopped, lost_fields, rekey
from zeroclaw_tui.files.disk import temporary_folder
from zeroclaw_tui.memory.change import AGENTS, ApplyResult, Change, OnConflict, ProgressCallback, Row
from zeroclaw_tui.memory.errors import NothingYet
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line

TransferVerb = Literal["import", "hydrate", "copy"]

_EFFECTS: dict[OnConflict, str] = {
    "skip": "left out (--overwrite replaces the existing ones, --rename adds these under another key)",
    "overwrite": "replace the existing ones",
    "rename": "added under another key",
}
_MAX_SAMPLES = 5
_KEY_CELLS, _MAX_KEY_LENGTH = 60, 400
_MAX_NAMES, _MAX_NAMES_SHOWN, _NAME_CELLS = 200, 12, 30


@dataclass(slots=True)
class Target:
    """The target store, `location` as shown to people; `library` is None until `make` has created a missing store."""

    config: MemoryConfig
    library: Library | None
    profile: str | None
    location: str

    @classmethod
    def of(cls, library: Library) -> Target:
        return cls(library.config, library, None, library.memory.about.location)

    @classmethod
    async def at(cls, config: MemoryConfig, profile: str | None = None) -> Target:
        """Find the store of a config, which may be missing. Raises the errors of opening except NothingYet."""
        memory = create_memory(config)
        target = cls(config, None, profile, memory.about.location)
        try:
            if not memory.about.is_line_based or await memory.health_check():
                with suppress(NothingYet):
                    target.library = await open_library(config, profile)
                    target.location = target.library.memory.about.location
        finally:
            await memory.close()
        return target

    async def close(self) -> None:
        if self.library is not None:
            await self.library.close()

    async def make(self) -> Library:
        """Return the open store, after creating it if missing. Raises the errors of creating and opening."""
        if self.library is None:
            memory = self._missing_store()
            try:
                await make_store(memory, await asyncio.to_thread(profile_for_new_store, self.config, self.profile))
            finally:
                await memory.close()
            self.library = await open_library(self.config, self.profile)
        return self.library

    @asynccontextmanager
    async def planned_store(self) -> AsyncIterator[Memory]:
        """Yield the store, or for a missing store one like it will be."""
        if self.library is not None:
            yield self.library.memory
            return
        memory = self._missing_store()
        profile = await asyncio.to_thread(profile_for_new_store, self.config, self.profile)
        with temporary_folder("zeroclaw-tui-") as folder:
            try:
                if memory.about.path is None:
                    await make_store(memory, profile, dry_run=True)
                else:
                    # A temporary database shows how the new one will store rows.
                    sample = self.config._replace(location=str(folder / "brain.db"), read_only=False)
                    memory = create_memory(sample)
                    memory.about = memory.about._replace(location=self.location)
                    await make_store(memory, profile)
                    await memory.open()
                yield memory
            finally:
                await memory.close()

    def _missing_store(self) -> Memory:
        """The missing store; a named folder will also be created."""
        memory = create_memory(self.config)
        if memory.about.is_line_based and self.config.location is not None:
            alone = self.config.install._replace(root=Path(memory.about.location), layout="lone")
            return create_memory(self.config._replace(install=alone, location=None))
        return memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The numbers of incoming memories: new ones, those that exist already (`same`), and those whose key is taken.

    `samples` are the first taken keys. `notes` are sentences about losses and unread files, `makes` is one about what
    is created first, or None. For an import, `file` and `format` are the source, and `flagged` counts the memories that
    may contain a secret or a threat and are left out.
    """

    verb: TransferVerb
    incoming: Incoming = field(repr=False)
    new: int
    same: int
    taken: int
    samples: tuple[str, ...]
    makes: str | None
    notes: tuple[str, ...]
    file: Path = Path()
    format: str = ""
    flagged: int = 0

    @property
    def count(self) -> int:
        return self.new + self.same + self.taken

    def write_count(self, on_conflict: OnConflict) -> int:
        return self.new + (0 if on_conflict == "skip" else self.taken)

    def counts(self, on_conflict: OnConflict | None = None) -> Iterator[str]:
        """Yield the numbers of new, existing and taken memories, with the handling of taken ones once it is decided."""
        yield f"{self.new:,} new"
        if self.same:
            yield f"{self.same:,} already there, the same"
        if self.taken:
            becomes = "" if on_conflict is None else f": {_EFFECTS[on_conflict]}"
            yield f"{self.taken:,} whose key is taken{becomes}"

    def as_json(self) -> dict[str, Any]:
        of_file = {"file": str(self.file), "format": self.format} if self.format else {}
        return of_file | {name: getattr(self, name) for name in ("new", "same", "taken", "samples", "makes")}


async def plan_transfer(
    verb: TransferVerb,
    incoming: Incoming,
    memory: Memory,
    target: Target,
    now: datetime,
    on_progress: ProgressCallback | None,
) -> Plan:
    """Compare all incoming memories with the store. Raises Stopped if `on_progress` returns False."""
    comparison = await Comparison.prepare(incoming, memory, now, exists=target.library is not None)
    lost, samples = Counter[str](), list[str]()

    def visit(one: Compared) -> None:
        stored = read_line(one.stored) if memory.about.is_line_based and not is_line(one.row) else one.stored
        # Another program may have written arbitrary names.
        for name in lost_fields(one.row, stored):
            if name in lost or len(lost) < _MAX_NAMES:
                lost[name] += 1
        if one.state == "taken" and len(samples) < _MAX_SAMPLES:
            samples.append(short_key(one.stored.key))

    counts = await compare_all(comparison, visit, on_progress)
    info = backend_info(memory.name)
    label = f"The store {memory.name}" if info is None else info.title
    most_first = sorted(lost.items(), key=lambda field: (-field[1], field[0]))
    fields = [f"{one_line(name)} ({count:,})" for name, count in most_first]
    named = first_names(fields, most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)
    return Plan(
        verb=verb,
        incoming=incoming,
        new=counts["new"],
        same=counts["same"],
        taken=counts["taken"],
        samples=tuple(samples),
        makes=f"{one_line(target.location)} is created first." if target.library is None and counts else None,
        notes=(f"{label} drops or changes: {named}.",) if lost else (),
    )


async def compare_all(
    comparison: Comparison, visit: Callable[[Compared], None], on_progress: ProgressCallback | None
) -> Counter[State]:
    """Visit and count all compared memories by state. Raises Stopped if `on_progress` returns False."""
    async for found in comparison.batches():
        await asyncio.to_thread(lambda batch: list(map(visit, batch)), found)
        if on_progress is not None and not on_progress(comparison.counts.total()):
            raise Stopped("Reading was stopped.", hint="Nothing was imported.")
    return comparison.counts


def short_key(key: str) -> str:
    """A key as shown in a list, secrets masked."""
    return cut(masked(key[:_MAX_KEY_LENGTH]), _KEY_CELLS)


async def write_all(
    library: Library,
    incoming: Incoming,
    on_conflict: OnConflict,
    verb: TransferVerb,
    summary: str,
    on_progress: ProgressCallback | None,
) -> tuple[Outcome, Collection[int]]:
    """Write incoming memories in batches, as one action; also returns the hashes of the skipped identities."""
    check_writable(library.memory)
    memory = library.memory
    comparison = await Comparison.prepare(incoming, memory, library.trash.now())
    new_keys, left_out = dict[str, str](), set[int]()

    def change_for(one: Compared) -> Change | None:
        if one.state == "same":
            return None
        if one.state == "new":
            return Change(None, one.stored)
        if on_conflict == "skip":
            left_out.add(hash(comparison.identity(one.stored)))
            return None
        if one.existing is not None and on_conflict == "overwrite":
            return Change(one.existing, comparison.replacing(one.row, one.stored, one.existing))
        row = rekey(one.stored)
        new_keys[one.stored.key] = row.key
        return Change(None, row)

    async def work(action: RunningAction, report_progress: ProgressCallback) -> Outcome:
        total, is_stopped = ApplyResult(), False
        async for compared in comparison.batches():
            changes = [change for one in compared if (change := change_for(one))]
            if changes:
                changes[:0] = _new_agents(comparison, changes)
                result = await memory.apply(
                    changes, action, on_conflict="skip", on_progress=lambda done: report_progress(total.written + done)
                )
                total.add(result)
                is_stopped = result.cancelled
            if is_stopped or not report_progress(total.written):
                is_stopped = True
                break
        if total.skipped:
            total.note(f"Left out {counted(len(total.skipped))}, because the key or the ID is taken.")
        return Outcome(verb, total.written, cancelled=is_stopped, notes=tuple(total.notes), renamed=new_keys)

    return await run_change(library, verb, summary, work, on_progress), left_out


def _new_agents(comparison: Comparison, changes: Sequence[Change]) -> list[Change]:
    """Create the agents of memories that the store does not have yet."""
    aliases = dict.fromkeys(change.after.agent for change in changes if isinstance(change.after, Row))
    unknown = [alias for alias in aliases if alias is not None and alias not in comparison.agents]
    comparison.agents |= set(unknown)
    agents = [{"id": str(uuid4()), "alias": alias, "created_at": comparison.now} for alias in unknown]
    return [Change(None, Row(agent["id"], agent, agent=agent["alias"], table=AGENTS)) for agent in agents]
