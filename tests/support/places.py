"""Names for installs and configs, re-exported so that a renamed module changes one file."""

from __future__ import annotations

from zeroclaw_tui.config.load import CONFIRMED, READ_ONLY, load_config, store_to_confirm
from zeroclaw_tui.config.locations import (
    Install,
    OpenOptions,
    find_installs,
    install_at,
    without_password,
    workspace_rule,
)
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
