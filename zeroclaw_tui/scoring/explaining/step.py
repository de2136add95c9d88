"""One stage of an explanation, and what its words are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.evidence import WordShare
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.scoring.way import StageName, Way

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or has no part in it (which alone stops nothing)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName


REFUSED_QUERY = "FTS5 refuses this query"
"""How the store's note begins where FTS5 could not read the message."""


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
class WholeRecall:
    """What holds for the recall as a whole, as far as it is known.

    `results` is the recall's answer. `own_rule` names the backend where it ranks by a rule of its own, and `scale` the
    range of its scores. `store_rows` is how many memories there are, `why_no_vector` a few words on why the message has
    no vector. `lost_of_session` counts memories of the request's session that a stage found and a cut before the
    session filter took away.
    """

    results: Sequence[ScoredEntry] = ()
    scale: str = ""
    own_rule: str | None = None
    store_rows: int | None = None
    why_no_vector: str = ""
    lost_of_session: int = 0
    notes: tuple[str, ...] = ()
    program: str | None = None
    """The other program whose store and rule it is; its answer is the end of the way then."""
    told: str = ""
    """What that rule tells of this memory, a clause."""

    @property
    def has_scale(self) -> bool:
        """Whether the scale has a name that says something."""
        return self.scale not in ("", "none", "its own")


@dataclass(frozen=True, slots=True)
class Told:
    """All that a step is written from."""

    way: Way
    trial: Trial
    shares: Sequence[WordShare]
    recall: WholeRecall

    @property
    def is_staged(self) -> bool:
        """Whether keyword and vector stages, merge and filters decide, and no rule of the backend's own."""
        return self.recall.own_rule is None

    @property
    def is_weighed(self) -> bool:
        """Whether the weights decide anything: nowhere but where hits by words and by vector are merged."""
        return self.is_staged and self.way.merged

    @property
    def vector_score(self) -> float | None:
        """The cosine that counts: that of a hit that goes on."""
        place = self.way.vector
        return place.score if place is not None and place.goes_on else None

    @property
    def keyword_score(self) -> float | None:
        """The normalised word score that counts: that of a hit that goes on."""
        place = self.way.keyword
        return self.way.keyword_score if place is not None and place.goes_on else None

    @property
    def is_scanned(self) -> bool:
        """Whether the content scanner stands between store and agent."""
        return self.trial.profile.scans_content and self.trial.request.layer == "agent"

    @property
    def is_refused(self) -> bool:
        """Whether FTS5 could not read the message, so that no memory has a hit by words."""
        return any(REFUSED_QUERY in note for note in self.recall.notes)

    @property
    def is_refused_for_quotes(self) -> bool:
        """Whether a version that doubles quotes could read it; a NUL ends the message for FTS5 in every version."""
        return not self.trial.profile.escapes_quotes and "\0" not in self.trial.request.query
