"""Changing hygiene's settings in config.toml through the wizard's own safe editing and saving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.setting_names import SETTINGS, Target, checked_value, default_of, is_read
from zeroclaw_tui.config.setting_table import DAYS_BY_CATEGORY
from zeroclaw_tui.curation.hygiene.rule_warnings import warnings_of
from zeroclaw_tui.curation.setting_change import (
    SettingChange,
    config_as_it_is,
    config_file_of,
    planned_change,
    save_change,
    target_of,
    variable_above,
)
from zeroclaw_tui.memory.errors import WrongUse

RuleChange = SettingChange
Value = bool | int | str

_OWN_FIELDS = (
    "hygiene_enabled",
    "archive_after_days",
    "purge_after_days",
    "conversation_retention_days",
    "daily_retention_days",
    "core_retention_days",
)
"""These have a field of their own in MemoryConfig."""
_NAMES = tuple(
    f"memory.{name}"
    for name in (
        *_OWN_FIELDS,
        "core_max_rows",
        "core_max_bytes",
        "daily_max_rows",
        "evict_order",
        "audit_retention_days",
    )
)
_OF_CATEGORIES = tuple(f"{DAYS_BY_CATEGORY}.{name}" for name in ("conversation", "daily", "core"))


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
    return tuple(_setting(config, name, target) for name in named)


def plan_rule_change(config: MemoryConfig, values: Mapping[str, Value]) -> RuleChange:
    """What changes in the file. Raises WrongUse for a value out of range, BrokenConfig.

    Exactly these keys change, but `backend` and `auto_save` are added to a [memory] that has to have them.
    """
    config_file_of(config)
    wanted = {name: checked_value(_known(name), value) for name, value in values.items()}
    present = {name: _present(config, name) for name in (*_NAMES, *_OF_CATEGORIES)}
    return planned_change(config, wanted, tuple(warnings_of(present, wanted, config)))


def save_rule_change(config: MemoryConfig, change: RuleChange, now: datetime) -> None:
    """Save it with a backup. Raises Refused when the file changed meanwhile, Unreadable."""
    save_change(config, change, now)


def with_rules(config: MemoryConfig, values: Mapping[str, Value]) -> MemoryConfig:
    """The config as it is once these values are saved, to see what they would do.

    What an environment variable says stays, as it would.
    """
    counting = {name: value for name, value in values.items() if variable_above(config, name) is None}
    memory = _copied(config.values)
    for name, value in counting.items():
        *tables, key = name.split(".")[1:]
        table = memory
        for below in tables:
            table = table.setdefault(below, {})
        table[key] = value
    own: dict[str, Any] = {name: counting[f"memory.{name}"] for name in _OWN_FIELDS if f"memory.{name}" in counting}
    return replace(config, values=memory, **own)


def with_rules_of_file(config: MemoryConfig, environ: Mapping[str, str] | None = None) -> MemoryConfig:
    """The same config with hygiene's settings as config.toml has them now. Raises BrokenConfig."""
    fresh = config_as_it_is(config, environ)
    own = {name: getattr(fresh, name) for name in _OWN_FIELDS}
    return replace(config, values=fresh.values, sources=fresh.sources, **own)


def _setting(config: MemoryConfig, name: str, target: Target) -> RuleSetting:
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
        except WrongUse:
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


def _known(name: str) -> str:
    if name not in _NAMES and name not in _OF_CATEGORIES:
        raise WrongUse(f"{name} is no setting of hygiene.", hint=f"Those are {', '.join(_NAMES)}.")
    return name


def _copied(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copied(value) if isinstance(value, Mapping) else value for name, value in table.items()}
