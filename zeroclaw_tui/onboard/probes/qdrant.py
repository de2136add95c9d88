"""Whether the Qdrant server of the answers answers, and whether its collection fits."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import quote, urlsplit

from zeroclaw_tui.backends.qdrant.connect import (
    KeyRefused,
    hangs,
    is_address,
    is_header_value,
    not_qdrant,
    place_of,
    result_of,
    unreachable,
    vector_size,
)
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.embeddings.factory import create_embedder
from zeroclaw_tui.memory.errors import REFUSED, WRONG_USE, NotReachable, Refused
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.embedding import check_host, effective_embedding, open_key_facts
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.probes.values import HostUnknown, plain_answer

_SUBJECT = "qdrant"
_SHAPE = "It should look like http://localhost:6333."
_NO_VECTORS = "no embedding provider is on: ZeroClaw cannot store anything in Qdrant without one"


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
    except (NotReachable, Refused, HostUnknown) as error:
        code = REFUSED if isinstance(error, KeyRefused) else error.exit_code
        return Finding(_SUBJECT, "bad", error.message, tuple(facts), error.hint, code)
    except TimeoutError:
        slow = hangs(_place(url), seconds)
        return Finding(_SUBJECT, "bad", slow.message, tuple(facts), slow.hint)
    return _judged(described, collection, dimensions, answers_in, facts)


def _key(answers: Answers) -> str:
    """The key as ZeroClaw sends it: up to 0.7.5 literally, whatever it begins with."""
    if answers.situation.target.is_modern:
        return plain_answer(answers, "storage.qdrant.api_key")
    return str(answers.value("storage.qdrant.api_key") or "").strip()


def _wrong_address(url: str, key: str) -> Finding | None:
    if not is_address(url):
        sentence = "The Qdrant URL is no http:// or https:// address." if url else "There is no Qdrant URL."
        return Finding(_SUBJECT, "bad", sentence, hint=_SHAPE, exit_code=WRONG_USE)
    if not is_header_value(key):
        sentence = "The Qdrant key has characters that no HTTP header takes."
        return Finding(_SUBJECT, "bad", sentence, hint="Copy the key again.", exit_code=WRONG_USE)
    return None


def _place(url: str) -> str:
    """Scheme, host and port, without user, password, path and query."""
    parts = urlsplit(url)
    return place_of(f"{parts.scheme}://{parts.netloc}")


async def _collection(url: str, key: str, collection: str) -> Any:
    """What Qdrant says of the collection, None when there is none of that name. Raises NotReachable, Refused."""
    import httpx

    headers, place = {"api-key": key} if key else {}, _place(url)
    try:
        async with httpx.AsyncClient(headers=headers, timeout=None) as client:
            listed = await client.get(f"{url}/collections")
            collections = result_of(listed, place, has_key=bool(key))
            if not isinstance(collections, dict) or not isinstance(collections.get("collections"), list):
                raise not_qdrant(place)
            one = await client.get(f"{url}/collections/{quote(collection, safe='')}")
            return None if one.status_code == httpx.codes.NOT_FOUND else result_of(one, place, has_key=bool(key))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
        raise unreachable(error, url, place) from None


def _judged(described: Any, collection: str, dimensions: int, answers_in: str, facts: list[str]) -> Finding:
    name = shown(collection)
    if described is None:
        made = "ZeroClaw makes it" if dimensions else "ZeroClaw makes it once an embedding provider is on"
        return Finding(_SUBJECT, "good", answers_in, (f"has no collection {name} yet: {made}", *facts))
    size = vector_size(described)
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
