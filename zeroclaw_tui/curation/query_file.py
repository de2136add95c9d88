"""Test queries out of a file: TOML of [[query]] tables, or JSONL of the same objects."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, cast

from zeroclaw_tui.curation.evaluation import TestQuery
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import cut, is_unicode, one_line

STDIN = "-"
MOST_TOML_BYTES = 8 * 1024**2
"""A TOML file is read as a whole; longer ones belong in JSONL."""
MOST_LINE_BYTES = 1024**2
MOST_QUERIES = 100_000
_NAMES = ("query", "expected", "name", "session")
_MARK = b"\xef\xbb\xbf"
_LONGEST_SHOWN = 60
_TABLE = '[[query]]\nquery = "what does she eat?"\nexpected = ["food_allergy"]'
_LINE = '{"query": "what does she eat?", "expected": ["food_allergy"]}'
_OPTIONAL = "name and session may stand beside query and expected."
_AS_TABLES = f"A query looks like this; {_OPTIONAL}\n{_TABLE}"
_AS_LINES = f"A line looks like this; {_OPTIONAL}\n{_LINE}"


def read_queries(file: Path) -> tuple[TestQuery, ...]:
    """The queries of a TOML ([[query]] tables) or JSONL file. Raises WrongUse in one sentence with the place.

    A name that ends in .toml, .jsonl, .ndjson or .json says which it is; of others, `-` for stdin included, one that
    begins with a brace is JSONL. JSONL is read line by line.
    """
    shown = "stdin" if str(file) == STDIN else one_line(str(file))
    try:
        with _opened(file) as stream:
            blanks, first = _first_line(stream)
            if not first:
                raise WrongUse(f"{shown} is empty.", hint=_AS_TABLES)
            if _is_jsonl(file, first):
                queries = tuple(_of_lines(_numbered(stream, blanks, first), shown))
            else:
                queries = tuple(_of_toml(stream, blanks, first, shown))
    except OSError as error:
        raise WrongUse(
            f"{shown} cannot be read: {error.strerror or error}.", hint="FILE is a file of test queries, - is stdin."
        ) from error
    if not queries:
        raise WrongUse(f"{shown} holds no queries.", hint=_AS_TABLES)
    return queries


def _opened(file: Path) -> AbstractContextManager[BinaryIO]:
    if str(file) == STDIN:
        return nullcontext(cast(BinaryIO, sys.stdin.buffer))
    return file.expanduser().open("rb")


def _first_line(stream: BinaryIO) -> tuple[int, bytes]:
    """How many blank lines there are ahead, and the first that is none; b"" where all are."""
    blanks = 0
    line = stream.readline(MOST_LINE_BYTES + 1).removeprefix(_MARK)
    while line and not line.strip():
        blanks += 1
        line = stream.readline(MOST_LINE_BYTES + 1)
    return blanks, line


def _is_jsonl(file: Path, first: bytes) -> bool:
    if str(file) != STDIN and file.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        return True
    if str(file) != STDIN and file.suffix.lower() == ".toml":
        return False
    return first.lstrip().startswith(b"{")


def _numbered(stream: BinaryIO, blanks: int, first: bytes) -> Iterator[tuple[int, bytes]]:
    number, line = blanks + 1, first
    while line:
        yield number, line
        number, line = number + 1, stream.readline(MOST_LINE_BYTES + 1)


def _of_lines(lines: Iterator[tuple[int, bytes]], shown: str) -> Iterator[TestQuery]:
    count = 0
    for number, line in lines:
        place = f"Line {number:,} of {shown}"
        if len(line) > MOST_LINE_BYTES:
            raise WrongUse(f"{place} is longer than {MOST_LINE_BYTES // 1024**2} MB.", hint=_AS_LINES)
        if not line.strip():
            continue
        count += 1
        _refuse_too_many(count, shown)
        asked = _json(line, place)
        if not isinstance(asked, dict):
            raise WrongUse(f"{place} is no JSON object.", hint=_AS_LINES)
        yield _query(asked, place, _AS_LINES)


def _json(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.decode("utf-8").rstrip())
    except UnicodeDecodeError as error:
        raise WrongUse(f"{place} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise WrongUse(
            f"{place} is no JSON: {_lowered(error.msg)} at column {error.colno:,}.",
            hint=f"Each line is an object of its own.\n{_LINE}",
        ) from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{place} is JSON that cannot be read: {_reason(error)}.", hint=_AS_LINES) from error


def _of_toml(stream: BinaryIO, blanks: int, first: bytes, shown: str) -> Iterator[TestQuery]:
    data = first + stream.read(max(0, MOST_TOML_BYTES + 1 - len(first)))
    if len(data) + blanks > MOST_TOML_BYTES:
        raise WrongUse(
            f"{shown} is longer than {MOST_TOML_BYTES // 1024**2} MB, the most that is read of TOML.",
            hint=f"JSONL may be longer, a query on each line:\n{_LINE}",
        )
    tables = _toml(b"\n" * blanks + data, shown).get("query", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise WrongUse(f"query in {shown} is no list of tables.", hint=f"Write each query as [[query]].\n{_TABLE}")
    _refuse_too_many(len(tables), shown)
    for number, table in enumerate(tables, 1):
        yield _query(table, f"[[query]] {number:,} of {shown}", _AS_TABLES)


def _toml(data: bytes, shown: str) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WrongUse(f"Line {line:,} of {shown} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{shown} is no TOML: {_reason(error)}.", hint=_AS_TABLES) from error
    for name in document:
        if name != "query":
            raise WrongUse(f"{shown} has {_quoted(name)}, which is no query.", hint=_AS_TABLES)
    return document


def _refuse_too_many(count: int, shown: str) -> None:
    if count > MOST_QUERIES:
        raise WrongUse(f"{shown} holds more than {MOST_QUERIES:,} queries.", hint="Split it into several files.")


def _query(given: Mapping[str, Any], place: str, shape: str) -> TestQuery:
    fault = _fault(given)
    if fault:
        raise WrongUse(f"{place}: {fault}.", hint=shape)
    expected = given["expected"]
    return TestQuery(
        query=given["query"],
        expected=tuple(dict.fromkeys([expected] if isinstance(expected, str) else expected)),
        name=given.get("name") or given["query"],
        session_id=given.get("session"),
    )


def _fault(given: Mapping[str, Any]) -> str | None:
    for name in given:
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 1)
            return f"there is no {_quoted(name)}" + (f', but "{near[0]}"' if near else "")
    for name in ("query", "expected"):
        if name not in given:
            return f'"{name}" is missing'
    for name in ("query", "name", "session"):
        value = given.get(name)
        if not isinstance(value, str) and (value is not None or name == "query"):
            return f'"{name}" must be a text'
        if isinstance(value, str) and not is_unicode(value):
            return f'"{name}" has half a character (a lone surrogate)'
    return _fault_of_expected(given["expected"])


def _fault_of_expected(expected: Any) -> str | None:
    keys = [expected] if isinstance(expected, str) else expected
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return '"expected" must be a key or a list of keys'
    if not keys:
        return '"expected" names no key'
    return None if all(map(is_unicode, keys)) else '"expected" has half a character (a lone surrogate)'


def _quoted(name: str) -> str:
    return f'"{cut(one_line(name), _LONGEST_SHOWN)}"'


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its values lie too deep in one another"
    return _lowered(cut(one_line(str(error)), 3 * _LONGEST_SHOWN)).rstrip(".")


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
