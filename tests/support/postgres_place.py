"""A separate database for one test, with memory tables as ZeroClaw and the user's tutorial create them.

The statements follow ZeroClaw's tables: columns, constraints and names of indexes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from support.memories import MemoryEntry, sample_entries
from support.postgres_server import PostgresServer

PASSWORD = "geheim-Mohn-7"
FORMS = ("key", "vector", "agents", "uuid")
"""Tables up to 0.7.5, the same with pgvector, from 0.8.0 on with pgvector, and those of the tutorial."""

_PLAIN = """
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE "{schema}"."{table}" (
  id TEXT PRIMARY KEY, key TEXT UNIQUE NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT);
CREATE INDEX idx_memories_category ON "{schema}"."{table}" (category);
CREATE INDEX idx_memories_session_id ON "{schema}"."{table}" (session_id);
CREATE INDEX idx_memories_updated_at ON "{schema}"."{table}" (updated_at DESC);
CREATE INDEX idx_memories_content_fts ON "{schema}"."{table}" USING gin (to_tsvector('simple', content));
CREATE INDEX idx_memories_key_fts ON "{schema}"."{table}" USING gin (to_tsvector('simple', key));
"""
_WITH_VECTORS = """
ALTER TABLE "{schema}"."{table}" ADD COLUMN namespace TEXT DEFAULT 'default', ADD COLUMN importance REAL,
  ADD COLUMN embedding vector(3);
CREATE INDEX idx_memories_namespace ON "{schema}"."{table}" (namespace);
"""
_WITH_AGENTS = """
CREATE TABLE "{schema}".agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE "{schema}".schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TIMESTAMPTZ);
INSERT INTO "{schema}".schema_version VALUES ('memories', 1, now());
INSERT INTO "{schema}".agents VALUES ('a-default', 'default', now()), ('a-scout', 'scout', now());
ALTER TABLE "{schema}"."{table}" ADD COLUMN agent_id TEXT,
  DROP CONSTRAINT "{table}_key_key",
  ADD CONSTRAINT memories_agent_id_fk FOREIGN KEY (agent_id) REFERENCES "{schema}".agents (id),
  ADD CONSTRAINT memories_agent_id_notnull_chk CHECK (agent_id IS NOT NULL),
  ADD CONSTRAINT memories_agent_key_uniq UNIQUE (agent_id, key);
CREATE INDEX idx_memories_agent_id ON "{schema}"."{table}" (agent_id);
"""
_TUTORIAL = """
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE "{schema}"."{table}" (
  id UUID PRIMARY KEY DEFAULT gen_random_uuid(), key TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
  category TEXT NOT NULL, timestamp TIMESTAMPTZ DEFAULT NOW(), embedding vector(3));
"""
_DEFINITIONS = {
    "key": _PLAIN,
    "vector": _PLAIN + _WITH_VECTORS,
    "agents": _PLAIN + _WITH_VECTORS + _WITH_AGENTS,
    "uuid": _TUTORIAL,
}
_MAKE_EXTENSION = """
DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')
  THEN CREATE EXTENSION IF NOT EXISTS vector SCHEMA public; END IF; END $$;
"""
_EMPTY = """
SET client_min_messages = error;
DO $$ BEGIN
  PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN ALTER EXTENSION vector SET SCHEMA public; END IF;
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{other}')
    THEN DROP OWNED BY "{other}" CASCADE; DROP ROLE "{other}"; END IF;
END $$;
DROP OWNED BY "{user}" CASCADE;
ALTER ROLE "{user}" RESET ALL;
"""


class PostgresPlace:
    """A separate database on a server, with pgvector if available, and a user who owns it."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.user = self.database = name
        server.make_user(name, PASSWORD, owns=name, template=_template(server))

    @property
    def url(self) -> str:
        """The URL of the owner."""
        return self.server.url(self.user, PASSWORD, self.database)

    def run(self, statements: str) -> str:
        """Run statements as the owner and return the output."""
        return self.run_as_superuser(f'SET ROLE "{self.user}"; {statements}')

    def run_as_superuser(self, statements: str) -> str:
        """Run statements as the superuser and return the output."""
        return self.server.run(statements, self.database)

    def empty(self) -> None:
        """Remove a test's tables, second user and settings: a new database takes several times as long.

        Changes of the superuser stay, except settings of the owner and the schema of pgvector.
        """
        self.run_as_superuser(_EMPTY.format(user=self.user, other=self._other) + _MAKE_EXTENSION)

    @property
    def _other(self) -> str:
        return f"{self.user}_other"

    def another_user(self, *statements: str) -> str:
        """Create a second user with the privileges granted by statements ({0} is the name); return the URL."""
        name = self._other
        self.server.make_user(name, PASSWORD)
        for statement in statements:
            self.run(statement.format(f'"{name}"'))
        return self.server.url(name, PASSWORD, self.database)

    def make_table(self, form: str, schema: str = "public", table: str = "memories") -> None:
        """Create an empty table of one of FORMS."""
        self.run(_DEFINITIONS[form].format(schema=schema, table=table))

    def fill(
        self, form: str, entries: Iterable[MemoryEntry] = (), schema: str = "public", table: str = "memories"
    ) -> None:
        """Insert memories, by default the samples; in "agents" each belongs to its own agent or to default."""
        rows = [_row(form, entry) for entry in entries or sample_entries()]
        document = json.dumps(rows, ensure_ascii=False)
        self.run(
            f'INSERT INTO "{schema}"."{table}" ({", ".join(rows[0])}) SELECT {", ".join(rows[0])} FROM '
            f'jsonb_populate_recordset(NULL::"{schema}"."{table}", $sample${document}$sample$)'
        )


def _template(server: PostgresServer) -> str:
    """Return a template database with the extension; copying it is several times as fast as creating one."""
    name = "with_vector"
    if name not in server.templates:
        server.make_database(name)
        server.run(_MAKE_EXTENSION, name)
        server.templates.add(name)
    return name


def _row(form: str, entry: MemoryEntry) -> dict[str, object]:
    row: dict[str, object] = {"id": entry.id, "key": entry.key, "content": entry.content}
    if form == "uuid":
        built_in = entry.category in ("core", "daily", "conversation")
        category = entry.category.capitalize() if built_in else {"Custom": entry.category}
        # The format of serde_json.
        written = json.dumps(category, ensure_ascii=False, separators=(",", ":"))
        return row | {"category": written, "timestamp": entry.timestamp}
    row |= {
        "category": entry.category,
        "created_at": entry.timestamp,
        "updated_at": entry.updated_at or entry.timestamp,
        "session_id": entry.session_id,
    }
    if form in ("vector", "agents"):
        row |= {"namespace": entry.namespace or "default", "importance": entry.importance}
    if form == "agents":
        row |= {"agent_id": f"a-{entry.agent or 'default'}"}
    return row
