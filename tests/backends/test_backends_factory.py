"""A config leads to its store, or to a sentence that says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zeroclaw_tui.backends.factory import BACKENDS, CLASSES, backend_info, create_memory
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import Refused, Unreadable, UsageError


def config_of(root: Path, backend: str, *, layout: str = "workspace", **rest: object) -> MemoryConfig:
    install = Install(root.parent, root, root / "memory" / "brain.db", layout, "a test", root.parent / "zeroclaw-tui")  # type: ignore[arg-type]
    return MemoryConfig(install, backend=backend, **rest)  # type: ignore[arg-type]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


SERVERS = {
    "postgres": "postgres://ada:hunter2@127.0.0.1:1/d", "qdrant": "http://127.0.0.1:1", "redis": "redis://127.0.0.1:1",
}  # fmt: skip


FILES = {"rmem": "/nowhere/rustmem.db", "memory-rs": "/nowhere/export.json"}


@pytest.mark.parametrize("name", [profile.key for profile in BACKENDS])
def test_every_known_backend_opens_or_says_why_not(name: str, tmp_path: Path) -> None:
    profile = backend_info(name)
    assert profile is not None
    assert (profile.key in CLASSES) != profile.is_past
    config = config_of(tmp_path, name, location=(SERVERS | FILES).get(name))
    if not profile.is_past:
        memory = create_memory(config)
        assert memory.name == name
        assert "hunter2" not in memory.about.location
        return
    with pytest.raises(Refused) as refusal:
        create_memory(config)
    assert refusal.value.message.endswith(".")
    assert refusal.value.hint


@pytest.mark.parametrize(("name", "driver"), [("postgres", "asyncpg"), ("redis", "redis")])
async def test_a_driver_that_is_not_installed_names_its_extra(
    name: str, driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CLASSES[name].partition(":")[0]
    for module in (store, store.replace(".store", ".connect")):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(Refused) as refusal:
        await create_memory(config_of(tmp_path, name, location=SERVERS[name])).open()
    assert f"'{driver}>=" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "meant"), [("sqlit", "'sqlite'"), ("markdwon", "'markdown'"), ("postgre", "'postgres'")]
)
def test_an_unknown_name_gets_the_nearest_known_one(name: str, meant: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"There is no memory backend '{name}'") as error:
        create_memory(config_of(tmp_path, name))
    assert f"Did you mean {meant}?" in error.value.hint
    assert "ZeroClaw itself would use Markdown here, which --backend markdown opens" in error.value.hint


def test_a_missing_database_next_to_notes_points_at_the_notes(tmp_path: Path) -> None:
    write(tmp_path / "memory" / "2026-01-02.md", "- one\n")
    with pytest.raises(Unreadable, match="There is no database") as error:
        create_memory(config_of(tmp_path, "sqlite"))
    assert "--backend markdown" in error.value.hint


def test_defaults_follow_the_backend() -> None:
    sqlite, markdown, none = (backend_info(name) for name in ("sqlite", "markdown", "none"))
    assert sqlite is not None
    assert markdown is not None
    assert none is not None
    assert (sqlite.archive_after_days, sqlite.purge_after_days, sqlite.embedding_cache_size) == (7, 30, 10_000)
    assert (markdown.archive_after_days, markdown.purge_after_days, markdown.embedding_cache_size) == (0, 0, 0)
    assert (sqlite.auto_save, markdown.auto_save, none.auto_save) == (True, True, False)


def test_a_backend_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys, zeroclaw_tui.backends.factory; "
        "print([m for m in sys.modules if m.startswith('zeroclaw_tui.backends.') or m in ('numpy', 'aiosqlite')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "backends.factory" in loaded
    for name in ("sqlite", "markdown", "none", "in_memory", "numpy"):
        assert name not in loaded
