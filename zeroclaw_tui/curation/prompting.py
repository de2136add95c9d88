"""The literal text ZeroClaw puts before a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.memory.recall import RecallResult, Rule
from zeroclaw_tui.scoring.replay import Trial

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stands before the message. `text` is literal, "" when nothing is injected; `tokens` is a rough count.

    `why_empty` says in a sentence why nothing is injected. `differs_by_rule` tells that the CLI agent and the channels
    inject by different rules in this version.
    """

    text: str
    rule: Rule
    result: RecallResult
    characters: int
    tokens: int
    entries: int
    differs_by_rule: bool
    why_empty: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The document the prompt command prints."""
        raise NotImplementedError


async def prompt_for(library: Library, trial: Trial) -> Prompt:
    """The prompt block for the trial's message by its request's rule. Raises InspectorError kinds."""
    raise NotImplementedError
