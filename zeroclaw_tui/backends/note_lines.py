"""Conversion between memories and lines of Markdown notes.

ZeroClaw writes `- **<key>**: <content>`, core memories to MEMORY.md and the others to memory/<local date>.md, and
reads each line back with the name of its file and its number as the key.
"""

from __future__ import annotations

import re
from datetime import datetime

from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.text import WHITE_SPACE, unicode_text

_KEYED = re.compile(r"\*\*(.+?)\*\*:(?:[ ](.*))?\Z", re.DOTALL)
_LINE_BREAKS = re.compile(r"\r\n|[\r\n]")


def is_line(row: Row) -> bool:
    """Whether a row is a line of notes, possibly exported: its key is "<file stem>:<number>", its time the stem.

    ZeroClaw uses the stem of a line's file as its time.
    """
    stem, _, number = row.key.rpartition(":")
    return bool(stem) and number.isdecimal() and row.values.get("created_at") == stem


def line_place(row: Row) -> tuple[str, int]:
    """The stem of a line's file, and the number of the line."""
    stem, _, number = row.key.rpartition(":")
    return stem, int(number)


def read_line(row: Row) -> Row:
    """Parse the memory in a line: the key before its content, and the day of its file as its time.

    A line without a key gets its position as its key. The memory has no id.
    """
    entry = row.entry()
    values: dict[str, Value] = {"key": entry.key, "content": entry.content, "category": entry.category}
    day = date_of_note(f"{entry.timestamp}.md")
    if day:
        values["created_at"] = datetime.fromisoformat(day).astimezone().isoformat()
    if keyed := _KEYED.match(entry.content):
        values |= {"key": keyed.group(1), "content": keyed.group(2) or ""}
    return Row("", values, None, row.agent)


def note_line(key: str, content: str) -> str:
    """Format a memory as a line, without the bullet, and without characters that a line cannot have."""
    return f"**{in_one_line(key)}**: {in_one_line(content)}".strip(WHITE_SPACE)


def in_one_line(text: str) -> str:
    """Replace line breaks by blanks and what is not UTF-8 by U+FFFD, and strip the blanks around."""
    return unicode_text(_LINE_BREAKS.sub(" ", text)).strip(WHITE_SPACE)
