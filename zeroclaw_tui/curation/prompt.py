"""The text that ZeroClaw puts before a message: the prompt block of a recall."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.embeddings.base import estimate_tokens
from zeroclaw_tui.memory.recall import RecallResult, Rule, ScoredEntry, Stop
from zeroclaw_tui.memory.text import distinct_numbers
from zeroclaw_tui.scoring.injection import context_block
from zeroclaw_tui.scoring.profiles import Trial

_FAILS_WITHOUT_VECTOR = "Without the message's vector ZeroClaw's own recall fails, and the agent gets nothing."
_REASONS = {
    "skip": "skipped as {rule}",
    "scanner": "withheld from the agent ({rule})",
    "limit": "behind the pool",
    "rerank": "left out by rerank",
    "cap": "too long for the prompt",
}
"""By the stage that stops a memory."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is put before the message. `text` is literal, "" when nothing is injected.

    `why_empty` says in a sentence why nothing is injected. `differs_by_rule` says that the CLI agent and the channels
    inject by different rules in this version.
    """

    text: str
    rule: Rule
    result: RecallResult
    differs_by_rule: bool
    why_empty: str | None

    @property
    def characters(self) -> int:
        """The length of the text."""
        return len(self.text)

    @property
    def tokens(self) -> int:
        """A rough count of the text's tokens."""
        return estimate_tokens(len(self.text))

    @property
    def entries(self) -> int:
        """How many memories are in it."""
        return self.result.injected

    def as_json(self) -> dict[str, Any]:
        """The document the prompt command prints."""
        result = self.result
        own = ("text", "rule", "differs_by_rule", "characters", "tokens", "entries", "why_empty")
        of_recall = ("profile", "profile_source", "threshold")
        return {
            "query": result.request.query,
            **{name: getattr(self, name) for name in own},
            **{name: getattr(result, name) for name in of_recall},
            "results": [_result_json(scored, is_read=result.not_read_because is None) for scored in result.results],
            "notes": list(result.notes),
        }


def _result_json(scored: ScoredEntry, *, is_read: bool) -> dict[str, Any]:
    return {
        "rank": scored.rank,
        "id": scored.entry.id,
        "key": scored.entry.key,
        "score": scored.score,
        "decayed": scored.decayed,
        "reranked": scored.reranked,
        "rerank_place": scored.place,
        "injected": scored.injected if is_read else None,
        "not_injected_because": scored.not_injected_because,
    }


async def prompt_for(library: Library, trial: Trial) -> Prompt:
    """Make the prompt block for the trial's message by its request's rule. Raises InspectorError kinds.

    It is always what reaches the agent, whatever layer the request names.
    """
    request = replace(trial.request, layer="agent")
    result = await recall_memories(library, trial._replace(request=request))
    if result.lacks_vector_because:
        stop = Stop("recall", _FAILS_WITHOUT_VECTOR)
        results = tuple(replace(scored, injected=False, stop=stop) for scored in result.results)
        result = replace(result, results=results)
    text = context_block(result.results, trial.profile, request.rule)
    differs = not trial.profile.one_injection_rule
    return Prompt(text, request.rule, result, differs, None if text else _why_empty(result))


def _why_empty(result: RecallResult) -> str:
    """Say why none of the recalled memories is injected."""
    if result.not_read_because is not None:
        return result.not_read_because
    if result.lacks_vector_because:
        return _FAILS_WITHOUT_VECTOR
    if not result.results and result.withheld:
        kinds = ", ".join(dict.fromkeys(scored.withheld or "" for scored in result.withheld))
        return f"Nothing was recalled for the agent: {len(result.withheld)} withheld from it ({kinds})."
    if not result.results:
        return "Nothing was recalled."
    stops = [scored.stop for scored in result.results if scored.stop is not None]
    reasons = Counter(_REASONS[stop.stage].format(rule=stop.rule) for stop in stops if stop.stage in _REASONS)
    parts = [f"{count} {reason}" for reason, count in reasons.items()]
    below = [
        scored.compared_score or 0.0
        for scored in result.results
        if scored.stop is not None and scored.stop.stage == "threshold"
    ]
    if below:
        best, limit = distinct_numbers(max(below), result.threshold)
        parts.append(f"{len(below)} below the threshold {limit} (the best is {best})")
    return f"{len(result.results)} recalled, none injected: {', '.join(parts)}."
