"""What a change of hygiene's settings means: what is deleted sooner than before, and what has no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.setting_table import DAYS_BY_CATEGORY
from zeroclaw_tui.curation.setting_change import without_effect

_ENABLED = "memory.hygiene_enabled"
_DAYS = {
    "memory.archive_after_days": "archives daily notes and sessions",
    "memory.purge_after_days": "deletes archived files",
    "memory.conversation_retention_days": "deletes conversation rows",
    "memory.daily_retention_days": "deletes daily rows",
    "memory.core_retention_days": "deletes core rows",
    f"{DAYS_BY_CATEGORY}.conversation": "deletes conversation rows",
    f"{DAYS_BY_CATEGORY}.daily": "deletes daily rows",
    f"{DAYS_BY_CATEGORY}.core": "deletes core rows",
    "memory.audit_retention_days": "deletes entries of its audit log",
}
_BOUNDS = {
    "memory.core_max_rows": ("core rows", "row"),
    "memory.core_max_bytes": ("core rows", "character"),
    "memory.daily_max_rows": ("daily rows", "row"),
}
_COVERED = {f"memory.{name}_retention_days": f"{DAYS_BY_CATEGORY}.{name}" for name in ("conversation", "daily", "core")}


def warnings_of(present: Mapping[str, Any], wanted: Mapping[str, Any], config: MemoryConfig) -> Iterator[str]:
    """A sentence for each setting that takes more from now on, and for each that does nothing.

    `present` are the values that count now, None for one that is not there; `config` tells what stands above them.
    """
    was_on = bool(present[_ENABLED])
    is_on = bool(wanted.get(_ENABLED, was_on))
    if is_on and not was_on:
        yield "From now on ZeroClaw archives and deletes by these rules, about every 12 hours when it starts."
    for name, value in wanted.items():
        before = present.get(name)
        if is_on and value != before:
            yield from _sooner(name, before, value)
        yield from _without_effect(name, present, config)


def _sooner(name: str, before: Any, value: Any) -> Iterator[str]:
    if name in _DAYS and _takes_more(before, value):
        formerly = f"in place of {before:,}." if before else "which it did not do before."
        yield f"From now on ZeroClaw {_DAYS[name]} after {_days(value)}{' ' if before else ', '}{formerly}"
    elif name in _BOUNDS and _takes_more(before, value):
        rows, unit = _BOUNDS[name]
        least = f"the least important {rows} over {value:,} {unit if value == 1 else unit + 's'}"
        yield f"From now on ZeroClaw deletes {least}" + (f" in place of {before:,}." if before else ".")


def _takes_more(before: Any, value: Any) -> bool:
    """0 is for ever, or no bound; days that a category does not have are no reason to warn twice."""
    return bool(value) and (not before or value < before)


def _without_effect(name: str, present: Mapping[str, Any], config: MemoryConfig) -> Iterator[str]:
    covering = _COVERED.get(name)
    if covering is not None and present.get(covering) is not None:
        yield f"{name} does nothing while {covering} is set."
    yield from without_effect(config, name)


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"
