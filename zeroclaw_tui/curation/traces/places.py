"""The places where a text of a memory may be: every kind of file that ZeroClaw and this program write.

Source: the code of ZeroClaw 0.1.7, 0.7.5 and 0.8.0 to 0.8.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.formats.snapshot import SIDE_CAR
from zeroclaw_tui.curation.journal_file import BACKUP as OLD_TRASH
from zeroclaw_tui.curation.journal_file import NAME as TRASH
from zeroclaw_tui.curation.traces.matcher import Form

Under = Literal["folder", "memory", "root", "config", "next to config", "own", "lucid"]
"""Where the patterns start: the workspace or data folder and that of each agent; the folder of the database and memory/
in each of those; the workspace or data folder alone; the config directory; its parent; this program's own folder;
lucid's folder."""


class Place(NamedTuple):
    """A kind of file. `names` are patterns with `*`; a trailing `/` means all files below that folder.

    `settings` are keys of config.toml that set another path, relative to the workspace or data folder. `remark` is one
    sentence: what a text in this place means, or what to do if it cannot be cleaned with undo. `columns` are the
    database columns, by table, in which a text can safely be replaced. `stays` says why `erase` does not change the
    file, else "". `erase_only` places are not copies that ZeroClaw or its user would read.
    """

    kind: str
    under: Under
    names: tuple[str, ...]
    form: Form
    remark: str = ""
    can_clean: bool = False
    settings: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    stays: str = ""
    erase_only: bool = False


_CUT = "cleaning puts [removed] in its place."
_RAM = f"A running ZeroClaw keeps using its copy of this chat. Stop ZeroClaw; {_CUT}"
_NOTES = "These are Markdown notes next to the store; cleaning removes whole lines that contain a text."
_BACKUP = "This is a backup: delete it if you do not need it."
_ANSWERS = (
    "These are cached answers of the model. ZeroClaw deletes them after response_cache_ttl_minutes; to delete them "
    "now, delete the file while ZeroClaw is stopped."
)
_OTHER = "This is another database: open it by its path to delete the rows."
_HYDRATED = (
    "If brain.db is lost, ZeroClaw creates core memories from this file. It rewrites the file only while there are "
    "core memories."
)
_AUDITED = (
    "ZeroClaw's audit log contains the whole message of each recall (0.8.4 and later). Cleaning replaces the text with "
    "[removed]."
)
_CHAIN = (
    "Each line of ZeroClaw's security log vouches for the one before, so cutting one out breaks the chain: delete the "
    "files as a whole while ZeroClaw is stopped."
)
_CONFIG = "It is ZeroClaw's configuration: change it by hand."
_PROMPT_FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "HEARTBEAT.md")
_DATABASES = ("brain.db", "memory.db", "discord.db")

STORE_DATABASE = Place("store", "memory", (), "rows")
STORE_NOTES = Place("store", "folder", (), "notes")
STORE_FILE = Place("store", "folder", (), "anything")
"""The open store; its path is known."""

PLACES: tuple[Place, ...] = (
    Place("snapshot", "root", (SNAPSHOT,), "snapshot", _HYDRATED, can_clean=True),
    Place("snapshot", "folder", (SNAPSHOT, f"memory/{SNAPSHOT}"), "snapshot",
          "ZeroClaw does not read this snapshot by itself.", can_clean=True),
    Place("archive", "root", ("memory/archive/*.md", "sessions/archive/*.md"), "notes",
          "ZeroClaw's hygiene moved these notes here; cleaning removes whole lines that contain a text.",
          can_clean=True),
    # Up to 0.8.1 hygiene moves sessions.db here as well.
    Place("archive", "root", ("sessions/archive/*.db",), "rows",
          "ZeroClaw's hygiene moved this database of chats here and no longer reads it: delete it if you want."),
    Place("archive", "root", ("sessions/archive/*.jsonl", "sessions/archive/*.jsonl.migrated"), "lines",
          f"This is the archive of a conversation, which ZeroClaw deletes in time; {_CUT}",
          can_clean=True),
    Place("archive", "root", ("sessions/archive/*", "memory/archive/*"), "anything",
          "ZeroClaw's hygiene moved this file here and deletes it later; you can delete it sooner."),
    Place("markdown", "folder", ("MEMORY.md", "memory/*.md"), "notes", _NOTES, can_clean=True),
    # They go into the system prompt whatever the backend is.
    Place("prompt file", "folder", _PROMPT_FILES, "notes",
          "ZeroClaw puts this file into the prompt; cleaning removes whole lines that contain a text.",
          can_clean=True),
    # Since 0.4.3, in place of the files below.
    Place("chat", "folder", ("sessions/sessions.db",), "rows", _RAM, can_clean=True,
          columns={"sessions": ("content",)}),
    # Since 0.8.0.
    Place("chat", "folder", ("sessions/acp-sessions.db",), "rows", _RAM, can_clean=True,
          columns={"acp_messages": ("content", "reasoning_content"), "acp_tool_calls": ("payload",),
                   "acp_session_events": ("payload",), "acp_sessions": ("plan_json",)}),
    Place("chat", "folder", ("sessions/*.jsonl",), "lines", _RAM, can_clean=True),
    Place("chat", "folder", ("sessions/*.jsonl.migrated",), "lines",
          f"ZeroClaw moved this chat to sessions.db and left the file; {_CUT}",
          can_clean=True),
    Place("trace", "root", ("state/runtime-trace.jsonl", "state/runtime-trace.*.jsonl"), "lines",
          "ZeroClaw traces what it does here ([observability] log_persistence, up to 0.7.5 runtime_trace_mode); "
          f"{_CUT}",
          can_clean=True,
          settings=("observability.log_persistence_path", "observability.runtime_trace_path")),
    Place("trace", "root", ("state/runtime-trace.tmp.*", "state/runtime-trace.migrate.*"), "lines",
          "ZeroClaw left this file while rewriting its trace, or is writing it now: delete it while ZeroClaw is "
          "stopped."),
    # Since 0.5.0; the agent has no tool that edits it.
    Place("knowledge", "config", ("knowledge.db",), "rows",
          f"This is ZeroClaw's knowledge graph; {_CUT}", can_clean=True,
          settings=("knowledge.db_path",), columns={"nodes": ("title", "content", "tags")}),
    Place("schedule", "folder", ("cron/jobs.db",), "rows",
          "These are scheduled jobs and what they gave out: `zeroclaw cron` lists, changes and removes them."),
    Place("schedule", "folder", ("heartbeat/history.db",), "rows",
          "ZeroClaw drops old runs of its heartbeat itself ([heartbeat] max_run_history), or delete the file while it "
          "is stopped."),
    Place("tasks", "root", ("control_plane.db",), "rows",
          "ZeroClaw never deletes the output of its tasks here. Stop ZeroClaw, then delete the file; that ends those "
          "tasks."),
    Place("tasks", "root", ("sop/runs.db",), "rows",
          "ZeroClaw never deletes the runs of its procedures here. Stop ZeroClaw, then delete the file; that ends "
          "those runs.", settings=("sop.run_state_dir",)),
    Place("backup", "memory", ("*.db.backup-*",), "rows", _BACKUP),
    # Copies made by a person.
    Place("backup", "memory", ("brain.db.*",), "anything", _BACKUP),
    Place("backup", "root", ("memory/migrations/",), "anything", _BACKUP),
    Place("backup", "folder", ("backups/",), "anything", _BACKUP),
    Place("backup", "config", ("backup-*/",), "anything", _BACKUP),
    Place("backup", "next to config", ("{config}.backup.*/",), "anything", _BACKUP),
    Place("deleted agent", "root", ("agents/_deleted/",), "anything",
          "ZeroClaw never deletes this directory of a deleted agent: delete it if you do not need it."),
    Place("deleted agent", "config", ("agents/_deleted/",), "anything",
          "ZeroClaw never deletes this directory of a deleted agent: delete it if you do not need it."),
    Place("security log", "config", ("audit.log*", "audit.*.log"), "lines",
          _CHAIN, stays=_CHAIN),
    Place("service log", "config", ("logs/*",), "anything",
          "This is what the service printed: empty the file while ZeroClaw is stopped."),
    Place("audit", "memory", ("audit.db",), "rows", _AUDITED, can_clean=True, columns={"memory_audit": ("metadata",)}),
    Place("response cache", "memory", ("response_cache.db",), "rows", _ANSWERS),
    Place("other database", "memory", _DATABASES, "rows", _OTHER),
    Place("other database", "folder", _DATABASES, "rows", _OTHER),
    Place("other database", "config", ("workspace/memory/brain.db", "data/memory/brain.db"), "rows", _OTHER),
    Place("own copy", "folder", (SIDE_CAR, f"memory/{SIDE_CAR}"), "memory lines",
          "This is this program's lossless copy of the snapshot.", erase_only=True),
    # The second file is the backup of a converted trash.
    Place("trash", "own", (TRASH, OLD_TRASH), "trash", erase_only=True),
    # Listed before its backups, which may be links to it. A cut in the key file would lose every secret.
    Place("config", "config", ("config.toml", ".secret_key"), "anything", stays=_CONFIG, erase_only=True),
    Place("config backup", "own", ("backups/*.toml",), "anything", erase_only=True),
    Place("own copy", "own", ("/",), "anything", erase_only=True),
    Place("config backup", "config", ("config.toml?*", ".config.toml.*"), "anything", erase_only=True),
    # Made by editors and by hand, such as MEMORY.md~, .MEMORY.md.swp and brain-old.db.
    Place("backup", "folder", ("*.md?*", "memory/*.md?*", "memory/*.db*", "sessions/*.jsonl?*"), "anything",
          erase_only=True),
    # lucid-memory 0.6.5 stores ZeroClaw's memories here: memory.db, and a database per client or profile.
    Place("lucid", "lucid", ("/",), "anything", stays="lucid has no delete command: stop lucid, then edit this file.",
          erase_only=True),
)  # fmt: skip
