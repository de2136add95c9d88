"""Finds texts in any case of letters and cuts them out; JSON stays JSON."""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import WHITE_SPACE

MAX_TEXTS = 50
"""How many texts are searched for at once; each is searched for by itself."""
MIN_LENGTH = 3
"""In bytes of UTF-8; a shorter text occurs everywhere."""
REMOVED = "[removed]"
"""What stands in place of a text that was cut out of a longer value."""

_OWN_VALUES = frozenset({"core", "daily", "conversation", "default", "user", "assistant", "system", "tool"})
"""Categories, a namespace and roles as ZeroClaw writes them."""
_OWN_NAMES = frozenset({"role", "type"})
_TIMES = ("_at", "timestamp")
"""Columns and fields of these names, or with these ends, have values that ZeroClaw writes by itself."""
_JSON_STRING = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*+:)?', re.DOTALL)
"""A string, with its colon if it is the name of a field."""


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
        self.texts: Sequence[str] = chosen[:MAX_TEXTS]
        self.remark = ""
        """What was left out, in a sentence."""
        if len(chosen) > MAX_TEXTS:
            self.remark = f"Only the first {MAX_TEXTS} of {len(chosen):,} texts were searched for."
        self._folded = tuple({form.casefold(): None for text in self.texts for form in _forms(text)})
        self._longest = max(map(len, self._folded))
        self.mark = "" if self.found_in(REMOVED) else REMOVED
        self.name_mark = "" if self.found_in("removed") else "removed"
        """The mark for names, in which only letters may stand."""

    def found_in(self, value: str) -> bool:
        """Whether a value has one of the texts."""
        return any(True for _ in self._matches(composed(value)))

    def found_in_field(self, name: str, value: object) -> bool:
        """Whether the value of a column or a field of JSON has a text that can be cut out."""
        if isinstance(value, bytes):
            return self.found_in(_decoded(value))
        return isinstance(value, str) and not _is_own(name, value) and self.found_in(value)

    def out_of(self, value: str, mark: str | None = None) -> str:
        """A value with `mark` in place of the texts. JSON stays JSON, and its names stay; a value without a text comes
        back as it is."""
        replacement = self.mark if mark is None else mark
        if not self.found_in(value):
            return value
        if is_json(value):
            return _with_json_strings(
                value, lambda name, text: text if _is_own(name, text) else self.out_of(text, replacement)
            )
        text, parts, last = composed(value), list[str](), 0
        for start, end in self.spans_in(text):
            parts += [text[last:start], replacement]
            last = end
        return "".join([*parts, text[last:]])

    def out_of_bytes(self, value: bytes) -> bytes:
        """The same for bytes."""
        return self.out_of(_decoded(value)).encode("utf-8", "surrogateescape")

    def spans_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the texts start and end in a composed text; of those that overlap the first, and the longest."""
        last = 0
        for start, end in sorted(self._matches(text), key=lambda span: (span[0], -span[1])):
            if start >= last:
                yield start, end
                last = end

    def _matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Where each text starts and ends in a composed text, one text after the other."""
        folded = text.casefold()
        starts: Sequence[int] | None = None
        for form in self._folded:
            at = folded.find(form)
            if at >= 0 and starts is None:
                # One letter can fold to several: where each letter starts in the folded text.
                is_same_length = len(folded) == len(text)
                starts = range(len(text) + 1) if is_same_length else _folded_starts(text)
            while at >= 0 and starts is not None:
                start, end = bisect_left(starts, at), bisect_left(starts, at + len(form))
                # A match may not begin or end within a letter.
                is_whole = (starts[start], starts[end]) == (at, at + len(form))
                if is_whole:
                    yield start, end
                at = folded.find(form, at + len(form) if is_whole else at + 1)

    def count_in(self, pieces: Iterable[bytes]) -> int:
        """How often the texts occur in some bytes, which come in pieces."""
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        count, tail = 0, ""
        for piece in pieces:
            text = composed(tail + decoder.decode(piece))
            count += sum(end > len(tail) for _, end in self.spans_in(text))
            tail = text[-self._longest :]
        return count


def _folded_starts(text: str) -> list[int]:
    """Where each letter of a text starts in the folded text, and where that ends."""
    return list(accumulate((len(letter.casefold()) for letter in text), initial=0))


def is_json(value: str) -> bool:
    """Whether a value is a list or an object in JSON."""
    document = value.removeprefix("\ufeff")
    if document.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(document)
    except (ValueError, RecursionError):
        return False
    return True


def _with_json_strings(document: str, change: Callable[[str, str], str]) -> str:
    """A document in JSON with other strings as values; all else stays as it is written.

    `change` gets the name of the field that a string is the value of, or "", and the string.
    """
    name = ""

    def replaced(token: re.Match[str]) -> str:
        nonlocal name
        text = json.loads(token[1])
        if token[2] is not None:
            name = text
            return token[0]
        new, name = change(name, text), ""
        return token[0] if new == text else _json_string(new)

    return _JSON_STRING.sub(replaced, document)


def _json_string(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    try:
        written.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half a character, which JSON can name and UTF-8 cannot have.
        return json.dumps(text)
    return written


def composed(text: str) -> str:
    """A text as the matcher compares it."""
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
    return name in _OWN_NAMES or name.endswith(_TIMES) or value in _OWN_VALUES
