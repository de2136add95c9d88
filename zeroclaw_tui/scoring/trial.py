"""A recall as it might be, and the way of one memory through it, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.settings import ScoringSettings

StageName = Literal[
    "query", "candidates", "merge", "superseded", "time", "session", "agent", "namespace", "like", "recent", "rank",
    "limit", "scanner", "threshold", "skip", "cap",
]  # fmt: skip
"""Where a memory can be stopped on its way to the prompt, in the order it meets them.

"candidates": no stage found it, or each ranked it behind the 2 x limit it passes on. "merge": behind the limit of the
fused list. "rank": a backend's own rule does not find it. "limit": behind the limit of what is recalled.
"""

NoVector = Literal["no query vector", "mode", "no embedding", "other length", "not above 0", "out of scope"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A recall as it might be: the request, and the rules and numbers it is scored with."""

    request: RecallRequest
    profile: ScoringProfile
    settings: ScoringSettings


@dataclass(frozen=True, slots=True)
class StagePlace:
    """A row's place in the keyword or the vector stage before any cut.

    `rank` counts from 1 among the `hits` this stage may see; the first `offered` go on. `score` is -bm25 or the cosine.
    """

    rank: int
    hits: int
    offered: int
    score: float

    @property
    def goes_on(self) -> bool:
        """Whether the stage passes it on."""
        return self.rank <= self.offered


@dataclass(frozen=True, slots=True)
class Way:
    """The way of one memory through one recall, in numbers; what it did not meet is None.

    `path` is how the recall as a whole went: "hybrid", "keyword", "vector", "like", "recent", or the backend's own
    name. `merged` says that scores were weighed and cut to `merge_limit`. `best_raw` is the highest -bm25 of the batch,
    which keyword scores are divided by. `fused_rank` counts in the fused list, `rank` in what is recalled.
    `like_rank` is its place among what the LIKE fall-back finds, where that ran.
    `stopped_at` is the first stage that stops it, None when it is in the prompt; `place` is its place there from 1, of
    `injected`. `judged` is its entry in the recall's answer (withheld ones too), where it came so far.
    `out_of_stages` says that session or agent keep it out of the stages themselves (ZeroClaw >= 0.8.4).
    """

    entry: MemoryEntry
    path: str
    merged: bool
    store_limit: int
    merge_limit: int | None
    keyword: StagePlace | None
    keyword_score: float | None
    best_raw: float | None
    vector: StagePlace | None
    no_vector: NoVector | None
    out_of_stages: Literal["session", "agent"] | None
    fused_score: float | None
    fused_rank: int | None
    like_rank: int | None
    rank: int | None
    judged: ScoredEntry | None
    stopped_at: StageName | None
    place: int | None
    injected: int
