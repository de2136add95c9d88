"""One thing that hygiene would take."""

from __future__ import annotations

from dataclasses import dataclass

from zeroclaw_tui.curation.hygiene.rules import RuleName
from zeroclaw_tui.memory.change import Stamp


@dataclass(frozen=True, slots=True)
class HygieneItem:
    """One thing that would go. `id` is unique within a plan and names it to `run_hygiene`.

    `name` is for people: a path below the root ("memory/2026-03-12.md"), a memory's key, or an audit entry. `date` is
    what the rule goes by (a day, or an RFC 3339 moment), `size` in bytes. `target` is where a file is archived, below
    the root. `and_purged` says that this archived file is deleted in the same run. `stamp` is a row's; `excerpt` the
    start of its content. `state` is a file's size and modification time, or an audit entry's moment.
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
    state: str = ""
