"""Whether ZeroClaw records its turns by this config, and the change of config.toml that has it do so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig


def why_nothing_recorded(config: MemoryConfig, files: Sequence[Path]) -> str:
    """A sentence on why there is no turn."""
    if not files:
        return "ZeroClaw has written no trace and no audit log here yet."
    return "There is no turn in what ZeroClaw recorded here."
