"""Memories similar to another one, by the rare words they share if there are no vectors."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from zeroclaw_tui.memory.entry import Handle

if TYPE_CHECKING:
    import numpy as np

COMPARED_CHARACTERS = 20_000
"""In characters: only the beginning of a longer text is compared."""
MIN_SCORE = 0.01
"""Lower scores are not similar: they come from words that most texts contain."""
_DIGITS = 12
_SHOWN = 5
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
_RUN = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")
_ASCII_WORDS = bytes(ord(chr(byte).lower()) if byte < 128 and chr(byte).isalnum() else 32 for byte in range(256))
"""Maps each byte to its lower case letter or digit, or to a blank: three times as fast for ASCII."""


def words_of(text: str) -> tuple[str, ...]:
    """List the distinct words of a text in lower case, in order; for scripts without blanks, all pairs of letters."""
    text = text[:COMPARED_CHARACTERS]
    if text.isascii():
        return tuple(dict.fromkeys(text.encode().translate(_ASCII_WORDS).decode().split()))
    runs = _RUN.findall(text.casefold())
    if not any(map(_IS_CJK.match, runs)):
        return tuple(dict.fromkeys(runs))
    found: dict[str, None] = {}
    for run in runs:
        if len(run) > 1 and _IS_CJK.match(run):
            found.update(dict.fromkeys(run[at : at + 2] for at in range(len(run) - 1)))
        else:
            found[run] = None
    return tuple(found)


def compared_text_of(key: str, content: str) -> str:
    """The text of a memory to compare: the content, since keys of saved messages are meaningless numbers."""
    return content if content.strip() else key


class Neighbour(NamedTuple):
    """A similar memory, with a score of 0..1."""

    handle: Handle
    score: float


class Near(NamedTuple):
    """Similar memories, the most similar first, and the number of compared ones."""

    neighbours: Sequence[Neighbour]
    compared: int


def shared_words(text: str, other: str) -> tuple[str, ...]:
    """The longest words that two texts share: they are more specific than short ones."""
    return tuple(sorted(set(words_of(text)) & set(words_of(other)), key=lambda word: (-len(word), word))[:_SHOWN])


class RareWords:
    """Counts the words of a store in one pass, then finds the texts that share the rarest words with another.

    The score is the cosine of two texts as vectors of their words, each with the weight ln((texts + 1) / texts with the
    word), so that frequent words count very little: 0..1 (inverse document frequency: Spaerck Jones, 1972).
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts = array("q")
        self._handles: list[Handle] = []
        self._words = array("i")
        self._starts = array("q", [0])

    def __len__(self) -> int:
        return len(self._handles)

    def add(self, handle: Handle, text: str) -> None:
        """Count the words of a text, which is not stored itself."""
        for word in words_of(text):
            number = self._numbers.setdefault(word, len(self._numbers))
            if number == len(self._counts):
                self._counts.append(0)
            self._counts[number] += 1
            self._words.append(number)
        self._handles.append(handle)
        self._starts.append(len(self._words))

    def nearest(self, text: str, limit: int) -> Near:
        """Find the texts most similar to one, best first; of equally similar ones, those stored later come first."""
        counts = {word: self._count_of(word) for word in words_of(text)}
        return Near(self._nearest(counts, limit), len(self))

    def _nearest(self, counts: Mapping[str, int], limit: int) -> list[Neighbour]:
        import numpy as np

        wanted = [self._numbers[word] for word in counts if word in self._numbers]
        if not wanted or not self._words:
            return []
        weights = self._weights()
        squares = weights**2
        words = np.frombuffer(self._words, dtype=np.int32)
        starts = np.frombuffer(self._starts, dtype=np.int64)
        is_wanted = np.zeros(len(weights))
        is_wanted[wanted] = squares[wanted]
        shared = _sums(is_wanted[words], starts)
        lengths = _sums(squares[words], starts)
        # Words that occur in no other text also count for the length of this text's vector.
        own = sum(math.log((len(self) + 1) / (having or 1)) ** 2 for having in counts.values())
        scores = np.divide(shared, np.sqrt(lengths * own), out=np.zeros(len(self)), where=lengths > 0)
        scores = np.minimum(scores.round(_DIGITS), 1.0)
        order = np.lexsort((-np.arange(len(self)), -scores))
        found: list[Neighbour] = []
        for at in order.tolist():
            if scores[at] < MIN_SCORE or len(found) == limit:
                break
            found.append(Neighbour(self._handles[at], float(scores[at])))
        return found

    def _count_of(self, word: str) -> int:
        number = self._numbers.get(word)
        return 0 if number is None else self._counts[number]

    def _weights(self) -> np.ndarray:
        import numpy as np

        counts = np.frombuffer(self._counts, dtype=np.int64)
        return np.log((len(self) + 1) / counts)


def _sums(values: np.ndarray, starts: Sequence[int] | np.ndarray) -> np.ndarray:
    """The sum of the values between each two starts, 0 for an empty range."""
    import numpy as np

    edges = np.asarray(starts)
    sums = np.add.reduceat(np.append(values, 0.0), edges[:-1])
    return np.where(edges[1:] > edges[:-1], sums, 0.0)
