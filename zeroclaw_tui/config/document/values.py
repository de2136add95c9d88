"""Keys and values as TOML writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from zeroclaw_tui.memory.text import one_line

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
"""What TOML forbids in a quoted text, and what would make a line look like another in an editor: the line ends of
Unicode and the marks that turn the direction of writing."""
_SHORT = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}


def value_text(value: Any) -> str:
    """The TOML text of a str, bool, int, float or a list of these, on one line. Raises TypeError for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    raise TypeError(f"A {type(value).__name__} is no value of a config.")


def key_text(path: Iterable[str]) -> str:
    """A key of one or several parts, quoted where it has to be."""
    return ".".join(part if _BARE.fullmatch(part) else _quoted(part) for part in path)


def shown_key(path: Iterable[str]) -> str:
    """A key in a sentence: as TOML writes it, on one line and without control characters."""
    return one_line(key_text(path))


def is_same_value(one: Any, other: Any) -> bool:
    """True when two values read from TOML are the same, type included; nan is the same as nan."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same_value(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same_value, one, other))
    return bool(one == other or (one != one and other != other))


def serves_as(present: Any, wanted: Any) -> bool:
    """True when a present value need not be rewritten for a wanted one: the same, or a whole number for a float."""
    if isinstance(wanted, list | tuple) and isinstance(present, list):
        return len(present) == len(wanted) and all(map(serves_as, present, wanted))
    if isinstance(wanted, float) and type(present) is int:
        return present == wanted
    return is_same_value(present, wanted)


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT.get(character, f"\\u{ord(character):04X}")
