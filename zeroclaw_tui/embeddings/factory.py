"""The embedder that a config names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.embeddings.base import BASE_URLS, CUSTOM, Embedder, is_web_address
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import EmbeddingConfig

_PROVIDERS = "openai, openrouter or custom:<url>"
_LONGEST_NAME = 80


def create_embedder(config: EmbeddingConfig) -> tuple[Embedder | None, str | None]:
    """Create the embedder that a config names; otherwise give None and one sentence which setting helps.

    Provider names must match exactly, as in ZeroClaw, which silently treats every unknown name as none.
    """
    reason = why_no_embedder(config)
    if reason is not None:
        return None, f"keyword only: {reason}"
    if config.provider == "local":
        from zeroclaw_tui.embeddings.local import LocalEmbedder

        return LocalEmbedder(config), None
    from zeroclaw_tui.embeddings.endpoint import OpenAIEmbedder

    return OpenAIEmbedder(config), None


def why_no_embedder(config: EmbeddingConfig, purpose: str = "to search by meaning too") -> str | None:
    """Say in one sentence why a config has no embedder and which setting helps; None if it has one."""
    provider = config.provider
    if provider in ("", "none"):
        return f"no embeddings configured; set memory.embedding_provider ({_PROVIDERS}) {purpose}."
    is_custom = provider.startswith(CUSTOM)
    if not is_custom and provider != "local" and provider not in BASE_URLS:
        shown = one_line(mask_secrets(provider))[:_LONGEST_NAME]
        return (
            f'ZeroClaw takes the embedding provider "{shown}", which it does not know, for none; '
            f"set memory.embedding_provider to {_PROVIDERS}."
        )
    if config.dimensions <= 0:
        return f"memory.embedding_dimensions is {config.dimensions}; set it to the length of the model's vectors."
    if is_custom and not is_web_address(provider.removeprefix(CUSTOM)):
        return "the custom embedding provider has no http address; set memory.embedding_provider to custom:<url>."
    return None
