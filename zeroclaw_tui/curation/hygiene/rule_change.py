"""Changing hygiene's settings in config.toml through the wizard's own safe editing and saving."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.document.difference import difference
from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.document.saving import read_config, save_config
from zeroclaw_tui.config.form import NEWEST_SCHEMA
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.notes import OPTION
from zeroclaw_tui.config.setting_names import SETTINGS, Target, checked_value, default_of, is_read
from zeroclaw_tui.config.setting_table import DAYS_BY_CATEGORY, version_numbers
from zeroclaw_tui.curation.hygiene.rule_warnings import warnings_of
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, WrongUse

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
_SIGNS = {"section": " ", "removed": "-", "added": "+"}
_REQUIRED = {"backend": "sqlite", "auto_save": True}
"""ZeroClaw <= 0.7.5 does not load a [memory] without them; these are what it takes where there is no [memory]."""


@dataclass(frozen=True, slots=True)
class RuleSetting:
    """One setting that can be changed. `name` is like "memory.purge_after_days"; `value` what holds now."""

    name: str
    about: str
    value: Value
    is_in_file: bool
    choices: tuple[str, ...] = ()
    """The words it takes, where it takes words."""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A change of config.toml, ready to save. `lines` is the masked difference, a sign ("+", "-", " ") with each."""

    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)
    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
    """Sentences: what from now on is deleted sooner than before."""

    @property
    def is_empty(self) -> bool:
        """True when the file stays as it is."""
        return self.before == self.after


def settings_of(config: MemoryConfig, version: str) -> tuple[RuleSetting, ...]:
    """The settings of hygiene that this ZeroClaw reads. Raises Refused for a store without a config.toml.

    Days by category are among them where the config has them; they stand above the settings of those categories.
    """
    _file_of(config)
    target = _target(config, version)
    named = [name for name in _NAMES if is_read(name, target)]
    named += [name for name in _OF_CATEGORIES if is_read(name, target) and _given(config, name) is not None]
    return tuple(_setting(config, name, target) for name in named)


def plan_rule_change(config: MemoryConfig, values: Mapping[str, Value]) -> RuleChange:
    """What changes in the file. Raises WrongUse for a value out of range, BrokenConfig.

    Exactly these keys change, but `backend` and `auto_save` are added to a [memory] that has to have them.
    """
    file = _file_of(config)
    wanted = {name: checked_value(_known(name), value) for name, value in values.items()}
    raw = read_config(file)
    if raw is None:
        raise _no_file(file)
    before = ConfigDocument.from_bytes(raw, file)
    _check_schema(before, file)
    changes: dict[KeyPath, Any] = {tuple(name.split(".")): value for name, value in wanted.items()}
    missing = _missing(before, config) if changes else {}
    after = before.with_values(changes | missing)
    lines = tuple((_SIGNS[line.kind], line.text) for line in difference(before, after).lines)
    present = {name: _present(config, name) for name in (*_NAMES, *_OF_CATEGORIES)}
    warnings = list(warnings_of(present, wanted, config.sources))
    if missing and lines:
        added = " and ".join(path[-1] for path in missing)
        warnings.append(f"{added} is written as well: ZeroClaw <= 0.7.5 does not start with a [memory] without it.")
    return RuleChange(raw, after.to_bytes(), lines, tuple(warnings))


def save_rule_change(config: MemoryConfig, change: RuleChange, now: datetime) -> None:
    """Save it with a backup. Raises Refused when the file changed meanwhile, Unreadable."""
    if config.read_only:
        raise Refused("With --read-only nothing is changed, not even config.toml.")
    if not change.is_empty:
        save_config(_file_of(config), change.before, change.after, config.install.own_dir, now)


def with_rules(config: MemoryConfig, values: Mapping[str, Value]) -> MemoryConfig:
    """The config as it is once these values are saved, to see what they would do.

    What an environment variable says stays, as it would.
    """
    counting = {name: value for name, value in values.items() if not _is_from_environment(config, name)}
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
    kind = config.backend if config.sources.get("memory.backend") == OPTION else None
    variables = os.environ if environ is None else environ
    fresh = load_config(config.install, variables, backend=kind, location=config.location, read_only=config.read_only)
    own = {name: getattr(fresh, name) for name in _OWN_FIELDS}
    return replace(config, values=fresh.values, sources=fresh.sources, **own)


def _setting(config: MemoryConfig, name: str, target: Target) -> RuleSetting:
    key = SETTINGS[name]
    value = _present(config, name)
    given = default_of(name, target) if value is None else value
    is_in_file = _given(config, name) is not None and not _is_from_environment(config, name)
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


def _is_from_environment(config: MemoryConfig, name: str) -> bool:
    source = config.sources.get(name)
    return source is not None and source.startswith("environment ")


def _target(config: MemoryConfig, version: str) -> Target:
    is_modern = version_numbers(version) >= (0, 8, 0)
    return Target(config.schema, config.schema >= NEWEST_SCHEMA, is_modern, version)


def _missing(document: ConfigDocument, config: MemoryConfig) -> dict[KeyPath, Any]:
    if config.schema >= NEWEST_SCHEMA:
        return {}
    return {("memory", name): value for name, value in _REQUIRED.items() if not document.has(("memory", name))}


def _known(name: str) -> str:
    if name not in _NAMES and name not in _OF_CATEGORIES:
        raise WrongUse(f"{name} is no setting of hygiene.", hint=f"Those are {', '.join(_NAMES)}.")
    return name


def _check_schema(document: ConfigDocument, file: Path) -> None:
    schema = document.get(("schema_version",), 1)
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= NEWEST_SCHEMA:
        raise BrokenConfig(
            f"{file} has a schema_version that is not known here.",
            hint="Nothing is changed in a config of a form that is not known.",
        )


def _file_of(config: MemoryConfig) -> Path:
    file = config.install.config_file
    if file is None:
        raise Refused(
            "This store was opened by itself, so it has no config.toml whose rules could change.",
            hint="Open its install: --config-dir DIR.",
        )
    if not os.path.lexists(file):
        raise _no_file(file)
    return file


def _no_file(file: Path) -> Refused:
    return Refused(
        f"There is no {file}, so ZeroClaw goes by its defaults.",
        hint="`zeroclaw onboard` makes one, and the rules can be changed then.",
    )


def _copied(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copied(value) if isinstance(value, Mapping) else value for name, value in table.items()}
