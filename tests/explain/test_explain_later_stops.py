"""Every stage that stops a memory is named at once, and "only editing" appears only where no settings help with all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explain_world import small_library, why

ONLY_EDITING = "only editing the memory can fix this"
MESSAGE = "green tea in the morning"


def rows(**memory: Any) -> list[dict[str, Any]]:
    """Better hits, and the memory `weak` with less than the threshold."""
    best = [{"key": f"best_{at}", "content": f"green tea in the morning {at}", "category": "core"} for at in range(3)]
    filler = [{"key": f"other_{at}", "content": f"rain on day {at} in the afternoon"} for at in range(6)]
    return [*best, *filler, {"key": "weak", "content": "a morning of rain", "category": "conversation", **memory}]


async def test_the_threshold_and_the_rule_on_conversations_are_named_at_once(tmp_path: Path) -> None:
    async with small_library(tmp_path, "G4", rows(), "0.8.4") as library:
        explanation = await why(library, "weak", MESSAGE)
    assert explanation.stopped_at == "threshold"
    (later,) = explanation.later_stops
    assert (later.name, later.mark, later.helps, later.key) == ("skip", "stopped", "another category", "e")
    assert "it is a conversation memory, and the message has no session" in later.words
    assert explanation.steps[-1].helps == ONLY_EDITING
    assert [step["stage"] for step in explanation.as_json()["later_stops"]] == ["skip"]


async def test_where_settings_help_with_all_stages_together_they_are_named(tmp_path: Path) -> None:
    async with small_library(tmp_path, "G4", rows(session_id="tg_1"), "0.8.4") as library:
        explanation = await why(library, "weak", MESSAGE)
    assert explanation.stopped_at == "threshold"
    assert [step.name for step in explanation.later_stops] == ["skip"]
    assert explanation.advice is not None
    assert explanation.steps[-1].helps.startswith("a message of its session and a threshold of 0.")
    assert explanation.advice.trial.request.session_id == "tg_1"


async def test_two_filters_that_leave_it_out_are_both_named_and_dropped_together(tmp_path: Path) -> None:
    memory = {"content": MESSAGE, "category": "core", "namespace": "work", "created_at": "2026-01-01T00:00:00+00:00"}
    async with small_library(tmp_path, "G4", rows(**memory), "0.7.5") as library:
        explanation = await why(library, "weak", MESSAGE, namespace="home", since="2026-03-01T00:00:00+00:00")
    assert {explanation.stopped_at, *(step.name for step in explanation.later_stops)} == {"time", "namespace"}
    assert explanation.steps[-1].helps == "recall without any filter puts it in the prompt"


async def test_a_memory_in_the_prompt_has_no_later_stops(tmp_path: Path) -> None:
    async with small_library(tmp_path, "G4", rows(), "0.8.4") as library:
        explanation = await why(library, "best_0", MESSAGE)
    assert (explanation.is_injected, explanation.later_stops) == (True, ())
