"""The physical lines of a notes file, byte for byte, and where a deleted one belongs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import WHITE_SPACE

_BULLET = "- "
_BYTE_ORDER_MARK = "\ufeff"
CONTEXT = "file_context"
"""The value of a journaled row that says between which lines it was."""
_ABOVE, _BELOW = "old_above", "old_below"
"""Lists of hashes in that value, the nearest line first; versions before 0.3 wrote three lines on each side."""
_HASH_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line with its end. `entry` is the number ZeroClaw gives it, if any.

    `alike` is how many lines of the file have exactly these bytes: after one of them went, the number under which it
    was may lead to another, which must not pass for the one that is gone.
    """

    index: int
    raw: bytes
    entry: int | None
    alike: int

    @property
    def content(self) -> str:
        """What ZeroClaw reads of it."""
        return text_of(self.raw).strip(WHITE_SPACE).removeprefix(_BULLET)


def lines_of(data: bytes) -> list[Line]:
    """Every physical line of a file; a file that ends in a line feed has none behind it."""
    found: list[Line] = []
    entries = 0
    raws = raw_lines(data)
    alike = Counter(raws)
    for index, raw in enumerate(raws):
        is_entry = _is_entry(raw)
        found.append(Line(index, raw, entries if is_entry else None, alike[raw]))
        entries += is_entry
    return found


def raw_lines(data: bytes) -> list[bytes]:
    """The lines with their ends."""
    found = [line + b"\n" for line in data.split(b"\n")]
    last = found.pop()[:-1]
    return [*found, last] if last else found


def joined(lines: Iterable[bytes]) -> bytes:
    """Lines as one text; each but the last gets an end if it has none."""
    pieces = list(lines)
    ended = [piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces[:-1] if piece]
    return b"".join([*ended, *pieces[-1:]])


def text_of(raw: bytes) -> str:
    """Bytes of a file as text; what is no UTF-8 becomes surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def digest(data: bytes) -> str:
    """What tells whether a file is as it was: SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def with_content(raw: bytes, content: str) -> bytes:
    """The same line with another content: its bullet, the blanks around and its end stay."""
    text = text_of(raw)
    body = text.strip(WHITE_SPACE)
    lead = text[: len(text) - len(text.lstrip(WHITE_SPACE))]
    trail = text[len(lead) + len(body) :]
    bullet = _BULLET if body.startswith(_BULLET) or content.startswith(_BULLET) else ""
    # The mark at the start of a file reads as part of its first line, and belongs to the file.
    mark = _BYTE_ORDER_MARK if body.startswith(_BYTE_ORDER_MARK) and not content.startswith(_BYTE_ORDER_MARK) else ""
    return f"{lead}{bullet}{mark}{content}{trail}".encode("utf-8", "surrogateescape")


def checked_content(content: str, before: str = "") -> str:
    """The content of a new line, without blanks around. Raises Refused for what no line of a notes file can be."""
    line = content.strip(WHITE_SPACE)
    if not line:
        raise Refused("A memory needs content.", hint="To remove one, delete it: the trash keeps it.")
    if "\n" in line or "\r" in line:
        raise Refused(
            "In Markdown memory each line is a memory of its own, so a content cannot have a line break.",
            hint="Write it as one line, or store each line by itself.",
        )
    if line.startswith("#"):
        raise Refused(
            "ZeroClaw takes a line that begins with # for a heading and does not remember it.",
            hint="Begin the content with another character.",
        )
    if not _is_text(line) and _is_text(before):
        raise Refused(
            "This content is not UTF-8, and ZeroClaw fails to read any note while such a line is there.",
            hint="Replace the characters that are shown as �.",
        )
    return line


def body_of(raw: bytes) -> bytes:
    """A line without its end."""
    return raw.rstrip(b"\r\n")


def _is_entry(raw: bytes) -> bool:
    line = text_of(raw).strip(WHITE_SPACE)
    return bool(line) and not line.startswith("#")


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(frozen=True, slots=True)
class Place:
    """A gap between lines: short hashes of the nearest lines above and below that are not blank.

    The start and the end of the file are the empty text.
    """

    above: str
    below: str

    def as_json(self) -> str:
        """The place as a journaled row has it, under `CONTEXT`."""
        return json.dumps({_ABOVE: [self.above], _BELOW: [self.below]})

    @classmethod
    def of(cls, row: Row) -> Place | None:
        """The place that a deleted line left."""
        text = row.values.get(CONTEXT)
        if not isinstance(text, str):
            return None
        context = json.loads(text)
        return cls(_first(context.get(_ABOVE, ())), _first(context.get(_BELOW, ())))


def places_in(lines: Sequence[bytes]) -> list[Place]:
    """The gaps between lines, from the one before the first to the one after the last."""
    hashes = [_short(body) if (body := body_of(line)).strip() else None for line in lines]
    above, below = _nearest(hashes), _nearest(hashes[::-1])[::-1]
    return [Place(*pair) for pair in zip(above, below, strict=True)]


def _nearest(hashes: Iterable[str | None]) -> list[str]:
    """For each gap the hash of the nearest line before it that is not blank."""
    found = [""]
    for name in hashes:
        found.append(name or found[-1])
    return found


def _first(hashes: Iterable[str]) -> str:
    blank = _short(b"")
    return next((name for name in hashes if name != blank), "")


def _short(body: bytes) -> str:
    return digest(body)[:_HASH_LENGTH]
