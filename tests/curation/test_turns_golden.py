"""Blocks that the real ZeroClaw 0.8.4 sent, as its trace holds them: every one of them is predicted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from support import golden
from support.replaying import RecordedEmbedder
from support.traces import RecordingInstall, Sent

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import prompt_for
from zeroclaw_tui.curation.turns import compare, recorded, trial_of_turn
from zeroclaw_tui.scoring.profiles import RerankSettings, ScoringSettings

VERSION = "0.8.4"
RECORDED = golden.runs(VERSION, "rerank_runs")
LIMIT = 5


def _is_turn(run: dict[str, Any]) -> bool:
    """Whether ZeroClaw has such turns: any other limit than 5 is that of an embedded agent, which has one session at
    most, and what is scheduled has none."""
    sessions = run["sessions"] or [None]
    is_embedded = run["origin"] == "interactive" and len(sessions) == 1
    is_scheduled = run["origin"] == "cron"
    return (
        run["layer"] == "agent" and (is_embedded or run["limit"] == LIMIT) and not (is_scheduled and sessions != [None])
    )


TURNS = [run for run in RECORDED["runs"] if golden.has(VERSION, f"{run['db']}.db") and _is_turn(run)]
STORES = sorted({(run["db"], run["variant"]) for run in TURNS})


def _settings(run: dict[str, Any]) -> ScoringSettings:
    memory = RECORDED["defaults"] | run["memory"]
    rerank = RerankSettings(
        memory["rerank_enabled"],
        "mmr" if memory["rerank_strategy"].strip().lower() == "mmr" else "none",
        memory["rerank_threshold"],
        memory["mmr_lambda"],
        memory["importance_weight"],
        memory["recency_weight"],
        memory["candidate_multiplier"],
    )
    return ScoringSettings(threshold=memory["min_relevance_score"], rerank=rerank)


def _record(install: RecordingInstall, run: dict[str, Any], place: int) -> None:
    """The lines of the turn."""
    sessions = run["sessions"] or [None]
    is_channel, is_embedded = run["origin"] == "channel", run["limit"] != LIMIT
    install.trace.unlink(missing_ok=True)
    install.record(
        Sent(
            run["query"],
            run["block"],
            agent=run["agent"],
            channel="telegram.main" if is_channel else None,
            sender="ann" if is_channel else None,
            session=sessions[0] if is_embedded else None,
            embedded=is_embedded and sessions[0] is None,
            id=f"turn-{place}",
        )
    )


def test_there_are_turns_enough_with_and_without_rerank():
    reranked = [(RECORDED["defaults"] | run["memory"])["rerank_enabled"] for run in TURNS]
    assert len(TURNS) >= 200
    assert any(reranked)
    assert not all(reranked)


@pytest.mark.parametrize(("name", "variant"), STORES)
async def test_every_recorded_block_is_predicted(name, variant, tmp_path):
    database = golden.database(VERSION, f"{name}.db", tmp_path)
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in RECORDED["variants"][variant]:
            connection.execute(statement)
    install, memory = RecordingInstall(tmp_path / "install"), SqliteMemory(database)
    await memory.open()
    try:
        for place, run in enumerate(run for run in TURNS if (run["db"], run["variant"]) == (name, variant)):
            _record(install, run, place)
            embedder = None if run["embed"] == "none" else RecordedEmbedder(run["embed"])
            library = install.library(
                memory,
                settings=_settings(run),
                embedder=embedder,
                agents={name: tuple(others) for name, others in RECORDED["agents"].items()},
                recall_limits={run["agent"]: run["limit"]},
            )
            (turn,) = (await recorded(library)).turns
            # The scopes of these runs are not those of a chat, whose names the trace would tell.
            turn = replace(turn, scopes=tuple(run["sessions"] or [None]))
            trial = trial_of_turn(library, turn)
            # Some of their memories are dated in the future, and were recalled all the same.
            prompt = await prompt_for(library, trial._replace(request=replace(trial.request, created_until="")))
            assert (turn.sent, prompt.text) == (run["block"], run["block"]), run
            if variant == "asis":
                compared = await compare(library, turn)
                assert (compared.predicted, compared.equal) == (run["block"], True), run
    finally:
        await memory.close()
