"""Why a memory is, or is not, in the prompt for a message: stage by stage, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.evidence import WordShare
from zeroclaw_tui.scoring.replay import StageName, Trial, Way

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or has no part in it (which alone stops nothing)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of the way. `words` say in one line what happened, `numbers` are the same for scripts.

    `helps` is what a person could do about it, in a few words, and `key` the key of the inspector that does it.
    """

    name: StepName
    mark: Mark
    words: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    helps: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole way of one memory. The steps end with the first that stops it, or with its place in the prompt.

    `verdict` is one sentence: where it stands in the prompt, or what stopped it. `remarks` are sentences on what holds
    for every memory in this scoring ("a hit without a vector can reach at most 0.30").
    """

    entry: MemoryEntry
    query: str
    profile: str
    profile_source: str
    rule: str
    layer: str
    steps: tuple[Step, ...]
    verdict: str
    stopped_at: StageName | None
    place: int | None
    injected: int
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What went wrong on the way of the whole recall."""

    @property
    def is_injected(self) -> bool:
        """Whether it reaches the prompt."""
        return self.stopped_at is None

    def as_json(self) -> dict[str, Any]:
        """The document the explain command prints."""
        return {
            "id": self.entry.id,
            "key": self.entry.key,
            "agent": self.entry.agent,
            "query": self.query,
            "profile": self.profile,
            "profile_source": self.profile_source,
            "layer": self.layer,
            "rule": self.rule,
            "injected": self.is_injected,
            "place": self.place,
            "of": self.injected,
            "stopped_at": self.stopped_at,
            "verdict": self.verdict,
            "steps": [
                {"stage": step.name, "mark": step.mark, "words": step.words, **step.numbers} for step in self.steps
            ],
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }


def explained(
    way: Way, trial: Trial, shares: Sequence[WordShare], profile_source: str, notes: Sequence[str] = ()
) -> Explanation:
    """The way of a memory in sentences. `shares` are the query's words in it."""
    raise NotImplementedError
