"""From a config to an embedder, or to the sentence that says why recall is by keyword only."""

from __future__ import annotations

import pytest

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.factory import create_embedder


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (EmbeddingConfig(), "no embeddings configured"),
        (EmbeddingConfig("cohere"), '"cohere", which it does not know, for none'),
        (EmbeddingConfig("openai", dimensions=0), "memory.embedding_dimensions is 0"),
        (EmbeddingConfig("custom:ftp://h"), "no http address"),
        (EmbeddingConfig("custom:http://[::1"), "no http address"),
    ],
)
def test_no_embedder_says_why_and_which_setting_helps(config: EmbeddingConfig, part: str) -> None:
    embedder, because = create_embedder(config)
    assert embedder is None
    assert because is not None
    assert because.startswith("keyword only: ")
    assert part in because
    assert "memory.embedding_" in because


def test_a_provider_name_from_a_hostile_config_cannot_steer_the_terminal() -> None:
    _, because = create_embedder(EmbeddingConfig("\x1b]0;x\x07\n" + "y" * 500))
    assert because is not None
    assert because.isprintable()
    assert len(because) < 300
