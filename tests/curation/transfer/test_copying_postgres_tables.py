"""Two tables of one PostgreSQL database are two stores: a URL names each, and what is done to one is undone there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.postgres_place import PASSWORD, PostgresPlace
from support.postgres_server import PostgresServer, running_postgres

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


@pytest.fixture
def place(server: PostgresServer, request: pytest.FixtureRequest) -> PostgresPlace:
    """A database with a table of memories in public and an empty one of another name in another schema."""
    made = PostgresPlace(server, f"of_{abs(hash(request.node.name))}")
    made.make_table("key")
    made.fill("key")
    made.make_table("key", "team", "notes")
    return made


@pytest.fixture
def memory(tmp_path: Path) -> Run:
    """`zeroclaw memory` without any install."""
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [Path(sys.executable).parent / "zeroclaw", "memory", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120, check=False)

    return run


def count(place: PostgresPlace, table: str) -> int:
    return int(place.run(f"SELECT count(*) FROM {table}"))


def test_one_table_is_copied_to_another_of_the_same_database_never_to_itself_and_undone_there(
    place: PostgresPlace, memory: Run
) -> None:
    there = f"{place.url}?schema=team&table=notes"
    before = count(place, "public.memories")
    done = memory(
        *("copy", "--location", place.url, "--to", "postgres", "--to-location", there, "--yes", "--superseded", "show")
    )
    assert done.returncode == 0, done.stderr
    assert f"/{place.database}?schema=team&table=notes." in done.stdout.splitlines()[0]
    assert PASSWORD not in done.stdout + done.stderr
    assert count(place, "team.notes") == before
    listed = json.loads(memory("list", "--location", there, "--json").stdout)
    shown = place.url.replace(f":{PASSWORD}@", "@")
    assert listed["location"] == f"{shown}?schema=team&table=notes"
    assert json.loads(memory("list", "--location", place.url, "--json").stdout)["location"] == shown
    same = f"{place.url}?table=memories&schema=public"
    done = memory("copy", "--location", place.url, "--to", "postgres", "--to-location", same, "--yes")
    assert (done.returncode, "Source and target are the same store" in done.stderr) == (2, True)
    assert memory("undo", "--location", place.url, "--yes").returncode == 1
    undone = memory("undo", "--location", there, "--yes")
    assert undone.returncode == 0, undone.stderr
    assert (count(place, "team.notes"), count(place, "public.memories")) == (0, before)
