"""`copy` from every kind of store to every kind: each content arrives, checked without this program."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from copying_world import copied, install_in, opened
from support.postgres_server import PostgresServer
from support.qdrant_points import PointStore
from support.qdrant_server import QdrantServer, serving
from support.redis_server import RedisServer, running_redis
from support.small_store import blob

TEXTS = ("plain", "two\nlines", "  blanks  ", "花生 – ünïcode", "- a dash", "# a head", "x" * 5000)
ROWS = [
    {
        "key": f"key {at}",
        "content": f"{TEXTS[at % len(TEXTS)]} {at}",
        "category": ("core", "daily", "conversation", "recipes")[at % 4],
        "session_id": "s1" if at % 3 == 0 else None,
        "embedding": blob(1, at, 2) if at % 5 == 0 else None,
        "created_at": f"2026-03-0{at % 9 + 1}T10:00:0{at % 10}.123456789+00:00",
    }
    for at in range(28)
]  # fmt: skip
KINDS = (
    "sqlite", "lucid", "markdown", "postgres", "postgres with agents", "postgres of the tutorial", "qdrant", "redis",
)  # fmt: skip
TUTORIAL = """
CREATE SCHEMA {0}; CREATE TABLE {0}.memories (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), key TEXT UNIQUE NOT NULL,
content TEXT NOT NULL, category TEXT NOT NULL, timestamp TIMESTAMPTZ DEFAULT NOW(), embedding REAL[]);
"""


@dataclass
class World:
    """A server of each kind, with a separate location for every store."""

    folder: Path
    postgres: PostgresServer
    redis: RedisServer
    qdrant: QdrantServer

    def place(self, kind: str, name: str, number: int) -> tuple[str, str, str]:
        """Return backend, location and version of a new store of a kind."""
        if kind.startswith("postgres"):
            if kind == "postgres of the tutorial":
                self.postgres.run_as("zeroclaw", "secret", "matrix", TUTORIAL.format(name))
            version = "0.8.4" if kind == "postgres with agents" else "0.7.5"
            return "postgres", f"{self.postgres.url('zeroclaw', 'secret', 'matrix')}?schema={name}", version
        if kind == "redis":
            return kind, self.redis.url(number), "0.7.5"
        if kind == "qdrant":
            return kind, f"{self.qdrant.base}/collections/{name}", "0.7.5"
        return kind, str(self.folder / (name if kind == "markdown" else f"{name}.db")), "0.7.5"

    def contents(self, kind: str, name: str, number: int) -> Counter[str]:
        """Return the contents, read without this program; of notes the text of every line without its key."""
        if kind.startswith("postgres"):
            said = self.postgres.run(f"SELECT json_agg(content) FROM {name}.memories", "matrix")
            return Counter(json.loads(said))
        if kind == "redis":
            said = self.redis.say(f'SELECT {number}\r\nEVAL "{REDIS_TEXTS}" 0').decode()
            return Counter(json.loads(said[said.index("[") : said.rindex("]") + 1]))
        if kind == "qdrant":
            points = self.qdrant.collections[name]
            assert isinstance(points, PointStore)
            return Counter(str(payload["content"]) for payload in points.payloads.values())
        path = self.folder / (name if kind == "markdown" else f"{name}.db")
        if kind == "markdown":
            files = [path / "MEMORY.md", *sorted((path / "memory").glob("*.md"))]
            lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
            return Counter(KEY.sub("", line) for line in lines if line.startswith("- "))
        with closing(sqlite3.connect(path)) as connection:
            return Counter(text for (text,) in connection.execute("SELECT content FROM memories"))


KEY = re.compile(r"- \*\*key \d+\*\*: ")
REDIS_TEXTS = (
    "local t={} for _,k in ipairs(redis.call('KEYS','memory:*')) do "
    "t[#t+1]=cjson.decode(redis.call('GET',k)).content end return cjson.encode(t)"
)


@pytest.fixture(scope="module")
def world(postgres, tmp_path_factory):
    postgres.make_user("zeroclaw", "secret", owns="matrix")
    with running_redis() as redis, serving() as qdrant:
        yield World(tmp_path_factory.mktemp("matrix"), postgres, redis, qdrant)


def _in_notes(texts: Counter[str]) -> Counter[str]:
    """Convert texts as lines of notes do: line breaks become blanks, and surrounding ones are trimmed."""
    return Counter(" ".join(text.split("\n")).strip() for text in texts.elements())


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
async def test_a_store_is_copied_to_its_own_kind_and_to_the_next(number, world, tmp_path):
    """Each kind is read once and written twice."""
    await _copy_to({number, (number + 1) % len(KINDS)}, number, world, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
async def test_a_store_is_copied_to_every_kind(number, world, tmp_path):
    await _copy_to(range(len(KINDS)), number, world, tmp_path)


async def _copy_to(targets: Collection[int], number: int, world: World, tmp_path: Path) -> None:
    """Copy a database to the source kind first, then from there to each target."""
    kind = KINDS[number]
    install_in(tmp_path, ROWS)
    config = tmp_path / "zc" / "config.toml"
    config.write_text(config.read_text() + 'embedding_provider = "local"\nembedding_dimensions = 16\n')
    first = f"source{number}_{len(targets)}"
    backend, location, version = world.place(kind, first, 0)
    async with opened(tmp_path) as library:
        outcome = await copied(library, backend, location, profile=version)
        assert (outcome.count, outcome.differs) == (len(ROWS), 0)
    texts = world.contents(kind, first, 0)
    assert texts.total() == len(ROWS)
    async with opened(tmp_path, backend, location) as source:
        for at in sorted(targets):
            other = KINDS[at]
            name = f"target{number}_{len(targets)}_{at}"
            to, place, profile = world.place(other, name, at + 1)
            outcome = await copied(source, to, place, profile=profile)
            assert (outcome.count, outcome.verified, outcome.differs) == (len(ROWS), len(ROWS), 0), other
            arrived = world.contents(other, name, at + 1)
            assert arrived == (_in_notes(texts) if other == "markdown" else texts), other
    world.redis.say("FLUSHALL")
