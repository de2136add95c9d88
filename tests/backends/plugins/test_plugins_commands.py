"""Every command works on a plug-in that has only the methods of ZeroClaw's trait."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Memory = Callable[..., Any]


def keys(box: Path) -> set[str]:
    return set(json.loads(box.read_text("utf-8")))


def test_reading_works_and_says_what_zeroclaw_would_do(memory, box):
    listed = json.loads(memory("list", "--json").stdout)
    assert (listed["backend"], listed["location"], listed["total"]) == ("shoe-box", "package shoe-box 1.2", 3)
    assert json.loads(memory("get", "lang", "--json").stdout)["content"] == "User prefers Rust"
    (found,) = json.loads(memory("recall", "rust", "--json").stdout)["results"]
    assert (found["key"], found["stage"], found["vector_score"]) == ("lang", "shoe-box", None)
    (entry,) = json.loads(memory("search", "RUST", "--json").stdout)["entries"]
    assert entry["key"] == "lang"
    assert json.loads(memory("stats", "--json").stdout)["total"] == 3
    assert json.loads(memory("stats", "--json").stdout)["by_category"] == {"core": 2, "daily": 1}
    health = json.loads(memory("health", "--json").stdout)
    assert (health["ok"], health["backend"]) == (True, "shoe-box")
    assert health["chosen"] == "shoe-box: memory.backend in config.toml; ZeroClaw itself would use markdown."
    assert any("does not know the backend" in finding for finding in health["findings"])


def test_changes_are_made_and_undone(memory, box):
    assert memory("store", "pet", "Cat named Mio", "--category", "core").returncode == 0
    assert "pet" in keys(box)
    assert memory("undo", "--yes").returncode == 0
    assert memory("edit", "lang", "--content", "User prefers Zig").returncode == 0
    assert "Zig" in memory("get", "lang").stdout
    assert memory("edit", "lang", "--key", "language").returncode == 0
    assert keys(box) == {"language", "food", "chat"}
    for command in (
        ("forget", "food", "--yes"), ("purge", "--contains", "thanks", "--yes"), ("clear", "--yes"),
    ):  # fmt: skip
        before = keys(box)
        assert memory(*command).returncode == 0, command
        assert keys(box) < before
        assert json.loads(memory("undo", "--yes", "--json").stdout)["count"] >= 1
        assert keys(box) == before


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("hygiene", "--dry-run"), 0, "Nothing to archive or delete"),
        (("doctor",), 0, "shoe-box store answers and has 3 memories"),
        (("snapshot", "--yes"), 1, "only for the backends sqlite and lucid"),
        (("reindex", "--yes"), 1, "This store has no vectors."),
        (("store", "k", "v", "--agent", "ada"), 1, "does not distinguish agents"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_upkeep_works_or_says_why_not(memory, box, command, code, said):
    before = keys(box)
    answer = memory(*command)
    assert answer.returncode == code, answer.stderr
    assert said in " ".join((answer.stdout + answer.stderr).split())
    assert "Traceback" not in answer.stderr
    assert "Internal error" not in answer.stderr
    if code:
        assert keys(box) == before
