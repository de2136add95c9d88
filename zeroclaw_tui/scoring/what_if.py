"""Recall with other numbers: who enters, who leaves, and which settings cannot work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.scoring.replay import Trial

Move = Literal["enters", "leaves", "stays", "gone", "new"]
"""Into the prompt, out of it, in it or out of it as before; "gone": no longer recalled, "new": recalled only now."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One memory before and after. `result` is its result after, or before where it is gone; ranks are None where it is
    not recalled."""

    result: ScoredEntry
    rank_before: int | None
    rank_after: int | None
    was_injected: bool
    is_injected: bool

    @property
    def move(self) -> Move:
        """What becomes of it; entering and leaving the prompt count most."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two recalls of one query. `rows`: the later one in its order, then what it no longer recalls."""

    before: RecallResult
    after: RecallResult
    rows: tuple[ComparedRow, ...]

    @property
    def words(self) -> str:
        """In one line: "injected 2 → 4, 1 leaves"."""
        raise NotImplementedError


def compare(before: RecallResult, after: RecallResult) -> Comparison:
    """What the later recall changes; memories are the same by their id."""
    raise NotImplementedError


def complaints(trial: Trial, *, has_vectors: bool) -> tuple[str, ...]:
    """Sentences on settings that cannot work as they stand: no number, negative, a sum of 0, a threshold that no score
    reaches, words that no version reads. Empty when all is well."""
    raise NotImplementedError
