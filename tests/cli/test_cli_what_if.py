"""`zeroclaw memory recall` with other numbers than config.toml has: the same as a config with these numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Command

WORDS = ("recall", "rust helix", "--json", "--as-of", "2026-03-09")


@pytest.mark.parametrize("profile", ["0.7.5", "0.8.4"])
@pytest.mark.parametrize("setting", ["min_relevance_score = 0.01", "keyword_weight = 0.9", 'search_mode = "embedding"'])
def test_options_equal_a_config_with_these_values(memory: Command, install: Path, profile: str, setting: str) -> None:
    option = f"--set=memory.{setting.replace(' = ', '=').replace(chr(34), '')}"
    found = memory(*WORDS, "--profile", profile, option).json
    assert found != memory(*WORDS, "--profile", profile).json
    with (install / "config.toml").open("a") as config:
        config.write(f"{setting}\n")
    assert found == memory(*WORDS, "--profile", profile).json
