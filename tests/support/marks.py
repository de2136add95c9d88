"""Memories chosen one by one, as marks in a list choose them."""

from __future__ import annotations

from collections.abc import Collection

from support.libraries import Library, PurgePlan
from support.questions import MemoryFilter, Superseded
from support.stores import versions


async def plan_of_marked(library: Library, ids: Collection[str]) -> PurgePlan:
    """The plan for the memories of these ids, superseded ones too."""
    stamps = await versions(library.memory, MemoryFilter(superseded=Superseded.SHOW))
    return PurgePlan(tuple(stamp for stamp in stamps if stamp.id in ids))
