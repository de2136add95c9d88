"""Copying memories from one store to another of any backend, verified, with what is lost said before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.importing import OnClash
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.errors import NothingYet
from zeroclaw_tui.memory.query import MemoryFilter


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """Where memories go. `library` is None where the store is not there yet; then `makes` says what will be made."""

    config: MemoryConfig
    library: Library | None
    makes: NothingYet | None = None

    async def close(self) -> None:
        """Let go of it."""
        if self.library is not None:
            await self.library.close()


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What a copy would bring: how many new ones, the same already, and how many whose id or key is taken.

    `losses` are sentences: what this target does not keep ("Markdown keeps no session (41 have one)."). `makes` is a
    sentence about what is made first, or None.
    """

    source: str
    target: str
    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    makes: str | None = None

    @property
    def count(self) -> int:
        """How many memories the source gives."""
        return self.new + self.same + self.taken

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        return self.new + (0 if on_clash == "skip" else self.taken)


@dataclass(frozen=True, slots=True)
class CopyOutcome:
    """How a copy went. `verified` is how many memories of the source were found again in the target with the same hash
    over what it keeps; `differing` are keys of those that were not, at most a hundred. Undone as one action there.
    """

    copied: int
    verified: int
    differing: tuple[str, ...] = ()
    left: int = 0
    cancelled: bool = False
    action: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def open_target(source: Library, backend: str, location: str | None, profile: str | None = None) -> CopyTarget:
    """The store to copy to, as this install's config names that backend, or at a path or URL.

    Raises WrongUse where it is the source itself, and what opening raises; a store that is not there yet is no error.
    """
    raise NotImplementedError


async def plan_copy(
    source: Library, target: CopyTarget, filter: MemoryFilter, *, advance: Advance | None = None
) -> CopyPlan:
    """Compare both, in constant memory; nothing is written, in either. Raises Refused for a target that takes none."""
    raise NotImplementedError


async def copy_memories(
    source: Library,
    target: CopyTarget,
    filter: MemoryFilter,
    on_clash: OnClash,
    *,
    advance: Advance | None = None,
) -> CopyOutcome:
    """Make the target where it is not there yet, bring over what it lacks, then read it again and compare hashes.

    Doing it again goes on where it was cut off. The source is only read.
    """
    raise NotImplementedError
