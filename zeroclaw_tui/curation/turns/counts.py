"""How often each memory was recalled, by what is recorded: the blocks that were sent and what agents looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zeroclaw_tui.curation.turns.prediction import keys_of_block
from zeroclaw_tui.curation.turns.recording import Recording, recorded
from zeroclaw_tui.curation.turns.trace import as_rfc3339, scrubbed

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


@dataclass(frozen=True, slots=True)
class RecallCount:
    """How many times a memory was recalled, and when last: RFC 3339 in UTC, "" where never."""

    times: int = 0
    last: str = ""


NEVER = RecallCount()


@dataclass(frozen=True, slots=True)
class RecallCounts:
    """What is recorded of each key. `turns` are those whose block is recorded, `since` the time of the first of them.

    A trace does not say of which agent a memory is, so that a key is counted for all that have it.
    """

    by_key: Mapping[str, RecallCount]
    turns: int
    since: str | None

    def of(self, key: str) -> RecallCount:
        """The count of a key, also where the trace masks it."""
        return self.by_key.get(key) or self.by_key.get(scrubbed(key, None)) or NEVER

    def never_recalled(self, keys: Iterable[str]) -> list[str]:
        """Those of these keys that are in nothing that is recorded."""
        return [key for key in keys if not self.of(key).times]


async def recall_counts(library: Library, recording: Recording | None = None) -> RecallCounts:
    """The counts by a recording; without one, by all that is recorded. Raises BrokenConfig."""
    known = await recorded(library) if recording is None else recording
    return counted_recalls(known)


def counted_recalls(recording: Recording) -> RecallCounts:
    """The same of a recording that is at hand; those of several followed one after the other can be `added`."""
    sent = [turn for turn in recording.turns if turn.sent is not None]
    told = [(turn.at, keys_of_block(turn.sent or "")) for turn in sent]
    told += [(as_rfc3339(one.at), list(one.keys)) for one in recording.tool_recalls]
    found: dict[str, RecallCount] = {}
    for at, keys in told:
        for key in dict.fromkeys(keys):
            count = found.get(key, NEVER)
            found[key] = RecallCount(count.times + 1, max(count.last, at))
    return RecallCounts(found, len(sent), min((turn.at for turn in sent), default=None))


def added(counts: RecallCounts, more: RecallCounts) -> RecallCounts:
    """Both together, where `more` is of what came later."""
    together = dict(counts.by_key)
    for key, count in more.by_key.items():
        known = together.get(key, NEVER)
        together[key] = RecallCount(known.times + count.times, max(known.last, count.last))
    since = min((each.since for each in (counts, more) if each.since is not None), default=None)
    return RecallCounts(together, counts.turns + more.turns, since)
