"""Advice: chosen on one half of the tests, checked on the other, never told beyond what was measured."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support import golden
from support.replaying import RecordedEmbedder, Silent

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.evaluation.advice import LEAST_IN_HALF, MeasuredAdvice, advise, is_held_out
from zeroclaw_tui.curation.evaluation.figures import evaluate, plain_trial, trial_of_test
from zeroclaw_tui.curation.evaluation.queries import TestQuery
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.scoring.profiles import SearchMode, Trial

SPLITS = 3
MODES: tuple[SearchMode, ...] = ("hybrid", "bm25", "embedding")


def _stored(path: Path) -> list[tuple[str, str]]:
    """Keys with contents of some words, each key once."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT key, content FROM memories WHERE length(content) BETWEEN 25 AND 200 AND superseded_by IS NULL"
            " AND category != 'conversation' AND content NOT LIKE '%\"%' GROUP BY key HAVING count(*) = 1 ORDER BY key"
        )
        return [(key, content) for key, content in rows if len(content.split()) >= 4]


def _tests(path: Path, most: int = 50) -> list[TestQuery]:
    """Every second word of a memory, which is what it expects."""
    return [TestQuery(" ".join(content.split()[:9:2]), (key,), key) for key, content in _stored(path)[:most]]


@asynccontextmanager
async def _opened(path: Path, version: str = "0.8.4", *, embeds: bool = True) -> AsyncIterator[tuple[Library, Trial]]:
    """A library, and its plain turn ten days after its newest memory."""
    (config,) = configs_for(OpenOptions(path=path))
    library = await open_library(config, version)
    library.embedder = RecordedEmbedder("hash:64") if embeds else None
    with closing(sqlite3.connect(path)) as connection:
        (moment,) = connection.execute(
            "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(created_at), '+10 days') FROM memories"
        ).fetchone()
    plain = plain_trial(library)
    try:
        yield library, plain._replace(request=replace(plain.request, as_of=moment))
    finally:
        await library.close()


async def _passed(library: Library, plain: Trial, tests: list[TestQuery]) -> int:
    return (await evaluate(library, tests, partial(trial_of_test, library, plain), "")).passed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return golden.database("0.8.4", "brain.db", tmp_path)


async def test_what_is_advised_wins_on_tests_it_was_not_chosen_by(path: Path) -> None:
    """Ten days take three fifths of each score; the figures told are those that `evaluate` gives for the settings."""
    tests = _tests(path)
    async with _opened(path) as (library, plain):
        measured = await advise(library, tests, plain)
        advice = measured.advice
        assert advice is not None, measured.why_none
        assert advice.gain.low > 0
        held = [asked for asked in tests if is_held_out(asked.query)]
        assert measured.held_out == len(held)
        advised = plain._replace(settings=advice.trial.settings)
        passed = await _passed(library, plain, held), await _passed(library, advised, held)
        assert passed == advice.passed
        assert advice.gain.held_out == pytest.approx((passed[1] - passed[0]) / len(held))
        assert await _passed(library, plain, tests) == measured.today.passed
        won_and_lost = len(advice.won) - len(advice.lost)
        assert await _passed(library, advised, tests) - measured.today.passed == won_and_lost
        assert measured.ceiling.reachable >= measured.ceiling.tried >= measured.today.passed


async def test_it_never_loses_on_the_held_out_half_whichever_that_is(path: Path) -> None:
    tests = _tests(path, 36)
    async with _opened(path) as (library, plain):
        for split in range(SPLITS):
            salt = f"split {split}"
            advice = (await advise(library, tests, plain, salt=salt)).advice
            if advice is not None:
                held = [asked for asked in tests if is_held_out(asked.query, salt)]
                advised = plain._replace(settings=advice.trial.settings)
                assert await _passed(library, advised, held) > await _passed(library, plain, held)


async def test_too_few_tests_advise_nothing(path: Path) -> None:
    async with _opened(path) as (library, plain):
        measured = await advise(library, _tests(path, 12), plain)
    assert measured.advice is None
    assert f"each half needs {LEAST_IN_HALF}" in str(measured.why_none)
    assert measured.levers, "levers are measured all the same"


async def test_what_was_asked_by_words_alone_for_want_of_an_endpoint_advises_nothing(path: Path) -> None:
    async with _opened(path) as (library, plain):
        library.embedder = Silent(1, 1)
        measured = await advise(library, _tests(path), plain)
    assert measured.advice is None
    assert "asked by words alone" in (measured.why_none or "")


async def test_where_nothing_can_be_better_nothing_is_advised(path: Path) -> None:
    """Tests that expect nothing and reject what is never recalled pass as they are."""
    tests = [TestQuery(asked.query, (), asked.name, rejected=("nobody has it",)) for asked in _tests(path, 28)]
    async with _opened(path) as (library, plain):
        measured = await advise(library, tests, plain)
    assert measured.advice is None
    assert measured.why_none == "No setting passes more tests than today's."
    assert measured.ceiling.out_of_reach == ()


async def test_of_equal_settings_the_nearest_to_todays_is_advised(path: Path) -> None:
    """A threshold between today's and the advised one passes fewer of the tests that were chosen by."""
    tests = _tests(path)
    async with _opened(path, "0.8.3") as (library, plain):
        advice = (await advise(library, tests, plain)).advice
        assert advice is not None
        advised = advice.trial.settings
        assert "memory.min_relevance_score" in advice.values
        chosen = [asked for asked in tests if not is_held_out(asked.query)]
        most = await _passed(library, plain._replace(settings=advised), chosen)
        for threshold in (0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05):
            if threshold > advised.threshold:
                nearer = plain._replace(settings=advised._replace(threshold=threshold))
                assert await _passed(library, nearer, chosen) < most


async def test_levers_are_what_the_version_reads(path: Path) -> None:
    async with _opened(path, "0.6.2") as (library, plain):
        old = await advise(library, _tests(path, 6), plain)
    async with _opened(path) as (library, plain):
        new = await advise(library, _tests(path, 6), plain)
    assert _settings(old) == {"weights", "threshold"}
    assert {"weights", "threshold", "search mode", "rerank", "mmr", "importance", "recency"} <= _settings(new)
    assert {lever.lever for lever in new.levers if not lever.is_setting} == {"limit", "version", "vectors"}


def _settings(measured: MeasuredAdvice) -> set[str]:
    return {lever.lever for lever in measured.levers if lever.is_setting}


async def test_the_ceiling_names_what_no_setting_reaches_and_why(path: Path) -> None:
    (first, _), (second, _), (third, _) = _stored(path)[:3]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET embedding = NULL WHERE key = ?", (first,))
        connection.execute("UPDATE memories SET superseded_by = 'other' WHERE key = ?", (second,))
    tests = [
        TestQuery("qqq zzz", (first,), "not embedded"),
        TestQuery(second, (second,), "superseded"),
        TestQuery("qqq zzz", ("nobody_has_it",), "gone"),
        TestQuery("paella", ("Rust:vim#255",), "a conversation, which needs a session"),
    ]
    async with _opened(path) as (library, plain):
        measured = await advise(library, tests, plain)
    told = {each.because: each.keys for each in measured.ceiling.out_of_reach}
    assert told == {"gone": ("nobody_has_it",), "hidden": (second, "Rust:vim#255"), "not embedded": (first,)}
    assert measured.ceiling.reachable == 0
    async with _opened(path, embeds=False) as (library, plain):
        measured = await advise(library, [TestQuery("qqq zzz", (third,), "words")], plain)
    assert [each.because for each in measured.ceiling.out_of_reach] == ["no embeddings"]
    assert "vectors" not in {lever.lever for lever in measured.levers}


async def test_it_stops_between_two_tests(path: Path) -> None:
    asked: list[int] = []

    def advance(done: int) -> bool:
        asked.append(done)
        return done < 2

    async with _opened(path) as (library, plain):
        with pytest.raises(SearchInterrupted):
            await advise(library, _tests(path, 6), plain, advance)
    assert asked == [1, 2]


@pytest.mark.parametrize(("version", "embeds"), [("0.6.2", True), ("0.8.4", True), ("0.8.4", False)])
async def test_todays_figures_are_those_of_evaluate(path: Path, version: str, embeds: bool) -> None:
    """In every mode, and for parts of words too, which only the LIKE fall-back finds."""
    tests = _tests(path, 3)
    tests += [TestQuery(content.split()[3][1:], (key,), f"part of {key}") for key, content in _stored(path)[:3]]
    tests += [TestQuery('"', (), "a quote"), TestQuery("*", (), "a star")]
    passed = 0
    async with _opened(path, version, embeds=embeds) as (library, plain):
        for mode in MODES if embeds else MODES[:1]:
            today = plain._replace(settings=plain.settings._replace(search_mode=mode, threshold=0.1))
            measured = await advise(library, tests, today)
            told = await evaluate(library, tests, partial(trial_of_test, library, today), "as it is")
            assert measured.today.as_json() == told.as_json()
            assert measured.ceiling.tried >= told.passed
            passed += told.passed
    assert passed


async def test_questions_that_are_left_meanwhile_change_nothing(path: Path) -> None:
    """Whoever types on ends what was asked of the store before, and nothing else."""
    tests = _tests(path, 8)
    async with _opened(path) as (library, plain):
        expected = await advise(library, tests, plain)
        measuring = asyncio.ensure_future(advise(library, tests, plain, lambda done: True))
        left = 0
        while not measuring.done():
            typing = asyncio.ensure_future(recall_memories(library, trial_of_test(library, plain, tests[left % 8])))
            await asyncio.sleep(0)
            typing.cancel()
            await asyncio.gather(typing, return_exceptions=True)
            left += 1
        assert left
        assert (await measuring).as_json() == expected.as_json()
