"""A sample workspace: eight months of one person with an assistant. It is the same for the same time."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.locations import data_install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import NAME, snapshot_text
from zeroclaw_tui.embeddings.local import local_vector
from zeroclaw_tui.files.database import creation_error
from zeroclaw_tui.memory.change import AGENTS as AGENT_ROWS
from zeroclaw_tui.memory.change import Row, Value

DIMENSIONS = 256
AGENTS = ("default", "researcher")
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "zeroclaw-tui/demo")
_SEMANTIC = ("preference", "fact", "decision", "entity")
_NOTES = {
    1: "Watered the basil and moved it to the shade.",
    3: "Tomás called about Sunday, he brings the bread.",
    9: "Owl recordings from the botanical garden sorted into three folders.",
    10: "The ferry to Cacilhas was late again; take the metro on Fridays.",
    12: "Cleaned the bicycle chain and ordered a new lamp.",
}

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

    The memories end at `now`, which has a time zone. Raises FileExistsError if the sample exists, Unreadable.
    """
    database, data = folder / "data" / "memory" / "brain.db", folder / "data"
    if database.exists():
        raise FileExistsError(database)
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        began = now - timedelta(days=242)
        _write(folder / "config.toml", _CONFIG, began)
        memories = list(_memories(now))
        _create_database(folder, database, memories, began.astimezone(UTC).isoformat())
        for days, text in _NOTES.items():
            then = now - timedelta(days=days)
            day = f"{then:%Y-%m-%d}"
            _write(data / "memory" / f"{day}.md", f"# Daily Log — {day}\n\n- **note**: {text}\n", then)
        turns = [json.dumps(_trace_line(turn, now), ensure_ascii=False) + "\n" for turn in _load("demo_turns.jsonl")]
        _write(data / "state" / "runtime-trace.jsonl", "".join(turns))
        then = now - timedelta(days=9)
        core = [row.entry() for row in memories if row.values["category"] == "core"]
        known = [entry for entry in core if entry.timestamp < _days_before(now, 9)]
        known.sort(key=lambda entry: entry.updated_at or "", reverse=True)
        _write(data / NAME, snapshot_text(known, then), then)
    except OSError as error:
        raise creation_error(database, error) from error
    return folder


def _create_database(folder: Path, database: Path, memories: Sequence[Row], began: str) -> None:
    model = {"embedding_provider": "local", "embedding_model": "local", "embedding_dimensions": str(DIMENSIONS)}
    rows = [Row(name, {"key": name, "value": value}, table="memory_meta") for name, value in model.items()]
    for alias in AGENTS:
        name = _agent_id(alias)
        rows.append(Row(name, {"id": name, "alias": alias, "created_at": began}, agent=alias, table=AGENT_ROWS))
    store = create_memory(MemoryConfig(data_install(folder, "the sample"), backend="sqlite", location=str(database)))
    require_database(store).create_from_rows("G4", [*rows, *memories], began)


def _memories(now: datetime) -> Iterator[Row]:
    for number, text in enumerate(_load("demo_memories.jsonl")):
        created = _days_before(now, text["days"])
        updated = _days_before(now, text["updated_days"]) if "updated_days" in text else created
        kind = text.get("kind")
        kind = {"semantic": kind} if kind in _SEMANTIC else kind
        values: dict[str, Value] = {
            "id": str(uuid.uuid5(_NAMES, f"memory {number}")),
            "key": text["key"].format(id=uuid.uuid5(_NAMES, f"key {number}"), date=created[:10]),
            "content": text["content"],
            "category": text["category"],
            "embedding": local_vector(text["content"], DIMENSIONS) if text.get("embedded", True) else None,
            "created_at": created,
            "updated_at": updated,
            "session_id": text.get("session"),
            "namespace": "default",
            "importance": text["importance"],
            "superseded_by": text.get("superseded_by"),
            "kind": json.dumps(kind, separators=(",", ":")) if kind else None,
            "pinned": int(text.get("pinned", False)),
        }
        agent = text.get("agent", "default")
        values["agent_id"] = _agent_id(agent)
        yield Row(str(values["id"]), values, agent=agent)


def _agent_id(alias: str) -> str:
    return str(uuid.uuid5(_NAMES, f"agent {alias}"))


def _days_before(now: datetime, days: float) -> str:
    """The time some days before, with nine fractional digits as ZeroClaw writes it."""
    return f"{(now - timedelta(days=days)).astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}000+00:00"


def _trace_line(turn: dict[str, Any], now: datetime) -> dict[str, Any]:
    """A turn as ZeroClaw 0.8.4 records a request with its payload."""
    time = (now - timedelta(hours=turn["hours"])).astimezone(UTC)
    user = f"{turn['block']}[{time:%Y-%m-%d %H:%M:%S %z}] {turn['query']}"
    sent = [{"content": "You are a helpful assistant.", "role": "system"}, {"content": user, "role": "user"}]
    return {
        "@timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "attributes": {"iteration": 1, "request_messages": json.dumps(sent, ensure_ascii=False)},
        "message": "llm_request",
        "schema_version": 2,
        "service": {"name": "zeroclaw", "version": "0.8.4"},
        "trace_id": str(uuid.uuid5(_NAMES, f"turn {turn['query']}")),
        "zeroclaw": {"agent_alias": AGENTS[0]},
    }


def _load(name: str) -> list[dict[str, Any]]:
    lines = files("zeroclaw_tui.curation").joinpath(name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _write(path: Path, text: str, modified: datetime | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if modified is not None:
        os.utime(path, (modified.timestamp(), modified.timestamp()))
