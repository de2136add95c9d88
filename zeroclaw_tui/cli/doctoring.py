"""`memory doctor`: what is wrong with the store, and its repair."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime

from zeroclaw_tui.config.memory_config import MemoryConfig


async def doctor(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb, also where the store does not open; the exit code."""
    raise NotImplementedError
