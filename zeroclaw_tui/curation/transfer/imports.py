"""Bringing in the memories of a file or folder, of ours or of another tool's, known by its content and shown first."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast, get_args

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.formats import FLAGGED
from zeroclaw_tui.curation.formats.detection import detect, foreign, is_own, own_format, refuse_store
from zeroclaw_tui.curation.formats.foreign import ForeignFormat, nested_json, nothing_of
from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.curation.formats.own import SUFFIXES, Imported, MemoryFile
from zeroclaw_tui.curation.formats.snapshot import Loaded, load
from zeroclaw_tui.curation.library import Library, unknown_agent
from zeroclaw_tui.curation.transfer.fit import DEFAULT_AGENT, Fit, KnownVectors, Origin
from zeroclaw_tui.curation.transfer.reconcile import (
    Look,
    OnClash,
    Plan,
    Spool,
    Target,
    bring,
    fit_of,
    reconciled,
    refuse_unless_written,
)
from zeroclaw_tui.memory.change import ProgressCallback, Row
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.secret_text import look_alike_secrets, masked
from zeroclaw_tui.memory.text import cut, first_names, one_line
from zeroclaw_tui.scoring.injection import THREATS, scan_all

_KEY_CELLS, _LONGEST_FILE, _KEYS_NAMED = 60, 400, 4
_FIRST_LINE = 64 * 1024
_PLACE = re.compile(r"(MEMORY|undated|\d{4}-\d\d-\d\d):(\d{1,18})")
"""The key that a line of notes has in an export: its file and its number."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a person says of a source beside its path: the name of its format, which of `ALONG` come too, and the agent
    that shall own all of it (None: as the source says)."""

    format: str | None = None
    along: frozenset[str] = frozenset()
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan(Plan):
    """What a file or folder would bring.

    `format` is the name of its format, `title` what people call it, `why` completes "It looks like that: …" (empty
    where it was said). `state` is that of the files as they were read. `flagged` memories seem to hold a secret or a
    threat, and stay out unless the options take them.
    """

    path: Path
    format: str
    title: str
    why: str = ""
    options: ImportOptions = field(default_factory=ImportOptions)
    state: str = ""
    flagged: int = 0


class SnapshotFile:
    """ZeroClaw's MEMORY_SNAPSHOT.md, with the lossless copy beside it where that says the same."""

    format, title, why = "snapshot", "a snapshot of ZeroClaw", ""

    def __init__(self, path: Path, state: str) -> None:
        self._path, self.state = path, state
        self._loaded: Loaded | None = None

    def identity(self) -> Identity | None:
        """What made the vectors of its copy."""
        header = self._load().header
        return header.embedding if header is not None else None

    def each(self) -> Iterator[tuple[int, Row]]:
        """Every memory of it; ids belong to the store that it was made of."""
        loaded = self._load()
        for number, row in enumerate(loaded.rows, 1):
            values = {name: value for name, value in row.values.items() if name != "id"}
            yield number, row if loaded.is_exact else Row("", values, None, row.agent)

    def notes(self) -> Iterator[str]:
        """What its format loses."""
        return iter(self._load().snapshot.notes)

    def refuse_empty(self) -> None:
        """A snapshot without memories is accepted."""

    def _load(self) -> Loaded:
        """What it held when it was first looked at: it is small enough to be held whole."""
        if self._loaded is None:
            self.state = _unchanged(Source(self._path), self.state)
            self._loaded = load(self._path)
        return self._loaded


class ForeignMemories:
    """The memories of another tool, without what nobody should bring in unseen."""

    def __init__(
        self,
        source: Source,
        format: ForeignFormat,
        why: str,
        options: ImportOptions,
        state: str,
    ) -> None:
        self.format, self.title, self.why, self.state = format.name, format.title, why, state
        self._source, self.tool, self._options = source, format, options
        self._report = Report()
        self._flagged: Counter[str] = Counter()
        self._flagged_keys: list[str] = []
        self.flagged = 0

    def identity(self) -> Identity | None:
        """None: its memories come without vectors."""
        return None

    def each(self) -> Iterator[tuple[None, Row]]:
        """Every memory, none of an agent by the key of another. Its text is looked through for secrets and threats."""
        self.state = _unchanged(self._source, self.state)
        self._report, self._flagged, self.flagged = Report(), Counter(), 0
        self._flagged_keys = []
        for _, row in self.tool.memories(self._source, self._report):
            flags = self._flags(row)
            self._flagged.update(flags)
            if flags:
                self.flagged += 1
                self._flagged_keys += [row.key] if len(self._flagged_keys) < _KEYS_NAMED else []
            if flags and FLAGGED not in self._options.along:
                self._report.skipped[FLAGGED] += 1
                continue
            yield None, row

    def notes(self) -> Iterator[str]:
        """What was left out and why, what is lost, which dates are guesses."""
        report = self._report
        skipped = {reason: count for reason, count in report.skipped.items() if reason != FLAGGED}
        if skipped:
            yield f"Left out: {_counted(skipped)}."
        if self._flagged:
            yield self._of_flagged()
        if report.lost:
            yield f"ZeroClaw has no place for {_counted(report.lost)}."
        if report.guessed_dates:
            yield f"Missing dates become the time when the file was written ({report.guessed_dates:,})."
        unread = {**report.left, **self._source.unread}
        if unread:
            reasons = {name: why.removeprefix(f"{name} ").rstrip(".") for name, why in unread.items()}
            named = first_names([f"{name} ({why})" for name, why in reasons.items()], longest=_LONGEST_FILE)
            yield f"Not read: {named}."
        if self._source.linked:
            named = first_names(sorted(self._source.linked), longest=_LONGEST_FILE)
            yield f"Read although the file has other names (hard links): {named}."
        yield from report.notes

    def _of_flagged(self) -> str:
        one = self.flagged == 1
        texts, they = ("1 text", "it seems") if one else (f"{self.flagged:,} texts", "they seem")
        hold = f"{they} to contain {_counted(self._flagged)}"
        keys = first_names(self._flagged_keys, self.flagged, most=_KEYS_NAMED, longest=_KEY_CELLS)
        if FLAGGED in self._options.along:
            return f"{texts} {'is' if one else 'are'} imported although {hold}: {keys}."
        brings = "Pass `--with flagged` or press `f` in the inspector to import them."
        return f"{texts} {'is' if one else 'are'} left out because {hold}: {keys}. {brings}"

    def refuse_empty(self) -> None:
        """A tool that remembers nothing yet is no mistake, a name that does not fit is one."""
        if self._options.format is not None and not self._report.skipped:
            raise nothing_of(self.tool, self._source)

    def _flags(self, row: Row) -> list[str]:
        """What a memory's text seems to hold that an agent should not be given unseen."""
        content = row.entry().content
        return list(
            dict.fromkeys([*look_alike_secrets(content), *map(THREATS.__getitem__, scan_all(content, "strict"))])
        )


Readable = MemoryFile | SnapshotFile | ForeignMemories
"""The memories of a file or folder, which can be read more than once. `each` blocks, gives with each the number of its
line or its own where no key may come twice, and raises Refused where the files changed since their `state`."""


@dataclass(slots=True)
class _FileSupply:
    """The memories of a file or folder, for the engine."""

    read: Readable
    owner: str | None

    async def fit(self, memory: Memory, config: MemoryConfig, now: datetime, *, is_there: bool) -> Fit:
        tool = self.read.tool if isinstance(self.read, ForeignMemories) else None
        vectors = KnownVectors(await asyncio.to_thread(self.read.identity))
        origin = Origin(vectors=vectors, tool=tool, owner=self.owner)
        return await fit_of(origin, memory, config, now, is_there=is_there)

    async def each(self, look: Look, *, to_notes: bool) -> None:
        task = CancellableTask()
        count = await task.run(partial(self._show, look, task.check, to_notes=to_notes))
        if not count:
            self.read.refuse_empty()

    def _show(self, look: Look, check: Callable[[], None], *, to_notes: bool) -> int:
        """Lines of notes go to notes in the order they stood in; an export has the newest first."""
        placed: list[tuple[str, int, Row]] = []
        count = 0
        for number, row in self.read.each():
            check()
            count += 1
            place = _PLACE.fullmatch(row.key) if to_notes else None
            if place is not None:
                placed.append((place[1], int(place[2]), replace(row, handle=place[0])))
            else:
                look(replace(row, handle=None) if to_notes else row, number)
        for _, number, row in sorted(placed, key=lambda one: one[:2]):
            look(row, number)
        return count


async def plan_import(
    target: Library | Target,
    path: Path,
    options: ImportOptions | None = None,
    *,
    on_progress: ProgressCallback | None = None,
) -> ImportPlan:
    """Read all of it once, in constant memory, and compare it with the store; nothing is written.

    Raises UsageError for what nobody here knows, is truncated, or has a key twice, naming the line; NotFound,
    Unreadable, Refused for a store that takes none, or an agent that nobody knows.
    """
    to, options = _target(target), options or ImportOptions()
    if options.agent is not None:
        await _check_agent(to, options.agent)
    async with to.foreseen() as memory:
        if to.library is not None and "write" in memory.why_not:
            raise memory.refuse_to_write()
        read = await asyncio.to_thread(_readable, path, options, "")
        now = datetime.now(UTC) if to.library is None else to.library.trash.now()
        async with reconciled(_FileSupply(read, options.agent), memory, to, now, on_progress) as found:
            return found.plan(
                ImportPlan,
                to.makes(memory),
                path=path,
                format=read.format,
                title=read.title,
                why=read.why,
                notes=tuple(masked(note) for note in read.notes()),
                options=options,
                state=read.state,
                flagged=read.flagged if isinstance(read, ForeignMemories) else 0,
            )


async def import_memories(
    target: Library | Target, plan: ImportPlan, on_clash: OnClash, *, on_progress: ProgressCallback | None = None
) -> Outcome:
    """Bring them in as one action of verb "import", in constant memory; the store is made first where there is none.

    Doing it again goes on where it was cut off. Raises Refused when the files changed since it was planned, and what
    `change_rows` raises.
    """
    if not plan.count:
        return Outcome("import", 0)
    to = _target(target)
    library = await to.make()
    refuse_unless_written(library.memory)
    options = replace(plan.options, format=plan.format)
    read = await asyncio.to_thread(_readable, plan.path, options, plan.state)
    summary = f"imported {cut(one_line(plan.path.name), _KEY_CELLS)}"
    now = library.trash.now()
    with Spool() as spool:
        supply = _FileSupply(read, options.agent)
        reconciling = reconciled(supply, library.memory, to, now, None, spool=spool, on_clash=on_clash)
        async with reconciling as found:
            outcome = await bring(library, "import", summary, spool, on_clash, on_progress, found.agents)
    return replace(outcome, notes=tuple(dict.fromkeys(outcome.notes)))


async def _check_agent(to: Target, agent: str) -> None:
    if to.library is not None:
        await to.library.check_agents([agent])
    elif agent not in (known := {DEFAULT_AGENT, *to.config.agents}):
        raise unknown_agent(agent, known)


def _target(given: Library | Target) -> Target:
    return Target.of(given) if isinstance(given, Library) else given


def _readable(path: Path, options: ImportOptions, state: str) -> Readable:
    """What lies at a path, by its content or the name that was said."""
    name = options.format
    if name in get_args(Imported):
        return MemoryFile(path, cast(Imported, name), state=state)
    source = Source(path)
    own = own_format(source) if name is None else None
    if name == "snapshot" or own == "snapshot":
        return SnapshotFile(path, state)
    if own == "jsonl" or own == "csv":
        return MemoryFile(path, own, state=state)
    if own is not None:
        raise is_own(source, own)
    if name is None:
        refuse_store(source)
    try:
        detected = foreign(source) if name is None else detect(source, name)
    except UsageError:
        told = SUFFIXES.get(path.suffix.lower()) if name is None and not source.is_folder else None
        if told is None or not (told == "csv" or (told == "jsonl" and not _has_objects(source))):
            raise
        # What is broken from its first line on is told by the reader of what its name says.
        return MemoryFile(path, told, state=state)
    return ForeignMemories(source, detected.format.taking(options.along), detected.why, options, state)


def _has_objects(source: Source) -> bool:
    """Whether the first line is an object of JSON, so that nothing is broken but that nobody knows it."""
    (file,) = source.files()
    first = source.head(file, _FIRST_LINE).removeprefix(codecs.BOM_UTF8).partition(b"\n")[0]
    return isinstance(nested_json(first.decode("utf-8", "replace")), dict)


def _unchanged(source: Source, state: str) -> str:
    """The state of the files now. Raises Refused where another one is expected."""
    now = source.state()
    if state and state != now:
        raise Refused(f"{source.name} changed while it was read.", hint="Import it again.")
    return now


def _counted(counts: Counter[str] | dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda one: -one[1])
    return first_names([f"{name} ({count:,})" for name, count in most], longest=_KEY_CELLS)
