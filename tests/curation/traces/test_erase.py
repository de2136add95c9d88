"""Erasing: the plan, the places that a run leaves and why, and a report without the text."""

from __future__ import annotations

import gzip
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from erase_samples import OTHERS, TEXT, Layout, bytes_left, plant, rows
from support.databases import opened_elsewhere
from support.files import files_below
from support.left_texts import snapshot
from support.libraries import Library, edit_memory, plan_purge, remove_memories, store_memory, undo
from support.memories import Draft, Edit, Locked, NotFound
from support.opened import opened as library_of
from support.opened import opened_at
from support.places import OpenOptions
from support.postgres_place import PostgresPlace
from support.qdrant_server import serving
from support.questions import MemoryFilter
from support.redis_server import NO_SERVER, running_redis, server_program
from support.stores import row_with_id

from zeroclaw_tui.curation.traces.erase import ErasePlan, EraseReport, erase_texts, plan_erase
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.files import database as connections


async def _plan(library: Library, *texts: str, ids: tuple[str, ...] = ()) -> ErasePlan:
    return await plan_erase(library, TextMatcher(texts or (TEXT,)), ids)


async def _erase(library: Library, *texts: str) -> EraseReport:
    return await erase_texts(library, await _plan(library, *texts))


@pytest.fixture
def planted(tmp_path):
    return plant(tmp_path / "zeroclaw", Layout())


@pytest.fixture
def alone(tmp_path):
    return plant(tmp_path / "zeroclaw", Layout(is_alone=True))


async def test_a_plan_changes_nothing_and_report_and_journal_omit_the_text(planted):
    named = planted.root / "backups" / f"{TEXT}.gz"
    named.parent.mkdir(exist_ok=True)
    named.write_bytes(gzip.compress(b"nothing"))
    before = files_below(planted.config_dir)
    async with planted.opened() as library:
        plan = await _plan(library)
        after = files_below(planted.config_dir)
        assert {path: data for path, data in after.items() if not path.endswith(("-shm", "-wal"))} == before
        assert plan.places
        report = await erase_texts(library, plan)
        actions = await library.trash.actions()
    message = "\n".join([*report.sentences(), repr(report.as_json()), repr(actions)])
    assert not TextMatcher([TEXT]).matches(message)
    assert any(one.place.endswith("[removed].gz") for one in report.scan.skipped)


async def test_only_the_erased_text_is_removed_from_the_trash(alone):
    async with alone.opened() as library:
        for words in (TEXT, OTHERS[3]):
            await remove_memories(library, await plan_purge(library, MemoryFilter(contains=words)), "purge")
        report = await _erase(library)
        assert report.is_complete
        assert [place.count for place in report.erased if place.kind == "trash"] == [2]
        kept, total = await library.trash.listing()
        assert (total, kept[0].row.entry().content) == (1, OTHERS[3])
        await undo(library)
        with pytest.raises(NotFound):
            await undo(library)
    assert sorted(alone.contents()) == sorted(OTHERS)
    assert bytes_left(alone.config_dir) == []


async def test_marked_memories_are_erased_whatever_their_text(alone):
    """Their earlier contents are erased too."""
    async with alone.opened() as library:
        row = await row_with_id(library.memory, "id-000")
        await edit_memory(library, "id-000", Edit({"content": "Now it says this"}), row.fingerprint)
        plan = await _plan(library, ids=("id-000",))
        assert (await erase_texts(library, plan)).is_complete
        assert await library.trash.actions() == []
    assert alone.contents() == list(OTHERS[1:])


async def test_rows_are_erased_while_a_program_has_the_database_open(alone):
    """The bytes stay until that program stops; erasing again then removes them."""
    with opened_elsewhere(alone.database) as process:
        async with alone.opened() as library:
            plan = await _plan(library)
            report = await erase_texts(library, plan)
    assert not report.is_complete
    assert any(f"process {process}" in one.why for one in report.left)
    assert alone.contents() == list(OTHERS)
    async with alone.opened() as library:
        assert (await _erase(library)).is_complete
    assert bytes_left(alone.config_dir) == []


async def test_nothing_is_erased_while_the_store_is_locked(planted, monkeypatch):
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.1)
    before = bytes_left(planted.config_dir)
    with opened_elsewhere(planted.database, "BEGIN IMMEDIATE"):
        async with planted.opened() as library:
            with pytest.raises(Locked):
                await _erase(library)
    assert bytes_left(planted.config_dir) == before


async def test_packed_and_binary_files_are_reported_and_left_and_links_kept(alone, tmp_path):
    """A config backup is cleaned and is still valid TOML."""
    backups, real = alone.root / "backups" / "one", tmp_path / "elsewhere.md"
    backups.mkdir(parents=True)
    (backups / "old.log.gz").write_bytes(gzip.compress(f"x {TEXT}".encode()))
    (backups / "picture.png").write_bytes(b"\x89PNG\0" + TEXT.encode())
    os.mkfifo(backups / "pipe")
    backup = alone.config_dir / "config.toml.bak"
    backup.write_text(f'[memory]\nbackend = "sqlite"\n[identity]\nname = "{TEXT}"\n')
    (alone.config_dir / "config.toml.link").symlink_to(alone.config_dir / "config.toml")
    real.write_text(f"- {TEXT}\n- stays\n")
    (alone.root / "USER.md").symlink_to(real)
    async with alone.opened() as library:
        plan = await _plan(library)
        (link,) = [place for place in plan.places if place.place.endswith("USER.md")]
        assert link.why == "Every line that contains it is deleted."
        report = await erase_texts(library, plan)
    why = {Path(one.place).name: one.why for one in report.left}
    assert set(why) == {"picture.png"}
    assert "cannot be cut out" in why["picture.png"]
    assert report.erased[0].kind == "store"
    assert ["compressed" in one.why for one in report.scan.skipped if one.place.endswith("old.log.gz")] == [True]
    assert tomllib.loads(backup.read_text()) == {"memory": {"backend": "sqlite"}, "identity": {"name": "[removed]"}}
    assert ((alone.root / "USER.md").is_symlink(), real.read_text()) == (True, "- stays\n")


@pytest.mark.parametrize("text", ["2026-03-01", "created", "core mem", "memory", "daily log"])
async def test_lines_that_zeroclaw_writes_around_memories_stay(alone, text):
    file, notes = alone.root / "MEMORY_SNAPSHOT.md", alone.root / "memory" / "archive" / "2026-03-01.md"
    file.write_text(snapshot(("a", "A"), ("b", f"said {text} once")))
    notes.parent.mkdir()
    notes.write_text(f"# Daily Log — 2026-03-01\n\n- **a**: A\n- **b**: {text}\n")
    async with alone.opened() as library:
        await _erase(library, text)
    assert file.read_text().startswith(snapshot(("a", "A")).replace(": 1\n", ": 2\n")[:200])
    assert "### 🔑 `a`\n\nA\n\n*Created: 2026-03-01T" in file.read_text()
    assert "message" not in file.read_text()
    assert notes.read_text() == "# Daily Log — 2026-03-01\n\n- **a**: A\n"


async def test_copies_of_a_named_store_are_erased_too(alone, tmp_path):
    copies = [alone.root / "memory" / "brain.db.bak", alone.root / "backup" / "brain.db", alone.config_dir / "old.sav"]
    copies[1].parent.mkdir()
    for copied in copies:
        shutil.copy(alone.database, copied)
    by_hand = alone.root / "memory" / "old"
    by_hand.write_text(f"{TEXT}\n")
    copies_next_to_it = {*map(str, copies[:1]), str(alone.database)}
    async with opened_at(OpenOptions(location=str(alone.database))) as library:
        plan = await _plan(library)
        assert {place.place for place in plan.to_erase} == copies_next_to_it
        assert (await erase_texts(library, plan)).is_complete
    assert by_hand.read_text() == f"{TEXT}\n"
    assert not copies[0].exists() or rows(copies[0], "SELECT count(*) FROM memories") == [len(OTHERS)]


async def test_a_deleted_memory_is_named_although_the_index_has_its_word_of_another(alone):
    async with alone.opened() as library:
        for key, content in (("friend", "Xoe"), ("neighbour", "Xoë")):
            await store_memory(library, Draft(key, content))
        report = await _erase(library, "Xoe")
        assert "friend" not in {entry.key for entry in await library.memory.list()}
    assert [place.kind for place in report.erased] == ["store"]
    assert [place.kind for place in report.left] == ["store"]
    assert "zoe for Zoë" in report.left[0].why


async def test_backups_by_editors_are_erased_too(alone):
    names = ("MEMORY.md~", "#MEMORY.md#", "memory/2026-03-01.md.orig", "sessions/a.jsonl.bak")
    files = [alone.write(name, f"{TEXT}\n") for name in names]
    files.append(Path(shutil.copy(alone.database, alone.root / "memory" / "brain-old.db")))
    swap = alone.write(".MEMORY.md.swp", f"b0VIM\0{TEXT}\0")
    async with alone.opened() as library:
        plan = await _plan(library)
        assert {place.place for place in plan.to_erase} >= set(map(str, files))
        report = await erase_texts(library, plan)
    assert [place.place for place in report.left] == [str(swap)]
    assert bytes_left(alone.root) == [".MEMORY.md.swp: UTF-8"]


async def test_in_notes_only_the_marked_line_is_erased(tmp_path):
    notes = tmp_path / "MEMORY.md"
    head = "# Long-Term Memory\n"
    notes.write_text(f"{head}- **a**: one\n\n- **b**: two\n\n- **c**: three\n")
    async with opened_at(tmp_path) as library:
        (marked,) = [entry.id for entry in await library.memory.list() if entry.content == "**b**: two"]
        plan = await _plan(library, ids=(marked,))
        # Another program writes before the confirmation.
        notes.write_text(notes.read_text().replace(head, f"{head}- **new**: four\n\n"))
        report = await erase_texts(library, plan)
        assert report.is_complete, report.sentences()
        assert [entry.content for entry in await library.memory.list()] == [
            "**new**: four",
            "**a**: one",
            "**c**: three",
        ]
        by_text = await _plan(library, "FOUR")
        assert [(place.kind, place.place, place.count) for place in by_text.places] == [("store", str(notes), 1)]
        assert (await erase_texts(library, by_text)).scan.files == 1
    assert bytes_left(tmp_path, text="four") == []


# Stores on a server


CONTENTS = (OTHERS[0], f"I met {TEXT.upper()}", OTHERS[1], f"{TEXT} again")
CONFIG = '[memory]\nbackend = "none"\nauto_save = false\n'
KEPT = {"redis": "append-only file", "postgres": "write-ahead log", "qdrant": "snapshots"}


@dataclass(frozen=True)
class Store:
    """An empty store on a server."""

    backend: str
    location: str


@pytest.fixture
def place(postgres, request):
    place = PostgresPlace(postgres, f"erase{abs(hash(request.node.name)) % 10**9}")
    place.make_table("key")
    return place


@pytest.fixture(params=["redis", "postgres", "qdrant"])
def store(request):
    if request.param == "redis":
        if server_program() is None:
            pytest.skip(NO_SERVER)
        with running_redis() as redis:
            yield Store("redis", redis.url())
    elif request.param == "postgres":
        yield Store("postgres", request.getfixturevalue("place").url)
    else:
        with serving() as qdrant:
            qdrant.add("zeroclaw_memories", 16)
            yield Store("qdrant", f"{qdrant.base}/collections/zeroclaw_memories")


@pytest.fixture
def opened(tmp_path):
    (tmp_path / "zc").mkdir()
    embeds = 'embedding_provider = "local"\nembedding_dimensions = 16\n'
    (tmp_path / "zc" / "config.toml").write_text(CONFIG + embeds)

    return lambda backend, location: library_of(config_dir=tmp_path / "zc", backend=backend, location=location)


async def _contents(library: Library) -> list[str]:
    return sorted(entry.content for entry in await library.memory.list())


async def test_rows_are_erased_and_other_copies_of_the_server_are_reported(store, opened, tmp_path):
    """Two memories stay; one of the two with the text is in the trash."""
    async with opened(store.backend, store.location) as library:
        for at, content in enumerate(CONTENTS):
            await store_memory(library, Draft(f"key{at}", content))
        await remove_memories(library, await plan_purge(library, MemoryFilter(contains="again")), "purge")
        plan = await _plan(library)
        # The journal has no content of new rows in a store with transactions.
        in_trash = 1 if store.backend == "postgres" else 3
        assert {(place.kind, place.count) for place in plan.places} == {("store", 1), ("trash", in_trash)}
        report = await erase_texts(library, plan)
        assert report.left == []
        assert report.is_complete
        kept = {one.place: one.why for one in report.scan.skipped}[library.memory.about.location]
        assert KEPT[store.backend] in kept
        assert any(words in kept for words in ("not ours to look into", "this program cannot read"))
        assert report.sentences()[-1] == "Nothing is left in the places that were searched."
        assert await _contents(library) == sorted(OTHERS[:2])
        again = await _erase(library)
        assert again.is_complete
        assert [one.place for one in again.scan.skipped] == [library.memory.about.location]
    assert bytes_left(tmp_path) == []


async def test_a_store_that_cannot_be_read_again_is_reported(place, opened, monkeypatch):
    async with opened("postgres", place.url) as library:
        await store_memory(library, Draft("key", TEXT))
        plan, apply = await _plan(library), library.memory.apply

        async def apply_and_break(*arguments, **options):
            result = await apply(*arguments, **options)
            place.run("ALTER TABLE memories RENAME TO elsewhere")
            return result

        monkeypatch.setattr(library.memory, "apply", apply_and_break)
        report = await erase_texts(library, plan)
        assert not report.is_complete
        assert library.memory.about.location in [one.place for one in report.left]
