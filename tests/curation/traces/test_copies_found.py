"""Where a removed text is found again, place by place."""

from __future__ import annotations

from support import small_store
from support.installs import Install

from zeroclaw_tui.curation.traces.copies import find_copies
from zeroclaw_tui.curation.traces.files import TextPlace

SECRET = "The door code is 4711, tell nobody"


async def _found(place: Install, *contents: str) -> dict[str, list[TextPlace]]:
    async with place.opened() as library:
        by_kind: dict[str, list[TextPlace]] = {}
        for copy in await find_copies(library, contents or (SECRET,)):
            by_kind.setdefault(copy.kind, []).append(copy)
        return by_kind


async def test_unreadable_places_are_reported(place):
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
        assert copy.why


async def test_an_unindexed_log_is_not_read(place):
    """Reading it would make a file next to a database of another program; that it was not read is said."""
    backup = small_store.make(place.root / "memory" / "discord.db", "G2", [])
    wal = place.write("memory/discord.db-wal", b"\x37\x7f\x06\x82" + b"\x00" * 100)
    (copy,) = (await _found(place))["other database"]
    assert copy.count is None
    assert wal.name in copy.why
    assert not backup.with_name("discord.db-shm").exists()


async def test_notes_of_the_store_itself_are_no_copies(place):
    """Where memory is Markdown, the same text on another line is another memory; agents' folders are the store too."""
    place.configure(backend="markdown")
    place.database.unlink()
    place.write("MEMORY.md", f"{SECRET}\n")
    place.write("memory/archive/2026-01-01.md", f"{SECRET}\n")
    found = await _found(place)
    assert found.keys() == {"archive"}
