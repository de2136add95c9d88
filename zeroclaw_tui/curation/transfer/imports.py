"""Reading memories from a file or folder, checked and shown before anything is written."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from zeroclaw_tui.curation.changing import Outcome, refuse_read_only
from zeroclaw_tui.curation.formats.own import SUFFIXES, Format, MemoryFile, own_format, refuse_unknown
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.fit import KnownVectors, Origin
from zeroclaw_tui.curation.transfer.reconcile import (
    Look,
    OnClash,
    Spool,
    What,
    bring,
    reconciled,
)
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import Advance, StoredRow
from zeroclaw_tui.memory.errors import InspectorError, WrongUse
from zeroclaw_tui.memory.text import cut, one_line

_KEY_CELLS, _LONGEST_TOLD = 60, 400
_PLACE = re.compile(r"(MEMORY|undated|\d{4}-\d\d-\d\d):(\d+)")
"""The key that a line of notes has in an export: its file and its number."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What a file would bring: how many new ones, how many that are there the same, how many whose id or key is taken.

    `samples` are the first keys that are taken. `notes` are sentences: what the format or this store cannot take.
    Of those taken `beside` were brought in before under another key. `state` is the file's as it was read.
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


@dataclass(slots=True)
class FileSupply:
    """The memories of a file."""

    file: MemoryFile
    count: int = field(default=0, init=False)

    async def origin(self) -> Origin:
        """What its head says of its vectors."""
        header = await asyncio.to_thread(self.file.read_header)
        return Origin(vectors=KnownVectors(header.embedding if header is not None else None))

    async def each(self, look: Look, *, to_notes: bool) -> None:
        """Every memory. Lines of notes come in the order they stood in, for notes; an export has the newest first."""
        await _in_thread(lambda stop: self._show(look, stop, to_notes=to_notes))
        if not self.count:
            self.file.refuse_empty()

    def _show(self, look: Look, stop: threading.Event, *, to_notes: bool) -> None:
        placed: list[tuple[str, int, StoredRow]] = []
        self.count = 0
        for number, row in self.file.each():
            if stop.is_set():
                return
            self.count += 1
            place = _PLACE.fullmatch(row.entry().key) if to_notes else None
            if place is not None:
                placed.append((place[1], int(place[2]), replace(row, handle=place[0])))
            else:
                look(replace(row, handle=None) if to_notes else row, number)
        for _, number, row in sorted(placed, key=lambda one: one[:2]):
            look(row, number)

    def repeated(self, row: StoredRow, number: int, what: Literal["key", "id"], earlier: int) -> InspectorError:
        """WrongUse that names both lines."""
        told = repr(cut(one_line((row.entry().key if what == "key" else row.id)[:_LONGEST_TOLD]), _KEY_CELLS))
        return WrongUse(
            f"Line {number:,} has the {what} {told} again, which line {earlier:,} has already.",
            hint="A key belongs to one memory of an agent; take one of them out, or give it another key.",
        )


async def plan_import(
    library: Library, path: Path, format: Format | None = None, *, advance: Advance | None = None
) -> ImportPlan:
    """Read the whole file once, in constant memory. Raises WrongUse for a file of another shape, truncated, or with a
    key twice, naming the line; NotThere, Unreadable, Refused for a store that takes none."""
    _refuse(library)
    file = await asyncio.to_thread(_file, path, format)
    async with reconciled(FileSupply(file), library.memory, Target.of(library), library.trash.now(), advance) as found:
        return ImportPlan(
            path,
            file.format,
            new=found.of(What.NEW),
            same=found.of(What.SAME),
            taken=found.of(What.TAKEN),
            samples=tuple(found.samples),
            notes=(*found.losses.sentences(), *file.notes()),
            beside=found.beside,
            state=file.state,
        )


async def import_memories(
    library: Library, plan: ImportPlan, on_clash: OnClash, *, advance: Advance | None = None
) -> Outcome:
    """Bring them in as one action of verb "import", in constant memory. Doing it again goes on where it was cut off.

    Raises Refused when the file changed since it was planned, and what `change_rows` raises.
    """
    refuse_read_only(library)
    _refuse(library)
    supply = FileSupply(MemoryFile(plan.path, plan.format, state=plan.state))
    summary = f"imported {cut(one_line(plan.path.name), _KEY_CELLS)}"
    with Spool() as spool:
        now = library.trash.now()
        reconciling = reconciled(supply, library.memory, Target.of(library), now, None, spool=spool, on_clash=on_clash)
        async with reconciling as found:
            outcome = await bring(library, "import", summary, found, spool, on_clash, advance)
    return replace(outcome, notes=tuple(dict.fromkeys(outcome.notes)))


def _file(path: Path, given: Format | None) -> MemoryFile:
    told = given or own_format(path) or SUFFIXES.get(path.suffix.lower())
    if told is None:
        raise refuse_unknown(path)
    return MemoryFile(path, told)


def _refuse(library: Library) -> None:
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
