"""Notes in Markdown: which lines hold a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from zeroclaw_tui.curation.copies.found import COMPARED, SHORT, Span, Text, Wanted, raw
from zeroclaw_tui.memory.text import WHITE_SPACE

_AFTER_KEY = "**: "
_MOST_KEYS = 8


def lines_of(data: bytes) -> list[str]:
    """The lines of a file with their ends; joined and encoded by `bytes_of` they are the same bytes again."""
    text = data.decode("utf-8", "surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines


def bytes_of(lines: Sequence[str]) -> bytes:
    """The bytes these lines were decoded from."""
    return "".join(lines).encode("utf-8", "surrogateescape")


class LineSearch:
    """The texts made ready to be looked for in many files; `size` is how many bytes these have in all.

    Only the first `inside` texts are also looked for inside lines, so that many texts in many files end in time.
    """

    def __init__(self, wanted: Wanted, size: int = 0) -> None:
        self.inside = min(len(wanted.texts), max(1, COMPARED // max(1, size)))
        self._by_first: dict[str, list[tuple[list[str], Text]]] = {}
        self._raw: dict[bytes, list[Text]] = {}
        for at, text in enumerate(wanted.texts):
            content = text.content.strip(WHITE_SPACE)
            own = [line.strip(WHITE_SPACE) for line in content.split("\n")]
            if content:
                self._by_first.setdefault(own[0], []).append((own, text))
            if len(content) >= SHORT and at < self.inside:
                self._raw.setdefault(raw(content), []).append(text)

    def spans_of(self, lines: Sequence[str]) -> list[Span]:
        """First line, the line after the last, and the texts they hold, in the order of the lines; they may overlap.

        A text is held by the lines that are it, with or without the `- **key**: ` of a ZeroClaw entry before it, and by
        lines that have it amid more, unless it is short.
        """
        held: dict[tuple[int, int], dict[Text, None]] = {}
        for start, end, texts in (*self._as_entries(lines), *self._amid(lines)):
            held.setdefault((start, end), {}).update(dict.fromkeys(texts))
        return [(start, end, list(held[start, end])) for start, end in sorted(held)]

    def _as_entries(self, lines: Sequence[str]) -> Iterator[Span]:
        trimmed = [line.strip(WHITE_SPACE) for line in lines]
        for at, line in enumerate(trimmed):
            for form in _forms(line):
                for own, text in self._by_first.get(form, ()):
                    if len(own) == 1 or own[1:] == trimmed[at + 1 : at + len(own)]:
                        yield at, at + len(own), [text]

    def _amid(self, lines: Sequence[str]) -> Iterator[Span]:
        whole = bytes_of(lines)
        starts: list[int] = []
        for content, texts in self._raw.items():
            at = whole.find(content)
            while at >= 0:
                starts = starts or list(accumulate((len(raw(line)) for line in lines[:-1]), initial=0))
                last = at + len(content) - 1
                yield bisect_right(starts, at) - 1, bisect_right(starts, last), texts
                at = whole.find(content, last + 1)


def without(lines: Sequence[str], spans: Sequence[Span]) -> list[str]:
    """The other lines."""
    gone = {at for start, end, _ in spans for at in range(start, end)}
    return [line for at, line in enumerate(lines) if at not in gone]


def _forms(line: str) -> Iterator[str]:
    """What the content may be of an entry that this line begins."""
    if not line:
        return
    yield line
    entry = line.removeprefix("- ")
    if entry != line:
        yield entry
    if entry.startswith("**"):
        at = 0
        for _ in range(_MOST_KEYS):
            at = entry.find(_AFTER_KEY, at)
            if at < 0:
                return
            at += len(_AFTER_KEY)
            yield entry[at:].strip(WHITE_SPACE)
