"""What explaining a recall needs of any Memory: evidence that decides it again, words in a row, whole rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.decide import answer, decide, serves
from zeroclaw_tui.scoring.profiles import LANDMARKS, NEWEST, ScoringSettings, Trial, profile_for
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import EVERY, Contract, whole_rows

_LIMITS = (1, 2, 3, 5, 10)
_BOUNDS = (None, "2026-01-01T00:00:00+00:00")


class EvidenceContract(Contract):
    """Tests that each take an open `memory`."""

    words: Sequence[str]

    async def test_evidence_gathered_once_decides_the_recall_of_every_limit(self, memory: Memory) -> None:
        """Rows, order and every part of the score are those of `search`, for the rules of each generation."""
        for version in LANDMARKS:
            for query in (*self.words, "", "xylophonequartz"):
                for since in _BOUNDS:
                    request = RecallRequest(query, since=since, layer="store", as_of=NOW.isoformat())
                    await _compare(memory, request, version)

    async def test_each_word_of_a_query_is_told_once(self, memory: Memory) -> None:
        """A word that stands in the content by itself is found in it, one that nobody wrote is not."""
        query = f"{self.words[0]} xylophonequartz {self.words[0]}"
        told = list(dict.fromkeys(query.split()))
        recalled = await memory.search(RecallRequest(self.words[0]), profile_for(NEWEST), ScoringSettings())
        for scored in recalled.entries:
            shares = await memory.word_shares(scored.entry, query, profile_for(NEWEST))
            assert [share.word for share in shares] == told
            assert [share.is_found for share in shares if share.word == "xylophonequartz"] == [False]

    async def test_whole_rows_are_the_rows_asked_for(self, memory: Memory) -> None:
        """Full contents, in the order asked for; a row that is not there is left out."""
        rows = list(await memory.entries(EVERY))[::-1]
        found = await memory.whole_rows([*(row.handle for row in rows[:3]), "no such row", rows[-1].handle])
        assert [row.id for row in found] == [row.id for row in (*rows[:3], rows[-1])]
        contents = {row.id: row.content for row in await whole_rows(memory)}
        assert [row.content for row in found] == [contents[row.id] for row in found]


async def _compare(memory: Memory, request: RecallRequest, version: str) -> None:
    profile, numbers = profile_for(version), ScoringSettings()
    evidence = await memory.evidence(request, profile, numbers)
    for limit in _LIMITS:
        asked = replace(request, limit=limit)
        trial = Trial(asked, profile, numbers)
        assert serves([evidence], trial)
        found = await memory.search(asked, profile, numbers)
        decision = decide([evidence], trial)
        rows = {entry.handle: entry for entry in await memory.whole_rows(decision.wanted)}
        decided = answer(decision, rows)
        unjudged = [replace(one, decayed=None, injected=False, not_injected_because=None) for one in decided.results]
        assert unjudged == list(found.entries)
        assert (decided.mode, decided.scale) == (found.mode, found.scale)
