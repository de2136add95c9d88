"""What a change tells of itself, to people and as a document.

What a change says when it is done: one document for scripts, a few lines for people.

Every verb that changes memory writes the same document; what does not concern it is null or empty:

    {"verb", "backend", "location", "dry_run", "count", "action", "until", "entries", "changed", "gone", "renamed",
     "notes", "also_found_in", "cleaned"}

`count` is how many memories were changed, or would be with `dry_run`. `action` is the number of the change in the
trash and `until` when the trash lets go of it (RFC 3339); both null when nothing changed or nothing brings it back.
`entries` holds at most 1,000 of {"id", "key", "category", "agent", "timestamp", "updated_at", "size"}, `size` in bytes.
`changed` and `gone` are ids that were left alone because they changed or went meanwhile; `renamed` maps old keys to
those they came back under. `also_found_in` lists {"kind", "place", "count", "can_clean", "remark"}; `cleaned` is
{"action", "count"} where --clean-copies cleaned. A verb's own names come after these.

How a planned change of many memories went, in words or as the one document of a change.

What changed between two states of a memory, field by field.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.output import (
    DIM,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    Line,
    Styled,
    date_shown,
    document,
    note,
    write_lines,
)
from zeroclaw_tui.curation.changes import Outcome, PurgePlan
from zeroclaw_tui.curation.copies.copies import (
    clean_copies,
    find_copies,
    left_words,
    place_words,
    texts_of,
    texts_of_plan,
)
from zeroclaw_tui.curation.copies.places import Copy
from zeroclaw_tui.curation.copies.texts import Text
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.journal import Action
from zeroclaw_tui.curation.words import left_behind_words, renamed_words
from zeroclaw_tui.memory.change import Stamp, StoredRow
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, InspectorError
from zeroclaw_tui.memory.text import counted, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.transfer.reconcile import Target


MOST_ENTRIES = 1000
MOST_NAMED = 10
"""How many memories that came under another key a command names."""


def tell_document(
    store: Library | Target,
    outcome: Outcome,
    *,
    verb: str | None = None,
    dry_run: bool = False,
    entries: Sequence[dict[str, Any]] = (),
    copies: Sequence[Copy] = (),
    cleaned: Outcome | None = None,
    **more: Any,
) -> None:
    """Write the one document of a change; `verb` is what was typed, where that is another."""
    action = outcome.action
    name, place = (
        (store.memory.name, store.memory.location)
        if isinstance(store, Library)
        else (store.config.backend, store.location)
    )
    document(
        {
            "verb": verb or outcome.verb,
            "backend": name,
            "location": place,
            "dry_run": dry_run,
            "count": outcome.count,
            "action": action.number if action else None,
            "until": action.until if action else None,
            "entries": list(entries[:MOST_ENTRIES]),
            "changed": list(outcome.changed),
            "gone": list(outcome.gone),
            "renamed": dict(outcome.renamed),
            "notes": list(outcome.notes),
            "also_found_in": [_copy_as_json(copy) for copy in copies],
            "cleaned": _cleaned_as_json(cleaned),
            **more,
        }
    )


def spared_as_json(plan: PurgePlan) -> dict[str, Any]:
    """How many a plan spares only because a newer memory replaced them; nothing where no filter chose."""
    return {} if plan.filter is None else {"superseded_hidden": plan.superseded_hidden}


def stamp_as_json(stamp: Stamp) -> dict[str, Any]:
    """A planned memory, by the names of `entries`."""
    return {
        "id": stamp.id,
        "key": stamp.key,
        "category": stamp.category,
        "agent": stamp.agent,
        "timestamp": stamp.timestamp,
        "updated_at": stamp.updated_at,
        "size": stamp.size,
    }


def row_as_json(row: StoredRow) -> dict[str, Any]:
    """A kept memory, by the names of `entries`."""
    entry = row.entry()
    return {
        "id": entry.id,
        "key": entry.key,
        "category": entry.category,
        "agent": entry.agent,
        "timestamp": entry.timestamp,
        "updated_at": entry.updated_at,
        "size": entry.size,
    }


def action_as_json(action: Action) -> dict[str, Any]:
    """What was done, by the names of `undone`."""
    return {
        "number": action.number,
        "verb": action.verb,
        "at": action.at,
        "summary": action.summary,
        "count": action.count,
    }


def trash_lines(action: Action | None) -> Iterator[Line]:
    """Until when the trash keeps what a removal took, and what brings it back."""
    if action is not None:
        is_, it = ("is", "it") if action.count == 1 else ("are", "them")
        kept = f"{counted(action.count)} {is_} in the trash until {date_shown(action.until)}"
        yield (f"{kept}; `zeroclaw memory undo` brings {it} back.",)


def copies_lines(copies: Sequence[Copy], *, cleaning: bool = False) -> Iterator[Line]:
    """Where the text still lies: a line of all, and one for each place."""
    if not copies:
        return
    yield (Styled(left_words(copies), YELLOW),)
    for copy in copies:
        yield ("  ", place_words(copy), *_mark(copy))
    if not cleaning and any(copy.can_clean for copy in copies):
        yield (Styled("--clean-copies removes those marked as cleanable with the memory itself.", DIM),)


def cleaned_lines(cleaned: Outcome | None) -> Iterator[Line]:
    """What --clean-copies removed."""
    if cleaned is not None and cleaned.count:
        yield (f"Cleaned {counted(cleaned.count, 'copy')}; that is a change of its own, which undo takes back first.",)


def left_alone_lines(outcome: Outcome) -> Iterator[Line]:
    """Which memories were not touched, and under which keys others came back."""
    for sentence in (*left_behind_words(outcome), *renamed_words(outcome.renamed, MOST_NAMED)):
        yield (sentence,)


def tell_notes(outcome: Outcome) -> None:
    """Say on stderr what the change remarked."""
    for sentence in outcome.notes:
        note(f"zeroclaw: {sentence}")


def _mark(copy: Copy) -> Line:
    return (" ", Styled("(can be cleaned)", YELLOW)) if copy.can_clean else ()


def _copy_as_json(copy: Copy) -> dict[str, Any]:
    return {
        "kind": copy.kind,
        "place": copy.place,
        "count": copy.count,
        "can_clean": copy.can_clean,
        "remark": copy.remark,
    }


def _cleaned_as_json(cleaned: Outcome | None) -> dict[str, Any] | None:
    if cleaned is None:
        return None
    return {"action": cleaned.action.number if cleaned.action else None, "count": cleaned.count}


async def tell_done(
    library: Library,
    given: argparse.Namespace,
    plan: PurgePlan,
    outcome: Outcome,
    look: Callable[[], Awaitable[Copies]],
    done: Line,
    *,
    way_back: Line | None = None,
) -> int:
    """Tell it; the exit code. `done` says what was done, `way_back` what undoes it where nothing went to the trash.

    `look` finds where the texts still lie. That can take a while in a big store, so what was done is told before.
    """
    tell_notes(outcome)
    if given.json:
        copies = await look()
        left = {*outcome.changed, *outcome.gone}
        # Of a change that was stopped nobody here knows which were done: the trash does.
        those = [] if outcome.cancelled else [stamp for stamp in plan.stamps if stamp.id not in left]
        entries = [stamp_as_json(stamp) for stamp in those[:MOST_ENTRIES]]
        tell_document(
            library, outcome, entries=entries, copies=copies.found, cleaned=copies.cleaned, **spared_as_json(plan)
        )
    else:
        write_lines([done] if outcome.count or outcome.cancelled else [])
        write_lines(left_alone_lines(outcome))
        if way_back is None:
            write_lines(trash_lines(outcome.action))
        elif outcome.action is not None:
            write_lines([way_back])
        sys.stdout.flush()
        copies = await look()
        write_lines(cleaned_lines(copies.cleaned))
        write_lines(copies_lines(copies.found, cleaning=given.clean_copies))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(plan.count)}.")
        return INTERRUPTED
    return REFUSED if outcome.changed else copies.code


LOOKED_FOR_BEFORE = 10_000
"""Up to so many memories a plan says where copies lie; above that only what comes after the removal does."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Where texts still lie, what was cleaned, and the exit code of that."""

    found: tuple[Copy, ...] = ()
    cleaned: Outcome | None = None
    code: int = DONE


async def copies_of_plan(library: Library, plan: PurgePlan) -> tuple[Copy, ...]:
    """Where the texts of a plan lie besides; empty for a plan too large to look for."""
    if plan.count > LOOKED_FOR_BEFORE:
        return ()
    return tuple(await find_copies(library, await texts_of_plan(library, plan)))


async def copies_left(
    library: Library, given: argparse.Namespace, outcome: Outcome, texts: Sequence[Text] = ()
) -> Copies:
    """Look where the texts that a change removed still lie, and clean with --clean-copies.

    Nothing where nothing was removed. `texts` are those of a change that left nothing in the trash. The change itself
    is done: what fails here is told and becomes the exit code.
    """
    if not outcome.count:
        return Copies()
    try:
        if outcome.action is not None:
            texts = await texts_of(library, outcome.action.number)
        found = await find_copies(library, texts) if texts else []
        cleanable = [copy for copy in found if copy.can_clean]
        if not (given.clean_copies and cleanable):
            return Copies(tuple(found))
        cleaned = await clean_copies(library, cleanable)
        return Copies(tuple(await find_copies(library, texts)), cleaned)
    except InspectorError as error:
        note(f"zeroclaw: The change is done, but not what concerns copies elsewhere: {error}")
        return Copies(code=error.exit_code)


MOST_COMPARED = 200_000
"""Characters; comparing longer texts line by line could take minutes."""
FIELDS = ("key", "category", "session_id", "agent", "namespace", "importance", "pinned", "superseded_by")


def changed_fields(before: StoredRow, after: StoredRow) -> list[str]:
    """The names of what differs for a person, content last."""
    old, new = before.entry(), after.entry()
    return [name for name in (*FIELDS, "content") if getattr(old, name) != getattr(new, name)]


def content_difference(before: StoredRow | None, after: StoredRow | None) -> list[str] | None:
    """The unified diff of two contents, a string a line; None where they are equal or too long to compare."""
    old, new = _content(before), _content(after)
    if old == new or len(old) + len(new) > MOST_COMPARED:
        return None
    lines = difflib.unified_diff(old.split("\n") if old else [], new.split("\n") if new else [], lineterm="", n=2)
    return [*lines][2:]


def difference_lines(before: StoredRow | None, after: StoredRow | None) -> Iterator[Line]:
    """What differs, for people: a line for each field, then the diff of the content."""
    if before is not None and after is not None:
        old, new = before.entry(), after.entry()
        for name in changed_fields(before, after):
            if name != "content":
                yield (f"  {name.removesuffix('_id')}: ", *_from_to(old, new, name))
    differing = content_difference(before, after)
    if differing is None and _content(before) != _content(after):
        yield (f"  content: {_size(before)} → {_size(after)}, too long to compare here",)
    for line in differing or ():
        yield ("  ", _styled(line))


def _from_to(old: MemoryEntry, new: MemoryEntry, name: str) -> Line:
    return (_shown(getattr(old, name)), " → ", _shown(getattr(new, name)))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None else one_line(str(value)) or '""'


def _styled(line: str) -> Styled:
    code = {"+": GREEN, "-": RED}.get(line[:1], DIM)
    return Styled(line, code)


def _content(row: StoredRow | None) -> str:
    return "" if row is None else row.entry().content


def _size(row: StoredRow | None) -> str:
    return NOTHING if row is None else size_shown(row.entry().size)
