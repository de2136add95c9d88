"""What is predicted of a recorded turn, by the store as it was then, whether that is what was sent, and how often each
memory was."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.recall import Prompt, prompt_for, turn_limit, why_by_words
from zeroclaw_tui.curation.turns.recording import Turn, audit_file, recorded
from zeroclaw_tui.curation.turns.trace import MASKED, as_rfc3339, moment_of, scrubbed
from zeroclaw_tui.files.database import Reading, as_text, columns_of
from zeroclaw_tui.memory.change import AUDIT_LOG
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial, profile_for

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.backends.health import PastStore, StoredSince
    from zeroclaw_tui.curation.library import Library

CHANGED = "changed since"
NOT_RECORDED = "The audit log does not hold what was sent."
CONFIG = "config.toml"
_DELEGATED = "A request that one agent hands to another is recorded like this: ZeroClaw puts no memory before it."

_KEY = re.compile(r"^- (.+?): ", re.MULTILINE)
_MOST_CHANGES = 10_000
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """A turn beside its prediction, masked as the trace masks; None where the message is not recorded.

    `equal` is None where it could not be told: `why_not_equal` says why, "changed since" where memories that it needs
    changed or went, which `changed_since` names by key (CONFIG where config.toml changed).
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
            "source": turn.source,
        }


def trial_of_turn(library: Library, turn: Turn) -> Trial:
    """The recall of a turn: at its time, by its version where that is known, for its agent and its session scopes."""
    config, profile = library.config, _profile(library, turn)
    agents: tuple[str, ...] | None = None
    if turn.agent is not None and profile.agent_scope != "none":
        agents = config.readable_by((turn.agent,))
    limit = library.memory.recall_limit or turn_limit(config, profile, turn.rule, agents)
    scopes = turn.scopes or (None,)
    request = RecallRequest(
        turn.query,
        limit,
        session_id=scopes[0],
        further_sessions=tuple(scope for scope in scopes[1:] if scope is not None),
        agents=agents,
        rule=turn.rule,
        as_of=turn.recalled_at or turn.at,
        turn_limit=limit,
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


async def store_as_of(library: Library, moment: datetime) -> PastStore | None:
    """A copy of the store without what was stored after a moment, which only is read; None where nothing was, or where
    it cannot be put back. Raises InspectorError kinds."""
    later = await library.memory.stored_since(moment)
    past = await library.memory.past() if later.rows else None
    if past is not None:
        await past.back_to(moment, later.rows)
        past.memory.read_only_because = "This is the store as it was then; the browser changes what is there now."
    return past


class Predictions:
    """Predictions of many turns of one store, quickest from the newest turn to the oldest.

    Memories stored after a turn are left out: a copy of a SQLite store is put back to its time.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._then: PastStore | None = None

    async def __aenter__(self) -> Predictions:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the copy."""
        if self._then is not None:
            await self._then.close()
            self._then = None

    async def of(self, turn: Turn) -> ComparedTurn:
        """The turn beside its prediction. Raises InspectorError kinds."""
        trial, moment = trial_of_turn(self._library, turn), turn.moment
        if turn.sent is None and not turn.query.strip():
            # A blank message lists the newest, which is another question than the one nobody wrote down.
            return ComparedTurn(turn, None, None, turn.why_not_sent or NOT_RECORDED, trial)
        later = await self._library.memory.stored_since(moment)
        memory = await self._as_of(moment, later)
        library = self._library if memory is None else replace(self._library, memory=memory)
        prompt = await prompt_for(library, trial)
        is_as_of = memory is not None or (later.is_known and not later.rows)
        return await self._judged(turn, trial, prompt, later, is_as_of=is_as_of)

    async def _as_of(self, moment: datetime, later: StoredSince) -> Memory | None:
        """The store at a moment; None where it is as it was, or cannot be put back."""
        if not later.rows:
            return None
        if self._then is None or self._then.moment < moment:
            await self.close()
            self._then = await self._library.memory.past()
        if self._then is None:
            return None
        await self._then.back_to(moment, later.rows)
        return self._then.memory

    async def _judged(
        self, turn: Turn, trial: Trial, prompt: Prompt, later: StoredSince, *, is_as_of: bool
    ) -> ComparedTurn:
        result, predicted = prompt.result, scrubbed(prompt.text, turn.version)
        compared = ComparedTurn(turn, predicted, None, None, trial)
        why = turn.query_remark
        if turn.sent is None:
            why = turn.why_not_sent or NOT_RECORDED
        elif result.not_read_because is not None:
            why = result.not_read_because
        if why:
            return replace(compared, why_not_equal=why)
        by_words = why_by_words(result.notes)
        if by_words is not None:
            return ComparedTurn(turn, None, None, by_words, trial)
        if predicted == turn.sent:
            return replace(compared, equal=True)
        changed = await self._changed(turn, result, later)
        if changed:
            return replace(compared, why_not_equal=CHANGED, changed_since=changed)
        if not is_as_of:
            return replace(compared, why_not_equal="This store cannot be put back to the time of the turn.")
        if turn.scopes is None and turn.rule == "channel":
            return replace(compared, why_not_equal="Its session is not recorded.")
        return replace(compared, equal=False, why_not_equal=_difference(turn, predicted))

    async def _changed(self, turn: Turn, result: RecallResult, later: StoredSince) -> tuple[str, ...]:
        """What changed since the turn of all that its recall needs: what was sent, what was recalled now, and what is
        gone and has a word of the message."""
        library, moment = self._library, turn.moment
        sent = set(keys_of_block(turn.sent or ""))
        here = {scrubbed(one.entry.key, turn.version): one.entry.updated_at for one in result.results}
        touched = {scrubbed(key, turn.version) for key in later.changed}
        touched |= {key for key, updated in here.items() if (at := moment_of(updated)) is not None and at > moment}
        found = dict.fromkeys(sorted((sent | here.keys()) & touched))
        found |= dict.fromkeys(await _gone(library.memory, sent - here.keys()))
        found |= dict.fromkeys(await _thrown_away(library, turn, moment))
        found |= dict.fromkeys(await _forgotten(library, moment, {row.key for row in later.rows}))
        if await asyncio.to_thread(_config_changed, library, moment):
            found[CONFIG] = None
        return tuple(found)


def keys_of_block(block: str) -> list[str]:
    """The keys that a block names, a line each; a key that holds a colon and a blank is cut there."""
    return _KEY.findall(block)


def _difference(turn: Turn, predicted: str) -> str:
    """How what was sent and what is predicted differ, in words."""
    was, would = keys_of_block(turn.sent or ""), keys_of_block(predicted)
    if was == would:
        return "The same memories, with another text."
    if sorted(was) == sorted(would):
        return "The same memories in another order."
    only_sent, only_predicted = len(set(was) - set(would)), len(set(would) - set(was))
    told = f"{only_sent:,} sent and not predicted, {only_predicted:,} predicted and not sent."
    return f"{told} {_DELEGATED}" if not turn.sent and turn.session is None and turn.channel is None else told


async def _gone(memory: Memory, keys: Iterable[str]) -> list[str]:
    """Those keys of a block that no memory has any more. What the trace masks, or cut, cannot be looked up."""
    gone = []
    for key in sorted(keys):
        if MASKED not in key and await memory.get(key) is None:
            gone.append(key)
    return gone


async def _thrown_away(library: Library, turn: Turn, moment: datetime) -> list[str]:
    """What was deleted here since and has a word of the message."""
    rows, _ = await library.trash.listing(limit=_MOST_CHANGES)
    asked = {word.casefold() for word in words(turn.query)}
    found = []
    for kept in rows:
        deleted = moment_of(kept.deleted_at)
        entry = kept.row.entry()
        text = f"{entry.key} {entry.content}".casefold()
        created = moment_of(entry.timestamp)
        was_there = created is None or created <= moment
        if deleted is not None and deleted > moment and was_there and any(word in text for word in asked):
            found.append(entry.key)
    return found


async def _forgotten(library: Library, moment: datetime, stored_later: set[str]) -> list[str]:
    """The keys that ZeroClaw's audit log says were forgotten since, whose contents nobody knows any more.

    Keys that were only stored since are no part of it.
    """
    file = audit_file(library.config)
    if not file.is_file():
        return []
    day = (moment.astimezone(UTC) - _DAY).date().isoformat()

    def read(connection: sqlite3.Connection) -> list[str]:
        if not {"operation", "timestamp", "key", "namespace", "session_id"} <= set(columns_of(connection, AUDIT_LOG)):
            return []
        statement = (
            f"SELECT operation, key, namespace, session_id, timestamp FROM {AUDIT_LOG} WHERE timestamp >= ? AND"
            " operation IN ('store', 'forget', 'purge') ORDER BY id LIMIT ?"
        )
        made: set[str] = set()
        found: dict[str, None] = {}
        for operation, key, namespace, session, timestamp in connection.execute(statement, (day, _MOST_CHANGES)):
            at = moment_of(as_text(timestamp))
            if at is None or at <= moment:
                continue
            name = as_text(key)
            if operation == "store":
                made.add(name)
            elif operation == "purge":
                found[as_text(namespace) or as_text(session) or "purge"] = None
            elif name not in made:
                found[name] = None
        return [name for name in found if name not in stored_later]

    return await Reading(file).run(read)


def _config_changed(library: Library, moment: datetime) -> bool:
    file = library.config.install.config_file
    try:
        return file is not None and datetime.fromtimestamp(file.stat().st_mtime, UTC) > moment
    except OSError:
        return False


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
