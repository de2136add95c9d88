"""The formats of files to import, and the import of a file or folder, recognised by its content."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.factory import backend_info, backend_of_file
from zeroclaw_tui.backends.note_lines import is_line, line_place
from zeroclaw_tui.curation.formats import csv_file, json_files, jsonl, notes, snapshot
from zeroclaw_tui.curation.formats.rows import distinct
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.curation.library import unknown_agent
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import BATCH_ROWS, DEFAULT_AGENT, Incoming
from zeroclaw_tui.curation.transfer.plan import Plan, Target, plan_transfer, write_all
from zeroclaw_tui.memory.change import OnConflict, ProgressCallback, Row
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.secret_text import find_secret_kinds, masked
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line, shell_word
from zeroclaw_tui.scoring.injection import THREATS, scan_all

_KEY_CELLS, _FORMAT_CELLS, _LONGEST_FILE, _KEYS_NAMED = 60, 40, 400, 4
_BATCH_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `name` is the value of `--from`, `title` is shown to people.

    `sniff` recognises a source of this format. `reader` yields its memories and counts lost data in `lost`. Both block.
    """

    name: str
    title: str
    sniff: Callable[[Source], bool]
    reader: Callable[[Source, Counter[str]], Iterator[Row]]
    is_ours: bool = False

    def read(self, source: Source, lost: Counter[str]) -> Iterator[Row]:
        """Read the memories; for other tools' formats, drop repeated ones and make keys unique."""
        rows = self.reader(source, lost)
        return rows if self.is_ours else distinct(rows, lost)


FORMATS = {
    found.name: found
    for found in (
        Format("jsonl", "an export in JSON Lines", jsonl.sniff, jsonl.read, is_ours=True),
        Format("csv", "a table", csv_file.sniff, csv_file.read, is_ours=True),
        Format("snapshot", "a snapshot of ZeroClaw", snapshot.sniff, snapshot.read, is_ours=True),
        Format("claude", "Claude Code", notes.sniff_claude, notes.read_claude),
        Format("openclaw", "OpenClaw", notes.sniff_openclaw, notes.read_openclaw),
        Format("mcp", "the MCP server “memory”", json_files.sniff_mcp, json_files.read_mcp),
        Format("mem0", "mem0", json_files.sniff_mem0, json_files.read_mem0),
        Format("rmem", "R-Mem", json_files.sniff_rmem, json_files.read_rmem),
    )
}


def find_format(source: Source, name: str | None = None) -> Format:
    """Find a format by name, or else by the content of the source."""
    if name is not None:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise UsageError(f"No format is called {cut(one_line(name), _FORMAT_CELLS)!r}.", hint=f"There are {known}.")
        return FORMATS[name]
    # The first match; our own formats are first, because only their files may be larger than other readers accept.
    for known_format in FORMATS.values():
        if known_format.sniff(source):
            return known_format
    is_empty = not source.is_folder and not source.head()
    raise UsageError(
        f"{source.name} {'is empty' if is_empty else 'has no format that is known here'}.",
        hint=f"The formats are {', '.join(FORMATS)}; --from NAME chooses one."
        " `zeroclaw memory copy --location FILE --to sqlite` copies a database.",
    )


@dataclass(slots=True)
class _Reading:
    """A file or folder whose memories can be read repeatedly, without suspicious ones.

    `with_flagged` includes texts that may contain a secret or a threat, `keys` selects memories (None: all). `state` is
    the fingerprint of the files at the first reading. For the last reading, `lost` counts what is not imported, `flags`
    the kinds of possible secrets and threats, and `flagged` has the keys of these texts.
    """

    source: Source
    format: Format
    with_flagged: bool
    keys: Collection[str] | None
    state: str
    lost: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    flagged: list[str] = field(default_factory=list)

    async def batches(self, to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        rows = self._each()
        if to_notes:
            rows = iter(await asyncio.to_thread(sorted, rows, key=_place_in_notes))
        while batch := await asyncio.to_thread(_batch, rows):
            yield batch

    def _each(self) -> Iterator[Row]:
        """Yield the memories; texts of other tools are searched for secrets and threats. Blocks."""
        if self.state != self.source.state():
            raise Refused(f"{self.source.name} changed while it was read.", hint="Import it again.")
        self.lost, self.flags, self.flagged = Counter(), Counter(), []
        is_searched = not self.format.is_ours and not self.with_flagged
        for row in self.format.read(self.source, self.lost):
            if self.keys is not None and row.key not in self.keys:
                continue
            if is_searched and (flags := _flags_in(str(row.values["content"]))):
                self.flags.update(flags)
                self.flagged.append(row.key)
            else:
                yield row

    def notes(self) -> Iterator[str]:
        """Yield sentences on what was read and what is not imported."""
        if not self.format.is_ours:
            yield f"Read as {self.format.title}; --from names another format."
        yield from (name for name in self.lost if name.endswith("."))
        counts = [(name, count) for name, count in self.lost.most_common() if not name.endswith(".")]
        if counts:
            yield f"Not imported: {_listed(counts)}."
        if self.flagged:
            keys = first_names(self.flagged, most=_KEYS_NAMED, longest=_KEY_CELLS)
            reasons = _listed(self.flags.most_common())
            yield f"Left out {counted(len(self.flagged), 'text')} that may contain {reasons}: {keys}."
            yield "Pass `--with flagged` or press `f` in the inspector to import such texts too."
        if self.source.unread:
            named = [f"{name} ({reason.rstrip('.')})" for name, reason in self.source.unread.items()]
            yield f"Not read: {first_names(named, longest=_LONGEST_FILE)}."


def _batch(rows: Iterator[Row]) -> list[Row]:
    """The next batch of rows, limited in number and in characters."""
    batch, characters = list[Row](), 0
    for row in rows:
        batch.append(row)
        characters += len(str(row.values["content"]))
        if len(batch) == BATCH_ROWS or characters > _BATCH_CHARACTERS:
            break
    return batch


def _flags_in(content: str) -> list[str]:
    threats = (THREATS[name] for name in scan_all(content, "strict"))
    return list(dict.fromkeys([*find_secret_kinds(content), *threats]))


def _listed(counts: Sequence[tuple[str, int]]) -> str:
    return first_names([f"{name} ({count:,})" for name, count in counts], longest=_KEY_CELLS)


def _place_in_notes(row: Row) -> tuple[str, int]:
    """The sort key for notes: an export has lines of notes newest first; other memories come before them."""
    return line_place(row) if is_line(row) else ("", 0)


async def plan_import(
    target: Target,
    path: Path,
    *,
    format: str | None = None,
    with_flagged: bool = False,
    agent: str | None = None,
    keys: Collection[str] | None = None,
    verb: Literal["import", "hydrate"] = "import",
    on_progress: ProgressCallback | None = None,
) -> Plan:
    """Read the source once, in constant memory, and compare it with the store, without writing.

    `format` is the name of the format, `agent` the agent that will own every memory (None: as in the source), `keys`
    selects memories. `with_flagged` includes texts that may contain a secret or a threat. Raises UsageError for a store
    of another program.
    """
    library = target.library
    if agent is not None and library is not None:
        await library.check_agents([agent])
    elif agent is not None and agent not in (known := {DEFAULT_AGENT, *target.config.agents}):
        raise unknown_agent(agent, known)

    def open_source() -> _Reading:
        source = Source(path)
        store = None if source.is_folder else backend_info(backend_of_file(source.path) or "")
        if store is not None and format is None:
            command = f"zeroclaw memory copy --location {shell_word(str(source.path))} --to sqlite"
            raise UsageError(f"{source.name} is a store of {store.title}.", hint=f"`{command}` copies its memories.")
        return _Reading(source, find_format(source, format), with_flagged, keys, source.state())

    async with target.planned_store() as memory:
        if library is not None:
            check_writable(library.memory)
        reading = await asyncio.to_thread(open_source)
        own_times = reading.format.name in ("jsonl", "csv")
        incoming = Incoming(reading.batches, lambda: reading.source.vectors_by, has_own_times=own_times, owner=agent)
        now = datetime.now(UTC) if library is None else library.trash.now()
        plan = await plan_transfer(verb, incoming, memory, target, now, on_progress)
    notes = (*plan.notes, *(one_line(masked(note)) for note in reading.notes()))
    return replace(plan, notes=notes, file=path, format=reading.format.name, flagged=len(reading.flagged))


async def import_memories(
    target: Target, plan: Plan, on_conflict: OnConflict, *, on_progress: ProgressCallback | None = None
) -> Outcome:
    """Import the memories of a plan as one action, in constant memory; a missing store is created first.

    A second run continues an interrupted one. Raises Refused if the files have changed since the plan, and the errors
    of the store.
    """
    if not plan.count:
        return Outcome(plan.verb, 0)
    summary = f"{'imported' if plan.verb == 'import' else 'hydrated'} {cut(one_line(plan.file.name), _KEY_CELLS)}"
    outcome, _ = await write_all(await target.make(), plan.incoming, on_conflict, plan.verb, summary, on_progress)
    return outcome
