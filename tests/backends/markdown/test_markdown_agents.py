"""Each agent of ZeroClaw >= 0.8 has its own notes, in the folder that the config names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.memories import NothingYet, Refused
from support.places import Install, MemoryConfig, load_config
from support.recalls import keys, recalled
from support.rules import profile_for
from support.stores import sentences

from zeroclaw_tui.backends.factory import create_memory


def config_of(folder: Path, text: str = "") -> MemoryConfig:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'schema_version = 3\n[memory]\nbackend = "markdown"\n{text}')
    data = folder / "data"
    return load_config(Install(folder, data, data / "memory" / "brain.db", "data", "a test", folder), {})


def note(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text(text)


async def test_each_agent_and_the_install_have_their_own_folder(tmp_path):
    config = config_of(
        tmp_path / "z",
        f'[agents.ada.workspace]\npath = "{tmp_path / "else where"}"\nread_memory_from = ["bob"]\n'
        '[agents.bob]\n[agents.cem.workspace]\npath = "kept/cem"\n[agents.dan.workspace]\npath = " "\n',
    )
    note(tmp_path / "z" / "data", "- install tea\n")
    note(tmp_path / "else where", "- green tea\n")
    note(tmp_path / "z" / "agents" / "ada" / "workspace", "- not hers any more, tea\n")
    note(tmp_path / "z" / "agents" / "bob" / "workspace", "- black tea\n")
    note(tmp_path / "z" / "kept" / "cem", "- no tea\n")
    note(tmp_path / "z" / "agents" / "dan" / "workspace", "- herbs\n")
    memory = create_memory(config)
    await memory.open()
    stored = {(entry.agent, entry.content) for entry in await memory.list()}
    assert stored == {
        (None, "install tea"), ("ada", "green tea"), ("bob", "black tea"), ("cem", "no tea"), ("dan", "herbs"),
    }  # fmt: skip
    agents = config.readable_by(["ada"])
    assert keys(await recalled(memory, "tea", agents=agents)) == ["[ada] MEMORY:0", "[bob] MEMORY:0"]


async def test_a_folder_that_zeroclaw_has_not_created_yet_can_be_created(tmp_path):
    config = config_of(tmp_path / "z")
    memory = create_memory(config)
    with pytest.raises(NothingYet, match="There is no directory"):
        await memory.open()
    await memory.make(profile_for("0.8.4"))
    await memory.open()
    assert "this store has no memories yet" in sentences(memory.about.notices)[0]
    assert list((tmp_path / "z" / "data").iterdir()) == []
    with pytest.raises(Refused, match="exists already"):
        await memory.make(profile_for("0.8.4"))
