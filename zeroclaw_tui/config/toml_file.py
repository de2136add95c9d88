"""Reading a TOML file, with every way it can fail as one sentence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from zeroclaw_tui.memory.errors import BrokenConfig
from zeroclaw_tui.memory.text import one_line

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(path: Path) -> dict[str, Any] | None:
    """The document of a file, a byte order mark left out; None when there is no such file.

    Raises BrokenConfig with the file, and line and column where a character is to blame.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise BrokenConfig(
            f"{path} is a folder, not a file.", hint="Move it away; ZeroClaw expects its config there."
        ) from error
    except OSError as error:
        raise BrokenConfig(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    return _parse(_decode(raw, path), path)


def _decode(raw: bytes, path: Path) -> str:
    body = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[start : error.start].decode("utf-8")) + 1
        raise BrokenConfig(
            f"{path}, line {line}, column {column}: this byte is not UTF-8 text.", hint="Save the file as UTF-8."
        ) from error


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise BrokenConfig(f"{path} nests its values too deeply to be read.", hint="Look at its lists.") from error
    except ValueError as error:
        raise BrokenConfig(_sentence(str(error), text, path), hint="Mend that line, or restore a backup.") from error


def _sentence(message: str, text: str, path: Path) -> str:
    found = _AT.search(message)
    what = one_line(_AT.sub("", message)).rstrip(".")
    if what == r"Illegal character '\n'":
        what = "The line ends inside a text or a value"
    if found and found.group(1):
        line, column = found.group(1), found.group(2)
    else:
        # tomllib names no line when the text ends too early.
        lines = text.split("\n")
        line, column = str(len(lines)), str(len(lines[-1]) + 1)
    return f"{path}, line {line}, column {column}: {what[:1].lower()}{what[1:]}."
