"""Choosing between the installs that were found."""

from __future__ import annotations

from collections.abc import Sequence

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.screens.choice import Choice, ChoiceScreen
from zeroclaw_tui.tui.widgets.header import with_tilde


class InstallsScreen(ChoiceScreen[int]):
    """Every candidate with the rule that found it; gives its number."""

    def __init__(self, configs: Sequence[MemoryConfig], current: int) -> None:
        choices = [
            Choice(number, place_of(config), f"{config.backend} · {one_line(config.install.rule)}")
            for number, config in enumerate(configs)
        ]
        super().__init__(f"{len(configs)} installs are here. Which one?", choices, current)


def place_of(config: MemoryConfig) -> str:
    """Where an install keeps its memory, for people; two of one config dir differ in it."""
    return one_line(mask_secrets(with_tilde(str(config.install.root))))
