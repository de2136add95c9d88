"""The formats that memories are read from, and which of them a file or folder has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from zeroclaw_tui.curation.formats import csv_file, json_files, jsonl, notes, snapshot
from zeroclaw_tui.curation.formats.rows import distinct
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import cut, one_line

_MAX_NAME = 40


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `name` is what `--from` calls it, `title` what people call it.

    `sniff` says whether a source is of this format. `reader` yields its memories and counts in `lost` what finds no
    place. Both block.
    """

    name: str
    title: str
    sniff: Callable[[Source], bool]
    reader: Callable[[Source, Counter[str]], Iterator[Row]]
    is_ours: bool = False

    def read(self, source: Source, lost: Counter[str]) -> Iterator[Row]:
        """The memories, each of another tool once and with a key of its own."""
        rows = self.reader(source, lost)
        return rows if self.is_ours else distinct(rows, lost)


FORMATS = {
    found.name: found
    for found in (
        Format("jsonl", "an export in JSON Lines", jsonl.sniff, jsonl.read, True),
        Format("csv", "a table", csv_file.sniff, csv_file.read, True),
        Format("snapshot", "a snapshot of ZeroClaw", snapshot.sniff, snapshot.read, True),
        Format("claude", "Claude Code", notes.sniff_claude, notes.read_claude),
        Format("openclaw", "OpenClaw", notes.sniff_openclaw, notes.read_openclaw),
        Format("mcp", "the MCP server “memory”", json_files.sniff_mcp, json_files.read_mcp),
        Format("mem0", "mem0", json_files.sniff_mem0, json_files.read_mem0),
        Format("rmem", "R-Mem", json_files.sniff_rmem, json_files.read_rmem),
    )
}


def find_format(source: Source, name: str | None = None) -> Format:
    """The format of a source by its content, or the format of that name."""
    if name is not None:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise UsageError(f"No format is called {cut(one_line(name), _MAX_NAME)!r}.", hint=f"There are {known}.")
        return FORMATS[name]
    # The first that fits: only our own files may be larger than a reader of another tool takes.
    for one in FORMATS.values():
        if one.sniff(source):
            return one
    is_empty = not source.is_folder and not source.head()
    raise UsageError(
        f"{source.name} {'is empty' if is_empty else 'has no format that is known here'}.",
        hint=f"The formats are {', '.join(FORMATS)}. Choose one with --from NAME if you know which it is.",
    )
