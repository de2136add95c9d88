"""The sentences of the explanation: its title, the memory it is about, what is wanted, and all of it as text."""

from __future__ import annotations

from textual.content import Content

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.scoring.explanation import Explanation
from zeroclaw_tui.tui.format import absolute_time, fit
from zeroclaw_tui.tui.looks import MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail_text import DOT
from zeroclaw_tui.tui.widgets.empty import KeyHint
from zeroclaw_tui.tui.widgets.explanation_block import GLYPHS

_LONGEST = 400
_KEY_SHARE = 3
"""A long key leaves two of three cells to the message."""
_STAGE = 12


def title_words(entry: MemoryEntry, explanation: Explanation | None, query: str, width: int) -> str:
    """What was found out, in one line; what does not fit of key and message is cut."""
    if explanation is None:
        asked = "Why " if not query.strip() else "Looking whether "
        rest = " is recalled, or not" if not query.strip() else " is recalled …"
        return f"{asked}{quoted(entry.key, width - len(asked) - len(rest))}{rest}"
    middle = f" {_where(explanation)} for "
    room = width - len(middle)
    key = quoted(entry.key, max(12, room // _KEY_SHARE))
    short = quoted(entry.key, room - len(_quotes(explanation.query)))
    key = short if len(short) > len(key) else key
    return f"{key}{middle}{quoted(explanation.query, room - len(key))}"


def memory_content(entry: MemoryEntry, width: int) -> Content:
    """Category, date and how it begins, in one line."""
    facts = DOT.join([one_line(entry.category[:_LONGEST]) or "no category", absolute_time(entry.when)])
    words = one_line(entry.content[:_LONGEST]) or "(blank)"
    return Content.styled(fit(f"{facts}{DOT}{words}", width).rstrip(), MUTED)


def title_content(words: str) -> Content:
    """The title as it is shown."""
    return Content.styled(words, STRONG)


def wanting_words(entry: MemoryEntry) -> tuple[str, str, tuple[KeyHint, ...]]:
    """What the screen wants before it can say anything."""
    return (
        "For which message?",
        "Type what you would say to the agent: every stage on the way of this memory to the prompt is told.",
        (("/", "type the message"), ("esc", "back")),
    )


def waiting_words() -> tuple[str, str, tuple[KeyHint, ...]]:
    """Before the first answer is there."""
    return "Asking the store …", "", ()


def failed_words() -> tuple[str, str, tuple[KeyHint, ...]]:
    """When there was no answer yet."""
    return "Nothing could be found out.", "", (("ctrl+r", "try again"), ("/", "another message"), ("esc", "back"))


def explanation_text(explanation: Explanation) -> str:
    """Everything as plain text, to be pasted elsewhere; nothing in it steers a terminal."""
    lines = [
        f"{_quotes(explanation.entry.key)} {_where(explanation)} for {_quotes(explanation.query)}",
        f"scoring {explanation.profile} ({explanation.profile_source}), {explanation.rule} rule"
        if explanation.program is None
        else f"by the rule of {explanation.program}",
        "",
    ]
    widest = max((len(step.name) for step in explanation.steps), default=_STAGE)
    for step in explanation.steps:
        helps = f"  [{one_line(step.helps)}]" if step.helps else ""
        lines.append(f"{GLYPHS[step.mark]} {step.name.ljust(widest)}  {one_line(step.words)}{helps}")
    lines += ["", one_line(explanation.verdict), *map(one_line, explanation.remarks)]
    lines += [one_line(mask_secrets(note)) for note in explanation.notes]
    return "\n".join(lines).rstrip() + "\n"


def _where(explanation: Explanation) -> str:
    is_in = "is" if explanation.is_injected else "is not"
    return f"{is_in} in the prompt" if explanation.program is None else f"{is_in} returned by {explanation.program}"


def quoted(text: str, cells: int) -> str:
    """A text in quotes, cut to so many cells, the quotes counted."""
    shown = one_line(text[:_LONGEST]) or "(blank)"
    return f"“{fit(shown, max(4, cells - 2)).rstrip()}”"


def _quotes(text: str) -> str:
    return f"“{one_line(text[:_LONGEST])}”"
