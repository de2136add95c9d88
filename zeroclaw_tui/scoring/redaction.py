"""The redaction of secrets by ZeroClaw >= 0.8.4 when it stores a memory."""

from __future__ import annotations

import re
from collections.abc import Collection

from zeroclaw_tui.memory.text import WHITE_SPACE

_VALUE = r"A-Za-z0-9_./+=\u017f\u212a-"
"""Its patterns use simple case folding, in which the long s is an s and the Kelvin sign a k."""
_FOLDS = {"s": "\u017f", "k": "\u212a"}
_GATES = {"private_key": "PRIVATE KEY", "email": "@"}
_SPELLINGS = {"apikey": "api_key", "privatekey": "private_key"}


def _word(text: str) -> str:
    return "".join(f"[{letter}{letter.upper()}{_FOLDS.get(letter, '')}]" for letter in text)


def _assigned(names: str, least: int) -> str:
    return rf"\b(?:{names})[{WHITE_SPACE}]*+[:=][{WHITE_SPACE}]*+['\"]?[{_VALUE}]{{{least},}}+['\"]?"


_SECRETS = "|".join(map(_word, ("secret", "token", "password", "credential")))
_REDACTED = {
    "private_key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----",
    "api_key": _assigned(rf"{_word('api')}[_-]?{_word('key')}", 16),
    "secret": _assigned(_SECRETS, 12),
    "email": r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b",
    "phone": r"\b(?:\+?\d[\d .()-]{7,}\d)\b",
}
"""In the order of application; compiled by `re` on first use, since scanning does not need them."""


def category_of(written: str) -> str | None:
    """The category for a value in `redact_categories`, None if ZeroClaw does not know it."""
    word = written.strip().lower()
    name = _SPELLINGS.get(word, word)
    return name if name in _REDACTED else None


def redact(content: str, categories: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Redact a content as ZeroClaw does when storing it, with `[REDACTED:<category>]`; also return the categories."""
    found: list[str] = []
    for category, pattern in _REDACTED.items():
        if category in categories and _GATES.get(category, "") in content:
            content, count = re.subn(pattern, f"[REDACTED:{category}]", content)
            found += [category] if count else []
    return content, tuple(found)
