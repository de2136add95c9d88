"""Vectors from an endpoint that speaks OpenAI's embeddings protocol: its address and answers, pace and retries."""

from __future__ import annotations

import asyncio
import json
import math
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.base import (
    AGENT_GETS_NOTHING,
    Busy,
    Embedder,
    EmbedsMany,
    KeyRefused,
    RemoteCall,
    Tell,
    TextRefused,
    WrongDimension,
    host_of,
    url_of,
)
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
AT_ONCE = 64
"""How many texts go into one request."""
MOST_CHARACTERS = 100_000
"""How many characters of several texts go into one request."""
REST = 10.0
"""Seconds for which an endpoint that failed is not asked for the vector of another query."""
LONGEST_REST = 60.0
"""The same for one that asks to wait longer."""
MOST_BYTES_KEPT = 32 * 1024 * 1024
_ANSWERED_WITHOUT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
_NO_TLS = ("does not speak TLS on this port", "Use http:// instead of https://, or its TLS port.")
_NO_COMMON_TLS = ("and this machine do not agree on a TLS version", "Does it speak TLS 1.2 or newer on this port?")
_NOT_TRUSTED = (
    "has a certificate that is not trusted here",
    "Use the name it is made for. ZeroClaw (0.8.4) trusts public authorities only, so one of your own does not help.",
)
_UNREACHABLE = ("cannot be reached", "Check that it is running and that the URL is right.")
_BROKEN_OFF = (
    "broke off instead of answering",
    "Check the address (does its port want https?), or try again later.",
)
_READ_IN_A_THREAD = 64 * 1024
_WAIT = "Try again later."
_KEY_HINT = "Set memory.embedding_api_key, or the key of the provider."
_WANTS_TLS = ("wants TLS on this port", "Use https:// instead of http://.")
_LONGEST_NOTICE = 1000
_ABOUT_TEXTS = (400, 413, 422)
_BY_STATUS = {
    404: ("has no embeddings at this URL, or not this model", "Check memory.embedding_provider and its model."),
    429: ("is rate limited", "Wait a little, or check the account's quota."),
}
_SLICE = 0.25
_MINUTE = 60.0
_MOST_REFUSED = 3
Answer = TypeVar("Answer")


def leaves_this_machine(url: str) -> bool:
    """True when what is sent to an address goes to another machine: that of the address, or of a proxy on the way.

    HTTP_PROXY, HTTPS_PROXY and ALL_PROXY hold for this machine's own addresses too, unless NO_PROXY names them.
    """
    # What knows of proxies takes longer to import than a list takes to read.
    import urllib.request

    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not is_loopback(host):
        return True
    if not proxy or urllib.request.proxy_bypass(host):
        return False
    try:
        between = urlsplit(proxy if "://" in proxy else f"http://{proxy}").hostname
    except ValueError:
        return True
    return not is_loopback(between or "")


def is_loopback(host: str) -> bool:
    """True for the name or address of this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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


class StoppedWaiting(Exception):
    """A person stopped while an endpoint was waited for."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a busy endpoint is asked for the same (`tries`), and how long it is waited for, in seconds.

    Where it does not say, `first_wait` and then twice as long each time, up to `jitter` of that more by chance, so that
    many who were sent away together do not come back together. An endpoint that asks for more than `longest_wait` is
    not waited for, nor is one longer than `total` with all tries.
    """

    tries: int
    longest_wait: float
    first_wait: float = 1.0
    jitter: float = 0.0
    total: float = math.inf

    def wait_after(self, tries: int, asked: float | None, spent: float = 0.0, chance: float = 0.0) -> float | None:
        """How long to wait after the try of this number (from 1), None to give up; `chance` is 0..1."""
        if tries >= self.tries or (asked is not None and asked > self.longest_wait):
            return None
        wait = asked if asked is not None else self.first_wait * 2 ** (tries - 1)
        wait *= 1 + self.jitter * chance
        return wait if spent + wait < self.total else None


FOR_MANY = RetryPolicy(tries=6, longest_wait=120.0)
"""For work that a person left running."""
FOR_ONE = RetryPolicy(tries=3, longest_wait=5.0, first_wait=0.5, jitter=0.5, total=20.0)
"""For one text while a person waits."""


@dataclass(slots=True)
class Pace:
    """At most `per_minute` requests; `now` and `sleep` are the clock's, in seconds. `goes_on` is asked while waiting.

    `chance` gives numbers of 0..1. Raises StoppedWaiting once `goes_on` says no.
    """

    per_minute: int | None = None
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    goes_on: Callable[[], bool] = field(default=lambda: True)
    chance: Callable[[], float] = random.random
    _next: float | None = None

    async def turn(self) -> None:
        """Wait until the next request may go out."""
        if self._next is not None:
            await self.wait(self._next - self.now())
        if self.per_minute:
            self._next = max(self.now(), self._next or 0.0) + _MINUTE / self.per_minute

    async def wait(self, seconds: float) -> None:
        """Let time go by, in slices short enough that a stop is noticed at once."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0:
            if not self.goes_on():
                raise StoppedWaiting
            await self.sleep(min(_SLICE, left))


class AnswerReader:
    """Reads answers of one endpoint; `shown` is how sentences call it, `dimensions` the length its vectors must have.

    Uses the processor alone, so that a big answer can be read in a thread.
    """

    def __init__(self, shown: str, dimensions: int) -> None:
        self._shown = shown
        self._dimensions = dimensions

    def one(self, answer: bytes) -> np.ndarray:
        """The vector of the only text, shape (dimensions,), float32. Raises EmbeddingFailed."""
        try:
            last = self._document(answer)["data"][-1]
        except (KeyError, IndexError, TypeError):
            last = None
        return self._vector(self._numbers_of(last))

    def many(self, answer: bytes, count: int) -> list[np.ndarray]:
        """The vectors of so many texts, in the order of the texts. Raises EmbeddingFailed and TextRefused."""
        answered = self._document(answer).get("data")
        if not isinstance(answered, list) or len(answered) != count:
            raise TextRefused(f"{self._shown} did not answer with a vector for each text.", hint=AGENT_GETS_NOTHING)
        return [self._vector(self._numbers_of(part)) for part in sorted(answered, key=_place)]

    def _document(self, answer: bytes) -> dict[str, Any]:
        try:
            document: Any = json.loads(answer)
        except (ValueError, RecursionError):
            hint = "Check that this is the URL of an embeddings service."
            raise _failure(self._shown, "did not answer with JSON", hint) from None
        return document if isinstance(document, dict) else {}

    def _numbers_of(self, part: Any) -> list[float]:
        numbers = part.get("embedding") if isinstance(part, dict) else None
        if isinstance(numbers, list) and all(type(number) in (int, float) for number in numbers):
            return numbers
        hint = "It should be data[0].embedding, a list of numbers; is this an embeddings service?"
        if isinstance(numbers, str):
            raise _failure(
                self._shown, "answered with JSON that holds no vector but a text in its place, base64 perhaps", hint
            )
        raise _failure(self._shown, "answered with JSON that holds no vector", hint)

    def _vector(self, numbers: list[float]) -> np.ndarray:
        import numpy as np

        if len(numbers) != self._dimensions:
            raise WrongDimension(
                f"{self._shown} sent a vector of {len(numbers)} numbers, "
                f"but memory.embedding_dimensions is {self._dimensions}.",
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
            raise _failure(self._shown, "sent a vector with numbers that are not finite", "Try another model.")
        return vector


def _place(part: Any) -> int:
    """Where an answer's part belongs; those without an index stay in their order."""
    index = part.get("index") if isinstance(part, dict) else None
    return index if type(index) is int else 0


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
        self._shown = self._place_shown()
        self._reader = AnswerReader(self._shown, config.dimensions)
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
            raise _failure(self._shown, f"cannot be reached within {self._connect_seconds:g} s", _WAIT) from None
        except (httpx.TimeoutException, TimeoutError):
            raise _failure(self._shown, f"did not answer within {seconds:g} s", _WAIT) from None
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
            hint = "Check that this is the URL of an embeddings service."
            raise _failure(self._shown, f"sent more than {most / 2**20:,.0f} MB and was not read on", hint)
        return bytes(answer)

    async def close(self) -> None:
        """Close the connection."""
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
                raise _failure(self._shown, "cannot be asked through the proxy the environment names", hint) from None
        return self._client

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if not self._key:
            return headers
        if not (self._key.isascii() and self._key.isprintable()):
            what = "cannot be given its API key, which has characters that no HTTP header takes"
            raise _failure(self._shown, what, _KEY_HINT)
        return headers | {"Authorization": f"Bearer {self._key}"}

    def _refused(self, status: int, answer: bytes, retry_after: str = "") -> EmbeddingFailed:
        if status == 400 and self.url.startswith("http:") and b"HTTPS" in answer[:_LONGEST_NOTICE]:
            return _failure(self._shown, *_WANTS_TLS)
        if status in (401, 403):
            what = "refuses the API key" if self._key else "wants an API key"
            return KeyRefused(f"{self._shown} {what} (HTTP {status}).", hint=f"{_KEY_HINT} {AGENT_GETS_NOTHING}")
        if status >= 500:
            what, hint = "has an internal error", _WAIT
        else:
            what, hint = _BY_STATUS.get(status, ("did not answer with a vector", "Check the address."))
        message, hint = f"{self._shown} {what} (HTTP {status}).", f"{hint} {AGENT_GETS_NOTHING}"
        if status >= 500 or status == 429:
            return Busy(message, hint=hint, after=_seconds(retry_after))
        return TextRefused(message, hint=hint) if status in _ABOUT_TEXTS else EmbeddingFailed(message, hint=hint)

    def _unanswered(self, error: Exception) -> EmbeddingFailed:
        import httpx

        trouble = tls_trouble(error)
        if trouble is not None:
            return _failure(self._shown, *trouble)
        if isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.InvalidURL):
            return _failure(self._shown, *_UNREACHABLE)
        # A server may hang up on a connection that was kept, at the very moment it is used again.
        what, hint = _BROKEN_OFF
        return Busy(f"{self._shown} {what}.", hint=f"{hint} {AGENT_GETS_NOTHING}", after=None)

    def _place_shown(self) -> str:
        """The address without user, password and query, where keys may be."""
        parts = urlsplit(self.url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        if self._key:
            place = place.replace(self._key, HIDDEN)
        return f"The embedding endpoint {one_line(mask_secrets(place))}"


def _failure(shown: str, what: str, hint: str) -> EmbeddingFailed:
    return EmbeddingFailed(f"{shown} {what}.", hint=f"{hint} {AGENT_GETS_NOTHING}")


async def _read(read: Callable[[bytes], Answer], answer: bytes) -> Answer:
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


def batches(
    texts: Iterable[str], at_once: int = AT_ONCE, most_characters: int = MOST_CHARACTERS
) -> Iterator[list[str]]:
    """Texts in their order as requests that are not too big; a text that is too long goes alone."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == at_once or characters + len(text) > most_characters):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


class PacedRequests:
    """Asks an embedder at a pace, and a busy one again. Texts that are refused together are sent one by one."""

    def __init__(self, embedder: Embedder, pace: Pace, patience: RetryPolicy = FOR_MANY) -> None:
        # Tries of tries would be far more than anybody wanted.
        self._embedder = embedder.plain if isinstance(embedder, RetryingEmbedder) else embedder
        self._pace = pace
        self._patience = patience
        self._refused_in_a_row = 0

    async def vector(self, text: str) -> np.ndarray:
        """The vector of a text. Raises EmbeddingFailed and StoppedWaiting."""
        return await self._answer(lambda: self._embedder.embed(text))

    async def vectors(self, texts: Sequence[str]) -> list[np.ndarray | TextRefused]:
        """A vector of each text, or why the endpoint does not take it.

        Raises EmbeddingFailed for what concerns all of them, refusing several texts in a row included, and
        StoppedWaiting.
        """
        embedder = self._embedder
        if len(texts) > 1 and isinstance(embedder, EmbedsMany):
            try:
                many = await self._answer(lambda: embedder.embed_many(texts))
            except TextRefused:
                return [await self._one(text) for text in texts]
            self._refused_in_a_row = 0
            return [*many]
        return [await self._one(text) for text in texts]

    async def _one(self, text: str) -> np.ndarray | TextRefused:
        try:
            vector = await self.vector(text)
        except TextRefused as refused:
            self._refused_in_a_row += 1
            if self._refused_in_a_row >= _MOST_REFUSED:
                raise
            return refused
        self._refused_in_a_row = 0
        return vector

    async def _answer(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer of the first try that is not sent away. Raises Busy when patience is over."""
        started, tries = self._pace.now(), 0
        last: Busy | None = None
        while True:
            await self._pace.turn()
            try:
                async with asyncio.timeout(None if last is None else self._left(started)):
                    return await ask()
            except Busy as busy:
                last, tries = busy, tries + 1
            except TimeoutError:
                # Only a further try is cut short here: the first has the time limit of its own.
                if last is None:
                    raise
                raise last.given_up(tries + 1) from None
            spent = self._pace.now() - started
            seconds = self._patience.wait_after(tries, last.after, spent, self._pace.chance())
            if seconds is None:
                raise last.given_up(tries) from None
            await self._pace.wait(seconds)

    def _left(self, started: float) -> float | None:
        left = started + self._patience.total - self._pace.now()
        return left if left < float("inf") else None


class RetryingEmbedder:
    """The endpoint a config names. Vectors of queries are kept in memory, the least asked for go first.

    After a failure that does not concern the text alone the endpoint rests: queries fail at once with what it said.
    What is written is asked for all the same. `plain` asks once for each call and tells nobody.
    """

    def __init__(
        self,
        config: EmbeddingConfig,
        *,
        plain: Embedder | None = None,
        pace: Pace | None = None,
        patience: RetryPolicy = FOR_ONE,
    ) -> None:
        self.plain: Embedder = plain or OpenAIEmbedder(config)
        self.name = self.plain.name
        self.dimensions = self.plain.dimensions
        self.is_remote = self.plain.is_remote
        self.place = host_of(config.provider)
        self._config = config
        self._pace = pace or Pace()
        self._requests = PacedRequests(self.plain, self._pace, patience)
        self._kept: dict[str, np.ndarray] = {}
        self._failure: EmbeddingFailed | None = None
        self._rests_until = 0.0
        self._tell: Tell | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of what is written, shape (dimensions,), float32. Raises EmbeddingFailed."""
        self.announce(self._call_of([text], is_query=False))
        return self._useful(await self._requests.vector(text))

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of what is written, in their order, by as few requests as do. Raises EmbeddingFailed."""
        self.announce(self._call_of(texts, is_query=False))
        made: list[np.ndarray] = []
        for batch in batches(texts):
            for found in await self._requests.vectors(batch):
                if isinstance(found, TextRefused):
                    raise found
                made.append(self._useful(found))
        return made

    async def query(self, text: str) -> np.ndarray:
        """The vector of what is searched for, shape (dimensions,), float32. Raises EmbeddingFailed."""
        kept = self._recent(text)
        if kept is not None:
            return kept
        self._refuse_while_resting()
        self.announce(self._call_of([text], is_query=True))
        try:
            # Zeros too: ZeroClaw asks whether there is a vector, not what it is.
            vector = await self._requests.vector(text)
        except EmbeddingFailed as failure:
            self._rest_after(failure)
            raise
        self._keep(text, vector)
        return vector

    async def queries(self, texts: Iterable[str]) -> dict[str, np.ndarray | EmbeddingFailed]:
        """The vector of each text that is searched for, or why it has none; by as few requests as do."""
        found: dict[str, np.ndarray | EmbeddingFailed] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            kept = self._recent(text)
            if kept is None:
                missing.append(text)
            else:
                found[text] = kept
        if missing and not self.resting:
            self.announce(self._call_of(missing, is_query=True))
        for batch in batches(missing):
            found.update(await self._queried(batch))
        return found

    @property
    def resting(self) -> float:
        """For how many seconds it is not asked for queries yet; 0.0 when it is asked."""
        return max(0.0, self._rests_until - self._pace.now())

    def waits_for(self, text: str) -> bool:
        """Whether the endpoint has to be asked for the vector of a query."""
        return text not in self._kept and not self.resting

    def tell_before_first_call(self, tell: Tell) -> None:
        """Tell once, before the first text leaves this machine; nobody is told of an endpoint on this machine."""
        self._tell = tell if self.is_remote else None

    def ask_again_at_once(self) -> None:
        """Ask an endpoint that has just failed again, at the next text."""
        self._rests_until = 0.0

    def announce(self, call: RemoteCall) -> None:
        """Tell of a call that is about to be made, if it is the first."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(call)

    async def close(self) -> None:
        """Close the connection."""
        await self.plain.close()

    async def _queried(self, batch: list[str]) -> dict[str, np.ndarray | EmbeddingFailed]:
        try:
            self._refuse_while_resting()
            made = await self._requests.vectors(batch)
        except EmbeddingFailed as failure:
            self._rest_after(failure)
            return dict.fromkeys(batch, failure)
        found: dict[str, np.ndarray | EmbeddingFailed] = {}
        for text, vector in zip(batch, made, strict=True):
            found[text] = vector
            if not isinstance(vector, TextRefused):
                self._keep(text, vector)
        return found

    def _useful(self, vector: np.ndarray) -> np.ndarray:
        """The vector, unless nothing can be like it."""
        if not vector.any():
            raise TextRefused(
                f"The embedding endpoint on {self.place} returned a vector of zeros, which matches no memory.",
                hint="Try other words, or another model.",
            )
        return vector

    def _call_of(self, texts: Sequence[str], *, is_query: bool) -> RemoteCall:
        characters = sum(map(len, texts))
        return RemoteCall(self.place, self._config.model, len(texts), characters, is_query=is_query)

    def _refuse_while_resting(self) -> None:
        if self._failure is not None and self.resting:
            # Raised again and again, the same exception would collect every place it was raised at.
            raise self._failure.with_traceback(None)

    def _rest_after(self, failure: EmbeddingFailed) -> None:
        if isinstance(failure, TextRefused) or failure is self._failure:
            return
        asked = failure.after if isinstance(failure, Busy) and failure.after is not None else 0.0
        self._failure = failure
        self._rests_until = self._pace.now() + min(max(REST, asked), LONGEST_REST)

    def _recent(self, text: str) -> np.ndarray | None:
        kept = self._kept.pop(text, None)
        if kept is not None:
            self._kept[text] = kept
        return kept

    def _keep(self, text: str, vector: np.ndarray) -> None:
        self._failure, self._rests_until = None, 0.0
        self._kept[text] = vector
        while len(self._kept) > max(1, MOST_BYTES_KEPT // vector.nbytes):
            self._kept.pop(next(iter(self._kept)))
