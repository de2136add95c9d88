"""The settings a person may answer for, each under one name whatever the generation, and where each lies in a file.

A name is `memory.<key>` or `storage.<kind>.<key>` (`storage.postgres.db_url`); ZeroClaw <= 0.7.5 spells the latter
`storage.provider.config.db_url`, `memory.qdrant.url`, `memory.postgres.vector_enabled`,
`memory.sqlite_open_timeout_secs`, >= 0.8.0 `storage.postgres.<alias>.db_url`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.schema import MemoryKey

SETTINGS: Mapping[str, MemoryKey] = {}
"""Every setting by its name: type, default, range, choices, is_secret, since and until (of its being read at all from
config.toml, in either place), and one sentence. `backend` is among them as `memory.backend`."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is written to. `schema` is what the file says; `has_aliases` that it spells storage as
    `[storage.<kind>.<alias>]` and may name `kind.alias` (schema 3, or a file that already does so);
    `is_modern` that ZeroClaw >= 0.8.0 reads it; `version` the installed ZeroClaw's where it is known."""

    schema: int
    has_aliases: bool
    is_modern: bool
    version: str | None = None

    @property
    def reading_version(self) -> str:
        """The version whose rules count: the known one, else the newest of the generation (0.8.4 or 0.7.5)."""
        raise NotImplementedError


def setting_name(written: str) -> str:
    """The name of a setting in any spelling of either generation (`vector_weight`, `memory.vector_weight`,
    `storage.provider.config.dbURL`, `storage.postgres.work.db_url`, `memory.qdrant.url`).

    Raises WrongUse for a key nobody knows, with the one probably meant.
    """
    raise NotImplementedError


def is_read(name: str, target: Target) -> bool:
    """True when a ZeroClaw of this target reads the setting from config.toml (and acts on the key at all).

    With a known version exactly by since and until; without one by the generation. `storage.lucid.*` is read from
    0.8.4 on; before, the environment is asked. `storage.sqlite.path` and `storage.markdown.directory` never are.
    """
    raise NotImplementedError


def place_of(name: str, document: ConfigDocument, target: Target, alias: str = "default") -> KeyPath:
    """Where the setting lies, or would lie, in this file; another spelling that the file uses (dbURL) is kept."""
    raise NotImplementedError


def written_value(name: str, document: ConfigDocument, target: Target, alias: str = "default") -> Any:
    """The value the file has for a setting, None when it has none. Raises BrokenConfig for a value of a wrong type,
    naming the key but never showing a secret. An encrypted value is returned as it stands. `memory.backend` is
    returned as written, trimmed."""
    raise NotImplementedError


def parsed_value(name: str, text: str) -> Any:
    """The value that a text given by hand stands for (`--set`, an environment variable, a typed answer).

    Raises WrongUse when it is not of the setting's type, outside its range or none of its words; a secret is not shown.
    """
    raise NotImplementedError


def checked_value(name: str, value: Any) -> Any:
    """The same check for a value that already has a type (an answers file); numbers as float."""
    raise NotImplementedError


def environment_lines(values: Mapping[str, Any], target: Target) -> tuple[str, ...]:
    """`export NAME='value'` lines, shell-quoted, for settings that this generation reads from the environment only
    (Lucid <= 0.7.5), for the given ones that differ from ZeroClaw's own default; a secret is shown as four dots."""
    raise NotImplementedError
