"""What can be done about a finding: another category, or one memory in the place of several alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.curation.audit.finding import Finding, Sample
from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.purge import PurgePlan
from zeroclaw_tui.memory.change import Advance, Stamp

Keeps = Literal["newest", "longest"]


@dataclass(frozen=True, slots=True)
class MergePlan:
    """For each group of duplicates which memory stays and which go to the trash. `going` is the plan of all that go."""

    groups: tuple[tuple[Sample, tuple[Sample, ...]], ...]
    going: PurgePlan


def plan_merge(finding: Finding, keeps: Keeps, *, only: Sequence[int] | None = None) -> MergePlan:
    """One of each group stays: the one written last, or the one with the longest content (ties: the newest).

    `only` are indexes into `finding.groups`. Pinned memories and those of another agent are never merged away.
    """
    raise NotImplementedError


async def merge(library: Library, plan: MergePlan, advance: Advance | None = None) -> Outcome:
    """Move the others to the trash, as one action of verb "merge"."""
    raise NotImplementedError


async def recategorise(
    library: Library, stamps: Sequence[Stamp], category: str, advance: Advance | None = None
) -> Outcome:
    """Give these memories another category, as one action of verb "recategorise".

    Rows changed meanwhile are left alone and told. Raises WrongUse for an empty category, Refused where the store keeps
    no category that can be changed.
    """
    raise NotImplementedError
