"""`memory hydrate`: into a store in use, and making an empty one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Command

SNAPSHOT = """# 🧠 ZeroClaw Memory Snapshot

### 🔑 `lang`

User prefers Haskell

*Created: 2025-01-01T10:00:00+00:00 | Updated: 2025-01-02T10:00:00+00:00*

---

### 🔑 `tea`

Green tea
---
at four

*Created: 2025-01-15T10:00:00+00:00 | Updated: 2025-01-15T10:00:00+00:00*

---

### 🔑 `pet`

Cat named Mio

*Created: 2025-01-15T10:00:00+00:00 | Updated: 2025-01-15T10:00:00+00:00*

---
"""


@pytest.fixture
def file(install: Path) -> Path:
    found = install / "workspace" / "MEMORY_SNAPSHOT.md"
    found.write_text(SNAPSHOT)
    return found


@pytest.fixture
def empty(install: Path, file: Path) -> Path:
    """The same install without its database; gives the place of it."""
    database = install / "workspace" / "memory" / "brain.db"
    for path in database.parent.iterdir():
        path.unlink()
    return database


def test_the_plan_is_shown_and_nothing_done(memory: Command, file: Path) -> None:
    shown = memory("hydrate", "--dry-run")
    assert shown.code == 0
    assert shown.out.splitlines()[:4] == [
        "Import 1 memory from MEMORY_SNAPSHOT.md?",
        "  1 new",
        "  1 already there, the same",
        "  1 whose key is taken: left out (--overwrite replaces the existing ones, --rename adds these"
        " under another key)",
    ]
    assert "no id, session" in shown.out
    assert memory("get", "tea").code == 1


def test_an_empty_store_is_made_and_opens(memory: Command, empty: Path) -> None:
    shown = memory("hydrate", "--dry-run")
    assert shown.code == 0
    assert f"{empty} is created first." in shown.out
    assert not empty.exists()
    done = memory("hydrate", "--yes", "--json")
    assert done.code == 0
    assert (done.json["makes"], done.json["count"]) == (f"{empty} is created first.", 3)
    assert memory("recall", "haskell", "--json").json["results"][0]["key"] == "lang"
    assert memory("health").code == 0


def test_undo_removes_what_an_empty_store_was_made_of_and_nothing_older(memory: Command, empty: Path) -> None:
    """Both in one place: what was stored in the database that is missing is in the same trash."""
    assert memory("store", "old", "Stored before").code == 0
    for path in empty.parent.glob("brain.db*"):
        path.unlink()
    done = memory("hydrate", "--yes")
    assert done.out.startswith("✓ Imported 3 memories from MEMORY_SNAPSHOT.md; `zeroclaw")
    assert memory("undo", "--yes").code == 0
    assert memory("list", "--json").json["total"] == 0
    assert memory("redo", "--yes").code == 0
    assert memory("get", "tea", "--json").json["content"] == "Green tea\nat four"
