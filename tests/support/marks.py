"""Select memories one by one, as marks in a list do."""

from __future__ import annotations

from collections.abc import Collection

from support.libraries import Library, PurgePlan
from support.questions import MemoryFilter, Superseded
from support.stores import versions


async def plan_of_marked(library: Library, ids: Collection[str]) -> PurgePlan:
    """Plan for the memories with these ids, including superseded ones."""
    stamps = await versions(library.memory, MemoryFilter(superseded=Superseded.SHOW))
    return PurgePlan(tuple(stamp for stamp in stamps if stamp.id in ids))
