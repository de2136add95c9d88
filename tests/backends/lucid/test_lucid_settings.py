"""Which settings of the program hold, by the version of ZeroClaw and by what the config and the environment say."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.lucid_program import LucidProgram, write_program
from support.small_store import make

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.lucid import LucidConfig, LucidMemory, LucidSettings
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, parse_version, profile_for
from zeroclaw_tui.testing.tools import recall_of

OLD = '[memory]\nbackend = "lucid"\nauto_save = true\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "lucid.work"\n[storage.lucid.work]\n'


def config(folder: Path, text: str, layout: str = "workspace", **environ: str) -> MemoryConfig:
    (folder / layout / "memory").mkdir(parents=True)
    (folder / "config.toml").write_text(text)
    return configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder), **environ})[0]


def settings(found: MemoryConfig, version: str) -> LucidSettings:
    return LucidConfig.of(found).for_version(parse_version(version))


def test_the_variables_hold_up_to_0_7_5(tmp_path: Path) -> None:
    """Each has its place; numbers below the least are raised to it."""
    found = config(
        tmp_path,
        OLD,
        ZEROCLAW_LUCID_CMD=" /opt/lucid ",
        ZEROCLAW_LUCID_BUDGET="300",
        ZEROCLAW_LUCID_LOCAL_HIT_THRESHOLD="0",
        ZEROCLAW_LUCID_RECALL_TIMEOUT_MS="1",
        ZEROCLAW_LUCID_STORE_TIMEOUT_MS="0",
        ZEROCLAW_LUCID_FAILURE_COOLDOWN_MS="99",
    )
    assert settings(found, "0.7.5") == LucidSettings("/opt/lucid", 300, 1, 20, 50, 100)
    assert settings(found, "0.8.0") == LucidSettings()
    assert settings(found, "0.8.4") == LucidSettings(recall_timeout_ms=3000, store_timeout_ms=3000)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.7.5", LucidSettings()),
        ("0.8.3", LucidSettings()),
        ("0.8.4", LucidSettings("/opt/lucid", recall_timeout_ms=3000, store_timeout_ms=700)),
    ],
)
def test_the_table_is_read_from_0_8_4_on(tmp_path: Path, version: str, expected: LucidSettings) -> None:
    """0.8.0 to 0.8.3 take `lucid` from PATH, whatever the table says; a time-out of 0 is none."""
    text = f'{MODERN}binary_path = "/opt/lucid"\nrecall_timeout_ms = 0\nstore_timeout_ms = 700\n'
    assert settings(config(tmp_path, text, "data"), version) == expected


async def called(memory: LucidMemory, program: LucidProgram, version: str) -> tuple[list[list[str]], tuple[str, ...]]:
    await memory.open()
    try:
        found = await recall_of(memory, RecallRequest("tea"), profile_for(version), ScoringSettings())
    finally:
        await memory.close()
    return program.calls, found.notes


async def test_a_config_leads_to_a_bridge_with_its_workspace(tmp_path: Path) -> None:
    """`--project=` is the workspace folder; the database is the install's own."""
    program = write_program(tmp_path / "bin")
    found = config(
        tmp_path, OLD, ZEROCLAW_LUCID_CMD=str(program.path), ZEROCLAW_LUCID_RECALL_TIMEOUT_MS="60000",
        ZEROCLAW_LUCID_BUDGET="120",
    )  # fmt: skip
    make(found.database, "G2", [])
    memory = create_memory(found)
    assert isinstance(memory, LucidMemory)
    calls, notes = await called(memory, program, "0.7.5")
    assert calls == [["context", "tea", "--budget=120", f"--project={tmp_path}/workspace"]]
    assert len(notes) == 1
