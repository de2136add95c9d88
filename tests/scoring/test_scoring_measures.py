"""A sweep tells of each setting what the recall itself tells, one setting at a time."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support import golden
from support.replaying import RecordedEmbedder, library_of, trial

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import gather_evidence, read_rows
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.scoring.measures import KnownTexts, Settings, Sweep
from zeroclaw_tui.scoring.profiles import RerankSettings, RerankStrategy, ScoringSettings, SearchMode, profile_for

RULES: tuple[Rule, ...] = ("cli", "channel", "cron")
MODES: tuple[SearchMode, ...] = ("hybrid", "bm25", "embedding")
STRATEGIES: tuple[RerankStrategy, ...] = ("none", "mmr")
DOUBLES = """
INSERT INTO memories (id, key, content, category, embedding, created_at, updated_at, session_id, importance, agent_id)
SELECT id || '-again', key || '_again', content, category, embedding, created_at, updated_at, session_id, 0.9, agent_id
FROM memories WHERE rowid % 3 = 0
"""
HERS = """
INSERT INTO agents (id, alias, created_at) VALUES ('hers', 'ann', '2026-01-01T00:00:00+00:00');
INSERT INTO memories (id, key, content, category, embedding, created_at, updated_at, session_id, importance, agent_id)
SELECT id || '-hers', key, content || ' she says', category, embedding, created_at, updated_at, session_id, 0.4, 'hers'
FROM memories WHERE rowid % 4 = 1;
"""
NEARLY = "UPDATE memories SET content = content || ' indeed' WHERE id LIKE '%-again' AND rowid % 2 = 0"


def _settings(chance: random.Random) -> ScoringSettings:
    rerank = RerankSettings(
        chance.random() < 0.6,
        chance.choice(STRATEGIES),
        chance.choice((0, 3, 8)),
        chance.choice((0.0, 0.3, 0.7, 1.0)),
        chance.choice((0.0, 0.2, 0.6, 1.0)),
        chance.choice((0.0, 0.1, 0.5)),
        chance.choice((1, 2, 4, 9)),
    )
    vector, keyword = chance.choice(((0.7, 0.3), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)))
    mode = chance.choice(MODES)
    threshold = chance.choice((0.0, 0.1, 0.25, 0.4, 0.6, 0.9))
    return ScoringSettings(vector, keyword, threshold, mode, rerank=rerank)


def _queries(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        texts = connection.execute("SELECT content FROM memories WHERE length(content) > 20 ORDER BY id").fetchall()
    return [" ".join(text.split()[:4]) for (text,) in texts[:: max(1, len(texts) // 12)]] + ["*", " ", "zzzz", "%"]


@pytest.mark.parametrize("version", ["0.7.5", "0.8.4"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
async def test_a_sweep_tells_what_each_recall_tells(tmp_path: Path, version: str, seed: int) -> None:
    """Whether a key is in the prompt, and how much is, under settings of every kind: as decided one by one."""
    path = golden.database(version, "brain.db", tmp_path)
    if version == "0.8.4":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(DOUBLES)
            connection.execute(NEARLY)
            connection.executescript(HERS)
    memory = SqliteMemory(path)
    await memory.open()
    library = library_of(memory, RecordedEmbedder("hash:64"), version)
    chance = random.Random(seed)
    texts = KnownTexts()
    found = 0
    try:
        for query in _queries(path):
            found += await _compared(library, query, version, chance, texts)
    finally:
        await memory.close()
    assert found, "no setting put anything in any prompt"


async def _compared(library: Library, query: str, version: str, chance: random.Random, texts: KnownTexts) -> int:
    rule = chance.choice(RULES)
    trials = []
    for _ in range(60):
        limit = chance.choice((1, 5, 12))
        asked = trial(query, version, _settings(chance), rule=rule, limit=limit)
        trials.append(asked._replace(profile=profile_for(chance.choice(("0.6.2", "0.8.3")))) if limit == 1 else asked)
    gathered = await gather_evidence(library, trial(query, version, rule=rule))
    sweep = Sweep(gathered.evidence, Settings(trials), trial(query, version, rule=rule).request)
    rows = await read_rows(library, sweep.wanted)
    keys = sorted(entry.key for entry in rows.values())
    wanted, unwanted = set(chance.sample(keys, min(len(keys), chance.choice((0, 1, 1, 2))))), set(keys[1::5])
    outcomes = sweep.outcomes(rows, wanted, unwanted, texts)
    injected_in_all = 0
    for at, tried in enumerate(trials):
        assert bool(outcomes.measured[at]) == gathered.serves(tried)
        if gathered.serves(tried):
            result = await gathered.replayed(tried)
            injected = [scored.entry.key for scored in result.results if scored.injected]
            told = (bool(outcomes.found[at]), bool(outcomes.unwanted[at]), int(outcomes.injected[at]))
            assert told == (wanted <= set(injected), bool(unwanted & set(injected)), len(injected))
            injected_in_all += len(injected)
    return injected_in_all
