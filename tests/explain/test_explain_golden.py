"""For every recorded recall and rows found and not found, the explanation agrees with what recall returned."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from explain_golden import RUNS, all_rows, asked, database, each_run, opened, sampled, with_settings

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import explained_by, gather_evidence, recall_memories, trial_of
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.scoring.explain import Explanation

_BEFORE_THE_ANSWER = {
    "query", "candidates", "merge", "superseded", "time", "session", "agent", "namespace", "like", "recent", "limit",
}  # fmt: skip


def _assert_agrees(explanation: Explanation, result: RecallResult, run: Any) -> None:
    entry = explanation.entry
    found = next((each for each in (*result.results, *result.withheld) if each.entry.id == entry.id), None)
    told = (run, entry.key, explanation.verdict)
    last = explanation.steps[-1]
    assert explanation.is_injected is (found is not None and found.injected), told
    if found is None:
        assert explanation.stopped_at in _BEFORE_THE_ANSWER, told
    elif found.injected:
        _assert_place(explanation, found, result)
    else:
        assert explanation.stopped_at == (found.stop.stage if found.stop is not None else None), told
    assert last.name == (explanation.stopped_at or "prompt"), told
    assert [each.mark for each in explanation.steps].count("stopped") == (not explanation.is_injected), told
    if found is not None and found.score is not None and last.name != "scanner":
        held = next((each.numbers.get("score") for each in explanation.steps if each.name == "threshold"), None)
        if held is not None:
            assert held == (found.score if found.decayed is None else found.decayed), told


def _assert_place(explanation: Explanation, found: ScoredEntry, result: RecallResult) -> None:
    injected = [each.entry.id for each in result.results if each.injected]
    assert explanation.place == injected.index(found.entry.id) + 1
    assert explanation.injected == len(injected)
    assert explanation.steps[-1].numbers == {"place": explanation.place, "of": len(injected)}


async def _check(version: str, name: str, part: str, folder: Path, *, whole: bool) -> Counter[str]:
    stops: Counter[str] = Counter()
    chance = random.Random(f"{version} {name} {part}")
    libraries: dict[str | None, tuple[Library, dict[Handle, MemoryEntry]]] = {}
    async with AsyncExitStack() as stack:
        for place, run in enumerate(each_run(version, name, part, whole=whole)):
            recorded = asked(run, place)
            if recorded.embedder not in libraries:
                path = database(version, name, recorded.embedder, folder)
                library = await stack.enter_async_context(opened(path, folder, version, recorded.embedder))
                libraries[recorded.embedder] = (library, await all_rows(library))
            library, rows = libraries[recorded.embedder]
            with_settings(library, recorded.settings)
            result = await recall_memories(library, library.trial(recorded.request))
            trial = trial_of(library, recorded.request)
            gathered = await gather_evidence(library, trial)
            for entry in sampled(rows, result, chance):
                explanation = await explained_by(gathered, entry, trial)
                _assert_agrees(explanation, result, run)
                stops[explanation.stopped_at or "prompt"] += 1
    return stops


@pytest.mark.parametrize(("version", "name", "part"), RUNS)
async def test_the_verdict_agrees_with_what_recall_returned(version: str, name: str, part: str, tmp_path: Path) -> None:
    stops = await _check(version, name, part, tmp_path, whole=False)
    assert stops["prompt"]
    assert len(stops) > 3


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name", "part"), RUNS)
async def test_the_verdict_agrees_in_every_recorded_run(version: str, name: str, part: str, tmp_path: Path) -> None:
    assert sum((await _check(version, name, part, tmp_path, whole=True)).values())
