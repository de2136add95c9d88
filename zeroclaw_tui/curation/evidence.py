"""Evidence of one query, gathered once, and recalls decided on it again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.scoring.evidence import Evidence
from zeroclaw_tui.scoring.replay import Trial, Way

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

ALL_AT_ONCE = 20_000
"""With `whole_store` the contents of up to so many rows are read ahead, so that no re-ranking waits for the store."""


@dataclass(slots=True)
class GatheredEvidence:
    """What the store found for a query, and the rows read so far. A trial that `serves` refuses needs another one."""

    library: Library
    evidence: Evidence
    notes: tuple[str, ...]
    rows: dict[Handle, MemoryEntry] = field(default_factory=dict)

    def serves(self, trial: Trial) -> bool:
        """Whether this evidence answers the trial."""
        raise NotImplementedError

    def replayed_now(self, trial: Trial) -> RecallResult | None:
        """The recall as the trial has it, without waiting; None when rows have to be read first."""
        raise NotImplementedError

    async def replayed(self, trial: Trial) -> RecallResult:
        """The recall as the trial has it; what is not read yet is read."""
        raise NotImplementedError

    async def way(self, trial: Trial, entry: MemoryEntry) -> Way:
        """The way of one memory (with its whole content) through that recall."""
        raise NotImplementedError


def trial_of(library: Library, request: RecallRequest) -> Trial:
    """The recall as it is: this library's profile and settings, `as_of` filled in."""
    raise NotImplementedError


async def gather_evidence(library: Library, trial: Trial, *, whole_store: bool = False) -> GatheredEvidence:
    """Ask the store once for everything a recall of this query can be decided from. Raises InspectorError kinds.

    The query's vector is asked for as recall does it; where it cannot be had a note says so. With `whole_store` the
    contents of all rows found are read too, in the background's thread, up to ALL_AT_ONCE of them.
    """
    raise NotImplementedError


async def read_rows(library: Library, handles: Sequence[Handle]) -> dict[Handle, MemoryEntry]:
    """Rows with their whole content; rows gone meanwhile are left out."""
    raise NotImplementedError
