"""What the keys of the doctor's screen do."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doctor_samples import HEALTHY, PLAN, REPORT, Doctor
from support import small_store
from textual.pilot import Pilot
from tui_trash_samples import NARROW, WIDE, ScreenApp, screen_text, screen_words, settled, until
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.doctor import DoctorScreen
from zeroclaw_tui.tui.screens.doctor_repairs import ReindexScreen

from zeroclaw_tui.config.embedding import EmbeddingConfig
from zeroclaw_tui.config.install import Install, OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor import repairs
from zeroclaw_tui.curation.doctor.database import DoctorFinding, DoctorReport
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.reindex import Reindexed
from zeroclaw_tui.memory.errors import Locked, Refused, Unreadable
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.progress import ProgressScreen
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.error import ErrorScreen
from zeroclaw_tui.tui.words import vectors_body


def said(pilot: Pilot[Any]) -> str:
    return "\n".join(str(note.message) for note in pilot.app._notifications)


async def test_the_title_counts_what_was_found(doctor: Doctor) -> None:
    async with doctor.app().run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "2 things are serious, 3 worth knowing; 3 looked at and fine" in screen_text(pilot.app)
        assert "✗ 12 of 680 memories are not in the keyword index." in screen_text(pilot.app)


async def test_a_repair_is_shown_with_its_backup_done_and_looked_at_again(doctor: Doctor) -> None:
    doctor.reports = [REPORT, HEALTHY]
    app = doctor.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
        assert "1. Make a backup of the whole database." in screen_text(app)
        assert "2. Put ZeroClaw's own triggers back." in screen_text(app)
        assert doctor.done == ["look"]
        await pilot.press("y")
        await settled(pilot)
        assert doctor.done == ["look", "rebuild keyword index", "look"]
        assert "The keyword index is whole again." in said(pilot)
        assert "brain-20261120.db" in said(pilot)
        assert "Nothing is wrong: 3 looked at and fine" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
    assert app.given == [True]


@pytest.mark.parametrize("key", ["enter", "escape", "n"])
async def test_nothing_is_repaired_by_accident(doctor: Doctor, key: str) -> None:
    app = doctor.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await pilot.press(key)
        await settled(pilot)
        assert doctor.done == ["look"]
        await pilot.press("q")
        await pilot.pause()
    assert app.given == [False]


async def test_a_repair_that_is_refused_says_why(doctor: Doctor) -> None:
    doctor.refusal = Refused("The database changed meanwhile.", hint="Look again.")
    app = doctor.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await pilot.press("y")
        await settled(pilot)
        assert "The database changed meanwhile. Look again." in said(pilot)
        assert "2 things are serious" in screen_text(app)


async def test_what_cannot_be_repaired_here_says_what_to_do(doctor: Doctor) -> None:
    app = doctor.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "j", "j", "enter")
        await settled(pilot)
        assert "import what you want to keep" in said(pilot)
        assert doctor.done == ["look"]


async def test_the_deep_check_can_be_stopped_and_what_was_known_stays(doctor: Doctor) -> None:
    doctor.waits = asyncio.Event()
    app = doctor.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "Checking every page" in screen_text(app))
        await pilot.press("escape")
        await settled(pilot)
        assert "Checking every page" not in screen_text(app)
        assert "2 things are serious" in screen_text(app)
        doctor.waits.set()
        await pilot.press("x")
        await settled(pilot)
        assert doctor.done == ["look", "deep", "deep"]


async def test_a_store_that_is_only_read_is_not_repaired(doctor: Doctor) -> None:
    doctor.sample.memory.read_only_because = "It was opened with --read-only."
    app = doctor.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert "It was opened with --read-only." in said(pilot)
        assert doctor.done == ["look"]


async def test_everything_is_copied_as_text(doctor: Doctor) -> None:
    app = doctor.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
        assert "✗ 12 of 680 memories are not in the keyword index." in app.clipboard
        assert "in the index: 668" in app.clipboard
        assert "✓ The log is small." in app.clipboard


async def test_vectors_are_made_once_a_person_knows_where_the_texts_go(doctor: Doctor) -> None:
    app = doctor.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReindexScreen))
        words = screen_words(app)
        assert "Make 1,204 vectors with text-embedding-3-small?" in words
        assert "1,180 have none, 24 have one that fits no query" in words
        assert "482,000 characters, about 120,500 tokens, less than a cent" in words
        assert "sent to api.openai.com." in words
        await pilot.press("6", "x", "0", "enter")
        await settled(pilot)
        assert "vectors at most 60" in doctor.done
        assert "1,204 vectors made." in said(pilot)


async def test_making_vectors_can_be_stopped_and_gone_on_with(doctor: Doctor) -> None:
    stopped = asyncio.Event()

    async def slowly(library: Any, plan: Any, *, per_minute: Any = None, advance: Any = None) -> Reindexed:
        # It goes on for as long as it may.
        while advance(600):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        stopped.set()
        return Reindexed(600, 4, stopped=True)

    from zeroclaw_tui.curation import reindex

    app = doctor.app()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reindex, "reindex", slowly)
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            await settled(pilot)
            await pilot.press("j", "j", "enter")
            await until(pilot, lambda: isinstance(app.screen, ReindexScreen))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ProgressScreen))
            await until(pilot, lambda: "600 of 1,204" in screen_text(app))
            await pilot.press("escape")
            await until(pilot, stopped.is_set)
            await settled(pilot)
            assert "600 vectors made. 4 changed meanwhile and were left alone." in said(pilot)
            assert "goes on with the other 600" in said(pilot)


async def test_leaving_the_question_makes_no_vectors(doctor: Doctor) -> None:
    app = doctor.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReindexScreen))
        await pilot.press("escape")
        await settled(pilot)
        assert doctor.done == ["look"]


async def _opened(tmp_path: Path) -> Library:
    """A database with many empty pages."""
    file = tmp_path / "workspace" / "memory" / "brain.db"
    file.parent.mkdir(parents=True)
    rows = [{"key": f"key{number}", "content": "word " * 2000} for number in range(200)]
    small_store.make(file, "G1", rows)
    small_store.change(file, "DELETE FROM memories WHERE key <> 'key7'")
    install = Install(tmp_path, tmp_path / "workspace", file, "workspace", "the path given", tmp_path / "own")
    return await open_library(MemoryConfig(install))


async def _on_empty_pages(pilot: Pilot[Any]) -> None:
    """The cursor on the finding that compacting repairs."""
    await settled(pilot)
    app = pilot.app
    for _ in range(40):
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        finding = screen.query_one("#list").selected  # type: ignore[attr-defined]
        if finding is not None and finding.repair == "compact":
            return
        await pilot.press("j")
    raise AssertionError(screen_text(app))


async def test_compacting_lets_go_of_the_store_and_opens_it_again(tmp_path: Path) -> None:
    """The file is smaller, the sentence says by how much, and the store answers as before."""
    library = await _opened(tmp_path)
    file = library.config.database
    app = ScreenApp(lambda: DoctorScreen(library, library.trash.now, Pace(patience=0.01)))
    try:
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            await _on_empty_pages(pilot)
            before = file.stat().st_size
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
            await pilot.press("y")
            await settled(pilot)
            assert re.search(r"The database has \S+ KB now, \S+ MB before", said(pilot)), said(pilot)
            assert file.stat().st_size < before
            assert await library.memory.count() == 1
            assert (await library.memory.get("key7")) is not None
    finally:
        await library.close()
    backups = list((tmp_path / "own" / "backups").iterdir())
    assert len(backups) == 1
    with closing(sqlite3.connect(backups[0])) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (1,)


async def test_where_compacting_fails_the_store_is_open_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def compact(*_: Any) -> Any:
        raise Locked("The agent (process 4711) has the database open.", hint="Stop it first.")

    monkeypatch.setattr(repairs, "compact", compact)
    library = await _opened(tmp_path)
    app = ScreenApp(lambda: DoctorScreen(library, library.trash.now, Pace(patience=0.01)))
    try:
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            await _on_empty_pages(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
            await pilot.press("y")
            await settled(pilot)
            assert "process 4711" in said(pilot)
            assert await library.memory.count() == 1
    finally:
        await library.close()


async def test_a_store_that_does_not_open_again_is_a_screen_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes the database away meanwhile is told of, and it can be tried again."""
    library = await _opened(tmp_path)
    await library.close()
    file = library.config.database
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")

    async def compact(*_: Any) -> Any:
        file.rename(file.with_suffix(".away"))
        raise Unreadable("The database went away.")

    monkeypatch.setattr(repairs, "compact", compact)
    pace = Pace(debounce=0, poll=None, patience=0.01)
    app = InspectorApp(OpenOptions(config_dir=tmp_path), clock=library.trash.now, pace=pace)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await until(pilot, lambda: "key7" in screen_text(app))
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, DoctorScreen))
        await until(pilot, lambda: "worth knowing" in screen_text(app))
        await _on_empty_pages(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        file.with_suffix(".away").rename(file)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, BrowserRoom) and "key7" in screen_text(app))


async def test_where_nothing_is_to_be_repaired_the_sentences_have_all_the_room(doctor: Doctor) -> None:
    sentence = "Nothing was left behind by an update or an unfinished save anywhere."
    doctor.reports = [DoctorReport((DoctorFinding("left-behind", sentence, "fine", ""),), False)]
    async with doctor.app().run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert f"✓ {sentence}" in screen_text(pilot.app).partition("─")[0]


async def test_the_repairs_take_no_more_room_than_their_words(doctor: Doctor) -> None:
    sentence = "The vectors of these memories come from another model than now."
    doctor.reports = [DoctorReport((DoctorFinding("other", sentence, "worth knowing", "", by_hand="Do it."),), False)]
    async with doctor.app().run_test(size=NARROW) as pilot:
        await settled(pilot)
        listed = screen_words(pilot.app)
        assert f"! {sentence} by hand" in listed


def test_one_vector_is_spoken_of_as_one() -> None:
    """A vector is wrong by its length or as nothing but zeros, so the words name neither."""
    plan = replace(PLAN, missing=PLAN.missing[:1], wrong=PLAN.wrong[:1])
    words = " ".join(vectors_body(plan, EmbeddingConfig("openai")).plain.split())
    assert "1 has none, 1 has one that fits no query" in words
