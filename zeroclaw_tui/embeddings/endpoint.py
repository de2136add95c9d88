"""Embeddings from an endpoint with OpenAI's protocol, with retries, and the creation of a config's embedder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.base import (
    ApiKeyError,
    Embedder,
    EndpointBusyError,
    InputRejectedError,
    RetryPolicy,
    WrongDimensionError,
    endpoint_host,
    endpoint_url,
    request_sentence,
    why_no_embedder,
)
from zeroclaw_tui.embeddings.local import LocalEmbedder
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets, one_line

if TYPE_CHECKING:
    import httpx
    import numpy as np

_CONNECT_SECONDS = 5.0
_SECONDS = 20.0
_BATCH_SECONDS = 120.0  # A small local machine embeds a few texts a second.
_BATCH_SIZE = 64
_MAX_REJECTED = 3
_EFFECT = "Until it answers, ZeroClaw's own recall fails as a whole and the agent gets no memories."
_NOT_CHECKED = "ZeroClaw does not check this: it then finds nothing by vector."
_KEY_HINT = "Set memory.embedding_api_key, or the key of the provider."

PROBE = RetryPolicy(tries=1, first_wait=0.0, longest_wait=0.0)
INTERACTIVE = RetryPolicy(tries=3, first_wait=0.5, longest_wait=5.0)
BACKGROUND = RetryPolicy(tries=6, first_wait=1.0, longest_wait=120.0)


class OpenAIEmbedder(Embedder):
    """OpenAI, OpenRouter or any `custom:<url>`; the vectors of queries are cached.

    Proxies are read from the environment, except for an endpoint on this machine. Redirects are not followed, so that
    the API key is only sent to the configured address.
    """

    def __init__(
        self, config: EmbeddingConfig, retries: RetryPolicy = INTERACTIVE, *, seconds: float = _SECONDS
    ) -> None:
        """`seconds` is the timeout of a request for a single text."""
        self._config = config
        self.dimensions = config.dimensions
        self.url = endpoint_url(config.provider)
        self._host = endpoint_host(config.provider)
        self.is_remote = not is_loopback(self._host)
        self._key = (config.api_key or "").strip()
        self._retries = retries
        self._seconds = seconds
        self._client: httpx.AsyncClient | None = None
        self._queries: dict[str, np.ndarray] = {}

    async def embed(self, text: str) -> np.ndarray:
        return (await self.embed_many([text]))[0]

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        self._announce_texts(texts, is_query=False)
        vectors: list[np.ndarray] = []
        for start in range(0, len(texts), _BATCH_SIZE):
            vectors += await self._request(texts[start : start + _BATCH_SIZE])
        return vectors

    async def query(self, text: str) -> np.ndarray:
        if text not in self._queries:
            self._announce_texts([text], is_query=True)
            # A vector of zeros is valid: ZeroClaw only checks that there is a vector.
            self._queries[text] = (await self._request([text]))[0]
        return self._queries[text]

    def is_cached(self, query: str) -> bool:
        return query in self._queries

    def with_retries(self, retries: RetryPolicy) -> Embedder:
        return OpenAIEmbedder(self._config, retries)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _announce_texts(self, texts: Sequence[str], *, is_query: bool) -> None:
        characters = sum(map(len, texts))
        self.announce(request_sentence(self._host, self._config.model, len(texts), characters, is_query=is_query))

    async def _request(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Send one request, and retry while the endpoint is busy and the retry policy allows it."""
        tries, first_wait, longest_wait, sleep = self._retries
        for attempt in range(1, tries + 1):
            try:
                answer = await self._post(texts)
                # On a thread, because parsing 64 long vectors would block the screen.
                return await asyncio.to_thread(self._parse, answer, len(texts))
            except EndpointBusyError as busy:
                wait = first_wait * 2 ** (attempt - 1) if busy.retry_after is None else busy.retry_after
                if attempt == tries or wait > longest_wait:
                    if attempt > 1:
                        busy.message = f"{busy.message.rstrip('.')}, asked {attempt} times."
                    if busy.retry_after:
                        busy.hint = f"It asks to wait {busy.retry_after:.0f} s. {busy.hint}"
                    raise
            await sleep(wait)
        raise AssertionError("a retry policy allows at least one try")

    async def _post(self, texts: Sequence[str]) -> bytes:
        """Send one request and return the body of the response."""
        import httpx

        seconds = self._seconds if len(texts) == 1 else _BATCH_SECONDS
        connect_seconds = min(_CONNECT_SECONDS, self._seconds)
        # JSON can escape the lone surrogates of a command line, which are not valid UTF-8.
        body = json.dumps({"model": self._config.model, "input": list(texts)}).encode("ascii")
        headers = self._headers()
        try:
            if self._client is None:
                # A client with its own transport uses no proxy.
                own = None if self.is_remote else httpx.AsyncHTTPTransport()
                self._client = httpx.AsyncClient(transport=own)
        except (ValueError, ImportError, httpx.InvalidURL):
            problem = "cannot be reached through the proxy in the environment"
            raise self._error(problem, "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY.") from None
        limits = httpx.Timeout(seconds, connect=connect_seconds)
        try:
            async with asyncio.timeout(seconds):
                response = await self._client.post(self.url, content=body, headers=headers, timeout=limits)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            raise self._error(f"cannot be reached within {connect_seconds:g} s", "Try again later.") from None
        except (httpx.TimeoutException, TimeoutError):
            raise self._error(f"did not answer within {seconds:g} s", "Try again later.") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._connection_error(error) from None
        if response.status_code != httpx.codes.OK:
            raise self._status_error(response)
        return response.content

    def _headers(self) -> dict[str, str]:
        if not (self._key.isascii() and self._key.isprintable()):
            problem = "cannot be called, because its API key has characters that HTTP headers do not allow"
            raise self._error(problem, _KEY_HINT)
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def _parse(self, answer: bytes, count: int) -> list[np.ndarray]:
        try:
            document: Any = json.loads(answer, parse_int=float)
        except (ValueError, RecursionError):
            hint = "Check that this is the URL of an embeddings service."
            raise self._error("did not answer with JSON", hint) from None
        items = document.get("data") if isinstance(document, dict) else None
        if not isinstance(items, list) or len(items) != count:
            if count > 1:
                raise self._error("did not answer with a vector for each text", "", InputRejectedError)
            items = [None]
        return [self._parse_vector(item) for item in sorted(items, key=_index)]

    def _parse_vector(self, item: Any) -> np.ndarray:
        import numpy as np

        numbers = item.get("embedding") if isinstance(item, dict) else None
        if not isinstance(numbers, list) or not all(type(number) is float for number in numbers):
            hint = "It should be data[0].embedding, a list of numbers; is this an embeddings service?"
            raise self._error("answered with JSON without a vector", hint)
        if len(numbers) != self.dimensions:
            problem = f"sent a vector of {len(numbers)} numbers, but memory.embedding_dimensions is {self.dimensions}"
            error = WrongDimensionError(self._error(problem, "").message)
            error.hint = f"Set memory.embedding_dimensions to {len(numbers)}, or choose another model. {_NOT_CHECKED}"
            error.found = len(numbers)
            raise error
        with np.errstate(over="ignore"):
            vector = np.array(numbers, dtype=np.float64).astype(np.float32)
        if not np.isfinite(vector).all():
            raise self._error("sent a vector with numbers that are not finite", "Try another model.")
        return vector

    def _status_error(self, response: httpx.Response) -> EmbeddingFailed:
        status = response.status_code
        if status == 400 and self.url.startswith("http:") and b"HTTPS" in response.content:
            return self._error("wants TLS on this port", "Use https:// instead of http://.")
        kind: type[EmbeddingFailed] = InputRejectedError if status in (400, 413, 422) else EmbeddingFailed
        problem, hint = "did not answer with a vector", "Check the address."
        if status in (401, 403):
            kind, problem, hint = ApiKeyError, "refuses the API key" if self._key else "wants an API key", _KEY_HINT
        elif status == 404:
            problem = "has no embeddings at this URL, or not this model"
            hint = "Check memory.embedding_provider and its model."
        elif status == 429:
            kind, problem, hint = EndpointBusyError, "is rate limited", "Wait a little, or check the account's quota."
        elif status >= 500:
            kind, problem, hint = EndpointBusyError, "has an internal error", "Try again later."
        error = self._error(f"{problem} (HTTP {status})", hint, kind)
        seconds = response.headers.get("Retry-After", "").strip()
        if isinstance(error, EndpointBusyError) and seconds.isascii() and seconds.isdecimal():
            error.retry_after = float(seconds)
        return error

    def _connection_error(self, error: Exception) -> EmbeddingFailed:
        import httpx

        tls_problem = tls_error_message(error)
        if tls_problem is not None:
            return self._error(*tls_problem)
        if isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.InvalidURL):
            return self._error("cannot be reached", "Check that it is running and that the URL is right.")
        # A server may close an idle connection at the moment of the next request, so a retry can help.
        hint = "Check the address (does its port want https?), or try again later."
        return self._error("closed the connection without an answer", hint, EndpointBusyError)

    def _error(self, problem: str, hint: str, kind: type[EmbeddingFailed] = EmbeddingFailed) -> EmbeddingFailed:
        """Make an error that names the endpoint by its URL, without user, password, query and key."""
        parts = urlsplit(self.url)
        url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        if self._key:
            url = url.replace(self._key, HIDDEN)
        message = f"The embedding endpoint {one_line(mask_secrets(url))} {problem}."
        return kind(message, hint=f"{hint} {_EFFECT}".strip())


def create_embedder(config: EmbeddingConfig) -> Embedder | None:
    """Create the embedder of a config; None if it has none, and `why_no_embedder` says why."""
    if why_no_embedder(config) is not None:
        return None
    return LocalEmbedder(config) if config.provider == "local" else OpenAIEmbedder(config)


def _index(item: Any) -> float:
    """The index of an item in a response; items without one keep their order."""
    index = item.get("index") if isinstance(item, dict) else None
    return index if isinstance(index, float) else 0.0


async def embed_each(embedder: Embedder, texts: Sequence[str]) -> list[np.ndarray | InputRejectedError]:
    """Embed each text, or return the error of a rejected one; texts that are rejected together are sent one by one.

    Raises EmbeddingFailed for errors of the endpoint, such as rejecting three texts in a row.
    """
    if len(texts) > 1:
        try:
            return [*await embedder.embed_many(texts)]
        except InputRejectedError:
            pass
    results: list[np.ndarray | InputRejectedError] = []
    rejected_in_a_row = 0
    for text in texts:
        try:
            results.append(await embedder.embed(text))
            rejected_in_a_row = 0
        except InputRejectedError as error:
            results.append(error)
            rejected_in_a_row += 1
            if rejected_in_a_row == _MAX_REJECTED:
                raise
    return results


def is_loopback(host: str) -> bool:
    """Whether a host name or an address is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def tls_error_message(error: BaseException) -> tuple[str, str] | None:
    """Return the end of a sentence and a hint for a request that failed because of TLS, None for other errors."""
    import ssl

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            hint = (
                "Use the host name in the certificate. ZeroClaw (0.8.4) only trusts public authorities, not your own."
            )
            return "has a certificate that is not trusted here", hint
        if isinstance(cause, ssl.SSLError):
            return "does not speak TLS on this port", "Use http://, or a port with TLS 1.2 or newer."
        cause = cause.__cause__ or cause.__context__
    return None
