"""The parts of an explanation of a recall, and its lines of text with styles for commands and inspector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from zeroclaw_tui.memory.text import cut, mask_secrets, one_line
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.record import Record, StageName

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or is not involved (which alone does not stop it)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName
Look = Literal["", "bold", "good", "bad", "quiet", "key"]
Piece = tuple[str, Look]
ExplanationLine = tuple[Piece, ...]
Wrap = Callable[[str, int], list[str]]
"""Wraps a text to a width in cells."""
_SIGNS: Mapping[Mark, Piece] = {"passed": ("✓ ", "good"), "stopped": ("✗ ", "bad"), "absent": ("– ", "quiet")}
_MAX_NAME, _MAX_MESSAGE = 40, 200
_NARROWEST, _WIDEST = 20, 100


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of the path. `words` describe in one line what happened.

    `helps` is a short suggestion, and `key` the key of the inspector that carries it out.
    """

    name: StepName
    mark: Mark
    words: str
    helps: str = ""
    key: str = ""

    def as_json(self) -> dict[str, Any]:
        """The step in the JSON of the explain command."""
        helps = {"helps": self.helps} if self.helps else {}
        return {"stage": self.name, "mark": self.mark, "words": self.words, **helps}


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that puts the memory in the prompt, proven by deciding the whole recall again.

    `key` is the key of the inspector that tries or makes the change; `trial` is the recall with it.
    """

    words: str
    key: str
    trial: Trial


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole path of one memory. The steps end with the first that stops it, or with its position in the prompt.

    `verdict` is one sentence: its position in the prompt, or what stopped it. `later_stops` are all other stages that
    would stop it. `remarks` are sentences about this scoring in general. `notes` are problems of the whole recall.
    `advice` is None if it is in the prompt, or if nothing that was tried helps.
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
        """Replace the general suggestion at the step that stops it with proven advice."""
        last = replace(self.steps[-1], helps=f"{advice.words} puts it in the prompt", key=advice.key)
        return replace(self, steps=(*self.steps[:-1], last), advice=advice)

    def without_help(self) -> Explanation:
        """Remove a suggestion about settings, because none that was tried helps; suggested edits remain."""
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

    @property
    def title(self) -> str:
        """The title, in one line."""
        is_in = "is" if self.is_injected else "is not"
        if self.record.is_of_store_alone and self.record.program is None:
            is_in = "would be" if self.is_injected else "would not be"
        where = "in the prompt" if self.record.program is None else f"returned by {self.record.program}"
        key = cut(_clean(self.record.entry.key), _MAX_NAME) or "(blank)"
        message = cut(_clean(self.query), _MAX_MESSAGE)
        return f"“{key}” {is_in} {where} for " + (f"“{message}”" if message else "a blank message")

    def as_json(self) -> dict[str, Any]:
        """The JSON document of the explain command."""
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
            "numbers": record.numbers,
            "steps": [step.as_json() for step in self.steps],
            "later_stops": [step.as_json() for step in self.later_stops],
            "advice": None if self.advice is None else self.advice.words,
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }

    def lines(self, wrap: Wrap, width: int) -> Iterator[ExplanationLine]:
        """Format the verdict, every stage, remarks and notes."""
        verdict: Piece = ("✓ ", "good") if self.is_injected else ("✗ ", "bad")
        room = min(_WIDEST, width - 2)
        yield from _sentence(self.verdict, verdict, "bold", wrap, room)
        yield ()
        names = max(len(step.name) for step in (*self.steps, *self.later_stops))
        for step in self.steps:
            yield from _step_lines(step, names, "stops here", wrap, width)
        for step in self.later_stops:
            yield from _step_lines(step, names, "would stop it too", wrap, width)
        for sentences, lead in ((self.remarks, "  "), (self.notes, "● ")):
            if sentences:
                yield ()
            for sentence in sentences:
                yield from _sentence(sentence, (lead, "quiet"), "quiet", wrap, room)


def _sentence(text: str, lead: Piece, look: Look, wrap: Wrap, room: int) -> Iterator[ExplanationLine]:
    for at, line in enumerate(wrap(_clean(text), max(_NARROWEST, room))):
        yield lead if at == 0 else ("  ", ""), (line, look)


def _step_lines(step: Step, names: int, stops: str, wrap: Wrap, width: int) -> Iterator[ExplanationLine]:
    """Format sign, stage and text of a step, whether it stops the memory, and the suggestion below."""
    is_stopped = step.mark == "stopped"
    blank: Piece = (" " * (names + 4), "")
    room = max(_NARROWEST, width - names - 4)
    name: Piece = (step.name.ljust(names) + "  ", "bad" if is_stopped else "")
    words = _clean(step.words) + (f"   {stops}" if is_stopped else "")
    look: Look = "quiet" if step.mark == "absent" else ""
    for at, line in enumerate(wrap(words, room)):
        yield (_SIGNS[step.mark], name, (line, look)) if at == 0 else (blank, (line, look))
    if step.helps:
        lead: Piece = (f"{step.key} " if step.key else "→ ", "key")
        for at, line in enumerate(wrap(_clean(step.helps), room - 2)):
            yield blank, lead if at == 0 else ("  ", ""), (line, "quiet")


def _clean(text: str) -> str:
    return one_line(mask_secrets(text))
