"""The sentences of the trash: what it holds, what came back, what goes for ever."""

from __future__ import annotations

from datetime import datetime

from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.trash.trash import Action, TrashRow, TrashUsage
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import absolute_time, count_text, relative_age, size_text
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_KEY
from zeroclaw_tui.tui.widgets.trash_rows import gone_words, store_words
from zeroclaw_tui.tui.words import memories_words

_MEGABYTE = 1024 * 1024
_LONGEST_KEY = 60
_KEYS_NAMED = 3
_VERBS = {
    "store": "stored over",
    "edit": "edited",
    "forget": "deleted",
    "purge": "purged",
    "clear": "cleared",
    "restore": "brought back",
    "undo": "removed by an undo",
    "redo": "deleted again",
    "clean": "cleaned",
    "hygiene": "let go by hygiene",
}


def title_facts(own: int, usage: TrashUsage) -> tuple[str, ...]:
    """How much is in the trash, and how long it stays; the facts after the first may be left out on a narrow line."""
    kept = f"kept {usage.days_kept} days or {usage.bytes_kept / _MEGABYTE:g} MB"
    holds = f"{memories_words(own)} in the trash" if own else "No memories in the trash"
    facts = [f"{holds}, {size_text(usage.bytes)}" if usage.bytes else holds, kept]
    if usage.rows > own:
        facts.append(f"{count_text(usage.rows - own)} of other stores")
    return tuple(facts)


def key_words(key: str) -> str:
    """A key within a sentence."""
    shown = one_line(key[: 4 * _LONGEST_KEY])
    return (shown if len(shown) <= _LONGEST_KEY else shown[: _LONGEST_KEY - 1] + "…") or EMPTY_KEY


def fate_parts(row: TrashRow, store: str, now: datetime, action: Action | None) -> list[str]:
    """What happened to a deleted memory, with how many others, and until when the trash holds it."""
    age = relative_age(row.deleted_at, now)
    facts = [f"{_VERBS.get(row.verb, row.verb)} {absolute_time(row.deleted_at)} ({age})"]
    if action is not None and action.count > 1:
        facts.append(f"with {count_text(action.count - 1)} more")
    facts.append(f"goes {absolute_time(row.until)} ({gone_words(row.until, now)})")
    if row.store != store:
        facts.append(f"from {store_words(row.store)}")
    return facts


def back_words(outcome: Outcome, key: str | None) -> str:
    """What came back, under which key where that is another one; `key` is that of a single memory."""
    if outcome.count == 0 and not outcome.renamed:
        said = "Nothing had to come back"
    elif outcome.count == 1 and key is not None:
        said = f"{key_words(key)} is back"
    else:
        said = f"{memories_words(outcome.count)} {'is' if outcome.count == 1 else 'are'} back"
    renamed = [f"{key_words(old)} is now {key_words(new)}" for old, new in list(outcome.renamed.items())[:_KEYS_NAMED]]
    more = len(outcome.renamed) - len(renamed)
    names = [*renamed, f"{count_text(more)} more under other keys"] if more else renamed
    stopped = ["It was stopped before the rest."] if outcome.cancelled else []
    return " ".join([f"{said}{': ' if names else ''}{', '.join(names)}.", *stopped, *outcome.notes])


def gone_for_ever_words(count: int) -> str:
    """What the trash let go of."""
    return f"{memories_words(count)} {'is' if count == 1 else 'are'} gone for ever."


def empty_words(contains: str, *, was_used: bool) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Why the list is empty, and what would fill it."""
    if contains:
        return f"Nothing in the trash contains “{one_line(contains)[:60]}”.", "", (("esc", "leave the search"),)
    fact = "Nothing is in the trash any more." if was_used else "Nothing was deleted here yet."
    return fact, "d in the list moves memories here.", (("esc", "back to the list"),)
