"""What commands and screens both say: of a plan to bring memories in, of a change that was made or taken back, and of
memories that a newer one replaced.

ZeroClaw hides replaced memories, so a number that leaves them out says how many they are. What masks secrets and what
tells of changes is only imported where it is shown: a list says its numbers without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.text import counted, cut, first_names, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.journal_records import Action, Verb
    from zeroclaw_tui.memory.change import ApplyResult, OnConflict, RowChange

SHOWS_SUPERSEDED = "--superseded show"
"""What a command takes replaced memories along by."""
_NAME_CELLS, _MOST_NAMED = 40, 3
_LONGEST_SUMMARY = 400
_BACK = "reverses that"
_DONE: dict[Verb, tuple[str, str, str, str]] = {
    "store": ("Stored", "", _BACK, "Nothing was stored."),
    "edit": ("Changed", "", _BACK, "Nothing was changed."),
    "forget": ("Deleted", "", "restores {}", "Nothing was deleted."),
    "purge": ("Purged", "", "restores {}", "Nothing was deleted."),
    "merge": ("Merged", " into ", "restores {}", "Nothing was merged."),
    "import": ("Imported", " from ", _BACK, "Nothing to import."),
    "hydrate": ("Imported", " from ", _BACK, "Nothing to import."),
    "restore": ("Restored", "", _BACK, "Nothing to restore."),
}
"""Of each verb: what was done, what the other thing it was done with follows on, what undo does, and for no memory."""


def hidden_fact(count: int) -> str:
    """Beside a number that leaves them out: "3 superseded hidden"."""
    return f"{count:,} superseded hidden"


def stay_words(count: int, way: str = f"{SHOWS_SUPERSEDED} takes") -> str:
    """That a removal spares them, and how it would not; "" where there are none. `way` ends in a verb."""
    stay, them = ("memory stays", "it") if count == 1 else ("memories stay", "them")
    return f"{count:,} superseded {stay}; {way} {them} along." if count else ""


def summary_words(action: Action) -> str:
    """What was done, on one line without a full stop, secrets masked."""
    from zeroclaw_tui.memory.secret_text import masked

    return one_line(masked(action.summary[:_LONGEST_SUMMARY])).rstrip(".") or action.verb


def reversal_words(change: RowChange) -> str:
    """What becomes of a row when its change is taken back: 'comes back:  lang  "Prefers Rust"'; not cut to a width."""
    from zeroclaw_tui.curation.clean_up import excerpt_of
    from zeroclaw_tui.memory.change import AGENTS, AUDIT_LOG, EMBEDDING_CACHE, FILE, MEMORIES, OTHER_ROW
    from zeroclaw_tui.memory.secret_text import masked

    if change.row.table != MEMORIES:
        others = {
            FILE: "file", AUDIT_LOG: "audit entry", OTHER_ROW: "row", AGENTS: "agent", EMBEDDING_CACHE: "cached vector",
        }  # fmt: skip
        return f"{others.get(change.row.table, change.row.table)} restored:  {one_line(change.row.id)}"
    entry = change.row.entry()
    key = one_line(masked(entry.key))
    if change.before is None:
        return f"goes:  {key}"
    text = excerpt_of(entry.content)
    return f'{"comes back" if change.after is None else "is again"}:  {key}  "{text}"'


def clashing_words(foreseen: ApplyResult, on_conflict: OnConflict) -> str:
    """How many cannot simply come back, and what becomes of them, before they are named; "" where all can."""
    come, replace = ("comes", "replaces") if foreseen.conflict_count == 1 else ("come", "replace")
    becomes = {
        "refuse": "in conflict, so nothing would be restored",
        "overwrite": f"{come} back and {replace} the current version, which goes to the trash",
        "rename": f"{come} back under another key",
        "skip": "in conflict and would be left out",
    }
    return f"{foreseen.conflict_count:,} {becomes[on_conflict]}:" if foreseen.conflict_count else ""


def undone_words(outcome: Outcome) -> str:
    """What an undo took back, a sentence or more."""
    again = [COMES_AGAIN] if is_taken_back_hygiene(outcome) else []
    return " ".join([done_words(outcome, reversed_words(outcome)), *again])


def reversed_words(outcome: Outcome) -> str:
    """What an undo took back, or a redo did again, one sentence."""
    action = outcome.redone if outcome.verb == "redo" else outcome.undone
    what = summary_words(action) if action is not None else counted(outcome.count)
    return f"{'Redid' if outcome.verb == 'redo' else 'Undid'}: {what}."


def done_words(outcome: Outcome, said: str, most: int = _MOST_NAMED) -> str:
    """What a change did, as it was `said`, then under which keys memories came, that it was stopped, which it did not
    touch, and its notes."""
    stopped = ["Stopped before the end; run it again to continue."] if outcome.cancelled else []
    left = left_behind_words(outcome, named=False)
    return " ".join([said, *renamed_words(outcome.renamed, most), *stopped, *left, *map(one_line, outcome.notes)])


def kept_words(count: int, until: str, way: str, what: str = "") -> str:
    """Where a removal put memories, and the `way` they come back by (" · u"); `what` names a single one."""
    is_, it = ("is", "it") if count == 1 else ("are", "them")
    kept = f"{what or counted(count)} {is_} in the trash{f' until {until}' if until else ''}"
    return f"{kept}{way} restores {it}."


def change_words(outcome: Outcome, way: str = "", beside: str = "", *, what: str = "", back: str = "") -> str:
    """What a change did, and the `way` that reverses that (" · u").

    `beside` is the file, category or number of memories that it was done with, `what` names a single memory, or says
    what they are; `back` is what undo does, where that is something of its own.
    """
    done, preposition, usual, nothing = _DONE[outcome.verb]
    if not outcome.count and not outcome.cancelled:
        return nothing
    undone = (back or usual).format("it" if outcome.count == 1 else "them")
    says_back = f"{way} {undone}" if way and outcome.action is not None else ""
    return f"{done} {what or counted(outcome.count)}{preposition if beside else ''}{beside}{says_back}."


def renamed_words(renamed: Mapping[str, str], most: int = _MOST_NAMED, *, foreseen: bool = False) -> Iterator[str]:
    """Under which keys memories came, or would come, whose own were taken: a sentence for each of the first, one for
    the others."""
    becomes, come = ("becomes", "come") if foreseen else ("is now", "came")
    for old, new in islice(renamed.items(), most):
        yield f"{_named(old)} {becomes} {_named(new)}."
    if len(renamed) > most:
        yield f"{len(renamed) - most:,} more {come} under other keys."


def left_behind_words(outcome: Outcome, *, named: bool = True) -> Iterator[str]:
    """How many memories a change did not touch, and which by id."""
    for ids, why in ((outcome.changed, "skipped because of a newer change"), (outcome.gone, "already deleted")):
        if ids:
            yield f"{counted(len(ids))} {why}{f': id {first_names(ids)}' if named else ''}."


def _named(key: str) -> str:
    return cut(one_line(key), _NAME_CELLS) or "(no key)"


COMES_AGAIN = "ZeroClaw runs the same hygiene at its next start unless you change its rules in [memory] of config.toml."
"""What a person needs to know after a run was undone: its rules are still in effect."""


def is_taken_back_hygiene(outcome: Outcome) -> bool:
    """Whether an undo took a run of hygiene back."""
    return outcome.undone is not None and outcome.undone.verb == "hygiene"
