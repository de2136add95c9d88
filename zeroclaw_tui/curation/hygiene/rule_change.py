"""Changing hygiene's settings in config.toml through the wizard's own safe editing and saving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from zeroclaw_tui.config.memory_config import MemoryConfig


@dataclass(frozen=True, slots=True)
class RuleSetting:
    """One setting that can be changed. `name` is like "memory.purge_after_days"; `value` what holds now."""

    name: str
    about: str
    value: bool | int | str
    is_in_file: bool


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A change of config.toml, ready to save. `lines` is the masked difference, a sign ("+", "-", " ") with each."""

    before: bytes | None
    after: bytes
    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
    """Sentences: what from now on is deleted sooner than before."""


def settings_of(config: MemoryConfig, version: str) -> tuple[RuleSetting, ...]:
    """The settings of hygiene that this ZeroClaw reads. Raises Refused for a store without a config.toml."""
    raise NotImplementedError


def plan_rule_change(config: MemoryConfig, values: Mapping[str, bool | int | str]) -> RuleChange:
    """What changes in the file. Raises WrongUse for a value out of range, BrokenConfig."""
    raise NotImplementedError


def save_rule_change(config: MemoryConfig, change: RuleChange, now: datetime) -> None:
    """Save it with a backup. Raises Refused when the file changed meanwhile, Unreadable."""
    raise NotImplementedError
