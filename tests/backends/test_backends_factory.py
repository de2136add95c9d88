"""A config opens its store, or gives a sentence that says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.memories import Refused, UsageError
from support.places import Install, MemoryConfig

from zeroclaw_tui.backends.factory import BACKENDS, CLASSES, create_memory


def config_of(root: Path, backend: str, *, layout: str = "workspace", **rest: object) -> MemoryConfig:
    install = Install(root.parent, root, root / "memory" / "brain.db", layout, "a test", root.parent / "zeroclaw-tui")
    return MemoryConfig(install, backend=backend, **rest)


SERVERS = {
    "postgres": "postgres://ada:hunter2@127.0.0.1:1/d", "qdrant": "http://127.0.0.1:1", "redis": "redis://127.0.0.1:1",
}  # fmt: skip


FILES = {"rmem": "/nowhere/rustmem.db", "memory-rs": "/nowhere/export.json"}


@pytest.mark.parametrize("name", [profile.key for profile in BACKENDS])
def test_every_known_backend_is_created(name, tmp_path):
    memory = create_memory(config_of(tmp_path, name, location=(SERVERS | FILES).get(name)))
    assert memory.name == name
    assert "hunter2" not in memory.about.location


@pytest.mark.parametrize(("name", "driver"), [("postgres", "asyncpg"), ("redis", "redis")])
async def test_a_missing_driver_error_names_its_extra(name, driver, tmp_path, monkeypatch):
    store = CLASSES[name].partition(":")[0]
    for module in (store, store.replace(".store", ".connect")):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(Refused) as refusal:
        await create_memory(config_of(tmp_path, name, location=SERVERS[name])).open()
    assert f"-m pip install {driver}" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_an_unknown_backend_name_lists_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match="There is no memory backend 'sqlit'") as error:
        create_memory(config_of(tmp_path, "sqlit"))
    assert "Known backends: sqlite, lucid" in error.value.hint
    assert "ZeroClaw itself would use Markdown here; --backend markdown opens it" in error.value.hint


def test_a_backend_is_imported_only_when_used():
    code = (
        "import sys, zeroclaw_tui.backends.factory; "
        "print([m for m in sys.modules if m.startswith('zeroclaw_tui.backends.') or m in ('numpy', 'aiosqlite')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "backends.factory" in loaded
    for name in ("sqlite", "markdown", "none", "in_memory", "numpy"):
        assert name not in loaded
