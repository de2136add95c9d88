"""Recall tests: files of them, what a run measures against ZeroClaw's own recalls, and the vectors of their queries."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import golden
from support.http_endpoints import Answer, HttpEndpoint, always, embeddings, serving
from support.opened import opened_at
from support.replaying import RecordedEmbedder
from support.small_store import blob, make

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall_tests import (
    RecallTest,
    RecallTestRun,
    read_tests,
    run_tests,
)
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import Trial

GOOD = '[[query]]\nquery = "what does she eat?"\nexpected = ["food", "food_allergy"]'
READ = RecallTest("what does she eat?", ("food", "food_allergy"), "what does she eat?")
VALID = "[[query]]\nquery = 'q'\nexpected = 'a'\n"


def written(folder: Path, content: str | bytes, name: str = "a.toml") -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def in_toml(value: str | Sequence[str]) -> str:
    """A TOML string or list; its strings are those of JSON, except for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def refusal(path: Path) -> UsageError:
    with pytest.raises(UsageError) as refused:
        read_tests(path)
    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert "\n" not in refused.value.message
    return refused.value


def test_a_file_can_have_every_field_of_a_test(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# what I ask most\n[[query]]\nquery = 'what does she eat?'\nexpected = ['food', 'food_allergy', 'food']\n"
        "[[query]]\nname = 'time'\nquery = 'what time is it?'\nexpected = 'tz'\nsession = 'tg_1'\n"
        "[[query]]\nquery = 'plans?'\nrejected = 'old_plan'\nagent = 'ann'\nchannel = 'telegram.main'\nnote = 'n'\n"
        "[[query]]\nquery = ''\nexpected = ['']\n",
    )
    first, second, third, blank = read_tests(path)
    assert first == READ
    assert second == RecallTest("what time is it?", ("tz",), "time", "tg_1")
    assert (third.expected, third.rejected, third.agent, third.channel) == ((), ("old_plan",), "ann", "telegram.main")
    assert third.rule == "channel"
    assert blank == RecallTest("", ("",), "")


@pytest.mark.parametrize(
    ("fields", "mistake"),
    [
        ("expected = 'a'", '"query" is missing'),
        ("query = 'q'", '"expected" is missing'),
        ("query = 'q'\nexpect = 'a'", 'unknown field "expect"'),
        ("query = 'q'\nexpected = 'a'\nlimit = 3", 'unknown field "limit"'),
        ('query = "q"\n"\\u001b[31m" = 1', 'unknown field "␛[31m"'),
        ("query = 7\nexpected = 'a'", '"query" must be a string'),
        ("query = 'q'\nexpected = 'a'\nsession = false", '"session" must be a string'),
        ("query = 'q'\nexpected = []", '"expected" must be a key or a list of keys'),
        ("query = 'q'\nexpected = ['a', 7]", '"expected" must be a key or a list of keys'),
        ("query = 'q'\nexpected = ['a', 'b']\nrejected = 'b'", '"b" is both expected and rejected'),
    ],
)
def test_a_mistake_in_a_test_is_named_with_its_table(tmp_path: Path, fields: str, mistake: str) -> None:
    path = written(tmp_path, f"{VALID}[[query]]\n{fields}\n")
    assert refusal(path).message == f"[[query]] 2 of {path}: {mistake}."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (" \n\n", "{path} is not a list of tests."),
        ("\n\n[[query]]\nquery = \n", "{path} is not TOML in UTF-8: Invalid value (at line 4, column 9)."),
        ('{"query": "q", "expected": "a"}', "{path} is not TOML in UTF-8: Invalid statement (at line 1, column 1)."),
        ("[query]\nquery = 'q'\nexpected = 'a'\n", "{path} is not a list of tests."),
        ("[[queries]]\nquery = 'q'\n", "{path} is not a list of tests."),
        ("a = " + "[" * 5000, "{path} is not TOML in UTF-8: maximum recursion depth exceeded."),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_sentence(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = written(tmp_path, content)
    assert refusal(path).message == message.format(path=path)


@given(st.binary(max_size=60))
def test_any_bytes_are_tests_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = written(tmp_path_factory.getbasetemp(), content)
    with pytest.raises(UsageError):
        read_tests(path)


def trial(library: Library, layer: str = "store", **changes: Any) -> Trial:
    """A recall of 5 memories with other settings."""
    request = RecallRequest("", layer=layer, as_of="2026-03-20T12:00:00+00:00")  # type: ignore[arg-type]
    return Trial(request, library.profile.profile, library.settings._replace(**changes))


def by_hand(ranked: Sequence[str], expected: Sequence[str], k: int) -> tuple[bool, float, float]:
    """Hit, reciprocal rank and nDCG of one query, place by place."""
    found = {ranked.index(key) + 1 for key in expected if key in ranked[:k]}
    ideal = np.cumsum(1 / np.log2(np.arange(1, k + 1) + 1))[min(k, len(expected)) - 1]
    return bool(found), 1 / min(found) if found else 0.0, sum(1 / math.log2(place + 1) for place in found) / ideal


@pytest.mark.parametrize(
    ("version", "embedder"),
    [("0.7.5", "none"), ("0.8.4", "none"), ("0.8.4", "dense:64")],
)
async def test_measures_are_those_of_what_zeroclaw_itself_recalled(tmp_path: Path, version: str, embedder: str) -> None:
    database = golden.database(version, "brain.db" if embedder == "none" else "brain_dense.db", tmp_path)
    with closing(sqlite3.connect(database)) as connection:
        keys = dict(connection.execute("SELECT id, key FROM memories").fetchall())
    runs = [run for run in golden.runs(version, "recall_runs")["runs"] if _is_plain(run, embedder)]
    assert len(runs) > 40
    recorded = [[keys[found[0]] for found in run["results"]] for run in runs]
    wanted = [_wanted(place, ranked, sorted(keys.values())) for place, ranked in enumerate(recorded)]
    file = tmp_path / "golden.toml"
    tests = (
        f"[[query]]\nquery = {in_toml(run['query'])}\nexpected = {in_toml(expected)}\n"
        + (f"session = {in_toml(run['session'])}\n" if run["session"] else "")
        for run, expected in zip(runs, wanted, strict=True)
    )
    written(tmp_path, "".join(tests), "golden.toml")
    async with opened_at(database, version) as library:
        library.embedder = None if embedder == "none" else RecordedEmbedder(embedder)
        run = await run_tests(library, "golden.toml", read_tests(file), trial(library))
    _assert_measures(run, recorded, wanted)


def _assert_measures(run: RecallTestRun, recorded: Sequence[list[str]], wanted: Sequence[list[str]]) -> None:
    assert [list(result.recalled) for result in run.results] == recorded
    by_definition = [by_hand(ranked, expected, 5) for ranked, expected in zip(recorded, wanted, strict=True)]
    assert [(result.hit, result.reciprocal_rank) for result in run.results] == [each[:2] for each in by_definition]
    assert [result.ndcg for result in run.results] == pytest.approx([each[2] for each in by_definition])
    means = np.array(by_definition, dtype=np.float64).mean(axis=0)
    measures = run.measures
    assert (measures["hit_rate"], measures["mrr"], measures["ndcg"]) == pytest.approx(tuple(means))
    assert 0.1 < measures["hit_rate"] < 1
    assert 0 < measures["ndcg"] < 1


def _is_plain(run: dict[str, Any], embedder: str) -> bool:
    is_hybrid = (run.get("search_mode") or "hybrid") == "hybrid"
    return run["limit"] == 5 and run["embed"] == embedder and not run.get("weights") and is_hybrid


def _wanted(place: int, ranked: list[str], keys: list[str]) -> list[str]:
    """Of what was recalled one or two, of another place each time, and one of all keys, mostly a miss."""
    chosen = {keys[(place * 37) % len(keys)]}
    if ranked and place % 4:
        chosen |= {ranked[place % len(ranked)], ranked[(place * 3) % len(ranked)]}
    return sorted(chosen)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Ten memories of ZeroClaw 0.5.7-0.7.5: enough that a word has some weight."""
    rows = [
        {"key": "lang", "content": "User prefers Rust", "category": "core"},
        {"key": "food", "content": "Likes ramen", "category": "core"},
        {"key": "chat", "content": "rust on the bicycle", "session_id": "tg_1"},
        *({"content": f"filler number {number}"} for number in range(7)),
    ]
    return make(tmp_path / "brain.db", "G2", rows)


async def test_what_reaches_the_prompt_and_the_session_of_a_test(store: Path) -> None:
    tests = [
        RecallTest("rust", ("lang",), "all"),
        RecallTest("rust", ("lang",), "one session", "tg_1"),
        RecallTest("ramen", ("food",), "food"),
    ]
    progress: list[int] = []

    async with opened_at(store, "0.7.5") as library:
        run = await run_tests(library, "a.toml", tests, trial(library, threshold=1.6), progress.append)
    everywhere, in_session, food = run.results
    assert set(everywhere.recalled) == {"lang", "chat"}
    assert (everywhere.hit, everywhere.injected) == (True, ())
    assert (in_session.recalled, in_session.hit) == (("chat",), False)
    assert food.injected == ("food",)
    assert (run.k, run.first.profile, run.first.threshold, run.search_mode) == (5, "0.7.5", 1.6, "hybrid")
    assert progress == [1, 2, 3]


BATCH = [RecallTest(f"word{number}", ("near",), f"q{number}") for number in range(5)]


@pytest.fixture
def endpoint() -> Iterator[HttpEndpoint]:
    with serving(embeddings(2)) as running:
        yield running


@pytest.fixture
def install(tmp_path: Path, endpoint: HttpEndpoint) -> OpenOptions:
    folder = tmp_path / "workspace" / "memory"
    folder.mkdir(parents=True)
    make(folder / "brain.db", "G2", [{"key": "near", "embedding": blob(1.0, 1.0)}, {"key": "word3"}])
    (tmp_path / "config.toml").write_text(
        f'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
        f'embedding_provider = "custom:{endpoint.base}"\nembedding_dimensions = 2\n'
    )
    return OpenOptions(config_dir=tmp_path)


async def test_one_request_fetches_the_vectors_of_all_tests(install: OpenOptions, endpoint: HttpEndpoint) -> None:
    async with opened_at(install, "0.7.5") as library:
        run = await run_tests(library, "a.toml", [*BATCH, *BATCH], trial(library, "agent"))
    assert [body["input"] for _, _, body in endpoint.requests] == [[test.query for test in BATCH]]
    assert run.measures["hit_rate"] == 1.0
    assert run.notes == ()


async def test_a_broken_endpoint_is_asked_once_and_leaves_keyword_hits(
    install: OpenOptions, endpoint: HttpEndpoint
) -> None:
    endpoint.answering = always(404, {})
    async with opened_at(install, "0.7.5") as library:
        one = await run_tests(library, "a.toml", BATCH[:1], trial(library, "agent"))
        requests = len(endpoint.requests)
        run = await run_tests(library, "a.toml", BATCH, trial(library, "agent"))
    assert one.notes == run.notes
    assert len(run.notes) == 1
    assert "Keyword hits only." in run.notes[0]
    assert run.results[3].recalled == ("word3",)
    assert len(endpoint.requests) == 2 * requests


async def test_a_note_on_some_tests_says_on_how_many(install: OpenOptions, endpoint: HttpEndpoint) -> None:
    plain = endpoint.answering

    def picky(path: str, headers: Any, asked: Any) -> Answer:
        return (400, json.dumps({}).encode()) if "word2" in asked["input"] else plain(path, headers, asked)

    endpoint.answering = picky
    async with opened_at(install, "0.7.5") as library:
        run = await run_tests(library, "a.toml", BATCH, trial(library, "agent"))
    assert [result.hit for result in run.results] == [True, True, False, True, True]
    assert len(run.notes) == 1
    assert run.notes[0].endswith("(In 1 of 5 tests.)")
