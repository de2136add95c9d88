"""Health: what is found wrong with a real database, its repair, and the numbers at the head."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.replaying import FixedEmbedder
from support.rooms import RoomApp
from support.screens import WIDE, said, screen_lines, screen_text, screen_words
from support.settling import press, running, until
from textual.screen import ModalScreen
from upkeep_samples import NOW, go_to, room_app

from zeroclaw_tui.config.locations import Install, OpenOptions
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.curation import doctor, reindex
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.reindex import ReindexOutcome, ReindexPlan
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.errors import Locked
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

DATES = ("2026-03-02", "2026-03-02", "2026-05-20", "2026-10-11")


def made(folder: Path, rows: list[dict[str, Any]] | None = None, *, generation: str = "G1") -> Path:
    """A database of four memories that grew over some months."""
    file = folder / "workspace" / "memory" / "brain.db"
    file.parent.mkdir(parents=True)
    usual = [
        {
            "key": f"key{at}", "content": "word " * (40 * at + 1), "category": "core" if at % 2 else "daily",
            "created_at": f"{day}T08:00:00+00:00",
        }
        for at, day in enumerate(DATES)
    ]  # fmt: skip
    small_store.make(file, generation, usual if rows is None else rows)
    file.parent.chmod(0o700)
    file.chmod(0o600)
    return file


def app_of(file: Path) -> RoomApp:
    root = file.parents[1]
    own = root.parent / "own"
    install = Install(root.parent, root, file, "workspace", "the path given", own)

    async def opened() -> Library:
        return await open_library(MemoryConfig(install))

    return room_app(opened, "health")


def without_triggers(file: Path) -> Path:
    """The keyword index learns of no new memory."""
    small_store.change(file, "DROP TRIGGER memories_ai")
    return file


def with_empty_pages(file: Path) -> Path:
    small_store.change(file, "CREATE TABLE much AS SELECT zeroblob(4000000) AS bytes")
    small_store.change(file, "DROP TABLE much")
    return file


async def test_a_repair_is_shown_with_its_backup_done_and_looked_at_again(tmp_path: Path) -> None:
    """Not by accident. The size of the store and its growth are below the findings."""
    file = without_triggers(made(tmp_path))
    async with running(app_of(file), WIDE) as (app, pilot):
        assert "1 serious" in app.words
        assert any(line.startswith("▌✗") for line in app.lines)
        numbers = "4 memories · 1.2 KB of text · 2026-03-02 to 2026-10-11 · most on one day: 2 on 2026-03-02"
        assert numbers in app.words
        for key in ("enter", "escape", "n"):
            await press(pilot, "enter")
            assert "Rebuild keyword index?" in app.words
            assert "1. Create a backup of the whole database." in app.words
            await press(pilot, key)
            assert "1 serious" in app.words
        await press(pilot, "enter", "y")
        assert "The database has ZeroClaw's own tables, index and triggers again" in app.message
        assert "The backup is" in app.message
        assert "serious" not in app.words
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memories_ai'").fetchone() == (1,)
        await press(pilot, "escape")
        assert app.given == [True]


async def test_what_cannot_be_repaired_here_says_what_to_do(tmp_path: Path) -> None:
    rows = [{"key": "with", "embedding": small_store.blob(1, 2, 3)}, {"key": "without"}]
    async with running(app_of(made(tmp_path, rows))) as (app, pilot):
        await go_to(pilot, app, "without a vector")
        await press(pilot, "enter")
        assert "Once that is done, run `zeroclaw memory reindex`" in app.message
        await press(pilot, "q")
        assert app.given == [False]


async def test_compacting_closes_the_store_and_opens_it_again(tmp_path: Path) -> None:
    """The file is smaller, which is reported, and the store answers as before. Before that every page is checked."""
    file = with_empty_pages(made(tmp_path))
    async with running(app_of(file)) as (app, pilot):
        await go_to(pilot, app, "are not checked yet")
        await press(pilot, "enter")
        assert "Every page was checked." in app.words
        assert "are not checked yet" not in app.words
        before = file.stat().st_size
        await go_to(pilot, app, "compact")
        await press(pilot, "enter", "y")
        assert re.search(r"The database has \S+ KB now, \S+ MB before", app.message), app.message
        assert file.stat().st_size < before
        assert await app.library.memory.count() == 4
    assert len(list((tmp_path / "own" / "backups").iterdir())) == 1


async def test_where_compacting_fails_the_store_is_open_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def compact(*_: Any) -> Any:
        raise Locked("The agent (process 4711) has the database open.", hint="Stop it first.")

    monkeypatch.setattr(doctor, "compact", compact)
    async with running(app_of(with_empty_pages(made(tmp_path)))) as (app, pilot):
        await go_to(pilot, app, "compact")
        await press(pilot, "enter", "y")
        assert "process 4711" in app.message
        assert await app.library.memory.count() == 4


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[ReindexPlan]:
    """Making vectors asks no server; gives the plans that were carried out."""
    stamps = [RowVersion(f"id-{number}", "") for number in range(1204)]
    plan = ReindexPlan(
        tuple(stamps[:1180]), tuple(stamps[1180:]), 482_000, 120_500, "text-embedding-3-small", True, "openai"
    )
    runs: list[ReindexPlan] = []

    async def planned(library: Library, **_: Any) -> ReindexPlan:
        return plan

    async def filled(library: Library, plan: ReindexPlan, *, on_progress: Any) -> ReindexOutcome:
        runs.append(plan)
        return ReindexOutcome(600, 4, stopped=True)

    monkeypatch.setattr(reindex, "plan_reindex", planned)
    monkeypatch.setattr(reindex, "reindex", filled)
    return runs


async def test_vectors_are_made_once_a_person_knows_where_the_texts_go(tmp_path: Path, runs: list[ReindexPlan]) -> None:
    """Leaving the question makes none."""
    async with running(app_of(made(tmp_path)), WIDE) as (app, pilot):
        app.library.config = app.library.config._replace(embedding=EmbeddingConfig("openai"))
        app.library.embedder = FixedEmbedder(1.0, 2.0, 3.0)
        await press(pilot, "r")
        await go_to(pilot, app, "without a vector")
        await press(pilot, "enter", "escape")
        assert runs == []
        await press(pilot, "enter")
        assert "Create 1,204 embeddings?" in app.words
        assert "1,180 memories without an embedding. 24 memories with an outdated embedding." in app.words
        assert "about 120,500 tokens, leave this machine: text-embedding-3-small of openai" in app.words
        await press(pilot, "y")
        assert [plan.count for plan in runs] == [1204]
        assert "600 memories of 1,204 got an embedding. 4 memories skipped because of a newer change." in app.message
        assert "to create the others" in app.message


async def test_after_compacting_the_list_still_follows_what_other_programs_write(tmp_path: Path) -> None:
    """The connection that saw changes was let go of with the others; the one opened again sees them as well."""
    file = with_empty_pages(made(tmp_path))
    pace = Pace(debounce=0, poll=0.01, patience=30)
    app = InspectorApp(OpenOptions(path=file), clock=lambda: NOW, pace=pace)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(pilot, lambda: "4 memories" in screen_words(app))
        await pilot.press("3", "D")
        await until(pilot, lambda: "compact" in screen_words(app))
        await pilot.press("g")
        while not any(line.startswith("▌") and "compact" in line for line in screen_lines(app)):
            await pilot.press("j")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModalScreen))
        await pilot.press("y")
        await until(pilot, lambda: "The database has" in said(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.screen_stack[0])
        small_store.add(file, [{"id": "new", "key": "newcomer"}], 50)
        await until(pilot, lambda: "newcomer" in screen_text(app))
        assert "5 memories" in screen_words(app)
