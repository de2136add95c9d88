"""The physical lines of a notes file, byte for byte, and where a line belongs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import WHITE_SPACE

NEIGHBOURS = 3
"""How many lines on each side tell a line's place again."""

Rank = tuple[int, int, int]
"""How well a place fits: neighbours found on both sides, those of them above, and how near it is, as a negative."""

_BULLET = "- "
_LONGEST_NEIGHBOUR = 12
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line with its end. `start` is its offset in bytes, `entry` the number ZeroClaw gives it, if any.

    `alike` is how many lines of the file have exactly these bytes: after one of them went, the number under which it
    was may lead to another, which must not pass for the one that is gone.
    """

    index: int
    start: int
    raw: bytes
    entry: int | None
    alike: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.start + len(self.raw)

    @property
    def content(self) -> str:
        """What ZeroClaw reads of it."""
        return text_of(self.raw).strip(WHITE_SPACE).removeprefix(_BULLET)


def lines_of(data: bytes) -> list[Line]:
    """Every physical line of a file; a file that ends in a line feed has none behind it."""
    found: list[Line] = []
    start = entries = 0
    raws = raw_lines(data)
    alike = Counter(raws)
    for index, raw in enumerate(raws):
        is_entry = _is_entry(raw)
        found.append(Line(index, start, raw, entries if is_entry else None, alike[raw]))
        start += len(raw)
        entries += is_entry
    return found


def raw_lines(data: bytes) -> list[bytes]:
    """The lines with their ends."""
    found = [line + b"\n" for line in data.split(b"\n")]
    last = found.pop()[:-1]
    return [*found, last] if last else found


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


def around(lines: Sequence[bytes], first: int, behind: int) -> tuple[list[str], list[str]]:
    """Short hashes of the lines before `first`, the nearest first, and of those from `behind` on.

    The start and the end of the file count as a line, which is the empty text.
    """
    before = [*(_short(line) for line in reversed(lines[max(0, first - NEIGHBOURS) : first])), ""]
    after = [*(_short(line) for line in lines[behind : behind + NEIGHBOURS]), ""]
    return before[:NEIGHBOURS], after[:NEIGHBOURS]


def place_of(
    lines: Sequence[bytes],
    before: Sequence[str],
    after: Sequence[str],
    near: int,
    *,
    on_both_sides: bool = False,
    only: bytes | None = None,
) -> int | None:
    """The line that has these neighbours: as many as can be, then nearest to `near`; None without any.

    With `only`, just lines of this text count, whatever their ends.
    """
    found = _places(lines, before, after, near, 1)
    fitting = [(rank, at) for rank, at in found if only is None or body_of(lines[at]) == only]
    if on_both_sides:
        fitting = [(rank, at) for rank, at in fitting if 0 < rank[1] < rank[0]]
    return max(fitting)[1] if fitting else None


def best_gap(lines: Sequence[bytes], *places: tuple[Sequence[str], Sequence[str], int]) -> int | None:
    """Before which line the neighbours of one of these places lie, where the most of them do; None without any.

    A place is the neighbours before and after, and the number of the line behind; of equals the first counts.
    """
    best: tuple[Rank, int] | None = None
    for before, after, near in places:
        found = max(_places(lines, before, after, near, 0), default=None)
        if found is not None and (best is None or found[0][0] > best[0][0]):
            best = found
    return None if best is None else best[1]


def _places(
    lines: Sequence[bytes], before: Sequence[str], after: Sequence[str], near: int, span: int
) -> Iterator[tuple[Rank, int]]:
    hashes = ["", *map(_short, lines), ""]
    blank = {_short(b"")}
    for at in range(len(lines) - span + 1):
        above = _alike(before, reversed(hashes[max(0, at + 1 - NEIGHBOURS) : at + 1]))
        below = _alike(after, hashes[at + 1 + span : at + 1 + span + NEIGHBOURS])
        if {*before[:above], *after[:below]} - blank:
            yield (above + below, above, -abs(at - near)), at


def body_of(raw: bytes) -> bytes:
    """A line without its end."""
    return raw.rstrip(b"\r\n")


def _alike(wanted: Sequence[str], found: Iterable[str]) -> int:
    count = 0
    for one, other in zip(wanted, found, strict=False):
        if one != other:
            break
        count += 1
    return count


def _short(raw: bytes) -> str:
    # Without its end: a last line that gets a line feed is still the same neighbour.
    return digest(body_of(raw))[:_LONGEST_NEIGHBOUR]


def _is_entry(raw: bytes) -> bool:
    line = text_of(raw).strip(WHITE_SPACE)
    return bool(line) and not line.startswith("#")


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
