"""Changing settings of [memory] in config.toml: planned as a masked difference, saved as the wizard saves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.difference import difference
from zeroclaw_tui.config.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.form import NEWEST_SCHEMA, check_change
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.memory_config import OPTION, MemoryConfig
from zeroclaw_tui.config.save import read_config, save_config
from zeroclaw_tui.config.schema import NEWEST_MODERN, NEWEST_OLD, version_numbers
from zeroclaw_tui.config.setting_names import Target
from zeroclaw_tui.memory.errors import BrokenConfig, Refused

Value = bool | int | float | str

_SIGNS = {"section": " ", "removed": "-", "added": "+"}
_REQUIRED = {"backend": "sqlite", "auto_save": True}
"""ZeroClaw <= 0.7.5 does not load a [memory] without them; these are what it takes where there is no [memory]."""
_ENVIRONMENT = "environment "


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change of config.toml, ready to save. `lines` is the masked difference, a sign ("+", "-", " ") with each."""

    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)
    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
    """Sentences: what should be known before it is saved."""

    @property
    def is_empty(self) -> bool:
        """True when the file stays as it is."""
        return self.before == self.after


def planned_change(config: MemoryConfig, values: Mapping[str, Value], warnings: tuple[str, ...] = ()) -> SettingChange:
    """What changes in the file with these values, which are checked already, by name ("memory.vector_weight").

    Exactly these keys change, but `backend` and `auto_save` are added to a [memory] that has to have them. Raises
    Refused for a store without a config.toml, WrongUse for what ZeroClaw's own validation would refuse, BrokenConfig.
    """
    file = config_file_of(config)
    raw = read_config(file)
    if raw is None:
        raise _no_file(file)
    before = ConfigDocument.from_bytes(raw, file)
    _check_schema(before, file)
    changes: dict[KeyPath, Any] = {tuple(name.split(".")): value for name, value in values.items()}
    missing = _missing(before, config) if any(path[0] == "memory" for path in changes) else {}
    after = before.with_values(changes | missing)
    is_modern = config.schema >= NEWEST_SCHEMA or config.install.layout == "data"
    check_change(before.values, after.values, values, NEWEST_MODERN if is_modern else NEWEST_OLD)
    lines = tuple((_SIGNS[line.kind], line.text) for line in difference(before, after).lines)
    if missing and lines:
        added = " and ".join(path[-1] for path in missing)
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        as_well = f"{added} {are} written as well: ZeroClaw <= 0.7.5 does not start with a [memory] without {them}."
        warnings = (*warnings, as_well)
    return SettingChange(raw, after.to_bytes(), lines, warnings)


def save_change(config: MemoryConfig, change: SettingChange, now: datetime) -> None:
    """Save it with a backup. Raises Refused when the file changed meanwhile, Unreadable."""
    check_writable(config)
    if not change.is_empty:
        save_config(config_file_of(config), change.before, change.after, config.install.own_dir, now)


def check_writable(config: MemoryConfig) -> None:
    """Raise Refused where nothing may be changed."""
    if config.read_only:
        raise Refused("With --read-only nothing is changed, not even config.toml.")


def config_as_it_is(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, version: str | None = None
) -> MemoryConfig:
    """The same config loaded again, for the store that is open; `version` is who reads it. Raises BrokenConfig."""
    kind = config.backend if config.sources.get("memory.backend") == OPTION else None
    variables = os.environ if environ is None else environ
    return load_config(
        config.install,
        variables,
        backend=kind,
        location=config.location,
        read_only=config.read_only,
        version=version,
    )


def config_file_of(config: MemoryConfig) -> Path:
    """The config.toml of the install. Raises Refused where there is none, with what to do."""
    file = config.install.config_file
    if file is None:
        raise Refused(
            "This store was opened by itself, so it has no config.toml that could change.",
            hint="Open its install: --config-dir DIR.",
        )
    if not os.path.lexists(file):
        raise _no_file(file)
    return file


def target_of(config: MemoryConfig, version: str) -> Target:
    """Who reads this config, where ZeroClaw is of that version."""
    is_modern = version_numbers(version) >= (0, 8, 0)
    return Target(config.schema, config.schema >= NEWEST_SCHEMA, is_modern, version)


def variable_above(config: MemoryConfig, name: str) -> str | None:
    """The environment variable that counts in place of the file's value, None where there is none."""
    source = config.sources.get(name, "")
    return source.removeprefix(_ENVIRONMENT) if source.startswith(_ENVIRONMENT) else None


def without_effect(config: MemoryConfig, name: str) -> Iterator[str]:
    """A sentence where a variable stands above the setting."""
    variable = variable_above(config, name)
    if variable is not None:
        yield f"{name} has no effect while {variable} is set in ZeroClaw's environment."


def _missing(document: ConfigDocument, config: MemoryConfig) -> dict[KeyPath, Any]:
    if config.schema >= NEWEST_SCHEMA:
        return {}
    return {("memory", name): value for name, value in _REQUIRED.items() if not document.has(("memory", name))}


def _check_schema(document: ConfigDocument, file: Path) -> None:
    schema = document.get(("schema_version",), 1)
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= NEWEST_SCHEMA:
        raise BrokenConfig(
            f"{file} has a schema_version that is not known here.",
            hint="Nothing is changed in a config of a form that is not known.",
        )


def _no_file(file: Path) -> Refused:
    return Refused(
        f"There is no {file}, so ZeroClaw goes by its defaults.",
        hint="`zeroclaw onboard` makes one, and its settings can be changed then.",
    )
