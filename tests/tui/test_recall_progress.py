"""Recalls that request the query's vector from an embeddings service, by a command and in the inspector."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.http_endpoints import serving
from support.inspector import Screen, running
from support.installs import make_install
from support.places import OpenOptions
from support.test_embedder import EmbeddingService, embed
from support.warm_start import run_memory

from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

KEY = "sk-test-0123456789abcdef"
REMOTE = "http://embeddings.example"


@pytest.fixture
def service():
    return EmbeddingService()


@pytest.fixture
def endpoint(service):
    with serving(service) as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    """An install without a config.toml. The last memory matches "tea" only by its vector."""
    texts = ["She likes green tea in the morning", "The tea shop closes at six", "Prefers Rust over Go"]
    contents = [*texts, "A beverage of leaves, hot, no sugar"]
    rows = [
        {"key": f"row{at}", "content": content, "embedding": embed("dense:8", meant).astype("<f4").tobytes()}
        for at, (content, meant) in enumerate(zip(contents, [*texts, "tea"], strict=True))
    ]
    return make_install(tmp_path / "zc", "G4", rows).config_dir


def configured(folder: Path, base: str) -> Path:
    """Configure the install with an embeddings endpoint."""
    (folder / "config.toml").write_text(
        f'schema_version = 3\n[memory]\nbackend = "sqlite"\nembedding_api_key = "{KEY}"\n'
        f'embedding_provider = "custom:{base}"\nembedding_model = "text-embedding-3-small"\nembedding_dimensions = 8\n'
    )
    return folder


def ran(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(folder.parent), **variables}
    return run_memory(*arguments, "--config-dir", str(folder), environment=environment)


def test_a_broken_endpoint_still_returns_the_keyword_hits(folder, endpoint, service):
    service.trouble = lambda texts: (500, b"oops", {"Retry-After": "0"})
    done = ran(configured(folder, endpoint.base), "recall", "tea", "--json")
    assert KEY not in done.stdout + done.stderr
    results = json.loads(done.stdout)["results"]
    assert {(found["key"], found["injected"]) for found in results} == {("row0", False), ("row1", False)}
    assert "has an internal error (HTTP 500), asked 3 times. Keyword hits only." in done.stderr
    (note,) = json.loads(done.stdout)["notes"]
    assert done.stderr == f"zeroclaw: {note}\n"
    assert len(service.asked) == 3
    explained = json.loads(ran(folder, "explain", "row0", "--query", "tea", "--json").stdout)
    assert (explained["injected"], explained["stopped_at"], explained["of"]) == (False, "recall", 0)
    why = "ZeroClaw's own recall fails without the message's vector, so the agent gets nothing."
    assert explained["verdict"] == f"It is not in the prompt: {why}"
    assert results[0]["not_injected_because"] == why


def test_a_memory_is_stored_with_its_vector_and_without_one_if_the_endpoint_fails(folder, endpoint, service):
    configured(folder, REMOTE)
    done = ran(folder, "store", "k", "Fresh leaves", "--json", HTTP_PROXY=endpoint.base)
    wanted = "the vector of a text: about 3 tokens; the text leaves"
    assert done.stderr.startswith(f"zeroclaw: Asking embeddings.example (text-embedding-3-small) for {wanted}")
    assert json.loads(done.stdout)["entry"]["embedding_dimensions"] == 8
    service.trouble = lambda texts: (401, b"")
    done = ran(folder, "store", "other", "Dry leaves", "--json", HTTP_PROXY=endpoint.base)
    document = json.loads(done.stdout)
    assert (document["count"], document["entry"]["embedding_dimensions"]) == (1, None)
    assert document["notes"][0].startswith("Not embedded: ")
    assert len(endpoint.requests) == 2


@asynccontextmanager
async def inspecting(folder: Path, base: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Screen]:
    monkeypatch.setenv("HOME", str(folder.parent))
    pace = Pace(debounce=0.0, poll=None, stopwatch=lambda: 0.0)
    options = OpenOptions(config_dir=configured(folder, base))
    app = InspectorApp(options, clock=lambda: datetime(2026, 3, 2, 12, tzinfo=UTC), pace=pace)
    async with running(app, (140, 40)) as screen:
        await screen.until(lambda: screen.rows.row_count == 4)
        yield screen


async def test_keyword_hits_are_shown_until_the_vector_arrives(folder, endpoint, service, monkeypatch):
    may_answer = threading.Event()
    service.trouble = lambda texts: None if may_answer.wait(60) else (500, b"")
    async with inspecting(folder, endpoint.base, monkeypatch) as screen:
        # All at once, as a paste does.
        await screen.pilot.press("slash")
        screen.search_bar.value = "tea"
        await screen.until("2 injected so far · getting the query vector from 127.0.0.1 …")
        assert screen.rows.row_count == 2
        may_answer.set()
        await screen.until(lambda: screen.rows.row_count == 4)
        screen.hides("the query's vector", "so far")
    assert service.asked == [["tea"]]


async def test_recreating_one_vector_says_what_was_sent(folder, endpoint, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", endpoint.base)
    async with inspecting(folder, REMOTE, monkeypatch) as screen:
        await screen.command("re_embed")
        asking = "Asking embeddings.example (text-embedding-3-small) for the vector of a text: about 9 "
        sent = "Its embedding now matches its content. Sent to embeddings.example."
        await screen.until(lambda: asking in screen.notifications and sent in screen.notifications)
