"""The audit: looking at every memory once for what pollutes a store, and what can be done about a finding."""

from __future__ import annotations

import asyncio
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.health import Trap
from zeroclaw_tui.backends.tables import local_now
from zeroclaw_tui.curation.audit.duplicates import Contents, Duplicates, Vectors
from zeroclaw_tui.curation.audit.findings import (
    KINDS,
    REMARKS,
    AuditReport,
    Finding,
    FindingKind,
    Sample,
    Suspicion,
    beginning_of,
    digest,
    hidden_text_in,
    told_by_itself,
    trimmed,
)
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, change_rows, plan_of, refuse_read_only, remove_memories
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance, Clashes, RowChange, Stamp, StoredRow, category_meant
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.memory.text import counted

_TOLD_AFTER_ROWS, _TOLD_AFTER_BYTES = 200, 2_000_000
_FETCHED = 500
_LOOKED_AT_ONCE, _LOOKED_AT_CHARACTERS = 64, 500_000
"""Contents that are searched together, for most have nothing in them that is looked for."""

_GIVEN_AT_ONCE, _GIVEN_BYTES = 200, 4_000_000
"""Memories that are given another category in one transaction."""
_MOST_ROUNDS = 10

Keeps = Literal["newest", "longest"]
Found = dict[FindingKind, list[tuple[int, Sample]]]


async def audit_memories(library: Library, advance: Advance | None = None) -> AuditReport:
    """Every finding. `advance` is told the rows looked at so far; its False ends it with SearchInterrupted.

    One pass over the rows, a content at a time; works on a thread, never holding more than a bounded share of the
    contents. Near duplicates go by cosine where both rows have vectors of one length, else by shared word shingles.
    """
    if library.memory.not_read_because is not None and library.memory.program is None:
        raise Refused(library.memory.not_read_because, hint="An audit looks at what an agent remembers.")
    stop = threading.Event()

    def going(done: int) -> None:
        if stop.is_set() or (advance is not None and not advance(done)):
            raise SearchInterrupted

    looked = _Look(library.memory.stamp_of, going)
    try:
        await library.memory.each_row(looked.see)
        await asyncio.to_thread(looked.look)
        again = partial(going, looked.rows)
        again()
        duplicates = await asyncio.to_thread(looked.contents.duplicates, again)
        return await _report(library, looked, duplicates, again)
    finally:
        stop.set()


class _Look:
    """What one pass gathers: findings that a memory tells by itself, and what others are found by afterwards.

    Of each row it keeps some hundred bytes, whatever its content, once some more have come.
    """

    def __init__(self, stamp_of: Callable[[StoredRow], Stamp], going: Callable[[int], None]) -> None:
        self.rows = self.size = 0
        self.contents = Contents()
        self._rowids = array("q")
        self._names: list[Handle] = []
        self.superseded: set[Handle] = set()
        self.found: Found = {kind: [] for kind in KINDS}
        self._states = array("q")
        """What tells each state from others, within this process."""
        self._waiting: list[tuple[Stamp, str, tuple[int, int], bool]] = []
        self._waiting_size = 0
        self._stamp_of, self._going = stamp_of, going
        self._tells_at_rows = self._tells_at_size = 1

    def see(self, row: StoredRow) -> None:
        """Look at one row."""
        stamp, value = self._stamp_of(row), row.values.get
        content, handle, contents = _text(value("content")), stamp.handle, self.contents
        bounds = trimmed(content)
        owner = stamp.agent or ""
        written = moment(stamp.updated_at or stamp.when)
        contents.add(owner, digest(owner, content, bounds), content, written.timestamp() if written else 0.0)
        dimensions = value("embedding_dimensions")
        contents.vectors.add(value("embedding"), dimensions if isinstance(dimensions, int) else None)
        if not self._names and isinstance(handle, int) and handle.bit_length() < 64:
            self._rowids.append(handle)
        else:
            self._names.append(handle)
        self._states.append(hash(stamp.state))
        if value("superseded_by") is not None:
            self.superseded.add(handle)
        self.rows += 1
        self.size += stamp.size
        self._waiting.append((stamp, content, bounds, bool(value("pinned"))))
        self._waiting_size += len(content)
        if len(self._waiting) >= _LOOKED_AT_ONCE or self._waiting_size >= _LOOKED_AT_CHARACTERS:
            self.look()
        if self.rows >= self._tells_at_rows or self.size >= self._tells_at_size:
            self._tells_at_rows, self._tells_at_size = self.rows + _TOLD_AFTER_ROWS, self.size + _TOLD_AFTER_BYTES
            self._going(self.rows)

    def look(self) -> None:
        """Look for what the contents that wait tell by themselves; they are let go."""
        if not self._waiting:
            return
        keys = [stamp.key for stamp, _, _, _ in self._waiting]
        suspicion = Suspicion.of(keys, [content for _, content, _, _ in self._waiting])
        for number, (stamp, content, bounds, pinned) in enumerate(self._waiting, self.rows - len(self._waiting)):
            told = told_by_itself(stamp.key, content, bounds, suspicion)
            if told:
                excerpt = beginning_of(content)
                for kind, remark in told.items():
                    self.found[kind].append((number, Sample(stamp, excerpt, remark, pinned)))
            if not (content.isascii() and stamp.key.isascii()) and (hidden := hidden_text_in(stamp.key, content)):
                sample = Sample(stamp, hidden.excerpt, hidden.remark, pinned, hidden.spelled)
                self.found["hidden text"].append((number, sample))
        self._waiting, self._waiting_size = [], 0

    def handle(self, number: int) -> Handle:
        """Which row it was; those that are numbers take eight bytes each."""
        return self._rowids[number] if number < len(self._rowids) else self._names[number - len(self._rowids)]

    def is_as_seen(self, number: int, stamp: Stamp) -> bool:
        """Whether a row still has the state it was looked at in."""
        return self._states[number] == hash(stamp.state)


async def _report(library: Library, looked: _Look, duplicates: Duplicates, going: Callable[[], None]) -> AuditReport:
    wrong = looked.contents.vectors.wrong(_expected_length(library, looked.contents.vectors))
    numbers = {*wrong, *(number for group in (*duplicates.exact, *duplicates.near) for number in group)}
    samples = await _samples(library.memory, looked, sorted(numbers), going)
    looked.found["stale vectors"] += [
        (number, _with_remark(samples[number], remark)) for number, remark in wrong.items() if number in samples
    ]
    findings = [
        Finding(kind, tuple(sample for _, sample in found), _size(sample for _, sample in found), REMARKS[kind])
        for kind, found in looked.found.items()
        if found
    ]
    findings += _of_groups("exact duplicates", duplicates.exact, samples, lambda number: "")
    near = _of_groups("near duplicates", duplicates.near, samples, lambda number: _likeness(duplicates, number))
    findings += [_not_whole(finding, duplicates.left_out) for finding in near]
    findings += await _of_traps(library.memory)
    findings.sort(key=lambda finding: (-finding.size, KINDS.index(finding.kind)))
    notes: list[str] = []
    if duplicates.left_out and not near:
        notes.append(duplicates.left_out)
    if changed := len(numbers) - len(samples):
        notes.append(
            f"{counted(changed)} changed while this was looked at, and may be missing here; look again to have all."
        )
    return AuditReport(tuple(findings), looked.rows, looked.size, tuple(notes), frozenset(looked.superseded))


def _of_groups(
    kind: FindingKind, groups: Sequence[Sequence[int]], samples: dict[int, Sample], remark: Callable[[int], str]
) -> list[Finding]:
    """The finding of these groups, without those that only one is left of; none where none is."""
    left = [[number for number in group if number in samples] for group in groups]
    left = [group for group in left if len(group) > 1]
    if not left:
        return []
    numbers = sorted(number for group in left for number in group)
    places = {number: at for at, number in enumerate(numbers)}
    shown = tuple(_with_remark(samples[number], remark(number)) for number in numbers)
    indexes = tuple(tuple(places[number] for number in group) for group in left)
    return [Finding(kind, shown, _size(shown), REMARKS[kind], indexes)]


async def _of_traps(memory: Memory) -> list[Finding]:
    """A finding for each kind of trap in the store's own tables."""
    by_kind: dict[FindingKind, list[Trap]] = {}
    for trap in await memory.traps():
        by_kind.setdefault(trap.kind, []).append(trap)
    found: list[Finding] = []
    for kind, traps in by_kind.items():
        samples = await _samples_of(memory, [handle for trap in traps for handle in trap.handles])
        remark = " ".join(trap.remark for trap in traps)
        stays = traps[0].stays
        found.append(Finding(kind, tuple(samples), _size(samples), f"{remark} {stays}", stays=stays))
    return found


async def _samples_of(memory: Memory, handles: Sequence[Handle]) -> list[Sample]:
    found: list[Sample] = []
    for start in range(0, len(handles), _FETCHED):
        some = handles[start : start + _FETCHED]
        stamps = {stamp.handle: stamp for stamp in await memory.stamps_of(some)}
        for entry in await memory.rows(some):
            if entry.handle in stamps:
                excerpt = beginning_of(entry.content, is_cut=entry.is_excerpt)
                found.append(Sample(stamps[entry.handle], excerpt, pinned=bool(entry.pinned)))
    return found


def _not_whole(finding: Finding, left_out: str) -> Finding:
    if not left_out:
        return finding
    remark = f"{finding.remark} {left_out}"
    return Finding(finding.kind, finding.samples, finding.size, remark, finding.groups, is_whole=False)


async def _samples(
    memory: Memory, looked: _Look, numbers: Sequence[int], going: Callable[[], None]
) -> dict[int, Sample]:
    """These memories by their numbers, those left out that changed or went since they were looked at."""
    found: dict[int, Sample] = {}
    for start in range(0, len(numbers), _FETCHED):
        going()
        some = {looked.handle(number): number for number in numbers[start : start + _FETCHED]}
        for sample in await _samples_of(memory, list(some)):
            number = some[sample.stamp.handle]
            if looked.is_as_seen(number, sample.stamp):
                found[number] = sample
    return found


def _expected_length(library: Library, vectors: Vectors) -> int | None:
    """How many numbers a vector should have: what the config says, else what most have; None where neither tells."""
    if library.embedder is not None:
        return library.config.embedding.dimensions
    (first, most), (_, next_most) = [*vectors.lengths.most_common(2), (0, 0), (0, 0)][:2]
    return first if most > next_most else None


def _likeness(duplicates: Duplicates, number: int) -> str:
    return f"{int(duplicates.likeness[number] * 100 + 1e-6)} % alike"


def _with_remark(sample: Sample, remark: str) -> Sample:
    return Sample(sample.stamp, sample.excerpt, remark, sample.pinned)


def _size(samples: Iterable[Sample]) -> int:
    return sum(sample.stamp.size for sample in samples)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


class InCategory:
    """The changes that give memories a category. Made on the event loop, iterated on a thread of the change.

    `changed` and `gone` are the ids left out because the row has another state than its stamp, or has gone.
    """

    def __init__(self, memory: Memory, stamps: Sequence[Stamp], category: str) -> None:
        self._memory, self._stamps, self._category = memory, stamps, category
        self._loop = asyncio.get_running_loop()
        self._given: set[str] = set()
        self._changed: dict[str, None] = {}
        self._gone: dict[str, None] = {}

    @property
    def changed(self) -> Sequence[str]:
        """Ids left out because they changed."""
        return list(self._changed)

    @property
    def gone(self) -> Sequence[str]:
        """Ids left out because they have gone."""
        return list(self._gone)

    def batches(self) -> Iterator[Sequence[RowChange]]:
        """The changes, a few megabytes at a time; every time anew from what the store holds then."""
        for stamps in self._chunks():
            reading = asyncio.run_coroutine_threadsafe(
                self._memory.stored_of([stamp.handle for stamp in stamps]), self._loop
            )
            rows = {row.handle: row for row in reading.result()}
            changes = [
                change for stamp in stamps if (change := self._change(stamp, rows.get(stamp.handle))) is not None
            ]
            if changes:
                yield changes

    def _change(self, stamp: Stamp, row: StoredRow | None) -> RowChange | None:
        if row is None or row.id != stamp.id:
            self._gone[stamp.id] = None
            return None
        if row.values.get("category") == self._category and row.id in self._given:
            # Iterated again after a part was written: the count must stay, or others would be skipped.
            return RowChange(row, row)
        if self._memory.stamp_of(row).state != stamp.state:
            self._changed[stamp.id] = None
            return None
        self._given.add(row.id)
        updated = local_now(after=stamp.updated_at)
        values = {**row.values, "category": self._category, "updated_at": updated}
        return RowChange(replace(row, values=values), row)

    def _chunks(self) -> Iterator[Sequence[Stamp]]:
        chunk: list[Stamp] = []
        size = 0
        for stamp in self._stamps:
            if chunk and (len(chunk) >= _GIVEN_AT_ONCE or size + stamp.size > _GIVEN_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(stamp)
            size += stamp.size
        if chunk:
            yield chunk


@dataclass(frozen=True, slots=True)
class MergePlan:
    """For each group of duplicates which memory stays and which go to the trash. `going` is the plan of all that go."""

    groups: tuple[tuple[Sample, tuple[Sample, ...]], ...]
    going: PurgePlan


def plan_merge(finding: Finding, keeps: Keeps, *, only: Sequence[int] | None = None) -> MergePlan:
    """One of each group stays: the one written last, or the one with the longest content (ties: the newest).

    `only` are indexes into `finding.groups`. Pinned memories and those of another agent are never merged away.
    """
    chosen = range(len(finding.groups)) if only is None else sorted(set(only))
    groups = [_merged([finding.samples[at] for at in finding.groups[number]], keeps) for number in chosen]
    return MergePlan(
        tuple((stays, going) for stays, going in groups if going),
        plan_of(sample.stamp for _, going in groups for sample in going),
    )


async def merge(library: Library, plan: MergePlan, advance: Advance | None = None) -> Outcome:
    """Move the others to the trash, as one action of verb "merge".

    Where the one that stays changed or went since, its group is left alone and told: it may say something else by now.
    """
    refuse_read_only(library)
    kept = await _as_planned(library, plan)
    left = {
        sample.stamp.handle: sample.stamp.id
        for stays, going in plan.groups
        if stays.stamp.handle not in kept
        for sample in going
    }
    going = plan_of(stamp for stamp in plan.going.stamps if stamp.handle not in left) if left else plan.going
    outcome = await remove_memories(library, going, "merge", advance=advance)
    return replace(outcome, changed=(*outcome.changed, *left.values()))


async def recategorise(
    library: Library, stamps: Sequence[Stamp], category: str, advance: Advance | None = None
) -> Outcome:
    """Give these memories another category, as one action of verb "recategorise".

    Rows changed meanwhile are left alone and told, those that have it already are not counted. Raises WrongUse for an
    empty category, Refused where the store keeps no category that can be changed.
    """
    refuse_read_only(library)
    wanted = category_meant(category)
    can = library.memory.capabilities
    if "category" not in can.editable:
        raise Refused(
            can.why_not.get("category") or f"{library.memory.name} keeps no category that can be changed.",
            hint="Nothing was changed.",
        )
    left = {stamp.handle: stamp for stamp in stamps if stamp.category != wanted}
    if not left:
        return Outcome("recategorise", 0)
    changed: list[str] = []
    for _ in range(_MOST_ROUNDS):
        rows = InCategory(library.memory, list(left.values()), wanted)
        try:
            outcome = await change_rows(
                library,
                "recategorise",
                f"gave {counted(len(left))} the category {wanted}",
                rows.batches,
                advance=advance,
            )
            return replace(outcome, changed=(*changed, *rows.changed), gone=tuple(rows.gone))
        except Clashes as clashes:
            # Another program wrote these between the look and the write: they are left to it.
            ids = {clash.wanted.id for clash in clashes.found}
            changed += [stamp.id for stamp in left.values() if stamp.id in ids]
            left = {handle: stamp for handle, stamp in left.items() if stamp.id not in ids}
    raise Refused(
        "The memories change faster than they can be given a category.", hint="Stop the agent, then try again."
    )


async def _as_planned(library: Library, plan: MergePlan) -> set[Handle]:
    """The ones that stay which still are as they were looked at."""
    states = {stays.stamp.handle: stays.stamp.state for stays, _ in plan.groups}
    handles = list(states)
    kept: set[Handle] = set()
    for start in range(0, len(handles), _FETCHED):
        stamps = await library.memory.stamps_of(handles[start : start + _FETCHED])
        kept |= {stamp.handle for stamp in stamps if stamp.state == states[stamp.handle]}
    return kept


def _merged(alike: Sequence[Sample], keeps: Keeps) -> tuple[Sample, tuple[Sample, ...]]:
    """The one that stays and those that go; a pinned one stays before any other."""

    def rank(sample: Sample) -> tuple[bool, int, float, int]:
        stamp = sample.stamp
        when = moment(stamp.updated_at or stamp.when)
        size = stamp.size if keeps == "longest" else 0
        return sample.pinned, size, when.timestamp() if when else 0.0, alike.index(sample)

    stays = max(alike, key=rank)
    return stays, tuple(sample for sample in alike if sample is not stays and not sample.pinned)
