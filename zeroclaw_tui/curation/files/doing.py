"""Moving, removing and writing files beside a store: kept in the trash first, then done in one step."""

from __future__ import annotations

from pathlib import Path

from zeroclaw_tui.memory.change import Keep


class FileVanished(Exception):
    """The file has gone, or is no longer what was looked at; nothing was done."""


def move_file(source: Path, target: Path, keep: Keep) -> None:
    """Rename a file to a name that is free; its bytes are not kept, since it only lies elsewhere.

    An undo renames it back, its modification time as it was. Raises FileVanished, FileExistsError when something has
    the name by now, Refused when it cannot be moved (with the reason), and what `keep` raises.
    """
    raise NotImplementedError


def remove_file(path: Path, keep: Keep) -> None:
    """Remove a file whose bytes, mode and modification time are kept, so that an undo brings it back as it was.

    Raises FileVanished, Refused (too large to be kept, not permitted), and what `keep` raises.
    """
    raise NotImplementedError


def write_file(path: Path, expected: bytes | None, data: bytes, keep: Keep, *, stays_if_changed: bool = False) -> None:
    """Put `data` in place of `expected` (None: no file) in one step; an undo puts back what was there.

    With `stays_if_changed` an undo leaves the file as it is where another program wrote it since, and says so, in place
    of refusing. Raises FileVanished when it holds anything else, Refused, and what `keep` raises.
    """
    raise NotImplementedError
