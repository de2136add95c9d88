"""What ZeroClaw would meet at its start with a Qdrant server; only GET is sent."""

from __future__ import annotations

import asyncio
import time

from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.qdrant.client import (
    TOTAL_SECONDS,
    KeyRefused,
    QdrantClient,
    configured_address,
    no_answer,
    not_qdrant,
)
from zeroclaw_tui.backends.qdrant.rows import vector_size, wrong_length
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.embeddings.factory import create_embedder
from zeroclaw_tui.memory.errors import NothingYet, Refused, UsageError


class QdrantProbe:
    """StartProbe of a Qdrant collection."""

    def __init__(self, config: MemoryConfig) -> None:
        address, key = configured_address(config.storage, config.location)
        self._client = QdrantClient(address, key, seconds=TOTAL_SECONDS)
        embedder, _ = create_embedder(config.embedding)
        self._dimensions = None if embedder is None else embedder.dimensions

    async def run(self, seconds: float) -> StartCheck:
        """Ask Qdrant about the collection with one request."""
        start, address = time.perf_counter(), self._client.address
        name = shown(address.collection)
        try:
            async with asyncio.timeout(seconds):
                description = await self._client.describe()
        except TimeoutError:
            raise no_answer(address.server, seconds) from None
        except KeyRefused as error:
            raise Refused(error.message, hint=error.hint) from None
        except NothingYet:
            made = "ZeroClaw makes it" + ("" if self._dimensions else " once an embedding provider is on")
            return StartCheck(_answer_time(start), (f"has no collection {name} yet: {made}",))
        finally:
            await self._client.close()
        if "config" not in description:
            raise not_qdrant(address.server)
        summary, size, points = _answer_time(start), vector_size(description), description.get("points_count")
        if size is None:
            sentence = f"The collection {name} is not ZeroClaw's: it has no single unnamed vector."
            hint = "Set storage.qdrant.collection to another name."
            return StartCheck(summary, problem=Refused(sentence, hint=hint))
        if self._dimensions is not None and size != self._dimensions:
            mismatch = wrong_length(size, self._dimensions)
            problem = UsageError(mismatch.message, hint=mismatch.hint)
            return StartCheck(summary, problem=problem, corrections={"memory.embedding_dimensions": size})
        number = f"{points:,} {'memory' if points == 1 else 'memories'}" if isinstance(points, int) else "memories"
        return StartCheck(summary, (f"the collection {name} holds {number}", f"its vectors have {size:,} numbers"))


def _answer_time(start: float) -> str:
    return f"answers in {(time.perf_counter() - start) * 1000:.0f} ms"
