"""A recorded turn compared with a recall made now."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import prompt_for, turn_limit
from zeroclaw_tui.curation.turns import MASKED, Turn, keys_of_block, masked_as_in_trace
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import counted, first_names
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial, profile_for

_MAX_CHANGES = 10_000
_TRACE_PRECISION = timedelta(milliseconds=1)
"""ZeroClaw saves a message, and right after that traces what it sends with it, in whole milliseconds."""


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """A turn next to the block of a recall made now, masked as the trace masks; None where no recall could be made.

    `equal` says whether both have the same memories, by key. It is None where a memory that existed then was edited or
    deleted since (`changed_since` has the keys), and where there is nothing to compare.
    """

    turn: Turn
    trial: Trial
    predicted: str | None = None
    equal: bool | None = None
    why_not_equal: str | None = None
    changed_since: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        of_turn = {name: getattr(self.turn, name) for name in ("at", "agent", "session", "channel", "query", "sent")}
        compared = {name: getattr(self, name) for name in ("predicted", "equal", "why_not_equal")}
        return {"turn": self.turn.id, **of_turn, **compared, "source": "trace"}

    def sentence(self) -> str:
        """Say whether what was sent is what is predicted, and which memories that is."""
        if self.equal:
            sent = f"Sent as predicted: {_memories(self.turn.sent or '')}."
            return sent if self.turn.sent else "Nothing was sent before it, as predicted."
        if self.equal is False:
            return f"Not as predicted: {self.why_not_equal}"
        if self.predicted is None:
            return f"Not predicted: {self.why_not_equal}"
        if self.turn.sent is None:
            return f"Predicted: {_memories(self.predicted)}. {self.why_not_equal or ''}".strip()
        changed = f" ({first_names(self.changed_since, longest=40)})" if self.changed_since else ""
        return f"Not comparable: {self.why_not_equal}{changed}"


def _memories(block: str) -> str:
    """How many memories a block has, and the names of the first."""
    keys = keys_of_block(block)
    return f"{counted(len(keys))} ({first_names(keys, longest=40)})" if keys else "nothing"


async def compare(library: Library, turn: Turn) -> ComparedTurn:
    """Compare the turn with a recall made now. Raises InspectorError kinds."""
    trial = trial_of_turn(library, turn)
    if turn.sent is None and not turn.query.strip():
        # A blank message lists the newest memories, which is another question than the one that is not recorded.
        return ComparedTurn(turn, trial, why_not_equal=turn.why_not_sent or "The message is not recorded.")
    prompt = await prompt_for(library, trial)
    if prompt.result.lacks_vector_because is not None:
        return ComparedTurn(turn, trial, why_not_equal=prompt.result.lacks_vector_because)
    predicted = masked_as_in_trace(prompt.text)
    if prompt.result.not_read_because is not None or turn.sent is None:
        return ComparedTurn(turn, trial, predicted, None, prompt.result.not_read_because or turn.why_not_sent)
    sent, recalled = keys_of_block(turn.sent), keys_of_block(predicted)
    if sorted(sent) == sorted(recalled):
        return ComparedTurn(turn, trial, predicted, equal=True)
    if changed := await _changed_since(library, turn, {*sent, *recalled}):
        return ComparedTurn(turn, trial, predicted, None, "changed since", changed)
    only_sent, only_predicted = len({*sent} - {*recalled}), len({*recalled} - {*sent})
    difference = f"{only_sent:,} sent and not predicted, {only_predicted:,} predicted and not sent."
    return ComparedTurn(turn, trial, predicted, False, difference)


def trial_of_turn(library: Library, turn: Turn) -> Trial:
    """The recall of a turn: at its time, by its version where that is known, for its agent and its session scopes,
    without the memories that were created after it."""
    config, profile = library.config, _profile_of(library, turn)
    agents: tuple[str, ...] | None = None
    if turn.agent is not None and profile.agent_scope != "none":
        agents = config.readable_by((turn.agent,))
    limit = library.memory.about.recall_limit or turn_limit(config, profile, turn.rule, agents)
    first, *further = turn.scopes or (None,)
    request = RecallRequest(
        turn.query,
        limit,
        session_id=first,
        further_sessions=tuple(filter(None, further)),
        agents=agents,
        rule=turn.rule,
        as_of=turn.at,
        turn_limit=limit,
        created_until=(turn.moment + _TRACE_PRECISION).isoformat(),
    )
    return Trial(request, profile, library.settings)


def _profile_of(library: Library, turn: Turn) -> ScoringProfile:
    profile = library.profile.profile
    # Another program may have written anything as the version.
    with suppress(UsageError):
        recorded = profile_for(turn.version or profile.version)
        profile = recorded if recorded.version != profile.version else profile
    # Up to 0.8.2 a direct chat joins its two scopes, as all do later; only a group has a block for each.
    if turn.rule == "channel" and not turn.is_group and len(turn.scopes or ()) > 1:
        return ScoringProfile(profile.newer or profile.version, joins_scopes=True)
    return profile


async def _changed_since(library: Library, turn: Turn, keys: Collection[str]) -> tuple[str, ...]:
    """Which of these memories, and of the deleted ones with a word of the message, existed at the turn and were edited
    or deleted since."""

    def is_later(text: str | None) -> bool:
        at = moment(text)
        return at is not None and at > turn.moment + _TRACE_PRECISION

    changed: dict[str, None] = {}
    # A key that the trace masks cannot be looked up.
    for key in sorted(key for key in keys if MASKED not in key):
        existed = [entry for entry in await entries_with_key(library.memory, key) if not is_later(entry.timestamp)]
        if not existed or any(entry.superseded_by or is_later(entry.updated_at) for entry in existed):
            changed[key] = None
    asked = {word.casefold() for word in words(turn.query)}
    rows, _ = await library.trash.listing(limit=_MAX_CHANGES)
    for row in rows:
        entry = row.row.entry()
        text = f"{entry.key} {entry.content}".casefold()
        was_deleted = is_later(row.at) and not is_later(entry.timestamp)
        if was_deleted and any(word in text for word in asked):
            changed[entry.key] = None
    return tuple(changed)
