"""The sample workspace: the same each time, and one of everything a person should see."""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.opened import opened_at

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation.demo import AGENTS, DIMENSIONS, make_demo
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.profile_choice import ProfileChoice
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.curation.turn_comparison import compare
from zeroclaw_tui.curation.turns import recorded
from zeroclaw_tui.embeddings.local import LocalEmbedder
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.scoring.profiles import ScoringSettings
from zeroclaw_tui.scoring.scanner import scan

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}[+-]\d\d:\d\d")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("demo"), NOW)


@pytest.fixture
def rows(demo: Path) -> Iterator[list[sqlite3.Row]]:
    with closing(sqlite3.connect(demo / "data" / "memory" / "brain.db")) as connection:
        connection.row_factory = sqlite3.Row
        yield connection.execute("SELECT m.*, a.alias FROM memories m JOIN agents a ON a.id = m.agent_id").fetchall()


def dump(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "data" / "memory" / "brain.db")) as connection:
        return list(connection.iterdump())


def test_the_same_moment_gives_the_same_database(demo: Path, tmp_path: Path) -> None:
    assert dump(make_demo(tmp_path, NOW)) == dump(demo)
    assert (tmp_path / "config.toml").read_bytes() == (demo / "config.toml").read_bytes()


def test_there_are_about_two_hundred_over_eight_months_and_one_of_everything(rows: list[sqlite3.Row]) -> None:
    assert 190 <= len(rows) <= 220
    moments = [datetime.fromisoformat(row["created_at"][:26] + row["created_at"][-6:]) for row in rows]
    assert max(moments) <= NOW
    assert timedelta(days=230) <= max(moments) - min(moments) <= timedelta(days=250)
    assert all(TIMESTAMP.fullmatch(row[name]) for row in rows for name in ("created_at", "updated_at"))
    assert {row["created_at"][-6:] for row in rows} == {"+00:00", "+01:00"}
    assert {row["category"] for row in rows} == {"core", "daily", "conversation", "recipes", "project"}
    assert {row["alias"] for row in rows} == set(AGENTS)
    assert "telegram_12345" in {row["session_id"] for row in rows}
    assert sum(row["pinned"] for row in rows) >= 2
    kinds = [json.loads(row["kind"]) for row in rows if row["kind"]]
    assert any("semantic" in kind for kind in kinds)
    assert "procedural" in kinds
    contents = Counter(row["content"] for row in rows)
    assert max(contents.values()) >= 3
    for part in ("ok thanks", "[cron:", "[heartbeat task", "[Memory context]", "🎉", "ラーメン", "花生"):
        assert any(part in content for content in contents), part
    for start in ("assistant_resp_", "user_msg"):
        assert any(row["key"].startswith(start) for row in rows)
    assert len({(row["alias"], row["key"]) for row in rows}) == len({uuid.UUID(row["id"]) for row in rows}) == len(rows)
    superseded = [row["superseded_by"] for row in rows if row["superseded_by"] is not None]
    assert len(superseded) >= 3
    assert set(superseded) <= {row["key"] for row in rows}


def test_one_row_is_hostile_and_is_shown_harmlessly(rows: list[sqlite3.Row]) -> None:
    (hostile,) = [row["content"] for row in rows if "\x1b" in row["content"]]
    assert all(part in hostile for part in ("[/markup]", "\u202e", "\x1b]8;;", "\x07"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e]", display_text(hostile))


def test_a_made_up_credential_is_what_the_content_scanner_withholds(rows: list[sqlite3.Row]) -> None:
    kinds = {scan(row["content"], "on") for row in rows} - {None}
    assert "hardcoded_secret" in kinds
    assert all("example" in row["content"] for row in rows if scan(row["content"], "on"))


async def recalled(demo: Path, query: str, version: str, limit: int) -> RecallResult:
    memory = SqliteMemory(demo / "data" / "memory" / "brain.db")
    await memory.open()
    embedder = LocalEmbedder(EmbeddingConfig("local", "local", DIMENSIONS))
    request = RecallRequest(query, limit, as_of=NOW.isoformat())
    missing: Any = None
    library = Library(missing, memory, ProfileChoice.from_version(version, "option"), ScoringSettings(), embedder)
    result = await recall_memories(library, library.trial(request))
    await memory.close()
    return result


@pytest.mark.parametrize(
    ("query", "version"),
    [("what does she like to eat?", "0.8.3"), ("what does she like to eat?", "0.8.4"), ("rust", "0.8.4")],
)
async def test_the_shown_queries_have_hits_of_every_kind(query: str, version: str, demo: Path) -> None:
    results = (await recalled(demo, query, version, 20)).results
    stages = [(scored.vector_score is not None, scored.keyword_score is not None) for scored in results]
    assert {(True, True), (False, True)} <= set(stages)
    injected = [scored for scored in results if scored.injected]
    left_out = [scored for scored in results if not scored.injected]
    assert len(injected) >= 3
    assert any("threshold" in (scored.not_injected_because or "") for scored in left_out)


@pytest.mark.parametrize("version", ["0.8.3", "0.8.4"])
async def test_the_best_answer_to_what_she_likes_to_eat_is_what_she_likes_to_eat(version: str, demo: Path) -> None:
    results = (await recalled(demo, "what does she like to eat?", version, 5)).results
    assert next(scored for scored in results if scored.injected).entry.key == "likes_to_eat"


@pytest.mark.parametrize("now", [NOW, NOW + timedelta(days=140, hours=9)])
async def test_what_its_turns_sent_is_what_is_predicted(now: datetime, tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "sample", now)
    async with opened_at(OpenOptions(config_dir=folder)) as library:
        turns = (await recorded(library)).turns
        compared = [await compare(library, turn) for turn in turns]
    assert [each.equal for each in compared] == [None, *[True] * 7]
    assert compared[0].changed_since == ("printer",)
    assert any("cat_biscoito" in each.predicted for each in compared)
