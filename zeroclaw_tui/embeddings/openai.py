"""Vectors from an endpoint that speaks OpenAI's embeddings protocol."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets, one_line

if TYPE_CHECKING:
    import httpx
    import numpy as np

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 20.0
MANY_SECONDS = 120.0
"""How long many texts at once may take: a small machine of one's own makes a few vectors a second."""
BASES = {"openai": "https://api.openai.com", "openrouter": "https://openrouter.ai/api/v1"}
_CUSTOM = "custom:"
_AGENT_GETS_NOTHING = "Until it answers, ZeroClaw's own recall fails as a whole and the agent gets no memories."
_WAIT = "Try again later."
_KEY_HINT = "Set memory.embedding_api_key, or the key of the provider."
_ANSWERED_WITHOUT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
_NO_TLS = ("does not speak TLS on this port", "Write http:// in place of https://, or take its TLS port.")
_NO_COMMON_TLS = ("and this machine agree on no TLS", "Does it speak TLS 1.2 or newer on this port?")
_NOT_TRUSTED = (
    "has a certificate that is not trusted here",
    "Use the name it is made for. ZeroClaw (0.8.4) trusts public authorities only, so one of your own does not help.",
)
_WANTS_TLS = ("wants TLS on this port", "Write https:// in place of http://.")
_LONGEST_NOTICE = 1000
_ABOUT_TEXTS = (400, 413, 422)
_BY_STATUS = {
    404: ("knows no embeddings at this address, or not this model", "Check memory.embedding_provider and its model."),
    429: ("takes no more requests for now", "Wait a little, or look at the account's quota."),
}


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


class TextRefused(EmbeddingFailed):
    """An endpoint that does not take these texts: too long, too many at once, or empty."""


class OpenAIEmbedder:
    """OpenAI, OpenRouter or any `custom:<url>`; the connection is opened on the first call and kept.

    Proxies are taken from the environment. Redirects are not followed, so that a key only goes where it was meant to.
    """

    def __init__(
        self,
        config: EmbeddingConfig,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self.name = config.provider.partition(":")[0]
        self.dimensions = config.dimensions
        self.url = endpoint(BASES.get(config.provider) or config.provider.removeprefix(_CUSTOM))
        self.is_remote = not is_loopback(urlsplit(self.url).hostname or "")
        self._model = config.model
        self._key = (config.api_key or "").strip()
        self._connect_seconds = connect_seconds
        self._total_seconds = total_seconds
        self._client: httpx.AsyncClient | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32. Raises EmbeddingFailed, never naming the key."""
        return self._vector(self._numbers(await self._answer([text])))

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of texts, in their order, by one request. Raises EmbeddingFailed, and its kind TextRefused where
        the endpoint does not take them together: each alone may do."""
        answered = self._document(await self._answer(texts, MANY_SECONDS)).get("data")
        if not isinstance(answered, list) or len(answered) != len(texts):
            raise TextRefused(f"{self._shown()} did not answer with a vector for each text.", hint=_AGENT_GETS_NOTHING)
        return [self._vector(self._numbers_of(part)) for part in sorted(answered, key=_place)]

    async def _answer(self, texts: Sequence[str], at_least: float = 0.0) -> bytes:
        import httpx

        client = self._open()
        # Lone surrogates of a command line are no UTF-8, but JSON can escape them.
        body = json.dumps({"model": self._model, "input": list(texts)}).encode("ascii")
        seconds = max(self._total_seconds, at_least)
        limits = httpx.Timeout(seconds, connect=self._connect_seconds)
        try:
            async with asyncio.timeout(seconds):
                response = await client.post(self.url, content=body, headers=self._headers(), timeout=limits)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            raise self._failed(f"cannot be reached within {self._connect_seconds:g} s", _WAIT) from None
        except (httpx.TimeoutException, TimeoutError):
            raise self._failed(f"did not answer within {seconds:g} s", _WAIT) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(*(tls_trouble(error) or _broken_off(error))) from None
        if response.status_code != httpx.codes.OK:
            raise self._refused(response.status_code, response.content, response.headers.get("Retry-After", ""))
        return response.content

    async def close(self) -> None:
        """Let go of the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _open(self) -> httpx.AsyncClient:
        import httpx

        if self._client is None:
            limits = httpx.Timeout(self._total_seconds, connect=self._connect_seconds)
            try:
                self._client = httpx.AsyncClient(timeout=limits)
            except (ValueError, ImportError, httpx.InvalidURL):
                hint = "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY."
                raise self._failed("cannot be asked through the proxy the environment names", hint) from None
        return self._client

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if not self._key:
            return headers
        if not (self._key.isascii() and self._key.isprintable()):
            raise self._failed("cannot be given its API key, which has characters that no HTTP header takes", _KEY_HINT)
        return headers | {"Authorization": f"Bearer {self._key}"}

    def _refused(self, status: int, answer: bytes, retry_after: str = "") -> EmbeddingFailed:
        if status == 400 and self.url.startswith("http:") and b"HTTPS" in answer[:_LONGEST_NOTICE]:
            return self._failed(*_WANTS_TLS)
        if status in (401, 403):
            what = "refuses the API key" if self._key else "wants an API key"
            return KeyRefused(f"{self._shown()} {what} (HTTP {status}).", hint=f"{_KEY_HINT} {_AGENT_GETS_NOTHING}")
        if status >= 500:
            what, hint = "has an error of its own", _WAIT
        else:
            what, hint = _BY_STATUS.get(status, ("did not answer with a vector", "Check the address."))
        message, hint = f"{self._shown()} {what} (HTTP {status}).", f"{hint} {_AGENT_GETS_NOTHING}"
        if status >= 500 or status == 429:
            return Busy(message, hint=hint, after=_seconds(retry_after))
        return TextRefused(message, hint=hint) if status in _ABOUT_TEXTS else EmbeddingFailed(message, hint=hint)

    def _vector(self, numbers: list[float]) -> np.ndarray:
        import numpy as np

        if len(numbers) != self.dimensions:
            raise WrongDimension(
                f"{self._shown()} sent a vector of {len(numbers)} numbers, "
                f"but memory.embedding_dimensions is {self.dimensions}.",
                hint=f"Set memory.embedding_dimensions to {len(numbers)}, or choose another model. "
                "ZeroClaw does not check this: it then finds nothing by vector.",
                found=len(numbers),
            )
        try:
            with np.errstate(over="ignore"):
                vector = np.array(numbers, dtype=np.float64).astype(np.float32)
        except OverflowError:
            vector = np.full(1, np.inf, dtype=np.float32)
        if not np.isfinite(vector).all():
            raise self._failed("sent a vector with numbers that are not finite", "Try another model.")
        return vector

    def _numbers(self, answer: bytes) -> list[float]:
        document = self._document(answer)
        try:
            last = document["data"][-1]
        except (KeyError, IndexError, TypeError):
            last = None
        return self._numbers_of(last)

    def _document(self, answer: bytes) -> dict[str, Any]:
        try:
            document: Any = json.loads(answer)
        except (ValueError, RecursionError):
            raise self._failed("did not answer with JSON", "Is this the address of an embeddings service?") from None
        return document if isinstance(document, dict) else {}

    def _numbers_of(self, part: Any) -> list[float]:
        numbers = part.get("embedding") if isinstance(part, dict) else None
        if not isinstance(numbers, list) or not all(type(number) in (int, float) for number in numbers):
            hint = "It should be data[0].embedding, a list of numbers; is this an embeddings service?"
            raise self._failed("answered with JSON that holds no vector", hint)
        return numbers

    def _failed(self, what: str, hint: str) -> EmbeddingFailed:
        return EmbeddingFailed(f"{self._shown()} {what}.", hint=f"{hint} {_AGENT_GETS_NOTHING}")

    def _shown(self) -> str:
        """The address without user, password and query, where keys may be."""
        parts = urlsplit(self.url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        if self._key:
            place = place.replace(self._key, HIDDEN)
        return f"The embedding endpoint {one_line(mask_secrets(place))}"


def _place(part: Any) -> int:
    """Where an answer's part belongs; those without an index stay in their order."""
    index = part.get("index") if isinstance(part, dict) else None
    return index if type(index) is int else 0


def _seconds(retry_after: str) -> float | None:
    """The seconds a Retry-After header asks for, which is a number or a date (RFC 9110, 10.2.3)."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _broken_off(error: Exception) -> tuple[str, str]:
    import httpx

    if isinstance(error, httpx.ConnectError):
        return "cannot be reached", "Is it running, and is the address right?"
    return "broke off instead of answering", "Check the address (does its port want https?), or try again later."


def tls_trouble(error: BaseException) -> tuple[str, str] | None:
    """What TLS has to do with a failed request, as the rest of a sentence and a hint; None when it has nothing.

    The cause lies deep in the chain of the client's errors.
    """
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, ssl.SSLCertVerificationError):
            return _NOT_TRUSTED
        if isinstance(reason, ssl.SSLError):
            return _NO_TLS if reason.reason in _ANSWERED_WITHOUT_TLS else _NO_COMMON_TLS
        reason = reason.__cause__ or reason.__context__
    return None


def endpoint(base: str) -> str:
    """Where to post: a base that ends in /embeddings itself, else one with a path + /embeddings, else + /v1/embeddings.

    The rule of every ZeroClaw version.
    """
    stripped = base.rstrip("/")
    path = urlsplit(stripped).path.rstrip("/")
    if path.endswith("/embeddings"):
        return stripped
    return f"{stripped}/embeddings" if path else f"{stripped}/v1/embeddings"


def is_loopback(host: str) -> bool:
    """True for the name or address of this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
