"""The commented per-backend files of `defaults/`, from the wheel or from the source tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zeroclaw_tui.config.toml_file import read_toml
from zeroclaw_tui.memory.errors import Unreadable

BACKENDS_WITH_DEFAULTS = ("sqlite", "postgres", "lucid", "markdown", "qdrant", "none")


def defaults_folder() -> Path:
    """The folder of the files: `_defaults` inside an installed package, else `defaults` beside it in the tree."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_defaults"
    return packed if packed.is_dir() else package.parent / "defaults"


def default_text(backend: str) -> str:
    """The file of a backend as it is, comments included. Raises Unreadable when the installation lacks it."""
    return _existing(backend).read_text("utf-8")


def default_values(backend: str) -> dict[str, Any]:
    """What the file of a backend sets, as a document: `memory`, and `storage` for PostgreSQL. Qdrant's own
    table is `memory.qdrant`."""
    return read_toml(_existing(backend)) or {}


def _existing(backend: str) -> Path:
    file = defaults_folder() / f"{backend}.toml"
    if backend not in BACKENDS_WITH_DEFAULTS or not file.is_file():
        raise Unreadable(
            f"There are no defaults for the backend {backend!r}.",
            hint=f"Known are {', '.join(BACKENDS_WITH_DEFAULTS)}; if one is missing, install the program again.",
        )
    return file
