"""`memory snapshot`: write MEMORY_SNAPSHOT.md, or compare it with the store."""

from __future__ import annotations

import argparse
from datetime import datetime

from zeroclaw_tui.curation.library import Library


async def snapshot(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    raise NotImplementedError
