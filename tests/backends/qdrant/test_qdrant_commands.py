"""The commands on a Qdrant collection, as a person types them, with an embedding service next to it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_world import DIMENSIONS, KEY, NAME, filled
from support.http_endpoints import Answer, HttpEndpoint, serving
from support.qdrant_points import PointStore
from support.qdrant_server import QdrantServer
from support.warm_start import run_memory

from zeroclaw_tui.embeddings.local import local_vector
from zeroclaw_tui.testing.samples import sample_entries

Run = Callable[..., subprocess.CompletedProcess[str]]


def embeddings(path: str, headers: Any, asked: Any) -> Answer:
    """OpenAI's protocol with the built-in embedder's vectors."""
    vectors = []
    for at, text in enumerate(asked["input"]):
        data = local_vector(text, DIMENSIONS)
        numbers = memoryview(data).cast("f").tolist()
        vectors.append({"embedding": numbers, "index": at})
    return 200, json.dumps({"data": vectors}).encode()


@pytest.fixture
def endpoint() -> Iterator[HttpEndpoint]:
    with serving(embeddings) as running:
        yield running


@pytest.fixture
def points(server: QdrantServer) -> PointStore:
    return filled(server, sample_entries()[:6], agent_id="default")


@pytest.fixture
def run(tmp_path: Path, server: QdrantServer, endpoint: HttpEndpoint) -> Run:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'schema_version = 3\n[memory]\nbackend = "qdrant.default"\nembedding_provider = "custom:{endpoint.base}"\n'
        f'embedding_dimensions = {DIMENSIONS}\n[storage.qdrant.default]\nurl = "{server.base}"\napi_key = "{KEY}"\n'
    )

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": "/usr/bin:/bin", "NO_PROXY": "127.0.0.1", **variables}
        done = run_memory(*arguments, "--config-dir", str(folder), environment=environment)
        assert KEY not in done.stdout + done.stderr
        return done

    return run


def test_list_recall_forget_and_undo(run: Run, server: QdrantServer, points: PointStore) -> None:
    place = ("--backend", "qdrant", "--location", server.base)
    before = {name: (dict(points.payloads[name]), points.vectors[name].tobytes()) for name in points.payloads}
    listed = json.loads(run("list", "--json", *place).stdout)
    assert {entry["key"] for entry in listed["entries"]} == {entry.key for entry in sample_entries()[:6]}
    recalled = json.loads(run("recall", "who is allergic to peanuts", "--json", *place).stdout)
    first = recalled["results"][0]
    assert (first["key"], first["stage"], recalled["scale"]) == ("food_allergy", "qdrant", "cosine")
    done = run("forget", "food_allergy", "--yes", *place)
    assert done.returncode == 0, done.stderr
    assert "food_allergy" not in {payload["key"] for payload in points.payloads.values()}
    assert run("undo", "--yes", *place).returncode == 0
    now = {name: (dict(points.payloads[name]), points.vectors[name].tobytes()) for name in points.payloads}
    assert now == before


def test_a_collection_that_is_not_there_yet_and_an_embedder_that_fails(
    run: Run, server: QdrantServer, endpoint: HttpEndpoint
) -> None:
    done = run("list")
    assert done.returncode == 0
    assert "No memories yet, nor a place for them in" in done.stderr
    assert f"{NAME}. ZeroClaw makes it at its first start" in done.stderr
    points = filled(server, sample_entries()[:6])
    endpoint.answering = lambda path, headers, asked: (500, b"{}")
    for verb in (("store", "drink", "tea"), ("recall", "tea")):
        done = run(*verb)
        assert done.returncode == 3, done.stdout
        assert "has an internal error" in done.stderr
    assert len(points.payloads) == 6
