"""Which settings delete or move memories away, and when a change makes them do so sooner."""

from __future__ import annotations

from typing import Any

from zeroclaw_tui.config.setting_table import DAYS_BY_CATEGORY

PROFILE_SETTINGS = (
    "memory.auto_save",
    "memory.hygiene_enabled",
    "memory.archive_after_days",
    "memory.purge_after_days",
    "memory.embedding_cache_size",
)
"""The five that follow a backend's profile when the backend changes."""

_DAYS = ("memory.archive_after_days", "memory.purge_after_days")


def is_tightened(name: str, before: Any, after: Any) -> bool:
    """True when a change deletes or archives sooner: hygiene switched on, or days made fewer, where 0 is never."""
    if name == "memory.hygiene_enabled":
        return after is True and before is False
    if name in _DAYS or name.endswith("_retention_days") or name.startswith(DAYS_BY_CATEGORY):
        return bool(after) and (not before or after < before)
    return False
