"""What a store says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from zeroclaw_tui.scoring.profiles import OwnRule


class Notice(NamedTuple):
    """A sentence about how a store was opened, for people. A minor one is shown only where the store is looked at."""

    sentence: str
    is_minor: bool = False


def sentences(notices: Iterable[Notice]) -> tuple[str, ...]:
    """The texts of notices."""
    return tuple(notice.sentence for notice in notices)


class About(NamedTuple):
    """The facts of one store, as far as the constructor knows them; `open` completes them."""

    location: str = ""
    """Where it is, for people: a path, or a URL without its password."""
    path: Path | None = None
    """The database file that holds all of it, if it can be examined, repaired, backed up and compacted as a whole."""
    identity: str | None = None
    """The backend under which the trash knows it, if that is another than its own: two names of one file share one."""
    generation: str | None = None
    """The schema generation ("G1" to "G5") of ZeroClaw's tables."""
    newest_version: str | None = None
    """The newest ZeroClaw version that has this schema; None means the newest of all."""
    not_opened_because: str | None = None
    """Why no ZeroClaw version opens it as it is, in a sentence."""
    not_read_because: str | None = None
    """Why no agent reads it as memory, in a sentence; None for an agent's memory."""
    program: str | None = None
    """The other program whose store it is ("R-Mem"), and whose rule recall follows."""
    rule: OwnRule | None = OwnRule()
    """How it ranks; None for ZeroClaw's hybrid search."""
    embeds_itself: bool = False
    """Whether it makes the vectors of memories and queries itself."""
    slow_recall_above: int | None = None
    """Among more memories than that recall takes seconds, so that the inspector waits for Enter."""
    keeps_lines: bool = False
    """Whether each memory is a line of a file, with neither key, id nor times of its own, and can only be appended."""
    keeps_nothing: bool = False
    """Whether it takes every verb, stores nothing and finds nothing."""
    ends_with_program: bool = False
    """Whether all of it ends with the program."""
    keeps_deleted: str | None = "It is not known what this store keeps of deleted rows."
    """What stays of deleted memories where no command reaches, in a sentence; None if nothing does."""
    notices: tuple[Notice, ...] = ()
    """Sentences about how it was opened that a person should see."""

    @property
    def recall_limit(self) -> int | None:
        """How many memories its own rule returns by default; None if ZeroClaw's limits apply."""
        return None if self.rule is None else self.rule.limit


def key_and_content(key: str, content: str) -> str:
    """The text that ZeroClaw embeds for a memory of a store that embeds key and content together."""
    return f"{key}\n{content}"
