"""Exactly which files and rows ZeroClaw's hygiene would take at a moment; reading only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.curation.hygiene.rules import HygieneRules, RuleName
from zeroclaw_tui.curation.hygiene.state import HygieneState
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Stamp


@dataclass(frozen=True, slots=True)
class HygieneItem:
    """One thing that would go. `id` is unique within a plan and names it to `run_hygiene`.

    `name` is for people: a path below the root ("memory/2026-03-12.md"), a memory's key, or an audit entry. `date` is
    what the rule goes by (a day, or an RFC 3339 moment), `size` in bytes. `target` is where a file is archived, below
    the root. `and_purged` says that this archived file is deleted in the same run. `stamp` is a row's; `excerpt` the
    start of its content.
    """

    id: str
    rule: RuleName
    name: str
    date: str
    size: int = 0
    target: str | None = None
    and_purged: bool = False
    stamp: Stamp | None = None
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class HygienePlan:
    """What a run at `as_of` would do. `items` are in ZeroClaw's order of doing.

    `root` is the workspace or data folder it looks at. `problems` are sentences about what could not be looked at, and
    about rows that ZeroClaw would take from a store which is not the one open here.
    """

    as_of: datetime
    root: Path
    rules: HygieneRules
    state: HygieneState
    items: tuple[HygieneItem, ...]
    problems: tuple[str, ...] = ()

    def of(self, rule: RuleName) -> tuple[HygieneItem, ...]:
        """The items of one rule."""
        return tuple(item for item in self.items if item.rule == rule)

    def report(self, without: frozenset[str] = frozenset()) -> Mapping[str, int]:
        """The counts that ZeroClaw of this version writes into its state file, by its names."""
        raise NotImplementedError


async def plan_hygiene(library: Library, as_of: datetime) -> HygienePlan:
    """Look at files and rows; any moment will do. Files are looked at in a thread.

    Raises Refused where hygiene has no folder to look at (a lone database file outside of any workspace: then only its
    rows are planned and a problem says so), Unreadable, Locked.
    """
    raise NotImplementedError
