"""The sample plug-in and the rows in its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

SHOE_BOX = Path(__file__).parents[2] / "support" / "shoe_box.py"
Installer = Callable[..., Path]
ROWS = {
    "lang": ("User prefers Rust", "core"), "food": ("Allergic to peanuts", "daily"), "chat": ("ok thanks", "core"),
}  # fmt: skip
CONFIG = '[memory]\nbackend = "shoe-box"\nauto_save = true\n'
