"""The texts that are to be erased: found in any case of letters, and cut out."""

from __future__ import annotations

import codecs
import json
import unicodedata
from collections.abc import Iterable, Iterator

import regex  # type: ignore[import-untyped]

from zeroclaw_tui.curation.copies.texts import NEVER_TEXT, REMOVED, json_in, raw, with_strings
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import WHITE_SPACE

MAX_TEXTS = 50
MIN_LENGTH = 3
"""In bytes of UTF-8; a shorter text occurs everywhere."""

_OWN_VALUES = frozenset({"core", "daily", "conversation", "default", "user", "assistant", "system", "tool"})
"""Categories, a namespace and roles as ZeroClaw writes them."""
_TIMES = ("_at", "timestamp")
"""Ends of the names of columns and fields whose values are times."""


class TextMatcher:
    """Texts compared by Unicode's full case folding, composed (NFC), as they are and as JSON escapes them.

    Raises UsageError for a text that is blank or shorter than MIN_LENGTH, and for more than MAX_TEXTS.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        chosen = dict.fromkeys(_composed(text).strip(WHITE_SPACE) for text in texts)
        if not chosen or "" in chosen:
            raise UsageError("There is no text to erase.", hint="Give it, or - to read it from stdin.")
        if any(len(raw(text)) < MIN_LENGTH for text in chosen):
            raise UsageError(
                f"A text of less than {MIN_LENGTH} bytes occurs everywhere.", hint="Give more of it; nothing was done."
            )
        if len(chosen) > MAX_TEXTS:
            raise UsageError(f"At most {MAX_TEXTS} texts are erased at once.", hint="Erase them in several runs.")
        self.texts = tuple(chosen)
        forms = dict.fromkeys(form for text in self.texts for form in _forms(text))
        self._folded = tuple(form.casefold() for form in forms)
        escaped = "|".join(regex.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._pattern = regex.compile(escaped, regex.IGNORECASE | regex.FULLCASE)
        self._longest = 3 * max(map(len, forms))
        """Characters that a match may take: one letter can fold to three."""
        self.mark = REMOVED if not self.found_in(REMOVED) else ""
        """What replaces a text within a longer one."""
        self.name_mark = "removed" if not self.found_in("removed") else ""
        """The same where only letters may be: in names."""

    def found_in(self, value: str) -> bool:
        """Whether a value holds one of the texts."""
        composed = _composed(value)
        folded = composed.casefold()
        # The pattern is slow, and decides where one letter folds to several.
        return any(form in folded for form in self._folded) and self._pattern.search(composed) is not None

    def held_by(self, value: object, name: str = "") -> bool:
        """Whether a value of the column `name` holds a text that can be cut out."""
        if isinstance(value, bytes):
            return self.found_in(_decoded(value))
        return isinstance(value, str) and not _is_own(name, value) and self.found_in(value)

    def out_of(self, value: str, mark: str | None = None) -> str:
        """A value with `mark` in place of the texts; JSON stays JSON, and its names stay. One that holds none of them
        comes back as it is."""
        replacement = self.mark if mark is None else mark
        if not self.found_in(value):
            return value
        if json_in(value) is not None:
            return with_strings(
                value, lambda field, text: text if _is_own(field, text) else self.out_of(text, replacement)
            )
        cut: str = self._pattern.sub(lambda _: replacement, _composed(value))
        return cut

    def out_of_bytes(self, value: bytes) -> bytes:
        """The same for bytes."""
        return self.out_of(_decoded(value)).encode("utf-8", "surrogateescape")

    def count_in(self, pieces: Iterator[bytes]) -> int:
        """How often the texts occur in some bytes, which come in pieces."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        count, tail = 0, ""
        for piece in pieces:
            text = _composed(tail + decoder.decode(piece))
            if self.found_in(text):
                count += sum(match.end() > len(tail) for match in self._pattern.finditer(text))
            tail = text[-self._longest :]
        return count


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n"))


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _forms(text: str) -> Iterator[str]:
    """A text as it is, in a string of JSON, and in JSON within such a string, as a traced request has it."""
    yield text
    for once in _escaped(text):
        yield once
        yield from _escaped(once)


def _escaped(text: str) -> tuple[str, str]:
    """A text as JSON writes it: with letters as they are, and with all but ASCII as \\uXXXX."""
    return json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]


def _is_own(name: str, value: str) -> bool:
    """Whether a program wrote the value of a column, or of a field of JSON, by itself."""
    return name in NEVER_TEXT or name.endswith(_TIMES) or value in _OWN_VALUES
