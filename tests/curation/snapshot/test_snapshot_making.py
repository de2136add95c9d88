"""An empty store is made whole out of a snapshot, as ZeroClaw itself makes one."""

from __future__ import annotations

import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from snapshot_samples import config_of, make_install, opened, real_snapshot, really_hydrated, rows_in
from support import golden

from zeroclaw_tui.curation.formats.snapshot import NAME, load
from zeroclaw_tui.curation.snapshot.hydrate import hydrate, is_empty_store, make_store, plan_hydrate, plan_making
from zeroclaw_tui.curation.snapshot.snapshot import place_of, write_snapshot
from zeroclaw_tui.files.database import is_wal
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import create, recall_of

MEMORIES = "### 🔑 `lang`\n\nUser prefers Rust\n### 🔑 `pet`\n\nCat named Mio\n"


def made_of(folder: Path, text: str = MEMORIES, version: str = "0.1.7", **more: Any) -> Path:
    """The database that is made in the install `zc` of a snapshot with this text."""
    file, config = folder / "made.md", config_of(folder / "zc", read_only=more.pop("read_only", False))
    file.write_text(text)
    return make_store(config, plan_making(config, file, version=version, **more))


def _schema(database: Path) -> dict[str, Any]:
    """What a schema means, however its statements are written."""
    with closing(sqlite3.connect(database)) as connection:
        made = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        tables = sorted(name for kind, name, _, _ in made if kind == "table")
        asked = ("table_xinfo", "foreign_key_list", "index_list")
        facts: dict[str, Any] = {"tables": tables}
        for table in tables:
            for pragma in asked:
                rows = connection.execute(f"PRAGMA {pragma}('{table}')").fetchall()
                # The number of an index only tells which was made first.
                facts[f"{pragma} {table}"] = sorted(row[1:] for row in rows) if pragma == "index_list" else rows
            for _, index, *_ in connection.execute(f"PRAGMA index_list('{table}')"):
                facts[f"index {index}"] = connection.execute(f"PRAGMA index_xinfo('{index}')").fetchall()
        for kind, name, table, sql in made:
            if kind == "trigger" or "VIRTUAL" in (sql or ""):
                facts[f"{kind} {name} on {table}"] = re.sub(r"\s*([(),;])\s*", r"\1", " ".join(sql.lower().split()))
        for pragma in ("encoding", "journal_mode", "user_version", "application_id", "page_size", "auto_vacuum"):
            facts[pragma] = connection.execute(f"PRAGMA {pragma}").fetchone()
        return facts


@pytest.mark.parametrize("version", ["0.1.7", "0.7.5", "0.8.4"])
def test_its_schema_is_the_one_zeroclaw_makes(version: str, tmp_path: Path) -> None:
    """Compared with a database the real program made: every table, column, index, key and trigger."""
    make_install(tmp_path / "zc", None)
    made = made_of(tmp_path, version=version)
    assert _schema(made) == _schema(golden.database(version, "brain.db", tmp_path))


async def test_a_real_snapshot_becomes_a_store_of_what_zeroclaw_hydrates(tmp_path: Path) -> None:
    """But one that opens, with the dates of the file, and with a keyword index in step."""
    root = make_install(tmp_path / "zc", None)
    (root / NAME).write_bytes(real_snapshot("0.1.7").encode())
    config = config_of(tmp_path / "zc")
    assert is_empty_store(config)
    plan = plan_making(config, root / NAME, version="0.1.7")
    made = make_store(config, plan)
    assert not is_empty_store(config)
    assert is_wal(made)
    assert sorted(rows_in(made, ("key", "content"))) == sorted(really_hydrated("0.1.7"))
    dates = {(found.key, found.created_at, found.updated_at) for found in load(root / NAME).snapshot.entries}
    assert set(rows_in(made, ("key", "created_at", "updated_at"))) == dates
    library = await opened(tmp_path / "zc")
    assert library.read_only_because is None
    again = await plan_hydrate(library, root / NAME)
    assert (again.new, again.conflicts, again.same) == ((), (), 679)
    await library.memory.store("new", "stored into it", "core")
    await library.close()
    assert sorted(path.name for path in made.parent.iterdir() if not path.name.endswith(("-wal", "-shm"))) == [
        "brain.db"
    ]


async def test_it_recalls_as_a_store_of_the_same_memories_does(tmp_path: Path) -> None:
    """The golden queries, by the rules of 0.1.7, against a store that was filled memory by memory."""
    root = make_install(tmp_path / "zc", None)
    (root / NAME).write_bytes(real_snapshot("0.1.7").encode())
    config = config_of(tmp_path / "zc")
    plan = plan_making(config, root / NAME, version="0.1.7")
    make_store(config, plan)
    make_install(tmp_path / "plain", "G1", [])
    ours, plain = await opened(tmp_path / "zc"), await opened(tmp_path / "plain")
    for found in reversed(plan.new):
        if found.key:
            await create(plain.memory, Draft(found.key, found.content))
    queries = sorted({run["query"] for run in golden.runs("0.1.7", "recall_runs")["runs"]})[::3]
    profile, scoring, hits = profile_for("0.1.7"), ScoringSettings(), 0
    for query in queries:
        for limit in (5, 700):
            request = RecallRequest(query, limit)
            answers = [
                (await recall_of(library.memory, request, profile, scoring)).entries for library in (ours, plain)
            ]
            scores = [[scored.score for scored in answer] for answer in answers]
            assert scores[0] == scores[1], query
            if limit == 700:
                keys = [{(scored.entry.key, scored.score) for scored in answer} for answer in answers]
                assert keys[0] == keys[1], query
                hits += len(keys[0])
    assert hits > 300
    await ours.close()
    await plain.close()


@pytest.mark.parametrize("size", [0, 4095])
def test_an_empty_file_in_its_place_is_kept_beside_it(size: int, tmp_path: Path) -> None:
    root = make_install(tmp_path / "zc", None)
    (root / "memory" / "brain.db").write_bytes(b"x" * size)
    made = made_of(tmp_path)
    assert len(rows_in(made)) == 2
    (kept,) = made.parent.glob("brain.db.before-hydrate-2*")
    assert kept.read_bytes() == b"x" * size


def test_a_log_without_its_database_is_not_touched(tmp_path: Path) -> None:
    root = make_install(tmp_path / "zc", None)
    (root / "memory" / "brain.db-wal").write_bytes(b"writes")
    config = config_of(tmp_path / "zc")
    assert not is_empty_store(config)
    with pytest.raises(Refused, match="holds writes of a database that is not there"):
        made_of(tmp_path)
    assert [path.name for path in (root / "memory").iterdir()] == ["brain.db-wal"]


def test_a_database_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    root = make_install(tmp_path / "zc", "G2", [{"content": "stays"}])
    before = (root / "memory" / "brain.db").read_bytes()
    with pytest.raises(Refused, match="There is a database"):
        made_of(tmp_path)
    assert (root / "memory" / "brain.db").read_bytes() == before


def test_of_several_that_make_it_at_once_one_does(tmp_path: Path) -> None:
    """The others are told that there is one by now, and nothing of theirs stays."""
    root = make_install(tmp_path / "zc", None)
    config = config_of(tmp_path / "zc")
    (root / NAME).write_text(MEMORIES)
    plan = plan_making(config, root / NAME, version="0.1.7")
    refused: list[Refused] = []

    def make() -> None:
        try:
            make_store(config, plan)
        except Refused as error:
            refused.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    assert [path.name for path in (root / "memory").iterdir()] == ["brain.db"]
    assert len(rows_in(root / "memory" / "brain.db")) == 2


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    root = make_install(tmp_path / "zc", None)
    left = root / "memory" / ".brain.db.zeroclaw-tui-0123456789abcdef.tmp"
    left.mkdir()
    (left / "brain.db").write_text("half of it")
    made_of(tmp_path)
    assert [path.name for path in (root / "memory").iterdir()] == ["brain.db"]


def test_read_only_makes_nothing(tmp_path: Path) -> None:
    root = make_install(tmp_path / "zc", None)
    with pytest.raises(Refused, match="read-only"):
        made_of(tmp_path, read_only=True)
    assert list((root / "memory").iterdir()) == []


async def test_everything_of_the_copy_beside_goes_into_a_schema_that_can_hold_it(tmp_path: Path) -> None:
    """Namespace, importance, kind, pinned and owners too from 0.8.3 on."""
    rows = [
        {"key": "a", "namespace": "work", "importance": 0.9, "kind": '{"semantic":"fact"}', "pinned": 1},
        {"key": "b", "superseded_by": "a", "session_id": "tg_1", "embedding": b"\0\0\0?"},
    ]
    root = make_install(tmp_path / "zc", "G4", rows)
    library = await opened(tmp_path / "zc")
    await write_snapshot(library)
    await library.close()
    columns = (
        "id", "key", "content", "category", "embedding", "created_at", "updated_at", "session_id", "namespace",
        "importance", "superseded_by", "kind", "pinned",
    )  # fmt: skip
    before = rows_in(root / "memory" / "brain.db", columns)
    (root / "memory" / "brain.db").unlink()
    config = config_of(tmp_path / "zc")
    plan = plan_making(config, place_of(library.config), version="0.8.4")
    assert not any("left out" in note for note in plan.notes)
    made = make_store(config, plan)
    assert rows_in(made, columns) == before
    with closing(sqlite3.connect(made)) as connection:
        assert connection.execute("SELECT alias FROM agents").fetchall() == [("default",)]
    told = " ".join(plan_making(config, place_of(library.config), version="0.1.7").notes)
    assert all(name in told for name in ("namespace", "importance", "superseded_by", "kind", "pinned"))


async def test_a_new_owner_is_named_where_there_are_owners(tmp_path: Path) -> None:
    make_install(tmp_path / "zc", None)
    config = config_of(tmp_path / "zc")
    made_of(tmp_path, version="0.8.4", agent="writer")
    library = await opened(tmp_path / "zc")
    assert {found.agent for found in await library.memory.list()} == {"writer"}
    plan = await plan_hydrate(library, await _file(tmp_path), agent="writer")
    await hydrate(library, plan, "skip")
    assert {found.agent for found in await library.memory.list()} == {"writer"}
    await library.close()
    with pytest.raises(Refused, match="no agents"):
        plan_making(config, await _file(tmp_path), agent="writer", version="0.1.7")


async def _file(folder: Path) -> Path:
    file = folder / "made.md"
    file.write_text("### 🔑 `tea`\n\nGreen tea\n")
    return file
