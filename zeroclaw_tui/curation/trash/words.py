"""What a kept change is called: the action, what taking it back does to a row, and what was taken back or redone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.curation.audit.findings import excerpt_of
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.hygiene.words import COMES_AGAIN, is_taken_back_hygiene
from zeroclaw_tui.memory.change import AGENTS, AUDIT_LOG, EMBEDDING_CACHE, FILE, MEMORIES, OTHER_ROW, RowChange
from zeroclaw_tui.memory.text import counted, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.trash.journal import Action

_LONGEST = 400
_OTHERS = {FILE: "file", AUDIT_LOG: "audit entry", OTHER_ROW: "row", AGENTS: "agent", EMBEDDING_CACHE: "cached vector"}


def summary_words(action: Action) -> str:
    """What was done, on one line without a full stop, secrets masked."""
    return one_line(masked(action.summary[:_LONGEST])).rstrip(".") or action.verb


def reversal_words(change: RowChange) -> str:
    """What becomes of a row when its change is taken back: 'comes back:  lang  "Prefers Rust"'; not cut to a width."""
    if change.row.table != MEMORIES:
        return f"{_OTHERS.get(change.row.table, change.row.table)} as before:  {one_line(change.row.id)}"
    entry = change.row.entry()
    key = one_line(masked(entry.key))
    if change.before is None:
        return f"goes:  {key}"
    text = excerpt_of(entry.content)
    return f'{"comes back" if change.after is None else "is again"}:  {key}  "{text}"'


def undone_words(outcome: Outcome) -> str:
    """What an undo took back, a sentence or more."""
    again = [COMES_AGAIN] if is_taken_back_hygiene(outcome) else []
    return " ".join([_told("Taken back", outcome, outcome.undone), *again])


def redone_words(outcome: Outcome) -> str:
    """What a redo did again, a sentence or more."""
    return _told("Done again", outcome, outcome.redone)


def _told(done: str, outcome: Outcome, action: Action | None) -> str:
    what = summary_words(action) if action is not None else counted(outcome.count)
    stopped = ["It was stopped before the rest."] if outcome.cancelled else []
    return " ".join([f"{done}: {what}.", *stopped, *outcome.notes])
