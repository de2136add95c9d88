"""The sentences of the prompt's screen: how much it is, by whose rule, and why it is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import count_text, fit
from zeroclaw_tui.tui.widgets.empty import KeyHint

if TYPE_CHECKING:
    from zeroclaw_tui.curation.prompt import Prompt
    from zeroclaw_tui.scoring.profiles import ScoringProfile

EmptyWords = tuple[str, str, tuple[KeyHint, ...]]
_RULES: dict[Rule, str] = {"cli": "rule of the CLI agent", "channel": "rule of the channels"}
_NAMES: dict[Rule, str] = {"cli": "CLI agent", "channel": "channels"}
_SAME: dict[Rule, str] = {"cli": "the channels get the same", "channel": "the CLI agent gets the same"}
_LONGEST = 400


def title_words(prompt: Prompt | None, query: str, width: int) -> str:
    """What stands before the message, in one line."""
    if not query.strip():
        return "What ZeroClaw puts before a message"
    if prompt is None:
        return "Looking what ZeroClaw puts before this message …"
    if not prompt.entries:
        lead = "Nothing is put before "
    else:
        lead = "1 memory is put before " if prompt.entries == 1 else f"{prompt.entries} memories are put before "
    shown = one_line(query[:_LONGEST])
    return f"{lead}“{fit(shown, max(4, width - len(lead) - 2)).rstrip()}”"


def fact_parts(prompt: Prompt, profile: ScoringProfile, other: Prompt | None) -> tuple[str, ...]:
    """Entries, characters, tokens, the rule, and what there is to know about the other one."""
    if profile.one_injection_rule:
        return (*_amounts(prompt), "the CLI agent and the channels inject alike from 0.8.3")
    same = (_SAME[prompt.rule],) if other is not None and other.text == prompt.text else ()
    return (*_amounts(prompt), _RULES[prompt.rule], *same)


def column_parts(prompt: Prompt) -> tuple[str, ...]:
    """The same over a column beside that of the other rule."""
    return (_NAMES[prompt.rule], *(_amounts(prompt) or ("nothing",)))


def _amounts(prompt: Prompt) -> tuple[str, ...]:
    if not prompt.entries:
        return ()
    return (
        _counted(prompt.entries, "entry", "entries"),
        _counted(prompt.characters, "character", "characters"),
        f"about {_counted(prompt.tokens, 'token', 'tokens')}",
    )


def wanting_words() -> EmptyWords:
    """What the screen wants before it can show anything."""
    return (
        "Before which message?",
        "Type what you would say to the agent: the text that ZeroClaw puts before it is shown, letter for letter.",
        (("/", "type the message"), ("esc", "back")),
    )


def waiting_words() -> EmptyWords:
    """Before the first answer is there."""
    return "Asking the store …", "", ()


def failed_words() -> EmptyWords:
    """When there was no answer yet."""
    return "The prompt could not be made.", "", (("ctrl+r", "try again"), ("/", "another message"), ("esc", "back"))


def empty_words(prompt: Prompt) -> EmptyWords:
    """Why nothing is put before the message, and what helps."""
    keys: list[KeyHint] = [("w", "try other weights and thresholds"), ("p", "other scoring version")]
    if prompt.differs_by_rule:
        keys.append(("tab", "the rule of the channels" if prompt.rule == "cli" else "the rule of the CLI agent"))
    keys.append(("esc", "back; x on a memory there tells why it is not in"))
    return "ZeroClaw puts nothing before this message.", prompt.why_empty or "", tuple(keys)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count_text(count)} {one if count == 1 else many}"
