"""Explanations agree with recorded recalls, and removing a memory's stop lets it pass that stage."""

from __future__ import annotations

import math
import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from explain_world import NOW, library_of
from support import golden
from support.libraries import Library
from support.memories import Handle, MemoryEntry
from support.questions import (
    ENTRIES,
    NEWEST_STORED,
    MemoryFilter,
    Query,
    RecallRequest,
    RecallResult,
    ScoredEntry,
    Superseded,
)
from support.rules import ScoringSettings, Trial, profile_for
from support.small_store import blob
from support.stores import SqliteMemory
from support.test_embedder import embed

from zeroclaw_tui.curation.recall import explain, explained_by, gather_evidence, with_as_of
from zeroclaw_tui.scoring.explanation import Explanation
from zeroclaw_tui.scoring.stages import words
from zeroclaw_tui.testing.tools import handles_of

RUNS = (
    ("0.1.7", "recall_runs", "runs"),
    ("0.7.5", "recall_runs", "runs"),
    ("0.7.5", "full_runs", "runs"),
    ("0.7.5", "full_runs", "namespaced"),
    ("0.7.5", "full_runs", "window"),
    ("0.8.3", "full_runs", "runs"),
    ("0.8.3", "full_runs", "namespaced"),
    ("0.8.3", "full_runs", "window"),
    ("0.8.4", "recall_runs", "runs"),
    ("0.8.4", "full_runs", "runs"),
    ("0.8.4", "full_runs", "window"),
)
ROWS = 12
EARLY_STAGES = {
    "query", "candidates", "merge", "superseded", "time", "session", "agent", "namespace", "like", "recent", "limit",
}  # fmt: skip
OF_EACH_STAGE, MOST_RUNS, MOST_QUERIES = 2, 80, 60
EXPECTED: dict[str, str] = {
    "0.1.7": "query candidates session like threshold cap",
    "0.7.5": "candidates merge superseded session namespace like limit threshold skip",
    "0.8.3": "candidates merge superseded session agent namespace limit threshold skip cap",
    "0.8.4": "candidates merge session agent limit threshold skip cap",
}
"""The stages that stop a memory in the recorded recalls, by version."""
BIG_LIMIT = 100_000
MARKERS = ("[IMAGE:", "<tool_result", "[cron:", "[heartbeat task", "[DISTILLED_", "distilled_index_sig:")


@dataclass(frozen=True)
class Case:
    """A memory and a recorded recall, with the input of an explanation."""

    library: Library
    trial: Trial
    entry: MemoryEntry
    explanation: Explanation
    result: RecallResult
    embedder: str | None
    path: Path


def asked(run: dict[str, Any], place: int) -> tuple[RecallRequest, ScoringSettings]:
    """Return the recall of a run as an agent's message; rules and layers alternate, so that all occur."""
    settings = ScoringSettings(*(run.get("weights") or (0.7, 0.3)), search_mode=run.get("search_mode") or "hybrid")
    request = golden.request_of(
        run,
        layer="store" if place % 3 == 2 else "agent",
        rule="channel" if place % 2 else "cli",
        as_of=NOW,
    )
    return request, settings


def database(version: str, name: str, embedder: str | None, folder: Path) -> Path:
    """Return the database on which a run was recorded."""
    plain = "brain_dense.db" if embedder == "dense:64" else "brain.db"
    file = "brain_full_superseded.db" if name == "full_runs" else plain
    path = folder / f"{version}-{file}"
    return path if path.exists() else golden.database(version, file, folder)


async def cases_of(version: str, name: str, part: str, folder: Path, *, most: int = 0) -> AsyncIterator[Case]:
    """Return recalled, withheld and other rows, of one run of some queries or of this many random runs."""
    chance = random.Random(f"{version} {name} {part}")
    runs: list[dict[str, Any]] = golden.runs(version, name).get(part, [])
    chance.shuffle(runs := list(runs))
    runs = runs[:most] if most else list({run["query"]: run for run in runs}.values())[:MOST_QUERIES]
    libraries: dict[str | None, tuple[Library, dict[Handle, MemoryEntry], Path]] = {}
    async with AsyncExitStack() as stack:
        for place, run in enumerate(runs):
            request, settings = asked(run, place)
            embedder = None if run.get("embed") in (None, "none") else run["embed"]
            if embedder not in libraries:
                path = database(version, name, embedder, folder)
                opened = library_of(SqliteMemory(path), folder, version, embedder=embedder)
                library = await stack.enter_async_context(opened)
                handles = await handles_of(library.memory, MemoryFilter(superseded=Superseded.SHOW), NEWEST_STORED)
                entries = await library.memory.rows(Query(ENTRIES, handles=list(handles)))
                libraries[embedder] = library, {entry.handle: entry for entry in entries}, path
            library, rows, path = libraries[embedder]
            library.settings = settings
            trial = with_as_of(library.trial(request))
            gathered = await gather_evidence(library, trial)
            result = await gathered.replay(trial)
            first = [scored.entry.handle for scored in (*result.results, *result.withheld)][: ROWS - 4]
            others = [handle for handle in rows if handle not in first]
            for handle in (*first, *chance.sample(others, min(len(others), ROWS - len(first)))):
                explanation = explained_by(gathered, await gathered.record(trial, rows[handle]))
                yield Case(library, trial, rows[handle], explanation, result, embedder, path)


def assert_agrees(case: Case) -> None:
    explanation, result = case.explanation, case.result
    found = next((each for each in (*result.results, *result.withheld) if each.entry.id == case.entry.id), None)
    shown = (case.trial, case.entry.key, explanation.verdict)
    last = explanation.steps[-1]
    assert explanation.is_injected is (found is not None and found.injected), shown
    if found is None:
        assert explanation.record.stopped_at in EARLY_STAGES, shown
    elif found.injected:
        assert_place(explanation, found, result)
    else:
        assert explanation.record.stopped_at == (found.stop.stage if found.stop is not None else None), shown
    assert last.name == (explanation.record.stopped_at or "prompt"), shown
    assert [each.mark for each in explanation.steps].count("stopped") == (not explanation.is_injected), shown
    if found is not None and found.score is not None and last.name != "scanner":
        assert explanation.record.compared_score == (found.score if found.decayed is None else found.decayed), shown


def assert_place(explanation: Explanation, found: ScoredEntry, result: RecallResult) -> None:
    injected = [each.entry.id for each in result.results if each.injected]
    assert explanation.record.place == injected.index(found.entry.id) + 1
    assert explanation.record.injected == len(injected)
    assert explanation.steps[-1].words.startswith(f"entry {explanation.record.place} of {len(injected)}")


@pytest.mark.parametrize(("version", "name", "part"), RUNS)
async def test_the_explanation_agrees_with_the_recall(version: str, name: str, part: str, tmp_path: Path) -> None:
    stops: Counter[str] = Counter()
    async for case in cases_of(version, name, part, tmp_path):
        assert_agrees(case)
        stops[case.explanation.record.stopped_at or "prompt"] += 1
    assert stops["prompt"]
    assert len(stops) > 3


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name", "part"), RUNS)
async def test_the_explanation_agrees_with_every_recorded_run(
    version: str, name: str, part: str, tmp_path: Path
) -> None:
    count = 0
    async for case in cases_of(version, name, part, tmp_path, most=BIG_LIMIT):
        assert_agrees(case)
        count += 1
    assert count


def remove_stop(case: Case) -> tuple[Trial, dict[str, Any], bool]:
    """Return the trial, the row values and whether the store must contain only this row, to remove the stop."""
    trial, entry, stage = case.trial, case.entry, case.explanation.record.stopped_at
    settings = trial.settings
    match stage:
        case "query":
            return trial._replace(profile=profile_for("0.8.4")), {}, False
        case "superseded":
            return trial, {"superseded_by": None}, False
        case "time" | "session" | "agent" | "namespace":
            fields = {"time": ("since", "until"), "session": ("session_id",), "agent": ("agents",)}
            names = fields.get(stage, (stage,))
            return trial._replace(request=replace(trial.request, **dict.fromkeys(names))), {}, False
        case "candidates" | "like":
            # If it was found, the limit is enough; otherwise it gets the words and vector of the message.
            query = trial.request.query
            plain = " ".join(word.removesuffix("*").replace('"', "") or word for word in words(query))
            values: dict[str, Any] = {"content": f"{entry.content} {query} {plain}"}
            if case.embedder is not None:
                values["embedding"] = blob(*embed(case.embedder, query))
            is_found = case.explanation.record.like_rank is not None
            return unlimited(trial), {} if is_found else values, False
        case "merge" | "recent":
            return unlimited(trial), {}, False
        case "limit" | "cap":
            return trial, {}, True
        case "scanner":
            return trial._replace(settings=settings._replace(threat_scan="off")), {}, False
        case "threshold":
            low = math.floor((case.explanation.record.compared_score or 0.0) * 100) / 100
            return trial._replace(settings=settings._replace(threshold=low)), {}, False
    assert stage == "skip"
    content = entry.content
    for marker in MARKERS:
        content = re.sub(re.escape(marker), "", content, flags=re.IGNORECASE)
    content = content.strip()[:300] or "text"
    return trial, {"key": f"renamed {entry.id}", "content": content, "category": "core"}, False


def unlimited(trial: Trial) -> Trial:
    return trial._replace(request=replace(trial.request, limit=BIG_LIMIT))


@pytest.mark.parametrize("version", EXPECTED)
async def test_removing_a_stop_lets_the_memory_pass_that_stage(version: str, tmp_path: Path) -> None:
    stages: Counter[str] = Counter()
    found: list[Case] = []
    expected = set(EXPECTED[version].split())
    for _, name, part in reversed([runs for runs in RUNS if runs[0] == version]):
        async with aclosing(cases_of(version, name, part, tmp_path, most=MOST_RUNS)) as cases:
            async for case in cases:
                stage = case.explanation.record.stopped_at
                if stage is not None and stages[stage] < OF_EACH_STAGE:
                    stages[stage] += 1
                    found.append(case)
                if expected <= set(stages):
                    break
    assert expected <= set(stages), stages
    for case in found:
        trial, values, is_alone = remove_stop(case)
        path = Path(shutil.copyfile(case.path, tmp_path / "repaired.db"))
        with closing(sqlite3.connect(path)) as connection, connection:
            for column, value in values.items():
                connection.execute(f"UPDATE memories SET {column} = ? WHERE rowid = ?", (value, case.entry.handle))
            if is_alone:
                connection.execute("DELETE FROM memories WHERE rowid <> ?", (case.entry.handle,))
        async with library_of(SqliteMemory(path), tmp_path, version, embedder=case.embedder) as library:
            library.settings = trial.settings
            after = await explain(library, case.entry, trial)
        shown = (case.trial, case.entry.key, case.explanation.verdict, values, after.verdict)
        assert after.record.stopped_at != case.explanation.record.stopped_at, shown
        assert all(step.name != case.explanation.record.stopped_at or step.mark == "passed" for step in after.steps), (
            shown
        )
