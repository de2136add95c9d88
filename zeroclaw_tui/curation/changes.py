"""Every change to memories: it is recorded in the journal, written by the store, and can be undone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.cancellation import cancellable_progress, wait_until_done
from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.journal_records import Action, Verb
from zeroclaw_tui.curation.library import SCAN_MODES, Library
from zeroclaw_tui.curation.outcome import Outcome, PurgePlan, key_text
from zeroclaw_tui.memory.change import (
    SUPERSEDED_BY,
    ApplyResult,
    Change,
    Draft,
    Edit,
    EditConflict,
    Journal,
    OnConflict,
    ProgressCallback,
    RowChange,
    UndoConflicts,
    Vector,
    inverse_changes,
)
from zeroclaw_tui.memory.errors import EmbeddingFailed, InspectorError, NotFound, Refused
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.scoring.injection import scan, scan_all
from zeroclaw_tui.scoring.redaction import category_of, redact

_WORDS_STAY = "Single words of it may stay in the keyword index until SQLite merges the index."
_NOT_FINISHED = "This is done, but the trash could not be updated; the next change does that."
_HYGIENE_RUNS_AGAIN = (
    "ZeroClaw runs the same hygiene when it is due again, unless you change its rules in [memory] of config.toml."
)


# Storing, editing and deleting


async def store_memory(library: Library, draft: Draft, *, overwrite: bool = False) -> Outcome:
    """Store a new memory, with its embedding if an embedder is configured.

    Notes report a failing embedder and what ZeroClaw would refuse. Raises UsageError, Refused (also for an existing
    key), Locked.
    """
    check_writable(library.memory)
    draft = draft.checked()
    if draft.agent is not None:
        await library.check_agents([draft.agent])
    policy = await asyncio.to_thread(_policy_sentences, library, draft.content, draft.namespace)
    vector, notes = await _embed(library, draft.content)
    change = Change(None, replace(draft, vector=vector))
    on_conflict: OnConflict = "overwrite" if overwrite else "refuse"
    return await _write_one(library, "store", f"stored {key_text(draft.key)}", change, on_conflict, (*notes, *policy))


async def edit_memory(library: Library, id: str, edit: Edit, expected: str) -> Outcome:
    """Change a memory with the fingerprint `expected`; a count of 0 means no change. Raises EditConflict, NotFound."""
    check_writable(library.memory)
    checked = edit.checked()
    if SUPERSEDED_BY in checked.values and "superseded" in library.memory.why_not:
        raise Refused(library.memory.why_not["superseded"], hint="Nothing was changed.")
    row = await row_with_id(library.memory, id)
    if row is None:
        raise _no_longer_there()
    if row.fingerprint != expected:
        raise EditConflict(row)
    values = {name: value for name, value in checked.values.items() if row.values.get(name) != value}
    if not values:
        return Outcome("edit", 0, row=row)
    after = replace(row, values={**row.values, **values}).entry()
    policy = await asyncio.to_thread(_policy_sentences, library, after.content, after.namespace)
    vector, notes = await _embed(library, after.content) if "content" in values else (None, ())
    key = key_text(row.key)
    summary = f"showed {key} again" if list(values) == [SUPERSEDED_BY] else f"edited {key} ({', '.join(values)})"
    change = Change(row, Edit(values, vector))
    return await _write_one(library, "edit", summary, change, "refuse", (*notes, *policy))


async def _write_one(
    library: Library, verb: Verb, summary: str, change: Change, on_conflict: OnConflict, notes: Sequence[str]
) -> Outcome:
    """Write one memory. Raises NotFound, EditConflict or Refused if it cannot be written as planned."""

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        result = await library.memory.apply([change], action, on_conflict=on_conflict)
        if not result.skipped:
            return Outcome(verb, 1, row=result.rows[0], notes=(*result.notes, *notes))
        conflict = result.conflicts[0]
        if conflict.existing is None:
            raise _no_longer_there()
        if conflict.reason == "key exists":
            owner = f" of agent {conflict.existing.agent}" if conflict.existing.agent else ""
            raise Refused(
                f"There is already a memory{owner} with the key {conflict.wanted.key!r}.",
                hint="Choose another key, or edit that one.",
                title="Key taken",
            )
        raise EditConflict(conflict.existing)

    return await run_change(library, verb, summary, work)


def _no_longer_there() -> NotFound:
    hint = "It was deleted after the list was loaded. The list shows the rest now."
    return NotFound("This memory no longer exists.", hint=hint)


async def remove_memories(
    library: Library, plan: PurgePlan, verb: Verb, *, forever: bool = False, on_progress: ProgressCallback | None = None
) -> Outcome:
    """Move the memories of a plan to the trash; with `forever`, delete them and their versions in the trash."""
    check_writable(library.memory)
    if not plan.versions:
        return Outcome(verb, 0)
    done = "merged away" if verb == "merge" else "deleted"

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        result = await library.memory.apply(
            (Change(version, None) for version in plan.versions), action, permanently=forever, on_progress=on_progress
        )
        if result.written != plan.count:
            await action.set_summary(f"{done} {result.written:,} of {plan.count:,} memories")
        notes = (*result.notes, *((_WORDS_STAY,) if forever and "vectors" not in library.memory.why_not else ()))
        changed, missing = tuple(result.skipped), tuple(result.already)
        return Outcome(verb, result.written, None, changed, missing, cancelled=result.cancelled, notes=notes)

    what = key_text(plan.versions[0].key) if plan.count == 1 else counted(plan.count)
    return await run_change(library, verb, f"{done} {what}", work, on_progress, forever=forever)


# Undo, redo and restore


async def reverse_action(
    library: Library,
    *,
    verb: Literal["undo", "redo"],
    expected: int | None = None,
    number: int | None = None,
    on_conflict: OnConflict = "refuse",
    on_progress: ProgressCallback | None = None,
) -> Outcome:
    """Undo the last action or redo the last undone one, or undo or redo the action with this `number`.

    Raises NotFound, UndoConflicts, and Refused, also if the action is not the `expected` one.
    """
    check_writable(library.memory)
    await library.trash.recover(library.memory)
    action = await action_to_reverse(library, verb, number)
    if expected not in (None, action.number):
        raise Refused("Another change was made in between.", hint=f"Check that change, then {verb} again.")
    numbers = await library.trash.numbers_to_reverse(action.number, verb)
    outcome = await _reverse(library, verb, numbers, on_conflict, on_progress)
    now = await library.trash.action(action.number)
    notes = (*outcome.notes, *((_HYGIENE_RUNS_AGAIN,) if (verb, now.verb) == ("undo", "hygiene") else ()))
    count = outcome.count if outcome.cancelled else abs(now.open - action.open)
    return replace(outcome, reversed_action=now, count=count, notes=notes)


undo, redo = partial(reverse_action, verb="undo"), partial(reverse_action, verb="redo")


async def action_to_reverse(library: Library, verb: Literal["undo", "redo"], number: int | None = None) -> Action:
    """Return the action to undo or redo: the last possible one, or the one with this number.

    Raises NotFound if there is none, and Refused if the one with this number is done already or of another store.
    """
    trash = library.trash
    if number is None:
        last = await (trash.last() if verb == "undo" else trash.last_undone())
        if last is None:
            hint = "Only an undo with no later change can be redone."
            if verb == "undo":
                hint = "`zeroclaw memory undo --list` lists the changes, `zeroclaw memory redo` redoes the last undone."
            raise NotFound(f"Nothing to {verb}.", hint=hint)
        return last
    action = await trash.action(number)
    if action.store != trash.store:
        raise Refused(f"Change {number} was made in another store, {one_line(action.store)}.", hint="Open that.")
    if not await trash.numbers_to_reverse(number, verb):
        state = "already undone" if verb == "undo" else "not undone"
        raise Refused(f"Change {number} is {state}.", hint="Nothing was changed.")
    return action


async def restore(
    library: Library,
    numbers: Sequence[int],
    *,
    on_conflict: OnConflict = "refuse",
    on_progress: ProgressCallback | None = None,
) -> Outcome:
    """Restore deleted memories from the trash by their numbers. Raises NotFound, Refused, UndoConflicts."""
    check_writable(library.memory)
    await library.trash.recover(library.memory)
    ordered = sorted(set(numbers), reverse=True)
    if not ordered:
        return Outcome("restore", 0)
    await check_restorable(library, ordered)
    return await _reverse(library, "restore", ordered, on_conflict, on_progress)


async def check_restorable(library: Library, numbers: Sequence[int]) -> None:
    """Raise NotFound for a number that is not in the trash of this store."""
    for number in set(numbers).difference(await library.trash.numbers()):
        hint = "It was restored, was too old for the trash, or was deleted from another store: then open that one."
        raise NotFound(f"The trash of this store has no memory {number}.", hint=hint)


async def preview_undo(library: Library, numbers: Sequence[int], on_conflict: OnConflict = "refuse") -> ApplyResult:
    """Preview the undo of these changes, with all conflicts; a read-only store is not compared."""
    if library.read_only_because is not None:
        return ApplyResult(len(numbers), notes=[f"Conflicts were not checked: {library.read_only_because}"])
    result = await _apply_reversal(library, numbers, None, on_conflict, None)
    result.written = 0 if result.conflict_count and on_conflict == "refuse" else len(numbers)
    return result


async def _reverse(
    library: Library, verb: Verb, numbers: Sequence[int], on_conflict: OnConflict, on_progress: ProgressCallback | None
) -> Outcome:
    """Undo or redo journaled changes."""

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        rule = on_conflict
        if rule == "refuse":
            preview = await preview_undo(library, numbers)
            if preview.conflicts:
                raise UndoConflicts(preview.conflicts, preview.conflict_count)
            rule = "skip"
        result = await _apply_reversal(library, numbers, action, rule, on_progress)
        count, notes = result.done if result.cancelled else len(numbers), tuple(result.notes)
        return Outcome(verb, count, cancelled=result.cancelled, notes=notes, renamed=result.renamed)

    return await run_change(library, verb, "", work, on_progress, reversing=numbers)


async def _apply_reversal(
    library: Library, numbers: Sequence[int], journal: Journal | None, rule: OnConflict, report: ProgressCallback | None
) -> ApplyResult:
    """Write the reverse of journaled changes, those of the store first; without a `journal` it is a dry run."""
    changes_to_reverse, is_dry = library.trash.changes_to_reverse, journal is None
    of_store = (undone for change in changes_to_reverse(numbers, outside=False) for undone in inverse_changes(change))
    result = await library.memory.apply(of_store, journal, on_conflict=rule, dry_run=is_dry, on_progress=report)
    if not result.cancelled:
        outside = changes_to_reverse(numbers, outside=True)
        others = (RowChange(change.after, change.before, reverses=change.number) for change in outside)
        found = await external.apply(others, journal, overwrite=rule == "overwrite", dry_run=is_dry)
        if not is_dry:
            found.note(*(f"{one.words} It was skipped." for one in found.conflicts if one.wanted.id in found.skipped))
        result.add(found)
    return result


# Running a change


async def run_change(
    library: Library,
    verb: Verb,
    summary: str,
    work: Callable[[RunningAction, ProgressCallback], Awaitable[Outcome]],
    on_progress: ProgressCallback | None = None,
    *,
    forever: bool = False,
    reversing: Sequence[int] = (),
) -> Outcome:
    """Begin an action, do its work, and finish it. `reversing` are the numbers of the changes that it reverses.

    Cancellation waits for the current batch, and finished batches can be undone, unless the action deletes `forever`.
    After an error the action is recovered, and the error says how much was done, according to the store.
    """
    stop = threading.Event()

    async def run() -> Outcome:
        await library.trash.recover(library.memory)
        action = await library.trash.begin(verb, summary, permanently=forever, reversing=reversing)
        try:
            if stop.is_set():
                raise asyncio.CancelledError
            outcome = await work(action, cancellable_progress(stop, on_progress))
        except BaseException as error:
            await action.abandon()
            with suppress(InspectorError):
                if not (isinstance(error, InspectorError) and error.is_unsure):
                    await library.trash.recover(library.memory)
                    if isinstance(error, InspectorError) and ((done := await action.what_is_done()) or error.so_far):
                        error.add_progress(done or "Nothing was changed.")
            raise
        try:
            return replace(outcome, action=await action.finish(is_complete=not outcome.cancelled))
        except InspectorError as error:
            # The next change recovers the action.
            return replace(outcome, notes=(*outcome.notes, f"{_NOT_FINISHED} {error.message}"))

    return await wait_until_done(asyncio.ensure_future(run()), stop.set)


async def _embed(library: Library, content: str) -> tuple[Vector | None, tuple[str, ...]]:
    """Return the vector of a content, if it can be made, and notes about both for the user."""
    notes: tuple[str, ...] = ()
    if library.profile.profile.scans_content:
        found = await asyncio.to_thread(scan, content, library.settings.threat_scan)
        notes = (f"ZeroClaw withholds this content from its agent ({found}).",) if found else ()
    embedder = library.embedder
    if embedder is None or library.memory.about.computes_vectors or "vectors" in library.memory.why_not:
        return None, notes
    try:
        numbers = await embedder.embed(content)
    except EmbeddingFailed as failure:
        return None, (*notes, f"Not embedded: {failure.message}")
    embedding = library.config.embedding
    return Vector(numbers.astype("<f4").tobytes(), embedding.provider, embedding.model), notes


def _policy_sentences(library: Library, content: str, namespace: str | None) -> tuple[str, ...]:
    """Say what ZeroClaw's `[memory.policy]` would redact or refuse; its quotas are not checked. Blocks."""
    if not library.profile.profile.scans_content:
        return ()
    config, redacted = library.config, tuple[str, ...]()
    if config.value("policy.redact_on_write"):
        categories = map(category_of, config.value("policy.redact_categories"))
        content, redacted = redact(content, [category for category in categories if category is not None])
    mode, on_hit = (
        str(config.value(f"policy.{name}")).strip().lower() for name in ("threat_scan", "threat_scan_on_hit")
    )
    kinds, space = scan_all(content, SCAN_MODES.get(mode, "off")), namespace or "default"
    if kinds and on_hit == "reject":
        return (f"ZeroClaw would refuse this: memory write blocked by content scan: {','.join(kinds)}.",)
    if space in config.value("policy.read_only_namespaces"):
        return (f"ZeroClaw would refuse this: memory write denied by policy: namespace '{space}' is read-only.",)
    return (f"ZeroClaw would store this with {', '.join(redacted)} blanked out.",) if redacted else ()
