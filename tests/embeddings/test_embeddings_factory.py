"""From a config to an embedder, or to the sentence that says why recall is by keyword only."""

from __future__ import annotations

import subprocess
import sys

import pytest

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.factory import create_embedder


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (EmbeddingConfig(), "no embeddings configured"),
        (EmbeddingConfig(""), "no embeddings configured"),
        (EmbeddingConfig("cohere"), '"cohere", which it does not know, for none'),
        (EmbeddingConfig("OpenAI"), '"OpenAI", which it does not know'),
        (EmbeddingConfig("openai", dimensions=0), "memory.embedding_dimensions is 0"),
        (EmbeddingConfig("local", dimensions=-3), "memory.embedding_dimensions is -3"),
        (EmbeddingConfig("custom:"), "no http address"),
        (EmbeddingConfig("custom:ftp://h"), "no http address"),
        (EmbeddingConfig("custom:http://"), "no http address"),
        (EmbeddingConfig("custom:http://[::1"), "no http address"),
        (EmbeddingConfig("custom:http://h:port"), "no http address"),
        (EmbeddingConfig("custom:http://h:0"), "no http address"),
        (EmbeddingConfig("custom:http://h h"), "no http address"),
        (EmbeddingConfig("none", dimensions=0), "no embeddings configured"),
    ],
)
def test_no_embedder_says_why_and_which_setting_helps(config: EmbeddingConfig, part: str) -> None:
    embedder, because = create_embedder(config)
    assert embedder is None
    assert because is not None
    assert because.startswith("keyword only: ")
    assert part in because
    assert "memory.embedding_" in because


@pytest.mark.parametrize(
    ("provider", "name", "is_remote"),
    [
        ("local", "local", False),
        ("openai", "openai", True),
        ("openrouter", "openrouter", True),
        ("custom:http://localhost:11434/v1", "custom", False),
    ],
)
async def test_a_known_provider_makes_its_embedder(provider: str, name: str, is_remote: bool) -> None:
    embedder, because = create_embedder(EmbeddingConfig(provider, dimensions=8))
    assert because is None
    assert embedder is not None
    assert (embedder.name, embedder.dimensions, embedder.is_remote) == (name, 8, is_remote)
    await embedder.close()


def test_a_provider_name_from_a_hostile_config_cannot_steer_the_terminal() -> None:
    _, because = create_embedder(EmbeddingConfig("\x1b]0;x\x07\n" + "y" * 500))
    assert because is not None
    assert because.isprintable()
    assert len(because) < 300


@pytest.mark.parametrize("provider", ["none", "local", "openai", "custom:http://h"])
def test_making_an_embedder_loads_neither_numpy_nor_httpx(provider: str) -> None:
    script = (
        "import sys; from zeroclaw_tui.config.memory_config import EmbeddingConfig; "
        "from zeroclaw_tui.embeddings.factory import create_embedder; "
        f"create_embedder(EmbeddingConfig({provider!r})); "
        "print(sorted({'numpy', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
