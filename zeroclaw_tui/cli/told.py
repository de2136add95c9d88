"""What a change says when it is done: one document for scripts, a few lines for people.

Every verb that changes memory writes the same document; what does not concern it is null or empty:

    {"verb", "backend", "location", "dry_run", "count", "action", "until", "entries", "changed", "gone", "renamed",
     "notes", "also_found_in", "cleaned"}

`count` is how many memories were changed, or would be with `dry_run`. `action` is the number of the change in the
trash and `until` when the trash lets go of it (RFC 3339); both null when nothing changed or nothing brings it back.
`entries` holds at most 1,000 of {"id", "key", "category", "agent", "timestamp", "updated_at", "size"}, `size` in bytes.
`changed` and `gone` are ids that were left alone because they changed or went meanwhile; `renamed` maps old keys to
those they came back under. `also_found_in` lists {"kind", "place", "count", "can_clean", "remark"}; `cleaned` is
{"action", "count"} where --clean-copies cleaned. A verb's own names come after these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.output import DIM, YELLOW, Line, Styled, date_shown, document, note
from zeroclaw_tui.curation.changes import Outcome, PurgePlan
from zeroclaw_tui.curation.copies.copies import left_words, place_words
from zeroclaw_tui.curation.copies.places import Copy
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.journal import Action
from zeroclaw_tui.memory.change import Stamp, StoredRow
from zeroclaw_tui.memory.text import counted, first_names, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.transfer.target import Target

MOST_ENTRIES = 1000


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
    for ids, why in ((outcome.changed, "changed meanwhile and stayed"), (outcome.gone, "had gone already")):
        if ids:
            yield (f"{counted(len(ids))} {why}: id {first_names(ids)}.",)
    for old, new in outcome.renamed.items():
        yield (f"{one_line(old)} came back as {one_line(new)}.",)


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
