"""A Redis store beside what bare redis-py takes for the same answer, at 10,000 and 100,000 memories.

Run it with `python tests/bench/redis_pages.py [rows ...]`; it starts a redis-server of its own. The last column is how
many times the bare statements' time ours takes. The bare way to a listing is SCAN, MGET in batches, the JSON read and
sorted by time: what the tutorial's own code does, but in batches.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.redis_server import PASSWORD, RedisServer, running_redis

from zeroclaw_tui.backends.redis import RedisMemory
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.query import EXCERPTS, Query

PAGE = 50
Way = Callable[[], Awaitable[object]]


async def everything(client: Any) -> list[dict[str, Any]]:
    names = sorted({name async for name in client.scan_iter(match="memory:*", count=1000)})
    found = []
    for start in range(0, len(names), 500):
        found += [json.loads(value) for value in await client.mget(names[start : start + 500])]
    return sorted(found, key=lambda fields: (fields["timestamp"], fields["key"]), reverse=True)


async def medians(ways: dict[str, Way], rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            await way()
            if turn:
                taken[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}


async def measure(rows: int, server: RedisServer) -> None:
    from redis.asyncio import Redis

    client = Redis(port=server.port, password=PASSWORD, protocol=2)
    await client.flushall()
    memory = RedisMemory(server.url())
    await memory.open()
    drafts = [Draft(f"key {number:06}", f"content {number} of some words, as usual", "daily") for number in range(rows)]

    async def bare_store() -> None:
        for start in range(0, rows, 250):
            pipeline = client.pipeline(transaction=True)
            for draft in drafts[start : start + 250]:
                fields = {"id": str(uuid.uuid4()), "key": draft.key, "content": draft.content, "category": "Daily"}
                fields |= {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%S+00:00"), "score": None}  # type: ignore[dict-item]
                pipeline.set(f"memory:{draft.key}", json.dumps(fields))
            await pipeline.execute()

    async def first_page() -> object:
        await client.set("other", "a write")
        return await memory.rows(Query(EXCERPTS, limit=PAGE))

    async def bare_recall() -> object:
        return [fields for fields in await everything(client) if "content 77" in fields["content"].lower()][:10]

    async def recall_anew() -> object:
        await client.set("other", "a write")
        return await memory.recall("content 77", 10)

    async def bare_page() -> object:
        return (await everything(client))[:PAGE]

    async def one_page() -> object:
        return await memory.rows(Query(EXCERPTS, limit=PAGE))

    rounds = 5 if rows <= 10_000 else 3
    pairs: list[tuple[str, Way, Way]] = [
        ("store all, new", bare_store, lambda: memory.store_batch(drafts)),
        ("get one key", lambda: client.get("memory:key 000777"), lambda: memory.get("key 000777")),
        ("first page, read anew", bare_page, first_page),
        ("page, nobody wrote", bare_page, one_page),
        ("recall, read anew", bare_recall, recall_anew),
        ("recall, nobody wrote", bare_recall, lambda: memory.recall("content 77", 10)),
    ]
    for name, bare, ours in pairs:
        if name.startswith("store"):
            taken = {}
            for way, deed in (("bare", bare), ("ours", ours)):
                await client.flushall()
                start = time.perf_counter()
                await deed()
                taken[way] = (time.perf_counter() - start) * 1000
        else:
            taken = await medians({"bare": bare, "ours": ours}, rounds)
        theirs, mine = taken["bare"], taken["ours"]
        print(f"{rows:>8,}  {name:24} {theirs:10.1f} ms {mine:10.1f} ms {mine / theirs:6.2f} x")
    await memory.close()
    await client.aclose()


def main() -> None:
    print(f"{'rows':>8}  {'':24} {'bare':>13} {'ours':>13} {'':>8}")
    with running_redis() as server:
        for rows in [int(text) for text in sys.argv[1:]] or [10_000, 100_000]:
            asyncio.run(measure(rows, server))


if __name__ == "__main__":
    main()
