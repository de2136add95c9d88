"""Every failure of a Qdrant server is one sentence with exit code 2 or 3, without key or password."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from qdrant_world import DIMENSIONS, KEY, NAME, embedder, filled, memory_of
from support.failures import failure_of
from support.http_endpoints import always, free_port, self_signed, serving
from support.memories import (
    NOT_REACHABLE,
    WRONG_USE,
    Draft,
    InspectorError,
    NotReachable,
    Refused,
    Unreadable,
    UsageError,
    sample_entries,
)
from support.opened import opened_memory
from support.places import EmbeddingConfig, MemoryConfig, install_at
from support.qdrant_points import Wrong
from support.stores import sentences

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.qdrant.client import configured_address, parse_address
from zeroclaw_tui.backends.qdrant.store import QdrantMemory
from zeroclaw_tui.memory.change import Change, Edit
from zeroclaw_tui.memory.query import VERSIONS, Query
from zeroclaw_tui.testing.tools import JournalRecorder, create, raises

PASSWORD = "hunter2hunter2"


@pytest.fixture
def unknown_hosts(monkeypatch):
    async def unknown(*arguments, **named):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", unknown)


async def opened(url: str, key: str = KEY, seconds: float = 8.0) -> InspectorError:
    memory = QdrantMemory(parse_address(url, NAME), key, embedder=embedder(), seconds=seconds)
    error = await failure_of(memory.open(), key or KEY, PASSWORD)
    await memory.close()
    return error


@pytest.mark.parametrize(
    ("key", "sentence"), [("wrong-key-8Zp2", "refuses the API key (HTTP 401)"), ("", "wants an API key (HTTP 401)")]
)
async def test_a_wrong_or_missing_key_is_reported(server, key, sentence):
    error = await opened(server.base, key)
    assert (error.exit_code, error.message) == (NOT_REACHABLE, f"Qdrant at {server.base} {sentence}.")


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("garbage", "What answers at {} is not Qdrant."),
        ("error", "Qdrant at {} has an internal error (HTTP 500)."),
        ("breaks off", "The connection to {} was lost."),
        ("hangs", "Qdrant at {} did not answer within 0.3 s."),
    ],
)
async def test_a_failing_server_is_reported_when_opened_and_later(server, mode, sentence):
    filled(server, sample_entries()[:3])
    # A short limit would mistake a slow machine for a hanging server.
    seconds = 0.3 if mode == "hangs" else 8.0
    async with opened_memory(memory_of(server, seconds=seconds)) as memory:
        server.mode = mode
        error = await opened(server.base, seconds=seconds)
        assert (error.exit_code, error.message) == (NOT_REACHABLE, sentence.format(server.base))
        kept = JournalRecorder()
        for action in (memory.list(), memory.count(), memory.recall("rust", 3), create(memory, Draft("a", "b"), kept)):
            assert (await raises(action, NotReachable)).message == error.message
        assert kept.changes == []
        server.mode = "ok"
        assert await memory.count() == 3


async def test_a_closed_port_and_an_unknown_host_are_reported(unknown_hosts):
    port = free_port()
    error = await opened(f"http://user:{PASSWORD}@127.0.0.1:{port}/")
    assert error.message == f"Nothing answers at http://127.0.0.1:{port}."
    error = await opened("http://nobody.invalid:6333")
    assert (error.message, error.exit_code) == ("Nothing answers at http://nobody.invalid:6333.", NOT_REACHABLE)


async def test_an_untrusted_certificate_and_a_server_without_tls_are_reported(tmp_path, server):
    with serving(always(200, {}), self_signed(tmp_path)) as endpoint:
        error = await opened(endpoint.base)
    assert "has a certificate that is not trusted here" in error.message
    error = await opened(server.base.replace("http:", "https:"))
    assert "does not speak TLS on this port" in error.message


async def test_collections_of_other_programs_are_refused(server):
    several = {"size": 4, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}
    for vectors in ({"text": {"size": 4, "distance": "Dot"}, "image": {"size": 8, "distance": "Dot"}}, several, {}):
        server.collections[NAME] = vectors
        error = await opened(server.base)
        assert isinstance(error, Unreadable)
        assert (error.exit_code, "no single unnamed vector" in error.message) == (NOT_REACHABLE, True)
    points = server.add(NAME, DIMENSIONS)
    points.upsert([{"id": 1, "payload": {"title": "a photo"}, "vector": [1.0] * DIMENSIONS}])
    error = await opened(server.base)
    assert error.message == f"The collection {NAME} is not ZeroClaw's: its points have no key and no content."


@pytest.mark.parametrize(("method", "path"), [("PUT", "/points"), ("POST", "/points/delete")])
async def test_a_write_without_an_answer_is_reported_as_uncertain(server, method, path):
    points = filled(server, sample_entries()[:1])

    def fail(asked, asked_path):
        if asked == method and asked_path.endswith(path):
            raise Wrong(503, "busy")

    async with opened_memory(memory_of(server)) as memory:
        (version,) = await memory.rows(Query(VERSIONS))
        server.before = fail
        change = Change(version, Edit({"category": "new"}) if method == "PUT" else None)
        error = await raises(memory.apply([change], JournalRecorder()), NotReachable)
    assert error.is_unsure
    assert "The last step is not confirmed" in error.hint
    assert len(points.payloads) == 1


async def test_a_read_only_key_can_read(server):
    filled(server, sample_entries()[:3])
    async with opened_memory(memory_of(server, str(server.read_only_key))) as memory:
        assert len(await memory.list()) == 3
        error = await raises(create(memory, Draft("a", "b")), NotReachable)
        assert "refuses the API key (HTTP 403)" in error.message
        assert await memory.count() == 3


async def test_a_deleted_collection_is_reported(server):
    filled(server, sample_entries()[:3])
    async with opened_memory(memory_of(server)) as memory:
        del server.collections[NAME]
        assert "HTTP 404" in (await raises(memory.list(), NotReachable)).hint


async def test_vectors_of_the_wrong_length_are_reported_and_refused(server):
    filled(server, sample_entries()[:3])
    async with opened_memory(memory_of(server, embedder=embedder(8))) as memory:
        assert "has vectors of 16 numbers, not of 8" in sentences(memory.about.notices)[0]
        assert (await memory.health()).findings == sentences(memory.about.notices)
        kept = JournalRecorder()
        for action in (create(memory, Draft("a", "b"), kept), memory.store("a", "b", "core"), memory.recall("rust", 3)):
            error = await raises(action, Refused)
            assert "embedding_dimensions to 16" in error.hint
        assert kept.changes == []


@pytest.mark.parametrize(
    "url", ["", "localhost:6333", "ftp://h", "http://", "http://h:port", "http://h/?api-key=secret1234", "http://h/#x"]
)
def test_an_invalid_qdrant_url_is_refused(url):
    with pytest.raises(UsageError) as caught:
        parse_address(url, NAME)
    assert caught.value.exit_code == WRONG_USE
    assert "secret1234" not in str(caught.value)


def configured(folder: Path, location: str | None = None, **storage: str) -> MemoryConfig:
    (folder / "config.toml").write_text("")
    install = install_at(folder, {}, folder)
    embedding = EmbeddingConfig("local", "local", DIMENSIONS)
    return MemoryConfig(install, "qdrant", schema=3, storage=storage, location=location, embedding=embedding)


@pytest.mark.parametrize(
    ("location", "shown", "has_key"),
    [
        (None, "http://one:6333/collections/mine", True),
        ("http://one:6333/collections/other%20one", "http://one:6333/collections/other%20one", True),
        (f"https://me:{PASSWORD}@two/q", "https://two/q/collections/mine", False),
        ("http://one:6334", "http://one:6334/collections/mine", False),
    ],
)
def test_a_url_option_wins_and_the_key_is_sent_only_to_its_own_server(tmp_path, location, shown, has_key):
    storage = {"url": "http://one:6333", "collection": "mine", "api_key": KEY}
    memory = create_memory(configured(tmp_path, location, **storage))
    assert memory.about.location == shown
    assert "agents" not in memory.why_not
    assert configured_address(storage, location)[1] == (KEY if has_key else "")
