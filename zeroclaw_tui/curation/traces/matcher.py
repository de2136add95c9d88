"""Finds texts in any case of letters and cuts them out; JSON stays JSON."""

from __future__ import annotations

import codecs
import json
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode

MAX_TEXTS = 50
MIN_LENGTH = 3
"""In bytes of UTF-8; a shorter text occurs everywhere."""
REMOVED = "[removed]"
"""Replaces a text that is cut out of a longer value."""

_OWN_VALUES = frozenset({"core", "daily", "conversation", "default", "user", "assistant", "system", "tool"})
"""Categories, a namespace and roles as ZeroClaw writes them."""
_OWN_NAMES = frozenset({"role", "type"})
_TIMES = ("_at", "timestamp")
"""ZeroClaw itself writes the values of columns and fields with these names or these ends."""


class TextMatcher:
    """Texts compared by Unicode's full case folding, composed (NFC), as they are and as JSON escapes them.

    Only the first MAX_TEXTS are searched for. Raises UsageError for a text that is blank or shorter than MIN_LENGTH.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        chosen = list(dict.fromkeys(composed(text).strip(WHITE_SPACE) for text in texts))
        if not chosen or "" in chosen:
            raise UsageError("There is no text to erase.", hint="Give it, or - to read it from stdin.")
        if any(len(text.encode("utf-8", "surrogatepass")) < MIN_LENGTH for text in chosen):
            raise UsageError(f"A text of less than {MIN_LENGTH} bytes occurs everywhere.", hint="Give more of it.")
        self.texts = chosen[:MAX_TEXTS]
        self.remark = ""
        if len(chosen) > MAX_TEXTS:
            self.remark = f"Only the first {MAX_TEXTS} of {len(chosen):,} texts were searched for."
        self._folded = list(dict.fromkeys(form.casefold() for text in self.texts for form in _forms(text)))
        self._longest = max(map(len, self._folded))
        self._mark = "" if self.found_in(REMOVED) else REMOVED

    def found_in(self, value: str) -> bool:
        return bool(self.spans_in(composed(value)))

    def found_in_field(self, name: str, value: object) -> bool:
        """Whether the value of a column or a field of JSON has a text that can be cut out."""
        if isinstance(value, bytes):
            return self.found_in(_decoded(value))
        return isinstance(value, str) and not _is_own(name, value) and self.found_in(value)

    def out_of(self, value: str) -> str:
        """A value with a mark in place of the texts. JSON stays JSON, and the names of its fields stay."""
        if not self.found_in(value):
            return value
        document = _read_json(value)
        if document is not None:
            return _written_json(self._out_of_json("", document))
        text, parts, last = composed(value), list[str](), 0
        for start, end in self.spans_in(text):
            parts += [text[last:start], self._mark]
            last = end
        return "".join([*parts, text[last:]])

    def _out_of_json(self, name: str, value: Any) -> Any:
        """The value of a field of this name without the texts; names of fields stay."""
        if isinstance(value, dict):
            return {inner: self._out_of_json(inner, one) for inner, one in value.items()}
        if isinstance(value, list):
            return [self._out_of_json(name, one) for one in value]
        return self.out_of(value) if isinstance(value, str) and not _is_own(name, value) else value

    def out_of_bytes(self, value: bytes) -> bytes:
        return self.out_of(_decoded(value)).encode("utf-8", "surrogateescape")

    def spans_in(self, text: str) -> list[tuple[int, int]]:
        """Where the texts start and end in a composed text; of those that overlap the first, and the longest."""
        folded, found = text.casefold(), list[tuple[int, int]]()
        for form in self._folded:
            at = folded.find(form)
            while at >= 0:
                found.append((at, at + len(form)))
                at = folded.find(form, at + 1)
        if found and len(folded) != len(text):
            # One letter can fold to several, and a match may not begin or end within a letter.
            starts = accumulate((len(letter.casefold()) for letter in text), initial=0)
            letters = {start: number for number, start in enumerate(starts)}
            found = [(letters[start], letters[end]) for start, end in found if start in letters and end in letters]
        spans: list[tuple[int, int]] = []
        for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
            if not spans or start >= spans[-1][1]:
                spans.append((start, end))
        return spans

    def count_in(self, pieces: Iterable[bytes]) -> int:
        """How often the texts occur in some bytes, which come in pieces."""
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        count, tail = 0, ""
        for piece in pieces:
            text = composed(tail + decoder.decode(piece))
            count += sum(end > len(tail) for _, end in self.spans_in(text))
            tail = text[-self._longest :]
        return count


def _read_json(value: str) -> Any:
    """The list or object that a value is in JSON, else None."""
    if value.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _written_json(document: Any) -> str:
    written = json.dumps(document, ensure_ascii=False)
    # JSON can name half a character, which UTF-8 cannot have.
    return written if is_unicode(written) else json.dumps(document)


def composed(text: str) -> str:
    """A text as the matcher compares it."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n"))


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _forms(text: str) -> Iterator[str]:
    """A text as it is, in a string of JSON, and in JSON within such a string, as a traced request has it."""
    yield text
    for once in _escaped(text):
        yield from (once, *_escaped(once))


def _escaped(text: str) -> tuple[str, str]:
    """A text as JSON writes it: with letters as they are, and with all but ASCII as \\uXXXX."""
    return json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]


def _is_own(name: str, value: str) -> bool:
    """Whether a program wrote the value of a column, or of a field of JSON, by itself."""
    return name in _OWN_NAMES or name.endswith(_TIMES) or value in _OWN_VALUES
