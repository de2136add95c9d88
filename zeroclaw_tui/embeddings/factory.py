"""From the config to an embedder, or to the sentence that says why there is none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from zeroclaw_tui.embeddings.addresses import CUSTOM
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import EmbeddingConfig
    from zeroclaw_tui.embeddings.base import Embedder

_LOCAL = "zeroclaw_tui.embeddings.local:LocalEmbedder"
_ENDPOINT = "zeroclaw_tui.embeddings.patient:PatientEmbedder"
_CLASSES = {"local": _LOCAL, "openai": _ENDPOINT, "openrouter": _ENDPOINT, CUSTOM: _ENDPOINT}
ZEROCLAW_NAMES = "openai, openrouter or custom:<url>"
_NAMES = "openai, openrouter or custom:<url>"
_LONGEST_NAME_SHOWN = 60


def create_embedder(config: EmbeddingConfig) -> tuple[Embedder | None, str | None]:
    """The embedder a config names and None, or None and one sentence why there is none and which setting helps.

    Names are matched exactly, as ZeroClaw does; it takes every name it does not know for none without a word.
    """
    because = why_no_embedder(config)
    if because is not None:
        return None, f"keyword only: {because}"
    module, _, name = _CLASSES[_kind(config)].partition(":")
    embedder: Embedder = getattr(import_module(module), name)(config)
    return embedder, None


def why_no_embedder(
    config: EmbeddingConfig, names: str = _NAMES, purpose: str = "to search by meaning too"
) -> str | None:
    """One sentence why no vectors are made with a config and which setting helps, None where they are; `names` are the
    providers to recommend, `purpose` is what an embedder is wanted for."""
    if config.provider in ("", "none"):
        return f"no embeddings configured; set memory.embedding_provider ({names}) {purpose}."
    if _kind(config) not in _CLASSES:
        shown = one_line(mask_secrets(config.provider))[:_LONGEST_NAME_SHOWN]
        return (
            f'ZeroClaw takes the embedding provider "{shown}", which it does not know, for none; '
            f"set memory.embedding_provider to {names}."
        )
    if config.dimensions <= 0:
        return f"memory.embedding_dimensions is {config.dimensions}; set it to the length of the model's vectors."
    if _kind(config) == CUSTOM and not _is_http(config.provider.removeprefix(CUSTOM)):
        return "the custom embedding provider has no http address; set memory.embedding_provider to custom:<url>."
    return None


def _kind(config: EmbeddingConfig) -> str:
    return CUSTOM if config.provider.startswith(CUSTOM) else config.provider


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
