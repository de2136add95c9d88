"""What ZeroClaw's hygiene does with a config, version by version, as rules and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.schema import MEMORY_KEYS, fits
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.profiles import Version, parse_version

RuleName = Literal[
    "archive memory files", "archive session files", "purge memory archives", "purge session archives",
    "conversation rows", "daily rows", "core rows", "core budget", "daily budget", "audit log",
]  # fmt: skip
"""In ZeroClaw's own order."""

POLICY_SINCE: Version = (0, 5, 7)
ROWS_SINCE: Version = (0, 8, 1)
"""From here on daily and core rows have a retention, and the report counts them."""
BUDGET_SINCE: Version = (0, 8, 3)
_SESSIONS_SINCE: Version = (0, 8, 2)
_ALWAYS_PRUNES_AUDIT: Version = (0, 8, 4)
_POLICY = "policy.retention_days_by_category"


@dataclass(frozen=True, slots=True)
class HygieneRule:
    """One rule. `days` or `most` is None where it does not apply; `is_on` says whether it does anything here.

    `sentence` says in words what it does with this config ("conversation rows older than 30 days are deleted", "core
    rows are never deleted"). `keys` are the settings behind it ("memory.conversation_retention_days"). `most_bytes` is
    the bound that core rows have for their contents, in characters as ZeroClaw counts it.
    """

    name: RuleName
    sentence: str
    is_on: bool
    days: int | None = None
    most: int | None = None
    keys: tuple[str, ...] = ()
    most_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class HygieneRules:
    """All rules of one version with one config. `is_enabled` is memory.hygiene_enabled.

    The switches say how this version acts (facts about ZeroClaw's tagged sources).
    """

    version: str
    is_enabled: bool
    rules: tuple[HygieneRule, ...]
    reads_long_dates: bool
    """>= 0.8.1: the first ten characters of a name are its date, so that 2026-03-28-1442.md counts."""
    archives_any_session_file: bool
    """<= 0.8.1: every file in sessions/ (sessions.db too); later only dated ones, .jsonl and .jsonl.migrated."""
    spares_pinned: bool
    """>= 0.8.3."""
    evict_order: Literal["value", "oldest"]

    def rule(self, name: RuleName) -> HygieneRule | None:
        """The rule of that name, None where this version has none."""
        return next((rule for rule in self.rules if rule.name == name), None)

    def days(self, name: RuleName) -> int | None:
        """After how many days a rule acts, None where it does nothing."""
        rule = self.rule(name)
        return rule.days if rule is not None and rule.is_on else None


def rules_of(library: Library) -> HygieneRules:
    """The rules that ZeroClaw of the library's profile follows with its config."""
    return rules_for(library.config, library.profile.profile.version)


def rules_for(config: MemoryConfig, version: str) -> HygieneRules:
    """The same for any version. Raises UsageError when it is none."""
    v = parse_version(version)
    return HygieneRules(
        version=version,
        is_enabled=config.hygiene_enabled,
        rules=(*_of_files(config, v), *_of_rows(config, v), *_of_budget(config, v), *_of_audit(config, v)),
        reads_long_dates=v >= ROWS_SINCE,
        archives_any_session_file=v < _SESSIONS_SINCE,
        spares_pinned=v >= BUDGET_SINCE,
        evict_order="oldest" if _value(config, "evict_order") == "oldest" else "value",
    )


def _value(config: MemoryConfig, name: str) -> Any:
    """A setting under [memory] by its dotted name; what cannot be used counts as its default."""
    key, found = MEMORY_KEYS[name], _given(config, f"memory.{name}")
    return found if fits(key.kind, found) else key.default


def _of_files(config: MemoryConfig, version: Version) -> tuple[HygieneRule, ...]:
    archived, purged = config.archive_after_days, config.purge_after_days
    sessions = "files in sessions/" if version < _SESSIONS_SINCE else "session files"
    after, until = ("memory.archive_after_days",), ("memory.purge_after_days",)
    return (
        _aged("archive memory files", "daily files", "are archived", "are never archived", archived, after),
        _aged("archive session files", sessions, "are archived", "are never archived", archived, after),
        _aged("purge memory archives", "archived daily files", "are deleted", "are never deleted", purged, until),
        _aged("purge session archives", "archived session files", "are deleted", "are never deleted", purged, until),
    )


def _of_rows(config: MemoryConfig, version: Version) -> Iterator[HygieneRule]:
    names: tuple[RuleName, ...] = ("conversation rows", "daily rows", "core rows")
    policy = _value(config, _POLICY) if version >= POLICY_SINCE else {}
    if not all(fits("count", days) for days in policy.values()):
        policy = {}
    for name in names if version >= ROWS_SINCE else names[:1]:
        category = name.partition(" ")[0]
        own = f"{category}_retention_days"
        key = f"{_POLICY}.{category}" if category in policy else own
        days = int(policy.get(category, getattr(config, own)))
        yield _aged(name, name, "are deleted", "are never deleted", days, (f"memory.{key}",))


def _of_budget(config: MemoryConfig, version: Version) -> tuple[HygieneRule, ...]:
    if version < BUDGET_SINCE:
        return ()
    core, size, daily = (int(_value(config, name)) for name in ("core_max_rows", "core_max_bytes", "daily_max_rows"))
    first = "the oldest" if _value(config, "evict_order") == "oldest" else "the least important"
    bounds = [*([f"{core:,} core rows"] * (core > 0)), *([f"{size:,} characters of core rows"] * (size > 0))]
    kept = f"at most {' and '.join(bounds)} are kept, {first} are deleted first"
    return (
        HygieneRule(
            "core budget",
            kept if bounds else "core rows have no limit",
            bool(bounds),
            most=core or None,
            keys=("memory.core_max_rows", "memory.core_max_bytes", "memory.evict_order"),
            most_bytes=size or None,
        ),
        HygieneRule(
            "daily budget",
            f"at most {daily:,} daily rows are kept, {first} are deleted first"
            if daily
            else "daily rows have no limit",
            daily > 0,
            most=daily or None,
            keys=("memory.daily_max_rows", "memory.evict_order"),
        ),
    )


def _of_audit(config: MemoryConfig, version: Version) -> tuple[HygieneRule, ...]:
    if version < POLICY_SINCE:
        return ()
    days = int(_value(config, "audit_retention_days"))
    keys = ("memory.audit_retention_days", "memory.audit_enabled")
    if version < _ALWAYS_PRUNES_AUDIT and not _value(config, "audit_enabled"):
        off = "entries of the audit log are never deleted, because the audit is off"
        return (HygieneRule("audit log", off, False, days=days, keys=keys),)
    return (_aged("audit log", "entries of the audit log", "are deleted", "are never deleted", days, keys),)


def _aged(name: RuleName, what: str, done: str, never: str, days: int, keys: tuple[str, ...]) -> HygieneRule:
    if not days:
        return HygieneRule(name, f"{what} {never}", False, days=0, keys=keys)
    return HygieneRule(name, f"{what} older than {counted(days, 'day')} {done}", True, days=days, keys=keys)


def _given(config: MemoryConfig, name: str) -> Any:
    value: Any = config.values
    for part in name.split(".")[1:]:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value
