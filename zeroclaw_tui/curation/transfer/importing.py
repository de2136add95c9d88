"""Reading memories from JSONL, CSV or Markdown, checked before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.exporting import Format
from zeroclaw_tui.memory.change import Advance

OnClash = Literal["skip", "overwrite", "rename"]


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What a file would bring: how many new ones, how many that are there the same, how many whose id or key is taken.

    `samples` are the first keys that are taken. `notes` are sentences: what the format or this store cannot take.
    """

    path: Path
    format: Format
    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many memories the file holds."""
        return self.new + self.same + self.taken


async def plan_import(
    library: Library, path: Path, format: Format | None = None, *, advance: Advance | None = None
) -> ImportPlan:
    """Read the whole file once, in constant memory. Raises WrongUse for a file of another shape, truncated, or with a
    key twice, naming the line; NotThere, Unreadable."""
    raise NotImplementedError


async def import_memories(
    library: Library, plan: ImportPlan, on_clash: OnClash, *, advance: Advance | None = None
) -> Outcome:
    """Bring them in as one action of verb "import", in constant memory. Doing it again goes on where it was cut off."""
    raise NotImplementedError
