"""Two tables of one PostgreSQL database are two stores: a URL names each, and what is done to one is undone there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.postgres_place import PASSWORD, PostgresPlace
from support.postgres_server import PostgresServer, running_postgres

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.tui.widgets.header import StoreHeader

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


def test_health_names_the_table_also_one_that_is_not_there(place: PostgresPlace, memory: Run, tmp_path: Path) -> None:
    told = json.loads(memory("health", "--location", f"{place.url}?table=notes&schema=team", "--json").stdout)
    assert told["location"].endswith("?schema=team&table=notes")
    assert (told["ok"], told["facts"]["schema"], told["facts"]["table"]) == (True, "team", "notes")
    assert not [finding for finding in told["findings"] if "option" in finding]
    wrong = memory("list", "--location", f"{place.url}?table=no-tes")
    assert (wrong.returncode, "no name that ZeroClaw takes" in wrong.stderr) == (2, True)
    in_config(tmp_path / "zc", place)
    place.run("DROP TABLE team.notes")
    told = json.loads(memory("health", "--config-dir", str(tmp_path / "zc"), "--json").stdout)
    assert (told["ok"], told["location"].partition("?")[2]) == (True, "schema=team&table=notes")
    assert "schema=team&table=notes" in told["findings"][0]
    assert "No memories yet, nor a place for them" in told["findings"][0]


def in_config(folder: Path, place: PostgresPlace) -> MemoryConfig:
    """The config of an install that names the table team.notes itself."""
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        '[memory]\nbackend = "postgres"\nauto_save = true\n'
        f'[storage.provider.config]\ndb_url = "{place.url}"\nschema = "team"\ntable = "notes"\n'
    )
    return configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder)})[0]


async def test_a_change_is_undone_only_in_the_table_it_was_made_in(
    place: PostgresPlace, tmp_path: Path, memory: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_dir = tmp_path / "zc"
    config = in_config(config_dir, place)
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    options = ("--config-dir", str(config_dir), "--yes")
    stored = memory("store", "pet", "Cat", *options[:2])
    assert stored.returncode == 0, stored.stderr
    library = await open_library(config)
    try:
        header = StoreHeader()
        header.show(library)
        assert header.location.endswith(f"/{place.database}?schema=team&table=notes")
    finally:
        await library.close()
    assert memory("undo", "--location", f"{place.url}?schema=public&table=memories", *options).returncode == 1
    assert count(place, "team.notes") == 1
    undone = memory("undo", *options)
    assert undone.returncode == 0, undone.stderr
    assert count(place, "team.notes") == 0
