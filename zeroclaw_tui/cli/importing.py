"""`memory import`: bring memories in from a file."""

from __future__ import annotations

import argparse
from datetime import datetime

from zeroclaw_tui.curation.library import Library


async def import_(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    raise NotImplementedError
