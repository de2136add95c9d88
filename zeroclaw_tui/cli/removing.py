"""`memory forget`, `purge` and `clear`: to the trash, or with --forever out of the world.

Their document is that of every change (see `told`); where filters choose, "superseded_hidden" is how many stay only
because a newer memory replaced them. Exit code 1 also when some of the
memories stayed because they changed meanwhile, and after a no; 130 after ctrl-c.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from zeroclaw_tui.cli.asking import NOTHING_DONE, can_be_typed, check_can_ask, confirm, confirm_count, confirm_typed
from zeroclaw_tui.cli.entries import too_many
from zeroclaw_tui.cli.finding import (
    HOW_TO_FIND,
    filter_given,
    nothing_found,
    several_agents,
    starting,
    the_one,
    with_key,
)
from zeroclaw_tui.cli.guarding import Progress, check_writable, with_triggers
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import GREEN, Line, Styled, note, write_lines
from zeroclaw_tui.cli.plans import loss_lines, losses_as_json, plan_entries, plan_lines, spared_lines
from zeroclaw_tui.cli.told import (
    MOST_ENTRIES,
    spared_as_json,
    stamp_as_json,
    tell_document,
)
from zeroclaw_tui.cli.told_done import Copies, copies_left, copies_of_plan, tell_done
from zeroclaw_tui.cli.zeroclaw_words import in_one_line
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, note_nothing, plan_purge, remove_memories
from zeroclaw_tui.curation.copies.copies import texts_of_plan
from zeroclaw_tui.curation.evaluation import PlannedChange
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import category_meant
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import DONE, REFUSED, NotThere, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import counted

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
