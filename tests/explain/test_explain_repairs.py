"""Mend the stage that stops a memory, and it passes that stage: on the recorded databases, for any stage."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from explain_golden import RUNS, Asked, all_rows, asked, database, each_run, opened, sampled, with_settings
from explain_repairs import repair, write

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import explain, explained_by, gather_evidence, trial_of
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.scoring.explain import Explanation
from zeroclaw_tui.scoring.profiles import Trial

OF_EACH_STAGE = 2
MOST_RUNS = 30
EXPECTED = {
    "0.1.7": {"query", "candidates", "session", "like", "threshold", "cap"},
    "0.7.5": {"candidates", "merge", "superseded", "session", "namespace", "like", "limit", "threshold", "skip"},
    "0.8.3": {
        "candidates",
        "merge",
        "superseded",
        "session",
        "agent",
        "namespace",
        "limit",
        "threshold",
        "skip",
        "cap",
    },
    "0.8.4": {"candidates", "merge", "session", "agent", "limit", "threshold", "skip", "cap"},
}


class Case:
    """A memory that was stopped, and where."""

    def __init__(self, recorded: Asked, trial: Trial, explanation: Explanation, path: Path) -> None:
        self.recorded = recorded
        self.trial = trial
        self.explanation = explanation
        self.path = path


async def _cases(version: str, folder: Path) -> list[Case]:
    """Up to OF_EACH_STAGE memories for each stage that stops one."""
    chance = random.Random(version)
    found: list[Case] = []
    stages: Counter[str] = Counter()
    libraries: dict[Path, tuple[Library, dict[Handle, MemoryEntry]]] = {}
    async with AsyncExitStack() as stack:
        for name, part in ((name, part) for each, name, part in RUNS if each == version):
            runs = each_run(version, name, part, whole=True)
            for place, run in enumerate(chance.sample(runs, min(len(runs), MOST_RUNS))):
                recorded = asked(run, place)
                path = database(version, name, recorded.embedder, folder)
                # One library an embedder, as a config has it.
                key = path / str(recorded.embedder)
                if key not in libraries:
                    library = await stack.enter_async_context(opened(path, folder, version, recorded.embedder))
                    libraries[key] = (library, await all_rows(library))
                library, rows = libraries[key]
                with_settings(library, recorded.settings)
                trial = trial_of(library, recorded.request)
                gathered = await gather_evidence(library, trial)
                for entry in sampled(rows, await gathered.replay(trial), chance):
                    stage = (await gathered.placement(trial, entry)).stopped_at
                    if stage is not None and stages[stage] < OF_EACH_STAGE:
                        stages[stage] += 1
                        found.append(Case(recorded, trial, await explained_by(gathered, entry, trial), path))
    assert EXPECTED[version] <= set(stages), stages
    return found


async def _mended(case: Case, version: str, folder: Path) -> tuple[Explanation, Any]:
    path = Path(shutil.copyfile(case.path, folder / "mended.db"))
    mended = repair(case.explanation, case.trial, case.recorded.embedder)
    write(path, mended, case.explanation.entry)
    async with opened(path, folder, version, case.recorded.embedder) as library:
        with_settings(library, case.recorded.settings)
        return await explain(library, case.explanation.entry, mended.trial), mended


@pytest.mark.parametrize("version", EXPECTED)
async def test_a_memory_passes_the_stage_that_was_mended(version: str, tmp_path: Path) -> None:
    for case in await _cases(version, tmp_path):
        after, mended = await _mended(case, version, tmp_path)
        told = (case.trial, case.explanation.entry.key, case.explanation.verdict, mended.values, after.verdict)
        assert after.stopped_at != case.explanation.stopped_at, told
        assert all(step.name != case.explanation.stopped_at or step.mark == "passed" for step in after.steps), told
