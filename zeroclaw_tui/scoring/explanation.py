"""What an explanation of a recall consists of: its steps and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zeroclaw_tui.scoring.answer import Record, StageName
from zeroclaw_tui.scoring.profiles import Trial

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or has no part in it (which alone stops nothing)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName
Help = tuple[str, str]
"""What a person could do about a step, in a few words, and the key of the inspector that does it."""
NO_HELP: Help = ("", "")
ADD_A_WORD: Help = ("edit it to contain a word of the message", "e")
HIGHER_LIMIT: Help = ("a higher limit", "w")


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
    on the way of the whole recall. `advice` is None where it is in, and where nothing that was tried helps.
    """

    record: Record
    profile_source: str
    steps: tuple[Step, ...]
    verdict: str
    later_stops: tuple[Step, ...]
    remarks: tuple[str, ...]
    notes: tuple[str, ...]
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
        return self.record.trial.request.query

    @property
    def is_injected(self) -> bool:
        """Whether it reaches the prompt."""
        return self.record.stopped_at is None

    def as_json(self) -> dict[str, Any]:
        """The document the explain command prints."""
        record, trial = self.record, self.record.trial
        return {
            "id": record.entry.id,
            "key": record.entry.key,
            "agent": record.entry.agent,
            "query": self.query,
            "profile": trial.profile.version,
            "profile_source": self.profile_source,
            "layer": trial.request.layer,
            "rule": trial.request.rule,
            "injected": self.is_injected if record.program is None else None,
            **({} if record.program is None else {"returned": self.is_injected}),
            "place": record.place,
            "of": record.injected,
            "stopped_at": record.stopped_at,
            "verdict": self.verdict,
            "steps": [step.as_json() for step in self.steps],
            "later_stops": [step.as_json() for step in self.later_stops],
            "advice": None if self.advice is None else self.advice.words,
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }


def stop_step(name: StageName, words: str, helps: Help = NO_HELP, **numbers: Any) -> Step:
    """The step that stops the memory."""
    return Step(name, "stopped", words, numbers, *helps)
