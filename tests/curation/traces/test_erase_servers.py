"""A store on a server, or one that another program copies: its rows go, its neighbours stay, what is kept is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from erase_samples import OTHERS, TEXT, bytes_left
from support.lucid_program import write_program
from support.opened import opened as library_of
from support.postgres_place import PostgresPlace
from support.postgres_server import running_postgres
from support.qdrant_server import serving
from support.redis_server import NO_SERVER, running_redis, server_program
from support.small_store import make

from zeroclaw_tui.curation.changes import remove_memories, store_memory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.purge_plan import plan_purge
from zeroclaw_tui.curation.traces.erase import EraseReport, erase_texts, plan_erase
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.query import MemoryFilter

CONTENTS = (OTHERS[0], f"I met {TEXT.upper()}", OTHERS[1], f"{TEXT} again")
CONFIG = '[memory]\nbackend = "none"\nauto_save = false\n'
KEPT = {"redis": "append-only file", "postgres": "write-ahead log", "qdrant": "snapshots"}


@dataclass(frozen=True)
class Store:
    """An empty store on a server."""

    backend: str
    location: str


@pytest.fixture(scope="module")
def postgres():
    with running_postgres() as server:
        yield server


@pytest.fixture
def place(postgres, request):
    place = PostgresPlace(postgres, f"erase{abs(hash(request.node.name)) % 10**9}")
    place.make_table("key")
    return place


@pytest.fixture(params=["redis", "postgres", "qdrant"])
def store(request):
    if request.param == "redis":
        if server_program() is None:
            pytest.skip(NO_SERVER)
        with running_redis() as redis:
            yield Store("redis", redis.url())
    elif request.param == "postgres":
        yield Store("postgres", request.getfixturevalue("place").url)
    else:
        with serving() as qdrant:
            qdrant.add("zeroclaw_memories", 16)
            yield Store("qdrant", f"{qdrant.base}/collections/zeroclaw_memories")


@pytest.fixture
def opened(tmp_path):
    (tmp_path / "zc").mkdir()
    embeds = 'embedding_provider = "local"\nembedding_dimensions = 16\n'
    (tmp_path / "zc" / "config.toml").write_text(CONFIG + embeds)

    return lambda backend, location: library_of(config_dir=tmp_path / "zc", backend=backend, location=location)


async def _fill(library: Library) -> None:
    """Two memories stay; of the two with the text one is in the trash."""
    for at, content in enumerate(CONTENTS):
        await store_memory(library, Draft(f"key{at}", content))
    await remove_memories(library, await plan_purge(library, MemoryFilter(contains="again")), "purge")


async def _erased(library: Library) -> EraseReport:
    return await erase_texts(library, await plan_erase(library, TextMatcher([TEXT])))


async def _contents(library: Library) -> list[str]:
    return sorted(entry.content for entry in await library.memory.list())


async def test_rows_are_erased_and_what_a_server_keeps_is_reported(store, opened, tmp_path):
    async with opened(store.backend, store.location) as library:
        await _fill(library)
        plan = await plan_erase(library, TextMatcher([TEXT]))
        # Of new rows of a store with transactions the journal has no content.
        in_trash = 1 if store.backend == "postgres" else 3
        assert {(place.kind, place.count) for place in plan.places} == {("store", 1), ("trash", in_trash)}
        report = await erase_texts(library, plan)
        assert report.left == ()
        assert report.is_complete
        kept = {one.place: one.why for one in report.scan.skipped}[library.memory.about.location]
        assert KEPT[store.backend] in kept
        assert any(words in kept for words in ("not ours to look into", "this program cannot read"))
        assert report.sentences()[-1] == "Nothing is left in the places that were searched."
        assert await _contents(library) == sorted(OTHERS[:2])
        again = await _erased(library)
        assert again.is_complete
        assert [one.place for one in again.scan.skipped] == [library.memory.about.location]
    assert bytes_left(tmp_path) == []


async def test_a_store_that_cannot_be_read_again_is_reported(place, opened, monkeypatch):
    async with opened("postgres", place.url) as library:
        await store_memory(library, Draft("key", TEXT))
        plan, apply = await plan_erase(library, TextMatcher([TEXT])), library.memory.apply

        async def apply_and_break(*arguments, **options):
            result = await apply(*arguments, **options)
            place.run("ALTER TABLE memories RENAME TO elsewhere")
            return result

        monkeypatch.setattr(library.memory, "apply", apply_and_break)
        report = await erase_texts(library, plan)
        assert not report.is_complete
        assert library.memory.about.location in [one.place for one in report.left]


@pytest.fixture
def lucid(tmp_path, monkeypatch):
    """An install that hands its memories to lucid; gives the home folder."""
    write_program(tmp_path / "bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    folder = tmp_path / ".zeroclaw"
    (folder / "workspace" / "memory").mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\nbackend = "lucid"\nauto_save = true\n')
    make(folder / "workspace" / "memory" / "brain.db", "G2", [{"content": text} for text in CONTENTS])
    return tmp_path


def _lucid_database(home: Path, *contents: str) -> Path:
    """A database of lucid's own with these memories."""
    path = home / ".lucid" / "memory.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE memories (id TEXT PRIMARY KEY, type TEXT, content TEXT, gist TEXT)")
        connection.executemany("INSERT INTO memories VALUES (?, 'decision', ?, '')", enumerate(contents))
    return path


async def test_lucids_own_database_is_reported_and_left(lucid):
    """What it was given fills a page and more, so that in its file the text is not in one piece."""
    long = f"{'x' * 4040}{TEXT}{'y' * 4000}"
    theirs = _lucid_database(lucid, OTHERS[0], *(f"{'-' * at}{long}" for at in range(0, 60, 6)))
    before = theirs.read_bytes()
    async with library_of(config_dir=lucid / ".zeroclaw") as library:
        report = await _erased(library)
        assert [(one.kind, one.place, one.count) for one in report.left] == [("lucid", str(theirs), 10)]
        assert "has no delete" in report.left[0].why
        assert await _contents(library) == sorted(OTHERS[:2])
    assert theirs.read_bytes() == before
    assert bytes_left(lucid / ".zeroclaw") == []
