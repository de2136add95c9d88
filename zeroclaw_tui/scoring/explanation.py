"""What an explanation of a recall consists of: its steps, its verdict, and the facts that it is written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult, Stop
from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, FilterName, WordShare, is_durable
from zeroclaw_tui.scoring.placement import Placement, StageName
from zeroclaw_tui.scoring.profiles import Trial

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or has no part in it (which alone stops nothing)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName
Help = tuple[str, str]
"""What a person could do about a step, in a few words, and the key of the inspector that does it."""
NO_HELP: Help = ("", "")
ADD_A_WORD: Help = ("edit it to contain a word of the message", "e")
HIGHER_LIMIT: Help = ("a higher limit", "w")
_EXACT_SESSIONS = ("postgres", "qdrant", "in-memory")
"""The backends whose recall in a session leaves out what has none, whatever the version."""
_ONE_NAMESPACE = ("markdown", "redis")
"""The backends whose memories all count as of the default namespace."""


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

    def as_json(self) -> dict[str, Any]:
        """The step as the explain command prints it."""
        helps = {"helps": self.helps} if self.helps else {}
        return {"stage": self.name, "mark": self.mark, "words": self.words, **self.numbers, **helps}


@dataclass(frozen=True, slots=True)
class Advice:
    """What puts the memory in the prompt: the recall was decided again with it, to the end.

    `key` is that of the inspector that tries or does it; `trial` is the recall with it.
    """

    words: str
    key: str
    trial: Trial


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole way of one memory. The steps end with the first that stops it, or with its place in the prompt.

    `verdict` is one sentence: its place in the prompt, or what stopped it. `later_stops` is everything else that would
    stop it as well. `remarks` are sentences on what holds for every memory in this scoring. `notes` say what went wrong
    on the way of the whole recall. `program` is the other program whose store it is: then `is_injected` and `place` are
    about what that program returns. `advice` is None where it is in, and where nothing that was tried helps.
    """

    entry: MemoryEntry
    trial: Trial
    profile_source: str
    steps: tuple[Step, ...]
    verdict: str
    stopped_at: StageName | None
    place: int | None
    injected: int
    later_stops: tuple[Step, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    program: str | None = None
    advice: Advice | None = None

    def with_advice(self, advice: Advice) -> Explanation:
        """The same with proven advice at the step that stops it, in place of what usually helps there."""
        last = replace(self.steps[-1], helps=f"{advice.words} puts it in the prompt", key=advice.key)
        return replace(self, steps=(*self.steps[:-1], last), advice=advice)

    def without_help(self) -> Explanation:
        """The same where none of the settings tried helps; what an edit of the memory could do stays."""
        last = self.steps[-1]
        if last.key in ("e", "R", "x") and last.name != "threshold":
            return self
        return replace(self, steps=(*self.steps[:-1], replace(last, helps="", key="")))

    @property
    def query(self) -> str:
        """The message."""
        return self.trial.request.query

    @property
    def is_injected(self) -> bool:
        """Whether it reaches the prompt."""
        return self.stopped_at is None

    def as_json(self) -> dict[str, Any]:
        """The document the explain command prints."""
        request = self.trial.request
        return {
            "id": self.entry.id,
            "key": self.entry.key,
            "agent": self.entry.agent,
            "query": self.query,
            "profile": self.trial.profile.version,
            "profile_source": self.profile_source,
            "layer": request.layer,
            "rule": request.rule,
            "injected": self.is_injected if self.program is None else None,
            **({} if self.program is None else {"returned": self.is_injected}),
            "place": self.place,
            "of": self.injected,
            "stopped_at": self.stopped_at,
            "verdict": self.verdict,
            "steps": [step.as_json() for step in self.steps],
            "later_stops": [step.as_json() for step in self.later_stops],
            "advice": None if self.advice is None else self.advice.words,
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """All that an explanation is written from: the memory's way, the whole recall, and what is known of the store.

    `shares` are the message's words in the memory. `own_rule` names the backend where it ranks by a rule of its own,
    `program` the other program whose rule that is. `store_rows` is how many memories there are, `why_no_vector` a few
    words on why the message has no vector.
    """

    placement: Placement
    trial: Trial
    result: RecallResult
    shares: Sequence[WordShare] = ()
    own_rule: str | None = None
    program: str | None = None
    store_rows: int | None = None
    why_no_vector: str = ""
    has_sessions: bool = False
    """Whether a store that ranks by a rule of its own has sessions."""

    @property
    def stop(self) -> Stop:
        """What the injection rules decided on a memory that they stop."""
        judged = self.placement.judged
        assert judged is not None
        assert judged.stop is not None
        return judged.stop

    @property
    def left_out_by(self) -> tuple[FilterName, ...]:
        """Every filter that leaves the memory out."""
        return self.placement.left_out_by if self.own_rule is None else tuple(_own_filters(self))

    @property
    def compared_score(self) -> float | None:
        """The number that is compared with the threshold, whether or not the memory comes so far."""
        candidate = self.placement.candidate
        return None if candidate is None else candidate.compared_score

    @property
    def has_faded(self) -> bool:
        """Whether its age alone keeps it below the threshold, or below half of what it was."""
        candidate = self.placement.candidate
        if candidate is None or candidate.score is None or candidate.decayed is None:
            return False
        return candidate.decayed < min(self.trial.settings.threshold, candidate.score / 2)


def _own_filters(facts: Facts) -> Iterator[FilterName]:
    """The filters that leave it out by a backend's own rule: what such a store does not record leaves nothing out."""
    request, entry, profile, rule = facts.trial.request, facts.placement.entry, facts.trial.profile, facts.own_rule
    at, since, until = moment(entry.timestamp), moment(request.since), moment(request.until)
    is_outside = at is not None and ((since is not None and at < since) or (until is not None and at > until))
    if is_outside and rule != "markdown" and profile.has_time_bounds:
        yield "time"
    has_sessions = entry.session_id is not None or facts.has_sessions
    is_of_session = None in request.scopes or entry.session_id in request.scopes
    crosses = profile.durable_rows_cross_sessions and rule not in _EXACT_SESSIONS and is_durable(entry)
    if has_sessions and not is_of_session and not crosses:
        yield "session"
    if entry.agent is not None and request.agents and entry.agent not in request.agents:
        yield "agent"
    has_namespaces = entry.namespace is not None or rule in _ONE_NAMESPACE
    if has_namespaces and request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE):
        yield "namespace"


def stop_step(name: StageName, words: str, helps: Help = NO_HELP, **numbers: Any) -> Step:
    """The step that stops the memory."""
    return Step(name, "stopped", words, numbers, *helps)
