"""What a removal would remove, before it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.query import MemoryFilter

TYPED_FROM = 11
"""From so many memories on, the number is typed to confirm."""
SAMPLES = 3


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """Exactly these memories in exactly these states. `size` is the bytes of their contents.

    `categories` is ordered by count; `oldest` and `newest` are creation times as stored, None when none can be read.
    `samples` are the first few in the order of storing. `filter` is what chose them, None for marks or one row.
    """

    stamps: tuple[Stamp, ...]
    count: int
    size: int
    categories: Mapping[str, int]
    oldest: str | None
    newest: str | None
    samples: tuple[Stamp, ...]
    filter: MemoryFilter | None = None

    @property
    def is_typed(self) -> bool:
        """Whether the number has to be typed."""
        return self.count >= TYPED_FROM


def plan_of(stamps: Iterable[Stamp], filter: MemoryFilter | None = None) -> PurgePlan:
    """The plan for these memories."""
    raise NotImplementedError


async def plan_purge(library: Library, filter: MemoryFilter) -> PurgePlan:
    """The plan for every memory a filter leaves."""
    raise NotImplementedError


async def plan_rows(library: Library, ids: Sequence[str]) -> PurgePlan:
    """The plan for the memories of these ids, those gone meanwhile left out."""
    raise NotImplementedError
