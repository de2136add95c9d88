"""Recalls replayed on evidence that was gathered once: what it answers, and that it decides as the store does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.replaying import FixedEmbedder, Silent, library_of, parts_of, recalled, trial
from support.small_store import AGENT, MOMENT, add, blob, change, make

from zeroclaw_tui.backends.lookup import cached_vector
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import gather_evidence
from zeroclaw_tui.memory.errors import SearchInterrupted, UsageError
from zeroclaw_tui.scoring import decide
from zeroclaw_tui.scoring.profiles import LANDMARKS, ScoringSettings
from zeroclaw_tui.scoring.scanner import ScanMode

OTHER = "00000000-0000-4000-8000-00000000000f"
FIRST_AGENT = "00000000-0000-4000-8000-000000000000"
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


async def test_a_vector_that_cannot_be_had_is_told_and_the_words_stand(memory: SqliteMemory) -> None:
    library, tried = library_of(memory, Silent(1, 1)), trial("rust")
    evidence = await gather_evidence(library, tried)
    assert evidence.notes == ("The endpoint is down. Keyword hits only. Start it.",)
    assert parts_of(await evidence.replay(tried)) == parts_of(await recalled(library, tried))


async def test_long_contents_are_decided_in_a_thread_and_scanned_once(
    memory: SqliteMemory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scanner takes a second for 20 MB: no key of a what-if may wait for that."""
    scanned: list[tuple[int, bool]] = []

    def scan(content: str, threat_scan: ScanMode) -> str | None:
        scanned.append((len(content), threading.current_thread() is threading.main_thread()))
        return None

    add(path, [{"content": "rust " * 60_000}], start=40)
    monkeypatch.setattr(decide, "scan", scan)
    evidence = await gather_evidence(library_of(memory), trial("rust"))
    for threshold in (0.1, 0.2, 0.3):
        tried = trial("rust", settings=ScoringSettings(threshold=threshold))
        await evidence.replay(tried)
    assert [length for length, _ in scanned].count(300_000) == 1
    assert not any(is_on_loop for _, is_on_loop in scanned)


async def test_a_row_gone_meanwhile_is_left_out(memory: SqliteMemory, path: Path) -> None:
    evidence = await gather_evidence(library_of(memory), trial("number7 rust", limit=40))
    change(path, "DELETE FROM memories WHERE key = 'key7'")
    result = await evidence.replay(trial("number7 rust", limit=40))
    assert "key7" not in [scored.entry.key for scored in result.results]
    assert [scored.rank for scored in result.results] == list(range(1, 40))


async def test_a_vector_that_is_no_blob_fails_only_the_recalls_that_meet_it(memory: SqliteMemory, path: Path) -> None:
    rows = [{"content": "rust", "embedding": vector, "session_id": of} for vector, of in (("text", "a"), (b"", "b"))]
    add(path, rows, start=40)
    library = library_of(memory, FixedEmbedder(1, 1))
    evidence = await gather_evidence(library, trial("rust"))
    for version in ("0.8.3", "0.8.4"):
        for session, fails in ((None, True), ("a", True), ("b", False)):
            tried = trial("rust", version, session_id=session)
            result = await evidence.replay(tried)
            assert any("no BLOB" in note for note in result.notes) == fails, (version, session)
            assert parts_of(result) == parts_of(await recalled(library, tried))


async def test_gathering_ends_when_it_is_cancelled_interrupted_or_the_store_closes(tmp_path: Path) -> None:
    rows = [{"content": f"rust {at % 97} word{at}", "embedding": blob(at, 1), "id": f"id-{at}"} for at in range(5000)]
    memory = SqliteMemory(make(tmp_path / "many.db", "G4", rows))
    await memory.open()
    library, tried = library_of(memory, FixedEmbedder(1, 1)), trial("rust word7")
    cancelled = asyncio.ensure_future(gather_evidence(library, tried))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await cached_vector(memory, "anything")
    closing = asyncio.ensure_future(memory.search(tried, deep=True))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await memory.close()
    with pytest.raises(SearchInterrupted):
        await closing


@pytest.mark.parametrize("asked", [{"session_id": "s"}, {"agents": ("default", "scout", "first")}, {}])
@pytest.mark.parametrize("query", ["zebra", "tea", "ea"])
async def test_equal_scores_keep_the_order_in_which_sqlite_meets_the_rows(
    asked: dict[str, Any], query: str, tmp_path: Path
) -> None:
    """Nothing but ties: of one session and of none, of three agents, by vector, by words and by the fall-back."""
    rows = [
        {
            "content": "tea",
            "session_id": None if at % 2 else "s",
            "agent_id": (AGENT, OTHER, FIRST_AGENT)[at % 3],
            "embedding": None if query == "ea" else blob(1, 0),
            "updated_at": MOMENT.format(at // 4),
        }
        for at in range(24)
    ]
    path = make(tmp_path / "brain.db", "G4", rows)
    for alias, agent in (("scout", OTHER), ("first", FIRST_AGENT)):
        change(path, "INSERT INTO agents (id, alias, created_at) VALUES (?, ?, '')", [agent, alias])
    memory = SqliteMemory(path)
    await memory.open()
    try:
        library = library_of(memory, None if query == "ea" else FixedEmbedder(1, 0))
        for version in LANDMARKS:
            for limit in (1, 3, 5, 20):
                tried = trial(query, version, limit=limit, layer="store", **asked)
                evidence = await gather_evidence(library, tried)
                assert parts_of(await evidence.replay(tried)) == parts_of(await recalled(library, tried)), tried
    finally:
        await memory.close()
