"""Plant a text in every place where ZeroClaw leaves it, with the tables and lines of ZeroClaw 0.7.5 and 0.8.4."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import small_store

TEXT = 'Zebediah Quill wrote:\n"Lindenstraße 17, Köln-Mülheim"'
"""Its newline, quotes and letters are escaped in JSON, and escaped twice in JSON within JSON."""
WORD = b"zebediah"
"""Occurs only in the text; a keyword index has it in lower case."""
STAYS = "This sentence has nothing to do with it"

SESSIONS = """
CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, session_key TEXT NOT NULL, role TEXT NOT NULL,
  content TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE session_metadata (session_key TEXT PRIMARY KEY, created_at TEXT NOT NULL, last_activity TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0, name TEXT, state TEXT NOT NULL DEFAULT 'idle');
CREATE VIRTUAL TABLE sessions_fts USING fts5(session_key, content, content=sessions, content_rowid=id);
CREATE TRIGGER sessions_ai AFTER INSERT ON sessions BEGIN
  INSERT INTO sessions_fts(rowid, session_key, content) VALUES (new.id, new.session_key, new.content); END;
CREATE TRIGGER sessions_ad AFTER DELETE ON sessions BEGIN INSERT INTO sessions_fts(sessions_fts, rowid, session_key,
  content) VALUES ('delete', old.id, old.session_key, old.content); END;
CREATE TRIGGER sessions_au AFTER UPDATE ON sessions BEGIN
  INSERT INTO sessions_fts(sessions_fts, rowid, session_key, content)
  VALUES ('delete', old.id, old.session_key, old.content);
  INSERT INTO sessions_fts(rowid, session_key, content) VALUES (new.id, new.session_key, new.content); END;
"""
ACP = """
CREATE TABLE acp_sessions (id INTEGER PRIMARY KEY, session_uuid TEXT UNIQUE, agent_alias TEXT, plan_json TEXT);
CREATE TABLE acp_messages (id INTEGER PRIMARY KEY, session_id INTEGER REFERENCES acp_sessions ON DELETE CASCADE,
  role TEXT, content TEXT, reasoning_content TEXT, created_at TEXT);
CREATE TABLE acp_tool_calls (id INTEGER PRIMARY KEY, message_id INTEGER REFERENCES acp_messages ON DELETE CASCADE,
  tool_call_id TEXT, tool_name TEXT, event_kind TEXT, payload TEXT, outcome TEXT, created_at TEXT);
CREATE TABLE acp_session_events (id INTEGER PRIMARY KEY, session_id INTEGER REFERENCES acp_sessions ON DELETE CASCADE,
  action TEXT, outcome TEXT, payload TEXT, created_at TEXT);
"""
KNOWLEDGE = """
CREATE TABLE nodes (id TEXT PRIMARY KEY, node_type TEXT, title TEXT, content TEXT NOT NULL,
  tags TEXT NOT NULL DEFAULT '', created_at TEXT, updated_at TEXT NOT NULL, source_project TEXT);
CREATE VIRTUAL TABLE nodes_fts USING fts5(title, content, tags, content=nodes, content_rowid=rowid);
CREATE TRIGGER nodes_ai AFTER INSERT ON nodes BEGIN
  INSERT INTO nodes_fts(rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags); END;
CREATE TRIGGER nodes_au AFTER UPDATE ON nodes BEGIN INSERT INTO nodes_fts(nodes_fts, rowid, title, content, tags)
  VALUES ('delete', old.rowid, old.title, old.content, old.tags);
  INSERT INTO nodes_fts(rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags); END;
"""
AUDIT = """CREATE TABLE memory_audit (id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, key TEXT,
  namespace TEXT, session_id TEXT, timestamp TEXT NOT NULL, metadata TEXT);"""
JOBS = "CREATE TABLE cron_jobs (id TEXT, command TEXT, prompt TEXT, name TEXT);"
RUNS = "CREATE TABLE heartbeat_runs (id INTEGER PRIMARY KEY, task_text TEXT, output TEXT);"
TASKS = "CREATE TABLE tasks (id TEXT, output TEXT, error TEXT);"
PROCEDURES = "CREATE TABLE sop_events (id INTEGER PRIMARY KEY, payload TEXT);"
ANSWERS = """CREATE TABLE response_cache (prompt_hash TEXT PRIMARY KEY, model TEXT NOT NULL, response TEXT NOT NULL,
  token_count INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, accessed_at TEXT NOT NULL,
  hit_count INTEGER NOT NULL DEFAULT 0);"""


@dataclass
class Left:
    """Where the text was planted: the kind of each path, and whether it can be cleaned there."""

    config_dir: Path
    root: Path
    kinds: dict[str, str] = field(default_factory=dict)
    cleanable: set[str] = field(default_factory=set)

    def write(self, kind: str, path: Path, text: str, *, cleans: bool = False) -> None:
        """Write a file with the text."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self._note(kind, path, cleans)

    def database(
        self, kind: str, path: Path, schema: str, rows: Iterable[tuple[str, Sequence[Any]]], *, cleans: bool = False
    ) -> None:
        """Write a database with the text, as ZeroClaw leaves it at exit: in WAL mode and checkpointed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(schema)
            for statement, values in rows:
                connection.execute(statement, values)
        self._note(kind, path, cleans)

    def _note(self, kind: str, path: Path, cleans: bool) -> None:
        self.kinds[str(path)] = kind
        if cleans:
            self.cleanable.add(str(path))


def snapshot(*entries: tuple[str, str]) -> str:
    """Return MEMORY_SNAPSHOT.md as ZeroClaw writes it."""
    written = "*Created: 2026-03-01T10:00:00+00:00 | Updated: 2026-03-01T10:00:00+00:00*"
    rows = "".join(f"### 🔑 `{key}`\n\n{content}\n\n{written}\n\n---\n\n" for key, content in entries)
    return (
        "# 🧠 ZeroClaw Memory Snapshot\n\n> one\n> two\n> three\n\n**Last exported:** 2026-03-01 10:00:00\n\n"
        f"**Total core memories:** {len(entries)}\n\n---\n\n{rows}"
    )


def cache(database: Path, *contents: str) -> None:
    """Add vectors of these contents to ZeroClaw's cache."""
    with closing(sqlite3.connect(database)) as connection, connection:
        for content in contents:
            name = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:16]
            row = (name, small_store.blob(1.0, 0.0), "2026-03-01", "2026-03-01")
            connection.execute("INSERT INTO embedding_cache VALUES (?, ?, ?, ?)", row)


def plant(config_dir: Path, layout: str) -> Left:
    """Plant the text everywhere below a config dir of ZeroClaw 0.7.5 ("workspace") or 0.8.4 ("data")."""
    left = Left(config_dir, config_dir / layout)
    root, chat = left.root, f"I was told: {TEXT} - is that so?"
    rows = [("INSERT INTO sessions VALUES (?, 'gw_1', 'user', ?, 'x')", (at, f"{STAYS} {at}")) for at in range(1, 400)]
    rows.append(("INSERT INTO sessions VALUES (?, 'gw_1', 'user', ?, 'x')", (777, chat)))
    counted = ("INSERT INTO session_metadata VALUES ('gw_1', 'x', 'x', 400, NULL, 'idle')", ())
    left.database("chat", root / "sessions" / "sessions.db", SESSIONS, [*rows, counted], cleans=True)
    line = json.dumps({"role": "user", "content": chat}, ensure_ascii=False)
    others = json.dumps({"role": "assistant", "content": STAYS})
    for name in ("tg_1.jsonl", "tg_0.jsonl.migrated"):
        left.write("chat", root / "sessions" / name, f"{others}\n{line}\n", cleans=True)
    left.write("archive", root / "sessions" / "archive" / "2026-01-01.jsonl", f"{line}\n{others}\n", cleans=True)
    left.database("archive", root / "sessions" / "archive" / "sessions.db", SESSIONS, rows[-1:])
    job = ("INSERT INTO cron_jobs VALUES ('1', '', ?, '')", (chat,))
    left.database("schedule", root / "cron" / "jobs.db", JOBS, [job])
    left.write("security log", config_dir / "audit.log", json.dumps({"action": {"command": f"echo {TEXT}"}}) + "\n")
    left.write("backup", _agent(left) / "backups" / "one" / "knowledge.json", json.dumps({"content": chat}))
    left.write("backup", root / "memory" / "migrations" / "openclaw-1" / "notes.md", f"{chat}\n")
    left.write("prompt file", _agent(left) / "USER.md", f"# User\n\n{chat}\n\n- {STAYS}\n", cleans=True)
    node = ("INSERT INTO nodes VALUES ('n1', 'contact', 'Quill', ?, '', 'x', 'x', NULL)", (chat,))
    nodes = [(f"INSERT INTO nodes VALUES ('o{at}', 'lesson', 'x', ?, '', 'x', 'x', NULL)", (STAYS,)) for at in range(9)]
    left.database("knowledge", _knowledge(left), KNOWLEDGE, [*nodes, node], cleans=True)
    answer = ("INSERT INTO response_cache VALUES ('h', 'm', ?, 1, 'x', 'x', 0)", (chat,))
    left.database("response cache", root / "memory" / "response_cache.db", ANSWERS, [answer])
    (_plant_075 if layout == "workspace" else _plant_084)(left, chat)
    return left


def config_of(layout: str) -> str:
    """Return the config.toml for this layout."""
    if layout == "workspace":
        return (
            'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n[knowledge]\nenabled = true\n'
            'db_path = "graph/people.db"\n[observability]\nruntime_trace_mode = "full"\n'
            'runtime_trace_path = "traces/all.jsonl"\n'
        )
    return (
        'schema_version = 3\n[memory]\nbackend = "sqlite"\n[sop]\nrun_state_dir = "procedures"\n'
        "[agents.default]\nenabled = true\n"
    )


def _plant_075(left: Left, chat: str) -> None:
    event = {"id": "1", "event_type": "turn_final_response", "payload": {"response": chat}}
    left.write("trace", left.root / "traces" / "all.jsonl", _lines(event), cleans=True)
    heartbeat = ("INSERT INTO heartbeat_runs VALUES (1, 'x', ?)", (chat,))
    left.database("schedule", left.root / "heartbeat" / "history.db", RUNS, [heartbeat])


def _plant_084(left: Left, chat: str) -> None:
    root, config_dir = left.root, left.config_dir
    messages = json.dumps([{"role": "user", "content": f"[Memory context]\n- k: {TEXT}\n"}], ensure_ascii=False)
    request = {"attributes": {"request_messages": messages, "trace_id": "t"}, "message": "llm_request"}
    for name in ("runtime-trace.jsonl", "runtime-trace.20260822-174400.jsonl"):
        left.write("trace", root / "state" / name, _lines(request), cleans=True)
    left.write("trace", root / "state" / "runtime-trace.tmp.17.1755", _lines(request))
    call = json.dumps({"query": chat})
    acp = [
        ("INSERT INTO acp_sessions VALUES (1, 'u', 'default', NULL)", ()),
        ("INSERT INTO acp_messages VALUES (1, 1, 'user', ?, ?, 'x')", (chat, f"He says {TEXT}")),
        ("INSERT INTO acp_tool_calls VALUES (1, 1, 't', 'memory_store', 'in', ?, 'ok', 'x')", (call,)),
        ("INSERT INTO acp_session_events VALUES (1, 1, 'a', 'ok', ?, 'x')", (call,)),
    ]
    left.database("chat", root / "sessions" / "acp-sessions.db", ACP, acp, cleans=True)
    question = "INSERT INTO memory_audit (operation, timestamp, metadata) VALUES ('recall', 'x', ?)"
    audited = [(question, (f"query={chat}",)), (question, (f"query={STAYS}",))]
    left.database("audit", root / "memory" / "audit.db", AUDIT, audited, cleans=True)
    left.database("tasks", root / "control_plane.db", TASKS, [("INSERT INTO tasks VALUES ('1', ?, NULL)", (chat,))])
    event = ("INSERT INTO sop_events VALUES (1, ?)", (call,))
    left.database("tasks", root / "procedures" / "runs.db", PROCEDURES, [event])
    deleted = root / "agents" / "_deleted" / "anna-20260801T000000"
    left.write("deleted agent", deleted / "cascade" / "memory.json", json.dumps([{"content": TEXT}]))
    legacy = config_dir / "backup-20260801T000000" / "legacy-workspace"
    left.write("backup", legacy / "sessions" / "tg.jsonl", json.dumps({"content": chat}))
    copied = config_dir.with_name(f"{config_dir.name}.backup.20260801000000")
    left.write("backup", copied / "workspace" / "MEMORY.md", f"{chat}\n")
    left.write("service log", config_dir / "logs" / "daemon.stderr.log", f"{chat}\n")


def _agent(left: Left) -> Path:
    """Write the folder in which an agent works."""
    is_old = left.root.name == "workspace"
    return left.root if is_old else left.config_dir / "agents" / "default" / "workspace"


def _knowledge(left: Left) -> Path:
    is_old = left.root.name == "workspace"
    return left.root / "graph" / "people.db" if is_old else left.config_dir / "knowledge.db"


def _lines(event: Any) -> str:
    return f'{{"message":"{STAYS}"}}\n{json.dumps(event, ensure_ascii=False)}\n'
