"""An entry point leads to its store, or to one sentence that names the faulty package and the fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.memories import Refused
from support.places import Install, MemoryConfig, load_config

from zeroclaw_tui.backends.factory import create_memory, plugin_names
from zeroclaw_tui.memory.query import ENTRIES, Query

VERBS = ("store", "recall", "get", "list", "forget", "count", "health_check")
WHOLE = (
    "from zeroclaw_tui.backends.base import Memory\n"
    + "class Box(Memory):\n"
    + "".join(f"    async def {verb}(self, *parts, **named): return None\n" for verb in VERBS)
)


def config_of(root: Path, backend: str, **parts: object) -> MemoryConfig:
    install = Install(root, root / "workspace", root / "brain.db", "workspace", "a test", root / "zeroclaw-tui")
    return MemoryConfig(install, backend=backend, **parts)


def test_a_trait_only_plug_in_has_the_name_of_its_entry_point(installed, tmp_path):
    installed("Box", "box_whole:Box", module=WHOLE)
    memory = create_memory(config_of(tmp_path, "box"))
    assert (memory.name, memory.about.location) == ("box", "package shoe-box 1.2")
    memory = create_memory(config_of(tmp_path, "box", location="https://ada:hunter2@box.example/x"))
    assert memory.about.location == "https://ada:••••@box.example/x"
    assert plugin_names() == ("box",)


@pytest.mark.parametrize(
    ("value", "module", "said"),
    [
        ("box_gone:Box", None, "cannot be imported: ModuleNotFoundError: No module named 'box_gone'"),
        ("box_empty:Box", "", "cannot be imported: AttributeError"),
        ("box_raises:Box", "raise ValueError('bad\\nday, password=hunter2')", "ValueError: bad day"),
        ("box_exits:Box", "raise SystemExit(7)", "cannot be imported: SystemExit: 7"),
        ("box_other:Box", "class Box: pass", "names box_other:Box, which is not a class with the seven methods"),
        ("box_part:Box", WHOLE.partition("    async")[0] + "    pass\n", "which is not a class with the seven methods"),
        ("box_gives:Box", WHOLE + "    from_config = classmethod(lambda cls, config: 3)\n", "cannot be created: At"),
        ("box_asks:Box", WHOLE + "    def __init__(self, more): pass\n", "cannot be created: TypeError"),
    ],
)  # fmt: skip
def test_an_unusable_plug_in_is_reported_in_one_sentence(installed, tmp_path, value, module, said):
    installed("box", value, module=module)
    with pytest.raises(Refused) as refusal:
        create_memory(config_of(tmp_path, "box"))
    assert said in refusal.value.message
    assert "'box' of the package shoe-box 1.2" in refusal.value.message
    assert "\n" not in refusal.value.message
    assert "uninstall that package" in refusal.value.hint


def test_a_built_in_backend_wins_over_a_plug_in_of_the_same_name(installed, tmp_path):
    installed("in-memory", "box_never:Box", module="raise RuntimeError('imported')")
    assert type(create_memory(config_of(tmp_path, "in-memory"))).__name__ == "InMemory"
    assert plugin_names() == ()


def test_two_packages_with_one_name_are_both_named(installed, tmp_path):
    installed("box", "box_whole:Box", package="one", module=WHOLE)
    installed("box", "box_whole:Box", package="two")
    with pytest.raises(Refused, match=r"Several packages offer a backend 'box': one 1\.2, two 1\.2"):
        create_memory(config_of(tmp_path, "box"))


def test_a_plug_in_receives_its_settings_from_config_toml(installed, tmp_path):
    body = (
        "    @classmethod\n    def from_config(cls, config):\n"
        "        from zeroclaw_tui.backends.about import About\n"
        "        box = cls()\n"
        '        box.about = About(location=f\'{config.storage["shelf"]} {config.storage["lid"]}\')\n'
        "        return box\n"
    )
    installed("box", "box_set:Box", module=WHOLE + body)
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "box"\n[storage.box]\nshelf = "top"\nlid = 7\n')
    install = Install(tmp_path, tmp_path / "workspace", tmp_path / "brain.db", "workspace", "a test", tmp_path)
    assert create_memory(load_config(install, {})).about.location == "top 7"


async def test_an_error_of_a_plug_in_is_reported_with_its_package(installed, tmp_path):
    raises = "    async def list(self, *parts, **named): raise ValueError('no password=hunter2')\n"
    exits = "    async def count(self): raise SystemExit(7)\n"
    installed("box", "box_fails:Box", module=f"{WHOLE}{raises}{exits}")
    memory = create_memory(config_of(tmp_path, "box"))
    with pytest.raises(Refused, match=r"^The backend 'box' of the package shoe-box 1.2 failed in list: ValueError: no"):
        await memory.rows(Query(ENTRIES))
    with pytest.raises(Refused, match="failed in count: SystemExit: 7"):
        await memory.count()
