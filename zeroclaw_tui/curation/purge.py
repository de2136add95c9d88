"""What a removal would remove, before it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.superseded import superseded_hidden
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
    superseded_hidden: int = 0
    """How many the filter spares only because a newer memory replaced them."""

    @property
    def is_typed(self) -> bool:
        """Whether the number has to be typed."""
        return self.count >= TYPED_FROM


def plan_of(stamps: Iterable[Stamp], filter: MemoryFilter | None = None, superseded_hidden: int = 0) -> PurgePlan:
    """The plan for these memories."""
    every = tuple(stamps)
    oldest, newest = _first_and_last(stamp.when for stamp in every)
    return PurgePlan(
        stamps=every,
        count=len(every),
        size=sum(stamp.size for stamp in every),
        categories=_by_count(stamp.category for stamp in every),
        oldest=oldest,
        newest=newest,
        samples=every[:SAMPLES],
        filter=filter,
        superseded_hidden=superseded_hidden,
    )


async def plan_purge(library: Library, filter: MemoryFilter) -> PurgePlan:
    """The plan for every memory a filter leaves."""
    stamps = await library.memory.stamps(filter)
    return plan_of(stamps, filter, await superseded_hidden(library, filter))


def _first_and_last(timestamps: Iterable[str]) -> tuple[str | None, str | None]:
    """The earliest and the latest of those that are moments, as they are written."""
    dated = [(when, text) for text in timestamps if (when := moment(text)) is not None]
    return (min(dated)[1], max(dated)[1]) if dated else (None, None)


def _by_count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
