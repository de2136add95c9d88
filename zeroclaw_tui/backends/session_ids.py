"""Session ids as ZeroClaw stores them."""

from __future__ import annotations


def sanitised(session: str) -> str:
    """A session id as ZeroClaw >= 0.8.0 stores it: what is no letter, digit, `_` or `-` becomes `_`."""
    return "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in session)
