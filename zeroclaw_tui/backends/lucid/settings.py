"""How ZeroClaw of one version calls the lucid program: its name, its budget, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.config.environment import LUCID_COMMAND, LUCID_VARIABLES, source_of
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.scoring.profiles import Version

_WITHOUT_VARIABLES: Version = (0, 8, 0)
_WITH_TABLE: Version = (0, 8, 4)
_OF_THE_TABLE = ("binary_path", "recall_timeout_ms", "store_timeout_ms")
_BY_VARIABLES = frozenset(map(source_of, (LUCID_COMMAND, *LUCID_VARIABLES)))


@dataclass(frozen=True, slots=True)
class LucidSettings:
    """What holds for one version. Times are milliseconds, `budget` tokens; the defaults are those up to 0.8.3.

    `local_hit_threshold` is how many local hits are enough not to ask.
    """

    binary_path: str = "lucid"
    budget: int = 200
    local_hit_threshold: int = 3
    recall_timeout_ms: int = 500
    store_timeout_ms: int = 800
    failure_cooldown_ms: int = 15_000


@dataclass(frozen=True, slots=True)
class LucidConfig:
    """What a config says: by the variables ZEROCLAW_LUCID_*, and in the table [storage.lucid.<alias>]."""

    variables: Mapping[str, Any]
    table: Mapping[str, Any]

    @classmethod
    def of(cls, config: MemoryConfig) -> LucidConfig:
        """The settings of a config, told apart by where each comes from."""
        by_variables = {name for name in config.storage if config.sources.get(f"storage.{name}") in _BY_VARIABLES}
        return cls(
            {name: value for name, value in config.storage.items() if name in by_variables},
            {name: value for name, value in config.storage.items() if name not in by_variables},
        )

    def for_version(self, version: Version) -> LucidSettings:
        """ZeroClaw <= 0.7.5 reads the variables, 0.8.0 to 0.8.3 nothing at all, >= 0.8.4 the table.

        There a time-out of 0 counts as none given, and an empty path stays empty: nothing can be run by it.
        """
        if version < _WITHOUT_VARIABLES:
            return replace(LucidSettings(), **self.variables)
        if version < _WITH_TABLE:
            return LucidSettings()
        given = {name: self.table[name] for name in _OF_THE_TABLE if self.table.get(name) not in (None, 0)}
        return replace(LucidSettings(recall_timeout_ms=3000, store_timeout_ms=3000), **given)

    def unread_by(self, version: Version) -> tuple[str, ...]:
        """The settings given here that this version does not look at, as a person wrote them."""
        table = tuple(f"[storage.lucid] {name}" for name in self.table)
        variables = tuple(map(_variable_of, self.variables))
        if version < _WITHOUT_VARIABLES:
            return table
        return variables if version >= _WITH_TABLE else (*variables, *table)


def _variable_of(name: str) -> str:
    named = {key: variable for variable, (key, _) in LUCID_VARIABLES.items()}
    return named.get(name, LUCID_COMMAND)
