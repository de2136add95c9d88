"""Where a removed text is found again, place by place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from copies_samples import OTHER, SECRET, Place
from support import small_store
from support.left_texts import snapshot
from support.opened import opened

from zeroclaw_tui.curation.traces.copies import Copy, Text, find_copies, summary

DOOR = Text("id-gone", "door", SECRET)
Make = Callable[..., Place]


async def _found(place: Place, *texts: Text) -> dict[str, list[Copy]]:
    async with place.opened() as library:
        by_kind: dict[str, list[Copy]] = {}
        for copy in await find_copies(library, texts or (DOOR,)):
            by_kind.setdefault(copy.kind, []).append(copy)
        return by_kind


def _told(copy: Copy) -> tuple[str, int | None, bool]:
    return Path(copy.place).name, copy.count, copy.can_clean


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("brain.db-")
    }


async def test_places_that_are_no_chats_are_told(make_place: Make) -> None:
    """Each place by its path, with what can be cleaned and why the rest cannot; looking changes no byte."""
    place = make_place("G4", ({"id": "1", "key": "lang", "content": OTHER},))
    place.write("MEMORY_SNAPSHOT.md", snapshot(("lang", OTHER), ("door", SECRET)))
    place.write("memory/archive/2026-01-01.md", f"# Daily Log\n\n- **x**: {SECRET}\n")
    place.write("MEMORY.md", f"# Long-Term Memory\n\n- **door**: {SECRET}\n")
    small_store.make(place.root / "memory" / "discord.db", "G4", [{"content": SECRET}])
    small_store.make(place.root / "memory" / "brain.db.backup-20260801T000000", "G1", [{"content": SECRET}])
    old = place.config_dir / "backup-20260801T000000" / "legacy-workspace" / "memory"
    old.mkdir(parents=True)
    small_store.make(old / "brain.db", "G1", [{"key": "other", "content": OTHER}])
    before = _digests(place.config_dir)

    found = await _found(place)

    assert _digests(place.config_dir) == before
    assert {kind: [_told(copy) for copy in some] for kind, some in found.items()} == {
        "snapshot": [("MEMORY_SNAPSHOT.md", 1, True)],
        "archive": [("2026-01-01.md", 1, True)],
        "markdown": [("MEMORY.md", 1, True)],
        "backup": [("brain.db.backup-20260801T000000", 1, False)],
        "other database": [("discord.db", 1, False)],
    }
    assert all(copy.remark for some in found.values() for copy in some)


async def test_other_memories_with_the_content_are_named(make_place: Make) -> None:
    """Superseded ones and those of other agents too, but not the memory itself while it is still stored."""
    hidden = {"id": "2", "key": "hidden", "content": SECRET, "superseded_by": "x"}
    place = make_place("G4", ({"id": "1", "key": "door", "content": SECRET}, hidden))
    itself = Text("1", "door", SECRET)
    (copy,) = (await _found(place, itself))["memories"]
    assert (copy.count, copy.can_clean) == (1, False)
    assert "hidden" in copy.remark
    assert "door" not in copy.remark


async def test_blank_texts_are_found_nowhere(make_place: Make) -> None:
    place = make_place("G2", ({"id": "2", "key": " ", "content": ""},))
    place.write("MEMORY.md", "\n\n- \n")
    place.write("MEMORY_SNAPSHOT.md", snapshot(("", "kept"), ("other", "")))
    assert await _found(place, Text("1", "", ""), Text("1", " ", "\n")) == {}


async def test_what_cannot_be_read_is_told(place: Place) -> None:
    """Damaged databases and a folder among files: each database says why, none stops the rest."""
    place.write("memory/audit.db", b"not a database at all" * 100)
    for name in ("memory/response_cache.db", "sessions/sessions.db", "memory/brain.db.backup-1"):
        place.write(name, b"SQLite format 3\x00" + b"\xff" * 4096)
    (place.root / "memory" / "2026-01-01.md").mkdir()
    place.write("memory/archive/2026-01-01.md", f"- **door**: {SECRET}\n")
    found = await _found(place)
    assert found["archive"][0].count == 1
    for kind in ("audit", "response cache", "backup", "chat"):
        (copy,) = found[kind]
        assert (copy.count, copy.can_clean) == (None, False)
        assert copy.remark


async def test_a_log_nobody_indexed_is_left_as_it_is(place: Place) -> None:
    """Reading it would make a file beside a database of another program; that it was not read is said."""
    backup = small_store.make(place.root / "memory" / "discord.db", "G2", [])
    wal = place.write("memory/discord.db-wal", b"\x37\x7f\x06\x82" + b"\x00" * 100)
    (copy,) = (await _found(place))["other database"]
    assert copy.count is None
    assert wal.name in copy.remark
    assert not backup.with_name("discord.db-shm").exists()


async def test_notes_of_the_store_itself_are_no_copies(make_place: Make) -> None:
    """Where memory is Markdown, the same text on another line is another memory; agents' folders are the store too."""
    place = make_place(backend="markdown")
    place.database.unlink()
    place.write("MEMORY.md", f"{SECRET}\n")
    place.write("memory/archive/2026-01-01.md", f"{SECRET}\n")
    found = await _found(place)
    assert found.keys() == {"memories", "archive"}


async def test_a_lone_database_has_no_notes_but_backups(tmp_path: Path) -> None:
    """Notes that happen to lie in the same folder are another program's."""
    database = small_store.make(tmp_path / "brain.db", "G2", [])
    small_store.make(tmp_path / "brain.db.backup-20260801T000000", "G1", [{"content": SECRET}])
    (tmp_path / "MEMORY.md").write_text(SECRET)
    async with opened(path=database) as library:
        assert [copy.kind for copy in await find_copies(library, [DOOR])] == ["backup"]


def test_the_summary_counts_by_kind() -> None:
    copies = [
        Copy("snapshot", "/x/MEMORY_SNAPSHOT.md", 1290, False, ""),
        Copy("archive", "/x/a.md", 2, False, ""),
        Copy("lucid", "lucid", None, False, ""),
        Copy("archive", "/x/b.md", 1, False, ""),
    ]
    assert summary(copies) == "snapshot (1,290), archive (3), lucid"
    assert summary([]) == ""
