"""The contract of embedders, which turn texts into vectors, their errors, and why a config has none."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import EmbeddingConfig

_CUSTOM = "custom:"
_BASE_URLS = {"openai": "https://api.openai.com", "openrouter": "https://openrouter.ai/api/v1"}
_PROVIDERS = "openai, openrouter or custom:<url>"
_LONGEST_NAME = 80
_CHARACTERS_PER_TOKEN = 4

Announce = Callable[[str], None]


class RetryPolicy(NamedTuple):
    """How often to ask a busy endpoint, and the waits in seconds: they double unless the endpoint names one."""

    tries: int
    first_wait: float
    longest_wait: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Embedder(ABC):
    """One embedding model. What is not abstract here is right for a model on this machine."""

    dimensions: int
    is_remote = False
    """Whether texts leave this machine."""
    _announce: Announce | None = None

    @abstractmethod
    async def embed(self, text: str) -> np.ndarray:
        """Give the vector of a memory's text, shape (dimensions,), float32. Raises EmbeddingFailed."""

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Give the vectors of memories' texts, in their order.

        Raises EmbeddingFailed; InputRejectedError if the endpoint might take each text by itself.
        """
        return [await self.embed(text) for text in texts]

    async def query(self, text: str) -> np.ndarray:
        """Give the vector of a query, from the cache if there is one. Raises EmbeddingFailed."""
        return await self.embed(text)

    def is_cached(self, query: str) -> bool:
        """Whether the vector of a query is there without a request."""
        return True

    def on_first_request(self, announce: Announce) -> None:
        """Call `announce` once with a sentence, before the first text leaves this machine."""
        self._announce = announce if self.is_remote else None

    def announce(self, sentence: str) -> None:
        """Pass on what is said about a request that is about to be sent, if it is the first."""
        announce, self._announce = self._announce, None
        if announce is not None:
            announce(sentence)

    def with_retries(self, retries: RetryPolicy) -> Embedder:
        """Return an embedder for a long job, which asks a busy endpoint again by this policy; the caller closes it."""
        return self

    async def close(self) -> None:
        """Close the connections."""


class WrongDimensionError(EmbeddingFailed):
    """The endpoint sent a vector with `found` dimensions, which is another number than the configured one."""

    found = 0


class ApiKeyError(EmbeddingFailed):
    """The endpoint wants an API key, or another one."""


class EndpointBusyError(EmbeddingFailed):
    """The endpoint may answer later; `retry_after` are the seconds it asks to wait, None if it does not say."""

    retry_after: float | None = None


class InputRejectedError(EmbeddingFailed):
    """The endpoint does not take these texts: too long, too many at once, or empty."""


def estimate_tokens(characters: int) -> int:
    """Estimate the tokens of a text from its length in characters, as is right for English."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def request_sentence(host: str, model: str, texts: int, characters: int, *, is_query: bool = False) -> str:
    """Say which host is about to get how much text, queries or memories, and that it leaves this machine."""
    if texts > 1:
        subject, leaving = f"the vectors of {texts:,} {'queries' if is_query else 'texts'}", "the texts leave"
    else:
        subject, leaving = "the query's vector" if is_query else "the vector of a text", "the text leaves"
    size = counted(max(1, estimate_tokens(characters)), "token")
    return f"Asking {_shown(host)} ({_shown(model)}) for {subject}: about {size}; {leaving} this machine."


def is_web_address(url: str) -> bool:
    """Whether a text is an http:// or https:// address with a host, without blanks and without the port 0."""
    try:
        parts = urlsplit(url)
        is_whole = all(character.isprintable() and not character.isspace() for character in url)
        return is_whole and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def endpoint_url(provider: str) -> str:
    """Give the URL to which texts for `openai`, `openrouter` or `custom:<url>` are posted.

    As in every ZeroClaw version: a base that ends in /embeddings is the URL itself, a base with another path gets
    /embeddings, and a base without a path gets /v1/embeddings.
    """
    base = (_BASE_URLS.get(provider) or provider.removeprefix(_CUSTOM)).rstrip("/")
    path = urlsplit(base).path.rstrip("/")
    if path.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if path else f"{base}/v1/embeddings"


def endpoint_host(provider: str) -> str:
    """Give the host of the endpoint URL, without user and password; "" if there is none."""
    return urlsplit(endpoint_url(provider)).hostname or ""


def why_no_embedder(config: EmbeddingConfig, purpose: str = "to search by meaning too") -> str | None:
    """Say in one sentence why a config has no embedder and which setting helps; None if it has one."""
    provider = config.provider
    if provider in ("", "none"):
        return f"no embeddings configured; set memory.embedding_provider ({_PROVIDERS}) {purpose}."
    is_custom = provider.startswith(_CUSTOM)
    if not is_custom and provider != "local" and provider not in _BASE_URLS:
        return (
            f'ZeroClaw takes the embedding provider "{_shown(provider)}", which it does not know, for none; '
            f"set memory.embedding_provider to {_PROVIDERS}."
        )
    if config.dimensions <= 0:
        return f"memory.embedding_dimensions is {config.dimensions}; set it to the length of the model's vectors."
    if is_custom and not is_web_address(provider.removeprefix(_CUSTOM)):
        return "the custom embedding provider has no http address; set memory.embedding_provider to custom:<url>."
    return None


def _shown(name: str) -> str:
    return one_line(mask_secrets(name))[:_LONGEST_NAME]
