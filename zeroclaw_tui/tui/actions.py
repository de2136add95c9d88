"""The questions and the reports of changes to memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App
from textual.content import Content

from zeroclaw_tui.memory.days import absolute_time, moment, time_here
from zeroclaw_tui.memory.query import EXCERPTS, Query
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, cut, one_line
from zeroclaw_tui.memory.text_difference import diff_lines
from zeroclaw_tui.tui.dialogs import SIGN_LOOKS, Answer, Question, confirmation, yes_or_no
from zeroclaw_tui.tui.format import fit, shown_words
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY

# What a change needs is imported when one is made: none of it must delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal_records import Action
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.purge_plan import PurgePlan
    from zeroclaw_tui.memory.change import Conflicts, OnConflict
    from zeroclaw_tui.memory.entry import MemoryEntry


AT_ONCE_FOR = timedelta(minutes=10)
"""For so long a change of this session is undone and redone without a question."""
_OTHER_LINES, _LEAST_ROWS, _MAX_ROWS = 20, 3, 12
"""What the question before a deletion needs for all that is no memory, and how many memories it shows."""
_KEY_CELLS, _TEXT_CELLS = 20, 34
_MAX_CONFLICTS = 2
_MAX_KEY, _MAX_LINE, _MAX_TEXT = 60, 160, 2000
_FIELDS = (
    "key", "category", "session_id", "namespace", "importance", "pinned", "kind", "superseded_by", "agent",
)  # fmt: skip
_MAX_VALUE = 80
_MAX_LINES, _SAME_SHOWN = 6, 30
"""How many lines of a difference a question shows, and how much of what stays the same."""


async def confirms_turn(app: App[Any], library: Library, change: Action, way: Literal["undo", "redo"]) -> bool:
    """Whether this change is to be undone or redone."""
    now, made, is_ours = library.trash.now(), moment(change.at), library.trash.was_begun_here(change.number)
    if is_ours and made is not None and now - made < AT_ONCE_FOR:
        return True
    title = f"{way.capitalize()}: {change.title}, {time_here(change.at)}?"
    body = None if is_ours else Content("It was made in an earlier session, or by another program.")
    return await app.push_screen_wait(yes_or_no(title, body, way.capitalize())) is True


async def re_embed(library: Library, entry: MemoryEntry) -> tuple[bool, str]:
    """Re-embed one memory; returns whether it has a vector, and a sentence that says what was sent where.

    Raises InspectorError kinds.
    """
    from zeroclaw_tui.curation.reindex import announce, plan_reindex, reindex
    from zeroclaw_tui.embeddings.endpoint import INTERACTIVE

    plan = await plan_reindex(library, ids=(entry.id,))
    if not plan.count:
        return False, "This memory has no text to embed."
    announce(library, plan)
    sent = f" Sent to {library.embedding_host}." if plan.is_remote else ""
    done = await reindex(library, plan, retries=INTERACTIVE)
    if done.filled:
        return True, f"Its embedding now matches its content.{sent}"
    return False, " ".join(done.failed) or "Nothing was updated, because the memory has changed. Press r to reload."


async def confirms_removal(app: App[Any], library: Library, plan: PurgePlan) -> bool:
    """Ask, by the size of the plan; False when nothing should be deleted."""
    shown = max(_LEAST_ROWS, min(_MAX_ROWS, app.size.height - _OTHER_LINES))
    handles = [stamp.handle for stamp in plan.stamps[:shown]]
    first = await library.memory.rows(Query(EXCERPTS, handles=handles))
    what = key_words(masked(first[0].key)) if plan.count == len(first) == 1 else counted(plan.count)
    dialog = confirmation(f"Delete {what}?", _removal_content(library, plan, first), plan.count, "delete")
    return bool(await app.push_screen_wait(dialog))


def _removal_content(library: Library, plan: PurgePlan, first: Sequence[MemoryEntry]) -> Content:
    """Categories and extent of what is deleted, where it goes, and the first memories."""
    remarks = [
        plan.superseded_sentence("“superseded” in the facets takes"),
        "Deleted memories go to the trash. Press u to undo.",
        library.memory.why_not.get("zeroclaw_forget"),
    ]
    parts: list[str | tuple[str, str]] = [
        ("\n".join([*plan.sentences(), " ".join(filter(None, remarks))]), MUTED),
        "\n",
    ]
    for entry in first:
        key, text = key_words(masked(entry.key)), one_line(masked(entry.content[:_MAX_TEXT])) or EMPTY_CONTENT
        if plan.count == 1:
            parts.append(f"\n{cut(text, _MAX_LINE)}")
        else:
            date = (f"  {absolute_time(entry.when)[:10]}", MUTED)
            parts += [f"\n{fit(key, _KEY_CELLS)}  {fit(text, _TEXT_CELLS)}", date]
    more = plan.count - len(first)
    parts.append((f"\n… {more:,} more" if more > 0 else "", MUTED))
    return Content.assemble(*parts)


def restore_question(conflicts: Conflicts) -> Question[OnConflict]:
    """What is in the way of the memories to restore, and what restoring would change; gives the choice."""
    parts: list[Content] = []
    for found in conflicts.found[:_MAX_CONFLICTS]:
        parts.append(Content(shown_words(found.words)))
        if found.existing is not None:
            parts.append(difference_content(found.existing.entry(), found.wanted.entry()))
    more = conflicts.total - _MAX_CONFLICTS
    parts += [Content.styled(f"… and {more:,} more", MUTED)] if more > 0 else []
    answers: list[Answer[OnConflict]] = [
        Answer("o", "Overwrite", "overwrite", "the current version goes to the trash"),
        Answer("b", "Keep both", "rename", "under a new key"),
    ]
    they_were = "it was" if conflicts.total == 1 else "they were"
    title = f"{counted(conflicts.total)} cannot be restored as {they_were}"
    return Question(title, Content("\n").join(parts), "Cancel", answers)


def field_changes(old: MemoryEntry, new: MemoryEntry) -> list[tuple[str, str, str]]:
    """Every field but the content that differs: its name, its old value and its new value."""
    return [
        (name.removesuffix("_id").replace("_", " "), _field_words(getattr(old, name)), _field_words(getattr(new, name)))
        for name in _FIELDS
        if getattr(old, name) != getattr(new, name)
    ]


def difference_content(old: MemoryEntry, new: MemoryEntry) -> Content:
    """The first lines and all fields in which two versions of a memory differ."""
    lines = [line for line in diff_lines(old.content, new.content) if line.sign in ("+", "-")]
    # Of a long line that changed near its end the beginning would say nothing.
    texts = zip(*(line.text for line in lines), strict=False) if len(lines) == 2 else ()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], texts))
    start = max(0, same - _SAME_SHOWN)
    parts = [
        Content.styled(f"{line.sign} {'…' if start else ''}{cut(line.text[start:], 120)}", SIGN_LOOKS[line.sign])
        for line in lines[:_MAX_LINES]
    ]
    if len(lines) > _MAX_LINES:
        parts.append(Content.styled(f"… {counted(len(lines) - _MAX_LINES, 'more line')}", MUTED))
    parts += [Content.styled(f"{name}  {before} → {after}", MUTED) for name, before, after in field_changes(old, new)]
    return Content("\n").join(parts)


def _field_words(value: object) -> str:
    if value is None or value == "":
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cut(one_line(f"{value:g}" if isinstance(value, float) else str(value)[:_MAX_TEXT]), _MAX_VALUE)


def key_words(key: str) -> str:
    """A key within a sentence."""
    return cut(one_line(key[: 4 * _MAX_KEY]), _MAX_KEY) or EMPTY_KEY
