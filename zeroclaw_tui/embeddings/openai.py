"""Vectors from an endpoint that speaks OpenAI's embeddings protocol."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.addresses import leaves_this_machine, url_of
from zeroclaw_tui.embeddings.answers import AnswerReader
from zeroclaw_tui.embeddings.broken_requests import BROKEN_OFF, UNREACHABLE, tls_trouble
from zeroclaw_tui.embeddings.failures import AGENT_GETS_NOTHING, Busy, KeyRefused, TextRefused
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets, one_line

if TYPE_CHECKING:
    import httpx
    import numpy as np

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 20.0
MANY_SECONDS = 120.0
"""How long many texts at once may take: a small machine of one's own makes a few vectors a second."""
MOST_BYTES = 32 * 1024 * 1024
"""What is read of an answer at most: many times what 64 of the longest vectors in use come to."""
_READ_IN_A_THREAD = 64 * 1024
_WAIT = "Try again later."
_KEY_HINT = "Set memory.embedding_api_key, or the key of the provider."
_WANTS_TLS = ("wants TLS on this port", "Write https:// in place of http://.")
_LONGEST_NOTICE = 1000
_ABOUT_TEXTS = (400, 413, 422)
_BY_STATUS = {
    404: ("knows no embeddings at this address, or not this model", "Check memory.embedding_provider and its model."),
    429: ("takes no more requests for now", "Wait a little, or look at the account's quota."),
}
Read = TypeVar("Read")


class OpenAIEmbedder:
    """OpenAI, OpenRouter or any `custom:<url>`, asked once for each call; the connection is opened on the first one.

    Proxies are taken from the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY), for addresses of this machine too
    unless NO_PROXY names them. Redirects are not followed, so that a key only goes where it was meant to.
    """

    def __init__(
        self,
        config: EmbeddingConfig,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.name = config.provider.partition(":")[0]
        self.dimensions = config.dimensions
        self.url = url_of(config.provider)
        self.is_remote = leaves_this_machine(self.url)
        self._model = config.model
        self._key = (config.api_key or "").strip()
        self._connect_seconds = connect_seconds
        self._total_seconds = total_seconds
        self._most_bytes = most_bytes
        self._reader = AnswerReader(self._shown(), config.dimensions)
        self._client: httpx.AsyncClient | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32. Raises EmbeddingFailed, never naming the key."""
        return await _read(self._reader.one, await self._answer([text]))

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of texts, in their order, by one request. Raises EmbeddingFailed, and its kind TextRefused where
        the endpoint does not take them together: each alone may do."""
        return await _read(partial(self._reader.many, count=len(texts)), await self._answer(texts, MANY_SECONDS))

    async def _answer(self, texts: Sequence[str], at_least: float = 0.0) -> bytes:
        import httpx

        client = self._open()
        seconds = max(self._total_seconds, at_least)
        # Lone surrogates of a command line are no UTF-8, but JSON can escape them.
        body = json.dumps({"model": self._model, "input": list(texts)}).encode("ascii")
        limits = httpx.Timeout(seconds, connect=self._connect_seconds)
        headers = self._headers()
        try:
            request = client.build_request("POST", self.url, content=body, headers=headers, timeout=limits)
            async with asyncio.timeout(seconds):
                return await self._sent(client, request)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            raise self._failed(f"cannot be reached within {self._connect_seconds:g} s", _WAIT) from None
        except (httpx.TimeoutException, TimeoutError):
            raise self._failed(f"did not answer within {seconds:g} s", _WAIT) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unanswered(error) from None

    async def _sent(self, client: httpx.AsyncClient, request: httpx.Request) -> bytes:
        """The body of the answer. Raises EmbeddingFailed for a refusal and for one that is too long, httpx's errors."""
        import httpx

        response = await client.send(request, stream=True)
        try:
            is_right = response.status_code == httpx.codes.OK
            most = self._most_bytes if is_right else _LONGEST_NOTICE
            answer = bytearray()
            async for part in response.aiter_bytes():
                answer += part
                if len(answer) > most:
                    break
        finally:
            await response.aclose()
        if not is_right:
            raise self._refused(response.status_code, bytes(answer), response.headers.get("Retry-After", ""))
        if len(answer) > most:
            hint = "Is this the address of an embeddings service?"
            raise self._failed(f"sent more than {most / 2**20:,.0f} MB and was not read on", hint)
        return bytes(answer)

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
            return KeyRefused(f"{self._shown()} {what} (HTTP {status}).", hint=f"{_KEY_HINT} {AGENT_GETS_NOTHING}")
        if status >= 500:
            what, hint = "has an error of its own", _WAIT
        else:
            what, hint = _BY_STATUS.get(status, ("did not answer with a vector", "Check the address."))
        message, hint = f"{self._shown()} {what} (HTTP {status}).", f"{hint} {AGENT_GETS_NOTHING}"
        if status >= 500 or status == 429:
            return Busy(message, hint=hint, after=_seconds(retry_after))
        return TextRefused(message, hint=hint) if status in _ABOUT_TEXTS else EmbeddingFailed(message, hint=hint)

    def _unanswered(self, error: Exception) -> EmbeddingFailed:
        import httpx

        trouble = tls_trouble(error)
        if trouble is not None:
            return self._failed(*trouble)
        if isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.InvalidURL):
            return self._failed(*UNREACHABLE)
        # A server may hang up on a connection that was kept, at the very moment it is used again.
        what, hint = BROKEN_OFF
        return Busy(f"{self._shown()} {what}.", hint=f"{hint} {AGENT_GETS_NOTHING}", after=None)

    def _failed(self, what: str, hint: str) -> EmbeddingFailed:
        return EmbeddingFailed(f"{self._shown()} {what}.", hint=f"{hint} {AGENT_GETS_NOTHING}")

    def _shown(self) -> str:
        """The address without user, password and query, where keys may be."""
        parts = urlsplit(self.url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        if self._key:
            place = place.replace(self._key, HIDDEN)
        return f"The embedding endpoint {one_line(mask_secrets(place))}"


async def _read(read: Callable[[bytes], Read], answer: bytes) -> Read:
    """What is in an answer; a big one keeps a thread busy and not the event loop."""
    return await asyncio.to_thread(read, answer) if len(answer) > _READ_IN_A_THREAD else read(answer)


def _seconds(retry_after: str) -> float | None:
    """The seconds a Retry-After header asks for, which is a number or a date (RFC 9110, 10.2.3)."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
