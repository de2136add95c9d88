"""Values of a row as JSON that gives back exactly what they were, also where JSON has no such thing."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

from zeroclaw_tui.memory.change import Value
from zeroclaw_tui.memory.text import is_unicode

_BLOB, _BYTES, _SURROGATES, _REAL = "base64", "text_bytes", "surrogates", "real"
_LEAST, _MOST = -(2**63), 2**63 - 1


def is_plain(value: Value) -> bool:
    """Whether JSON has this value itself: NULL, a number that is finite, or text that is Unicode."""
    if isinstance(value, str):
        return is_unicode(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, bytes)


def packed(value: Value) -> Any:
    """A value as JSON: itself where it can be, else an object of one name.

    {"base64"} is a blob, {"text_bytes"} text by its bytes in base64 that are no UTF-8, {"surrogates"} text with other
    lone surrogates, in base64 too, {"real"} "inf", "-inf" or "nan".
    """
    if is_plain(value):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, bytes):
        return {_BLOB: as_base64(value)}
    if isinstance(value, float):
        return {_REAL: repr(value)}
    name, data = _encoded(str(value))
    return {name: as_base64(data)}


def unpacked(packed: Any) -> Value:
    """The value that was packed. Raises ValueError for anything else."""
    if isinstance(packed, bool):
        return int(packed)
    if isinstance(packed, int) and not _LEAST <= packed <= _MOST:
        raise ValueError("a number of more than 64 bits")
    if isinstance(packed, float) and not math.isfinite(packed):
        raise ValueError("no finite number")
    if packed is None or isinstance(packed, str | int | float):
        return packed
    if not isinstance(packed, dict) or len(packed) != 1:
        raise ValueError("neither a value nor an exact one")
    ((name, text),) = packed.items()
    if not isinstance(text, str):
        raise ValueError("an exact value that is no text")
    return _exact(name, text)


def shown(value: Value) -> str | None:
    """A value as the text that stands for it where it is only read by people; NULL stays None."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    text = str(value)
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def as_base64(data: bytes) -> str:
    """Bytes in base64."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes:
    """The bytes of a base64 text. Raises ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as failure:
        raise ValueError("no base64") from failure


def _encoded(text: str) -> tuple[str, bytes]:
    """Bytes that are no UTF-8 are here as surrogate escapes; other lone surrogates have no bytes of their own."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _SURROGATES, text.encode("utf-8", "surrogatepass")
    if data.decode("utf-8", "surrogateescape") == text:
        return _BYTES, data
    return _SURROGATES, text.encode("utf-8", "surrogatepass")


def _exact(name: str, text: str) -> Value:
    if name == _REAL:
        return float(text)
    data = from_base64(text)
    if name == _BLOB:
        return data
    if name == _BYTES:
        return data.decode("utf-8", "surrogateescape")
    if name == _SURROGATES:
        return data.decode("utf-8", "surrogatepass")
    raise ValueError(f"no kind of value is called {name}")
