"""`memory test`: what passes and what fails, the figures, and wrong use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.commands import Command

AS_OF = ("--as-of", "2026-03-06T00:00:00Z")
SAMPLE = """\
[[query]]
query = "what about zebras?"
expected = "food_allergy"

[[query]]
query = "Rust"
expected = ["lang", "food"]

[[query]]
name = "time zone, in the chat"
query = "Timezone"
expected = "tz"
session = "tg_1"
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "golden.toml"
    path.write_text(SAMPLE)
    return str(path)


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("✓", "✗"))]


def test_without_a_file_the_tests_next_to_the_settings_run(memory: Command, install: Path) -> None:
    answer = memory("test")
    assert (answer.code, "space on a recorded turn" in answer.err) == (1, True)
    (install / "zeroclaw-tui").mkdir(exist_ok=True)
    (install / "zeroclaw-tui" / "tests.toml").write_text(SAMPLE[SAMPLE.index('[[query]]\nquery = "Rust"') :])
    answer = memory("test", *AS_OF)
    assert (answer.code, "2 passed" in answer.out) == (0, True)


def test_results_without_vectors_are_not_what_the_agent_gets(memory: Command, install: Path, file: str) -> None:
    config = install / "config.toml"
    endpoint = "embedding_provider = 'custom:http://127.0.0.1:1'\nembedding_dimensions = 3\n"
    config.write_text(config.read_text().replace("[memory]\n", f"[memory]\n{endpoint}"))
    answer = memory("test", file, *AS_OF)
    assert answer.code == 3
    assert "Some tests ran without vectors, so these results are not what the agent gets." in answer.err


def test_the_table_has_the_worst_first_and_the_figures_of_all(memory: Command, file: str) -> None:
    answer = memory("test", file, *AS_OF)
    assert answer.code == 1
    assert answer.out.splitlines()[:3] == [
        f"3 recall tests in {file}",
        "scoring 0.7.5 · weights 0.7 / 0.3 · threshold 0.4",
        "1 failed, 2 passed",
    ]
    assert [" ".join(row.split()) for row in _rows(answer.out)] == [
        "✗ fail – 0.00 what about zebras? missing: food_allergy",
        "✓ pass 1 1.00 Rust",
        "✓ pass 1 1.00 time zone, in the chat",
    ]
    assert [re.split(r"\s{2,}", line)[:2] for line in answer.out.splitlines()[-3:]] == [
        ["hit rate", "0.67"],
        ["MRR", "0.67"],
        ["nDCG@5", "0.67"],
    ]
    tried = memory("test", file, "--set=memory.min_relevance_score=50", *AS_OF)
    assert "threshold 50\n3 failed, 0 passed\n" in tried.out


def test_the_help_shows_a_file_that_works(memory: Command) -> None:
    shown = memory("test", "--help").out
    sample = shown[shown.index("  [[query]]") : shown.index("\nA test passes")]
    results = memory("test", "-", "--json", "--read-only", stdin=sample.encode()).json["results"]
    assert [figures["name"] for figures in results] == ["what does she like to eat?", "May trip, in the chat"]
    assert results[1]["rejected"] == ["old_trip"]
