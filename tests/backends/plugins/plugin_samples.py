"""What the tests of plug-ins share: the rows in the sample's file, and how its commands are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SHOE_BOX = Path(__file__).parents[2] / "support" / "shoe_box.py"
Installer = Callable[..., Path]
ROWS = {
    "lang": ("User prefers Rust", "core"), "food": ("Allergic to peanuts", "daily"), "chat": ("ok thanks", "core"),
}  # fmt: skip
CONFIG = '[memory]\nbackend = "shoe-box"\nauto_save = true\n'


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str
