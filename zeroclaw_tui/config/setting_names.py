"""The settings a person may answer for, each under one name whatever the generation, and where each lies in a file.

A name is `memory.<key>` or `storage.<kind>.<key>` (`storage.postgres.db_url`); ZeroClaw <= 0.7.5 spells the latter
`storage.provider.config.db_url`, `memory.qdrant.url`, `memory.postgres.vector_enabled`,
`memory.sqlite_open_timeout_secs`, >= 0.8.0 `storage.postgres.<alias>.db_url`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.config.environment import LUCID_VARIABLES
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.schema import DB_URL_ALIASES, MEMORY_KEYS, STORAGE_KEYS
from zeroclaw_tui.config.setting_places import place_of, written_value
from zeroclaw_tui.config.setting_table import (
    BACKEND,
    DAYS_BY_CATEGORY,
    SETTINGS,
    Target,
    default_of,
    environment_variable,
    is_read,
)
from zeroclaw_tui.config.setting_values import checked_value, parsed_value
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import HIDDEN

__all__ = [
    "BACKEND",
    "SETTINGS",
    "Target",
    "alias_in",
    "checked_value",
    "default_of",
    "environment_lines",
    "environment_variable",
    "is_read",
    "parsed_value",
    "place_of",
    "setting_name",
    "written_value",
]

_PROVIDER_CONFIG = "storage.provider.config."
_KINDS = frozenset(STORAGE_KEYS)
_OLD_VECTORS = {"pgvector_enabled": "vector_enabled", "pgvector_dimensions": "vector_dimensions"}
_NEVER_USED = {
    "storage.sqlite.path": "ZeroClaw reads storage.sqlite.path but never uses it",
    "storage.markdown.directory": "ZeroClaw reads storage.markdown.directory but never uses it",
    "storage.postgres.tls": "ZeroClaw never connects with TLS, whatever storage.provider.config.tls says",
}
_LIKENESS_OF_A_SLIP = 0.75
_LIKENESS_OF_A_NAME = 0.85


def setting_name(written: str) -> str:
    """The name of a setting in any spelling of either generation (`vector_weight`, `memory.vector_weight`,
    `storage.provider.config.dbURL`, `storage.postgres.work.db_url`, `memory.qdrant.url`).

    Raises WrongUse for a key nobody knows, with the one probably meant.
    """
    name = _canonical(written.strip())
    if name in SETTINGS:
        return name
    if is_left_out(written):
        raise _never_used(name)
    raise _unknown(written.strip())


def is_left_out(written: str) -> bool:
    """True for a key that some ZeroClaw reads but none acts on by now, so that it is no setting."""
    name = _canonical(written.strip())
    return name in _NEVER_USED or (name.startswith("memory.mem0.") and name.removeprefix("memory.") in MEMORY_KEYS)


def alias_in(written: str) -> str | None:
    """The alias in a spelling such as `storage.postgres.work.db_url`, None where it has none."""
    section, *rest = written.strip().split(".")
    return rest[1] if section == "storage" and len(rest) > 2 and rest[0] in _KINDS else None


def _canonical(written: str) -> str:
    """The name a spelling stands for; one that stands for none comes back as `memory.…` or as it is."""
    if written.startswith(_PROVIDER_CONFIG):
        key = written.removeprefix(_PROVIDER_CONFIG)
        return "memory.backend" if key == "provider" else _storage("postgres", _OLD_VECTORS.get(key, key))
    section, *rest = written.split(".")
    if section == "storage" and rest and rest[0] in _KINDS:
        return _storage(rest[0], ".".join(rest[2:] if len(rest) > 2 else rest[1:]))
    if section == "storage":
        return _of_one_store(rest[0]) or written if len(rest) == 1 else written
    key = ".".join(rest) if section == "memory" else written
    kind, dot, below = key.partition(".")
    if key == "sqlite_open_timeout_secs":
        return "storage.sqlite.open_timeout_secs"
    if dot and kind in _KINDS:
        return _storage(kind, below)
    if key in (*DB_URL_ALIASES, "db_url") and section != "memory":
        return _storage("postgres", key)
    if section == "memory" or f"memory.{key}" in SETTINGS or key in MEMORY_KEYS:
        return f"memory.{key}"
    return _of_one_store(key) or written


def _of_one_store(key: str) -> str | None:
    """The setting of this short name where only one backend has one (`schema`, `collection`); `api_key` is the one of
    the whole config."""
    found = [name for name in SETTINGS if name.startswith("storage.") and name.split(".")[2:] == [key]]
    return found[0] if len(found) == 1 and key != "api_key" else None


def _storage(kind: str, key: str) -> str:
    return f"storage.{kind}.{'db_url' if key in DB_URL_ALIASES else key}"


def _never_used(name: str) -> WrongUse:
    if name in _NEVER_USED:
        return WrongUse(f"{_NEVER_USED[name]}.", hint="Leave it out.")
    return WrongUse(f"{name} is no setting any more: only ZeroClaw 0.5.5 and 0.5.6 know mem0.", hint="Leave it out.")


def _unknown(written: str) -> WrongUse:
    if written in (DAYS_BY_CATEGORY, DAYS_BY_CATEGORY.removeprefix("memory.")):
        names = ", ".join(name for name in SETTINGS if name.startswith(DAYS_BY_CATEGORY))
        return WrongUse(f"{DAYS_BY_CATEGORY} is set category by category.", hint=f"Its settings are {names}.")
    meant = probably_meant(written)
    if meant is not None:
        return WrongUse(f"ZeroClaw knows no setting {shown(written)}; did you mean {meant}?", hint=f"Write {meant}=….")
    if written.partition(".")[0] in ("memory", "storage"):
        return WrongUse(
            f"ZeroClaw knows no setting {shown(written) or '(nothing)'}.",
            hint="Settings are named as in config.toml, such as memory.vector_weight or storage.postgres.db_url.",
        )
    return WrongUse(
        f"{shown(written) or '(nothing)'} is no setting of the memory, and only those can be set here.",
        hint="For the rest: `zeroclaw --real onboard` (ZeroClaw <= 0.7.5), `zeroclaw config set` (>= 0.8.0).",
    )


def probably_meant(written: str) -> str | None:
    """The setting that a misspelt name most likely means, None when none is near enough."""
    canonical = _canonical(written)
    section, dot, _ = canonical.partition(".")
    if section not in ("memory", "storage") or not dot:
        known = {name.removeprefix("memory."): name for name in SETTINGS if name.startswith("memory.")}
        return _nearest(canonical, known | {"db_url": "storage.postgres.db_url"}, _LIKENESS_OF_A_SLIP)
    # A key put below the wrong table is meant as well, so its last part alone is looked at when the whole is not near.
    by_last_part = {name.rpartition(".")[2]: name for name in reversed(list(SETTINGS)) if name.startswith(section)}
    near = _nearest(canonical, {name: name for name in SETTINGS}, _LIKENESS_OF_A_NAME)
    return near or _nearest(canonical.rpartition(".")[2], by_last_part, _LIKENESS_OF_A_NAME)


def _nearest(written: str, known: Mapping[str, str], likeness: float) -> str | None:
    near = difflib.get_close_matches(written, known, n=1, cutoff=likeness)
    return known[near[0]] if near else None


def environment_lines(values: Mapping[str, Any], target: Target) -> tuple[str, ...]:
    """`export NAME='value'` lines, shell-quoted, for settings that this generation reads from the environment only
    (Lucid <= 0.7.5); where the value is ZeroClaw's own default, a comment. A secret is shown as four dots.

    A number below the least that ZeroClaw takes is raised to it, as ZeroClaw itself would.
    """
    lines: list[str] = []
    for name, value in values.items():
        variable = environment_variable(name, target)
        if variable is None or value is None:
            continue
        sign = "# " if value == default_of(name, target) else ""
        least = LUCID_VARIABLES.get(variable, ("", None))[1]
        shown_value = HIDDEN if SETTINGS[name].is_secret else str(value if least is None else max(value, least))
        lines.append(f"{sign}export {variable}={_quoted(shown_value)}")
    return tuple(lines)


def _quoted(text: str) -> str:
    """In single quotes always, so that the line looks the same whatever the value."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
