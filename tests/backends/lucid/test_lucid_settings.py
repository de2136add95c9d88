"""Which settings of the program apply, by ZeroClaw version, config and environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import MemoryConfig, OpenOptions
from support.rules import parse_version

from zeroclaw_tui.backends.lucid import LucidConfig, LucidSettings
from zeroclaw_tui.curation.config_choice import configs_for

OLD = '[memory]\nbackend = "lucid"\nauto_save = true\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "lucid.work"\n[storage.lucid.work]\n'


def config(folder: Path, text: str, layout: str = "workspace", **environ: str) -> MemoryConfig:
    (folder / layout / "memory").mkdir(parents=True)
    (folder / "config.toml").write_text(text)
    return configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder), **environ})[0]


def settings(found: MemoryConfig, version: str) -> LucidSettings:
    return LucidConfig.of(found).for_version(parse_version(version))


def test_the_variables_apply_up_to_0_7_5(tmp_path):
    """Each variable sets one setting; numbers below the minimum are raised to it."""
    values = {
        "CMD": " /opt/lucid ", "BUDGET": "300", "LOCAL_HIT_THRESHOLD": "0", "RECALL_TIMEOUT_MS": "1",
        "STORE_TIMEOUT_MS": "0", "FAILURE_COOLDOWN_MS": "99",
    }  # fmt: skip
    found = config(tmp_path, OLD, **{f"ZEROCLAW_LUCID_{name}": value for name, value in values.items()})
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
def test_the_table_is_read_from_0_8_4_on(tmp_path, version, expected):
    """0.8.0 to 0.8.3 ignore the table and take `lucid` from PATH; a time-out of 0 means none."""
    text = f'{MODERN}binary_path = "/opt/lucid"\nrecall_timeout_ms = 0\nstore_timeout_ms = 700\n'
    assert settings(config(tmp_path, text, "data"), version) == expected
