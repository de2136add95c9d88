"""A workspace for every kind of upkeep, files to import, and a comparable copy of its whole state."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.left_texts import AUDIT, snapshot
from support.libraries import Library, Outcome, open_library, plan_purge
from support.memories import Draft, Edit
from support.places import OpenOptions
from support.questions import MemoryFilter, Superseded
from support.small_store import blob, make
from support.stores import row_with_id, versions
from support.whole_store import everything, hits
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.clean_up import check_memories, merge, plan_merge
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.snapshot import place_of, plan_hydrate, write_snapshot
from zeroclaw_tui.curation.traces.copies import clean_copies, find_copies
from zeroclaw_tui.curation.transfer.imports import import_memories, plan_import
from zeroclaw_tui.curation.transfer.plan import Target

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)
WORDS = ["harbour", "crossing", "imported", "kept", "hydrated"]
CLASHES = ("skip", "overwrite", "rename")
SNAPSHOT = snapshot(("key0", "hydrated in place"), ("only there", "hydrated again"))

COPIES = ["asked for the harbour", "hydrated in place"]
"""Texts in the audit log and in the snapshot."""

Step = tuple[str, int]
"""A kind of upkeep, and a number that selects its target."""


@dataclass(frozen=True)
class Place:
    """A config dir with a database of 0.8.4, notes, session files, an audit log, a snapshot, and files to import."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "zeroclaw" / "data"

    @property
    def database(self) -> Path:
        return self.root / "memory" / "brain.db"

    async def opened(self) -> Library:
        options = OpenOptions(config_dir=self.folder / "zeroclaw")
        library = await open_library(configs_for(options, {"HOME": str(self.folder)})[0], "0.8.4")
        library.trash = Trash(library.config.install, library.trash.store, lambda: NOW)
        return library

    def state(self) -> dict[str, Any]:
        """Return all rows with their rowids, the keyword hits, and each file's bytes, mode and modification time.

        ZeroClaw's record of when hygiene ran is left out, since no undo changes it.
        """
        with closing(sqlite3.connect(self.database)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        files = (path for path in sorted(self.root.rglob("*")) if path.is_file() and ".db" not in path.name)
        stored = {str(path.relative_to(self.root)): (path.read_bytes(), path.stat()) for path in files}
        stored.pop("state/memory_hygiene_state.json", None)
        return {
            "tables": everything(self.database),
            "log": everything(self.root / "memory" / "audit.db"),
            "found": hits(self.database, WORDS),
            "files": {name: (data, of.st_mode, of.st_mtime_ns) for name, (data, of) in stored.items()},
        }


def make_place(folder: Path, count: int = 30) -> Place:
    place = Place(folder)
    place.database.parent.mkdir(parents=True)
    (folder / "zeroclaw" / "config.toml").write_text(
        'schema_version = 3\n[memory]\nbackend = "sqlite"\nhygiene_enabled = true\narchive_after_days = 7\n'
        "purge_after_days = 30\nconversation_retention_days = 10\naudit_enabled = true\naudit_retention_days = 10\n"
    )
    make(place.database, "G4", [_row(at) for at in range(count)])
    _make_files(place)
    _make_imports(folder, count)
    return place


def _row(at: int) -> dict[str, Any]:
    """Every third is an old conversation; every fifth has the words of another memory."""
    when = (NOW - timedelta(days=40 if at % 3 == 0 else 1, seconds=1000 - at)).isoformat()
    return {
        "key": f"key{at}",
        "content": f"a long enough memory of the harbour {at if at % 5 else 'again'}",
        "category": ("conversation", "core", "daily")[at % 3],
        "created_at": when,
        "updated_at": when,
        "embedding": blob(1, at, 2) if at % 2 else None,
        "importance": at / 100,
        "session_id": f"s{at % 2}",
    }


def _make_files(place: Place) -> None:
    written = {
        "memory/2026-03-01.md": b"- an old day\n",
        "memory/2026-03-19.md": b"- yesterday\n",
        "memory/archive/2026-01-01.md": b"- long ago\r\n",
        "sessions/2026-03-02.jsonl": b"{}\n",
        "MEMORY_SNAPSHOT.md": SNAPSHOT.encode(),
    }
    for at, (name, data) in enumerate(written.items()):
        path = place.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o640 if at % 2 else 0o600)
        os.utime(path, ns=(10**18 + at, 10**18 + at))
    with closing(sqlite3.connect(place.root / "memory" / "audit.db")) as connection, connection:
        connection.execute(AUDIT)
        rows = [(f"key{at}", (NOW - timedelta(days=5 * at)).isoformat(), COPIES[0]) for at in range(6)]
        connection.executemany(
            "INSERT INTO memory_audit (operation, key, timestamp, metadata) VALUES ('store', ?, ?, ?)", rows
        )


def _make_imports(folder: Path, count: int) -> None:
    """Write one file with ids and keys of the store, and one of plain lines."""
    rows = [
        {"id": f"id-{at:03d}" if at % 2 else f"other-{at}", "key": f"key{at * 2}", "content": f"imported {at}"}
        for at in range(count)
    ]
    for at, name in enumerate(("with ids.jsonl", "plain.jsonl")):
        kept = [row if at == 0 else {"key": row["key"], "content": row["content"]} for row in rows]
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in kept))


async def do(library: Library, place: Place, step: Step) -> Outcome | None:
    """Do one step of upkeep; return None if it had nothing to do."""
    name, number = step
    return await {
        "hygiene": _hygiene, "merge": _merge, "hydrate": _hydrate, "import": _import,
        "store": _store, "edit": _edit, "purge": _purge, "snapshot": _snapshot, "clean": _clean,
    }[name](library, place, number)  # fmt: skip


STEPS: Sequence[str] = (
    "hygiene", "merge", "hydrate", "import", "store", "edit", "purge", "snapshot", "clean",
)  # fmt: skip


async def _hygiene(library: Library, place: Place, number: int) -> Outcome | None:
    plan = await plan_hygiene(library, NOW)
    return await run_hygiene(library, plan.without([item.id for item in plan.items[: number % 3]]))


async def _merge(library: Library, place: Place, number: int) -> Outcome | None:
    report = await check_memories(library)
    kind = "near duplicates" if number % 2 else "exact duplicates"
    found = next((finding for finding in report.findings if finding.kind == kind), None)
    return None if found is None else await merge(library, plan_merge([found]))


async def _hydrate(library: Library, place: Place, number: int) -> Outcome | None:
    target = Target.of(library)
    plan = await plan_hydrate(target, place_of(library.config))
    return await import_memories(target, plan, CLASHES[number % 3])  # type: ignore[arg-type]


async def _import(library: Library, place: Place, number: int) -> Outcome | None:
    file = place.folder / ("with ids.jsonl", "plain.jsonl")[number % 2]
    return await import_memories(Target.of(library), await plan_import(Target.of(library), file), CLASHES[number % 3])  # type: ignore[arg-type]


async def _store(library: Library, place: Place, number: int) -> Outcome | None:
    draft = Draft(f"key{number % 40}", f"kept on the crossing {number}", "daily")
    return await changes.store_memory(library, draft, overwrite=True)


async def _edit(library: Library, place: Place, number: int) -> Outcome | None:
    stamps = await versions(library.memory, MemoryFilter(superseded=Superseded.SHOW))
    if not stamps:
        return None
    row = await row_with_id(library.memory, stamps[number % len(stamps)].id)
    assert row is not None
    return await changes.edit_memory(library, row.id, Edit({"content": f"crossing {number}"}), row.fingerprint)


async def _purge(library: Library, place: Place, number: int) -> Outcome | None:
    plan = await plan_purge(library, MemoryFilter(category=(("conversation", "core", "daily")[number % 3],)))
    return await changes.remove_memories(library, plan, "purge")


async def _clean(library: Library, place: Place, number: int) -> Outcome:
    return await clean_copies(library, await find_copies(library, COPIES))


async def _snapshot(library: Library, place: Place, number: int) -> Outcome | None:
    if not await versions(library.memory, MemoryFilter(category=("core",))):
        return None
    return await write_snapshot(library)
