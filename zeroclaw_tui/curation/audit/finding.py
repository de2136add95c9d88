"""One kind of pollution: what was found of it, and how many bytes it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.entry import Handle

FindingKind = Literal[
    "assistant replies", "recall blobs", "tool results", "heartbeat and cron", "too short", "too long", "empty keys",
    "exact duplicates", "near duplicates", "stale vectors", "secrets", "hidden text",
]  # fmt: skip

KINDS: tuple[FindingKind, ...] = get_args(FindingKind)

TOO_SHORT = 20
"""Characters: ZeroClaw saves no user message below that."""
TOO_LONG = 4000
"""Characters: ZeroClaw's channels never put longer memories into the prompt (<= 0.8.2)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A memory of a finding: `excerpt` is a piece of its content, on one line, secrets masked, not cleaned for eyes."""

    stamp: Stamp
    excerpt: str
    remark: str = ""
    """What exactly was found, such as "96 % alike" or "an API key"."""
    pinned: bool = False
    """Pinned memories are never merged away."""
    spelled: str = ""
    """What its hidden characters spell, secrets masked, not cleaned for a screen; "" where they spell nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`samples` are all memories of it in the order of storing; `size` the bytes of their contents.

    `groups` are of duplicates: each a tuple of indexes into `samples`, two or more that are alike; empty otherwise.
    `is_whole` is False where too many had to be looked at, then `remark` says what was left out. `remark` is one
    sentence: what it is and why it hurts.
    """

    kind: FindingKind
    samples: tuple[Sample, ...]
    size: int
    remark: str
    groups: tuple[tuple[int, ...], ...] = ()
    is_whole: bool = True

    @property
    def count(self) -> int:
        """How many memories."""
        return len(self.samples)

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """Which memories, each in the state that was looked at."""
        return tuple(sample.stamp for sample in self.samples)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """`findings` only hold kinds that were found, the most bytes first. `rows` and `size` are the whole store's."""

    findings: tuple[Finding, ...]
    rows: int
    size: int
    notes: tuple[str, ...] = ()
    superseded: frozenset[Handle] = frozenset()
    """Which of the rows a newer memory replaced: a list of the store hides them."""

    def finding(self, kind: FindingKind) -> Finding | None:
        """What was found of one kind."""
        return next((finding for finding in self.findings if finding.kind == kind), None)
