"""The facts that a store reports about itself, and notices for users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from zeroclaw_tui.scoring.profiles import OwnRule


class Notice(NamedTuple):
    """A sentence for users about how a store was opened. Minor ones are shown only in the details of the store."""

    sentence: str
    is_minor: bool = False


_CAPABILITY_OF = {
    "session_id": "sessions", "namespace": "namespaces", "superseded_by": "superseded", "agent": "agents",
}  # fmt: skip
"""The capability that a field needs, if it has another name."""


def why_not_field(why_not: Mapping[str, str], field: str) -> str | None:
    """Explain why a store lacks a field of its memories, or cannot change it; None if it can."""
    return why_not.get(field) or why_not.get(_CAPABILITY_OF.get(field, field))


def sentences(notices: Iterable[Notice]) -> tuple[str, ...]:
    """The texts of notices."""
    return tuple(notice.sentence for notice in notices)


class About(NamedTuple):
    """The facts of one store. The constructor sets those that it knows; `open` adds the others."""

    location: str = ""
    """The location shown to users: a path, or a URL without its password."""
    path: Path | None = None
    """The file with the whole store, if it is a database to check, repair, back up and compact."""
    identity: str | None = None
    """The backend name in the trash, if it differs: two backends that open the same file share one identity."""
    generation: str | None = None
    """The schema generation ("G1" to "G5") of ZeroClaw's tables."""
    newest_version: str | None = None
    """The newest ZeroClaw version that has this schema; None means the newest of all."""
    not_opened_because: str | None = None
    """Why no ZeroClaw version can open it as it is, as a sentence."""
    not_read_because: str | None = None
    """Why no agent uses it as memory, as a sentence; None for an agent's memory."""
    program: str | None = None
    """The other program that owns the store ("R-Mem") and whose ranking rule recall follows."""
    rule: OwnRule | None = OwnRule()
    """Its own ranking rule; None for ZeroClaw's hybrid search."""
    computes_vectors: bool = False
    """Whether it computes the vectors of memories and queries itself."""
    slow_recall_above: int | None = None
    """The number of memories above which recall takes seconds, so that the inspector waits for Enter."""
    is_line_based: bool = False
    """Whether memories are lines of a file, without their own keys, ids and times, and new ones are appended."""
    keeps_nothing: bool = False
    """Whether it accepts every call, but stores nothing and finds nothing."""
    is_volatile: bool = False
    """Whether its memories are lost when the program exits."""
    keeps_deleted: str | None = "It is not known whether this store keeps deleted rows."
    """What remains of deleted memories that no command can remove, as a sentence; None if nothing remains."""
    notices: tuple[Notice, ...] = ()
    """Sentences for users about how it was opened."""


def key_and_content(key: str, content: str) -> str:
    """The text that ZeroClaw embeds for a memory of a store that embeds key and content together."""
    return f"{key}\n{content}"
