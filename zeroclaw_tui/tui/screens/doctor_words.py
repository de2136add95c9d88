"""Where texts go that get a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.embeddings.addresses import host_of
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import EmbeddingConfig


def endpoint_host(embedding: EmbeddingConfig) -> str:
    """The host that texts are sent to."""
    return one_line(host_of(embedding.provider) or embedding.provider)
