"""The base of all rooms that change memories: questions before a change, and reports after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from textual.content import Content

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.days import absolute_time, moment, time_here
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotFound
from zeroclaw_tui.memory.query import EXCERPTS, Query
from zeroclaw_tui.memory.text import counted, cut, fit, one_line
from zeroclaw_tui.tui.commands import Room, RunChange, inform, say_after, store_options, warn
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.typeahead import TypeAhead
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY

# Modules for changes are imported on use, so that they do not delay the first list of memories.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal_records import Action
    from zeroclaw_tui.curation.outcome import Outcome, PurgePlan
    from zeroclaw_tui.memory.change import OnConflict, Row, UndoConflicts
    from zeroclaw_tui.tui.dialogs import Answer, Question, Work

UNDO_UNASKED_FOR = timedelta(minutes=10)
"""A change of this session younger than this is undone and redone without a question."""
_MAX_CONFLICTS = 2
_MAX_KEY, _MAX_LINE, _MAX_TEXT = 60, 160, 2000
Direction = Literal["undo", "redo"]


async def stored_row(library: Library, id: str) -> Row:
    """Read a memory as it is stored now. Raises NotFound."""
    row = await row_with_id(library.memory, id)
    if row is None:
        raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")
    return row


class StoreRoom(Room[bool]):
    """A room of one store, which runs one change at a time. Its result is True if something was changed.

    A long change shows its progress, and asks about conflicts and repairs that must come first.
    """

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
        self.library = library
        self.clock = clock
        self.pace = pace
        self.has_changed = False
        """Whether something was changed here."""
        self.is_changing = False
        """Whether a change is running, asking or reloading; the room cannot be left before its end."""

    def shell_facts(self) -> dict[str, str]:
        """The options that name the store, for shell commands."""
        return {"store": store_options(self.library)}

    def action_leave(self) -> None:
        """Go back to the previous room, unless a change is running."""
        if self.is_changing:
            warn(self, "Wait until this is done.")
        else:
            self.dismiss(self.has_changed)

    def action_undo(self) -> None:
        self.begin(partial(self.reverse, verb="undo"))

    def action_redo(self) -> None:
        self.begin(partial(self.reverse, verb="redo"))

    async def after_change(self) -> None:
        """Update the room after a change, including one that failed halfway."""
        self.has_changed = True

    def begin(self, change: RunChange, *, group: str = "change") -> None:
        """Start a change, unless another one is running; a failure is reported.

        On quit, a change of the group "change" stops after the current batch. A change of another group asks no
        questions, so it does not hold keys, and it runs to its end.
        """
        # The message of the previous change would contradict the new one.
        self.app.clear_notifications()
        if self.is_changing:
            warn(self, "Wait: the previous change is still running.")
            return
        self.is_changing = True
        if isinstance(self.app, TypeAhead) and group == "change":
            # These keys are meant for the question, or for the screen after the change.
            self.app.hold_keys()
        # Never exclusive: the next change must not cancel this one.
        self.run_worker(self._run_and_report(change), group=group)

    async def _run_and_report(self, change: RunChange) -> None:
        has_failed = False
        try:
            await change(self.library)
        except InspectorError as error:
            has_failed = True
            self.say_failure(error)
            # The change may be partly done. If reloading fails too, the first failure is enough.
            with suppress(InspectorError):
                await self.after_change()
        finally:
            self.is_changing = False
            if isinstance(self.app, TypeAhead):
                self.app.release_keys(dropped=has_failed)

    async def delete(self, library: Library, plan: PurgePlan) -> Outcome | None:
        """Move the memories of a plan to the trash, after confirmation; None if nothing is deleted."""
        from zeroclaw_tui.curation.changes import remove_memories
        from zeroclaw_tui.memory.secret_text import masked
        from zeroclaw_tui.tui.dialogs import confirmation

        if not plan.count:
            warn(self, "No memories to delete.")
            return None
        # The question needs 20 lines besides the memories.
        shown = max(3, min(12, self.app.size.height - 20))
        handles = [version.handle for version in plan.versions[:shown]]
        first = await library.memory.rows(Query(EXCERPTS, handles=handles))
        what = key_text(masked(first[0].key)) if plan.count == len(first) == 1 else counted(plan.count)
        content = await asyncio.to_thread(_removal_content, library, plan, first)
        question = confirmation(f"Delete {what}?", content, plan.count, "delete")
        if not await self.app.push_screen_wait(question):
            return None
        work = partial(remove_memories, library, plan, "forget" if plan.count == 1 else "purge")
        key = key_text(plan.versions[0].key) if plan.count == 1 else ""
        sentence = f"Deleting {counted(plan.count)}"
        return await self.carry_out(sentence, plan.count, work, lambda outcome: outcome.report(" · u", what=key))

    async def edit(self, library: Library, id: str | None, *, is_outside: bool = False) -> Outcome | None:
        """Edit a memory, or write a new one if `id` is None, and report the result; None if nothing was written.

        Raises NotFound.
        """
        from zeroclaw_tui.tui.rooms.editor import EditorScreen

        row = None if id is None else await stored_row(library, id)
        outcome = await self.app.push_screen_wait(EditorScreen(library, row, is_outside=is_outside))
        if outcome is not None:
            inform(self, outcome.report(" · u"))
        return outcome

    async def re_embed(self, library: Library, entry: MemoryEntry) -> None:
        """Re-embed a memory, and say what was sent where."""
        from zeroclaw_tui.curation.reindex import announce, plan_reindex, reindex
        from zeroclaw_tui.embeddings.endpoint import INTERACTIVE

        words = f"Re-embedding {one_line(entry.key)} …"
        with say_after(self, self.pace.patience, lambda: inform(self, words)):
            plan = await plan_reindex(library, ids=(entry.id,))
            if not plan.count:
                warn(self, "This memory has no text to embed.")
                return
            announce(library, plan)
            done = await reindex(library, plan, retries=INTERACTIVE)
        if done.filled:
            sent = f" Sent to {library.embedding_host}." if plan.is_remote else ""
            inform(self, f"Its embedding now matches its content.{sent}")
            await self.after_change()
        else:
            nothing = "Nothing was updated, because the memory has changed. Press r to reload."
            warn(self, " ".join(done.failed) or nothing)

    async def reverse(self, library: Library, verb: Direction, number: int | None = None) -> None:
        """Undo or redo the change with a number, or the last change.

        For the last change this asks first if it was made in another session, or before UNDO_UNASKED_FOR.
        """
        from zeroclaw_tui.curation import changes

        await library.trash.recover(library.memory)
        try:
            change = await changes.action_to_reverse(library, verb, number)
        except NotFound as nothing:
            inform(self, nothing.message)
            return
        if number is None and not await self._confirms_reversal(change, verb):
            return
        count = change.open if verb == "undo" else change.count - change.open
        reversal = partial(changes.reverse_action, library, verb=verb, expected=change.number, number=number)
        outcome = await self.run_with_conflicts(f"{verb.capitalize()}ing {counted(count)}", count, reversal)
        if outcome is not None:
            inform(self, outcome.report())
            await self.after_reversal(change)

    async def after_reversal(self, change: Action) -> None:
        """Update the room after an undo or redo of `change`."""
        await self.after_change()

    async def _confirms_reversal(self, change: Action, verb: Direction) -> bool:
        from zeroclaw_tui.tui.dialogs import yes_or_no

        trash, made = self.library.trash, moment(change.at)
        is_ours = change.number in trash.begun_here
        if is_ours and made is not None and trash.now() - made < UNDO_UNASKED_FOR:
            return True
        title = f"{verb.capitalize()}: {change.title}, {time_here(change.at)}?"
        body = None if is_ours else Content("It was made in an earlier session, or by another program.")
        return await self.app.push_screen_wait(yes_or_no(title, verb.capitalize(), body)) is True

    async def run_change(self, sentence: str, total: int, work: Work[Outcome]) -> Outcome:
        """Run a confirmed change, with a progress bar if it takes long; `total` is in rows, 0 if unknown."""
        from zeroclaw_tui.tui.dialogs import with_progress

        return await with_progress(self.app, sentence, total, self.pace.patience, work)

    async def carry_out(
        self, sentence: str, total: int, work: Work[Outcome], report: Callable[[Outcome], str]
    ) -> Outcome:
        """Run a confirmed change, report it (as a warning if it is incomplete), and update the room."""
        outcome = await self.run_change(sentence, total, work)
        (inform if outcome.count == total else warn)(self, report(outcome))
        await self.after_change()
        return outcome

    async def run_with_conflicts(self, sentence: str, total: int, work: Work[Outcome]) -> Outcome | None:
        """Run a change like `run_change`; if it conflicts, let the user choose the `on_conflict` rule and run it again.

        None if the user cancels.
        """
        from zeroclaw_tui.memory.change import UndoConflicts

        try:
            return await self.run_change(sentence, total, partial(work, on_conflict="refuse"))
        except UndoConflicts as conflicts:
            chosen = await self.app.push_screen_wait(restore_question(conflicts))
        return None if chosen is None else await self.run_change(sentence, total, partial(work, on_conflict=chosen))


def _removal_content(library: Library, plan: PurgePlan, first: Sequence[MemoryEntry]) -> Content:
    """Describe a deletion: categories, size, age, how to undo it, and the first memories."""
    from zeroclaw_tui.curation.outcome import superseded_sentence
    from zeroclaw_tui.memory.secret_text import masked

    remarks = [
        superseded_sentence(plan.superseded_hidden, "“superseded” in the facets takes"),
        "Deleted memories go to the trash. Press u to undo.",
        library.memory.why_not.get("zeroclaw_forget"),
    ]
    facts = "\n".join([*plan.sentences(), " ".join(filter(None, remarks))])
    parts: list[str | tuple[str, str]] = [(facts, MUTED), "\n"]
    for entry in first:
        key, text = key_text(masked(entry.key)), one_line(masked(entry.content[:_MAX_TEXT])) or EMPTY_CONTENT
        if plan.count == 1:
            parts.append(f"\n{cut(text, _MAX_LINE)}")
        else:
            date = (f"  {absolute_time(entry.when)[:10]}", MUTED)
            parts += [f"\n{fit(key, 20)}  {fit(text, 34)}", date]
    more = plan.count - len(first)
    parts.append((f"\n… {more:,} more" if more > 0 else "", MUTED))
    return Content.assemble(*parts)


def restore_question(conflicts: UndoConflicts) -> Question[OnConflict]:
    """Ask how to restore memories with conflicts; shows the conflicts and what a restore would change."""
    from zeroclaw_tui.tui.dialogs import Answer, Question, difference_content

    parts: list[Content] = []
    for found in conflicts.found[:_MAX_CONFLICTS]:
        parts.append(Content(safe_text(found.words)))
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


def key_text(key: str) -> str:
    """A key as part of a sentence."""
    return cut(one_line(key[: 4 * _MAX_KEY]), _MAX_KEY) or EMPTY_KEY
