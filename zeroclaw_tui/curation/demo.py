"""A sample workspace: one person's months with an assistant, made anew and alike each time."""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.locations import data_install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import NAME, snapshot_text
from zeroclaw_tui.embeddings.local import local_vector
from zeroclaw_tui.files.database import could_not_be_made
from zeroclaw_tui.memory.change import AGENTS as AGENT_ROWS
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import MemoryEntry

_LAST_RUN = timedelta(hours=31)
_REPORT = {
    "archived_memory_files": 2,
    "archived_session_files": 1,
    "purged_memory_archives": 1,
    "purged_session_archives": 0,
    "pruned_conversation_rows": 0,
    "pruned_daily_rows": 0,
    "pruned_core_rows": 0,
}
_NOTES = {
    1: "Watered the basil and moved it to the shade.",
    3: "Tomás called about Sunday, he brings the bread.",
    9: "Owl recordings from the botanical garden sorted into three folders.",
    10: "The ferry to Cacilhas was late again; take the metro on Fridays.",
    12: "Cleaned the bicycle chain and ordered a new lamp.",
}
_ARCHIVED = {
    20: "Read two chapters about moss.",
    44: "The plumber came, the tap in the kitchen is mended.",
    61: "Baked with the new flour: less water next time.",
}
_SESSIONS = {2: "telegram_12345", 8: "telegram_12345", 11: "telegram_67890"}
_SNAPSHOT_DAYS = 9
_SINCE_FORGOTTEN = {
    "printer": "The printer in the hall wants black ink only.",
    "old_office": "Works on the third floor of the archive, room 312.",
}
_SINCE_CHANGED = {"tomas_baby": "Tomás and Rita expect a child in spring."}


def make_snapshot(data: Path, now: datetime, core: Iterable[MemoryEntry]) -> None:
    """Write the snapshot of some days ago: of what was core then, with two memories that are no more."""
    then = now - timedelta(days=_SNAPSHOT_DAYS)
    entries = [
        replace(entry, content=_SINCE_CHANGED.get(entry.key, entry.content))
        for entry in core
        if datetime.fromisoformat(entry.timestamp[:26] + entry.timestamp[29:]) < then
    ]
    for number, (key, content) in enumerate(_SINCE_FORGOTTEN.items(), 1):
        made = (then - timedelta(days=30 * number)).isoformat(timespec="microseconds")
        entries.append(MemoryEntry(key, key, content, "core", made, made))
    entries.sort(key=lambda entry: entry.updated_at or "", reverse=True)
    (data / NAME).write_text(snapshot_text(entries, then), encoding="utf-8")


def make_files(data: Path, now: datetime) -> None:
    """Write them into the data folder, each as old as its name says; `now` has a time zone."""
    for path, days, text in _files(data, now):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        moment = (now - timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))
    state = data / "state" / "memory_hygiene_state.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    last_run = (now - _LAST_RUN).astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "000+00:00")
    state.write_text(json.dumps({"last_run_at": last_run, "last_report": _REPORT}, indent=2), encoding="utf-8")


def _files(data: Path, now: datetime) -> Iterator[tuple[Path, int, str]]:
    for folder, notes in ((data / "memory", _NOTES), (data / "memory" / "archive", _ARCHIVED)):
        for days, text in notes.items():
            day = f"{now - timedelta(days=days):%Y-%m-%d}"
            yield folder / f"{day}.md", days, f"# Daily Log — {day}\n\n- **note**: {text}\n"
    for days, session in _SESSIONS.items():
        line = json.dumps({"role": "user", "content": "Good morning."})
        yield data / "sessions" / f"{session}_{days}.jsonl", days, f"{line}\n"


DIMENSIONS = 256
AGENTS = ("default", "researcher")
_TEXTS = "demo_memories.jsonl"
_TURNS = "demo_turns.jsonl"
"""Each with the hours since, the message, and the block that went before it."""
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "zeroclaw-tui/demo")
_SEMANTIC = ("preference", "fact", "decision", "entity")

_CONFIG = f"""\
# A sample workspace of zeroclaw-tui. Nothing in it is real, and nothing here is kept.
schema_version = 3

[memory]
backend = "sqlite"
auto_save = true
# Real ZeroClaw knows no embedding provider "local" and takes it for "none". Here it makes vectors on this machine out
# of the words alone, so that hybrid scores can be seen without a network or a key.
embedding_provider = "local"
embedding_model = "local"
embedding_dimensions = {DIMENSIONS}
vector_weight = 0.7
keyword_weight = 0.3
min_relevance_score = 0.4

[agents.default.memory]
backend = "sqlite"

[agents.researcher.memory]
backend = "sqlite"

[agents.researcher.workspace]
read_memory_from = ["default"]

[observability]
log_llm_request_payload = "full"
log_persistence_max_entries = 10000
"""


def make_demo(folder: Path, now: datetime) -> Path:
    """Write the sample workspace into `folder` and return it: a config dir in the layout of ZeroClaw >= 0.8.

    `now` is the moment the memories lead up to, with a time zone. The same `now` gives the same rows, byte for byte.
    The vectors are those of the `local` embedder. Raises FileExistsError where a sample database is already, and
    Unreadable where the disk does not take it.
    """
    database = folder / "data" / "memory" / "brain.db"
    try:
        return _made(folder, database, now)
    except FileExistsError:
        raise
    except OSError as error:
        raise could_not_be_made(database, error) from error


def _made(folder: Path, database: Path, now: datetime) -> Path:
    if database.exists():
        raise FileExistsError(database)
    database.parent.mkdir(parents=True, exist_ok=True)
    config = folder / "config.toml"
    config.write_text(_CONFIG, encoding="utf-8")
    began_at = now - timedelta(days=242)
    os.utime(config, (began_at.timestamp(), began_at.timestamp()))
    began = began_at.astimezone(UTC).isoformat()
    identity = {"provider": "local", "model": "local", "dimensions": str(DIMENSIONS)}
    named = {f"embedding_{name}": value for name, value in identity.items()}
    meta = [Row(name, {"key": name, "value": value}, table="memory_meta") for name, value in named.items()]
    memories = list(_rows(now))
    store = create_memory(MemoryConfig(data_install(folder, "the sample"), backend="sqlite", location=str(database)))
    rows = [*(_agent(alias, began) for alias in AGENTS), *meta, *memories]
    require_database(store).create_from_rows("G4", rows, began)
    make_files(folder / "data", now)
    make_turns(folder / "data", now)
    make_snapshot(folder / "data", now, [row.entry() for row in memories if row.values["category"] == "core"])
    return folder


def make_turns(data: Path, now: datetime) -> None:
    """Write the trace of some turns, each line as ZeroClaw 0.8.4 writes that of a request with its payload."""
    turns = files("zeroclaw_tui.curation").joinpath(_TURNS).read_text(encoding="utf-8").splitlines()
    trace = data / "state" / "runtime-trace.jsonl"
    trace.write_text("".join(f"{_trace_line(json.loads(turn), now)}\n" for turn in turns), encoding="utf-8")


def _trace_line(turn: dict[str, Any], now: datetime) -> str:
    at = (now - timedelta(hours=turn["hours"])).astimezone(UTC)
    user = f"{turn['block']}[{_in_lisbon(at):%Y-%m-%d %H:%M:%S %z}] {turn['query']}"
    sent = [{"content": "You are a helpful assistant.", "role": "system"}, {"content": user, "role": "user"}]
    turn_id = str(uuid.uuid5(_NAMES, f"turn {turn['query']}"))
    line = {
        "@timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "attributes": {
            "iteration": 1,
            "messages_count": len(sent),
            "model": "sample",
            "request_messages": json.dumps(sent, ensure_ascii=False),
            "trace_id": turn_id,
        },
        "event": {"action": "send", "category": "provider"},
        "id": str(uuid.uuid5(_NAMES, f"line {turn['query']}")),
        "message": "llm_request",
        "schema_version": 2,
        "service": {"name": "zeroclaw", "version": "0.8.4"},
        "severity_number": 9,
        "severity_text": "INFO",
        "trace_id": turn_id,
        "zeroclaw": {"agent_alias": AGENTS[0]},
    }
    return json.dumps(line, ensure_ascii=False)


def _agent(alias: str, began: str) -> Row:
    id = _agent_id(alias)  # noqa: A001
    return Row(id, {"id": id, "alias": alias, "created_at": began}, None, alias, AGENT_ROWS)


def _rows(now: datetime) -> Iterator[Row]:
    chance = random.Random(1877)
    lines = files("zeroclaw_tui.curation").joinpath(_TEXTS).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        text = json.loads(line)
        created = _written(now, text["days"], chance)
        updated = _written(now, text["updated_days"], chance) if "updated_days" in text else created
        content = text["content"]
        values: dict[str, Value] = {
            "id": _id("memory", number),
            "key": text["key"].format(id=_id("key", number), date=created[:10]),
            "content": content,
            "category": text["category"],
            "embedding": local_vector(content, DIMENSIONS) if text.get("embedded", True) else None,
            "created_at": created,
            "updated_at": updated,
            "session_id": text.get("session"),
            "namespace": "default",
            "importance": text["importance"],
            "superseded_by": text.get("superseded_by"),
            "kind": _kind(text.get("kind")),
            "pinned": int(text.get("pinned", False)),
        }
        yield Row(str(values["id"]), values, None, text.get("agent", "default"))


def _written(now: datetime, days: float, chance: random.Random) -> str:
    """The time so many days before `now` as ZeroClaw writes it: nine digits of fraction, and the offset of Lisbon.

    The fraction of a day runs over the hours in which people are awake, from 22:00 back to 8:00; on the last day it
    is taken as it is.
    """
    whole_days = int(days)
    if whole_days == 0:
        local = _in_lisbon(now - timedelta(days=days))
    else:
        midnight = _in_lisbon(now - timedelta(days=whole_days)).replace(hour=0, minute=0, second=0)
        local = midnight + timedelta(hours=22 - 14 * (days - whole_days), seconds=chance.randrange(60))
    return f"{local:%Y-%m-%dT%H:%M:%S}.{chance.randrange(1, 10**9):09d}{local.strftime('%z')[:3]}:00"


def _in_lisbon(moment: datetime) -> datetime:
    """A moment with summer time told by the month, since a machine may lack a database of time zones."""
    return moment.astimezone(timezone(timedelta(hours=1 if 4 <= moment.month <= 10 else 0)))


def _kind(kind: str | None) -> str | None:
    """The JSON text that ZeroClaw keeps in the column `kind`."""
    return (
        None if kind is None else json.dumps({"semantic": kind} if kind in _SEMANTIC else kind, separators=(",", ":"))
    )


def _agent_id(alias: str) -> str:
    return str(uuid.uuid5(_NAMES, f"agent {alias}"))


def _id(what: str, number: int) -> str:
    return str(uuid.uuid5(_NAMES, f"{what} {number}"))
