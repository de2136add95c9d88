"""`memory stats --json`: all that is counted, of everything or of what a filter leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]

FORMER = [
    "backend", "location", "generation", "health", "total", "superseded", "by_category", "by_session", "by_agent",
    "by_namespace", "by_age", "embeddings", "facts", "findings",
]  # fmt: skip


def test_the_document_has_sizes_days_vectors_and_the_file(memory: Run, install: Path) -> None:
    document = memory("stats", "--json", TZ="UTC").json
    assert [name for name in document if name in FORMER] == FORMER
    assert document["by_day"][0] == ["2026-02-01", 1]
    assert [count for _, count in document["by_day"]] == [1] * 9
    assert document["undated"] == 0
    assert sum(document["by_size"].values()) == document["total"] == 9
    assert document["biggest"][0] == {"id": "id-4", "key": "food", "category": "travel notes", "size": 43}
    assert document["bytes"]["file"] == (install / "workspace" / "memory" / "brain.db").stat().st_size
    assert document["embedded_by_category"]["core"] == {"embedded": 0, "total": 7}
