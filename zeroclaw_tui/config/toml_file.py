"""Reading a TOML file, with every way it can fail as one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.whole_file import NotRegular, read_regular
from zeroclaw_tui.memory.errors import BrokenConfig

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_toml(path: Path) -> dict[str, Any] | None:
    """The document of a file, a byte order mark left out; None when there is no such file.

    Raises BrokenConfig with the file, and line and column where a character is to blame.
    """
    try:
        raw = read_regular(path)
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise BrokenConfig(
            f"{path} is a folder, not a file.", hint="Move it away; ZeroClaw expects its config there."
        ) from error
    except NotRegular as error:
        raise BrokenConfig(
            f"{path} is no regular file.", hint="Move it away and put a file with the settings there."
        ) from error
    except OSError as error:
        raise BrokenConfig(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    return parsed(decoded(raw, path), path)


def decoded(raw: bytes, path: Path) -> str:
    """The text of a file's bytes, a byte order mark left out. Raises BrokenConfig where they are not UTF-8."""
    body = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[start : error.start].decode("utf-8")) + 1
        raise BrokenConfig(
            f"{path}, line {line}, column {column}: this byte is not UTF-8 text.", hint="Save the file as UTF-8."
        ) from error


def parsed(text: str, path: Path) -> dict[str, Any]:
    """What TOML reads in a text. Raises BrokenConfig with line, column and what to do, but never a value."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise BrokenConfig(f"{path} nests its values too deeply to be read.", hint="Look at its lists.") from error
    except ValueError as error:
        from zeroclaw_tui.config.toml_problem import problem_of

        problem = problem_of(text, str(error))
        raise BrokenConfig(
            f"{path}, line {problem.line}, column {problem.column}: {problem.sentence}", hint=problem.hint
        ) from error
