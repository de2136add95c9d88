"""`zeroclaw memory explain`, as a person and as a script sees it."""

from __future__ import annotations

from pathlib import Path

from support.commands import Command


def test_a_miss_is_reported_stage_by_stage(memory: Command) -> None:
    answer = memory("explain", "food", "--query", "does she like rust?", "--profile", "0.7.5")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0] == "“food” is not in the prompt for “does she like rust?”"
    assert lines[1].startswith("scoring 0.7.5 (option) · weights 0.7 / 0.3 · threshold 0.40 · limit 5 · cli rule")
    assert "✓ words       matches “rust?” (in 2 of 9 memories" in answer.out
    assert "no embeddings configured" in answer.out
    assert lines[3].startswith("✗ It is not in the prompt: ")
    assert all(len(line) <= 120 for line in lines)
    assert "\x1b" not in answer.out


def test_a_key_of_several_agents_is_refused_until_one_is_named(run: Command, agents_install: Path) -> None:
    base = ("memory", "--config-dir", str(agents_install))
    answer = run(*base, "explain", "lang", "--query", "rust")
    assert answer.code == 1
    assert "Several agents have the key" in answer.err
    named = run(*base, "explain", "lang", "--query", "rust", "--agent", "writer", "--json")
    assert (named.code, named.json["agent"]) == (0, "writer")
    foreign = run(*base, "explain", "--id", "pen", "--query", "rust", "--agent", "default", "--json")
    assert (foreign.code, foreign.json["stopped_at"]) == (0, "agent")
    by_key = run(*base, "explain", "pen", "--query", "rust", "--agent", "default", "--json")
    assert (by_key.code, by_key.json["agent"], by_key.json["stopped_at"]) == (0, "writer", "agent")
