"""What ZeroClaw >= 0.8.4 blanks out of a memory before it stores it, with `memory.policy.redact_on_write`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from zeroclaw_tui.memory.text import WHITE_SPACE

_VALUE = r"A-Za-z0-9_./+=\u017f\u212a-"
"""Its patterns fold case simply, by which the long s is an s and the Kelvin sign a k."""
_FOLDS = {"s": "\u017f", "k": "\u212a"}


def _word(text: str) -> str:
    return "".join(f"[{letter}{letter.upper()}{_FOLDS.get(letter, '')}]" for letter in text)


def _assigned(names: str, least: int) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{names})[{WHITE_SPACE}]*+[:=][{WHITE_SPACE}]*+['\"]?[{_VALUE}]{{{least},}}+['\"]?")


_SECRETS = "|".join(map(_word, ("secret", "token", "password", "credential")))
_PATTERNS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "private_key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----"),
        "api_key": _assigned(rf"{_word('api')}[_-]?{_word('key')}", 16),
        "secret": _assigned(_SECRETS, 12),
        "email": re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b"),
        "phone": re.compile(r"\b(?:\+?\d[\d .()-]{7,}\d)\b"),
    }
)
"""In the order in which they are applied."""
_GATES = {"private_key": "PRIVATE KEY", "email": "@"}
_SPELLINGS = {"apikey": "api_key", "privatekey": "private_key"}


def category_of(written: str) -> str | None:
    """The category that a word of `redact_categories` means, None where ZeroClaw knows no such word."""
    word = written.strip().lower()
    name = _SPELLINGS.get(word, word)
    return name if name in _PATTERNS else None


def redact(content: str, categories: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """The content as it would be stored, `[REDACTED:<category>]` for what is found, and the categories found."""
    found: list[str] = []
    for category, pattern in _PATTERNS.items():
        if category in categories and _GATES.get(category, "") in content:
            content, count = pattern.subn(f"[REDACTED:{category}]", content)
            found += [category] if count else []
    return content, tuple(found)
