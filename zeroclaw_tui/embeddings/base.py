"""What makes a text a vector: the embedder a config names, how one fails, and what is told before a text goes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import urlsplit

from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import EmbeddingConfig

CUSTOM = "custom:"
"""What the name of an endpoint of one's own begins with."""
BASES = {"openai": "https://api.openai.com", "openrouter": "https://openrouter.ai/api/v1"}
ZEROCLAW_NAMES = "openai, openrouter or custom:<url>"
"""The providers that ZeroClaw knows, for a sentence."""
_LOCAL = "zeroclaw_tui.embeddings.local:LocalEmbedder"
_ENDPOINT = "zeroclaw_tui.embeddings.endpoint:PatientEmbedder"
_CLASSES = {"local": _LOCAL, "openai": _ENDPOINT, "openrouter": _ENDPOINT, CUSTOM: _ENDPOINT}
_LONGEST_PROVIDER = 60
_LONGEST_MODEL = 80
_A_DAY = 86_400.0
AGENT_GETS_NOTHING = "Until it answers, ZeroClaw's own recall fails as a whole and the agent gets no memories."
PRICES_OF = "early 2025"
"""When these prices held."""
CHARACTERS_A_TOKEN = 4
"""About how many, in English; fewer in other scripts."""

_DOLLARS_A_MILLION = {"text-embedding-3-small": 0.02, "text-embedding-3-large": 0.13, "text-embedding-ada-002": 0.10}
_SELLERS = ("openai", "openrouter")


class Embedder(Protocol):
    """One embedding model. `is_remote` says that a text leaves this machine."""

    name: str
    dimensions: int
    is_remote: bool

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32. Raises EmbeddingFailed."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class EmbedsMany(Protocol):
    """An embedder that takes several texts at once."""

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of texts, in their order. Raises EmbeddingFailed."""
        ...


@runtime_checkable
class KeepsQueries(Protocol):
    """An embedder that asks for the vector of a query once and, after a failure, rests from queries for a while."""

    @property
    def resting(self) -> float:
        """For how many seconds it is not asked for queries yet; 0.0 when it is asked."""
        ...

    def waits_for(self, text: str) -> bool:
        """Whether the vector of a query has to be waited for."""
        ...

    async def query(self, text: str) -> np.ndarray:
        """The vector of what is searched for, shape (dimensions,), float32. Raises EmbeddingFailed."""
        ...


@runtime_checkable
class AsksEndpoint(Protocol):
    """An embedder that asks an endpoint."""

    def tell_before_first_call(self, tell: Tell) -> None:
        """Tell once, before the first text leaves this machine."""
        ...

    def ask_again_at_once(self) -> None:
        """Ask an endpoint that has just failed again, at the next text."""
        ...


class WrongDimension(EmbeddingFailed):
    """A vector of another length than the configured one; `found` is its length."""

    def __init__(self, message: str, *, hint: str, found: int) -> None:
        super().__init__(message, hint=hint)
        self.found = found


class KeyRefused(EmbeddingFailed):
    """An endpoint that wants a key, or another one."""


class Busy(EmbeddingFailed):
    """An endpoint that may well answer later; `after` is how many seconds it asks to wait, None where it does not."""

    def __init__(self, message: str, *, hint: str, after: float | None) -> None:
        super().__init__(message, hint=hint)
        self.after = after

    def given_up(self, tries: int) -> Busy:
        """The same, telling how often it was asked and how long it asks to wait."""
        message, hint = self.message, self.hint
        if tries > 1:
            message = f"{message.rstrip('.')}, asked {tries} times."
        if self.after:
            wait = f"{self.after:.0f} s" if self.after <= _A_DAY else "more than a day"
            hint = f"It asks to wait {wait}. {hint}"
        return Busy(message, hint=hint, after=self.after)


class TextRefused(EmbeddingFailed):
    """An endpoint that does not take these texts: too long, too many at once, or empty."""


def tokens_of(characters: int) -> int:
    """About how many tokens so many characters are."""
    return -(-characters // CHARACTERS_A_TOKEN)


def price(provider: str, model: str, tokens: int) -> float | None:
    """About how many US dollars, None where it is not known: another model, or an endpoint of one's own."""
    if provider not in _SELLERS:
        return None
    a_million = _DOLLARS_A_MILLION.get(model.removeprefix("openai/"))
    return None if a_million is None else tokens * a_million / 1_000_000


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A request that is about to be sent: so many `texts` of so many `characters` to the host `place`.

    `is_query` says that they are what somebody searches for, not what is remembered.
    """

    place: str
    provider: str
    model: str
    texts: int
    characters: int
    is_query: bool = True

    @property
    def words(self) -> str:
        """One sentence: who is asked for what, about how much that is and costs, and that it leaves this machine."""
        host, model = one_line(mask_secrets(self.place)), one_line(mask_secrets(self.model))[:_LONGEST_MODEL]
        what = "the texts leave" if self.texts > 1 else "the text leaves"
        return f"Asking {host} ({model}) for {self._wanted}: {self.size_words}; {what} this machine."

    @property
    def size_words(self) -> str:
        """About how many tokens that is, and what it costs where that is known."""
        tokens = max(1, tokens_of(self.characters))
        told = f"about {tokens:,} {'token' if tokens == 1 else 'tokens'}"
        dollars = price(self.provider, self.model, tokens)
        if dollars is None:
            return told
        return f"{told}, under $0.01" if dollars < 0.01 else f"{told}, about ${dollars:,.2f}"

    @property
    def _wanted(self) -> str:
        if self.texts > 1:
            return f"the vectors of {self.texts:,} {'queries' if self.is_query else 'texts'}"
        return "the query's vector" if self.is_query else "the vector of a text"


Tell = Callable[[RemoteCall], None]


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
    config: EmbeddingConfig, names: str = ZEROCLAW_NAMES, purpose: str = "to search by meaning too"
) -> str | None:
    """One sentence why no vectors are made with a config and which setting helps, None where they are; `names` are the
    providers to recommend, `purpose` is what an embedder is wanted for."""
    if config.provider in ("", "none"):
        return f"no embeddings configured; set memory.embedding_provider ({names}) {purpose}."
    if _kind(config) not in _CLASSES:
        shown = one_line(mask_secrets(config.provider))[:_LONGEST_PROVIDER]
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


def url_of(provider: str) -> str:
    """The address that `openai`, `openrouter` or `custom:<url>` is asked at."""
    return endpoint(BASES.get(provider) or provider.removeprefix(CUSTOM))


def host_of(provider: str) -> str:
    """The host of that address, without user and password; "" where it names none."""
    return urlsplit(url_of(provider)).hostname or ""


def endpoint(base: str) -> str:
    """Where to post: a base that ends in /embeddings itself, else one with a path + /embeddings, else + /v1/embeddings.

    The rule of every ZeroClaw version.
    """
    stripped = base.rstrip("/")
    path = urlsplit(stripped).path.rstrip("/")
    if path.endswith("/embeddings"):
        return stripped
    return f"{stripped}/embeddings" if path else f"{stripped}/v1/embeddings"


async def query_with(embedder: Embedder, text: str) -> np.ndarray:
    """The vector of what is searched for, from an embedder of any kind. Raises EmbeddingFailed."""
    return await (embedder.query(text) if isinstance(embedder, KeepsQueries) else embedder.embed(text))
