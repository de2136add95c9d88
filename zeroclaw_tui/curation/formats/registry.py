"""The formats that memories are read from, and which of them a file or folder has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.curation.formats import claude_code, csv_file, jsonl, mcp, mem0, openclaw, rmem, snapshot
from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.files.database import DATABASE_HEADER
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import InspectorError, Unreadable, UsageError
from zeroclaw_tui.memory.text import cut, one_line, shell_word

_MAX_NAME = 40


def _no_vectors(source: Source) -> Identity | None:
    """Other tools' memories come without vectors."""
    return None


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `name` is what `--from` calls it, `title` what people call it.

    `sniff` says in a few words why a source is of this format, or None. `read` yields its memories and counts in `lost`
    what finds no place. `identity` says what made the vectors. All three block.
    """

    name: str
    title: str
    sniff: Callable[[Source], str | None]
    read: Callable[[Source, Counter[str]], Iterator[Row]]
    identity: Callable[[Source], Identity | None] = _no_vectors
    is_ours: bool = False


FORMATS = {
    found.name: found
    for found in (
        Format("jsonl", "an export in JSON Lines", jsonl.sniff, jsonl.read, jsonl.identity, is_ours=True),
        Format("csv", "a table", csv_file.sniff, csv_file.read, is_ours=True),
        Format("snapshot", "a snapshot of ZeroClaw", snapshot.sniff, snapshot.read, snapshot.identity, is_ours=True),
        Format("openclaw", "OpenClaw", openclaw.sniff, openclaw.read),
        Format("claude", "Claude Code", claude_code.sniff, claude_code.read),
        Format("mcp", "the MCP server “memory”", mcp.sniff, mcp.read),
        Format("mem0", "mem0", mem0.sniff, mem0.read),
        Format("rmem", "R-Mem", rmem.sniff, rmem.read),
    )
}


def find_format(source: Source, name: str | None = None) -> tuple[Format, str]:
    """The format of a source by its content, and why it is taken for another tool's; or the format of that name.

    Raises UsageError for an unknown name, and where no format or several answer.
    """
    if name is not None:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise UsageError(f"No format is called {cut(one_line(name), _MAX_NAME)!r}.", hint=f"There are {known}.")
        return FORMATS[name], ""
    for one in FORMATS.values():
        # Only our own files may be larger than a reader of another tool takes.
        if one.is_ours and one.sniff(source):
            return one, ""
    reasons = {one.name: reason for one in FORMATS.values() if not one.is_ours and (reason := one.sniff(source))}
    if len(reasons) > 1:
        listed = "; ".join(f"{name}, because {reason}" for name, reason in reasons.items())
        raise UsageError(f"{source.name} can be of several formats: {listed}.", hint="Choose one with --from NAME.")
    for found, reason in reasons.items():
        return FORMATS[found], reason
    raise _unknown(source)


def recognize(path: Path) -> Format | None:
    """The format of what lies at a path; None for what has none or several, or cannot be read."""
    with suppress(InspectorError):
        return find_format(Source(path))[0]
    return None


def not_a_store(path: Path, error: Unreadable) -> Unreadable:
    """The error for a named file or folder that is not a store: whose memories it has, and what imports them.

    For one without a known format it is the same error. Blocks.
    """
    found = recognize(path)
    if found is None:
        return error
    return Unreadable(
        f"{one_line(path.name)} cannot be opened as a store. It looks like {found.title}.",
        hint=f"`zeroclaw memory import {shell_word(str(path))}` brings the memories into your agent's memory.",
    )


def _unknown(source: Source) -> UsageError:
    """The error for what has no format that is known here."""
    head = b"" if source.is_folder else source.head()
    if not head and not source.is_folder:
        return UsageError(f"{source.name} is empty.", hint="Name the file or directory of the memories.")
    if head.startswith(DATABASE_HEADER):
        command = f"zeroclaw memory copy --location {shell_word(str(source.path))} --to sqlite"
        return UsageError(f"{source.name} is a database.", hint=f"If it is a store, `{command}` copies its memories.")
    if head.lstrip()[:1] in (b"{", b"["):
        try:
            json.loads(head.partition(b"\n")[0])
        except (ValueError, RecursionError):
            # Raises the error that names the line, where it is not JSON at all.
            source.document()
    names = ", ".join(FORMATS)
    return UsageError(
        f"{source.name} has no format that is known here.",
        hint=f"The formats are {names}. Choose one with --from NAME if you know which it is.",
    )
