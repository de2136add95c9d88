"""How often each memory was recalled, by what is recorded: the blocks that were sent and what agents looked up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeroclaw_tui.curation.turns.prediction import keys_of_block
from zeroclaw_tui.curation.turns.recording import recorded
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
