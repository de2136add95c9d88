"""What ZeroClaw's own validation refuses is reported, and never written."""

from __future__ import annotations

import tomllib

import pytest

from zeroclaw_tui.config.validate import check_change, violations
from zeroclaw_tui.memory.errors import UsageError

V3 = "schema_version = 3\n"
AGENTS = V3 + "[agents.a.workspace]\nread_memory_from = ['b']\n[agents.b.memory]\nbackend = 'markdown'\n"


def keys(text: str, version: str = "0.8.4") -> set[str]:
    return {key for violation in violations(tomllib.loads(text), version) for key in violation.keys}


@pytest.mark.parametrize(
    ("text", "concerned"),
    [
        ("[memory]\nbackend = 'markdown'\n[memory.types]\nenabled = true\n", "memory.types.enabled"),
        ("[memory]\nbackend = 'lucid.x'\nconsolidation_extract_facts = true\n", "memory.backend"),
        ("[memory]\ntypes.enabled = true\n[agents.w.memory]\nbackend = 'markdown'\n", "agents.w.memory.backend"),
        ("[memory]\ncandidate_multiplier = 0\n", "memory.candidate_multiplier"),
        ("[memory]\ncandidate_multiplier = 21\n", "memory.candidate_multiplier"),
        ("[memory]\nmin_relevance_score = 1.01\n", "memory.min_relevance_score"),
        ("[memory]\nmmr_lambda = nan\n", "memory.mmr_lambda"),
        ("[memory]\nimportance_weight = -0.1\n", "memory.importance_weight"),
        ("[memory]\nrecency_weight = inf\n", "memory.recency_weight"),
        ("[storage.lucid.a]\nbinary_path = ' '\n", "storage.lucid.a.binary_path"),
        ("[storage.lucid.a]\nrecall_timeout_ms = 0\n", "storage.lucid.a.recall_timeout_ms"),
        ("[storage.lucid.a]\nstore_timeout_ms = 0\n", "storage.lucid.a.store_timeout_ms"),
        ("[agents.a.workspace]\nread_memory_from = ['a']\n", "agents.a.workspace.read_memory_from"),
        ("[agents.a.workspace]\nread_memory_from = ['x']\n", "agents.a.workspace.read_memory_from"),
        (AGENTS.removeprefix(V3), "agents.b.memory.backend"),
    ],
)
def test_each_rule(text: str, concerned: str) -> None:
    assert concerned in keys(V3 + text)
    is_of_siblings = "read_memory_from" in text
    assert bool(keys(V3 + text, "0.8.3")) is is_of_siblings
    assert not keys(text, "0.7.5")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[memory]\ntypes.enabled = true\n",
        "[memory]\nbackend = 'SQLite.main'\nconsolidation_extract_facts = true\n[agents.a]\n",
        "[memory]\nbackend = 'markdown'\ntypes.enabled = false\n",
        "[memory]\ncandidate_multiplier = 20\nmin_relevance_score = 1\nmmr_lambda = 0\n",
        "[storage.lucid.a]\n[agents.a.workspace]\nread_memory_from = ['b']\n[agents.b]\n",
        "memory = 3\nagents = 'x'\nstorage.lucid = 1\n",
    ],
)
def test_what_it_takes(text: str) -> None:
    assert not keys(V3 + text)


def test_what_was_wrong_elsewhere_is_no_reason_to_refuse_another_change() -> None:
    wrong = "schema_version = 3\n[memory]\nbackend = 'markdown'\nmmr_lambda = 3.0\ntypes.enabled = true\n"
    before = tomllib.loads(wrong)
    after = tomllib.loads(wrong + "purge_after_days = 3\n")
    check_change(before, after, ["memory.purge_after_days"], "0.8.4")
    with pytest.raises(UsageError, match="mmr_lambda is 4 and must be a number from 0 to 1"):
        check_change(before, tomllib.loads(wrong.replace("3.0", "4.0")), ["memory.mmr_lambda"], "0.8.4")
    with pytest.raises(UsageError, match=r"memory\.backend is qdrant"):
        check_change(before, tomllib.loads(wrong.replace("markdown", "qdrant")), ["memory.backend"], "0.8.4")
