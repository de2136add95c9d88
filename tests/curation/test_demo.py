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

import pytest
from support.opened import opened_at

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.demo import AGENTS, make_demo
from zeroclaw_tui.curation.turn_comparison import compare
from zeroclaw_tui.curation.turns import recorded

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


@pytest.mark.parametrize("now", [NOW, NOW + timedelta(days=140, hours=9)])
async def test_what_its_turns_sent_is_what_is_predicted(now: datetime, tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "sample", now)
    async with opened_at(OpenOptions(config_dir=folder)) as library:
        turns = (await recorded(library)).turns
        compared = [await compare(library, turn) for turn in turns]
    assert [each.equal for each in compared] == [None, *[True] * 7]
    assert compared[0].changed_since == ("printer",)
    assert any("cat_biscoito" in each.predicted for each in compared)
