"""The plan of a deletion and the outcome of a change, as JSON documents and in sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.curation.journal_records import Action, Verb
from zeroclaw_tui.memory.change import AGENTS, EMBEDDING_CACHE, FILE, MEMORIES, OTHER_ROW, Row, RowChange, RowVersion
from zeroclaw_tui.memory.days import date_shown, moment
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry

TYPED_FROM = 11
"""A deletion of this many memories or more is confirmed by typing their number."""
_CATEGORIES_NAMED, _MOST_CATEGORY_CELLS = 4, 24
_MOST_RENAMED = 3
_EXCERPT_CHARACTERS = 120
_MASKED_CHARACTERS = 4000
"""Excerpts are cut from this much of a content, after its secrets are masked."""
_LAST_TOKEN = re.compile(r"[A-Za-z0-9_\-./+=:@%~]+\Z")
_LAST_TOKEN_CHARACTERS = 12
_KEY_CELLS = 40
_FIELDS = (
    "key", "category", "session_id", "agent", "namespace", "importance", "pinned", "kind", "superseded_by",
    "content",
)  # fmt: skip
_DONE: dict[Verb, tuple[str, str, str, str]] = {
    "store": ("Stored", "", "reverses that", "Nothing was stored."),
    "edit": ("Changed", "", "reverses that", "Nothing was changed."),
    "forget": ("Deleted", "", "restores {}", "Nothing was deleted."),
    "purge": ("Purged", "", "restores {}", "Nothing was deleted."),
    "merge": ("Merged", " into ", "restores {}", "Nothing was merged."),
    "import": ("Imported", " from ", "reverses that", "Nothing to import."),
    "hydrate": ("Imported", " from ", "reverses that", "Nothing to import."),
    "restore": ("Restored", "", "reverses that", "Nothing to restore."),
}
"""By verb: its past tense, the preposition before `other`, the effect of undo, and the sentence for a count of 0."""
_REVERSED: dict[Verb, str] = {"undo": "Undid", "redo": "Redid"}
_THINGS = {FILE: "file", OTHER_ROW: "row", AGENTS: "agent", EMBEDDING_CACHE: "cached vector"}


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The memories to delete, in these versions; the filter leaves out `superseded_hidden` superseded ones."""

    versions: tuple[RowVersion, ...]
    filter: MemoryFilter | None = None
    superseded_hidden: int = 0

    @property
    def count(self) -> int:
        return len(self.versions)

    def as_json(self) -> dict[str, Any]:
        """Return how many superseded memories are left out; {} if no filter selected the memories."""
        return {} if self.filter is None else {"superseded_hidden": self.superseded_hidden}

    def sentences(self) -> tuple[str, str]:
        """Say which categories the memories have, the largest first, and how old and large they are."""
        categories = Counter(version.category for version in self.versions).most_common()
        parts = [
            f"{cut(one_line(masked(name)), _MOST_CATEGORY_CELLS) or '(blank)'} {count:,}"
            for name, count in categories[:_CATEGORIES_NAMED]
        ]
        if others := categories[_CATEGORIES_NAMED:]:
            parts.append(f"{sum(count for _, count in others):,} of other categories ({len(others):,})")
        facts = [size_shown(sum(version.size for version in self.versions))]
        dated = [(when, version.when) for version in self.versions if (when := moment(version.when)) is not None]
        if dated:
            oldest, newest = date_shown(min(dated)[1]), date_shown(max(dated)[1])
            facts = [f"all of {oldest}" if oldest == newest else f"oldest {oldest} · newest {newest}", *facts]
        return " · ".join(parts), " · ".join(facts)


async def plan_purge(library: Library, filter: MemoryFilter) -> PurgePlan:
    """Plan to delete every memory that a filter selects."""
    selected = await versions(library.memory, filter)
    return PurgePlan(tuple(selected), filter, await library.superseded_hidden(filter))


def superseded_sentence(count: int, way: str = "--superseded show takes") -> str:
    """Say how many superseded memories are left out, and the `way` to include them, ending in a verb; "" for none."""
    are, them = ("memory is", "it") if count == 1 else ("memories are", "them")
    return f"{count:,} superseded {are} left out; {way} {them} along." if count else ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a change. `action` is None if nothing changed or the change cannot be undone.

    `count` rows were changed; `changed` and `missing` are ids that were skipped because they were changed or deleted
    since the plan. `row` is the row after a store or an edit, `reversed_action` the action that was undone or redone.
    `notes` are sentences. `renamed` maps old keys to the keys that were used instead.
    """

    verb: Verb
    count: int
    action: Action | None = None
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cancelled: bool = False
    row: Row | None = None
    reversed_action: Action | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the JSON documents of all changes share."""
        number, until = (None, None) if self.action is None else (self.action.number, self.action.until)
        facts = {"verb": self.verb, "count": self.count, "action": number, "until": until}
        skipped = {"changed": list(self.changed), "missing": list(self.missing)}
        return {**facts, **skipped, "renamed": dict(self.renamed), "notes": list(self.notes)}

    def headline(self, undo: str = "", other: str = "", *, what: str = "") -> str:
        """Say in one sentence what was done and how to undo it: `undo` is for example " · u".

        `what` names the memories, `other` the file, category or memory that they came from or were merged into.
        """
        if self.verb in _REVERSED:
            what = counted(self.count) if self.reversed_action is None else self.reversed_action.title
            return f"{_REVERSED[self.verb]}: {what}."
        done, preposition, reverses, nothing = _DONE[self.verb]
        if not self.count and not self.cancelled:
            return nothing
        undoing = reverses.format("it" if self.count == 1 else "them")
        ending = f"{undo} {undoing}" if undo and self.action is not None else ""
        return f"{done} {what or counted(self.count)}{preposition if other else ''}{other}{ending}."

    def trash_sentence(self, undo: str, what: str = "") -> str:
        """Say that deleted memories are in the trash, and until when; `what` names a single memory."""
        are, them = ("is", "it") if self.count == 1 else ("are", "them")
        until = f" until {date_shown(self.action.until)}" if self.action is not None else ""
        return f"{what or counted(self.count)} {are} in the trash{until}{undo} restores {them}."

    def report(self, undo: str = "", *, what: str = "", other: str = "") -> str:
        """Report everything in one line: deleted memories are in the trash, and a written memory is named."""
        if not what and self.row is not None:
            what = key_text(self.row.entry().key)
        is_removal = self.verb in ("forget", "purge") and self.count > 0
        headline = self.trash_sentence(undo, what) if is_removal else self.headline(undo, other, what=what)
        return " ".join(self.sentences(headline))

    def sentences(self, headline: str = "") -> list[str]:
        """Report everything: what was done, new keys, whether it was stopped, what was skipped, and notes."""
        return [
            headline or self.headline(),
            *renaming_sentences(self.renamed, _MOST_RENAMED),
            *(["Stopped before the end; run it again to continue."] if self.cancelled else []),
            *self.skipped_sentences(),
            *map(one_line, self.notes),
        ]

    def skipped_sentences(self, *, with_ids: bool = False) -> list[str]:
        """Say how many memories were skipped, and why."""
        reasons = ((self.changed, "skipped because of a newer change"), (self.missing, "already deleted"))
        return [
            f"{counted(len(ids))} {why}{f': id {first_names(ids)}' if with_ids else ''}." for ids, why in reasons if ids
        ]


def changed_fields(old: MemoryEntry, new: MemoryEntry) -> list[str]:
    """Return the names of the fields that differ, content last."""
    return [name for name in _FIELDS if getattr(old, name) != getattr(new, name)]


def undo_sentence(change: RowChange) -> str:
    """Say what an undo does to a row, for example 'comes back:  lang  "Prefers Rust"'; not truncated."""
    row = change.row
    if row.table != MEMORIES:
        return f"{_THINGS.get(row.table, row.table)} restored:  {one_line(row.id)}"
    entry = row.entry()
    key = one_line(masked(entry.key))
    if change.before is None:
        return f"is deleted:  {key}"
    excerpt = one_line(excerpt_of(entry.content))
    return f'{"comes back" if change.after is None else "is again"}:  {key}  "{excerpt}"'


def renaming_sentences(renamed: Mapping[str, str], most: int, *, is_plan: bool = False) -> list[str]:
    """Say which keys were replaced because they were taken: a sentence for each of the first, one for the rest."""
    becomes, come = ("becomes", "come") if is_plan else ("is now", "came")
    sentences = [f"{key_text(old)} {becomes} {key_text(new)}." for old, new in islice(renamed.items(), most)]
    return sentences + ([f"{len(renamed) - most:,} more {come} under other keys."] if len(renamed) > most else [])


def key_text(key: str) -> str:
    """Shorten a key for a sentence."""
    return cut(one_line(key), _KEY_CELLS) or "(no key)"


def excerpt_of(content: str, *, is_cut: bool = False) -> str:
    """Return a content's start on one line, secrets masked, control characters included; `is_cut` if incomplete."""
    head = masked(content[:_MASKED_CHARACTERS])
    if is_cut or len(content) > _MASKED_CHARACTERS:
        # The last word may be a truncated secret.
        head = _LAST_TOKEN.sub(lambda last: last[0][:_LAST_TOKEN_CHARACTERS], head) + "…"
    line = re.sub(r"[ \t\r\n\f\v]+", " ", head).strip(" ")
    return line if len(line) <= _EXCERPT_CHARACTERS else line[: _EXCERPT_CHARACTERS - 1].rstrip() + "…"
