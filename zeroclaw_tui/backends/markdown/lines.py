"""The physical lines of a notes file, byte for byte, and the position of a deleted one."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, count

from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode

_BULLET = "- "
_BYTE_ORDER_MARK = "\ufeff"
CONTEXT = "file_context"
"""The field of a journaled row that records the lines above it."""
_ABOVE = "old_above"
"""A list of lines, the nearest first: short hash ("" is the start of the file), and the count of blank lines below."""
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line with its line ending. `entry` is its number in ZeroClaw, if it has one.

    `alike` counts the lines of the file with exactly these bytes, so that a missing duplicate is noticed.
    """

    index: int
    raw: bytes
    entry: int | None
    alike: int

    @property
    def content(self) -> str:
        """The text that ZeroClaw reads from it."""
        return text_of(self.raw).strip(WHITE_SPACE).removeprefix(_BULLET)


def entry_text(line: str) -> str | None:
    """The memory in a line, without its bullet; None for a blank line or a heading."""
    text = line.strip(WHITE_SPACE)
    return text.removeprefix(_BULLET) if text and not text.startswith("#") else None


def lines_of(data: bytes) -> list[Line]:
    """Split a file into its physical lines."""
    raws, numbers = raw_lines(data), count()
    alike = Counter(raws)
    return [
        Line(index, raw, next(numbers) if entry_text(text_of(raw)) is not None else None, alike[raw])
        for index, raw in enumerate(raws)
    ]


def raw_lines(data: bytes) -> list[bytes]:
    """Split a file into lines with their line endings."""
    found = [line + b"\n" for line in data.split(b"\n")]
    last = found.pop()[:-1]
    return [*found, last] if last else found


def text_of(raw: bytes) -> str:
    """Decode bytes of a file; invalid UTF-8 becomes surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def with_content(raw: bytes, content: str) -> bytes:
    """Replace the content of a line, but not its bullet, surrounding blanks and line ending."""
    text = text_of(raw)
    body = text.strip(WHITE_SPACE)
    lead, _, trail = text.partition(body)
    bullet = _BULLET if body.startswith(_BULLET) or content.startswith(_BULLET) else ""
    # The byte order mark is read as part of the first line, but belongs to the file.
    mark = _BYTE_ORDER_MARK if body.startswith(_BYTE_ORDER_MARK) and not content.startswith(_BYTE_ORDER_MARK) else ""
    return f"{lead}{bullet}{mark}{content}{trail}".encode("utf-8", "surrogateescape")


def checked_content(content: str, before: str = "") -> str:
    """Strip the content of a new line. Raises Refused for a content that cannot be a line of a notes file."""
    line = content.strip(WHITE_SPACE)
    if "\n" in line or "\r" in line:
        raise Refused(
            "In Markdown memory each line is a memory of its own, so a content cannot have a line break.",
            hint="Write it as one line, or store each line by itself.",
        )
    if line.startswith("#"):
        raise Refused(
            "ZeroClaw treats a line that begins with # as a heading, not as a memory.",
            hint="Begin the content with another character.",
        )
    if not is_unicode(line) and is_unicode(before):
        raise Refused(
            "This content is not UTF-8, and ZeroClaw fails to read any note while such a line is there.",
            hint="Replace the characters that are shown as �.",
        )
    return line


def line_context(lines: Sequence[Line], at: int, leaving: Collection[int]) -> str:
    """Record the nearest non-blank lines above a line, and the nearest that is not deleted, for the journal."""
    above = [line for line in reversed(lines[:at]) if line.raw.strip()]
    places = [(_short(line.raw), at - line.index - 1 - number) for number, line in enumerate(above)]
    staying = (place for line, place in zip(above, places, strict=True) if line.index not in leaving)
    return json.dumps({_ABOVE: [*places[:_NEAREST], next(staying, ("", at - len(above)))]})


def insertion_index(row: Row, lines: Sequence[bytes], near: int) -> int:
    """Find where to insert a deleted line: below a line that was above it, with as many blanks, close to `near`."""
    names = [_short(line) if line.strip() else "" for line in lines]
    above = [*accumulate(names, lambda last, name: name or last, initial="")]
    blanks = [*accumulate(names, lambda count, name: 0 if name else count + 1, initial=0)]
    for place in json.loads(str(row.values.get(CONTEXT, "{}"))).get(_ABOVE, ()):
        # Up to 0.3.0 the number of blank lines was not recorded.
        hashed, blank = (place, None) if isinstance(place, str) else place
        gaps = [gap for gap, name in enumerate(above) if name == hashed]
        if gaps:
            return min(gaps, key=lambda gap: (blank is not None and abs(blanks[gap] - blank), abs(gap - near)))
    return min(max(near, 0), len(lines))


def _short(raw: bytes) -> str:
    return digest(raw.rstrip(b"\r\n"))[:12]
