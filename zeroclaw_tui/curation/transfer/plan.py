"""What an import or a copy would bring, in numbers, sentences and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import cut, first_names, one_line

OnClash = Literal["skip", "overwrite", "rename"]
What = Literal["new", "same", "taken", "second"]
"""What a memory that comes is to the store. "second" has the key of another one that comes with it."""

_PREVIEW_CELLS = 100
_MAX_CATEGORIES = 8


class Fact(NamedTuple):
    """A sentence of a plan, and how it is shown. One with a `number` belongs under the other numbers."""

    words: str
    tone: Literal["plain", "dim", "warning"] = "plain"
    number: int | None = None


_CLASHES: dict[OnClash, str] = {
    "skip": "left out (--overwrite replaces the existing ones, --rename adds these under another key)",
    "overwrite": "replace the existing ones",
    "rename": "added under another key",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would come: how many new memories, how many that are there already, and how many whose key is taken.

    `samples` are the first taken keys, `previews` the first new memories as the store will have them. `losses` are
    sentences about what the store does not keep. `makes` is a sentence about what is created first, or None. Of those
    taken, `second` have the key of another memory that comes with them; only "rename" brings those. `refused` are those
    that the store cannot take at all. `by_category` counts those of a category by what they are to the store. `notes`
    are sentences about what was read, and about what ZeroClaw would soon delete of it.
    """

    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    previews: tuple[MemoryEntry, ...] = ()
    by_category: tuple[tuple[str, What, int], ...] = ()
    losses: tuple[str, ...] = ()
    makes: str | None = None
    second: int = 0
    refused: int = 0
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many memories there are to come."""
        return self.new + self.same + self.taken + self.refused

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        more = {"skip": 0, "rename": self.taken, "overwrite": self.taken - self.second}
        return self.new + more[on_clash]

    def leaves(self, on_clash: OnClash) -> int:
        """How many would be left out."""
        return self.count - self.same - self.brings(on_clash)

    def categories(self, on_clash: OnClash) -> tuple[tuple[str, int], ...]:
        """How many of which category would be written, the most first."""
        counts: Counter[str] = Counter()
        for category, what, number in self.by_category:
            counts[category] += number if is_written(what, on_clash) else 0
        return tuple((+counts).most_common())

    def facts(self, on_clash: OnClash | None = None) -> Iterator[Fact]:
        """What comes, what is there, what is taken and, where it is decided, what becomes of that, and what is lost."""
        if self.makes is not None:
            yield Fact(one_line(self.makes))
        yield Fact("new", number=self.new)
        if self.same:
            yield Fact("already there, the same", number=self.same)
        if self.taken:
            becomes = "" if on_clash is None else f": {_CLASHES[on_clash]}"
            yield Fact(f"whose key is taken{becomes}", "warning", self.taken)
            yield Fact(first_names(self.samples, self.taken), "dim")
        if self.second and on_clash != "rename":
            has, stay = ("has", "stays") if self.second == 1 else ("have", "stay")
            yield Fact(f"{self.second:,} of them {has} the same key as another one of the import and {stay} out")
        yield from map(Fact, self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """What the store cannot keep, then what there is to say of the source."""
        return tuple(map(one_line, (*self.losses, *self.notes)))

    def categories_text(self, on_clash: OnClash) -> str:
        """How many of which category would be written, the most first; "" for nothing."""
        counts = self.categories(on_clash)
        shown, rest = counts[:_MAX_CATEGORIES], counts[_MAX_CATEGORIES:]
        parts = [f"{count:,} {one_line(name) or '(none)'}" for name, count in shown]
        if rest:
            others = "other" if len(rest) == 1 else "others"
            parts.append(f"{sum(count for _, count in rest):,} in {len(rest):,} {others}")
        return ", ".join(parts)

    def preview_texts(self) -> Iterator[tuple[str, str, str]]:
        """Key, category and day, and beginning of the first new memories."""
        for entry in self.previews:
            about = " · ".join(one_line(part) for part in (entry.category, entry.timestamp[:10]) if part)
            yield cut(one_line(entry.key), _PREVIEW_CELLS), about, cut(one_line(entry.content), _PREVIEW_CELLS)

    def as_json(self) -> dict[str, Any]:
        """The plan's part of a document; whoever prints it adds what was chosen."""
        return {
            "new": self.new,
            "same": self.same,
            "taken": self.taken,
            "samples": list(self.samples),
            "makes": self.makes,
        }


def is_written(what: What, on_clash: OnClash) -> bool:
    """Whether a memory is written under this policy."""
    if what == "second":
        return on_clash == "rename"
    return what == "new" or (what == "taken" and on_clash != "skip")
