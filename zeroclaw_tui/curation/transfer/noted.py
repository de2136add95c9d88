"""Memories as lines of Markdown notes, as ZeroClaw writes them, and what such a line tells when it is read back.

ZeroClaw writes `- **<key>**: <content>`, core into MEMORY.md and the rest into memory/<local date>.md, and reads each
line back under the name of its file and its number.
"""

from __future__ import annotations

import re
from datetime import datetime

from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode

_KEYED = re.compile(r"\*\*(.+?)\*\*:(?:[ ](.*))?\Z", re.DOTALL)
_LINE_BREAKS = re.compile(r"\r\n|[\r\n]")


def read_back(row: StoredRow) -> StoredRow:
    """What a line of notes says: the key ZeroClaw wrote before the content, and the day of its file as its time.

    A line without a key has its place (file and number) as its key. It has no id; its handle is its place.
    """
    entry = row.entry()
    values: dict[str, Value] = {"key": entry.key, "content": entry.content, "category": entry.category}
    created = _day_begins(entry.timestamp)
    if created is not None:
        values["created_at"] = created
    keyed = _KEYED.match(entry.content)
    if keyed is not None:
        values |= {"key": keyed.group(1), "content": keyed.group(2) or ""}
    return StoredRow("", values, entry.key, row.agent)


def line_of(key: str | None, content: str) -> str:
    """The text of a memory's line, without its bullet; what no line can hold is gone."""
    if key is None:
        return in_one_line(content)
    return f"**{in_one_line(key)}**: {in_one_line(content)}".strip(WHITE_SPACE)


def in_one_line(text: str) -> str:
    """With a blank for each line break, no blanks around, and U+FFFD for what is no UTF-8."""
    flat = _LINE_BREAKS.sub(" ", text).strip(WHITE_SPACE)
    if not is_unicode(flat):
        flat = flat.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return flat


def is_told_again(key: str) -> bool:
    """Whether a key that stands before a content is read back as it was."""
    return bool(key.strip(WHITE_SPACE)) and "**" not in key and key == in_one_line(key)


def _day_begins(stem: str) -> str | None:
    """The local midnight of a day's file, RFC 3339; None for a file that names no day."""
    day = date_of_note(f"{stem}.md")
    return datetime.fromisoformat(day).astimezone().isoformat() if day else None
