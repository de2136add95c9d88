"""Health: what is found wrong with a real database, its repair, and the numbers at the head."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.inspector import running
from support.replaying import FixedEmbedder
from support.screens import WIDE
from textual.screen import ModalScreen
from tui.installs import Row, Workspace, meal
from tui.samples import paced

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation import doctor, reindex
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import ReindexOutcome, ReindexPlan
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.errors import Locked

DATES = ("2026-03-02", "2026-03-02", "2026-05-20", "2026-10-11")


def healthy(folder: Path, rows: Sequence[Row] = ()) -> Workspace:
    """A store of four memories that grew over some months."""
    usual = [
        meal(f"key{at}", "word " * (40 * at + 1), category="core" if at % 2 else "daily", created_at=f"{day}T08:00:00Z")
        for at, day in enumerate(("2026-03-02", "2026-03-02", "2026-05-20", "2026-10-11"))
    ]
    return Workspace(folder, rows or usual, generation="G1")


def with_empty_pages(folder: Path) -> Workspace:
    """A store whose file could be smaller."""
    install = healthy(folder)
    small_store.change(install.database, "CREATE TABLE much AS SELECT zeroblob(4000000) AS bytes")
    small_store.change(install.database, "DROP TABLE much")
    return install


async def test_a_repair_is_shown_with_its_backup_done_and_looked_at_again(tmp_path: Path) -> None:
    """Not by accident. The size of the store and its growth are below the findings."""
    install = healthy(tmp_path)
    small_store.change(install.database, "DROP TRIGGER memories_ai")
    async with running(install.upkeep("health"), WIDE) as screen:
        screen.shows("1 serious")
        assert any(line.startswith("▌✗") for line in screen.lines)
        numbers = "4 memories · 1.2 KB of text · 2026-03-02 to 2026-10-11 · most on one day: 2 on 2026-03-02"
        screen.shows(numbers)
        for key in ("enter", "escape", "n"):
            await screen.press("enter")
            screen.shows("Rebuild keyword index?", "1. Create a backup of the whole database.")
            await screen.press(key)
            screen.shows("1 serious")
        await screen.press("enter", "y")
        screen.says("The database has ZeroClaw's own tables, index and triggers again", "The backup is")
        screen.hides("serious")
        with closing(sqlite3.connect(install.database)) as connection:
            assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memories_ai'").fetchone() == (1,)
        await screen.press("escape")
        assert screen.app.given == [True]


async def test_what_cannot_be_repaired_here_says_what_to_do(tmp_path: Path) -> None:
    rows = [{"key": "with", "embedding": small_store.blob(1, 2, 3)}, {"key": "without"}]
    async with running(healthy(tmp_path, rows).upkeep("health")) as screen:
        await screen.go_to("without a vector")
        await screen.press("enter")
        screen.says("no embeddings configured", "`zeroclaw memory reindex` shows what is sent where")
        await screen.press("q")
        assert screen.app.given == [False]


async def test_compacting_closes_the_store_and_opens_it_again(tmp_path: Path) -> None:
    """The file is smaller, which is reported, and the store answers as before. Before that every page is checked."""
    install = with_empty_pages(tmp_path)
    file = install.database
    async with running(install.upkeep("health")) as screen:
        await screen.go_to("are not checked yet")
        await screen.press("enter")
        screen.shows("Every page was checked.")
        screen.hides("are not checked yet")
        before = file.stat().st_size
        await screen.go_to("compact")
        await screen.press("enter", "y")
        assert re.search(r"The database has \S+ KB now, \S+ MB before", screen.said), screen.said
        assert file.stat().st_size < before
        assert await screen.app.library.memory.count() == 4
    assert len([*install.config_dir.rglob("backups/*")]) == 1


async def test_where_compacting_fails_the_store_is_open_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def compact(*_: Any) -> Any:
        raise Locked("The agent (process 4711) has the database open.", hint="Stop it first.")

    monkeypatch.setattr(doctor, "compact", compact)
    async with running(with_empty_pages(tmp_path).upkeep("health")) as screen:
        await screen.go_to("compact")
        await screen.press("enter", "y")
        screen.says("process 4711")
        assert await screen.app.library.memory.count() == 4


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[ReindexPlan]:
    """Making vectors asks no server; gives the plans that were carried out."""
    stamps = [RowVersion(f"id-{number}", "", "", "core", "") for number in range(1204)]
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
    async with running(healthy(tmp_path).upkeep("health"), WIDE) as screen:
        screen.app.library.config = screen.app.library.config._replace(embedding=EmbeddingConfig("openai"))
        screen.app.library.embedder = FixedEmbedder(1.0, 2.0, 3.0)
        await screen.press("r")
        await screen.go_to("without a vector")
        await screen.press("enter", "escape")
        assert runs == []
        await screen.press("enter")
        screen.shows("Create 1,204 embeddings?")
        screen.shows("1,180 memories without an embedding. 24 memories with an outdated embedding.")
        screen.shows("about 120,500 tokens, leave this machine: text-embedding-3-small of openai")
        await screen.press("y")
        assert [plan.count for plan in runs] == [1204]
        screen.says("600 memories of 1,204 got an embedding. 4 memories skipped because of a newer change.")
        screen.says("to create the others")


async def test_after_compacting_the_list_still_follows_what_other_programs_write(tmp_path: Path) -> None:
    """The connection that saw changes was let go of with the others; the one opened again sees them as well."""
    install = with_empty_pages(tmp_path)
    file = install.database
    install.pace = paced(poll=0.01)
    app = install.app()
    async with running(app, WIDE, rests=False) as screen:
        await screen.until("4 memories")
        await screen.pilot.press("3", "D")
        await screen.until("compact")
        await screen.pilot.press("g")
        while not any(line.startswith("▌") and "compact" in line for line in screen.lines):
            await screen.pilot.press("j")
        await screen.pilot.press("enter")
        await screen.until(lambda: isinstance(screen.top, ModalScreen))
        await screen.pilot.press("y")
        await screen.until(lambda: "The database has" in screen.said)
        await screen.pilot.press("escape")
        await screen.until(lambda: screen.top is screen.browser)
        small_store.add(file, [{"id": "new", "key": "newcomer"}], 50)
        await screen.until("newcomer")
        screen.shows("5 memories")
