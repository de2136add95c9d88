"""Pages, recall, bulk stores and removals in Qdrant beside the same requests sent by httpx alone.

    python tests/bench/qdrant_pages.py [ROUNDS [ROWS ...]]

The server is the stand-in of the tests, in a process of its own: the ratios tell what this program adds (at most 1.5),
the milliseconds nothing about a real Qdrant.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import httpx
import numpy as np

from zeroclaw_tui.backends.qdrant.points import Address
from zeroclaw_tui.backends.qdrant.store import QdrantMemory
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.query import MemoryFilter, Sort, SortField
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, profile_for

Way = Callable[[], Awaitable[Any]]
NAME = "bench"
DIMENSIONS = 64
BULK = 1000
WORDS = ["tea", "garden", "rust", "editor", "frog", "train", "letter", "window", "harbour", "violin"]
NEWEST_FIRST, BY_KEY = Sort(), Sort(SortField.KEY, descending=False)


class Instant:
    """An embedder that takes no time."""

    name, dimensions, is_remote = "instant", DIMENSIONS, False

    async def embed(self, text: str) -> np.ndarray:
        """Always the same."""
        return np.full(DIMENSIONS, DIMENSIONS**-0.5, dtype=np.float32)

    async def close(self) -> None:
        """Nothing to do."""


class Bare:
    """The requests alone."""

    def __init__(self, base: str) -> None:
        self.client = httpx.AsyncClient(timeout=600)
        self.url = f"{base}/collections/{NAME}"

    async def ask(self, method: str, path: str, body: Any) -> Any:
        """The result of one request."""
        response = await self.client.request(method, f"{self.url}{path}", content=json.dumps(body).encode())
        return json.loads(response.content)["result"]

    async def page(self, field: str, descending: bool) -> Any:
        """Every point's one field, in parts as long as the memory's, ordered; then fifty points whole."""
        found: list[tuple[str, str]] = []
        offset: Any = None
        while True:
            body = {"limit": 2000, "with_payload": [field], "with_vector": False, "offset": offset}
            result = await self.ask("POST", "/points/scroll", body)
            found += [(point["payload"][field], point["id"]) for point in result["points"]]
            offset = result["next_page_offset"]
            if offset is None:
                break
        found.sort(reverse=descending)
        return await self.ask("POST", "/points", {"ids": [name for _, name in found[:50]], "with_payload": True})

    async def page_by_index(self) -> Any:
        """The first points in the server's own order."""
        order = {"key": "timestamp", "direction": "desc"}
        return await self.ask("POST", "/points/scroll", {"limit": 50, "order_by": order, "with_payload": True})

    async def recall(self, vector: Sequence[float]) -> Any:
        """One search."""
        return await self.ask("POST", "/points/search", {"vector": vector, "limit": 10, "with_payload": True})

    async def bulk(self, start: int) -> None:
        """What storing is made of: write new points, delete others of the same keys."""
        for first in range(start, start + BULK, 250):
            points = [point(number) for number in range(first, first + 250)]
            await self.ask("PUT", "/points?wait=true", {"points": points})
            keys = {"key": "key", "match": {"any": [one["payload"]["key"] for one in points]}}
            others = {"must": [keys], "must_not": [{"has_id": [one["id"] for one in points]}]}
            await self.ask("POST", "/points/delete?wait=true", {"filter": others})


def point(number: int) -> dict[str, Any]:
    """One made-up memory."""
    chance = random.Random(number)
    text = " ".join(chance.choices(WORDS, k=30))
    seconds = number % 86_400
    when = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T{seconds // 3600:02}:{seconds // 60 % 60:02}:00+00:00"
    payload = {"key": f"key {number:07}", "content": text, "category": WORDS[number % 5], "timestamp": when}
    vector = [chance.uniform(-1, 1) for _ in range(DIMENSIONS)]
    return {"id": str(uuid.UUID(int=chance.getrandbits(128))), "payload": payload, "vector": vector}


async def _measured(base: str, rows: int, rounds: int) -> None:
    memory = QdrantMemory(Address(base, NAME), embedder=Instant(), seconds=600)
    bare = Bare(base)
    await bare.ask("PUT", "", {"vectors": {"size": DIMENSIONS, "distance": "Cosine"}})
    for first in range(0, rows, 1000):
        await bare.ask("PUT", "/points", {"points": [point(number) for number in range(first, first + 1000)]})
    await memory.open()
    vector = np.ones(DIMENSIONS, dtype=np.float32)
    numbers = iter(range(rows, 10**9, BULK))

    async def bulk() -> None:
        first = next(numbers)
        made = [point(number)["payload"] for number in range(first, first + BULK)]
        await memory.store_batch([Draft(one["key"], one["content"], one["category"]) for one in made])

    ways: dict[str, tuple[Way, Way]] = {
        "first page, newest": (
            lambda: memory.page(MemoryFilter(), NEWEST_FIRST, None, 50),
            lambda: bare.page("timestamp", True),
        ),
        "first page, by key": (
            lambda: memory.page(MemoryFilter(), BY_KEY, None, 50),
            lambda: bare.page("key", False),
        ),
        "recall": (
            lambda: memory.search(RecallRequest("tea", 10), profile_for(NEWEST), ScoringSettings(), vector),
            lambda: bare.recall(vector.tolist()),
        ),
        f"store {BULK:,}": (bulk, lambda: bare.bulk(next(numbers))),
    }
    await _compared(ways, rows, rounds)
    ours, alone = ways["first page, newest"]
    held, held_bare = await _longest_hold(ours), await _longest_hold(alone)
    print(f"{rows:>8,} rows  event loop held at most {held:.0f} ms in a page, {held_bare:.0f} ms in the bare one")
    await bare.ask("PUT", "/index?wait=true", {"field_name": "timestamp", "field_schema": "datetime"})
    await memory.open()
    await _compared({"first page by index": (ours, bare.page_by_index)}, rows, rounds)
    await memory.close()
    await bare.client.aclose()


async def _compared(ways: Mapping[str, tuple[Way, Way]], rows: int, rounds: int) -> None:
    for name, (ours, alone) in ways.items():
        taken = await _in_turns({"ours": ours, "bare": alone}, rounds)
        ratio = taken["ours"] / taken["bare"]
        print(f"{rows:>8,} rows  {name:<20} {taken['ours']:9.1f} ms  bare {taken['bare']:9.1f} ms  ratio {ratio:.2f}")


async def _in_turns(ways: Mapping[str, Way], rounds: int) -> dict[str, float]:
    """The median milliseconds of each way, in turns after one warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for at in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            await way()
            if at:
                taken[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}


async def _longest_hold(way: Way) -> float:
    """How long nothing else could run at worst while this was under way, in milliseconds."""
    task = asyncio.ensure_future(way())
    longest, last = 0.0, time.perf_counter()
    while not task.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last - 0.001), now
    return longest * 1000


def main(rounds: int, sizes: Sequence[int]) -> None:
    """Measure at each size, on a server of its own."""
    for rows in sizes:
        command = [sys.executable, "-m", "support.qdrant_server"]
        server = subprocess.Popen(
            command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        try:
            asyncio.run(_measured(f"http://127.0.0.1:{server.stdout.readline().strip()}", rows, rounds))
        finally:
            server.communicate("")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, [*map(int, sys.argv[2:])] or [10_000, 100_000])
