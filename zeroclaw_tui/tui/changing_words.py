"""The sentences of changing memory: what a plan would remove, what was done, what came back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.superseded import stay_words
from zeroclaw_tui.curation.trash.words import redone_words, undone_words
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import absolute_time, count_text, fit, size_text
from zeroclaw_tui.tui.screens.trash_words import key_words
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_CONTENT
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome, PurgePlan
    from zeroclaw_tui.curation.copies.copies import Copy, Kind
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry

_SILENT: frozenset[Kind] = frozenset({"trash"})
_SILENT_AFTER_EDIT: frozenset[Kind] = _SILENT | {
    "write-ahead log",
    "free pages",
    "embedding cache",
    "lucid",
}
_CATEGORIES_NAMED = 4
_KEYS_NAMED = 3
_LONGEST_CATEGORY = 24
_LONGEST_LINE = 160
_LONGEST_LOOKED_AT = 2000


def plan_title(plan: PurgePlan) -> str:
    """The question of a plan."""
    return f"{'Purge' if plan.is_typed else 'Delete'} {memories_words(plan.count)}?"


def plan_categories(plan: PurgePlan) -> list[str]:
    """How many of which category."""
    categories = list(plan.categories.items())
    # One more name takes no more room than the words that would stand for it.
    named = len(categories) if len(categories) <= _CATEGORIES_NAMED + 1 else _CATEGORIES_NAMED
    facts = [f"{_category(name)} {count_text(count)}" for name, count in categories[:named]]
    if len(categories) > named:
        rest = sum(count for _, count in categories[named:])
        facts.append(f"{count_text(rest)} in {count_text(len(categories) - named)} other categories")
    return facts


def plan_extent(plan: PurgePlan) -> str:
    """From when to when, and how much."""
    ages = []
    if plan.oldest and plan.newest:
        oldest, newest = absolute_time(plan.oldest)[:10], absolute_time(plan.newest)[:10]
        ages = [f"all of {oldest}"] if oldest == newest else [f"oldest {oldest}", f"newest {newest}"]
    return " · ".join([*ages, size_text(plan.size)])


def plan_remarks(library: Library, plan: PurgePlan) -> str:
    """Which memories stay, where deleted ones go, and what ZeroClaw itself would have done."""
    remarks = [
        _spared(plan),
        "They go to the trash; u brings them back.",
        library.memory.capabilities.why_not.get("zeroclaw_forget"),
    ]
    return " ".join(remark for remark in remarks if remark)


def worth_telling(copies: Sequence[Copy], *, is_edit: bool = False) -> list[Copy]:
    """The copies a person should hear of unasked: not the trash, which was told of; after an edit only those found.

    Every edit leaves its old text in the database's own pages for a while, and its hash in the embedding cache; lucid
    has what it was given before.
    """
    silent = _SILENT_AFTER_EDIT if is_edit else _SILENT
    return [copy for copy in copies if copy.kind not in silent and not (is_edit and copy.count is None)]


def copies_words(found: str) -> str:
    """Where else the texts lie, out of the summary of what was found."""
    return f"Copies also lie in: {one_line(found)}" if found else "No copies of them were found elsewhere."


def memory_facts(entry: MemoryEntry) -> str:
    """Category, creation and size of one memory."""
    return " · ".join([_category(entry.category), absolute_time(entry.when), size_text(entry.size)])


def first_line(content: str) -> str:
    """The beginning of a memory, as one line, secrets in it masked."""
    return fit(one_line(masked(content[:_LONGEST_LOOKED_AT])), _LONGEST_LINE).rstrip() or EMPTY_CONTENT


def one_remark(library: Library, plan: PurgePlan | None = None) -> str:
    """As that, for a plan of one memory."""
    remarks = [
        "" if plan is None else _spared(plan),
        "It goes to the trash; u brings it back.",
        library.memory.capabilities.why_not.get("zeroclaw_forget"),
    ]
    return " ".join(remark for remark in remarks if remark)


def removed_words(outcome: Outcome, planned: int, key: str | None, now: datetime) -> str:
    """What a removal did; `key` is that of a single memory."""
    until = until_words(outcome.action.until, now) if outcome.action else ""
    kept = f"in the trash{f' until {until}' if until else ''}"
    if outcome.count == 0:
        said = "Nothing was deleted."
    elif outcome.count == 1:
        said = f"{key_words(key) if key is not None else '1'} is {kept} · u brings it back."
    else:
        said = f"{count_text(outcome.count)} {kept} · u brings them back."
    sentences = [said]
    if outcome.cancelled:
        sentences.append(f"Stopped: {count_text(max(0, planned - outcome.count))} were left as they are.")
    if outcome.changed:
        sentences.append(f"{_changed(len(outcome.changed))} meanwhile and stayed.")
    if outcome.gone:
        sentences.append(f"{count_text(len(outcome.gone))} had gone already.")
    return " ".join([*sentences, *map(one_line, outcome.notes)])


def taken_back_words(outcome: Outcome) -> str:
    """What an undo took back, and under which keys where those are others."""
    return " ".join([undone_words(outcome), *_renamed_words(outcome)])


def done_again_words(outcome: Outcome) -> str:
    """The same of a redo."""
    return " ".join([redone_words(outcome), *_renamed_words(outcome)])


def _renamed_words(outcome: Outcome) -> list[str]:
    renamed = [f"{key_words(old)} is now {key_words(new)}." for old, new in list(outcome.renamed.items())[:_KEYS_NAMED]]
    more = len(outcome.renamed) - len(renamed)
    return [*renamed, *([f"{count_text(more)} more came back under other keys."] if more else [])]


def written_words(outcome: Outcome) -> str:
    """What a new or edited memory came to."""
    if outcome.count == 0:
        return " ".join(["Nothing was changed.", *map(one_line, outcome.notes)])
    key = key_words(outcome.row.entry().key) if outcome.row else memories_words(outcome.count)
    said = f"{key} is {'stored' if outcome.verb == 'store' else 'changed'} · u takes it back."
    return " ".join([said, *map(one_line, outcome.notes)])


def until_words(until: str, now: datetime) -> str:
    """A day to come as "22 Dec", with its year when that is another one; empty when it is no moment."""
    then = moment(until)
    if then is None:
        return ""
    then = then.astimezone(now.tzinfo)
    return f"{then.day} {then:%b}" + (f" {then.year}" if then.year != now.year else "")


def _spared(plan: PurgePlan) -> str:
    return stay_words(plan.superseded_hidden, "“superseded” in the facets takes")


def _changed(count: int) -> str:
    return "1 changed" if count == 1 else f"{count_text(count)} changed"


def _category(category: str) -> str:
    return fit(one_line(category[:_LONGEST_LOOKED_AT]), _LONGEST_CATEGORY).rstrip() or "(blank)"
