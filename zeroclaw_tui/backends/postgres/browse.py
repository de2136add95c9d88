"""Listings of a PostgreSQL table: pages by key, the whole order, filters as conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.query import MemoryFilter


def conditions(filter: MemoryFilter, table: Table, start: int = 1) -> tuple[str, Sequence[Any]]:
    """A filter as `TRUE AND …` with parameters numbered from `start`, and their values; nothing is ever pasted in."""
    raise NotImplementedError
