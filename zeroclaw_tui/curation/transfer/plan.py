"""What an import or a copy would bring, in numbers, sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

OnClash = Literal["skip", "overwrite", "rename"]

_CLASHES: dict[OnClash, str] = {
    "skip": "left out (--overwrite replaces the existing ones, --rename adds these under another key)",
    "overwrite": "replace the existing ones",
    "rename": "added under another key",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would come: how many new memories, how many that are there already, and how many whose key is taken.

    `samples` are the first taken keys. `notes` are sentences about what the store does not keep and what was not read,
    `makes` is one about what is created first, or None.
    """

    new: int
    same: int
    taken: int
    samples: tuple[str, ...]
    makes: str | None
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        return self.new + self.same + self.taken

    def brings(self, on_clash: OnClash) -> int:
        return self.new + (0 if on_clash == "skip" else self.taken)

    def counts(self, on_clash: OnClash | None = None) -> Iterator[str]:
        """How many are new, already there, and whose key is taken, with what becomes of those where it is decided."""
        yield f"{self.new:,} new"
        if self.same:
            yield f"{self.same:,} already there, the same"
        if self.taken:
            becomes = "" if on_clash is None else f": {_CLASHES[on_clash]}"
            yield f"{self.taken:,} whose key is taken{becomes}"

    def as_json(self) -> dict[str, Any]:
        return {
            "new": self.new,
            "same": self.same,
            "taken": self.taken,
            "samples": list(self.samples),
            "makes": self.makes,
        }
