"""A sample workspace: one person's months with an assistant, made anew and alike each time."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.layouts import data_install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.demo_files import make_files, make_snapshot
from zeroclaw_tui.embeddings.local import local_vector
from zeroclaw_tui.files.database import could_not_be_made
from zeroclaw_tui.memory.change import AGENTS as AGENT_ROWS
from zeroclaw_tui.memory.change import StoredRow, Value

DIMENSIONS = 256
AGENTS = ("default", "researcher")
_TEXTS = "demo_memories.jsonl"
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
    (folder / "config.toml").write_text(_CONFIG, encoding="utf-8")
    began = (now - timedelta(days=242)).astimezone(UTC).isoformat()
    identity = {"provider": "local", "model": "local", "dimensions": str(DIMENSIONS)}
    named = {f"embedding_{name}": value for name, value in identity.items()}
    meta = [StoredRow(name, {"key": name, "value": value}, table="memory_meta") for name, value in named.items()]
    memories = list(_rows(now))
    store = create_memory(MemoryConfig(data_install(folder, "the sample"), backend="sqlite", location=str(database)))
    store.fill("G4", [*(_agent(alias, began) for alias in AGENTS), *meta, *memories], began)
    make_files(folder / "data", now)
    make_snapshot(folder / "data", now, [row.entry() for row in memories if row.values["category"] == "core"])
    return folder


def _agent(alias: str, began: str) -> StoredRow:
    id = _agent_id(alias)  # noqa: A001
    return StoredRow(id, {"id": id, "alias": alias, "created_at": began}, None, alias, AGENT_ROWS)


def _rows(now: datetime) -> Iterator[StoredRow]:
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
        yield StoredRow(str(values["id"]), values, None, text.get("agent", "default"))


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
