"""The literal text ZeroClaw puts before a message."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.embeddings.prices import tokens_of
from zeroclaw_tui.memory.recall import RecallResult, Rule, ScoredEntry
from zeroclaw_tui.scoring.injection import context_block
from zeroclaw_tui.scoring.meaning import told_apart

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.scoring.settings import Trial

_KINDS = {
    "skipped": "skipped as {what}",
    "withheld": "withheld from the agent ({what})",
    "limit": "behind the pool",
    "rerank": "left out by rerank",
    "cap": "too long for the prompt",
}
"""What the parts of "kind: what" mean, in the reasons of injection."""


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
        return {
            "query": self.result.request.query,
            "text": self.text,
            "rule": self.rule,
            "differs_by_rule": self.differs_by_rule,
            "characters": self.characters,
            "tokens": self.tokens,
            "entries": self.entries,
            "why_empty": self.why_empty,
            "profile": self.result.profile,
            "profile_source": self.result.profile_source,
            "threshold": self.result.threshold,
            "results": [
                _result_json(scored, is_read=self.result.not_read_because is None) for scored in self.result.results
            ],
            "notes": list(self.result.notes),
        }


async def prompt_for(library: Library, trial: Trial) -> Prompt:
    """The prompt block for the trial's message by its request's rule. Raises InspectorError kinds.

    It is always what reaches the agent, whatever layer the request names.
    """
    request = replace(trial.request, layer="agent", own_fusion=False)
    choice = replace(library.profile, profile=trial.profile)
    result = await recall_memories(
        library.memory, library.embedder, choice, trial.settings, request, library.why_no_vectors
    )
    text = context_block(result.results, trial.profile, request.rule)
    return Prompt(
        text=text,
        rule=request.rule,
        result=result,
        characters=len(text),
        tokens=tokens_of(len(text)),
        entries=result.injected,
        differs_by_rule=not trial.profile.one_injection_rule,
        why_empty=None if text else _why_empty(result),
    )


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


def _why_empty(result: RecallResult) -> str:
    """Why none of the recalled is injected, in a sentence."""
    count = len(result.results)
    if result.not_read_because is not None:
        return result.not_read_because
    if not count:
        if not result.withheld:
            return "Nothing was recalled."
        kinds = ", ".join(dict.fromkeys(scored.withheld or "" for scored in result.withheld))
        return f"Nothing was recalled for the agent: {len(result.withheld)} withheld from it ({kinds})."
    under = [scored for scored in result.results if (scored.not_injected_because or "").startswith("threshold")]
    best, threshold, decay = _best(under, result.threshold) if under else ("", "", "")
    if len(under) == count == 1:
        return f"1 recalled, and it does not reach the threshold {threshold}: it scores {best}{decay}."
    if len(under) == count:
        return f"{count} recalled, none reaches the threshold {threshold}; the best is {best}{decay}."
    parts = [f"{number} {what}" for what, number in Counter(_kinds(result.results)).items()]
    if under:
        parts.append(f"{len(under)} under the threshold {threshold} (the best is {best}{decay})")
    return f"{count} recalled, none of it is injected: {', '.join(parts)}."


def _kinds(entries: Sequence[ScoredEntry]) -> list[str]:
    named = [(scored.not_injected_because or "").partition(": ") for scored in entries]
    return [_KINDS[kind].format(what=what) for kind, _, what in named if kind in _KINDS]


def _best(under: Sequence[ScoredEntry], threshold: float) -> tuple[str, str, str]:
    """The highest number held against the threshold, the threshold, and what decay did to it, as shown."""
    best = max(under, key=_held)
    if math.isinf(_held(best)):
        return "no number", f"{threshold:.2f}", ""
    score, shown = told_apart(_held(best), threshold)
    changed = "rerank" if best.reranked is not None else "decay" if best.decayed is not None else ""
    was_enough = changed and best.score is not None and best.score >= threshold
    return score, shown, f" after {changed} from {best.score:.2f}" if was_enough else ""


def _held(scored: ScoredEntry) -> float:
    held = scored.held
    # What is no number is under every threshold, and under every number.
    return -math.inf if held is None or math.isnan(held) else held
