"""What ZeroClaw's hygiene does with a config, version by version, as rules and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.curation.library import Library

RuleName = Literal[
    "archive memory files", "archive session files", "purge memory archives", "purge session archives",
    "conversation rows", "daily rows", "core rows", "core budget", "daily budget", "audit log",
]  # fmt: skip
"""In ZeroClaw's own order."""


@dataclass(frozen=True, slots=True)
class HygieneRule:
    """One rule. `days` or `most` is None where it does not apply; `is_on` says whether it does anything here.

    `sentence` says in words what it does with this config ("conversation rows older than 30 days are deleted", "core
    rows are kept for ever"). `keys` are the settings behind it ("memory.conversation_retention_days").
    """

    name: RuleName
    sentence: str
    is_on: bool
    days: int | None = None
    most: int | None = None
    keys: tuple[str, ...] = ()


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


def rules_of(library: Library) -> HygieneRules:
    """The rules that ZeroClaw of the library's profile follows with its config."""
    raise NotImplementedError
