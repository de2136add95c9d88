"""Erase a text from every place of the table and from stores of five generations, byte for byte."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from erase_samples import LAYOUTS, OTHERS, STAYING, TEXT, bytes_left, plant, rows, words_left
from support import left_texts
from support.installs import make_install
from support.left_texts import snapshot
from support.libraries import plan_purge, remove_memories
from support.opened import opened
from support.questions import MemoryFilter

from zeroclaw_tui.curation.traces.erase import erase_texts, plan_erase
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.curation.traces.places import PLACES, Place

STAYS = "This sentence stays where it is."


class Install:
    """An install of ZeroClaw 0.8.4 with lucid, with the text in a file of every place of the table."""

    def __init__(self, home: Path) -> None:
        memories = [*OTHERS[:5], f"I met {TEXT}", f"{TEXT} again"]
        made = make_install(home / ".zeroclaw", "G4", [{"content": content} for content in memories])
        made.configure("[agents.default]\nenabled = true\n", "lucid")
        self.home, self.config_dir, self.root, self.database = home, made.config_dir, made.root, made.database
        self.planted = {path: place for place in reversed(PLACES) for path in self._plant(place)}

    def _plant(self, place: Place) -> Iterator[Path]:
        agent = self.config_dir / "agents" / "default" / "workspace"
        start = {
            "folder": agent if place.form == "notes" else self.root,
            "memory": self.root / "memory",
            "root": self.root,
            "config": self.config_dir,
            "next to config": self.home,
            "own": self.config_dir / "zeroclaw-tui",
            "lucid": self.home / ".lucid",
        }[place.under]
        for name in place.names:
            written = name.format(config=self.config_dir.name).replace("*", "20260801")
            path = start / (f"{written}/one.txt".lstrip("/") if name.endswith("/") else written)
            if path not in (self.database, self.config_dir / "zeroclaw-tui" / "trash.db"):
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(path, place)
                yield path


def _write(path: Path, place: Place) -> None:
    """Write the text to a file in the format of its place, next to a text that stays."""
    if path.name == "config.toml":
        path.write_text(f"{path.read_text()}# {TEXT}, {STAYS}\n")
    elif place.form == "rows" or path.suffix == ".db":
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, said TEXT)")
            connection.executemany("INSERT INTO kept (said) VALUES (?)", [(STAYS,), (f"I met {TEXT} there",)])
    elif place.form == "snapshot":
        path.write_text(snapshot(("met", f"I met {TEXT}"), ("stays", STAYS)))
    elif place.form == "memory lines" or path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"key": "k", "content": text}) + "\n" for text in (STAYS, f"I met {TEXT}")))
    else:
        path.write_text(f"- {STAYS}\n- I met {TEXT}\n")


@pytest.fixture
def install(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return Install(tmp_path)


async def test_every_place_is_erased_or_reported_with_its_reason(install):
    async with opened(config_dir=install.config_dir, backend="lucid") as library:
        await remove_memories(library, await plan_purge(library, MemoryFilter(contains="again")), "purge")
        plan = await plan_erase(library, TextMatcher([TEXT]))
        report = await erase_texts(library, plan)

    assert plan.changes == (1,)
    named = {place.place: place for place in plan.places}
    assert named.keys() - {str(install.database), str(library.trash.file)} == {str(path) for path in install.planted}
    # Every row of the table is tested.
    tested = list(install.planted.values())
    assert [place for place in PLACES if place not in tested] == []
    for path, place in install.planted.items():
        assert (named[str(path)].kind, named[str(path)].can_clean) == (place.kind, not place.stays), path
        if place.form == "trash":
            assert not path.exists(), "the backup of an earlier trash must be deleted whole"
            continue
        after = path.read_bytes().decode("utf-8", "replace")
        assert STAYS in after, path
        whole_memories = place.form in ("snapshot", "notes", "memory lines") or path.suffix == ".md"
        assert bool(place.stays) or ("I met" in after) is not whole_memories, path

    left = {str(path): place.stays for path, place in install.planted.items() if place.stays}
    assert {one.place: one.why for one in report.left} == left
    assert {str(install.home / hit.rpartition(": ")[0]) for hit in bytes_left(install.home)} == left.keys()
    with closing(sqlite3.connect(install.database)) as connection:
        contents = connection.execute("SELECT content FROM memories ORDER BY rowid").fetchall()
    assert contents == [(content,) for content in OTHERS[:5]]


# Layouts of five generations


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
async def test_no_byte_of_the_text_is_left_and_nothing_else_changes(tmp_path, layout):
    """Checked with a scan that shares no code with the program."""
    planted = plant(tmp_path / "zeroclaw", layout)
    assert bytes_left(tmp_path)
    async with planted.opened() as library:
        report = await erase_texts(library, await plan_erase(library, TextMatcher([TEXT])))
    left = {one.place for one in report.left}
    assert {one.kind for one in report.left} <= STAYING, report.sentences()
    assert not report.is_complete
    # Only reported places still have the text.
    assert {str(tmp_path / hit.rpartition(": ")[0]) for hit in bytes_left(tmp_path)} <= left
    assert set(words_left(tmp_path)) <= left
    # Files to which the text was appended are unchanged otherwise.
    assert planted.contents() == list(OTHERS)
    found = rows(planted.database, "SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'harbour'")
    assert len(found) == len(OTHERS)
    assert len(rows(planted.database, "SELECT content_hash FROM embedding_cache")) == 1
    # Other content next to the text is still there.
    root = planted.root
    assert len(rows(root / "sessions" / "sessions.db", "SELECT content FROM sessions")) == 400
    stays = rows(root / "sessions" / "sessions.db", f"SELECT id FROM sessions WHERE content LIKE '{left_texts.STAYS}%'")
    assert len(stays) == 399
    assert rows(root / "memory" / "brain.db.backup-20260801T000000", "SELECT content FROM memories") == [OTHERS[0]]
    snapshot = (root / "MEMORY_SNAPSHOT.md").read_text()
    assert OTHERS[0] in snapshot
    assert "**Total core memories:** 1" in snapshot
    line = json.loads((root / "sessions" / "new.jsonl").read_text())
    assert line == {"role": "user", "content": "hello [removed]"}
