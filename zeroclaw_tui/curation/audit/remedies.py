"""What can be done about a finding: another category, or one memory in the place of several alike."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.clock import local_now
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.audit.findings import Finding, Sample
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, change_rows, plan_of, refuse_read_only, remove_memories
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance, Clashes, RowChange, Stamp, StoredRow, category_meant
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import counted

_AT_ONCE = 200
_MOST_BYTES = 4_000_000

Keeps = Literal["newest", "longest"]

_MOST_ROUNDS = 10
_LOOKED_AT_ONCE = 500


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
            if chunk and (len(chunk) >= _AT_ONCE or size + stamp.size > _MOST_BYTES):
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
    for start in range(0, len(handles), _LOOKED_AT_ONCE):
        stamps = await library.memory.stamps_of(handles[start : start + _LOOKED_AT_ONCE])
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
