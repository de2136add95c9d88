"""Bringing in the memories of a file or folder, of ours or of another tool's, known by its content and shown first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import backend_info, backend_of_file
from zeroclaw_tui.backends.fallback import copy_hint
from zeroclaw_tui.curation.changes import refuse_read_only
from zeroclaw_tui.curation.formats.registry import Format, find_format
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.curation.known_vectors import KnownVectors
from zeroclaw_tui.curation.library import Library, unknown_agent
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import BATCH_ROWS, compare_all
from zeroclaw_tui.curation.transfer.delivery import deliver
from zeroclaw_tui.curation.transfer.incoming import DEFAULT_AGENT, SourceInfo
from zeroclaw_tui.curation.transfer.plan import OnClash, Plan
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import ProgressCallback, Row
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.note_lines import is_line, line_place
from zeroclaw_tui.memory.secret_text import look_alike_secrets, masked
from zeroclaw_tui.memory.text import cut, first_names, one_line
from zeroclaw_tui.scoring.injection import THREATS, scan_all

_KEY_CELLS, _NAME_CELLS, _LONGEST_FILE, _KEYS_NAMED = 60, 40, 400, 4


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a person says of a source beside its path: the name of its format, whether texts come too that seem to
    contain a secret or a threat, the agent that shall own all of it (None: as the source says), and the keys of the
    memories that shall come (None: all)."""

    format: str | None = None
    with_flagged: bool = False
    agent: str | None = None
    keys: frozenset[str] | None = None


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

    @property
    def source_text(self) -> str:
        """What the file is taken for, and why."""
        why = f": {one_line(self.why)}" if self.why else ""
        return f"{cut(one_line(self.path.name), _NAME_CELLS)} looks like {self.title}{why}."

    def as_json(self) -> dict[str, Any]:
        """The plan's part of the document of import."""
        previews = [
            {"key": entry.key, "category": entry.category, "timestamp": entry.timestamp, "content": entry.content}
            for entry in self.previews
        ]
        facts = {"file": str(self.path), "format": self.format, "title": self.title, "why": self.why or None}
        # The dataclass is rebuilt with slots, so that super() needs its names.
        return {**facts, **super(ImportPlan, self).as_json(), "previews": previews}


@dataclass(slots=True)
class _Reading:
    """The memories of a file or folder, which can be read more than once, without what nobody should import unseen.

    `state` is that of the files as they were first read. The counts are those of the last reading.
    """

    source: Source
    format: Format
    options: ImportOptions
    state: str
    lost: Counter[str] = field(default_factory=Counter)
    flagged: int = 0
    _flags: Counter[str] = field(default_factory=Counter)
    _flagged_keys: list[str] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """Why it is taken for the format of another tool; "" where that was named."""
        is_named = self.options.format is not None or self.format.is_ours
        return "" if is_named else self.format.sniff(self.source) or ""

    def each(self) -> Iterator[Row]:
        """Every memory. Blocks.

        The text of another tool's memory is searched for secrets and threats. Raises Refused where the files changed.
        """
        state = self.source.state()
        if self.state and self.state != state:
            raise Refused(f"{self.source.name} changed while it was read.", hint="Import it again.")
        self.state, self.lost, self.flagged = state, Counter(), 0
        self._flags, self._flagged_keys = Counter(), []
        for row in self.format.read(self.source, self.lost):
            if self.options.keys is not None and row.key not in self.options.keys:
                continue
            if self.format.is_ours or not self._is_flagged(row) or self.options.with_flagged:
                yield row

    def notes(self) -> Iterator[str]:
        """What was left out and why."""
        yield from (name for name in self.lost if name.endswith("."))
        counts = [(name, count) for name, count in self.lost.most_common() if not name.endswith(".")]
        if counts:
            yield f"Not imported: {_listed(counts)}."
        if self._flags:
            yield self._flagged_sentence()
        if self.source.unread:
            named = [f"{name} ({reason.rstrip('.')})" for name, reason in self.source.unread.items()]
            yield f"Not read: {first_names(named, longest=_LONGEST_FILE)}."

    def refuse_empty(self) -> None:
        """Raises UsageError where a format was named and nothing of it is there."""
        if self.options.format is not None and not self.format.is_ours and not self.lost:
            raise UsageError(
                f"{self.source.name} has nothing that {self.format.title} writes.",
                hint=f"Name the file or directory in which {self.format.title} stores its memories.",
            )

    def _is_flagged(self, row: Row) -> bool:
        """Whether a text seems to contain what an agent should not be given unseen; it is counted."""
        content = str(row.values["content"])
        threats = [THREATS[name] for name in scan_all(content, "strict")]
        flags = dict.fromkeys([*look_alike_secrets(content), *threats])
        self._flags.update(list(flags))
        if flags:
            self.flagged += 1
            if len(self._flagged_keys) < _KEYS_NAMED:
                self._flagged_keys.append(row.key)
        return bool(flags)

    def _flagged_sentence(self) -> str:
        one = self.flagged == 1
        texts, they = ("1 text", "it seems") if one else (f"{self.flagged:,} texts", "they seem")
        reason = f"{they} to contain {_listed(self._flags.most_common())}"
        keys = first_names(self._flagged_keys, self.flagged, most=_KEYS_NAMED, longest=_KEY_CELLS)
        if self.options.with_flagged:
            return f"{texts} {'is' if one else 'are'} imported although {reason}: {keys}."
        way = "Pass `--with flagged` or press `f` in the inspector to import them."
        return f"{texts} {'is' if one else 'are'} left out because {reason}: {keys}. {way}"


@dataclass(slots=True)
class _FileSupply:
    """The memories of a file or folder."""

    read: _Reading
    owner: str | None

    @property
    def has_unique_keys(self) -> bool:
        """In a file of ours no key may come twice."""
        return self.read.format.is_ours

    async def source(self) -> SourceInfo:
        """A file says what made its vectors."""
        vectors = KnownVectors(await asyncio.to_thread(self.read.format.identity, self.read.source))
        return SourceInfo(
            vectors=vectors,
            has_own_times=self.read.format.is_ours and self.read.format.name != "snapshot",
            owner=self.owner,
        )

    async def batches(self, *, to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Every memory. Raises UsageError where a format was named and nothing of it is there."""
        rows = _in_order_of_lines(self.read.each()) if to_notes else self.read.each()
        count = 0
        while batch := await asyncio.to_thread(lambda: list(islice(rows, BATCH_ROWS))):
            count += len(batch)
            yield batch
        if not count:
            self.read.refuse_empty()


def _in_order_of_lines(rows: Iterable[Row]) -> Iterator[Row]:
    """Put lines of notes, which an export has with the newest first, back into their order; others come first."""
    lines: list[Row] = []
    for row in rows:
        if is_line(row):
            lines.append(row)
        else:
            yield row
    yield from sorted(lines, key=line_place)


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
    async with to.planned_store() as memory:
        if to.library is not None:
            refuse_read_only(to.library)
        read = await asyncio.to_thread(_readable, path, options, "")
        now = datetime.now(UTC) if to.library is None else to.library.trash.now()
        found = await compare_all(_FileSupply(read, options.agent), memory, to, now, on_progress)
        return found.plan(
            ImportPlan,
            to.makes(memory),
            path=path,
            format=read.format.name,
            title=read.format.title,
            why=await asyncio.to_thread(lambda: read.reason),
            notes=tuple(masked(note) for note in read.notes()),
            options=options,
            state=read.state,
            flagged=read.flagged,
        )


async def import_memories(
    target: Library | Target,
    plan: ImportPlan,
    on_clash: OnClash,
    *,
    verb: Literal["import", "hydrate"] = "import",
    on_progress: ProgressCallback | None = None,
) -> Outcome:
    """Bring them in as one action of this verb, in constant memory; the store is made first where there is none.

    Doing it again goes on where it was cut off. Raises Refused when the files changed since it was planned, and what
    `change_rows` raises.
    """
    if not plan.count:
        return Outcome(verb, 0)
    to = _target(target)
    library = await to.make()
    refuse_read_only(library)
    options = replace(plan.options, format=plan.format)
    read = await asyncio.to_thread(_readable, plan.path, options, plan.state)
    summary = f"{'imported' if verb == 'import' else 'hydrated'} {cut(one_line(plan.path.name), _KEY_CELLS)}"
    supply = _FileSupply(read, options.agent)
    outcome, _ = await deliver(library, verb, summary, supply, to, on_clash, on_progress)
    return outcome


async def _check_agent(to: Target, agent: str) -> None:
    if to.library is not None:
        await to.library.check_agents([agent])
    elif agent not in (known := {DEFAULT_AGENT, *to.config.agents}):
        raise unknown_agent(agent, known)


def _target(given: Library | Target) -> Target:
    return Target.of(given) if isinstance(given, Library) else given


def _readable(path: Path, options: ImportOptions, state: str) -> _Reading:
    """What lies at a path, by its content or the name of a format. Raises UsageError for the store of a program."""
    source = Source(path)
    profile = None if source.is_folder else backend_info(backend_of_file(source.path) or "")
    if profile is not None and options.format is None:
        raise UsageError(f"{source.name} is a store of {profile.title}.", hint=copy_hint(source.path))
    return _Reading(source, find_format(source, options.format), options, state)


def _listed(counts: Sequence[tuple[str, int]]) -> str:
    return first_names([f"{name} ({count:,})" for name, count in counts], longest=_KEY_CELLS)
