"""`memory hydrate`: bring memories of a snapshot into the store."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime

from zeroclaw_tui.config.memory_config import MemoryConfig


async def hydrate(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb, also where the store does not open; the exit code."""
    raise NotImplementedError
