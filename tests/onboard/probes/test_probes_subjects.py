"""Which tests belong to which answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import make_answers

from zeroclaw_tui.onboard.probes import subjects


@pytest.mark.parametrize(
    ("backend", "provider", "expected"),
    [
        ("sqlite", "none", ("sqlite",)),
        ("sqlite", "openai", ("sqlite", "embedding")),
        ("lucid", "openai", ("lucid", "embedding")),
        ("qdrant", "openai", ("qdrant", "embedding")),
        ("postgres", "openai", ("postgres",)),
        ("markdown", "openai", ("markdown",)),
        ("none", "openai", ()),
    ],
)
def test_the_backend_then_the_embeddings_it_searches_by(
    tmp_path: Path, backend: str, provider: str, expected: tuple[str, ...]
) -> None:
    answers = make_answers(tmp_path / "config", memory__backend=backend, memory__embedding_provider=provider)
    assert subjects(answers) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ((), ()),
        (("memory.backend",), ("qdrant",)),
        (("storage.qdrant.url",), ("qdrant",)),
        (("storage.postgres.db_url",), ()),
        (("memory.embedding_model",), ("embedding",)),
        (("memory.embedding_dimensions",), ("qdrant", "embedding")),
        (("memory.auto_save",), ()),
    ],
)
def test_only_what_a_change_concerns(tmp_path: Path, changed: tuple[str, ...], expected: tuple[str, ...]) -> None:
    answers = make_answers(tmp_path / "config", memory__backend="qdrant", memory__embedding_provider="openai")
    assert subjects(answers, changed) == expected
