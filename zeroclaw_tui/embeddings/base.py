"""What makes a text a vector: the embedder a config names, how one fails, and what is told before a text goes out."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
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
_KINDS = ("local", "openai", "openrouter", CUSTOM)
_LONGEST_PROVIDER = 60
_LONGEST_MODEL = 80
_A_DAY = 86_400.0
AGENT_GETS_NOTHING = "Until it answers, ZeroClaw's own recall fails as a whole and the agent gets no memories."
CHARACTERS_A_TOKEN = 4
"""About how many, in English; fewer in other scripts."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
_ENGLISH_FUNCTION_WORDS = (
    "a am an and are as at be but by can did do does for from had has have he her his how i if in is it its me my no "
    "not of on or our she so that the their them then there they this to was we were what when where which who why "
    "will with would you your"
)
_LITTLE_WORDS = frozenset(_ENGLISH_FUNCTION_WORDS.split())
# Whole numbers add up to the same sum in any order, so that what cancels out cancels out exactly.
_LITTLE_WORD_WEIGHT = 200
_WORD_WEIGHT = 1000
_TRIGRAM_WEIGHT = 350
_LONGEST_WITHOUT_TRIGRAMS = 3


class Embedder(Protocol):
    """One embedding model. `is_remote` says that a text leaves this machine."""

    name: str
    dimensions: int
    is_remote: bool

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32. Raises EmbeddingFailed."""
        ...

    async def close(self) -> None:
        """Close the connections."""
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


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A request that is about to be sent: so many `texts` of so many `characters` to the host `place`.

    `is_query` says that they are what somebody searches for, not what is remembered.
    """

    place: str
    model: str
    texts: int
    characters: int
    is_query: bool = True

    @property
    def words(self) -> str:
        """One sentence: who is asked for what, about how much that is, and that it leaves this machine."""
        host, model = one_line(mask_secrets(self.place)), one_line(mask_secrets(self.model))[:_LONGEST_MODEL]
        what = "the texts leave" if self.texts > 1 else "the text leaves"
        return f"Asking {host} ({model}) for {self._wanted}: {self.size_words}; {what} this machine."

    @property
    def size_words(self) -> str:
        """About how many tokens that is."""
        tokens = max(1, tokens_of(self.characters))
        return f"about {tokens:,} {'token' if tokens == 1 else 'tokens'}"

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
    if config.provider == "local":
        return LocalEmbedder(config), None
    # It brings in what asks over the network.
    from zeroclaw_tui.embeddings.endpoint import RetryingEmbedder

    return RetryingEmbedder(config), None


def why_no_embedder(
    config: EmbeddingConfig, names: str = ZEROCLAW_NAMES, purpose: str = "to search by meaning too"
) -> str | None:
    """One sentence why no vectors are made with a config and which setting helps, None where they are; `names` are the
    providers to recommend, `purpose` is what an embedder is wanted for."""
    if config.provider in ("", "none"):
        return f"no embeddings configured; set memory.embedding_provider ({names}) {purpose}."
    if _kind(config) not in _KINDS:
        shown = one_line(mask_secrets(config.provider))[:_LONGEST_PROVIDER]
        return (
            f'ZeroClaw takes the embedding provider "{shown}", which it does not know, for none; '
            f"set memory.embedding_provider to {names}."
        )
    if config.dimensions <= 0:
        return f"memory.embedding_dimensions is {config.dimensions}; set it to the length of the model's vectors."
    if _kind(config) == CUSTOM and not is_web_address(config.provider.removeprefix(CUSTOM)):
        return "the custom embedding provider has no http address; set memory.embedding_provider to custom:<url>."
    return None


def _kind(config: EmbeddingConfig) -> str:
    return CUSTOM if config.provider.startswith(CUSTOM) else config.provider


def is_web_address(url: str) -> bool:
    """Whether a text is an http:// or https:// address with a host; no port is 0, and no sign of it is a blank."""
    try:
        parts = urlsplit(url)
        is_whole = all(sign.isprintable() and not sign.isspace() for sign in url)
        return is_whole and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
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


class LocalEmbedder:
    """The embedder `local`: signed feature hashing of words with SHA-256.

    Texts that share words, or words of the same stem, are near each other; meaning beyond the letters is not seen.
    Real ZeroClaw does not know the name "local" and takes it for none, so these vectors never reach an agent.
    """

    name = "local"
    is_remote = False

    def __init__(self, config: EmbeddingConfig) -> None:
        self.dimensions = config.dimensions

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32, of length 1, or all zeros for a text without a word."""
        import numpy as np

        return np.frombuffer(local_vector(text, self.dimensions), dtype="<f4").astype(np.float32)

    async def close(self) -> None:
        """Nothing to close."""


def local_vector(text: str, dimensions: int) -> bytes:
    """The vector of a text as ZeroClaw stores one: `dimensions` little-endian float32 of Euclidean length 1.

    Features are lower-case words, each CJK code point by itself, and the character trigrams of words of four letters
    and more, which bring words of one stem together. English function words count little, and repetition counts by
    its square root. Each feature's SHA-256 picks one place and a sign.
    """
    places = [0] * dimensions
    for feature, weight in _features(text).items():
        digest = hashlib.sha256(feature.encode("utf-8", "surrogatepass")).digest()
        sign = 1 if digest[8] % 2 == 0 else -1
        places[int.from_bytes(digest[:8], "big") % dimensions] += sign * weight
    length = math.sqrt(sum(value * value for value in places)) or 1.0
    return struct.pack(f"<{dimensions}f", *(value / length for value in places))


@cache
def _token() -> re.Pattern[str]:
    # Compiled at its first use: most commands look at no text by its words.
    return re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")


def _features(text: str) -> Counter[str]:
    weights: Counter[str] = Counter()
    for word, times in Counter(_token().findall(text.lower())).items():
        much = math.sqrt(times)
        if word in _LITTLE_WORDS:
            weights[word] += round(_LITTLE_WORD_WEIGHT * much)
            continue
        weights[word] += round(_WORD_WEIGHT * much)
        for trigram in _trigrams(word):
            weights[trigram] += round(_TRIGRAM_WEIGHT * much)
    return weights


def _trigrams(word: str) -> list[str]:
    """The trigrams with both ends marked, and a mark that keeps them apart from whole words."""
    if len(word) <= _LONGEST_WITHOUT_TRIGRAMS:
        return []
    ends = f" {word} "
    return [f"#{ends[at : at + 3]}" for at in range(len(word))]
