"""What an import or a copy would bring, in numbers, sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import cut, first_names, one_line

OnClash = Literal["skip", "overwrite", "rename"]

_PREVIEW_CELLS = 100


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
    sentences about what the store does not keep, `notes` about what was read. `makes` is a sentence about what is
    created first, or None.
    """

    new: int
    same: int
    taken: int
    samples: tuple[str, ...]
    previews: tuple[MemoryEntry, ...]
    losses: tuple[str, ...]
    makes: str | None
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many memories there are to come."""
        return self.new + self.same + self.taken

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        return self.new + (0 if on_clash == "skip" else self.taken)

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
        yield from map(Fact, self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """What the store cannot keep, then what there is to say of the source."""
        return tuple(map(one_line, (*self.losses, *self.notes)))

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
