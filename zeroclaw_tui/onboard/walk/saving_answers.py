"""Saving an answers file where the person wants it: 0600, in one step, the folder around it left alone."""

from __future__ import annotations

from pathlib import Path

from zeroclaw_tui.config.document.saving import write_private


def file_complaint(name: str) -> str | None:
    """Why a file cannot have this name, None when it can."""
    if not name.strip():
        return "Type the name of a file."
    if "\0" in name:
        return "No file name has this character."
    path = Path(name.strip()).expanduser()
    if path.is_dir():
        return f"{path} is a folder; type the name of a file."
    if not path.parent.is_dir():
        return f"There is no folder {path.parent}."
    return None


def save_answers(path: Path, text: str) -> None:
    """Write the file, 0600, replacing one that is there. Raises Unreadable when it cannot be written."""
    write_private(path, text.encode())
