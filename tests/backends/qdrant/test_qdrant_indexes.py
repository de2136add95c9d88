"""The payload indexes that let Qdrant order and count by itself: offered, made when asked for, and gone by at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from qdrant_world import INDEXES, KEY, filled, memory_of
from support.qdrant_points import PointStore
from support.qdrant_server import QdrantServer
from support.warm_start import run_memory

from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter
from zeroclaw_tui.testing.samples import sample_entries

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MANY = 1_000
NAME = "make-payload-indexes"
NOW = "2026-03-01T00:00:00Z"


@pytest.fixture
def points(server: QdrantServer) -> PointStore:
    """As many points as make an index worth it."""
    entry = sample_entries()[0]
    names = (f"00000000-0000-4000-8000-{at:012}" for at in range(MANY))
    return filled(server, (replace(entry, id=name, key=f"key {name}") for name in names), agent_id="default")


@pytest.fixture
def run(server: QdrantServer, tmp_path: Path) -> Run:
    environment = {**os.environ, "HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
    (tmp_path / "config.toml").write_text(
        f'schema_version = 3\n[memory]\nbackend = "qdrant.default"\n'
        f'[storage.qdrant.default]\nurl = "{server.base}"\napi_key = "{KEY}"\n'
    )
    return lambda *words: run_memory(*words, "--config-dir", str(tmp_path), environment=environment)


def asked_for(server: QdrantServer) -> dict[str, str]:
    return {body["field_name"]: body["field_schema"] for method, path, body in server.requests if method == "PUT"}


def test_doctor_offers_them_and_makes_them_after_a_yes(server: QdrantServer, points: PointStore, run: Run) -> None:
    before = {name: dict(payload) for name, payload in points.payloads.items()}
    shown = json.loads(run("doctor", "--json").stdout)
    (finding,) = (finding for finding in shown["findings"] if finding["id"] == NAME)
    assert finding["repair"] == "make payload indexes"
    assert f"all {MANY:,} points are read" in finding["title"]
    assert NAME in run("health").stdout
    assert run("doctor", "--repair", NAME, "--dry-run").returncode == 0
    assert asked_for(server) == {}
    done = run("doctor", "--repair", NAME, "--yes")
    assert done.returncode == 0
    assert "There is an index on timestamp, category, session_id, agent_id now." in done.stdout
    assert asked_for(server) == points.indexes == INDEXES
    assert points.payloads == before
    assert NAME not in run("doctor").stdout + run("health").stdout


def test_what_may_only_be_read_gets_none(server: QdrantServer, points: PointStore, run: Run) -> None:
    done = run("doctor", "--repair", NAME, "--yes", "--read-only")
    assert done.returncode != 0
    assert "read-only" in done.stderr
    assert asked_for(server) == {}


@pytest.mark.parametrize(
    ("version", "wanted", "told"),
    [
        ("1.7.4", {}, "This Qdrant is 1.7: all 1,000 points are read to list them"),
        ("1.11.0", {"timestamp": "datetime"}, "This Qdrant is 1.11: all 1,000 points are read to count them"),
    ],
)
async def test_an_old_qdrant_gets_no_index_that_it_would_not_go_by(
    version: str, wanted: dict[str, str], told: str, server: QdrantServer, points: PointStore
) -> None:
    server.version = version
    memory = memory_of(server)
    await memory.open()
    assert any(told in sentence for sentence in (await memory.health()).findings)
    if wanted:
        assert (await memory.repair("make payload indexes")).indexes == tuple(wanted)
    else:
        with pytest.raises(Refused, match=r"which 1\.8 does by itself"):
            await memory.repair("make payload indexes")
    await memory.close()
    assert asked_for(server) == wanted


async def test_an_open_store_goes_by_them_at_once(server: QdrantServer, points: PointStore) -> None:
    memory = memory_of(server)
    await memory.open()
    facets = await memory.facets(MemoryFilter(), NOW)
    await memory.repair("make payload indexes")
    server.points_sent = 0
    assert await memory.facets(MemoryFilter(), NOW) == facets
    assert server.points_sent == 0
    assert len((await memory.page(MemoryFilter(), NEWEST_STORED, None, 5)).entries) == 5
    await memory.close()


def test_few_points_need_none(server: QdrantServer, run: Run) -> None:
    filled(server, sample_entries())
    assert NAME not in run("doctor").stdout
