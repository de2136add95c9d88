"""Write a file, and read all files below a folder."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, text: str = "x") -> Path:
    """Write a file, in a new folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, by its path from there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
