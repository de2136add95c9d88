"""The stores of a real config folder: what is found, how it stands, and a copy from one to another."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from support.screens import WIDE, said, screen_text, screen_words
from support.settling import settled, until
from support.small_store import create_database
from support.two_stores import install_of_two_stores
from tui_samples import NOW, STILL, browser

from zeroclaw_tui.config.load import store_to_confirm
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.settings import confirm_store
from zeroclaw_tui.curation.candidates import Candidate, candidates, chosen_words, configs_for, standing_of
from zeroclaw_tui.tui.app import InspectorApp

SECRET = "hunter2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An install of before 0.8.0: brain.db with two memories, and notes with three."""
    return install_of_two_stores(tmp_path)


def known(folder: Path, environ: Mapping[str, str] | None = None) -> list[Candidate]:
    variables = environ or {}
    return list(candidates(config_of(folder, variables), variables))


def config_of(folder: Path, environ: Mapping[str, str] | None = None, **options: str) -> MemoryConfig:
    return configs_for(OpenOptions(path=folder, **options), environ or {})[0]  # type: ignore[arg-type]


def names(found: list[Candidate]) -> list[tuple[str, str]]:
    return [(one.name, one.why) for one in found]


def test_the_files_that_are_there_are_stores(folder: Path) -> None:
    assert names(known(folder)) == [
        ("sqlite", "config.toml"),
        ("markdown", "its Markdown notes"),
        ("none", "every config"),
    ]


def test_tables_of_the_config_and_every_variable_name_a_store_once(folder: Path) -> None:
    (folder / "config.toml").write_text(
        f'[memory]\nbackend = "sqlite"\n[memory.qdrant]\nurl = "http://localhost:6333"\ncollection = "mine"\n'
        f'[storage.provider.config]\nprovider = ""\ndb_url = "postgres://z:{SECRET}@db:5432/own"\n'
    )
    environ = {
        "ZEROCLAW_POSTGRES_URL": f"postgres://z:{SECRET}@db:5432/ours",
        "DATABASE_URL": f"postgres://z:{SECRET}@db:5432/another",
        "ZEROCLAW_DB_URL": f"postgres://z:{SECRET}@db:5432/ours",
        "ZEROCLAW_LUCID_CMD": "/usr/bin/lucid",
    }
    found = known(folder, environ)
    assert names(found) == [
        ("sqlite", "config.toml"),
        ("postgres", "config.toml, [storage.provider.config]"),
        ("qdrant", "config.toml, [memory.qdrant]"),
        ("lucid", "environment ZEROCLAW_LUCID_CMD"),
        ("markdown", "its Markdown notes"),
        ("postgres", "environment ZEROCLAW_POSTGRES_URL"),
        ("postgres", "environment DATABASE_URL"),
        ("none", "every config"),
    ]
    places = [one.location for one in found]
    assert "postgres://db:5432/own · public.memories" in places
    assert "http://localhost:6333 · mine" in places
    assert SECRET not in repr(places) + repr([chosen_words(one.config) for one in found])


def test_every_alias_of_the_third_schema_is_a_store(folder: Path) -> None:
    (folder / "config.toml").write_text(
        'schema_version = 3\n[memory]\nbackend = "postgres.work"\n'
        '[storage.postgres.work]\ndb_url = "postgres://db/work"\n[storage.postgres.home]\ndb_url = "postgres://db/home"\n'
    )
    found = names(known(folder))
    assert found[0] == ("postgres.work", "config.toml")
    assert ("postgres.home", "config.toml, [storage.postgres.home]") in found
    assert [name for name, _ in found].count("postgres.work") == 1


def test_database_url_is_read_only_until_it_is_confirmed(folder: Path) -> None:
    environ = {"DATABASE_URL": f"postgres://z:{SECRET}@db:5432/another"}
    foreign = next(one for one in known(folder, environ) if one.name == "postgres")
    assert foreign.is_foreign
    assert foreign.config.read_only
    name = store_to_confirm(foreign.config)
    assert name is not None
    confirm_store(foreign.config.install, name)
    again = next(one for one in known(folder, environ) if one.name == "postgres")
    assert not again.is_foreign
    assert not again.config.read_only


def test_after_switching_the_store_of_the_start_is_still_a_candidate(folder: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart.db"
    create_database(apart, "G1")
    started = config_of(folder, location=str(apart))
    markdown = next(one for one in candidates(started, {}) if one.name == "markdown")
    found = candidates(markdown.config, {}, started=started)
    assert found[0].is_current
    assert found[0].why == "its Markdown notes"
    assert [one.location for one in found if one.name == "sqlite"] == [
        str(apart),
        str(folder / "workspace" / "memory" / "brain.db"),
    ]


async def test_how_each_stands_is_told_with_what_it_cannot_and_why(folder: Path) -> None:
    told = {one.name: await standing_of(one, None) for one in known(folder)}
    assert told["sqlite"].count == 2
    assert {"keyword", "sessions", "write"} <= set(told["sqlite"].marks)
    assert told["markdown"].count == 3
    assert "write" in told["markdown"].marks
    assert "sessions" in dict(told["markdown"].cannot)
    assert told["none"].count == 0
    assert "write" in dict(told["none"].cannot)


async def test_a_server_that_is_not_there_or_never_answers_is_a_sentence(folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        environ = {"ZEROCLAW_POSTGRES_URL": f"postgres://z:{SECRET}@127.0.0.1:{port}/db"}
        hanging = next(one for one in known(folder, environ) if one.name == "postgres")
        standing = await standing_of(hanging, None, seconds=0.3)
        assert not standing.ok
        assert standing.summary == "no answer within 0.3 s"
    standing = await standing_of(hanging, None)
    assert not standing.ok
    assert SECRET not in standing.summary
    assert "127.0.0.1" in standing.summary


async def test_c_copies_the_shown_store_into_the_one_under_the_cursor(folder: Path) -> None:
    """With a plan that says what gets lost, and an outcome that was verified; the source keeps every byte."""
    source = folder / "workspace" / "memory" / "brain.db"
    before = source.read_bytes()
    app = InspectorApp(OpenOptions(path=folder), clock=lambda: NOW, pace=STILL)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(pilot, lambda: "2 memories" in screen_text(app))
        await settled(pilot)
        await pilot.press("b")
        await until(pilot, lambda: "3 answer" in screen_text(app))
        await pilot.press("C")
        await until(pilot, lambda: "This is the open store" in said(app))
        await pilot.press("j", "C")
        await until(pilot, lambda: "Copy 2 memories to" in screen_text(app))
        assert "2 new" in screen_words(app)
        await pilot.press("y")
        await until(pilot, lambda: "Copied 2 memories to" in said(app))
        assert "Verified 2 by comparing" in said(app)
        await until(pilot, lambda: "✓ answers 5 keyword" in screen_words(app))
        await pilot.press("enter")
        await until(pilot, lambda: "5 memories" in screen_text(app))
        assert browser(app).library is not None
    assert source.read_bytes() == before
    assert "ramen it is" in "".join(path.read_text() for path in (folder / "workspace").rglob("*.md"))
