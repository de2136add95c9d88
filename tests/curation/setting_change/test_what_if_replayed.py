"""Trying numbers on evidence gathered once: the same answers as recall gives, without the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.config_forms import THIRD

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.recall import gather_evidence, trial_of
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import profile_for
from zeroclaw_tui.scoring.what_if import compare

MakeConfig = Callable[..., MemoryConfig]
AS_OF = "2026-03-01T12:00:00+00:00"


async def test_a_lower_threshold_and_a_newer_version_let_both_in(made: MakeConfig) -> None:
    """By words alone "rust" scores 0.37 and 0.29 up to 0.8.3, and 1.00 and 0.79 from 0.8.4 on."""
    library = await open_library(made(), "0.8.3")
    try:
        trial = trial_of(library, RecallRequest("rust", as_of=AS_OF))
        gathered = await gather_evidence(library, trial, whole_store=True)
        before = await gathered.replayed(trial)
        # From here on nothing is asked of the store any more.
        await library.memory.close()
        lower = gathered.replayed_now(trial._replace(settings=trial.settings._replace(threshold=0.3)))
        newer = gathered.replayed_now(trial._replace(profile=profile_for("0.8.4")))
    finally:
        await library.close()
    assert lower is not None
    assert newer is not None
    assert compare(before, lower).words == "injected 0 → 1, 1 enters"
    assert [row.move for row in compare(before, lower).rows] == ["enters", "stays"]
    assert compare(before, newer).words == "injected 0 → 2, 2 enter"
    assert [result.score for result in newer.results] == pytest.approx([1.0, 0.789061], abs=1e-5)


@pytest.mark.parametrize("version", ["0.7.5", "0.8.4"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"threshold": 0.3}, {"threshold": 0.9}, {"keyword_weight": 0.0}, {"search_mode": "bm25"}],
)
async def test_a_trial_is_answered_as_recall_answers_it(
    made: MakeConfig, version: str, settings: dict[str, Any]
) -> None:
    library = await open_library(made(THIRD), version)
    try:
        trial = trial_of(library, RecallRequest("rust editor", as_of=AS_OF))
        gathered = await gather_evidence(library, trial)
        tried = trial._replace(settings=trial.settings._replace(**settings))
        found = await gathered.replayed(tried)
        assert found == await library.recall(tried.request, tried.settings)
        assert found.results
    finally:
        await library.close()
