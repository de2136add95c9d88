"""The rerank stage and its block equal recorded runs of the real ZeroClaw 0.8.4."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from support import golden
from support.libraries import Library
from support.questions import UNLIMITED, RecallRequest, RecallResult, Rule, ScoredEntry
from support.replaying import RecordedEmbedder, library_of, parts_of
from support.rules import Trial, profile_for
from support.stores import SqliteMemory

from zeroclaw_tui.curation.recall import gather_evidence, recall_memories
from zeroclaw_tui.scoring.injection import compared_score, context_block, in_prompt_order

VERSION = "0.8.4"
RECORDED = golden.runs(VERSION, "rerank_runs")
RULES: dict[str, Rule] = {"interactive": "cli", "cron": "cron", "channel": "channel"}
STORES = sorted({(run["db"], run["variant"]) for run in RECORDED["runs"] if golden.has(VERSION, f"{run['db']}.db")})
CHECKED_STEP = 10

Pairs = list[tuple[str, float | None]]


def _trial(run: dict[str, Any]) -> Trial:
    agents = None if run["agent"] is None else (run["agent"], *RECORDED["agents"][run["agent"]])
    sessions = run["sessions"] or [None]
    request = RecallRequest(
        run["query"],
        run["limit"] or UNLIMITED,
        session_id=sessions[0],
        extra_sessions=tuple(sessions[1:]),
        agents=agents,
        layer=run["layer"],
        rule=RULES[run["origin"]],
        as_of=RECORDED["now"],
    )
    return Trial(request, profile_for(VERSION), golden.rerank_settings(RECORDED, run))


async def _recalled(library: Library, trial: Trial) -> RecallResult:
    return await recall_memories(library, trial)


def _is_like(found: Pairs, recorded: list[list[Any]], names: Any) -> bool:
    wanted = [(names[str(at)] if isinstance(names, dict) else names[at], score) for at, score in recorded]
    return [memory_id for memory_id, _ in found] == [memory_id for memory_id, _ in wanted] and all(
        score == pytest.approx(recorded_score, abs=1e-6) if score is not None else recorded_score is None
        for (_, score), (_, recorded_score) in zip(found, wanted, strict=True)
    )


def _after(result: RecallResult) -> Pairs:
    """Return the entries passed to the limits, in order, with the score compared with the threshold."""
    return [(scored.entry.id, compared_score(scored)) for scored in result.ranked]


def _ids(entries: list[ScoredEntry]) -> list[str]:
    return [scored.entry.id for scored in entries]


@pytest.mark.parametrize(("name", "variant"), STORES)
async def test_pool_order_scores_and_block_equal_the_recorded_runs(name: str, variant: str, tmp_path: Path) -> None:
    names = RECORDED["ids"][name]
    runs = [run for run in RECORDED["runs"] if (run["db"], run["variant"]) == (name, variant)]
    async with AsyncExitStack() as stack:
        memory = SqliteMemory(golden.variant_database(RECORDED, VERSION, name, variant, tmp_path))
        await memory.open()
        stack.push_async_callback(memory.close)
        for place, run in enumerate(runs):
            embedder = None if run["embed"] == "none" else RecordedEmbedder(run["embed"])
            library, trial = library_of(memory, embedder), _trial(run)
            result = await _recalled(library, trial)
            pool: Pairs = [(scored.entry.id, scored.score) for scored in result.results]
            assert _is_like(pool, run["pool"], names), run
            assert _is_like(_after(result), run["after"], names), run
            injected = in_prompt_order(result.results)
            assert context_block(result.results, trial.profile, trial.request.rule) == run["block"], run
            assert len(injected) == len(run["injected"]), run
            assert all(scored.injected is (scored.not_injected_because is None) for scored in result.results), run
            if place % CHECKED_STEP == 0:
                gathered = await gather_evidence(library, trial)
                assert parts_of(await gathered.replay(trial)) == parts_of(result), run
