"""An explanation as lines of text: commands and inspector give the looks of its pieces their own colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from zeroclaw_tui.memory.text import cut, mask_secrets, one_line
from zeroclaw_tui.scoring.explanation import Explanation, Mark, Step

Look = Literal["", "bold", "good", "bad", "quiet", "key"]
Piece = tuple[str, Look]
ExplanationLine = tuple[Piece, ...]
Wrap = Callable[[str, int], list[str]]
"""Breaks a text into lines of so many cells."""
_SIGNS: Mapping[Mark, Piece] = {"passed": ("✓ ", "good"), "stopped": ("✗ ", "bad"), "absent": ("– ", "quiet")}
_STOPS_HERE, _STOPS_TOO = "stops here", "would stop it too"
_LONGEST_NAME, _LONGEST_MESSAGE = 40, 200
_NARROWEST, _WIDEST = 20, 100


def title_of(explanation: Explanation) -> str:
    """What is explained, in one line."""
    is_in = "is" if explanation.is_injected else "is not"
    where = "in the prompt" if explanation.record.program is None else f"returned by {explanation.record.program}"
    key = cut(_clean(explanation.record.entry.key), _LONGEST_NAME) or "(blank)"
    message = cut(_clean(explanation.query), _LONGEST_MESSAGE)
    return f"“{key}” {is_in} {where} for " + (f"“{message}”" if message else "a blank message")


def explanation_lines(explanation: Explanation, wrap: Wrap, width: int) -> Iterator[ExplanationLine]:
    """The verdict, every stage, remarks and notes."""
    verdict: Piece = ("✓ ", "good") if explanation.is_injected else ("✗ ", "bad")
    room = min(_WIDEST, width - 2)
    yield from _sentence(explanation.verdict, verdict, "bold", wrap, room)
    yield ()
    steps = (*explanation.steps, *explanation.later_stops)
    names = max(len(step.name) for step in steps)
    for at, step in enumerate(steps):
        stops = _STOPS_HERE if at < len(explanation.steps) else _STOPS_TOO
        yield from _step(step, names, stops, wrap, width)
    for sentences, lead in ((explanation.remarks, "  "), (explanation.notes, "● ")):
        if sentences:
            yield ()
        for sentence in sentences:
            yield from _sentence(sentence, (lead, "quiet"), "quiet", wrap, room)


def _sentence(text: str, lead: Piece, look: Look, wrap: Wrap, room: int) -> Iterator[ExplanationLine]:
    for at, line in enumerate(wrap(_clean(text), max(_NARROWEST, room))):
        yield lead if at == 0 else ("  ", ""), (line, look)


def _step(step: Step, names: int, stops: str, wrap: Wrap, width: int) -> Iterator[ExplanationLine]:
    """Sign, stage and words, where it stops, and below what would help."""
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
