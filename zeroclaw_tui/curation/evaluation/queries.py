"""Files of test queries: which keys should reach the prompt for a message, and which must not."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from zeroclaw_tui.files.disk import failures_told, make_folder, write_whole
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.memory.text import cut, is_unicode, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

TESTS = "tests.toml"
STDIN = "-"
MOST_TOML_BYTES = 8 * 1024**2
"""A TOML file is read as a whole; longer ones belong in JSONL."""
MOST_LINE_BYTES = 1024**2
MOST_QUERIES = 100_000
_NAMES = ("query", "expected", "rejected", "name", "session", "agent", "channel", "note")
_TEXTS = ("query", "name", "session", "agent", "channel", "note")
_MARK = b"\xef\xbb\xbf"
_LONGEST_SHOWN = 60
_TABLE = '[[query]]\nquery = "what does she eat?"\nexpected = ["food_allergy"]'
_LINE = '{"query": "what does she eat?", "expected": ["food_allergy"]}'
_OPTIONAL = (
    "rejected, with or instead of expected, names keys that must not be in the prompt; "
    "name, session, agent, channel and note may"
    " stand there too."
)
_AS_TABLES = f"A query looks like this; {_OPTIONAL}\n{_TABLE}"
_AS_LINES = f"A line looks like this; {_OPTIONAL}\n{_LINE}"


@dataclass(frozen=True, slots=True)
class TestQuery:
    """A message with the keys that should reach the prompt for it and those that must not; at least one of either.

    `name` is how it is called in reports. `session_id`, `agent` (an alias) and `channel` are those of the turn; None is
    whatever the run has. `note` is a remark for people.
    """

    __test__ = False

    query: str
    expected: tuple[str, ...]
    name: str
    session_id: str | None = None
    rejected: tuple[str, ...] = ()
    agent: str | None = None
    channel: str | None = None
    note: str = ""

    @property
    def rule(self) -> Rule | None:
        """By which rule a turn of its channel puts memories before the message; None where it names no channel."""
        if self.channel is None:
            return None
        kind = self.channel.strip().lower().partition(".")[0]
        return _RULES.get(kind, "channel")


_RULES: Mapping[str, Rule] = {
    "": "cli",
    "cli": "cli",
    "cron": "cron",
    "heartbeat": "cron",
    **dict.fromkeys(("web", "websocket", "ws", "gateway", "rpc", "acp", "library"), "library"),
}
"""Turns that are no chat channel's, by the word that a test or a trace has for them."""


def tests_file(library: Library) -> Path:
    """Where the recall tests of a store lie, whether or not there are any: beside this program's settings."""
    return library.config.install.own_dir / TESTS


def append_queries(file: Path, *queries: TestQuery) -> None:
    """Put tests at the end of a TOML or JSONL file, which keeps what it has byte for byte; made where it is not there.

    Raises UsageError where the file holds something else than tests, Unreadable where it cannot be written. Blocks.
    """
    target = Path(os.path.realpath(file.expanduser()))
    with failures_told(target):
        present = target.read_bytes() if target.exists() else b""
    with_lines = _is_jsonl(target, present.lstrip()[:1] or b"[")
    added = [_as_line(query) if with_lines else _as_table(query) for query in queries]
    line_end = b"\r\n" if b"\r\n" in present else b"\n"
    text = "".join(added) if with_lines else "\n".join(added)
    ended = present if not present or present.endswith(b"\n") else present + line_end
    gap = line_end if ended and not with_lines else b""
    whole = ended + gap + text.encode("utf-8").replace(b"\n", line_end)
    if not with_lines and len(whole) > MOST_TOML_BYTES:
        raise UsageError(
            f"{one_line(str(target))} would be longer than {MOST_TOML_BYTES // 1024**2} MB, the most that is read.",
            hint="Take tests out of it that you no longer need. Nothing was written.",
        )
    # What stands there may be no file of tests, and a list of inline tables takes no [[query]] behind it.
    _queries_of(BytesIO(whole), target, one_line(str(target)))
    with failures_told(target):
        make_folder(target.parent)
    write_whole(target, whole)


def _checked_fields(query: TestQuery) -> dict[str, str | list[str]]:
    """What a file has of a query. Raises UsageError for one that no file could be read with."""
    given: dict[str, str | list[str] | None] = {
        "name": query.name if query.name not in ("", query.query) else None,
        "query": query.query,
        "expected": list(query.expected) or None,
        "rejected": list(query.rejected) or None,
        "session": query.session_id,
        "agent": query.agent,
        "channel": query.channel,
        "note": query.note or None,
    }
    fields = {name: value for name, value in given.items() if value is not None}
    fault = _fault(fields)
    if fault:
        raise UsageError(f"This is no test: {fault}.", hint=_AS_TABLES)
    return fields


def _as_table(query: TestQuery) -> str:
    lines = [f"{name} = {_toml_value(value)}" for name, value in _checked_fields(query).items()]
    return "\n".join(["[[query]]", *lines, ""])


def _toml_value(value: str | list[str]) -> str:
    # TOML's basic strings are JSON's, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _as_line(query: TestQuery) -> str:
    return json.dumps(_checked_fields(query), ensure_ascii=False) + "\n"


def read_queries(file: Path) -> tuple[TestQuery, ...]:
    """The queries of a TOML ([[query]] tables) or JSONL file. Raises UsageError in one sentence with the place.

    A name that ends in .toml, .jsonl, .ndjson or .json says which it is; of others, `-` for stdin included, one that
    begins with a brace is JSONL. JSONL is read line by line.
    """
    shown = "stdin" if str(file) == STDIN else one_line(str(file))
    try:
        with _opened(file) as stream:
            queries = _queries_of(stream, file, shown)
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror or error}.", hint="FILE is a file of test queries, - is stdin."
        ) from error
    if not queries:
        raise UsageError(f"{shown} holds no queries.", hint=_AS_TABLES)
    return queries


def _queries_of(stream: BinaryIO, file: Path, shown: str) -> tuple[TestQuery, ...]:
    blanks, first = _first_line(stream)
    if not first:
        raise UsageError(f"{shown} is empty.", hint=_AS_TABLES)
    if _is_jsonl(file, first):
        return tuple(_of_lines(_numbered(stream, blanks, first), shown))
    return tuple(_of_toml(stream, blanks, first, shown))


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
            raise UsageError(f"{place} is longer than {MOST_LINE_BYTES // 1024**2} MB.", hint=_AS_LINES)
        if not line.strip():
            continue
        count += 1
        _refuse_too_many(count, shown)
        asked = _json(line, place)
        if not isinstance(asked, dict):
            raise UsageError(f"{place} is no JSON object.", hint=_AS_LINES)
        yield _query(asked, place, _AS_LINES)


def _json(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.decode("utf-8").rstrip())
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{place} is no JSON: {_lowered(error.msg)} at column {error.colno:,}.",
            hint=f"Each line is an object of its own.\n{_LINE}",
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is JSON that cannot be read: {_reason(error)}.", hint=_AS_LINES) from error


def _of_toml(stream: BinaryIO, blanks: int, first: bytes, shown: str) -> Iterator[TestQuery]:
    data = first + stream.read(max(0, MOST_TOML_BYTES + 1 - len(first)))
    if len(data) + blanks > MOST_TOML_BYTES:
        raise UsageError(
            f"{shown} is longer than {MOST_TOML_BYTES // 1024**2} MB, the most that is read of TOML.",
            hint=f"JSONL may be longer, a query on each line:\n{_LINE}",
        )
    tables = _toml(b"\n" * blanks + data, shown).get("query", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise UsageError(f"query in {shown} is no list of tables.", hint=f"Write each query as [[query]].\n{_TABLE}")
    _refuse_too_many(len(tables), shown)
    for number, table in enumerate(tables, 1):
        yield _query(table, f"[[query]] {number:,} of {shown}", _AS_TABLES)


def _toml(data: bytes, shown: str) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"Line {line:,} of {shown} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown} is no TOML: {_reason(error)}.", hint=_AS_TABLES) from error
    for name in document:
        if name != "query":
            raise UsageError(f"{shown} has {_quoted(name)}, which is no query.", hint=_AS_TABLES)
    return document


def _refuse_too_many(count: int, shown: str) -> None:
    if count > MOST_QUERIES:
        raise UsageError(f"{shown} holds more than {MOST_QUERIES:,} queries.", hint="Split it into several files.")


def _query(given: Mapping[str, Any], place: str, shape: str) -> TestQuery:
    fault = _fault(given)
    if fault:
        raise UsageError(f"{place}: {fault}.", hint=shape)
    return TestQuery(
        query=given["query"],
        expected=_keys(given.get("expected")),
        name=given.get("name") or given["query"],
        session_id=given.get("session"),
        rejected=_keys(given.get("rejected")),
        agent=given.get("agent") or None,
        channel=given.get("channel") or None,
        note=given.get("note") or "",
    )


def _keys(given: str | list[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys([given] if isinstance(given, str) else given or ()))


def _fault(given: Mapping[str, Any]) -> str | None:
    for name in given:
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 1)
            return f"there is no {_quoted(name)}" + (f', but "{near[0]}"' if near else "")
    if "query" not in given:
        return '"query" is missing'
    if given.get("expected") is None and given.get("rejected") is None:
        return '"expected" is missing'
    for name in _TEXTS:
        value = given.get(name)
        if not isinstance(value, str) and (value is not None or name == "query"):
            return f'"{name}" must be a text'
        if isinstance(value, str) and not is_unicode(value):
            return f'"{name}" has half a character (a lone surrogate)'
    for name in ("expected", "rejected"):
        if fault := _fault_of_keys(name, given.get(name)):
            return fault
    both = set(_keys(given.get("expected"))) & set(_keys(given.get("rejected")))
    return f"{_quoted(min(both))} is both expected and rejected" if both else None


def _fault_of_keys(name: str, given: Any) -> str | None:
    if given is None:
        return None
    keys = [given] if isinstance(given, str) else given
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return f'"{name}" must be a key or a list of keys'
    if not keys:
        return f'"{name}" names no key'
    return None if all(map(is_unicode, keys)) else f'"{name}" has half a character (a lone surrogate)'


def _quoted(name: str) -> str:
    return f'"{cut(one_line(name), _LONGEST_SHOWN)}"'


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its values are nested too deeply"
    return _lowered(cut(one_line(str(error)), 3 * _LONGEST_SHOWN)).rstrip(".")


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
