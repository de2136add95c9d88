"""The verbs that change memories: store, edit, forget, purge and clear.

`memory store` and `memory edit`, which never ask.

Their document is that of every change (see `report`) with "entry", the memory as it is now (an entry as `get` prints
it, null where nothing changed), and then "replaced" (store: whether an older one of that key went to the trash) or
"fields" (edit: the names of what changed).

`memory forget`, `purge` and `clear`: to the trash, or with --forever out of the world.

Their document is that of every change (see `report`); where filters choose, "superseded_hidden" is how many stay only
because a newer memory replaced them. Exit code 1 also when some of the
memories stayed because they changed meanwhile, and after a no; 130 after ctrl-c.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from zeroclaw_tui.cli.entries import too_many
from zeroclaw_tui.cli.guard import (
    NOTHING_DONE,
    Progress,
    can_be_typed,
    check_can_ask,
    check_writable,
    confirm,
    confirm_count,
    confirm_typed,
    with_triggers,
)
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import GREEN, Line, Styled, in_one_line, note, write_lines
from zeroclaw_tui.cli.plans import loss_lines, losses_as_json, plan_entries, plan_lines, spared_lines
from zeroclaw_tui.cli.report import (
    MOST_ENTRIES,
    Copies,
    changed_fields,
    cleaned_lines,
    copies_left,
    copies_lines,
    copies_of_plan,
    difference_lines,
    row_as_json,
    spared_as_json,
    stamp_as_json,
    tell_document,
    tell_done,
    tell_notes,
)
from zeroclaw_tui.cli.selection import (
    HOW_TO_FIND,
    address,
    agent_given,
    filter_given,
    nothing_found,
    several_agents,
    starting,
    the_one,
    with_key,
)
from zeroclaw_tui.curation.changes import (
    Outcome,
    PurgePlan,
    edit_memory,
    note_nothing,
    plan_purge,
    remove_memories,
    store_memory,
)
from zeroclaw_tui.curation.copies.copies import texts_of_plan
from zeroclaw_tui.curation.evaluation import PlannedChange
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import MEMORIES, SUPERSEDED_BY, Conflict, Draft, Edit, StoredRow, Value, category_meant
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import DONE, REFUSED, NotThere, Refused, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import counted, one_line

_NAMES = {"session_id": "session"}


async def store(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Store one memory."""
    check_writable(library, given)
    extras = {"namespace": given.namespace, "importance": given.importance, "pinned": given.pinned}
    _check_editable(library, [name for name, value in extras.items() if value is not None])
    draft = Draft(
        key=_utf_8(given.key, "The key"),
        content=text_given(given.content, "The content"),
        category=given.category,
        session_id=given.session or None,
        agent=agent_given(given),
        **extras,
    )
    outcome = await with_triggers(
        library,
        given,
        lambda: store_memory(library, draft, replace=not given.new, as_zeroclaw=given.as_zeroclaw),
        asks=False,
    )
    assert outcome is not None
    replaced = _replaced(library, outcome)
    tell_notes(outcome)
    if given.json:
        _tell(library, outcome, Copies(), replaced=replaced is not None)
        return DONE
    key = in_one_line(draft.key)
    if replaced is None:
        write_lines([(Styled("✓", GREEN), f" Stored {key!r}; `zeroclaw memory undo` takes it away again.")])
    else:
        write_lines(
            [
                (Styled("✓", GREEN), f" Stored {key!r}."),
                ("Replaced; `zeroclaw memory undo` brings the old one back.",),
            ]
        )
    return DONE


async def edit(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Change one memory in place."""
    asked = _asked(given)
    if not asked:
        raise WrongUse("Change what?", hint="`zeroclaw memory edit --help` lists what can be changed.")
    check_writable(library, given)
    _check_editable(library, asked)
    if "content" in asked:
        asked["content"] = text_given(given.content, "The content")
    if "key" in asked:
        asked["key"] = _utf_8(given.new_key, "The new key")
    entry = await the_one(library, given.key, given.id, agents_given(given))
    before = await library.memory.stored(address(entry))
    if before is None:
        raise NotThere(nothing_found(given.key, given.id), hint=HOW_TO_FIND)
    try:
        outcome = await with_triggers(
            library,
            given,
            lambda: edit_memory(
                library, address(entry), Edit(asked), before.fingerprint, as_zeroclaw=given.as_zeroclaw
            ),
            asks=False,
        )
    except Conflict as conflict:
        conflict.message = "This memory was changed by another program at this very moment; nothing was done."
        conflict.hint = "`zeroclaw memory get` shows how it is now; the same edit again changes that."
        raise
    assert outcome is not None
    return await _tell_edit(library, given, before, outcome)


async def _tell_edit(library: Library, given: argparse.Namespace, before: StoredRow, outcome: Outcome) -> int:
    after = outcome.row
    if not outcome.count:
        await note_nothing(library, "edit", one_line(before.entry().key))
    fields = changed_fields(before, after) if after is not None else []
    look = partial(copies_left, library, given, outcome) if "content" in fields else _no_copies
    tell_notes(outcome)
    if given.json:
        copies = await look()
        _tell(library, outcome, copies, fields=fields)
        return copies.code
    if not outcome.count or after is None:
        write_lines([("It is so already; nothing was changed.",)])
        return DONE
    write_lines([(Styled("✓", GREEN), f" Changed {in_one_line(after.entry().key)!r}:")])
    write_lines(difference_lines(before, after))
    if outcome.action is not None:
        write_lines([("`zeroclaw memory undo` brings back what it was.",)])
    sys.stdout.flush()
    copies = await look()
    write_lines(cleaned_lines(copies.cleaned))
    write_lines(copies_lines(copies.found, cleaning=given.clean_copies))
    return copies.code


async def _no_copies() -> Copies:
    return Copies()


def _asked(given: argparse.Namespace) -> dict[str, Value]:
    """What an edit sets, as it was typed."""
    typed: dict[str, Value] = {
        "content": given.content,
        "key": given.new_key,
        "category": given.category,
        "importance": given.importance,
        "pinned": given.pinned,
        "namespace": given.namespace,
    }
    asked: dict[str, Value] = {name: value for name, value in typed.items() if value is not None}
    if given.session is not None:
        asked["session_id"] = given.session or None
    if given.unsupersede:
        asked[SUPERSEDED_BY] = None
    return asked


def _check_editable(library: Library, names: list[str] | dict[str, Value]) -> None:
    can = library.memory.capabilities
    for name in names:
        if name not in can.editable and name != SUPERSEDED_BY:
            shown = _NAMES.get(name, name)
            why = can.why_not.get(name) or can.why_not.get(shown) or can.why_not.get(f"{shown}s")
            raise Refused(why or f"This store has no {shown} to set.", hint="Nothing was changed.")


def text_given(typed: str, what: str) -> str:
    """A text that is given, or for - all of stdin but for one line end. Raises WrongUse for what is no UTF-8."""
    if typed != "-":
        return _utf_8(typed, what)
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise WrongUse(
            f"What came on stdin is no UTF-8 (byte {error.start:,}).", hint="Convert it first; nothing was changed."
        ) from error


def _utf_8(typed: str, what: str) -> str:
    try:
        typed.encode("utf-8")
    except UnicodeEncodeError as error:
        raise WrongUse(f"{what} is no UTF-8: {one_line(typed[:60])}", hint="Nothing was changed.") from error
    return typed


def _replaced(library: Library, outcome: Outcome) -> StoredRow | None:
    """The memory that a store replaced, out of the trash."""
    if outcome.action is None:
        return None
    changes = (change for batch in library.trash.open_changes(outcome.action.number)() for change in batch)
    return next((change.before for change in changes if change.before and change.before.table == MEMORIES), None)


def _tell(library: Library, outcome: Outcome, copies: Copies, **more: Any) -> None:
    row = outcome.row
    tell_document(
        library,
        outcome,
        entries=[row_as_json(row)] if row is not None else [],
        copies=copies.found,
        cleaned=copies.cleaned,
        entry=row.entry().as_json() if row is not None else None,
        **more,
    )


Removing = Literal["forget", "purge", "clear"]
_DOING = {"forget": "Deleting", "purge": "Purging", "clear": "Clearing"}


async def forget(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Delete the one memory of a key or an id."""
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("forget", yes=given.yes)
    entry = await the_one(library, given.key, given.id, agents_given(given))
    plan = await plan_entries(library, [entry])
    if not plan.count:
        raise NotThere(nothing_found(given.key, given.id), hint=HOW_TO_FIND)
    return await _remove(library, given, plan, "forget")


async def purge(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Delete what the filters leave, or the memories that are named."""
    _refuse_blank_filters(given)
    wanted = filter_given(given, now)
    named = bool(given.keys or given.id)
    chosen = wanted.but(agent=None) if named else wanted
    filtered = not chosen.is_empty or chosen.superseded is not Superseded.HIDE
    if named and filtered:
        raise WrongUse("Either keys and ids, or filters.", hint="--agent alone says whose key is meant.")
    if not named and wanted.is_empty and wanted.superseded is not Superseded.ONLY:
        raise WrongUse("Purge what?", hint="Give a filter, keys or ids; `zeroclaw memory clear` empties the store.")
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("purge", yes=given.yes)
    plan = await (_plan_named(library, given) if named else plan_purge(library, wanted))
    return await _remove(library, given, plan, "purge")


def _refuse_blank_filters(given: argparse.Namespace) -> None:
    """A blank text leaves everything in: where a script's variable is empty, far more would go than is meant."""
    for name in ("contains", "words", "regex"):
        text = getattr(given, name)
        if text is not None and not text.strip():
            raise WrongUse(
                f"--{name} is blank, so it would leave nothing out.", hint="Give it a text, or leave it out."
            )


async def clear(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Delete everything, a category, or one key, as ZeroClaw's command does and in its words."""
    if given.key is not None and given.category is not None:
        raise WrongUse("--key names one memory, so no --category goes with it.")
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("clear", yes=given.yes)
    if given.key is not None:
        found = await _meant_by_zeroclaw(library, given)
        if found is None:
            return REFUSED
        return await _clear(library, given, await plan_entries(library, [found]), found.key)
    category = None if given.category is None else (category_meant(given.category),)
    agents = tuple(agents_given(given)) or None
    return await _clear(library, given, await plan_purge(library, MemoryFilter(category=category, agent=agents)), None)


async def _meant_by_zeroclaw(library: Library, given: argparse.Namespace) -> MemoryEntry | None:
    """The memory of this key, or of the only key that begins so; None once it was said that several do."""
    agents = agents_given(given)
    found = await with_key(library, given.key, agents)
    if not found and given.key:
        found = await starting(library, given.key, agents)
        if len({entry.key for entry in found}) > 1:
            too_many(given, found)
            return None
    if not found:
        raise NotThere(nothing_found(given.key, None), hint=HOW_TO_FIND)
    if len(found) > 1:
        raise several_agents(found)
    return found[0]


async def _plan_named(library: Library, given: argparse.Namespace) -> PurgePlan:
    """The plan for all keys and ids that are given; one that is not there stops everything."""
    agents = agents_given(given)
    found = [await the_one(library, key, None, agents) for key in given.keys]
    found += [await the_one(library, None, wanted, ()) for wanted in given.id or ()]
    return await plan_entries(library, found)


async def _remove(library: Library, given: argparse.Namespace, plan: PurgePlan, verb: Removing) -> int:
    if given.dry_run:
        return await _tell_plan(library, given, plan, verb)
    if not plan.count:
        return await _tell_nothing(library, given, verb, "Nothing matches.", plan)
    if not given.yes:
        copies = await copies_of_plan(library, plan)
        shown = await plan_lines(library, plan, verb, forever=given.forever, copies=copies)
        if not _agreed(plan, verb, shown, forever=given.forever):
            return REFUSED
    outcome, look = await _carry_out(library, given, plan, verb)
    if outcome is None:
        return REFUSED
    what = f"key {in_one_line(plan.stamps[0].key)!r}" if verb == "forget" else counted(outcome.count)
    if given.yes and not given.json:
        write_lines(spared_lines(plan, verb), sys.stderr)
    done: Line = (Styled("✓", GREEN), f" {'Deleted' if verb == 'forget' else 'Purged'} {what}.")
    return await tell_done(library, given, plan, outcome, look, done)


async def _clear(library: Library, given: argparse.Namespace, plan: PurgePlan, key: str | None) -> int:
    """`key` is the one that goes, None where all of a scope do."""
    if not plan.count:
        return await _tell_nothing(library, given, "clear", "No memory entries found.", plan)
    if key is None and not given.json:
        write_lines([(f"Found {plan.count} entries in '{in_one_line(given.category or 'all categories')}'.",)])
        # What ZeroClaw itself prints stays as it is.
        write_lines([] if given.dry_run else spared_lines(plan, "clear"), sys.stderr)
    if given.dry_run:
        return await _tell_plan(library, given, plan, "clear")
    what = f"{plan.count:,} entries" if key is None else f"the key {in_one_line(key)!r}"
    if not given.yes and not confirm(f"Delete {what}?", await loss_lines(library, PlannedChange(going=plan.stamps))):
        return REFUSED
    outcome, look = await _carry_out(library, given, plan, "clear")
    if outcome is None:
        return REFUSED
    told = f" Cleared {outcome.count}/{plan.count} entries." if key is None else f" Deleted key: {in_one_line(key)}"
    return await tell_done(library, given, plan, outcome, look, (Styled("✓", GREEN), told))


def _agreed(plan: PurgePlan, verb: Removing, shown: Sequence[Line], *, forever: bool) -> bool:
    key = plan.stamps[0].key
    if forever and verb == "forget" and can_be_typed(key):
        return confirm_typed("Type its key to delete it for ever:", (key,), shown)
    if forever or plan.is_typed:
        return confirm_count(plan.count, f"{verb}{' for ever' if forever else ''}", shown)
    return confirm("Go on?", shown)


async def _carry_out(
    library: Library, given: argparse.Namespace, plan: PurgePlan, verb: Removing
) -> tuple[Outcome | None, Callable[[], Awaitable[Copies]]]:
    """What became of it, None after a no; and the look for copies elsewhere, which is still to be done."""
    # Afterwards neither the store nor the trash could tell what to look for.
    texts = await texts_of_plan(library, plan) if given.forever else []
    with Progress(_DOING[verb], plan.count) as progress:
        outcome = await with_triggers(
            library,
            given,
            lambda: remove_memories(library, plan, verb, forever=given.forever, advance=progress.advance),
            asks=True,
        )
    return outcome, partial(copies_left, library, given, outcome or Outcome(verb, 0), texts)


async def _tell_plan(library: Library, given: argparse.Namespace, plan: PurgePlan, verb: Removing) -> int:
    copies = await copies_of_plan(library, plan)
    if given.json:
        entries = [stamp_as_json(stamp) for stamp in plan.stamps[:MOST_ENTRIES]]
        more = spared_as_json(plan) | await losses_as_json(library, PlannedChange(going=plan.stamps))
        tell_document(library, Outcome(verb, plan.count), dry_run=True, entries=entries, copies=copies, **more)
    else:
        write_lines(await plan_lines(library, plan, verb, forever=given.forever, copies=copies))
        note(NOTHING_DONE)
    return DONE


async def _tell_nothing(
    library: Library, given: argparse.Namespace, verb: Removing, sentence: str, plan: PurgePlan
) -> int:
    if not given.dry_run:
        await note_nothing(library, verb)
    if given.json:
        tell_document(library, Outcome(verb, 0), dry_run=given.dry_run, **spared_as_json(plan))
    else:
        write_lines([(sentence,)])
        write_lines(spared_lines(plan, verb), sys.stderr)
    return DONE
