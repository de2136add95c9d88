"""The contract of embedders, which convert texts to vectors, their errors, and the reasons for having none."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from zeroclaw_tui.config.memory_config import EmbeddingConfig, shown
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.text import counted

if TYPE_CHECKING:
    import numpy as np

_CUSTOM = "custom:"
_BASE_URLS = {"openai": "https://api.openai.com", "openrouter": "https://openrouter.ai/api/v1"}
_PROVIDERS = "openai, openrouter or custom:<url>"
_CHARACTERS_PER_TOKEN = 4

Announce = Callable[[str], None]


class RetryPolicy(NamedTuple):
    """The number of tries with a busy endpoint, and the waits in seconds, which double unless the endpoint sets one."""

    tries: int
    first_wait: float
    longest_wait: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Embedder(ABC):
    """One embedding model."""

    dimensions: int
    is_remote = False
    """Whether texts leave this machine."""
    _announce: Announce | None = None

    @abstractmethod
    async def embed(self, text: str) -> np.ndarray:
        """Embed the text of a memory: shape (dimensions,), float32. Raises EmbeddingFailed."""

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Embed the texts of memories, in their order.

        Raises EmbeddingFailed; InputRejectedError if the endpoint may accept the texts one by one.
        """
        return [await self.embed(text) for text in texts]

    @abstractmethod
    async def query(self, text: str) -> np.ndarray:
        """Embed a query, using the cache if there is one. Raises EmbeddingFailed."""

    @abstractmethod
    def is_cached(self, query: str) -> bool:
        """Whether the vector of a query is available without a request."""

    def on_first_request(self, announce: Announce) -> None:
        """Call `announce` once with a sentence, before the first text leaves this machine."""
        self._announce = announce if self.is_remote else None

    def announce(self, sentence: str) -> None:
        """Call the announcer with a sentence about a request, if it is the first."""
        announce, self._announce = self._announce, None
        if announce is not None:
            announce(sentence)

    def with_retries(self, retries: RetryPolicy) -> Embedder:
        """Return an embedder for a long job that retries by this policy; the caller closes it."""
        return self

    async def close(self) -> None:
        """Close the connections."""


class WrongDimensionError(EmbeddingFailed):
    """The endpoint sent a vector with `found` dimensions, not with the configured number."""

    found = 0


class ApiKeyError(EmbeddingFailed):
    """The endpoint requires an API key, or a different one."""


class EndpointBusyError(EmbeddingFailed):
    """The endpoint may answer later; `retry_after` is the requested wait in seconds, None if there is none."""

    retry_after: float | None = None


class InputRejectedError(EmbeddingFailed):
    """The endpoint rejects these texts: too long, too many at once, or empty."""


def estimate_tokens(characters: int) -> int:
    """Estimate the tokens of an English text from its length in characters."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def request_sentence(host: str, model: str, texts: int, characters: int, *, is_query: bool = False) -> str:
    """Make the sentence about a request: its host, the amount of text, and that the text leaves this machine."""
    if texts > 1:
        subject, leaving = f"the vectors of {texts:,} {'queries' if is_query else 'texts'}", "the texts leave"
    else:
        subject, leaving = "the query's vector" if is_query else "the vector of a text", "the text leaves"
    size = counted(max(1, estimate_tokens(characters)), "token")
    return f"Asking {shown(host)} ({shown(model)}) for {subject}: about {size}; {leaving} this machine."


def is_web_address(url: str) -> bool:
    """Whether a text is an http:// or https:// address with a host, without blanks and without the port 0."""
    try:
        parts = urlsplit(url)
        is_whole = all(character.isprintable() and not character.isspace() for character in url)
        return is_whole and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def endpoint_url(provider: str) -> str:
    """Return the URL for POST requests to `openai`, `openrouter` or `custom:<url>`.

    As in every ZeroClaw version: a base that ends in /embeddings is the URL itself, a base with another path gets
    /embeddings, and a base without a path gets /v1/embeddings.
    """
    base = (_BASE_URLS.get(provider) or provider.removeprefix(_CUSTOM)).rstrip("/")
    path = urlsplit(base).path.rstrip("/")
    if path.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if path else f"{base}/v1/embeddings"


def endpoint_host(provider: str) -> str:
    """Return the host of the endpoint URL, without user and password; "" if there is none."""
    return urlsplit(endpoint_url(provider)).hostname or ""


def why_no_embedder(config: EmbeddingConfig, purpose: str = "to search by meaning too") -> str | None:
    """Explain in one sentence why a config has no embedder and which setting helps; None if it has one.

    Provider names must match exactly, as in ZeroClaw, which silently treats every unknown name as none.
    """
    provider = config.provider
    if provider in ("", "none"):
        return f"no embeddings configured; set memory.embedding_provider ({_PROVIDERS}) {purpose}."
    is_custom = provider.startswith(_CUSTOM)
    if not is_custom and provider != "local" and provider not in _BASE_URLS:
        return (
            f'ZeroClaw does not know the embedding provider "{shown(provider)}" and uses none; '
            f"set memory.embedding_provider to {_PROVIDERS}."
        )
    if config.dimensions <= 0:
        return f"memory.embedding_dimensions is {config.dimensions}; set it to the length of the model's vectors."
    if is_custom and not is_web_address(provider.removeprefix(_CUSTOM)):
        return "the custom embedding provider has no http address; set memory.embedding_provider to custom:<url>."
    return None
