"""The demo workspace is the same each time and has an example of everything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.opened import opened_at
from support.places import OpenOptions

from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.curation.turns import compare, read_turns

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return make_demo(tmp_path_factory.mktemp("demo"), NOW)


def dump(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "data" / "memory" / "brain.db")) as connection:
        return list(connection.iterdump())


def test_the_same_time_gives_the_same_demo_database(demo, tmp_path):
    assert dump(make_demo(tmp_path, NOW)) == dump(demo)
    assert (tmp_path / "config.toml").read_bytes() == (demo / "config.toml").read_bytes()


@pytest.mark.parametrize("now", [NOW, NOW + timedelta(days=140, hours=9)])
async def test_the_blocks_of_demo_turns_are_predicted(now, tmp_path):
    folder = make_demo(tmp_path / "sample", now)
    async with opened_at(OpenOptions(config_dir=folder)) as library:
        turns = (await read_turns(library)).turns
        compared = [await compare(library, turn) for turn in turns]
    assert [each.equal for each in compared] == [None, *[True] * 7]
    assert compared[0].changed_since == ("printer",)
    assert any("cat_biscoito" in each.predicted for each in compared)
