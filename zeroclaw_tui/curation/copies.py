"""Where the text of a memory still lies after it was deleted or changed, and cleaning what can be cleaned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.library import Library

Kind = Literal[
    "memories", "embedding cache", "snapshot", "archive", "markdown", "write-ahead log", "free pages", "backup",
    "trash", "audit", "response cache", "other database", "lucid",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """A memory's key and content, as they were."""

    id: str
    key: str
    content: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A place where texts still lie. `place` is a path or a name for people, `count` how many of the texts.

    `count` None means it cannot be counted, only that they may lie there. `remark` is one sentence: what that means,
    or why it cannot be cleaned here. `texts` are those found there.
    """

    kind: Kind
    place: str
    count: int | None
    can_clean: bool
    remark: str
    texts: tuple[Text, ...] = ()


async def find_copies(library: Library, texts: Iterable[Text]) -> list[Copy]:
    """Every place beside the store itself where one of these texts still lies (ZeroClaw's own files only)."""
    raise NotImplementedError


async def texts_of(library: Library, action: int) -> list[Text]:
    """The texts an action deleted or replaced, out of the trash."""
    raise NotImplementedError


async def clean_copies(library: Library, copies: Sequence[Copy]) -> Outcome:
    """Remove the texts from those places that allow it; what goes is kept, and an undo brings it back."""
    raise NotImplementedError


def summary(copies: Sequence[Copy]) -> str:
    """One line: "embedding cache (290), MEMORY_SNAPSHOT.md (3)"; empty when there are none."""
    raise NotImplementedError
