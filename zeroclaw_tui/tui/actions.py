"""The questions and the reports of changes to memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App
from textual.content import Content

from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.query import EXCERPTS, Query
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, cut, one_line
from zeroclaw_tui.memory.text_difference import diff_lines
from zeroclaw_tui.tui.dialogs import SIGN_LOOKS, Answer, Question, confirmation, yes_or_no
from zeroclaw_tui.tui.format import fit, relative_age
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY

# What a change needs is imported when one is made: none of it must delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal_records import Action
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.purge_plan import PurgePlan
    from zeroclaw_tui.memory.change import Conflicts, OnConflict, Row, RowConflict
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
_LABEL_CELLS, _DATE_CELLS, _PADDING, _MAX_CELLS = 15, 16, 8, 72
_REASONS = {
    "key exists": "Its key is in use again.",
    "changed": "It has changed since then.",
    "deleted": "It no longer exists.",
}


async def confirms_turn(app: App[Any], library: Library, change: Action, way: Literal["undo", "redo"]) -> bool:
    """Whether this change is to be undone or redone."""
    now, made, is_ours = library.trash.now(), moment(change.at), library.trash.was_begun_here(change.number)
    if is_ours and made is not None and now - made < AT_ONCE_FOR:
        return True
    title = f"{way.capitalize()}: {change.title}, {time_words(change.at, now)}?"
    body = None if is_ours else Content("It was made in an earlier session, or by another program.")
    return await app.push_screen_wait(yes_or_no(title, body, way.capitalize())) is True


def time_words(at: str, now: datetime) -> str:
    """When something was done: "17:15", "yesterday 17:15", or with its date."""
    then = moment(at)
    if then is None:
        return absolute_time(at)
    here = then.astimezone(now.tzinfo)
    days = (now.date() - here.date()).days
    return {0: f"{here:%H:%M}", 1: f"yesterday {here:%H:%M}"}.get(days, f"{here:%Y-%m-%d %H:%M}")


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


def restore_question(conflicts: Conflicts, width: int) -> Question[OnConflict]:
    """The memories to restore and those in the store, in a terminal of so many columns; gives the choice."""
    cells = min(_MAX_CELLS, width * 96 // 100) - _PADDING
    parts: list[str | tuple[str, str]] = []
    for found in conflicts.found[:_MAX_CONFLICTS]:
        parts.append("\n\n" if parts else "")
        parts += [*_row_parts("to restore", found.wanted, cells), "\n"]
        parts += _row_parts("in the store", found.existing, cells)
    more = conflicts.total - min(_MAX_CONFLICTS, len(conflicts.found))
    parts.append((f"\n\n… and {more:,} more" if more else "", MUTED))
    answers: list[Answer[OnConflict]] = [
        Answer("o", "Overwrite", "overwrite", "the current version goes to the trash"),
        Answer("b", "Keep both", "rename", "under a new key"),
    ]
    return Question(_conflict_title(conflicts.found, conflicts.total), Content.assemble(*parts), "Cancel", answers)


def _conflict_title(found: Sequence[RowConflict], total: int) -> str:
    if total == 1 and found:
        return f"{key_words(found[0].wanted.entry().key)} cannot be restored as it was. {_REASONS[found[0].reason]}"
    return f"{total:,} memories cannot be restored as they were."


def _row_parts(label: str, row: Row | None, cells: int) -> list[str | tuple[str, str]]:
    """A memory on a line of so many cells."""
    lead = (label.ljust(_LABEL_CELLS), MUTED)
    if row is None:
        return [lead, ("nothing", MUTED)]
    entry, room = row.entry(), max(20, cells - _LABEL_CELLS - _DATE_CELLS - 4)
    key, content = (one_line(text[:_MAX_TEXT]) for text in (entry.key, entry.content))
    written = f"  {fit(absolute_time(entry.updated_at or entry.timestamp), _DATE_CELLS)}"
    return [lead, fit(key, room * 2 // 5), "  ", fit(content, room - room * 2 // 5), (written, MUTED)]


def removed_words(outcome: Outcome, key: str | None, now: datetime) -> str:
    """What a removal did; `key` is that of a single memory."""
    if outcome.count == 0:
        return " ".join(outcome.sentences("Nothing was deleted."))
    until = until_words(outcome.action.until, now) if outcome.action else ""
    what = key_words(key) if key is not None and outcome.count == 1 else ""
    return " ".join(outcome.sentences(outcome.trash_sentence(until, " · u", what)))


def written_words(outcome: Outcome) -> str:
    """The report on a new or edited memory."""
    key = key_words(outcome.row.entry().key) if outcome.row else ""
    return " ".join(outcome.sentences(outcome.headline(" · u", what=key)))


def until_words(until: str, now: datetime) -> str:
    """A day to come as "22 Dec", with its year when that is another one; empty when it is no moment."""
    then = moment(until)
    if then is None:
        return ""
    then = then.astimezone(now.tzinfo)
    return f"{then.day} {then:%b}" + (f" {then.year}" if then.year != now.year else "")


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


def expiry_words(until: str, now: datetime) -> str:
    """When it leaves the trash, rounded up; this happens with the next change, perhaps a little later."""
    then = moment(until)
    if then is None:
        return "?"
    left = then - now
    if left < timedelta(hours=1):
        return "soon"
    unit = timedelta(days=1) if left > timedelta(hours=23) else timedelta(hours=1)
    return relative_age((now + -(-left // unit) * unit).isoformat(), now)
