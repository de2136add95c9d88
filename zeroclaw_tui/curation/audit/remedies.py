"""What can be done about a finding: another category, or one memory in the place of several alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.audit.finding import Finding, Sample
from zeroclaw_tui.curation.audit.recategorising import InCategory
from zeroclaw_tui.curation.changing import Outcome, refuse_read_only, remove_memories
from zeroclaw_tui.curation.changing_rows import change_rows
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.purge import PurgePlan, plan_of
from zeroclaw_tui.memory.change import Advance, Clashes, Stamp, category_meant
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import Refused

Keeps = Literal["newest", "longest"]

_MOST_ROUNDS = 10
_LOOKED_AT_ONCE = 500


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
    what = "1 memory" if len(left) == 1 else f"{len(left):,} memories"
    changed: list[str] = []
    for _ in range(_MOST_ROUNDS):
        rows = InCategory(library.memory, list(left.values()), wanted)
        try:
            outcome = await change_rows(
                library, "recategorise", f"gave {what} the category {wanted}", rows.batches, advance=advance
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
