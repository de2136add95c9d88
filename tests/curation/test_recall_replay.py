"""Recalls replayed on evidence that was gathered once: what it answers, and that it decides as the store does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.replaying import FixedEmbedder, library_of, trial
from support.small_store import blob, change, make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import gather_evidence
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.scoring.profiles import ScoringSettings

ROWS = [{"content": f"rust number{at}", "embedding": blob(at, 1)} for at in range(40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "brain.db", "G4", ROWS)


@pytest.fixture
async def memory(path: Path) -> AsyncIterator[SqliteMemory]:
    memory = SqliteMemory(path)
    await memory.open()
    yield memory
    await memory.close()


async def test_evidence_that_serves_no_trial_of_another_query_or_other_terms_says_so(memory: SqliteMemory) -> None:
    tried = trial('say "rust*')
    evidence = await gather_evidence(library_of(memory), tried)
    assert evidence.serves(trial('say "rust*', "0.7.5", limit=50, session_id="s"))
    for other in (trial("rust"), trial('say "rust*', "0.7.4")):
        assert not evidence.serves(other)
        with pytest.raises(UsageError, match="cannot be used for"):
            await evidence.replay(other)


async def test_evidence_by_words_alone_does_not_serve_a_search_with_vectors(memory: SqliteMemory) -> None:
    """By words alone no vector is asked for; evidence with one serves both."""
    library = library_of(memory, FixedEmbedder(1, 1))
    by_words = trial("rust", settings=ScoringSettings(search_mode="bm25"))
    assert not (await gather_evidence(library, by_words)).serves(trial("rust"))
    both = await gather_evidence(library, trial("rust"))
    assert both.serves(by_words)
    assert (await both.replay(by_words)).mode == "keyword"


async def test_a_row_deleted_in_the_meantime_is_left_out(memory: SqliteMemory, path: Path) -> None:
    evidence = await gather_evidence(library_of(memory), trial("number7 rust", limit=40))
    change(path, "DELETE FROM memories WHERE key = 'key7'")
    result = await evidence.replay(trial("number7 rust", limit=40))
    assert "key7" not in [scored.entry.key for scored in result.results]
    assert [scored.rank for scored in result.results] == list(range(1, 40))
