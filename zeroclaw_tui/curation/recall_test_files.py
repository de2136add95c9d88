"""TOML files of recall tests: which keys should be in the prompt for a message, and which must not."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.files.disk import replace_file, translate_os_errors
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.memory.text import cut, is_unicode, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

TESTS = "tests.toml"
STDIN = "-"
MOST_TOML_BYTES = 8 * 1024**2
_NAMES = ("query", "expected", "rejected", "name", "session", "agent", "channel", "note")
_TEXTS = ("query", "name", "session", "agent", "channel", "note")
_MARK = b"\xef\xbb\xbf"
_LONGEST_SHOWN = 60
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_TABLE = '[[query]]\nquery = "what does she eat?"\nexpected = ["food_allergy"]'
_EXAMPLE = (
    "A test looks like this. Optional: rejected (keys that must not be in the prompt; expected may then be left out), "
    f"name, session, agent, channel and note.\n{_TABLE}"
)


@dataclass(frozen=True, slots=True)
class TestQuery:
    """A message with the keys that should be in the prompt for it and those that must not; at least one of either.

    `name` is its name in reports. `session_id`, `agent` (an alias) and `channel` are those of the turn; where they are
    None, those of the run count. `note` is a remark for people.
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
        """The rule by which a turn of its channel builds the prompt block; None where it names no channel."""
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
"""The rules of turns that do not come from a chat channel, by the name that a test or a trace has for them."""


def tests_file(library: Library) -> Path:
    """The path of the recall tests, in the directory of this program's settings. The file may not exist."""
    return library.config.install.own_dir / TESTS


def append_queries(file: Path, *queries: TestQuery) -> None:
    """Add tests at the end of a TOML file without changing a byte of what it has; create it where it is missing.

    Raises UsageError where the file is not one of tests, Unreadable where it cannot be written. Blocks.
    """
    target = Path(os.path.realpath(file.expanduser()))
    with translate_os_errors(target):
        present = target.read_bytes() if target.exists() else b""
    line_end = b"\r\n" if b"\r\n" in present else b"\n"
    ended = present if not present or present.endswith(b"\n") else present + line_end
    added = "\n".join(map(_as_table, queries)).encode().replace(b"\n", line_end)
    whole = ended + (line_end if ended else b"") + added
    if len(whole) > MOST_TOML_BYTES:
        raise UsageError(
            f"Nothing was written: {one_line(str(target))} would become larger than {MOST_TOML_BYTES // 1024**2} MB.",
            hint="Delete the tests in it that you no longer need.",
        )
    # The file may be something else, and a list of inline tables takes no [[query]] after it.
    _queries_of(whole, target, one_line(str(target)))
    with translate_os_errors(target):
        replace_file(target, whole)


def _checked_fields(query: TestQuery) -> dict[str, str | list[str]]:
    """The fields of a test in a file. Raises UsageError for a test that could not be read back."""
    values: dict[str, str | list[str] | None] = {
        "name": query.name if query.name not in ("", query.query) else None,
        "query": query.query,
        "expected": list(query.expected) or None,
        "rejected": list(query.rejected) or None,
        "session": query.session_id,
        "agent": query.agent,
        "channel": query.channel,
        "note": query.note or None,
    }
    fields = {name: value for name, value in values.items() if value is not None}
    fault = _fault(fields)
    if fault:
        raise UsageError(f"Invalid test: {fault}.", hint=_EXAMPLE)
    return fields


def _as_table(query: TestQuery) -> str:
    lines = [f"{name} = {_toml_value(value)}" for name, value in _checked_fields(query).items()]
    return "\n".join(["[[query]]", *lines, ""])


def _toml_value(value: str | list[str]) -> str:
    # TOML's basic strings are those of JSON, except for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_queries(file: Path) -> tuple[TestQuery, ...]:
    """The tests of a TOML file ([[query]] tables), `-` for stdin. Raises UsageError in one sentence with the place."""
    shown = "stdin" if str(file) == STDIN else one_line(str(file))
    try:
        data = _first_bytes(file)
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror or error}.", hint="FILE is a TOML file of tests; - reads stdin."
        ) from error
    queries = _queries_of(data, file, shown)
    if not queries:
        raise UsageError(f"{shown} has no tests.", hint=_EXAMPLE)
    return queries


def _first_bytes(file: Path) -> bytes:
    """The whole file, or one byte more than the largest that is read."""
    if str(file) == STDIN:
        return sys.stdin.buffer.read(MOST_TOML_BYTES + 1)
    with file.expanduser().open("rb") as stream:
        return stream.read(MOST_TOML_BYTES + 1)


def _queries_of(data: bytes, file: Path, shown: str) -> tuple[TestQuery, ...]:
    if len(data) > MOST_TOML_BYTES:
        raise UsageError(
            f"{shown} is larger than {MOST_TOML_BYTES // 1024**2} MB.", hint="Split it into several files."
        )
    data = data.removeprefix(_MARK)
    if file.suffix.lower() in _JSON_SUFFIXES or data.lstrip().startswith(b"{"):
        raise UsageError(
            f"{shown} is not TOML: recall tests in JSON or JSONL are no longer read.",
            hint="Write the tests as TOML. See `zeroclaw memory help queries`.",
        )
    if not data.strip():
        raise UsageError(f"{shown} is empty.", hint=_EXAMPLE)
    tables = _toml(data, shown).get("query", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise UsageError(f"query in {shown} is not a list of tables.", hint=f"Write each test as [[query]].\n{_TABLE}")
    return tuple(_query(table, f"[[query]] {number:,} of {shown}") for number, table in enumerate(tables, 1))


def _toml(data: bytes, shown: str) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"Line {line:,} of {shown} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown} is not TOML: {_reason(error)}.", hint=_EXAMPLE) from error
    for name in document:
        if name != "query":
            raise UsageError(f"{shown} has an unknown entry {_quoted(name)}.", hint=_EXAMPLE)
    return document


def _query(table: Mapping[str, Any], place: str) -> TestQuery:
    fault = _fault(table)
    if fault:
        raise UsageError(f"{place}: {fault}.", hint=_EXAMPLE)
    return TestQuery(
        query=table["query"],
        expected=_keys(table.get("expected")),
        name=table.get("name") or table["query"],
        session_id=table.get("session"),
        rejected=_keys(table.get("rejected")),
        agent=table.get("agent") or None,
        channel=table.get("channel") or None,
        note=table.get("note") or "",
    )


def _keys(value: str | list[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys([value] if isinstance(value, str) else value or ()))


def _fault(table: Mapping[str, Any]) -> str | None:
    for name in table:
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 1)
            return f"unknown field {_quoted(name)}" + (f' (did you mean "{near[0]}"?)' if near else "")
    if "query" not in table:
        return '"query" is missing'
    if table.get("expected") is None and table.get("rejected") is None:
        return '"expected" is missing'
    for name in _TEXTS:
        value = table.get(name)
        if not isinstance(value, str) and (value is not None or name == "query"):
            return f'"{name}" must be a string'
        if isinstance(value, str) and not is_unicode(value):
            return f'"{name}" has a lone surrogate'
    for name in ("expected", "rejected"):
        if fault := _fault_of_keys(name, table.get(name)):
            return fault
    both = set(_keys(table.get("expected"))) & set(_keys(table.get("rejected")))
    return f"{_quoted(min(both))} is both expected and rejected" if both else None


def _fault_of_keys(name: str, value: Any) -> str | None:
    if value is None:
        return None
    keys = [value] if isinstance(value, str) else value
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return f'"{name}" must be a key or a list of keys'
    if not keys:
        return f'"{name}" names no key'
    return None if all(map(is_unicode, keys)) else f'"{name}" has a lone surrogate'


def _quoted(name: str) -> str:
    return f'"{cut(one_line(name), _LONGEST_SHOWN)}"'


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its values are nested too deeply"
    return _lowered(cut(one_line(str(error)), 3 * _LONGEST_SHOWN)).rstrip(".")


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
