"""A recorded turn compared with a recall made now, and how often each memory was recalled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.curation.recall import prompt_for, turn_limit, why_by_words
from zeroclaw_tui.curation.turn_trace import MASKED, as_rfc3339, moment_of, scrubbed
from zeroclaw_tui.curation.turns import Turn, recorded
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial, profile_for

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry

CHANGED = "changed since"
_NOT_RECORDED = "The message is not recorded."
_DELEGATED = "A request that one agent hands to another is recorded like this: ZeroClaw puts no memory before it."
_NO_SESSION = "Its session is not recorded, so the recall was made without one."

_KEY = re.compile(r"^- (.+?): ", re.MULTILINE)
_MAX_CHANGES = 10_000
_TRACE_PRECISION = timedelta(milliseconds=1)
"""ZeroClaw saves a message, and right after that traces what it sends with it, in whole milliseconds."""


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """A turn next to the block of a recall made now, masked as the trace masks; None where no recall could be made.

    `equal` says whether both have the same memories, by key. It is None where a memory that existed then was edited or
    deleted since (`why_not_equal` is CHANGED, `changed_since` has the keys), and where there is nothing to compare.
    """

    turn: Turn
    predicted: str | None
    equal: bool | None
    why_not_equal: str | None
    trial: Trial
    changed_since: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document of `memory tail`."""
        turn = self.turn
        return {
            "turn": turn.id,
            "at": turn.at,
            "agent": turn.agent,
            "session": turn.session,
            "channel": turn.channel,
            "query": turn.query,
            "sent": turn.sent,
            "predicted": self.predicted,
            "equal": self.equal,
            "why_not_equal": self.why_not_equal,
            "source": "trace",
        }


def trial_of_turn(library: Library, turn: Turn) -> Trial:
    """The recall of a turn: at its time, by its version where that is known, for its agent and its session scopes,
    without the memories that were created after it."""
    config, profile = library.config, _profile(library, turn)
    agents: tuple[str, ...] | None = None
    if turn.agent is not None and profile.agent_scope != "none":
        agents = config.readable_by((turn.agent,))
    limit = library.memory.about.recall_limit or turn_limit(config, profile, turn.rule, agents)
    scopes = turn.scopes or (None,)
    request = RecallRequest(
        turn.query,
        limit,
        session_id=scopes[0],
        further_sessions=tuple(scope for scope in scopes[1:] if scope is not None),
        agents=agents,
        rule=turn.rule,
        as_of=turn.at,
        turn_limit=limit,
        created_until=(turn.moment + _TRACE_PRECISION).isoformat(),
    )
    return Trial(request, profile, library.settings)


def _profile(library: Library, turn: Turn) -> ScoringProfile:
    own = library.profile.profile
    profile = own
    if turn.version is not None:
        # Another program may have written anything there.
        with suppress(UsageError):
            profile = profile_for(turn.version)
    if profile.version == own.version:
        profile = own
    # Up to 0.8.2 a direct chat joins its two scopes, as all do later; only a group has a block for each.
    if turn.rule == "channel" and not turn.is_group and not profile.joins_scopes and len(turn.scopes or ()) > 1:
        return profile._replace(joins_scopes=True)
    return profile


async def compare(library: Library, turn: Turn) -> ComparedTurn:
    """The turn next to a recall made now. Raises InspectorError kinds."""
    trial = trial_of_turn(library, turn)
    if turn.sent is None and not turn.query.strip():
        # A blank message lists the newest memories, which is another question than the one that is not recorded.
        return ComparedTurn(turn, None, None, turn.why_not_sent or _NOT_RECORDED, trial)
    prompt = await prompt_for(library, trial)
    by_words = why_by_words(prompt.result.notes)
    if by_words is not None:
        return ComparedTurn(turn, None, None, by_words, trial)
    predicted = scrubbed(prompt.text, turn.version)
    compared = ComparedTurn(turn, predicted, None, None, trial)
    if turn.sent is None or prompt.result.not_read_because is not None:
        return replace(compared, why_not_equal=prompt.result.not_read_because or turn.why_not_sent)
    sent, recalled = keys_of_block(turn.sent), keys_of_block(predicted)
    if sorted(sent) == sorted(recalled):
        return replace(compared, equal=True)
    changed = await _changed_since(library, turn, {*sent, *recalled})
    if changed:
        return replace(compared, why_not_equal=CHANGED, changed_since=changed)
    return replace(compared, equal=False, why_not_equal=_difference(turn, sent, recalled))


def keys_of_block(block: str) -> list[str]:
    """The keys that a block names, a line each; a key that holds a colon and a blank is cut there."""
    return _KEY.findall(block)


def _difference(turn: Turn, sent: Collection[str], recalled: Collection[str]) -> str:
    """How what was sent and what is recalled now differ, in sentences."""
    only_sent, only_recalled = len(set(sent) - set(recalled)), len(set(recalled) - set(sent))
    sentence = f"{only_sent:,} sent and not predicted, {only_recalled:,} predicted and not sent."
    if turn.scopes is None and turn.rule == "channel":
        return f"{sentence} {_NO_SESSION}"
    return f"{sentence} {_DELEGATED}" if not turn.sent and turn.session is None and turn.channel is None else sentence


async def _changed_since(library: Library, turn: Turn, keys: Iterable[str]) -> tuple[str, ...]:
    """Which of these memories, and of the deleted ones with a word of the message, existed at the turn and were edited
    or deleted since."""
    found = [key for key in sorted(keys) if await _is_changed(library.memory, key, turn.moment)]
    found += await _deleted_since(library, turn)
    return tuple(dict.fromkeys(found))


async def _is_changed(memory: Memory, key: str, moment: datetime) -> bool:
    # The trace has only the beginning of what it masks, so such a key cannot be looked up.
    if MASKED in key:
        return False
    existing = [entry for entry in await entries_with_key(memory, key) if not _is_after(entry.timestamp, moment)]
    return not existing or any(_is_edited(entry, moment) for entry in existing)


def _is_edited(entry: MemoryEntry, moment: datetime) -> bool:
    return entry.superseded_by is not None or _is_after(entry.updated_at, moment)


def _is_after(text: str | None, moment: datetime) -> bool:
    at = moment_of(text)
    return at is not None and at > moment + _TRACE_PRECISION


async def _deleted_since(library: Library, turn: Turn) -> list[str]:
    rows, _ = await library.trash.listing(limit=_MAX_CHANGES)
    asked = {word.casefold() for word in words(turn.query)}
    found = []
    for row in rows:
        entry = row.row.entry()
        is_of_then = _is_after(row.deleted_at, turn.moment) and not _is_after(entry.timestamp, turn.moment)
        text = f"{entry.key} {entry.content}".casefold()
        if is_of_then and any(word in text for word in asked):
            found.append(entry.key)
    return found


@dataclass(frozen=True, slots=True)
class RecallCount:
    """How many times a memory was recalled, and when last: RFC 3339 in UTC, "" where never."""

    times: int = 0
    last: str = ""


NEVER = RecallCount()


@dataclass(frozen=True, slots=True)
class RecallCounts:
    """What is recorded of each key, by the agent whose turn it was, None where that is not recorded. `turns` are those
    whose block is recorded, `since` the time of the first of them; `reads` are the agents whose memories each may see.
    """

    by_reader: Mapping[str, Mapping[str | None, RecallCount]]
    turns: int
    since: str | None
    reads: Mapping[str, Collection[str]] = field(default_factory=dict)

    def of(self, key: str, agent: str | None = None) -> RecallCount:
        """The count of a key, also where the trace masks it; of one agent's memory only what may have been it."""
        readers = self.by_reader.get(key) or self.by_reader.get(scrubbed(key, None)) or {}
        return _together(
            count
            for reader, count in readers.items()
            if agent is None or reader is None or agent in self.reads.get(reader, (reader,))
        )

    @property
    def often(self) -> tuple[str, ...]:
        """The keys, those recalled most often first, of equal ones the last recalled."""
        counts = {key: _together(readers.values()) for key, readers in self.by_reader.items()}
        return tuple(sorted(counts, key=lambda key: (counts[key].times, counts[key].last), reverse=True))


async def recall_counts(library: Library) -> RecallCounts:
    """The counts by all that is recorded. Raises BrokenConfig."""
    recording = await recorded(library)
    sent = [turn for turn in recording.turns if turn.sent is not None]
    told = [(turn.at, turn.agent, keys_of_block(turn.sent or "")) for turn in sent]
    told += [(as_rfc3339(one.at), one.agent, list(one.keys)) for one in recording.tool_recalls]
    found: dict[str, dict[str | None, RecallCount]] = {}
    for at, agent, keys in told:
        for key in dict.fromkeys(keys):
            readers = found.setdefault(key, {})
            count = readers.get(agent, NEVER)
            readers[agent] = RecallCount(count.times + 1, max(count.last, at))
    reads = {agent: library.config.readable_by((agent,)) for _, agent, _ in told if agent is not None}
    return RecallCounts(found, len(sent), min((turn.at for turn in sent), default=None), reads)


def _together(counts: Iterable[RecallCount]) -> RecallCount:
    each = list(counts)
    return RecallCount(sum(count.times for count in each), max((count.last for count in each), default=""))
