"""Where kept files lie, told from the config dir as stores are: a config dir may be moved with all it holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from zeroclaw_tui.curation.files import MADE, MOVED_FROM, MOVED_TO
from zeroclaw_tui.curation.side_databases import FILE_NAME
from zeroclaw_tui.memory.change import AUDIT_LOG, FILE, OTHER_ROW, RowChange, StoredRow, Value

_OF_FILES, _PATHS = (FILE, AUDIT_LOG, OTHER_ROW), ("path", MOVED_TO, MOVED_FROM, MADE, FILE_NAME)


class Places:
    """Between paths and how the trash of a config dir keeps them; without such a dir they are kept as they are."""

    def __init__(self, config_dir: Path | None) -> None:
        self._home = None if config_dir is None else os.path.realpath(config_dir)

    def kept(self, change: RowChange) -> RowChange:
        """A change as it is kept: paths below the config dir are told from there."""
        if self._home is None or change.row.table not in _OF_FILES:
            return change
        return replace(change, before=self._row(change.before, self.name), after=self._row(change.after, self.name))

    def here(self, row: StoredRow | None) -> StoredRow | None:
        """A kept row with its paths as they are now."""
        return row if self._home is None or row is None or row.table not in _OF_FILES else self._row(row, self.path)

    def name(self, path: str) -> str:
        """How a path is kept."""
        return path.removeprefix(f"{self._home}{os.sep}") if self._home is not None else path

    def path(self, name: str) -> str:
        """The path that is kept under a name; what is absolute stays."""
        return name if self._home is None else os.path.join(self._home, name)

    def _row(self, row: StoredRow | None, told: Callable[[str], str]) -> StoredRow | None:
        if row is None:
            return None
        values: dict[str, Value] = {
            name: told(value) if name in _PATHS and isinstance(value, str) else value
            for name, value in row.values.items()
        }
        return replace(row, id=told(row.id), values=values)
