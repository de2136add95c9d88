"""Session ids as ZeroClaw stores them."""

from __future__ import annotations

from collections.abc import Iterable

from zeroclaw_tui.memory.text import cut, one_line
from zeroclaw_tui.scoring.keywords import is_alphanumeric

_SHOWN_CELLS = 60


def sanitised(session: str) -> str:
    """A session id as ZeroClaw >= 0.8.0 stores it: what is no letter, digit, `_` or `-` becomes `_`."""
    return "".join(letter if letter in "_-" or is_alphanumeric(letter) else "_" for letter in session)


def respelled(sessions: Iterable[str]) -> str | None:
    """The sentence on those of these session ids that ZeroClaw >= 0.8.0 spells otherwise when it next opens the
    database: how many, and one for an example. None where there are none."""
    others = sorted(session for session in sessions if sanitised(session) != session)
    if not others:
        return None
    old, new = (cut(one_line(text), _SHOWN_CELLS) for text in (others[0], sanitised(others[0])))
    if len(others) == 1:
        return f"1 session id is spelled otherwise once ZeroClaw next opens the database: {old} becomes {new}."
    return (
        f"{len(others):,} session ids are spelled otherwise once ZeroClaw next opens the database: {old}, for one, "
        f"becomes {new}."
    )
