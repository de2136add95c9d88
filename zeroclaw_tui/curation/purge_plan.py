"""A plan to delete memories: which ones, in which versions, and what a person must know about them first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.days import date_shown, moment
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import cut, one_line, size_shown

TYPED_FROM = 11
"""From so many memories on, the number is typed to confirm."""
_CATEGORIES_NAMED, _MOST_CATEGORY_CELLS = 4, 24


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The memories to delete, in exactly these versions. `filter` is what selected them, None for marks or one row.

    `superseded_hidden` is how many the filter leaves out only because a newer memory replaced them. `facts` say which
    categories the memories have, and how old and large they are.
    """

    stamps: tuple[RowVersion, ...]
    facts: tuple[str, str]
    filter: MemoryFilter | None = None
    superseded_hidden: int = 0

    @property
    def count(self) -> int:
        """How many memories."""
        return len(self.stamps)

    @property
    def size(self) -> int:
        """The bytes of their contents."""
        return sum(stamp.size for stamp in self.stamps)

    @property
    def is_typed(self) -> bool:
        """Whether the number has to be typed."""
        return self.count >= TYPED_FROM

    def as_json(self) -> dict[str, Any]:
        """Return how many superseded memories stay; nothing where no filter selected the memories."""
        return {} if self.filter is None else {"superseded_hidden": self.superseded_hidden}

    def sentences(self) -> tuple[str, str]:
        """Say which categories the memories have, and how old and large they are."""
        return self.facts

    def superseded_sentence(self, way: str) -> str:
        """Say that superseded memories stay, and in which way they do not; "" where there are none."""
        stay, them = ("memory stays", "it") if self.superseded_hidden == 1 else ("memories stay", "them")
        return f"{self.superseded_hidden:,} superseded {stay}; {way} {them} along." if self.superseded_hidden else ""


def plan_of(stamps: Iterable[RowVersion], filter: MemoryFilter | None = None, superseded_hidden: int = 0) -> PurgePlan:
    """Plan to delete these memories."""
    every = tuple(stamps)
    dated = [(when, stamp.when) for stamp in every if (when := moment(stamp.when)) is not None]
    facts = [size_shown(sum(stamp.size for stamp in every))]
    if dated:
        oldest, newest = date_shown(min(dated)[1]), date_shown(max(dated)[1])
        facts = [f"all of {oldest}" if oldest == newest else f"oldest {oldest} · newest {newest}", *facts]
    return PurgePlan(every, (" · ".join(_category_facts(every)), " · ".join(facts)), filter, superseded_hidden)


def _category_facts(stamps: Sequence[RowVersion]) -> Iterator[str]:
    """How many memories of which category: the largest categories, and the others together."""
    found = Counter(stamp.category for stamp in stamps).most_common()
    for name, count in found[:_CATEGORIES_NAMED]:
        yield f"{cut(one_line(masked(name)), _MOST_CATEGORY_CELLS) or '(blank)'} {count:,}"
    if others := found[_CATEGORIES_NAMED:]:
        yield f"{sum(count for _, count in others):,} of other categories ({len(others):,})"


async def plan_purge(library: Library, filter: MemoryFilter) -> PurgePlan:
    """Plan to delete every memory that a filter selects."""
    return plan_of(await versions(library.memory, filter), filter, await library.superseded_hidden(filter))
