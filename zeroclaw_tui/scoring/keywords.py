"""Convert a query to FTS5 and LIKE expressions, by the rules of each ZeroClaw generation."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import ScoringProfile

LIKE_WORDS = 8
"""The maximum number of words that the LIKE fall-back searches for."""
MAX_PATTERN_BYTES = 50_000
"""The maximum length of a pattern for SQLite's LIKE, unless it was built with another limit."""
LIKE_FAILS = (
    "ZeroClaw's own recall fails for this message: a word is longer than SQLite's LIKE takes"
    f" ({MAX_PATTERN_BYTES:,} bytes)."
)

# Python's str.split() would also split at U+001C to U+001F.
_WORD = re.compile(f"[^{WHITE_SPACE}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PREFIX_FACTOR = 8
_PREFIX_EXTRA = 512
_QUERIES_KEPT = 64
_CIRCLED_LETTERS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)


def words(query: str) -> list[str]:
    """Split a query at Unicode white space; lone surrogates, which Rust strings cannot have, become U+FFFD."""
    return _WORD.findall(_SURROGATE.sub("\ufffd", query))


def lists_recent(query: str, profile: ScoringProfile) -> bool:
    """Whether the query lists the newest rows: blank, or from 0.7.5 on a lone `*`."""
    found = words(query)
    return (not found and profile.blank_lists_recent) or (found == ["*"] and profile.star_lists_recent)


@lru_cache(maxsize=_QUERIES_KEPT)
def match_expression(query: str, profile: ScoringProfile) -> str:
    """The FTS5 expression for MATCH: each word as a quoted string, joined by OR; empty for a blank query.

    Before 0.7.5 quotes inside a word are not escaped, so the result may be an invalid FTS5 expression.
    """
    return " OR ".join(_term(word, profile) for word in words(query))


def word_expressions(query: str, profile: ScoringProfile) -> dict[str, str]:
    """The FTS5 expression for each distinct word of a query, by the word as typed."""
    return {word: _term(word, profile) for word in words(query)}


class LikeSearch(NamedTuple):
    """The LIKE fall-back: patterns joined by OR, and a condition on the rows that match.

    `escapes` means that the patterns need ESCAPE `\\`. If a word is a prefix search, each row must also satisfy
    `accepts`, and more rows than the limit are selected.
    """

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    escapes: bool
    has_prefix_word: bool

    @property
    def fails(self) -> bool:
        """Whether SQLite rejects a pattern, and so the whole statement."""
        return any(len(pattern.encode()) > MAX_PATTERN_BYTES for pattern in self.patterns)

    def sql_limit(self, limit: int) -> int:
        """The limit of the SQL statement: 0 if SQLite rejects it."""
        if self.fails:
            return 0
        return min(_PREFIX_FACTOR * limit, limit + _PREFIX_EXTRA) if self.has_prefix_word else limit

    def accepts(self, key: str, content: str) -> bool:
        """Whether a word is in key or content; a prefix word must be at the beginning of a token."""
        if not self.has_prefix_word:
            return True
        texts = (key.lower(), content.lower())
        return any(_found(word.lower(), text) for word in self.words for text in texts)


@lru_cache(maxsize=_QUERIES_KEPT)
def like_search(query: str, profile: ScoringProfile) -> LikeSearch | None:
    """The LIKE fall-back for a query, None for a blank one."""
    looked_for = tuple(words(query)[:LIKE_WORDS])
    if not looked_for:
        return None
    return LikeSearch(
        words=looked_for,
        patterns=tuple(_pattern(word, profile) for word in looked_for),
        escapes=profile.escapes_like,
        has_prefix_word=profile.prefix_words and any(_is_prefix(word) for word in looked_for),
    )


def _term(word: str, profile: ScoringProfile) -> str:
    star = ""
    if profile.prefix_words and _is_prefix(word):
        word, star = word[:-1], "*"
    if profile.escapes_quotes:
        word = word.replace('"', '""')
    return f'"{word}"{star}'


def _pattern(word: str, profile: ScoringProfile) -> str:
    if profile.prefix_words and _is_prefix(word):
        word = word[:-1]
    if profile.escapes_like:
        word = re.sub(r"[%_\\]", r"\\\g<0>", word)
    return f"%{word}%"


def _is_prefix(word: str) -> bool:
    return len(word) > 1 and word.endswith("*")


def _found(word: str, text: str) -> bool:
    return _begins_token(word[:-1], text) if _is_prefix(word) else word in text


def _begins_token(prefix: str, text: str) -> bool:
    """Whether a token begins with the prefix. Tokens are runs of alphanumeric characters and `_`."""
    if not all(map(_in_token, prefix)):
        return False
    at = text.find(prefix)
    while at >= 0:
        if at == 0 or not _in_token(text[at - 1]):
            return True
        at = text.find(prefix, at + 1)
    return False


def _in_token(character: str) -> bool:
    return character == "_" or is_alphanumeric(character)


def is_alphanumeric(character: str) -> bool:
    """Rust's `char::is_alphanumeric`.

    It uses Unicode's Alphabetic property, which Python lacks: vowel signs and circled letters have it.
    """
    if character.isalnum():
        return True
    if character.isascii():
        return False
    code = ord(character)
    if any(first <= code <= last for first, last in _CIRCLED_LETTERS):
        return True
    is_mark = unicodedata.category(character) in ("Mc", "Mn") and unicodedata.combining(character) == 0
    return is_mark and code not in _VARIATION_SELECTORS
