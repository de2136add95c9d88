"""The blocks a person sees in a notes file: bullets with what hangs on them, paragraphs, tables, fences, front matter.

Read much as CommonMark and GitHub's tables have it, but kinder to what people type: whatever is indented by two
columns more than a bullet belongs to it. One pass over the lines, whatever is in them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from zeroclaw_tui.memory.text import WHITE_SPACE

LONGEST_NAME = 100
"""How many characters of a heading or of a bold word name a block."""

_BYTE_ORDER_MARK = "\ufeff"
_TAB = 4
_NESTED = 2
_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_BULLET = re.compile(r"(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_CELL = re.compile(r":?-+:?")
_BOLD = re.compile(rf"(?:\[[ xX]\][ \t]+)?\*\*([^*\n]{{1,{LONGEST_NAME}}})\*\*")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")


@dataclass(frozen=True, slots=True)
class Block:
    """The lines from `first` up to and without `behind`.

    `headings` are those it lies under, the outermost first. `name` is the bold text a bullet begins with.
    `open_fence` is the line of a code fence in it that nothing closes.
    """

    first: int
    behind: int
    headings: tuple[str, ...] = ()
    name: str | None = None
    open_fence: int | None = None


def split(lines: Sequence[str]) -> list[Block]:
    """The blocks of a file's lines in order, every line that is neither blank nor a heading in exactly one."""
    return _Splitter(lines).blocks()


class _Splitter:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self._marked = bool(lines) and lines[0].startswith(_BYTE_ORDER_MARK)
        if self._marked:
            self._lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        self._texts = [line.strip(WHITE_SPACE) for line in self._lines]
        self._found: list[Block] = []
        self._path: list[tuple[int, str]] = []

    def blocks(self) -> list[Block]:
        at = self._front_matter()
        while at < len(self._texts):
            at = self._next(at)
        return self._found

    def _next(self, at: int) -> int:
        text = self._texts[at]
        heading = _HEADING.match(text)
        if not text or heading:
            if heading:
                self._enter(len(heading[1]), text[heading.end() :].strip(" \t"))
            # The mark at the start of a file makes an entry of a line that is none without it.
            return self._add(at, at + 1) if at == 0 and self._marked else at + 1
        if (fence := _fence(text)) is not None:
            return self._fenced(at, fence)
        if _is_rule(text):
            return self._add(at, at + 1)
        if _BULLET.match(text):
            return self._item(at)
        return self._table(at) if self._is_table(at) else self._paragraph(at)

    def _add(self, first: int, behind: int, name: str | None = None, open_fence: int | None = None) -> int:
        path = tuple(text for _, text in self._path)
        self._found.append(Block(first, behind, path, name, open_fence))
        return behind

    def _enter(self, level: int, text: str) -> None:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        named = _CLOSING.sub("", text[:LONGEST_NAME]).strip(WHITE_SPACE)
        if named:
            self._path.append((level, named))

    def _front_matter(self) -> int:
        texts = self._texts
        if len(texts) < 2 or texts[0] != "---" or not texts[1]:
            return 0
        end = next((at for at in range(1, len(texts)) if texts[at] in ("---", "...")), None)
        return 0 if end is None else self._add(0, end + 1)

    def _fenced(self, at: int, fence: str) -> int:
        end = next((line for line in range(at + 1, len(self._texts)) if _closes(self._texts[line], fence)), None)
        if end is not None:
            return self._add(at, end + 1)
        last = next(line for line in range(len(self._texts) - 1, at - 1, -1) if self._texts[line])
        return self._add(at, last + 1, open_fence=at)

    def _item(self, at: int) -> int:
        """A bullet with everything indented below it, and lines that go on with its text."""
        inner = self._indent(at) + _NESTED
        marker = _BULLET.match(self._texts[at])
        rest = self._texts[at][marker.end() :] if marker else ""
        fence = _fence(rest)
        fence_at, behind = at, at + 1
        for line in range(at + 1, len(self._texts)):
            text = self._texts[line]
            if not text:
                continue
            is_inside = self._indent(line) >= inner
            if not is_inside and (behind < line or fence is not None or self._begins(line)):
                break
            behind = line + 1
            if fence is not None:
                fence = None if _closes(text, fence) else fence
            elif is_inside:
                fence, fence_at = _fence(_without_bullet(text)), line
        bold = _BOLD.match(rest)
        name = bold[1].strip(WHITE_SPACE).removesuffix(":") if bold else ""
        return self._add(at, behind, name or None, fence_at if fence is not None else None)

    def _table(self, at: int) -> int:
        behind = at + 2
        while behind < len(self._texts) and self._texts[behind] and not self._begins(behind):
            behind += 1
        return self._add(at, behind)

    def _paragraph(self, at: int) -> int:
        is_quote = self._texts[at].startswith(">")
        for line in range(at + 1, len(self._texts)):
            text = self._texts[line]
            if not is_quote and (level := _underline(text)):
                self._enter(level, " ".join(self._texts[at:line]))
                return self._add(at, line + 1)
            if not text or self._begins(line, in_quote=is_quote, in_text=True):
                return self._add(at, line)
        return self._add(at, len(self._texts))

    def _begins(self, at: int, *, in_quote: bool = False, in_text: bool = False) -> bool:
        """Whether a block begins here although there is no blank line before."""
        text = self._texts[at]
        if _HEADING.match(text) or _fence(text) is not None or _is_rule(text):
            return True
        if text.startswith(">") and not in_quote:
            return True
        bullet = _BULLET.match(text)
        if bullet:
            # A year at the start of a line is no list.
            return not in_text or (bullet.end() < len(text) and bullet[1] in (None, "1"))
        return self._is_table(at)

    def _is_table(self, at: int) -> bool:
        return "|" in self._texts[at] and at + 1 < len(self._texts) and _is_delimiter(self._texts[at + 1])

    def _indent(self, at: int) -> int:
        line = self._lines[at]
        if line[:1] not in (" ", "\t"):
            return 0
        return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB))


def _fence(text: str) -> str | None:
    """What opens a code fence here."""
    found = _FENCE.match(text)
    return found[1] if found and not (text[0] == "`" and "`" in text[found.end() :]) else None


def _closes(text: str, fence: str) -> bool:
    return text.startswith(fence) and not text.strip(fence[0])


def _without_bullet(text: str) -> str:
    marker = _BULLET.match(text)
    return text[marker.end() :] if marker else text


def _is_rule(text: str) -> bool:
    mark = text[:1]
    return mark in ("-", "*", "_") and not text.strip(f"{mark} \t") and text.count(mark) >= 3


def _is_delimiter(text: str) -> bool:
    if text.strip("|:- \t") or "|" not in text or "-" not in text:
        return False
    return all(_CELL.fullmatch(cell.strip(" \t")) for cell in text.strip("|").split("|"))


def _underline(text: str) -> int | None:
    """The level of the heading that this line makes of the paragraph above."""
    if text and not text.strip("="):
        return 1
    return 2 if text and not text.strip("-") else None
