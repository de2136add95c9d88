"""Reading memories from JSONL, CSV or Markdown, checked before anything is written."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal, TypeVar

from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.changing import Outcome, refuse_read_only
from zeroclaw_tui.curation.changing_rows import change_rows
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.comparing import NEW, RENAMED, SAME, Comparison
from zeroclaw_tui.curation.transfer.copy_losses import CopyLosses
from zeroclaw_tui.curation.transfer.exporting import Format
from zeroclaw_tui.curation.transfer.fitting import Fitting, Losses, Target
from zeroclaw_tui.curation.transfer.identity import KnownVectors, known_vectors
from zeroclaw_tui.curation.transfer.keeping import Origin
from zeroclaw_tui.curation.transfer.matching import Matching, What
from zeroclaw_tui.curation.transfer.note_keeping import NoteKeeping, append_lines, note_keeping
from zeroclaw_tui.curation.transfer.reading import MemoryFile, file_given
from zeroclaw_tui.curation.transfer.spool import Spool
from zeroclaw_tui.memory.change import Advance, Clash, RowChange, StoredRow
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError, Refused, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import cut, one_line

OnClash = Literal["skip", "overwrite", "rename"]
SAMPLES = 5
"""How many taken keys a plan names."""

_AT_ONCE, _BYTES_AT_ONCE = 250, 8_000_000
_ASKS_EVERY = 200
_KEY_CELLS = 60
_CLASH: dict[OnClash, Clash] = {"skip": "skip", "overwrite": "overwrite", "rename": "rename"}
_PLACE = re.compile(r"(MEMORY|undated|\d{4}-\d\d-\d\d):(\d+)")
"""The key that a line of notes has in an export: its file and its number."""
_EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What a file would bring: how many new ones, how many that are there the same, how many whose id or key is taken.

    `samples` are the first keys that are taken. `notes` are sentences: what the format or this store cannot take.
    Of those `beside` were brought in before under another key. `state` is the file's as it was read.
    """

    path: Path
    format: Format
    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    beside: int = 0
    state: str = ""

    @property
    def count(self) -> int:
        """How many memories the file holds."""
        return self.new + self.same + self.taken

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        return self.new + {"skip": 0, "rename": self.taken - self.beside, "overwrite": self.taken}[on_clash]


class Stopped(InspectorError):
    """`advance` said no while the file was read."""

    title = "Stopped"
    exit_code = INTERRUPTED


class _Seen(Exception):
    """One row was enough."""


@dataclass(slots=True)
class _Read:
    """A file that was compared with the store."""

    file: MemoryFile
    target: Target
    comparison: Comparison
    losses: Losses


async def plan_import(
    library: Library,
    path: Path,
    format: Format | None = None,
    *,
    advance: Advance | None = None,
) -> ImportPlan:
    """Read the whole file once, in constant memory. Raises WrongUse for a file of another shape, truncated, or with a
    key twice, naming the line; NotThere, Unreadable, Refused for a store that takes none."""
    _check_writable(library)
    file = await asyncio.to_thread(file_given, path, format)
    if library.memory.keeps_lines:
        lines = await _compared_lines(library, file, advance)
        notes = (*lines.losses.sentences(), *_unknown(file))
        return ImportPlan(path, file.format, lines.new, lines.same, 0, (), notes, 0, file.state)
    read = await _compared(library, file, advance)
    with closing(read.comparison):
        new, same, taken, beside = read.comparison.counts()
        samples = await asyncio.to_thread(_samples, file, read.comparison.taken(SAMPLES))
    notes = (*read.losses.notes(), *_unknown(file))
    return ImportPlan(path, file.format, new, same, taken, samples, notes, beside, file.state)


async def import_memories(
    library: Library, plan: ImportPlan, on_clash: OnClash, *, advance: Advance | None = None
) -> Outcome:
    """Bring them in as one action of verb "import", in constant memory. Doing it again goes on where it was cut off.

    Raises Refused when the file changed since it was planned, and what `change_rows` raises.
    """
    refuse_read_only(library)
    _check_writable(library)
    file = MemoryFile(plan.path, plan.format, state=plan.state)
    summary = f"imported {cut(one_line(plan.path.name), _KEY_CELLS)}"
    if library.memory.keeps_lines:
        with Spool() as spool:
            await _compared_lines(library, file, None, spool)
            if not spool.count:
                return Outcome("import", 0)
            return await append_lines(library, "import", summary, spool, advance)
    read = await _compared(library, file, None)
    with closing(read.comparison):
        fitting = Fitting(read.target, read.file.header, library.trash.now().isoformat())
        new, _, taken, beside = read.comparison.counts()
        if not new + {"skip": 0, "rename": taken - beside, "overwrite": taken}[on_clash]:
            return Outcome("import", 0)
        outcome = await change_rows(
            library,
            "import",
            summary,
            partial(_wanted, read, fitting, on_clash),
            clash=_CLASH[on_clash],
            advance=advance,
        )
    return replace(outcome, notes=tuple(dict.fromkeys(outcome.notes)))


def _wanted(read: _Read, fitting: Fitting, on_clash: OnClash) -> Iterator[Sequence[RowChange]]:
    """The rows to bring about, made of the file as they are asked for."""
    leaves = {"skip": (SAME, RENAMED), "rename": (SAME, RENAMED), "overwrite": (SAME,)}[on_clash]
    batch: list[RowChange] = []
    size = 0
    for (number, row), known in zip(read.file.each(), read.comparison.each(), strict=True):
        if number != known.number:
            raise Refused(f"{one_line(str(read.file.path))} changed while it was read.", hint="Import it again.")
        if known.what in leaves or (known.what != NEW and on_clash == "skip"):
            continue
        wanted = fitting.row(row, known, on_clash)
        batch.append(RowChange(wanted, None))
        size += wanted.size
        if len(batch) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def _compared(library: Library, file: MemoryFile, advance: Advance | None) -> _Read:
    """The file and the store, each read once."""
    target = await _target(library)
    comparison = Comparison(target.columns, library.memory.location)
    losses = Losses(target)
    try:
        await _in_thread(partial(_read_file, file, target, comparison, losses, advance))
        if target.columns is not None:
            await library.memory.each_row(partial(_see, comparison, count(), advance), _EVERYTHING)
    except BaseException:
        comparison.close()
        raise
    return _Read(file, target, comparison, losses)


@dataclass(slots=True)
class _Lines:
    """A file that was compared with notes: how many lines it would add, and how many are there."""

    losses: CopyLosses
    new: int = 0
    same: int = 0


async def _compared_lines(
    library: Library, file: MemoryFile, advance: Advance | None, spool: Spool | None = None
) -> _Lines:
    """The file and the notes, each read once; what the notes lack goes to the spool."""
    keeping = await asyncio.to_thread(note_keeping, library.memory, Origin(None, None, KnownVectors()), library.config)
    matching = Matching(keeping)
    lines = _Lines(CopyLosses(keeping))
    with closing(matching):
        await library.memory.each_row(matching.see, _EVERYTHING)
        await _in_thread(partial(_read_lines, file, keeping, matching, lines, advance, spool))
    if spool is not None:
        spool.end()
    return lines


def _read_lines(
    file: MemoryFile,
    keeping: NoteKeeping,
    matching: Matching,
    lines: _Lines,
    advance: Advance | None,
    spool: Spool | None,
    stop: threading.Event,
) -> None:
    placed: list[tuple[str, int, StoredRow]] = []

    def look(row: StoredRow) -> None:
        fitted = keeping.fitted(row)
        lines.losses.look(row, fitted)
        if matching.match(fitted, has_id=False).what is What.SAME:
            lines.same += 1
            return
        lines.new += 1
        if spool is not None:
            spool.add(fitted)

    for read, (_, row) in enumerate(file.each()):
        _go_on(read, advance)
        if stop.is_set():
            return
        place = _PLACE.fullmatch(row.entry().key)
        if place is None:
            look(replace(row, handle=None))
        else:
            placed.append((place[1], int(place[2]), replace(row, handle=place[0])))
    # Lines of notes come back in the order they stood in; an export has the newest first.
    for _, _, row in sorted(placed, key=lambda one: one[:2]):
        look(row)
    if not lines.new + lines.same:
        _refuse_empty(file)


def _see(comparison: Comparison, seen: Iterator[int], advance: Advance | None, row: StoredRow) -> None:
    _go_on(next(seen), advance)
    comparison.see(row)


def _go_on(done: int, advance: Advance | None) -> None:
    """Raises Stopped where `advance` says so."""
    if done % _ASKS_EVERY == 0 and advance is not None and not advance(done):
        raise Stopped("Reading was stopped.", hint="Nothing was imported.")


def _read_file(
    file: MemoryFile,
    target: Target,
    comparison: Comparison,
    losses: Losses,
    advance: Advance | None,
    stop: threading.Event,
) -> None:
    read = 0
    for number, row in file.each():
        _go_on(read, advance)
        if stop.is_set():
            return
        comparison.add(number, row, target.owner_or_refuse(row.agent))
        losses.look(row, file.header)
        read += 1
    if not read:
        _refuse_empty(file)


def _refuse_empty(file: MemoryFile) -> None:
    """Raises WrongUse for a file without memories that is no export of none."""
    if file.header is None and file.format == "jsonl":
        raise WrongUse(
            f"{one_line(str(file.path))} holds no memories.", hint="`zeroclaw memory export FILE` writes one."
        )


def _unknown(file: MemoryFile) -> Iterator[str]:
    if file.unknown:
        yield f"Columns that are not known are left out: {', '.join(list(file.unknown)[:SAMPLES])}."


async def _target(library: Library) -> Target:
    memory = library.memory
    columns: list[frozenset[str]] = []

    def first(row: StoredRow) -> None:
        columns.append(frozenset(row.values))
        raise _Seen

    with suppress(_Seen):
        await memory.each_row(first, _EVERYTHING)
    can = memory.capabilities
    facts = (await memory.health()).facts if can.agents or can.vectors else {}
    agents = frozenset(facts.get("agents") or ()) if can.agents else frozenset()
    return Target(memory, columns[0] if columns else None, agents, known_vectors(facts))


def _samples(file: MemoryFile, numbers: Sequence[int]) -> tuple[str, ...]:
    """The keys at these lines."""
    wanted, found = set(numbers), []
    if not wanted:
        return ()
    with closing(file.each()) as each:
        for number, row in each:
            if number in wanted:
                found.append(cut(one_line(masked(row.entry().key)), _KEY_CELLS))
                if len(found) == len(wanted):
                    break
    return tuple(found)


def _check_writable(library: Library) -> None:
    if not library.memory.capabilities.write:
        raise library.memory.refuse_to_write()


async def _in_thread(work: Callable[[threading.Event], Answer]) -> Answer:
    """The answer of work on a thread, which is told to stop where the await is cancelled, and waited for."""
    stop = threading.Event()
    task: Awaitable[Answer] = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        with suppress(asyncio.CancelledError, Exception):
            await task
        raise
