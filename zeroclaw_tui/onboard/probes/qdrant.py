"""Whether the Qdrant server of the answers answers, and whether its collection fits."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.embeddings.factory import create_embedder
from zeroclaw_tui.embeddings.openai import tls_trouble
from zeroclaw_tui.memory.errors import NOT_REACHABLE, REFUSED, WRONG_USE, InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.embedding import check_host, effective_embedding, open_key_facts
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.probes.values import HostUnknown, plain_answer

if TYPE_CHECKING:
    import httpx

_SUBJECT = "qdrant"
_SHAPE = "It should look like http://localhost:6333."
_NO_VECTORS = "no embedding provider is on: ZeroClaw cannot store anything in Qdrant without one"


class _Trouble(InspectorError):
    exit_code = NOT_REACHABLE


class _KeyTrouble(_Trouble):
    exit_code = REFUSED


async def probe(answers: Answers, seconds: float) -> Finding:
    """Ask for the list of collections and for the one of the answers; only GET is sent."""
    url = plain_answer(answers, "storage.qdrant.url").rstrip("/")
    key = _key(answers)
    wrong = _wrong_address(url, key)
    if wrong is not None:
        return wrong
    facts = list(open_key_facts(url, key))
    config, _ = effective_embedding(answers)
    dimensions = config.dimensions if create_embedder(config)[0] is not None and config.provider != "local" else 0
    if not dimensions:
        facts.append(_NO_VECTORS)
    collection = str(answers.value("storage.qdrant.collection") or "")
    try:
        async with asyncio.timeout(seconds):
            began = time.perf_counter()
            await check_host(url)
            described = await _collection(url, key, collection)
            answers_in = f"answers in {(time.perf_counter() - began) * 1000:.0f} ms"
    except (_Trouble, HostUnknown) as error:
        return Finding(_SUBJECT, "bad", error.message, tuple(facts), error.hint, error.exit_code)
    except TimeoutError:
        return Finding(
            _SUBJECT,
            "bad",
            f"Qdrant at {_place(url)} did not answer within {seconds:g} s.",
            tuple(facts),
            "Is it running, and is nothing in between that swallows the connection?",
        )
    return _judged(described, collection, dimensions, answers_in, facts)


def _key(answers: Answers) -> str:
    """The key as ZeroClaw sends it: up to 0.7.5 literally, whatever it begins with."""
    if answers.situation.target.is_modern:
        return plain_answer(answers, "storage.qdrant.api_key")
    return str(answers.value("storage.qdrant.api_key") or "").strip()


def _wrong_address(url: str, key: str) -> Finding | None:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address:
        sentence = "The Qdrant URL is no http:// or https:// address." if url else "There is no Qdrant URL."
        return Finding(_SUBJECT, "bad", sentence, hint=_SHAPE, exit_code=WRONG_USE)
    if not (key.isascii() and key.isprintable()):
        sentence = "The Qdrant key has characters that no HTTP header takes."
        return Finding(_SUBJECT, "bad", sentence, hint="Copy the key again.", exit_code=WRONG_USE)
    return None


def _place(url: str) -> str:
    """Scheme, host and port, without user, password, path and query."""
    parts = urlsplit(url)
    return shown(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


async def _collection(url: str, key: str, collection: str) -> Any:
    """What Qdrant says of the collection, None when there is none of that name. Raises _Trouble kinds."""
    import httpx

    headers = {"api-key": key} if key else {}
    try:
        async with httpx.AsyncClient(headers=headers, timeout=None) as client:
            listed = await client.get(f"{url}/collections")
            collections = _result(listed, url, has_key=bool(key))
            if not isinstance(collections, dict) or not isinstance(collections.get("collections"), list):
                raise _not_qdrant(url)
            one = await client.get(f"{url}/collections/{quote(collection, safe='')}")
            return None if one.status_code == httpx.codes.NOT_FOUND else _result(one, url, has_key=bool(key))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
        raise _unreachable(error, url) from None


def _unreachable(error: Exception, url: str) -> _Trouble:
    import httpx

    trouble = tls_trouble(error)
    if trouble is not None:
        return _Trouble(f"Qdrant at {_place(url)} {trouble[0]}.", hint=trouble[1])
    if isinstance(error, httpx.ConnectError):
        return _Trouble(f"Nothing answers at {_place(url)}.", hint="Is Qdrant running, and are host and port right?")
    if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError):
        return _not_qdrant(url)
    return _Trouble(f"The connection to {_place(url)} broke off.", hint="Check the address and any proxy; try again.")


def _not_qdrant(url: str) -> _Trouble:
    return _Trouble(
        f"What answers at {_place(url)} is not Qdrant.", hint="Its HTTP port is 6333 as a rule; 6334 is for gRPC."
    )


def _result(response: httpx.Response, url: str, *, has_key: bool) -> Any:
    status = response.status_code
    if status in (401, 403):
        what = "refuses the API key" if has_key else "wants an API key"
        raise _KeyTrouble(f"Qdrant at {_place(url)} {what} (HTTP {status}).", hint="Set storage.qdrant.api_key.")
    if status >= 500:
        raise _Trouble(f"Qdrant at {_place(url)} has an error of its own (HTTP {status}).", hint="Try again later.")
    try:
        document = json.loads(response.content)
    except (ValueError, RecursionError):
        document = None
    if status != 200 or not isinstance(document, dict) or "result" not in document:
        raise _not_qdrant(url)
    return document["result"]


def _judged(described: Any, collection: str, dimensions: int, answers_in: str, facts: list[str]) -> Finding:
    name = shown(collection)
    if described is None:
        made = "ZeroClaw makes it" if dimensions else "ZeroClaw makes it once an embedding provider is on"
        return Finding(_SUBJECT, "good", answers_in, (f"has no collection {name} yet: {made}", *facts))
    size = _vector_size(described)
    if size is None:
        return Finding(
            _SUBJECT,
            "bad",
            f"The collection {name} is not ZeroClaw's: it has no single unnamed vector.",
            (answers_in, *facts),
            "Set storage.qdrant.collection to another name.",
            REFUSED,
        )
    if dimensions and size != dimensions:
        return Finding(
            _SUBJECT,
            "bad",
            f"The collection {name} holds vectors of {size} numbers, but memory.embedding_dimensions is {dimensions}.",
            (answers_in, *facts),
            f"Set memory.embedding_dimensions to {size} if the model makes such vectors, or choose another collection.",
            WRONG_USE,
            {"memory.embedding_dimensions": size},
        )
    points = described.get("points_count")
    if isinstance(points, int):
        facts.insert(0, f"the collection {name} holds {points:,} {'memory' if points == 1 else 'memories'}")
    return Finding(_SUBJECT, "good", answers_in, (*facts, f"its vectors have {size:,} numbers"))


def _vector_size(described: Any) -> int | None:
    """The length of a collection's vectors; None when they have names, or there are none."""
    try:
        size = described["config"]["params"]["vectors"]["size"]
    except (KeyError, TypeError):
        return None
    return size if isinstance(size, int) else None
