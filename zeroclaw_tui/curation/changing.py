"""Every change a person makes goes through here: kept in the trash first, done by the store, noted, undoable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.purge import PurgePlan
from zeroclaw_tui.curation.trash import Action, Verb
from zeroclaw_tui.memory.change import Advance, Clash, Draft, Edit, StoredRow


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change did. `action` is None when nothing changed or nothing may be undone.

    `count` rows were done; `changed` and `gone` are ids left alone because they changed or went meanwhile. `row` is
    the row as it is now after a store or an edit. `undone` is the action an undo took back. `notes` are sentences.
    `renamed` maps old keys to those they came back under.
    """

    verb: Verb
    count: int
    action: Action | None = None
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    cancelled: bool = False
    row: StoredRow | None = None
    undone: Action | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def store_memory(library: Library, draft: Draft, *, replace: bool = False) -> Outcome:
    """Store a new memory, embedded where an embedder is configured.

    A failing embedder costs the vector, not the memory: a note says so, as ZeroClaw >= 0.8.2 does. Raises WrongUse,
    DuplicateKey without `replace`, TriggersMissing, Refused, Locked, Unreadable.
    """
    raise NotImplementedError


async def edit_memory(library: Library, id: str, edit: Edit, expected: str) -> Outcome:
    """Change a memory whose row has the fingerprint `expected`. Raises Conflict, NotThere and what a store raises.

    An edit that changes nothing gives a count of 0 and leaves no action.
    """
    raise NotImplementedError


async def remove_memories(
    library: Library, plan: PurgePlan, verb: Verb, *, forever: bool = False, advance: Advance | None = None
) -> Outcome:
    """Move the memories of a plan to the trash; with `forever` delete them, and earlier versions in the trash."""
    raise NotImplementedError


async def undo(library: Library, *, clash: Clash = "refuse", advance: Advance | None = None) -> Outcome:
    """Take back the last action not yet taken back. Raises NotThere when there is none, Clashes."""
    raise NotImplementedError


async def restore(
    library: Library, numbers: Sequence[int], *, clash: Clash = "refuse", advance: Advance | None = None
) -> Outcome:
    """Bring deleted memories back from the trash, by its numbers. Raises NotThere, Clashes."""
    raise NotImplementedError


async def repair(library: Library) -> None:
    """Put ZeroClaw's triggers back and rebuild the keyword index, after TriggersMissing."""
    raise NotImplementedError
