"""Exactly which files and rows ZeroClaw's hygiene would take at a moment; reading only."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import get_args

from zeroclaw_tui.backends.answers import Budget, Outdated, Retention
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.curation.files import canonical, digest_now, led_to
from zeroclaw_tui.curation.hygiene.dates import cutoff_at
from zeroclaw_tui.curation.hygiene.item import HygieneItem
from zeroclaw_tui.curation.hygiene.old_files import FilesFound, old_files
from zeroclaw_tui.curation.hygiene.rules import HygieneRules, RuleName, rules_of
from zeroclaw_tui.curation.hygiene.state import HygieneState, counted_by, read_state
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.side_databases import OldEntry, old_entries
from zeroclaw_tui.curation.trash.rows import file_state
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.errors import InspectorError

__all__ = ["HygieneItem", "HygienePlan", "audit_file", "has_folder", "plan_hygiene"]

_ORDER: Mapping[RuleName, int] = {name: at for at, name in enumerate(get_args(RuleName))}
_COUNTED_AS: Mapping[str, tuple[RuleName, ...]] = {
    "archived_memory_files": ("archive memory files",),
    "archived_session_files": ("archive session files",),
    "purged_memory_archives": ("purge memory archives",),
    "purged_session_archives": ("purge session archives",),
    "pruned_conversation_rows": ("conversation rows",),
    "pruned_daily_rows": ("daily rows", "daily budget"),
    "pruned_core_rows": ("core rows", "core budget"),
}
_THEN_PURGED: Mapping[RuleName, RuleName] = {
    "archive memory files": "purge memory archives",
    "archive session files": "purge session archives",
}
_CATEGORY_RULES: Mapping[str, RuleName] = {
    "conversation": "conversation rows", "daily": "daily rows", "core": "core rows",
}  # fmt: skip
_BUDGET_RULES: Mapping[str, RuleName] = {"core": "core budget", "daily": "daily budget"}


@dataclass(frozen=True, slots=True)
class HygienePlan:
    """What a run at `as_of` would do. `items` are in ZeroClaw's order of doing.

    `root` is the workspace or data folder it looks at. `problems` are sentences about what could not be looked at, and
    about rows that ZeroClaw would take from a store which is not the one open here. `is_whole` is False where a folder
    or the rows could not be looked at: ZeroClaw stops there, and writes no state file.
    """

    as_of: datetime
    root: Path
    rules: HygieneRules
    state: HygieneState
    items: tuple[HygieneItem, ...]
    problems: tuple[str, ...] = ()
    is_whole: bool = True

    def of(self, rule: RuleName) -> tuple[HygieneItem, ...]:
        """The items of one rule."""
        return tuple(item for item in self.items if item.rule == rule)

    def report(self, without: frozenset[str] = frozenset()) -> Mapping[str, int]:
        """The counts that ZeroClaw of this version writes into its state file, by its names."""
        done: Counter[RuleName] = Counter()
        for item in self.items:
            if item.id not in without:
                done[item.rule] += 1
                if item.and_purged:
                    done[_THEN_PURGED[item.rule]] += 1
        return {name: sum(done[rule] for rule in _COUNTED_AS[name]) for name in counted_by(self.rules.version)}


async def plan_hygiene(library: Library, as_of: datetime) -> HygienePlan:
    """Look at files and rows; any moment will do. Files are looked at in a thread.

    Of a lone database outside of any workspace only the rows are planned, and a problem says so. Raises Unreadable and
    Locked where the open store cannot be read.
    """
    rules, root = rules_of(library), library.config.install.root
    state = await asyncio.to_thread(read_state, root, rules.version, library.trash.now())
    state = replace(state, by_us=await _is_ours(library, state))
    found = FilesFound()
    if has_folder(library):
        found = await asyncio.to_thread(old_files, root, rules, as_of)
    else:
        found.problems.append("This database lies outside of any workspace, so there are only its rows to look at.")
    rows = await _rows(library, rules, as_of, found)
    entries = await _entries(library, rules, as_of, found)
    items = sorted([*found.items, *rows, *entries], key=lambda item: _ORDER[item.rule])
    return HygienePlan(as_of, root, rules, state, tuple(items), tuple(found.problems), found.is_whole)


def has_folder(library: Library) -> bool:
    """Whether there is a workspace or data folder around the store."""
    install = library.config.install
    return install.layout != "lone" or install.database == install.root / "memory" / "brain.db"


def audit_file(root: Path) -> Path:
    """Where ZeroClaw keeps its log of memory operations."""
    return canonical(root / "memory" / "audit.db")


def retention_of(rules: HygieneRules, as_of: datetime) -> Retention:
    """The rules about rows, for the database."""
    cutoffs = {}
    for category, name in _CATEGORY_RULES.items():
        days = rules.days(name)
        if days is not None and (cutoff := cutoff_at(as_of, days)).text:
            cutoffs[category] = cutoff.text
    budgets = {}
    for category, name in _BUDGET_RULES.items():
        rule = rules.rule(name)
        if rule is not None and rule.is_on:
            budgets[category] = Budget(rule.most or 0, rule.most_bytes or 0)
    return Retention(cutoffs, budgets, rules.spares_pinned, rules.evict_order)


async def _rows(library: Library, rules: HygieneRules, as_of: datetime, found: FilesFound) -> list[HygieneItem]:
    retention = retention_of(rules, as_of)
    if not retention.cutoffs and not retention.budgets:
        return []
    memory, usual = library.memory, library.config.install.root / "memory" / "brain.db"
    if memory.file is not None:
        if rules.spares_pinned and not memory.capabilities.pinned:
            found.problems.append(
                f"ZeroClaw {rules.version} has not opened this database yet: its first hygiene fails for lack of the "
                "column pinned, and the next one does this."
            )
        if has_folder(library) and canonical(memory.file) != canonical(usual):
            found.problems.append(f"ZeroClaw's own hygiene looks at {usual}; these are the rows of {memory.file}.")
        return [_item_of(row) for row in await memory.outdated(retention)]
    if has_folder(library) and usual.exists():
        found.problems += await _elsewhere(library, usual, retention)
    return []


async def _elsewhere(library: Library, database: Path, retention: Retention) -> list[str]:
    """What ZeroClaw would take from a database that is not the store open here."""
    memory = create_memory(replace(library.config, backend="sqlite", location=str(database), read_only=True))
    try:
        try:
            await memory.open()
            count = len(await memory.outdated(retention))
        finally:
            await memory.close()
    except InspectorError as error:
        return [f"ZeroClaw would also look at memory/brain.db, which cannot be read here: {error.message}"]
    if not count:
        return []
    rows = "1 row" if count == 1 else f"{count:,} rows"
    return [
        f"ZeroClaw would also delete {rows} of memory/brain.db, which the configured backend does not use; "
        "open it with --backend sqlite to let them go by hand."
    ]


async def _entries(library: Library, rules: HygieneRules, as_of: datetime, found: FilesFound) -> list[HygieneItem]:
    days, file = rules.days("audit log"), audit_file(library.config.install.root)
    if days is None or not has_folder(library) or not file.exists():
        return []
    try:
        entries = await old_entries(file, cutoff_at(as_of, days).text)
    except InspectorError as error:
        found.problems.append(f"The audit log cannot be looked at, and ZeroClaw passes over it then: {error.message}")
        return []
    return [_item_of_entry(entry) for entry in entries]


def _item_of(row: Outdated) -> HygieneItem:
    stamp = row.stamp
    rules = _BUDGET_RULES if row.is_over_budget else _CATEGORY_RULES
    return HygieneItem(
        id=f"row:{stamp.id}",
        rule=rules[row.category],
        name=stamp.key,
        date=row.date,
        size=stamp.size,
        stamp=stamp,
        excerpt=row.excerpt,
    )


def _item_of_entry(entry: OldEntry) -> HygieneItem:
    name = " ".join(part for part in (entry.operation, entry.key) if part)
    moment = as_text(entry.timestamp)
    return HygieneItem(f"audit:{entry.number}", "audit log", name, moment, entry.size, state=moment)


async def _is_ours(library: Library, state: HygieneState) -> bool:
    """Whether what the state file holds was written by a run of ours."""
    if state.last_run is None:
        return False
    file = led_to(state.file)
    kept = await library.trash.history_of_file(str(file))
    ours = {file_state(step.after) for step in kept if step.verb == "hygiene" and step.after is not None}
    return bool(ours) and await asyncio.to_thread(digest_now, file) in ours
