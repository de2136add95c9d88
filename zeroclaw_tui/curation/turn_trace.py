"""ZeroClaw's trace: where its files are, their lines from the end, and what a line says of a turn.

Read in the sources of ZeroClaw 0.8.0 to 0.8.4. A line is a JSON object with `message`, `@timestamp`, `trace_id`,
`zeroclaw` and `attributes`. Lines of ZeroClaw up to 0.7.5 have another shape and hold no text of a request.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from zeroclaw_tui.config.locations import read_toml
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.files.disk import names_in
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import Unreadable, UsageError
from zeroclaw_tui.scoring.profiles import parse_version

DEFAULT_PATH = "state/runtime-trace.jsonl"
"""Where the trace is, in the workspace or data directory."""
MAX_LINE_LENGTH = 32_000_000
"""Bytes: a longer line counts as broken. One that holds a whole request has about 100 kB."""
BLOCK_SIZE = 1 << 20
OLD_TRACE = "Recorded by ZeroClaw 0.7.5; turns are read from 0.8.0 on."

_PATHS = ("log_persistence_path", "runtime_trace_path")
_ARCHIVED = re.compile(r"\d{8}-\d{6}(\.\d+)?", re.ASCII)
_WANTED = (b"llm_request", b"inbound message", b"memory_recall")
_OPEN = "[Memory context]\n"
_CLOSE = "[/Memory context]\n\n"
_BLOCK_IN_USER_MESSAGE = (0, 8, 3)
"""From here on every block is in front of the last user message."""
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^\]\n]{1,40}\] ", re.ASCII)
_DATE = re.compile(r"\[CURRENT DATE & TIME: [^\]\n]{1,60}\]\n\n", re.ASCII)
_LABEL = re.compile(r"\[[^\]\n]{1,200}\]\n(?=\[\d{4}-\d\d-\d\d )", re.ASCII)
_PREAMBLE = re.compile(
    r"\[turn-context\] time=\S+ date=\S+ tz=\S+ channel=(?P<channel>[^\n]*?) reply_target=(?P<target>[^\n]*?)"
    r" sender=(?P<sender>[^\n]*?) message_id=(?P<message>[^\n]*?)\. The sender field is "
    r"[^\n]*so the message reaches the user\.\n\n(?:Your addressable handle [^\n]*on this channel\.\n\n)?\n\n"
)
_RECALLED = re.compile(r"^- \[[^\]\n]*\] (.+?): ", re.MULTILINE)
_SECRET_NAMES = "token|api[_-]?key|password|secret|user[_-]?key|bearer|credential"
_SECRET_VALUE = r"""["']?\s*[:=]\s*(?:"([^"]{8,})"|'([^']{8,})'|([a-zA-Z0-9_\-\./+=]{8,}))"""
_SECRETS_082 = re.compile(rf"({_SECRET_NAMES}){_SECRET_VALUE}", re.IGNORECASE)
_SECRETS = re.compile(rf"(authorization|{_SECRET_NAMES}|set[_-]?cookie|cookie){_SECRET_VALUE}", re.IGNORECASE)
MASKED = "*[REDACTED]"
_VISIBLE_OF_SECRET = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the model. `iteration` counts from 1 within a turn; `sent` is as that of a turn.

    `asked` is the last user message without what ZeroClaw puts before it, None where the line does not hold it.
    """

    trace_id: str
    iteration: int
    at: datetime
    version: str | None
    agent: str | None
    session: str | None
    channel: str | None
    sender: str | None
    message_id: str | None
    asked: str | None = None
    sent: str | None = None
    why_not_sent: str = ""
    reply_target: str | None = None
    is_embedded: bool = False
    """Whether the message is stamped as the embedded agent (library, ACP) stamps it."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message that came in by a channel."""

    at: datetime
    sender: str | None
    message_id: str | None
    reply_target: str | None
    thread: str | None
    content: str


@dataclass(frozen=True, slots=True)
class ToolRecall:
    """A call of the agent's tool memory_recall, and the keys that came back."""

    at: datetime
    agent: str | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OldCall:
    """A request that ZeroClaw up to 0.7.5 recorded, without its text."""

    at: datetime


Event = Call | InboundMessage | ToolRecall | OldCall


class BrokenLine(ValueError):
    """A line that is no JSON object."""


def trace_files(config: MemoryConfig) -> list[Path]:
    """The existing files, the newest lines last: archives by the time in their names, then the trace itself.

    Raises BrokenConfig and Unreadable.
    """
    found: dict[Path, None] = {}
    for active in _active_files(config):
        prefix, extension = f"{active.stem}.", active.suffix
        for name in names_in(active.parent):
            core = name.removeprefix(prefix).removesuffix(extension)
            if name.startswith(prefix) and name.endswith(extension) and _ARCHIVED.fullmatch(core):
                found[active.parent / name] = None
        found[active] = None
    return [path for path in found if path.is_file()]


def _active_files(config: MemoryConfig) -> list[Path]:
    """The default path of the trace and the one that this config names; they may not exist."""
    root, table = _trace_root(config), observability(config)
    named = [table[key] for key in _PATHS if isinstance(table.get(key), str)]
    paths = [root / Path(text.strip()).expanduser() for text in named if text.strip()]
    return list(dict.fromkeys([root / DEFAULT_PATH, *paths]))


def _trace_root(config: MemoryConfig) -> Path:
    """The workspace or data directory; for a database that was opened by itself, the parent of its directory."""
    if config.location is None and config.install.layout != "lone":
        return config.install.root
    database = config.database
    return database.parent.parent if database.parent.name == "memory" else database.parent


def observability(config: MemoryConfig) -> Mapping[str, Any]:
    """The keys under [observability] as written, none where there is no config. Raises BrokenConfig."""
    file = config.install.config_file if config.location is None else None
    table = ((read_toml(file) or {}) if file is not None else {}).get("observability")
    return table if isinstance(table, dict) else {}


@dataclass(frozen=True, slots=True)
class Line:
    """A whole line without its end, None for one that is too long; `end` is where the next begins, in bytes."""

    raw: bytes | None
    end: int


def lines_from_end(path: Path, is_stopped: Callable[[], bool]) -> Iterator[Line]:
    """The whole lines of a file from the last to the first, without a last line that has no end yet. Blocks.

    Raises Unreadable.
    """
    with _opened(path) as file:
        position = os.fstat(file.fileno()).st_size
        end, pieces, length, is_torn = 0, list[bytes](), 0, True
        while position > 0 and not is_stopped():
            start = max(0, position - BLOCK_SIZE)
            file.seek(start)
            block = file.read(position - start)
            parts = block.split(b"\n")
            at = start + len(block)
            for part in reversed(parts[1:]):
                if is_torn:
                    is_torn = False
                else:
                    yield Line(_joined(part, pieces, length), end)
                pieces, length = [], 0
                at -= len(part)
                end = at
                at -= 1
            if not is_torn:
                length += len(parts[0])
                pieces = [*pieces, parts[0]] if length <= MAX_LINE_LENGTH else []
            position = start
        if not is_torn and not is_stopped():
            yield Line(_joined(b"", pieces, length), end)


def _joined(first: bytes, pieces: list[bytes], length: int) -> bytes | None:
    if length + len(first) > MAX_LINE_LENGTH:
        return None
    return b"".join([first, *reversed(pieces)])


def lines_from(path: Path, position: int, is_stopped: Callable[[], bool]) -> Iterator[Line]:
    """The whole lines from a position on, in their order, without a last line that has no end yet. Blocks.

    Raises Unreadable.
    """
    with _opened(path) as file:
        file.seek(position)
        while not is_stopped() and (raw := file.readline(MAX_LINE_LENGTH)):
            position += len(raw)
            is_long = False
            while not raw.endswith(b"\n"):
                if not (raw := file.readline(MAX_LINE_LENGTH)):
                    return
                position, is_long = position + len(raw), True
            yield Line(None if is_long else raw[:-1], position)


def _opened(path: Path) -> BinaryIO:
    try:
        # A named pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(f"{path} is not a regular file.", hint="ZeroClaw writes its trace into a file.")
        return path.open("rb")
    except OSError as error:
        raise Unreadable(
            f"{path} cannot be read: {error.strerror}.", hint="Read it as the user who runs ZeroClaw."
        ) from error


def event_of(line: Line) -> Event | None:
    """What a line says of a turn, None where that is nothing. Raises BrokenLine."""
    if line.raw is None:
        raise BrokenLine
    raw = line.raw.strip()
    if not raw:
        return None
    if not (raw.startswith(b"{") and raw.endswith(b"}")):
        raise BrokenLine
    if not any(word in raw for word in _WANTED):
        return None
    try:
        found = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise BrokenLine from None
    if not isinstance(found, dict):
        raise BrokenLine
    return _event(found)


def moment_of(text: Any) -> datetime | None:
    """An RFC 3339 moment in UTC; None for what is none."""
    return moment(text) if isinstance(text, str) else None


def as_rfc3339(at: datetime) -> str:
    """A moment in UTC with milliseconds, as the trace writes it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(table: Mapping[str, Any], name: str) -> str | None:
    """The text of a key, None where it holds none."""
    value = table.get(name)
    return value if isinstance(value, str) and value else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _event(found: Mapping[str, Any]) -> Event | None:
    is_old = "event_type" in found
    at = moment_of(found.get("timestamp" if is_old else "@timestamp"))
    if at is None:
        raise BrokenLine
    # ZeroClaw >= 0.8.0 converts older lines at its first start; their kind becomes the action.
    if "llm_request" in (found.get("event_type"), _table(found.get("event")).get("action")):
        return OldCall(at)
    attributes, zeroclaw, message = _table(found.get("attributes")), _table(found.get("zeroclaw")), found.get("message")
    if message == "channel inbound message":
        sender, message_id, target, thread = (
            _text(attributes, name) for name in ("sender", "message_id", "reply_target", "thread_ts")
        )
        return InboundMessage(at, sender, message_id, target, thread, _text(attributes, "content") or "")
    if message == "tool result: memory_recall":
        return ToolRecall(at, _text(zeroclaw, "agent_alias"), _recalled_keys(attributes.get("output")))
    trace_id = _text(found, "trace_id") or _text(attributes, "trace_id")
    if message == "llm_request" and trace_id is not None:
        return _call(found, attributes, zeroclaw, trace_id, at)
    return None


def _recalled_keys(output: Any) -> tuple[str, ...]:
    """The keys in the output of the tool memory_recall: `- [category] key: content [NN%]`, a line each."""
    if not isinstance(output, str) or not output.startswith("Found "):
        return ()
    return tuple(_RECALLED.findall(output))


def _call(
    found: Mapping[str, Any], attributes: Mapping[str, Any], zeroclaw: Mapping[str, Any], trace_id: str, at: datetime
) -> Call:
    iteration = attributes.get("iteration")
    call = Call(
        trace_id,
        iteration if isinstance(iteration, int) and not isinstance(iteration, bool) and iteration > 0 else 1,
        at,
        version=_text(_table(found.get("service")), "version"),
        agent=_text(zeroclaw, "agent_alias"),
        session=_text(zeroclaw, "session_key"),
        channel=_text(zeroclaw, "channel"),
        sender=_text(attributes, "sender"),
        message_id=_text(attributes, "message_id"),
    )
    payload = attributes.get("request_messages")
    if not isinstance(payload, str):
        return replace(call, why_not_sent=_why_no_payload(call.version))
    if attributes.get("request_messages_truncated") is True:
        why = 'The request was cut in the trace: with log_llm_request_payload = "full" it is whole.'
        return replace(call, why_not_sent=why)
    return _with_request(call, payload)


def _why_no_payload(version: str | None) -> str:
    if version is not None and _number(version) < (0, 8, 2):
        return f"ZeroClaw {version} does not record what it sends: 0.8.2 and later can."
    return 'The trace holds no request: log_llm_request_payload = "full" records it.'


def _number(version: str | None) -> tuple[int, int, int]:
    try:
        return parse_version(version or "")
    except UsageError:
        return (0, 0, 0)


def _with_request(call: Call, payload: str) -> Call:
    """The call with what its request says: the block, and the message without what stands before it."""
    try:
        messages = json.loads(payload)
    except (ValueError, RecursionError):
        return replace(call, why_not_sent="The request in the trace is not complete JSON.")
    if not isinstance(messages, list):
        return replace(call, why_not_sent="The request in the trace is not a list of messages.")
    texts = [(one.get("role"), one.get("content")) for one in messages if isinstance(one, dict)]
    user = next((text for role, text in reversed(texts) if role == "user" and isinstance(text, str)), None)
    if user is None:
        return replace(call, why_not_sent="The request in the trace has no message of a user.")
    date = _DATE.match(user)
    sent, rest = "", user[date.end() if date is not None else 0 :]
    if rest.startswith(_OPEN):
        block, close, rest = rest.partition(_CLOSE)
        if not close:
            return replace(call, why_not_sent="The block in the trace has no end.")
        sent = block + close
        if date is not None:
            rest = rest.removeprefix("\n\n")
    elif call.version is None or _number(call.version) < _BLOCK_IN_USER_MESSAGE:
        system = next((text for role, text in texts if role == "system" and isinstance(text, str)), "")
        sent = _block_at_end(system)
    if date is None and (date := _DATE.match(rest)) is not None:
        rest = rest[date.end() :]
    if date is not None:
        return replace(call, asked=rest, sent=sent, is_embedded=True)
    preamble = _PREAMBLE.match(rest)
    if preamble is not None:
        rest = rest[preamble.end() :]
        call = replace(
            call,
            reply_target=preamble["target"],
            sender=call.sender or preamble["sender"],
            message_id=call.message_id or preamble["message"],
        )
    for before in (_LABEL, _STAMP):
        if (found := before.match(rest)) is not None:
            rest = rest[found.end() :]
    return replace(call, asked=rest, sent=sent)


def _block_at_end(system: str) -> str:
    """The blocks that a system prompt ends with: in a group there may be two, joined by a line end."""
    if not system.endswith(_CLOSE):
        return ""
    start = system.rfind(f"\n\n{_OPEN}")
    if start < 0:
        return ""
    before = system[: start + 1]
    if before.endswith(_CLOSE) and (earlier := before.rfind(f"\n\n{_OPEN}")) >= 0:
        start = earlier
    return system[start + 2 :]


def scrubbed(block: str, version: str | None) -> str:
    """A block as it stands in a trace, which masks what looks like a credential.

    ZeroClaw masks the JSON text of the whole request (`scrub_credentials`): a name like token, password or api_key,
    `:` or `=`, and 8 characters or more become 4 characters and `*[REDACTED]`. Quotes and line ends of the block are
    escaped there, so that a value in double quotes stays. The names of headers and cookies came with 0.8.3.
    """
    pattern = _SECRETS_082 if version is not None and _number(version) < (0, 8, 3) else _SECRETS
    masked = pattern.sub(_masked, json.dumps(block, ensure_ascii=False))
    try:
        text = json.loads(masked)
    except ValueError:
        return block
    return text if isinstance(text, str) else block


def _masked(found: re.Match[str]) -> str:
    name, value = found[1], found[2] or found[3] or found[4] or ""
    visible = value[:_VISIBLE_OF_SECRET]
    sign, quote = (": " if ":" in found[0] else "="), '"' if '"' in found[0] else ""
    named = f"{quote}{name}{quote}" if sign == ": " else name
    return f"{named}{sign}{quote}{visible}{MASKED}{quote}"
