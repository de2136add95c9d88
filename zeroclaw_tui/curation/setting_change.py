"""A change of config.toml that the inspector makes: the settings of a what-if."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import command_at
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, OPTION, MemoryConfig
from zeroclaw_tui.config.save import difference, save_config
from zeroclaw_tui.config.schema import NEWEST_MODERN, NEWEST_OLD, version_numbers
from zeroclaw_tui.config.setting_names import checked_value
from zeroclaw_tui.config.toml import KeyPath, read_config
from zeroclaw_tui.curation.library import Library, scoring_settings
from zeroclaw_tui.curation.trial_settings import WRITTEN, Tried
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, UsageError
from zeroclaw_tui.scoring.profiles import Trial, float32
from zeroclaw_tui.scoring.what_if import ALL_SUBJECTS, Subject, complaints

Value = bool | int | float | str

_SIGNS = {"section": " ", "removed": "-", "added": "+"}
_REQUIRED = {"backend": "sqlite", "auto_save": True}
"""ZeroClaw <= 0.7.5 does not load a [memory] without these; the values are its defaults without a [memory]."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change of config.toml that can be saved.

    `lines` are those that differ, secrets masked, each with its sign: "+", "-" or " ". `warnings` are sentences to read
    before saving.
    """

    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


def way_back(config: MemoryConfig) -> str:
    """The command that restores the previous config.toml, as the end of a sentence."""
    command = command_at(config.install, os.environ, "zeroclaw onboard", "--restore")
    return f"`{command}` restores the previous one."


def reload_config(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, version: str | None = None
) -> MemoryConfig:
    """Load the config of the same store again; `version` is the ZeroClaw that reads it. Raises BrokenConfig."""
    return load_config(
        config.install,
        os.environ if environ is None else environ,
        backend=config.backend if config.sources.get("memory.backend") == OPTION else None,
        location=config.location,
        read_only=config.read_only,
        version=version,
    )


# The settings of a what-if.

_NOTHING_TO_WRITE = "There is nothing to write: config.toml already has these values."
_CHANGE_FIRST = "Change a weight, the threshold, the search mode or rerank first."
_NO_SETTINGS = (
    "Limit, session, moment, rule and version of a what-if are not written: they are no settings of config.toml."
)


def complaints_of(library: Library, trial: Trial, about: Collection[Subject] = ALL_SUBJECTS) -> tuple[str, ...]:
    """Describe what of a trial cannot work in this store, in sentences."""
    facts = library.memory.about
    has_vectors = facts.embeds_itself or (library.embedder is not None and "vectors" not in library.memory.why_not)
    return complaints(trial, has_vectors=has_vectors, about=about, has_stages=facts.rule is None)


def plan_settings_change(library: Library, trial: Trial) -> SettingChange:
    """Plan to write the settings of a trial to config.toml, and nothing else but what [memory] requires.

    Raises Refused for a store without config.toml or if nothing of the trial can be written, UsageError for values that
    ZeroClaw does not take, BrokenConfig.
    """
    config, own, request = library.config, library.profile.profile, trial.request
    file = config.install.config_file
    if config.read_only:
        raise Refused("With --read-only nothing is changed, not even config.toml.")
    if file is None:
        raise Refused(
            "This store was opened without an install, so there is no config.toml to change.",
            hint="Open its install with --config-dir DIR.",
        )
    values = _new_values(library, trial)
    if not values:
        raise Refused(_NOTHING_TO_WRITE, hint=f"{_CHANGE_FIRST} {_NO_SETTINGS}")
    for name, value in values.items():
        if not isinstance(value, str) and not 0 <= float32(value) < math.inf:
            raise UsageError(f"{name} must be a number from 0 on, and {value:g} is not.", hint="Nothing was written.")
    overridden = [
        f"{name} has no effect while {source.removeprefix('environment ')} is set in ZeroClaw's environment."
        for name in values
        if (source := config.sources.get(name, "")).startswith("environment ")
    ]
    warnings = [*complaints_of(library, trial, {WRITTEN[name].subject for name in values}), *overridden]
    if (
        request.limit != request.turn_limit
        or {*request.scopes} != {None}
        or request.rule != "cli"
        or trial.profile != own
    ):
        warnings.append(_NO_SETTINGS)
    raw = read_config(file)
    if raw is None:
        hint = "Create it with `zeroclaw onboard`, then change its settings."
        raise Refused(f"There is no {file}, so ZeroClaw uses its defaults.", hint=hint)
    before = ConfigDocument.from_bytes(raw, file)
    if before.get(("schema_version",), 1) not in range(1, NEWEST_SCHEMA + 1):
        raise BrokenConfig(f"{file} has an unknown schema_version.", hint="This program does not change such a config.")
    required = {} if config.schema >= NEWEST_SCHEMA else _REQUIRED
    missing = {name: value for name, value in required.items() if not before.has(("memory", name))}
    if missing:
        names = " and ".join(missing)
        warnings.append(f"Also writes {names}, because ZeroClaw <= 0.7.5 does not start without it in [memory].")
    changes: dict[KeyPath, Any] = {tuple(name.split(".")): value for name, value in values.items()}
    after = before.with_values(changes | {("memory", name): value for name, value in missing.items()})
    if after.to_bytes() == raw:
        raise Refused(_NOTHING_TO_WRITE, hint=" ".join(overridden))
    is_modern = config.schema >= NEWEST_SCHEMA or config.install.layout == "data"
    readers = (NEWEST_MODERN if is_modern else NEWEST_OLD, trial.profile.version, own.version)
    for name, value in values.items():
        checked_value(name, value, max(readers, key=version_numbers))
    lines = tuple((_SIGNS[line.kind], line.text) for line in difference(before, after).lines)
    return SettingChange(raw, after.to_bytes(), lines, tuple(warnings))


def _new_values(library: Library, trial: Trial) -> dict[str, Value]:
    """The settings of a trial that config.toml does not have yet and that its version reads."""
    current, profile = trial._replace(settings=library.settings), trial.profile
    unread: set[Subject] = set() if profile.search_modes else {"mode"}
    unread |= set() if profile.reranks else {"rerank"}
    changed = Tried(current, trial, 0).changed
    return {f"memory.{one.key}": one.get(trial) for one in changed if one.key and one.subject not in unread}


async def save_settings_change(
    library: Library, change: SettingChange, now: datetime, environ: Mapping[str, str] | None = None
) -> None:
    """Save a change with a backup; from then on the library scores by its config, environment variables included.

    Raises Refused if the file has changed since it was planned, Unreadable, BrokenConfig.
    """

    def save_and_reload() -> MemoryConfig:
        install = library.config.install
        assert install.config_file is not None, "the plan was made for it"
        save_config(install.config_file, change.before, change.after, install.own_dir, now)
        return reload_config(library.config, environ)

    fresh = await asyncio.to_thread(save_and_reload)
    # Without "memory." the settings are fields of MemoryConfig.
    fields = {name: getattr(fresh, name) for name in (setting.key for setting in WRITTEN.values())}
    library.config = library.config._replace(values=fresh.values, sources=fresh.sources, **fields)
    library.settings = scoring_settings(library.config)
