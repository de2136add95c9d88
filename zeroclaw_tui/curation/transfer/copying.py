"""Copying memories from one store to another of any backend, verified, with what is lost said before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from uuid import uuid4

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.changing_rows import change_rows
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.superseded import superseded_hidden
from zeroclaw_tui.curation.transfer.copy_comparing import EVERYTHING, Compared, asking, compared_stores
from zeroclaw_tui.curation.transfer.copy_target import CopyTarget, foreseen, open_target
from zeroclaw_tui.curation.transfer.importing import OnClash, Stopped
from zeroclaw_tui.curation.transfer.matching import Matching, What
from zeroclaw_tui.curation.transfer.note_keeping import append_lines
from zeroclaw_tui.curation.transfer.spool import Spool
from zeroclaw_tui.memory.change import AGENTS, Advance, RowChange, StoredRow
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import one_line

__all__ = ["CopyOutcome", "CopyPlan", "CopyTarget", "copy_memories", "open_target", "plan_copy"]

MOST_DIFFERING = 100


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What a copy would bring: how many new ones, the same already, and how many whose id or key is taken.

    `losses` are sentences: what this target does not keep ("Markdown keeps no session (41 have one)."). `makes` is a
    sentence about what is made first, or None. Of those taken, `beside` were brought before under another key, and
    `second` have the key of another one that comes with them, of another agent or a later line of notes; only "rename"
    brings those. `refused` are those the target cannot take at all, which the losses tell.
    """

    source: str
    target: str
    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    makes: str | None = None
    beside: int = 0
    second: int = 0
    refused: int = 0
    superseded_hidden: int = 0
    filtered_out: int = 0

    @property
    def count(self) -> int:
        """How many memories the source gives."""
        return self.new + self.same + self.taken + self.refused

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        more = {"skip": 0, "rename": self.taken - self.beside, "overwrite": self.taken - self.second}
        return self.new + more[on_clash]


@dataclass(frozen=True, slots=True)
class CopyOutcome:
    """How a copy went. `verified` is how many memories of the source were found again in the target with the same hash
    over what it keeps; `differing` are keys of those that were not, at most a hundred, `differs` how many they are.
    `left` were left out: their id or key is taken, or the target cannot take them. Undone as one action there.
    """

    copied: int
    verified: int
    differing: tuple[str, ...] = ()
    left: int = 0
    cancelled: bool = False
    action: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    differs: int = 0
    until: str | None = None
    """When the trash lets go of the action, RFC 3339."""


async def plan_copy(
    source: Library, target: CopyTarget, filter: MemoryFilter, *, advance: Advance | None = None
) -> CopyPlan:
    """Compare both, in constant memory; nothing is written, in either. Raises Refused for a target that takes none."""
    async with foreseen(target) as memory:
        if target.library is not None:
            _refuse(memory)
        async with compared_stores(source, memory, target, filter, advance) as compared:
            hidden = await superseded_hidden(source, filter)
            given = compared.counts.total() + compared.refused
            rest = 0 if filter.is_empty else max(0, await source.memory.count() - given - hidden)
            return CopyPlan(
                source=source.memory.location,
                target=target.location,
                new=compared.of(What.NEW),
                same=compared.of(What.SAME),
                taken=compared.of(What.TAKEN, What.SECOND),
                samples=tuple(compared.samples),
                losses=tuple(compared.losses.sentences()),
                makes=None if target.library is not None else _makes(memory, target),
                beside=compared.beside,
                second=compared.of(What.SECOND),
                refused=compared.refused,
                superseded_hidden=hidden,
                filtered_out=rest,
            )


async def copy_memories(
    source: Library,
    target: CopyTarget,
    filter: MemoryFilter,
    on_clash: OnClash,
    *,
    advance: Advance | None = None,
) -> CopyOutcome:
    """Make the target where it is not there yet, bring over what it lacks, then read it again and compare hashes.

    Doing it again goes on where it was cut off. The source is only read. `advance` is told how many came over so far.
    """
    library = await target.make()
    _refuse(library.memory)
    going = _going(advance)
    with Spool() as spool:
        comparing = compared_stores(source, library.memory, target, filter, going, spool=spool, on_clash=on_clash)
        async with comparing as compared:
            done = await _brought(source, library, compared, spool, on_clash, advance)
            outcome = CopyOutcome(
                copied=done.count,
                verified=0,
                left=compared.of(What.NEW, What.TAKEN, What.SECOND) - spool.count + compared.refused,
                cancelled=done.cancelled,
                action=None if done.action is None else done.action.number,
                until=None if done.action is None else done.action.until,
                renamed=done.renamed,
                notes=done.notes,
            )
            return outcome if done.cancelled else await _verified(library, compared.matching, outcome, going)


async def _verified(library: Library, matching: Matching, outcome: CopyOutcome, going: Advance | None) -> CopyOutcome:
    """The same with what was found when the target was read again."""
    try:
        await library.memory.each_row(asking(matching.find, going), EVERYTHING)
    except Stopped:
        return replace(outcome, verified=matching.verified(), cancelled=True)
    differs, differing = matching.missing(MOST_DIFFERING)
    return replace(outcome, verified=matching.verified(), differs=differs, differing=differing)


async def _brought(
    source: Library,
    library: Library,
    compared: Compared,
    spool: Spool,
    on_clash: OnClash,
    advance: Advance | None,
) -> Outcome:
    """Write what was spooled, as one action."""
    if not spool.count:
        return Outcome("copy", 0)
    summary = f"copied {spool.count:,} from {one_line(source.memory.name)}"
    memory = library.memory
    if memory.keeps_lines:
        return await append_lines(library, "copy", summary, spool, advance)
    agents = (
        [_agent(alias, library.trash.now().isoformat()) for alias in compared.agents] if memory.agents_are_rows else []
    )
    batches = partial(_with_agents, agents, spool)
    return await change_rows(library, "copy", summary, batches, clash=on_clash, advance=advance)


def _with_agents(agents: Sequence[RowChange], spool: Spool) -> Iterator[Sequence[RowChange]]:
    return chain([agents] if agents else [], spool.batches())


def _agent(alias: str, now: str) -> RowChange:
    """An agent to add, which its memories refer to."""
    id = str(uuid4())  # noqa: A001
    return RowChange(StoredRow(id, {"id": id, "alias": alias, "created_at": now}, None, alias, AGENTS), None)


def _going(advance: Advance | None) -> Advance | None:
    """The same, for passes over a store in which nothing comes over."""
    return None if advance is None else lambda done: advance(0)


def _refuse(memory: Memory) -> None:
    """Raises Refused for a store that takes nothing."""
    if memory.read_only_because is not None or not memory.capabilities.write:
        raise memory.refuse_to_write()


def _makes(memory: Memory, target: CopyTarget) -> str:
    """A sentence about what is made first."""
    what = "The database" if memory.file is not None else "The folder" if memory.keeps_lines else "The store"
    return f"{what} {one_line(target.location)} is made first."
