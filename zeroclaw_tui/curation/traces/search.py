"""Searches one file for texts: rows of a database, and else the bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zeroclaw_tui.curation.traces.databases import FoundRow, rows_with_texts
from zeroclaw_tui.curation.traces.files import PlacedFile
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.files.database import iter_raw_chunks


@dataclass(frozen=True, slots=True)
class Hits:
    """What a file has of the texts: rows with one, or how often they occur in bytes."""

    rows: tuple[FoundRow, ...] = ()
    in_bytes: int = 0

    @property
    def count(self) -> int:
        """How many rows, else how many occurrences."""
        return len(self.rows) or self.in_bytes


def search_file(
    file: PlacedFile, matcher: TextMatcher, check: Callable[[], object], *, free_pages: bool = False
) -> Hits:
    """Search the rows of a database, with `free_pages` also its bytes if no row has a text, or the bytes of a file.

    `check` may end it by raising. It blocks. Raises OSError and InspectorError kinds.
    """
    is_database = file.is_database()
    rows = rows_with_texts(file.path, matcher, check) if is_database else []
    if rows or (is_database and not free_pages):
        return Hits(tuple(rows))
    return Hits(in_bytes=count_in_bytes(file, matcher))


def count_in_bytes(file: PlacedFile, matcher: TextMatcher) -> int:
    """How often the texts occur in the bytes of a file and of its log. Blocks. Raises OSError."""
    return sum(matcher.count_in(iter_raw_chunks(part)) for part in file.parts())
