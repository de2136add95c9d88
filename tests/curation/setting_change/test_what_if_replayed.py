"""Trying numbers on evidence gathered once: the same answers as recall gives, without the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.opened import opened_at

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.recall import gather_evidence, trial_of
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import profile_for
from zeroclaw_tui.scoring.what_if import compare

MakeConfig = Callable[..., MemoryConfig]
AS_OF = "2026-03-01T12:00:00+00:00"


async def test_a_lower_threshold_and_a_newer_version_let_both_in(made: MakeConfig) -> None:
    """By words alone "rust" scores 0.37 and 0.29 up to 0.8.3, and 1.00 and 0.79 from 0.8.4 on."""
    async with opened_at(made(), "0.8.3") as library:
        trial = trial_of(library, RecallRequest("rust", as_of=AS_OF))
        gathered = await gather_evidence(library, trial, whole_store=True)
        before = await gathered.replayed(trial)
        # From here on nothing is asked of the store any more.
        await library.memory.close()
        lower = gathered.replayed_now(trial._replace(settings=trial.settings._replace(threshold=0.3)))
        newer = gathered.replayed_now(trial._replace(profile=profile_for("0.8.4")))
    assert lower is not None
    assert newer is not None
    assert compare(before, lower).words == "injected 0 → 1, 1 enters"
    assert [row.move for row in compare(before, lower).rows] == ["enters", "stays"]
    assert compare(before, newer).words == "injected 0 → 2, 2 enter"
    assert [result.score for result in newer.results] == pytest.approx([1.0, 0.789061], abs=1e-5)
