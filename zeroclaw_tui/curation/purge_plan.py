"""A plan to delete memories: which ones, in which versions, and what a person must know about them first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.days import date_shown, moment
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import cut, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

TYPED_FROM = 11
"""From so many memories on, the number is typed to confirm."""
_SAMPLES = 3
_CATEGORIES_NAMED, _MOST_CATEGORY_CELLS = 4, 24


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The memories to delete, in exactly these versions. `size` is the bytes of their contents.

    `categories` is ordered by count; `oldest` and `newest` are creation times as stored, None when none can be read.
    `samples` are the first few in the order of storing. `filter` is what selected them, None for marks or one row.
    """

    stamps: tuple[RowVersion, ...]
    count: int
    size: int
    categories: Mapping[str, int]
    oldest: str | None
    newest: str | None
    samples: tuple[RowVersion, ...]
    filter: MemoryFilter | None = None
    superseded_hidden: int = 0
    """How many the filter leaves out only because a newer memory replaced them."""

    @property
    def is_typed(self) -> bool:
        """Whether the number has to be typed."""
        return self.count >= TYPED_FROM

    def as_json(self) -> dict[str, Any]:
        """Return how many superseded memories stay; nothing where no filter selected the memories."""
        return {} if self.filter is None else {"superseded_hidden": self.superseded_hidden}

    def category_facts(self) -> tuple[str, ...]:
        """Return how many memories of which category: the first few categories, and the others together."""
        categories = list(self.categories.items())
        # One more name is no longer than the words that replace it.
        named = len(categories) if len(categories) <= _CATEGORIES_NAMED + 1 else _CATEGORIES_NAMED
        facts = [f"{_shown(name)} {count:,}" for name, count in categories[:named]]
        if len(categories) > named:
            rest = sum(count for _, count in categories[named:])
            facts.append(f"{rest:,} in {len(categories) - named:,} other categories")
        return tuple(facts)

    def sentences(self) -> tuple[str, str]:
        """Say which categories the memories have, and how old and large they are."""
        ages = []
        if self.oldest and self.newest:
            oldest, newest = date_shown(self.oldest), date_shown(self.newest)
            ages = [f"all of {oldest}"] if oldest == newest else [f"oldest {oldest}", f"newest {newest}"]
        return " · ".join(self.category_facts()), " · ".join([*ages, size_shown(self.size)])

    def superseded_sentence(self, way: str) -> str:
        """Say that superseded memories stay, and in which way they do not; "" where there are none."""
        stay, them = ("memory stays", "it") if self.superseded_hidden == 1 else ("memories stay", "them")
        return f"{self.superseded_hidden:,} superseded {stay}; {way} {them} along." if self.superseded_hidden else ""


def _shown(category: str) -> str:
    return cut(one_line(masked(category)), _MOST_CATEGORY_CELLS) or "(blank)"


def plan_of(stamps: Iterable[RowVersion], filter: MemoryFilter | None = None, superseded_hidden: int = 0) -> PurgePlan:
    """Plan to delete these memories."""
    every = tuple(stamps)
    dated = [(when, stamp.when) for stamp in every if (when := moment(stamp.when)) is not None]
    categories = Counter(stamp.category for stamp in every)
    return PurgePlan(
        stamps=every,
        count=len(every),
        size=sum(stamp.size for stamp in every),
        categories=dict(sorted(categories.items(), key=lambda item: (-item[1], item[0]))),
        oldest=min(dated)[1] if dated else None,
        newest=max(dated)[1] if dated else None,
        samples=every[:_SAMPLES],
        filter=filter,
        superseded_hidden=superseded_hidden,
    )


async def plan_purge(library: Library, filter: MemoryFilter) -> PurgePlan:
    """Plan to delete every memory that a filter selects."""
    stamps = await versions(library.memory, filter)
    return plan_of(stamps, filter, await library.superseded_hidden(filter))
