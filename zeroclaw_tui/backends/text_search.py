"""What the text parts of a filter find, and where: one meaning for every backend and for what screens light up."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.errors import SearchInterrupted, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

Span = tuple[int, int]
"""Where a match begins and ends, in characters."""

SECONDS = 5.0
"""How long a pattern may be matched in one search, all texts together."""
SECONDS_A_TEXT = 1.0
"""The same for one text: a search that is called off goes on for so long at the most."""
LONGEST_PATTERN = 10_000
"""In characters; a longer one would take longer to be read than a person waits."""

_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_BLANKS = re.compile(f"[{re.escape(WHITE_SPACE)}]+")
_SIMPLER = "Look for something simpler, or narrow the search by a filter."


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, each once: what stands between white space (Unicode's White_Space)."""
    return tuple(dict.fromkeys(word for word in _BLANKS.split(text) if word))


def folded(text: str) -> str:
    """A text of the same length in which letters that differ only in case are the same.

    What Unicode folds into several letters stays one: ß is found by ß and by its capital, not by ss.
    """
    if text.isascii():
        return text.lower()
    shown = text.casefold()
    # Folding never shortens: at the same length every character has become one character.
    return shown if len(shown) == len(text) else "".join(map(_folded_one, text))


def _folded_one(character: str) -> str:
    for shown in (character.casefold(), character.lower()):
        if len(shown) == 1:
            return shown
    return character


class Needle:
    """A text that is looked for, in any case.

    `is_plain` says that only its ASCII letters have a case, so that bytes can be compared with those alone lowered.
    """

    def __init__(self, text: str) -> None:
        self.is_plain = is_unicode(text) and not any(map(_has_case, text))
        self.text = text.translate(_ASCII_LOWER) if self.is_plain else folded(text)

    def is_in(self, text: str) -> bool:
        """Whether it stands anywhere in this text."""
        return self.text in self._comparable(text)

    def spans(self, text: str) -> Iterator[Span]:
        """Where it stands, from left to right; matches do not overlap."""
        comparable, at = self._comparable(text), 0
        while (at := comparable.find(self.text, at)) >= 0:
            yield at, at + len(self.text)
            at += len(self.text)

    def other_cases(self) -> tuple[str, str]:
        """Its letters as they stand in texts in other cases, and at the same places as they stand in `text`."""
        letters = set(self.text)
        others = _ASCII_CASES if self.is_plain else _cases()
        pairs = [(one, other) for other in sorted(letters) for one in others.get(other, "")]
        return "".join(one for one, _ in pairs), "".join(other for _, other in pairs)

    def _comparable(self, text: str) -> str:
        if text.isascii():
            return text.lower()
        return text.translate(_ASCII_LOWER) if self.is_plain else folded(text)


_AFTER_LETTERS_WITH_CASE = 0x20000
"""Behind it are ideographs, private characters and marks alone."""
_ASCII_CASES = {chr(code).lower(): chr(code) for code in range(ord("A"), ord("Z") + 1)}


@lru_cache(maxsize=1)
def _cases() -> Mapping[str, str]:
    """Every letter as `folded` gives it, with all characters that become it; takes longer to make than a frame."""
    cases: dict[str, str] = {}
    for code in range(_AFTER_LETTERS_WITH_CASE):
        character = chr(code)
        if (small := _folded_one(character)) != character:
            cases[small] = cases.get(small, "") + character
    return cases


def _has_case(character: str) -> bool:
    return not character.isascii() and (character.casefold() != character or character.upper() != character)


class PatternSearch:
    """One search for a regular expression, with the time it may take. Raises WrongUse for one that cannot be read.

    `clock` gives seconds that only rise. Only matching counts, so that a slow disk or a caller's work does not.
    """

    def __init__(self, pattern: str, seconds: float = SECONDS, clock: Callable[[], float] = time.perf_counter) -> None:
        self._pattern = compiled(pattern)
        self._search = self._pattern.search
        self._seconds = seconds
        self._left = seconds
        self._clock = clock

    def is_in(self, *texts: str) -> bool:
        """Whether it matches anywhere in any of these texts. Raises WrongUse when the time is over."""
        left, search, clock = self._left, self._search, self._clock
        if left <= 0:
            raise self._too_slow()
        # Asking for the time a hundred thousand times takes as long as simple patterns do: once for all texts of a row.
        start, most = clock(), min(left, SECONDS_A_TEXT)
        try:
            for text in texts:
                if search(text, concurrent=True, timeout=most) is not None:
                    return True
        except TimeoutError:
            raise self._too_slow() from None
        except (MemoryError, RecursionError):
            raise _too_big() from None
        finally:
            self._left = left - (clock() - start)
        return False

    def spans(self, text: str, seconds: float) -> Iterator[Span]:
        """Where it matches. Raises TimeoutError after `seconds`; what matches nothing at all is left out."""
        for match in self._pattern.finditer(text, concurrent=True, timeout=seconds):
            if match.end() > match.start():
                yield match.span()

    def _too_slow(self) -> WrongUse:
        if self._left < SECONDS_A_TEXT:
            said = f"The pattern takes longer than {self._seconds:g} s."
        else:
            said = f"The pattern takes longer than {SECONDS_A_TEXT:g} s on a single memory."
        return WrongUse(said, hint=_SIMPLER, title="Pattern too slow")


@lru_cache(maxsize=8)
def compiled(pattern: str) -> regex.Pattern[str]:
    """A pattern of the `regex` library, ignoring case. Raises WrongUse with the place where it cannot be read."""
    # A tenth of the time to the first frame, and most searches are for words.
    import regex

    if len(pattern) > LONGEST_PATTERN:
        raise WrongUse(
            f"The pattern has {len(pattern):,} characters, more than {LONGEST_PATTERN:,}.", hint="Give a shorter one."
        )
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except regex.error as error:
        place = "" if error.pos is None else _place(pattern, error.pos)
        raise WrongUse(
            f"The pattern cannot be read{place}: {error.msg}.", hint=r"A sign meant as itself has a \ before it."
        ) from None
    except (RecursionError, MemoryError, OverflowError):
        raise _too_big() from None


class TextSearch:
    """One search for what the text parts of a filter say, row by row; made in the thread that looks.

    Raises WrongUse for a pattern that cannot be read, and from `finds` for one that takes longer than `seconds`.
    """

    def __init__(self, filter: MemoryFilter, seconds: float = SECONDS) -> None:
        self.needles = needles_of(filter)
        self.pattern = PatternSearch(filter.regex, seconds) if filter.regex else None
        self._is_stopped = False

    def finds(self, key: str, content: str) -> bool:
        """Whether a memory is found: each text and the pattern somewhere in its key or in its content."""
        if self._is_stopped:
            raise SearchInterrupted
        if not all(needle.is_in(content) or needle.is_in(key) for needle in self.needles):
            return False
        return self.pattern is None or self.pattern.is_in(content, key)

    def spans(self, text: str, seconds: float, most: int) -> tuple[Sequence[Span], bool]:
        """Where anything that is looked for stands in a text, from left to right, what overlaps as one.

        Of each at most so many. Also whether matching the pattern took longer than `seconds`: then the rest is missing.
        """
        found = [span for needle in self.needles for span in islice(needle.spans(text), most)]
        is_over = False
        if self.pattern is not None:
            try:
                found += islice(self.pattern.spans(text, seconds), most)
            except (TimeoutError, MemoryError, RecursionError):
                is_over = True
        return merged(found), is_over

    def stop(self) -> None:
        """End the search at its next row, from any thread: that raises SearchInterrupted."""
        self._is_stopped = True


def needles_of(filter: MemoryFilter) -> Sequence[Needle]:
    """The texts a filter looks for: that of `contains`, then each word."""
    return [Needle(text) for text in (filter.contains, *(filter.words or ())) if text]


def merged(spans: Sequence[Span]) -> Sequence[Span]:
    """The same places from left to right, what overlaps or touches as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _place(pattern: str, position: int) -> str:
    return " at its end" if position >= len(pattern) else f" at character {position + 1}"


def _too_big() -> WrongUse:
    return WrongUse("The pattern is too deep or too big to be matched.", hint="Look for something simpler.")
