"""List and follow the turns that ZeroClaw recorded in its trace, and compare them with a recall made now.

ZeroClaw >= 0.8.0 writes a JSON object per line: `message`, `@timestamp`, `trace_id`, `zeroclaw` and `attributes`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.backends.tables import sanitised
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import prompt_for, recall_limit
from zeroclaw_tui.files.disk import names_in
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.memory.text import counted, first_names
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial, parse_version, profile_for
from zeroclaw_tui.scoring.stages import words

_MASKED = "*[REDACTED]"
"""A trace replaces the rest of a credential with this."""
_DEFAULT_PATH = "state/runtime-trace.jsonl"
_PATH_KEYS = ("log_persistence_path", "runtime_trace_path")
_ARCHIVED = r"\.\d{8}-\d{6}(\.\d+)?"
_WANTED = (b"llm_request", b"inbound message")
_InboundMessages = dict[tuple[str | None, str | None], Mapping[str, Any]]
"""The attributes of channel messages, by sender and message id."""

_DATE = r"\[CURRENT DATE & TIME: [^\]\n]{1,60}\]\n\n"
_USER_MESSAGE = re.compile(
    # The embedded agent writes the date before the block up to 0.8.2, and after it from 0.8.3 on.
    rf"(?P<date>{_DATE})?"
    r"(?P<block>\[Memory context\]\n.*?\[/Memory context\]\n\n)?"
    rf"(?(date)(?:\n\n)?|(?P<later_date>{_DATE})?)"
    r"(?:\[turn-context\] [^\n]*\n\n(?:Your addressable handle [^\n]*\n\n)?\n\n)?"
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^\]\n]{1,40}\] )?"
    r"(?P<text>.*)",
    re.DOTALL | re.ASCII,
)
_BLOCK_START, _BLOCK_END = "\n\n[Memory context]\n", "[/Memory context]\n\n"
_KEY = re.compile(r"^- (.+?): ", re.MULTILINE)
_CREDENTIAL = re.compile(
    r"(authorization|token|api[_-]?key|password|secret|user[_-]?key|bearer|credential|set[_-]?cookie|cookie)"
    r"""["']?\s*[:=]\s*(?:"([^"]{8,})"|'([^']{8,})'|([a-zA-Z0-9_\-\./+=]{8,}))""",
    re.IGNORECASE,
)
_NO_REQUEST = 'The trace has no request: ZeroClaw 0.8.2 and later record it with log_llm_request_payload = "full".'
_CUT = 'The request was cut in the trace: log_llm_request_payload = "full" records all of it.'
_NO_MESSAGE = "The request in the trace has no user message."
_SCHEDULED = ("[cron:", "[heartbeat task")
_POLL_SECONDS = 0.25
"""Seconds between two reads while the files are followed."""
_NO_FIRST_REQUEST = "Its first request is no longer in the trace."
_READ_SINCE = (0, 8, 0)
_TURNS_ON = (
    "No turn is recorded. In [observability] of config.toml, "
    'log_persistence = "rolling", log_persistence_max_entries = 10000 and log_llm_request_payload = "full" turn '
    "recording on (ZeroClaw 0.8.2 and later); then restart ZeroClaw. The trace contains your chats."
)


class Turn(NamedTuple):
    """A message to an agent, with the recall that ZeroClaw made. `id` is that of the trace, `at` RFC 3339 in UTC.

    `sent` is the literal block, credentials masked: "" if there was none, None if it is unknown, for the reason in
    `why_not_sent`.
    """

    id: str
    at: str
    version: str | None
    agent: str | None
    session: str | None
    channel: str | None
    sender: str | None
    query: str = ""
    sent: str | None = None
    why_not_sent: str = ""
    scopes: tuple[str | None, ...] | None = None
    """The session scopes of its recall in order; None if they are not recorded."""
    is_group: bool = False
    rule: Rule = "cli"

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.at)


def trace_files(config: MemoryConfig) -> list[Path]:
    """List the files with the newest lines last: archives by time, then the trace. Raises BrokenConfig, Unreadable."""
    root, file = config.install.root, config.install.config_file if config.location is None else None
    if config.location is not None or config.install.layout == "lone":
        # A database opened by its path is in the folder "memory" of a workspace, or else in its own folder.
        folder = config.database.parent
        root = folder.parent if folder.name == "memory" else folder
    document = None if file is None else read_toml(file)
    table = _table((document or {}).get("observability"))
    named = [path for path in (_text(table, key) for key in _PATH_KEYS) if path]
    found: list[Path] = []
    for active in (root / _DEFAULT_PATH, *(root / Path(path).expanduser() for path in named)):
        archived = re.compile(f"{re.escape(active.stem)}{_ARCHIVED}{re.escape(active.suffix)}", re.ASCII)
        found += [active.parent / name for name in names_in(active.parent) if archived.fullmatch(name)] + [active]
    return [path for path in dict.fromkeys(found) if path.is_file()]


def _read_turn(line: bytes, inbound: _InboundMessages) -> Turn | None:
    """Parse a turn; None for other lines. A channel message is added to `inbound`, and completes the turn it starts.

    Raises ValueError or RecursionError for a line that is not a JSON object of ZeroClaw.
    """
    line = line.strip()
    if line and not (line.startswith(b"{") and line.endswith(b"}")):
        raise ValueError("not an object")
    if not any(word in line for word in _WANTED):
        # Most lines of a trace are others, and parsing them would be slow.
        return None
    record = json.loads(line)
    attributes, zeroclaw = _table(record.get("attributes")), _table(record.get("zeroclaw"))
    sender, message_id = _text(attributes, "sender"), _text(attributes, "message_id")
    if record.get("message") == "channel inbound message" and message_id is not None:
        inbound[sender, message_id] = attributes
    trace_id = _text(record, "trace_id") or _text(attributes, "trace_id")
    if record.get("message") != "llm_request" or trace_id is None:
        return None
    time = moment(_text(record, "@timestamp"))
    if time is None:
        raise ValueError("no time")
    session = _text(zeroclaw, "session_key")
    turn = Turn(
        id=trace_id,
        at=time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        version=_text(_table(record.get("service")), "version"),
        agent=_text(zeroclaw, "agent_alias"),
        session=session,
        channel=_text(zeroclaw, "channel"),
        sender=sender,
        scopes=None if session is None else (session,),
        rule="channel" if message_id is not None else "library" if session is not None else "cli",
    )
    turn = _with_request(turn, attributes)
    if isinstance(iteration := attributes.get("iteration"), int) and iteration > 1:
        # Only the first request of a turn has its message and block.
        turn = turn._replace(sent=None, why_not_sent=_NO_FIRST_REQUEST)
    message = inbound.get((sender, message_id))
    return turn if message is None else _with_inbound(turn, message)


def _with_request(turn: Turn, attributes: Mapping[str, Any]) -> Turn:
    """Add the user's message and the memory block of its request to a turn, or why they are unknown."""
    payload = attributes.get("request_messages")
    if not isinstance(payload, str):
        return turn._replace(why_not_sent=_NO_REQUEST)
    if attributes.get("request_messages_truncated") is True:
        return turn._replace(why_not_sent=_CUT)
    texts: dict[str, list[str]] = {"system": [], "user": []}
    with suppress(ValueError, RecursionError):
        messages = json.loads(payload)
        for message in map(_table, messages if isinstance(messages, list) else ()):
            texts.setdefault(str(message.get("role")), []).append(_text(message, "content") or "")
    found = _USER_MESSAGE.fullmatch(texts["user"][-1]) if texts["user"] else None
    if found is None:
        return turn._replace(why_not_sent=_NO_MESSAGE)
    query, block, rule = found["text"], found["block"], turn.rule
    if block is None:
        # ZeroClaw up to 0.8.2 appends the block of a channel to the system prompt; a group may have two.
        system = "".join(texts["system"][:1])
        start = system.find(_BLOCK_START)
        block = system[start + 2 :] if start >= 0 and system.endswith(_BLOCK_END) else ""
    if query.lower().startswith(_SCHEDULED):
        rule = "cron"
    elif rule == "cli" and (found["date"] or found["later_date"]):
        # Only the embedded agent (library, ACP) puts such a date before the message.
        rule = "library"
    return turn._replace(query=query, sent=block, rule=rule)


def _with_inbound(turn: Turn, inbound: Mapping[str, Any]) -> Turn:
    """Add the text, session and scopes from the attributes of the incoming message to the turn of a channel."""
    turn = turn._replace(query=_text(inbound, "content") or "")
    target, sender = _text(inbound, "reply_target"), turn.sender
    if target is None or sender is None:
        return turn
    thread = None if (turn.channel or "").partition(".")[0] == "matrix" else _text(inbound, "thread_ts")
    history = sanitised("_".join(filter(None, (turn.channel, target, thread, sender))))
    is_group = "@g.us" in target or target.startswith("group:")
    # A direct chat recalls first by its history, then by its sender; a group the other way round.
    scopes = (sanitised(sender), history) if is_group else (history, sanitised(sender))
    return turn._replace(session=history, scopes=scopes, is_group=is_group)


def keys_of_block(block: str) -> list[str]:
    """The keys in a block, one per line; a key that contains a colon and a blank is cut there."""
    return _KEY.findall(block)


def mask_like_trace(text: str) -> str:
    """Mask credentials in a text as ZeroClaw masks them in a trace.

    ZeroClaw's `scrub_credentials` searches the JSON text of the whole request, in which double quotes are escaped. It
    cuts a value of 8 characters or more after a name such as token or password to 4, and adds `*[REDACTED]`.
    """
    masked = _CREDENTIAL.sub(_mask, json.dumps(text, ensure_ascii=False))
    try:
        return str(json.loads(masked))
    except ValueError:
        # The value was cut inside an escaped character.
        return text


def _mask(found: re.Match[str]) -> str:
    value = found[2] or found[3] or found[4]
    quote = '"' if '"' in found[0] else ""
    name = f"{quote}{found[1]}{quote}: " if ":" in found[0] else f"{found[1]}="
    return f"{name}{quote}{value[:4]}{_MASKED}{quote}"


def _text(table: Mapping[str, Any], name: str) -> str | None:
    """The text of a key; None if it is missing, empty or not text."""
    value = table.get(name)
    return value if isinstance(value, str) and value else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class TurnLog(NamedTuple):
    """Recorded turns, the oldest first. `broken_lines` is the number of lines that could not be parsed."""

    turns: tuple[Turn, ...] = ()
    broken_lines: int = 0
    why_nothing: str | None = None
    """Why no turn is recorded, in a sentence; None if there is one."""
    problems: tuple[str, ...] = ()
    """Sentences about files that could not be read."""


async def read_turns(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> TurnLog:
    """Read the turns since a given time, of an agent, the newest `most`. Raises BrokenConfig."""
    async with aclosing(follow(library, since=since, agent=agent, most=most)) as logs:
        return await anext(logs)


async def follow(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> AsyncGenerator[TurnLog]:
    """Yield the recorded turns, then each new turn once, within a second of its line, until the caller stops."""
    reader = _Reader(library.config)

    async def read() -> TurnLog:
        log = await asyncio.to_thread(reader.read)
        turns = [turn for turn in log.turns if agent in (None, turn.agent) and (since is None or turn.moment >= since)]
        return log._replace(turns=tuple(turns if most is None else turns[max(0, len(turns) - most) :]))

    log = await read()
    if not log.turns:
        version = library.profile.profile.version
        too_old = f"No turn is recorded: those of ZeroClaw {version} cannot be read, only of 0.8.0 and later."
        log = log._replace(why_nothing=too_old if parse_version(version) < _READ_SINCE else _TURNS_ON)
    yield log
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        log = await read()
        if log.turns or log.broken_lines or log.problems:
            yield log


class _Reader:
    """Reads the files of an install, and later only their new lines."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self._ends: dict[tuple[int, int], int] = {}
        """The read position of each file, by device and inode, because ZeroClaw renames and shortens traces."""
        self._read_lines: set[int] = set()
        """Hashes of the lines read, because a shortened trace begins with lines that were already read."""
        self._known: set[str] = set()
        self._inbound: _InboundMessages = {}

    def read(self) -> TurnLog:
        """Read the recorded turns; the next call reads only new ones. Blocks."""
        turns, broken_lines, problems = list[Turn](), 0, list[str]()
        for path in trace_files(self._config):
            try:
                for line in self._new_lines(path):
                    try:
                        turn = _read_turn(line, self._inbound)
                    except (ValueError, RecursionError):
                        broken_lines += 1
                        continue
                    if turn is not None and turn.id not in self._known:
                        self._known.add(turn.id)
                        turns.append(turn)
            except OSError as error:
                problems.append(f"{path} cannot be read: {error.strerror}. Read it as the user who runs ZeroClaw.")
        return TurnLog(tuple(sorted(turns, key=lambda turn: turn.at)), broken_lines, problems=tuple(problems))

    def _new_lines(self, path: Path) -> Iterator[bytes]:
        """Yield the lines that were added to a file since the last read."""
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            name = status.st_dev, status.st_ino
            start = self._ends.get(name, 0)
            file.seek(start if start <= status.st_size else 0)
            for line in file:
                # ZeroClaw is still writing a line without a newline.
                if line.endswith(b"\n"):
                    self._ends[name] = file.tell()
                    if hash(line) not in self._read_lines:
                        self._read_lines.add(hash(line))
                        yield line


# A turn compared with a recall made now

_MAX_CHANGES = 10_000
_TRACE_PRECISION = timedelta(milliseconds=1)
"""ZeroClaw saves a message, and immediately afterwards traces its request, in whole milliseconds."""


class ComparedTurn(NamedTuple):
    """A turn and the `predicted` block of a recall made now, masked like the trace; None if no recall could be made.

    `equal` compares the keys. It is None if a block is unknown, or a memory has changed since (`changed_since`).
    """

    turn: Turn
    trial: Trial
    predicted: str | None = None
    equal: bool | None = None
    why_not_equal: str | None = None
    changed_since: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        of_turn = {name: getattr(self.turn, name) for name in ("at", "agent", "session", "channel", "query", "sent")}
        compared = {name: getattr(self, name) for name in ("predicted", "equal", "why_not_equal")}
        return {"turn": self.turn.id, **of_turn, **compared, "source": "trace"}

    def sentence(self) -> str:
        """Say whether the sent block is the predicted one, and which memories it has."""
        if self.equal:
            sent = f"Sent as predicted: {_memories(self.turn.sent or '')}."
            return sent if self.turn.sent else "Nothing was sent before it, as predicted."
        if self.equal is False:
            return f"Not as predicted: {self.why_not_equal}"
        if self.predicted is None:
            return f"Not predicted: {self.why_not_equal}"
        if self.turn.sent is None:
            return f"Predicted: {_memories(self.predicted)}. {self.why_not_equal or ''}".strip()
        changed = f" ({first_names(self.changed_since, longest=40)})" if self.changed_since else ""
        return f"Not comparable: {self.why_not_equal}{changed}"


def _memories(block: str) -> str:
    """Describe a block: the number of its memories, and the first keys."""
    keys = keys_of_block(block)
    return f"{counted(len(keys))} ({first_names(keys, longest=40)})" if keys else "nothing"


async def compare(library: Library, turn: Turn) -> ComparedTurn:
    """Compare the turn with a recall made now. Raises InspectorError."""
    trial = trial_of_turn(library, turn)
    if turn.sent is None and not turn.query.strip():
        # A recall for a blank message would list the newest memories, not those for the unrecorded message.
        return ComparedTurn(turn, trial, why_not_equal=turn.why_not_sent or "The message is not recorded.")
    prompt = await prompt_for(library, trial)
    if prompt.result.lacks_vector_because is not None:
        return ComparedTurn(turn, trial, why_not_equal=prompt.result.lacks_vector_because)
    predicted = mask_like_trace(prompt.text)
    if prompt.result.not_read_because is not None or turn.sent is None:
        return ComparedTurn(turn, trial, predicted, why_not_equal=prompt.result.not_read_because or turn.why_not_sent)
    sent, recalled = keys_of_block(turn.sent), keys_of_block(predicted)
    if sorted(sent) == sorted(recalled):
        return ComparedTurn(turn, trial, predicted, equal=True)
    if changed := await _changed_since(library, turn, {*sent, *recalled}):
        return ComparedTurn(turn, trial, predicted, why_not_equal="changed since", changed_since=changed)
    only_sent, only_predicted = len({*sent} - {*recalled}), len({*recalled} - {*sent})
    difference = f"{only_sent:,} sent and not predicted, {only_predicted:,} predicted and not sent."
    return ComparedTurn(turn, trial, predicted, equal=False, why_not_equal=difference)


def trial_of_turn(library: Library, turn: Turn) -> Trial:
    """The recall of a turn: at its time, by its version if known, for its agent and its session scopes, without the
    memories that were created after it."""
    config, profile = library.config, _profile_of(library, turn)
    agents: tuple[str, ...] | None = None
    if turn.agent is not None and profile.agent_scope != "none":
        agents = config.readable_by((turn.agent,))
    limit = recall_limit(library, profile, turn.rule, agents)
    first, *further = turn.scopes or (None,)
    request = RecallRequest(
        turn.query,
        limit,
        session_id=first,
        extra_sessions=tuple(filter(None, further)),
        agents=agents,
        rule=turn.rule,
        as_of=turn.at,
        turn_limit=limit,
        created_until=(turn.moment + _TRACE_PRECISION).isoformat(),
    )
    return Trial(request, profile, library.settings)


def _profile_of(library: Library, turn: Turn) -> ScoringProfile:
    profile = library.profile.profile
    # Another program may have written an invalid version.
    with suppress(UsageError):
        recorded = profile_for(turn.version or profile.version)
        profile = recorded if recorded.version != profile.version else profile
    # Up to 0.8.2 a direct chat joins its two scopes, as all chats do later; only a group has a block for each.
    if turn.rule == "channel" and not turn.is_group and len(turn.scopes or ()) > 1:
        return profile_for(profile.newer or profile.version, joins_scopes=True)
    return profile


async def _changed_since(library: Library, turn: Turn, keys: Collection[str]) -> tuple[str, ...]:
    """Find which of these memories, and of deleted memories with a word of the message, existed at the turn and were
    edited or deleted since."""

    def is_later(text: str | None) -> bool:
        time = moment(text)
        return time is not None and time > turn.moment + _TRACE_PRECISION

    changed: dict[str, None] = {}
    # A key masked in the trace cannot be looked up.
    for key in sorted(key for key in keys if _MASKED not in key):
        existed = [entry for entry in await entries_with_key(library.memory, key) if not is_later(entry.timestamp)]
        if not existed or any(entry.superseded_by or is_later(entry.updated_at) for entry in existed):
            changed[key] = None
    query_words = {word.casefold() for word in words(turn.query)}
    rows, _ = await library.trash.listing(limit=_MAX_CHANGES)
    for row in rows:
        entry = row.row.entry()
        text = f"{entry.key} {entry.content}".casefold()
        was_deleted = is_later(row.at) and not is_later(entry.timestamp)
        if was_deleted and any(word in text for word in query_words):
            changed[entry.key] = None
    return tuple(changed)
