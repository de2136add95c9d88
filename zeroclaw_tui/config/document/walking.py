"""Where every text and comment of a TOML document stands, also within lists, and which names lead to each text.

The document is one that a TOML parser has accepted already.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)"""
    r'''|(?P<text>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|'[^']*')'''
    r"""|(?P<word>[^\s\#"'\[\]{}=,.]+)|(?P<mark>[\[\]{}=,.\n])""",
    re.DOTALL,
)

Kind = Literal["text", "comment"]


@dataclass(frozen=True, slots=True)
class Part:
    """`start` and `end` are offsets; `section` and `names` the way to a text that is a value."""

    kind: Kind
    start: int
    end: int
    section: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def parts_of(text: str) -> Iterator[Part]:
    """The texts that are values (with their quotes) and the comments, in order."""
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "comment":
            yield Part("comment", *token.span())
        elif walk.finds_text(token.lastgroup or "", token.group()):
            yield Part("text", *token.span(), walk.section, (*walk.before, *walk.names))


@dataclass(slots=True)
class _Walk:
    """What the next token means: a part of a key, of a header, or of a value."""

    expects: Literal["key", "header", "value"] = "key"
    section: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    names: list[str] = field(default_factory=list)
    open: list[tuple[str, tuple[str, ...], list[str]]] = field(default_factory=list)

    def finds_text(self, group: str, token: str) -> bool:
        """Take one token; True at a text that is a value."""
        if self.expects == "value":
            return self._finds_value(group, token)
        if group in ("word", "text"):
            self.names.append(token if group == "word" else _plain(token))
        elif self.expects == "header":
            if token == "\n":
                self.section, self.names, self.expects = tuple(self.names), [], "key"
        elif token == "=":
            self.expects = "value"
        elif token == "[":
            self.section, self.expects = (), "header"
        elif token == "}":
            self._close()
        return False

    def _finds_value(self, group: str, token: str) -> bool:
        if group == "text":
            return True
        if token in ("[", "{"):
            self.open.append((token, self.before, self.names))
            if token == "{":
                self.before, self.names, self.expects = (*self.before, *self.names), [], "key"
        elif token in ("]", "}"):
            self._close()
        elif (token == "," and self.open and self.open[-1][0] == "{") or (token == "\n" and not self.open):
            self.names, self.expects = [], "key"
        return False

    def _close(self) -> None:
        _, self.before, self.names = self.open.pop()
        self.expects = "value"


def _plain(quoted: str) -> str:
    """The name that a quoted key stands for."""
    return str(tomllib.loads(f"name = {quoted}")["name"])
