"""What the server filters, orders and counts is what reading every point gives, and most points stay there."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from qdrant_world import DIMENSIONS, INDEXES, KEY, NAME, memory_of
from support.qdrant_points import PointStore
from support.qdrant_server import QdrantServer, serving

from zeroclaw_tui.backends.qdrant.store import QdrantMemory
from zeroclaw_tui.memory.query import MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.testing.samples import NOW

BY_TIME = [Sort(field, descending) for field in (SortField.STORED, SortField.AGE) for descending in (True, False)]
ALL = MemoryFilter(superseded=Superseded.SHOW)
WORDS = ["Rust", "rust", "tea", "Zug 14", "14", "花生", "她喜欢吃饺子", "v1.20.3", "日記", "Straße", "%", "İstanbul"]
SERVERS: dict[str, tuple[str, dict[str, str]]] = {
    "all indexes": ("1.20.0", INDEXES),
    "no indexes": ("1.20.0", {}),
    "letters by text": ("1.15.0", INDEXES),
    "an index of words": ("1.15.0", INDEXES | {"content": "text"}),
    "words alone": ("1.19.1", {"timestamp": "datetime"}),
    "no counts": ("1.9.2", INDEXES),
}


def some_payload(chance: random.Random, at: int) -> dict[str, Any]:
    """Moments that are the same, of all lengths, in other offsets, of a day, none at all, and none that can be read."""
    when = NOW - timedelta(days=chance.choice([0, 1, 3, 6, 7, 20, 29, 31, 400]), seconds=chance.randrange(3))
    microseconds = chance.choice([0, 0, 5, 500_000, 123_456])
    texts = [
        f"{when:%Y-%m-%dT%H:%M:%S}+00:00",
        f"{when.replace(microsecond=microseconds):%Y-%m-%dT%H:%M:%S.%f}{chance.randrange(1000):03}+00:00",
        f"{when.replace(microsecond=500_000):%Y-%m-%dT%H:%M:%S}.500+00:00",
        f"{when + timedelta(hours=2):%Y-%m-%dT%H:%M:%S}+02:00",
        f"{when:%Y-%m-%d}",
        "some day",
        "",
    ]
    payload: dict[str, Any] = {
        "key": f"{chance.choice(WORDS)} {at}",
        "content": " ".join(chance.choices(WORDS, k=chance.randrange(6))),
        "category": chance.choice(["core", "daily", "talk", ""]),
        "timestamp": chance.choice(texts),
    }
    if chance.random() < 0.1:
        del payload["timestamp"]
    if chance.random() < 0.6:
        payload["session_id"] = chance.choice(["s1", "s2", "会话"])
    if chance.random() < 0.6:
        payload["agent_id"] = chance.choice(["ada", "default"])
    return payload


def some_points(seed: int, number: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {
            "id": at if chance.random() < 0.1 else str(uuid.UUID(int=chance.getrandbits(128))),
            "payload": some_payload(chance, at),
            "vector": [1.0] * DIMENSIONS,
        }
        for at in range(number)
    ]


def some_filter(chance: random.Random) -> MemoryFilter:
    moments = [
        (NOW - timedelta(days=chance.choice([1, 3, 7, 30]))).isoformat(), "2026-11-15", "no moment",
        (NOW - timedelta(days=7, seconds=1)).astimezone(UTC).isoformat(timespec="microseconds"),
    ]  # fmt: skip
    parts: dict[str, Any] = {
        "category": (chance.choice(["core", "daily", "", "none"]), "talk"),
        "session": tuple(chance.sample(["s1", "s2", "", "会话"], 2)),
        "agent": tuple(chance.sample(["ada", "default", "bob"], 2)),
        "older_than": chance.choice(moments),
        "newer_than": chance.choice(moments),
        "contains": chance.choice([*WORDS, "t 1", "生", "o"]),
        "regex": chance.choice([r"\d{2}", "^r"]),
    }
    chosen = chance.sample(sorted(parts), chance.randrange(4))
    return MemoryFilter(**{name: parts[name] for name in chosen})


@pytest.fixture
def servers() -> Iterator[tuple[QdrantServer, QdrantServer]]:
    with ExitStack() as stack:
        yield stack.enter_context(serving(KEY)), stack.enter_context(serving(KEY))


@pytest.fixture(params=SERVERS)
async def both(
    servers: tuple[QdrantServer, QdrantServer], request: pytest.FixtureRequest
) -> AsyncIterator[tuple[QdrantMemory, QdrantMemory]]:
    """The same points behind a server that can something, and behind one that gives points by id alone."""
    memories: list[QdrantMemory] = []
    for server, (version, indexes) in zip(servers, (SERVERS[request.param], ("1.7.4", {})), strict=True):
        server.version = version
        points = server.add(NAME, DIMENSIONS)
        points.indexes |= indexes
        points.upsert(some_points(7, 120))
        memory = memory_of(server)
        await memory.open()
        memories.append(memory)
    yield memories[0], memories[1]
    for memory in memories:
        await memory.close()


async def by_pages(memory: QdrantMemory, wanted: MemoryFilter, sort: Sort, size: int) -> list[str]:
    page = await memory.page(wanted, sort, None, size)
    found = [str(entry.handle) for entry in page.entries]
    while page.next is not None:
        page = await memory.page(wanted, sort, page.next, size)
        assert 0 < len(page.entries) <= size
        found += [str(entry.handle) for entry in page.entries]
    return found


async def test_random_filters_leave_the_same_rows_in_the_same_order_and_counts(
    both: tuple[QdrantMemory, QdrantMemory],
) -> None:
    able, plain = both
    chance = random.Random(11)
    texts = [MemoryFilter(contains="Zug 14"), MemoryFilter(contains="v1.20.3"), MemoryFilter(contains="花生")]
    for wanted in [ALL, *texts, *(some_filter(chance) for _ in range(2))]:
        for sort in chance.sample(BY_TIME, 2):
            order = list(await plain.order(wanted, sort))
            assert list(await able.order(wanted, sort)) == order
            assert await by_pages(able, wanted, sort, chance.choice([5, 50])) == order
            offset, limit = chance.randrange(len(order) + 3), chance.randrange(40)
            part, total = await able.order_part(wanted, sort, offset, limit)
            assert (list(part), total) == (order[offset : offset + limit], len(order))
        assert await able.facets(wanted, NOW.isoformat()) == await plain.facets(wanted, NOW.isoformat())
        assert await able.stamps(wanted) == await plain.stamps(wanted)
        assert await able.statistics(wanted) == await plain.statistics(wanted)
    for sort in BY_TIME:
        assert await by_pages(able, ALL, sort, 11) == list(await plain.order(ALL, sort))
    assert await able.list("core", "s1") == await plain.list("core", "s1")


async def test_keys_and_contents_are_found_alike(both: tuple[QdrantMemory, QdrantMemory]) -> None:
    able, plain = both
    for prefix in ("Rust", "花", "v1.", "", "%", "none"):
        assert await able.keys_starting(prefix, 7) == await plain.keys_starting(prefix, 7)
    everything = await plain.entries(ALL)
    contents, keys = [entry.content for entry in everything[:40]], [entry.key for entry in everything[30:50]]
    found, is_whole = await able.holding([*contents, "nobody's"], [*keys, "\udc80"], 30)
    wanted = [entry for entry in everything if entry.content in contents or entry.key in keys]
    assert is_whole
    assert sorted(found, key=lambda entry: entry.id) == sorted(wanted, key=lambda entry: entry.id)


def many(server: QdrantServer, number: int) -> PointStore:
    points = server.add(NAME, DIMENSIONS)
    points.upsert(
        [
            {
                "id": at,
                "payload": {
                    "key": f"key {at}", "content": f"text {at}", "category": ("core", "daily")[at % 2],
                    "timestamp": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=at)).isoformat(),
                },
                "vector": [1.0] * DIMENSIONS,
            }
            for at in range(number)
        ]
    )  # fmt: skip
    return points


async def test_of_many_points_only_those_that_are_seen_come_over(server: QdrantServer) -> None:
    many(server, 4000).indexes |= INDEXES
    memory = memory_of(server)
    await memory.open()
    begun = server.points_sent
    page = await memory.page(ALL, Sort(), None, 50)
    assert [entry.key for entry in page.entries] == [f"key {at}" for at in range(3999, 3949, -1)]
    page = await memory.page(ALL, Sort(), page.next, 50)
    assert page.entries[0].key == "key 3949"
    assert await memory.order_part(MemoryFilter(category=("core",)), Sort(), 10, 5) == (
        [str(at) for at in range(3978, 3968, -2)], 2000,
    )  # fmt: skip
    assert await memory.order_part(MemoryFilter(superseded=Superseded.ONLY), Sort(), 0, 0) == ([], 0)
    assert dict((await memory.facets(ALL, NOW.isoformat())).category) == {"core": 2000, "daily": 2000}
    assert await memory.count() == 4000
    assert (await memory.whole("17")).key == "key 17"
    got = await memory.get("key 18")
    assert got is not None
    assert [entry.key for entry in await memory.keys_starting("key 399", 500)][-1] == "key 399"
    assert len((await memory.holding(["text 5"], ["key 6"], 30))[0]) == 2
    in_time, is_whole = await memory.holding(["text 5"], ["key 6"], 0)
    assert ([entry.key for entry in in_time], is_whole) == (["key 6"], False)
    assert server.points_sent - begun < 300
    await memory.close()


async def test_without_an_index_a_listing_is_read_once_for_its_page_and_its_parts(server: QdrantServer) -> None:
    many(server, 3000)
    memory = memory_of(server)
    await memory.open()
    begun = server.points_sent
    page = await memory.page(ALL, Sort(), None, 50)
    part, total = await memory.order_part(ALL, Sort(), 50, 50)
    assert (page.entries[-1].handle, part[0], total) == ("2950", "2949", 3000)
    assert server.points_sent - begun == 3050
    await memory.store("another", "memory", "core")
    assert (await memory.order_part(ALL, Sort(), 0, 1))[1] == 3001
    await memory.close()


async def test_more_points_of_one_moment_than_a_page_has_come_in_the_order_of_their_ids(server: QdrantServer) -> None:
    points = many(server, 60)
    points.indexes |= INDEXES
    for at in range(20, 40):
        points.payloads[at]["timestamp"] = "2026-01-01T02:00:00.000001+00:00"
    memory = memory_of(server)
    await memory.open()
    for sort in BY_TIME:
        assert await by_pages(memory, ALL, sort, 7) == list(await memory.order(ALL, sort))
    await memory.close()


@pytest.mark.parametrize("version", ["1.9.2", "1.20.0"])
async def test_moments_that_only_one_side_can_read_lose_and_double_no_point(server: QdrantServer, version: str) -> None:
    server.version = version
    points = many(server, 90)
    points.indexes |= INDEXES
    for at, written in {
        0: "2026-1-5",
        40: "2026-1-5",
        41: "20260105T000000Z",
        42: "2026-W01-1",
        89: "2030-1-1",
    }.items():
        points.payloads[at]["timestamp"] = written
    memory = memory_of(server)
    await memory.open()
    for sort in BY_TIME:
        found = await by_pages(memory, ALL, sort, 4)
        assert sorted(found, key=int) == [str(at) for at in range(90)]
    await memory.close()


async def test_an_index_that_has_gone_is_made_up_for(server: QdrantServer) -> None:
    points = many(server, 60)
    points.indexes |= INDEXES
    memory = memory_of(server)
    await memory.open()
    wanted = await memory.facets(ALL, NOW.isoformat())
    points.indexes.clear()
    assert await memory.facets(ALL, NOW.isoformat()) == wanted
    assert await by_pages(memory, ALL, Sort(), 7) == [str(at) for at in range(59, -1, -1)]
    await memory.close()


@pytest.mark.parametrize(
    ("version", "index", "told"),
    [
        ("1.7.4", {}, "in the order of their ids alone"),
        ("1.15.0", {"timestamp": "keyword"}, "no datetime index on timestamp. `zeroclaw memory doctor --repair"),
        ("1.15.0", {"timestamp": "datetime"}, ""),
    ],
)
async def test_what_makes_a_big_collection_slow_is_told(
    server: QdrantServer, version: str, index: dict[str, str], told: str
) -> None:
    server.version = version
    points = server.add(NAME, DIMENSIONS)
    points.payloads |= {at: {"key": f"{at}", "content": "x"} for at in range(50_000)}
    points.indexes |= index
    memory = memory_of(server)
    await memory.open()
    slow = [notice for notice in memory.notices if "Each listing reads all 50,000 points" in notice]
    assert [told in notice for notice in slow] == ([True] if told else [])
    await memory.close()
