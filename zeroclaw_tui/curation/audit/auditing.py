"""Looking at every memory once for what pollutes a store; reading only."""

from __future__ import annotations

from zeroclaw_tui.curation.audit.finding import AuditReport
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance


async def audit_memories(library: Library, advance: Advance | None = None) -> AuditReport:
    """Every finding. `advance` is told the rows looked at so far; its False ends it with SearchInterrupted.

    One pass over the rows, a content at a time; works on a thread, never holding more than a bounded share of the
    contents. Near duplicates go by cosine where both rows have vectors of one length, else by shared word shingles.
    """
    raise NotImplementedError
