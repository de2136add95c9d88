"""What ZeroClaw's hygiene does with a config, version by version, as rules and sentences, and changing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.schema import MEMORY_KEYS, fits
from zeroclaw_tui.config.setting_names import DAYS_BY_CATEGORY, SETTINGS, Target, checked_value, default_of, is_read
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.setting_change import (
    SettingChange,
    config_as_it_is,
    config_file_of,
    planned_change,
    target_of,
    variable_above,
    without_effect,
)
from zeroclaw_tui.memory.errors import UsageError
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
_CATEGORIES = ("conversation", "daily", "core")
_BOUNDS = {
    "memory.core_max_rows": ("core rows", "row"),
    "memory.core_max_bytes": ("core rows", "character"),
    "memory.daily_max_rows": ("daily rows", "row"),
}
_COVERED = {f"memory.{name}_retention_days": f"{DAYS_BY_CATEGORY}.{name}" for name in _CATEGORIES}
Value = bool | int | str
_OWN_FIELDS = (
    "hygiene_enabled", "archive_after_days", "purge_after_days", "conversation_retention_days", "daily_retention_days",
    "core_retention_days",
)  # fmt: skip
"""These have a field of their own in MemoryConfig."""
_FURTHER = ("core_max_rows", "core_max_bytes", "daily_max_rows", "evict_order", "audit_retention_days")
_NAMES = tuple(f"memory.{name}" for name in (*_OWN_FIELDS, *_FURTHER))
_OF_CATEGORIES = tuple(_COVERED.values())


@dataclass(frozen=True, slots=True)
class HygieneRule:
    """One rule. `days` or `most` is None where it does not apply; `is_on` says whether it does anything here.

    `sentence` says in words what it does with this config ("conversation rows older than 30 days are deleted", "core
    rows are kept for ever"). `keys` are the settings behind it ("memory.conversation_retention_days"). `most_bytes` is
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
        _aged("purge memory archives", "archived daily files", "are deleted", "are kept for ever", purged, until),
        _aged("purge session archives", "archived session files", "are deleted", "are kept for ever", purged, until),
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
        yield _aged(name, name, "are deleted", "are kept for ever", days, (f"memory.{key}",))


def _of_budget(config: MemoryConfig, version: Version) -> tuple[HygieneRule, ...]:
    if version < BUDGET_SINCE:
        return ()
    core, size, daily = (int(_value(config, name)) for name in ("core_max_rows", "core_max_bytes", "daily_max_rows"))
    first = "the oldest" if _value(config, "evict_order") == "oldest" else "the least important"
    bounds = [*([f"{core:,} core rows"] * (core > 0)), *([f"{size:,} characters of core rows"] * (size > 0))]
    kept = f"at most {' and '.join(bounds)} are kept, {first} go first"
    return (
        HygieneRule(
            "core budget",
            kept if bounds else "there may be any number of core rows",
            bool(bounds),
            most=core or None,
            keys=("memory.core_max_rows", "memory.core_max_bytes", "memory.evict_order"),
            most_bytes=size or None,
        ),
        HygieneRule(
            "daily budget",
            f"at most {daily:,} daily rows are kept, {first} go first"
            if daily
            else "there may be any number of daily rows",
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
        off = "entries of the audit log are kept for ever, since the audit is off"
        return (HygieneRule("audit log", off, False, days=days, keys=keys),)
    return (_aged("audit log", "entries of the audit log", "are deleted", "are kept for ever", days, keys),)


def _aged(name: RuleName, what: str, done: str, never: str, days: int, keys: tuple[str, ...]) -> HygieneRule:
    if not days:
        return HygieneRule(name, f"{what} {never}", False, days=0, keys=keys)
    return HygieneRule(name, f"{what} older than {counted(days, 'day')} {done}", True, days=days, keys=keys)


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
        covering = _COVERED.get(name)
        if covering is not None and present.get(covering) is not None:
            yield f"{name} does nothing while {covering} is set."
        yield from without_effect(config, name)


def _sooner(name: str, before: Any, value: Any) -> Iterator[str]:
    if name in _DAYS and _takes_more(before, value):
        formerly = f"in place of {before:,}." if before else "which it did not do before."
        yield f"From now on ZeroClaw {_DAYS[name]} after {counted(value, 'day')}{' ' if before else ', '}{formerly}"
    elif name in _BOUNDS and _takes_more(before, value):
        rows, unit = _BOUNDS[name]
        least = f"the least important {rows} over {value:,} {unit if value == 1 else unit + 's'}"
        yield f"From now on ZeroClaw deletes {least}" + (f" in place of {before:,}." if before else ".")


def _takes_more(before: Any, value: Any) -> bool:
    """0 is for ever, or no bound; days that a category does not have are no reason to warn twice."""
    return bool(value) and (not before or value < before)


@dataclass(frozen=True, slots=True)
class RuleSetting:
    """One setting that can be changed. `name` is like "memory.purge_after_days"; `value` what holds now."""

    name: str
    about: str
    value: Value
    is_in_file: bool
    choices: tuple[str, ...] = ()
    """The words it takes, where it takes words."""


def settings_of(config: MemoryConfig, version: str) -> tuple[RuleSetting, ...]:
    """The settings of hygiene that this ZeroClaw reads. Raises Refused for a store without a config.toml.

    Days by category are among them where the config has them; they stand above the settings of those categories.
    """
    config_file_of(config)
    target = target_of(config, version)
    named = [name for name in _NAMES if is_read(name, target)]
    named += [name for name in _OF_CATEGORIES if is_read(name, target) and _given(config, name) is not None]
    return tuple(_rule_setting(config, name, target) for name in named)


def plan_rule_change(config: MemoryConfig, values: Mapping[str, Value]) -> SettingChange:
    """What changes in the file. Raises UsageError for a value out of range, BrokenConfig.

    Exactly these keys change, but `backend` and `auto_save` are added to a [memory] that has to have them.
    """
    config_file_of(config)
    for name in values:
        if name not in _NAMES and name not in _OF_CATEGORIES:
            raise UsageError(f"{name} is no setting of hygiene.", hint=f"Those are {', '.join(_NAMES)}.")
    wanted = {name: checked_value(name, value) for name, value in values.items()}
    present = {name: _present(config, name) for name in (*_NAMES, *_OF_CATEGORIES)}
    return planned_change(config, wanted, tuple(warnings_of(present, wanted, config)))


def with_rules(config: MemoryConfig, values: Mapping[str, Value]) -> MemoryConfig:
    """The config as it is once these values are saved, to see what they would do.

    What an environment variable says stays, as it would.
    """
    counting = {name: value for name, value in values.items() if variable_above(config, name) is None}
    memory = deepcopy(dict(config.values))
    for name, value in counting.items():
        *tables, key = name.split(".")[1:]
        table = memory
        for below in tables:
            table = table.setdefault(below, {})
        table[key] = value
    own: dict[str, Any] = {name: counting[f"memory.{name}"] for name in _OWN_FIELDS if f"memory.{name}" in counting}
    return config._replace(values=memory, **own)


def with_rules_of_file(config: MemoryConfig, environ: Mapping[str, str] | None = None) -> MemoryConfig:
    """The same config with hygiene's settings as config.toml has them now. Raises BrokenConfig."""
    fresh = config_as_it_is(config, environ)
    own = {name: getattr(fresh, name) for name in _OWN_FIELDS}
    return config._replace(values=fresh.values, sources=fresh.sources, **own)


def _rule_setting(config: MemoryConfig, name: str, target: Target) -> RuleSetting:
    key = SETTINGS[name]
    value = _present(config, name)
    given = default_of(name, target) if value is None else value
    is_in_file = _given(config, name) is not None and variable_above(config, name) is None
    return RuleSetting(name, key.about, given, is_in_file, key.choices)


def _present(config: MemoryConfig, name: str) -> Any:
    """What counts now, None for days of a category that the config does not name."""
    key = name.removeprefix("memory.")
    if key in _OWN_FIELDS:
        return getattr(config, key)
    given = _given(config, name)
    if given is not None:
        try:
            return checked_value(name, given)
        except UsageError:
            # ZeroClaw takes the default where a value is none of its words, and loading the config said so.
            return SETTINGS[name].default
    return SETTINGS[name].default


def _given(config: MemoryConfig, name: str) -> Any:
    value: Any = config.values
    for part in name.split(".")[1:]:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value
