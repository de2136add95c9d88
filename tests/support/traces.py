"""Turns as any version of ZeroClaw records them, in an install with a growing trace."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from support.libraries import Library, ProfileChoice
from support.places import Install, MemoryConfig
from support.rules import ScoringSettings, profile_for
from support.stores import Memory
from zeroclaw_tui.embeddings.base import Embedder

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
DATE = "[CURRENT DATE & TIME: 2026-12-01 13:00:00 +01:00]\n\n"
STAMP = "[2026-12-01 13:00:00 +01:00] "
_CREDENTIALS = re.compile(
    r"""(authorization|token|api[_-]?key|password|secret|user[_-]?key|bearer|credential|set[_-]?cookie|cookie)"""
    r"""["']?\s*[:=]\s*(?:"([^"]{8,})"|'([^']{8,})'|([a-zA-Z0-9_\-\./+=]{8,}))""",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sent:
    """One message to an agent and the memory block before it; `target` is the recipient of a channel's reply."""

    query: str
    block: str = ""
    version: str = "0.8.4"
    at: datetime = NOW
    agent: str | None = "default"
    session: str | None = None
    channel: str | None = None
    sender: str | None = None
    target: str | None = None
    payload: str = "full"
    iteration: int = 1
    id: str = ""
    embedded: bool = False

    @property
    def trace_id(self) -> str:
        return self.id or str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.query}{self.at}{self.session}{self.version}"))

    @property
    def is_in_system_prompt(self) -> bool:
        return self.channel is not None and tuple(map(int, self.version.split("."))) < (0, 8, 3)


def masked(text: str) -> str:
    """Mask the text of a request as ZeroClaw's scrub_credentials does."""

    def hide(found: re.Match[str]) -> str:
        value = found[2] or found[3] or found[4]
        sign, quote = (": " if ":" in found[0] else "="), '"' if '"' in found[0] else ""
        name = f"{quote}{found[1]}{quote}" if sign == ": " else found[1]
        return f"{name}{sign}{quote}{value[:4]}*[REDACTED]{quote}"

    return _CREDENTIALS.sub(hide, text)


def moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def call_line(sent: Sent) -> str:
    """Return the trace line of a request to the model."""
    attributes: dict[str, Any] = {"iteration": sent.iteration, "model": "x", "trace_id": sent.trace_id}
    if sent.channel is not None:
        attributes |= {"sender": sent.sender, "message_id": f"m-{sent.trace_id}"}
    if sent.payload != "off":
        text = masked(json.dumps(messages(sent), ensure_ascii=False, sort_keys=True))
        attributes["request_messages"] = text
        if sent.payload == "cut":
            attributes |= {"request_messages": text[: len(text) // 2], "request_messages_truncated": True}
    return _line(sent, "llm_request", "provider", "send", attributes)


def messages(sent: Sent) -> list[dict[str, str]]:
    """Return the messages of the request by the rules of its version."""
    system, user = "You are helpful.", sent.query
    if sent.embedded:
        user = DATE + sent.query
    elif sent.channel is None:
        user = STAMP + sent.query
    elif sent.target is not None and not sent.is_in_system_prompt:
        user = (
            f"[turn-context] time=12:00:00 date=2026-12-01 tz=+01:00 channel={sent.channel.partition('.')[0]} "
            f"reply_target={sent.target} sender={sent.sender} message_id=m-{sent.trace_id}. The sender field is the "
            "platform-specific user ID. When scheduling use delivery so the message reaches the user.\n\n\n\n"
            f"{STAMP}{sent.query}"
        )
    if sent.is_in_system_prompt:
        system += f"\n\n{sent.block}" if sent.block else ""
    else:
        user = sent.block + user
    sentence = [{"role": "system", "content": system}, {"role": "user", "content": "earlier"}]
    sentence += [{"role": "assistant", "content": "yes"}, {"role": "user", "content": user}]
    if sent.iteration > 1:
        sentence += [
            {"role": "assistant", "content": "tool"},
            {"role": "tool", "content": "[Memory context]\n- no: no\n"},
        ]
    return sentence


def inbound_line(sent: Sent) -> str:
    """Return the trace line of a message received by a channel."""
    attributes = {
        "sender": sent.sender,
        "message_id": f"m-{sent.trace_id}",
        "reply_target": sent.target,
        "thread_ts": None,
    }
    return _line(sent, "channel inbound message", "channel", "inbound", attributes | {"content": sent.query})


def _line(sent: Sent, message: str, category: str, action: str, attributes: dict[str, Any]) -> str:
    zeroclaw: dict[str, Any] = {"agent_alias": sent.agent}
    if sent.channel is not None:
        zeroclaw |= {"channel": sent.channel, "channel_type": sent.channel.partition(".")[0]}
    if sent.session is not None:
        zeroclaw["session_key"] = sent.session
    sentence = {
        "@timestamp": moment(sent.at),
        "attributes": attributes,
        "event": {"action": action, "category": category},
        "id": str(uuid.uuid4()),
        "message": message,
        "schema_version": 2,
        "service": {"name": "zeroclaw", "version": sent.version},
        "severity_text": "INFO",
        "trace_id": sent.trace_id,
        "zeroclaw": zeroclaw,
    }
    return json.dumps(sentence, ensure_ascii=False, sort_keys=True)


class RecordingInstall:
    """An install of ZeroClaw >= 0.8 (or, if `old`, of 0.7.5) in which a test records turns."""

    def __init__(self, folder: Path, *, old: bool = False, config: str | None = None) -> None:
        self.folder = folder
        self.root = folder / ("workspace" if old else "data")
        (self.root / "state").mkdir(parents=True, exist_ok=True)
        (self.root / "memory").mkdir(exist_ok=True)
        self.trace = self.root / "state" / "runtime-trace.jsonl"
        self.database = self.root / "memory" / "brain.db"
        if config is not None:
            (folder / "config.toml").write_text(config, encoding="utf-8")
        layout = "workspace" if old else "data"
        install = Install(folder, self.root, self.database, cast(Any, layout), "test", folder / "zeroclaw-tui")
        self.config = MemoryConfig(install, schema=1 if old else 3)

    def library(
        self,
        memory: Memory | None = None,
        *,
        version: str = "0.8.4",
        settings: ScoringSettings | None = None,
        embedder: Embedder | None = None,
        **config: Any,
    ) -> Library:
        """Open a library of the install; a test of recordings alone needs no store."""
        choice = ProfileChoice(profile_for(version), "option")
        known = self.config._replace(**config)
        return Library(known, cast(Memory, memory), choice, settings or ScoringSettings(), embedder)

    def write(self, *lines: str, end: str = "\n") -> None:
        """Append lines to the trace; `end` "" leaves the last one incomplete."""
        with self.trace.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(lines) + end)

    def record(self, sent: Sent) -> None:
        """Record a turn as its version does."""
        if sent.channel is not None and sent.target is not None:
            self.write(inbound_line(replace(sent, at=sent.at - timedelta(milliseconds=200), id=sent.trace_id)))
        self.write(call_line(sent))
