"""Memories chosen one by one, as marks in a list choose them."""

from __future__ import annotations

from collections.abc import Collection

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import PurgePlan
from zeroclaw_tui.memory.query import MemoryFilter, Superseded


async def plan_of_marked(library: Library, ids: Collection[str]) -> PurgePlan:
    """The plan for the memories of these ids, superseded ones too."""
    stamps = await versions(library.memory, MemoryFilter(superseded=Superseded.SHOW))
    return PurgePlan(tuple(stamp for stamp in stamps if stamp.id in ids))
