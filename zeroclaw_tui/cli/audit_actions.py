"""What `memory audit` does about findings: to the trash, another category, or one in the place of several."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from zeroclaw_tui.cli.asking import NOTHING_DONE, confirm, confirm_count
from zeroclaw_tui.cli.guarding import Progress, with_triggers
from zeroclaw_tui.cli.output import GREEN, Line, Styled, date_shown, note, write_lines
from zeroclaw_tui.cli.plans import loss_lines, plan_lines, what_lines
from zeroclaw_tui.cli.told import (
    MOST_ENTRIES,
    stamp_as_json,
    tell_document,
)
from zeroclaw_tui.cli.told_done import Copies, copies_left, copies_of_plan, tell_done
from zeroclaw_tui.curation.audit.audit import MergePlan, merge, plan_merge, recategorise
from zeroclaw_tui.curation.audit.findings import Finding, Sample
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, note_nothing, plan_of, remove_memories
from zeroclaw_tui.curation.copies.places import Copy
from zeroclaw_tui.curation.evaluation import PlannedChange
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.journal import Verb
from zeroclaw_tui.memory.change import Advance, Stamp, category_meant
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import DONE, REFUSED, Refused
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line

GROUPS_SHOWN = 3
_KEY_CELLS = 24

Change = Callable[[Advance], Awaitable[Outcome]]


async def carry_out(library: Library, given: argparse.Namespace, findings: Sequence[Finding]) -> int:
    """Show the plan, ask, do it and tell; the exit code."""
    if given.recategorise is not None:
        return await _recategorise(library, given, findings)
    if given.merge:
        return await _merge(library, given, findings)
    for finding in findings:
        if finding.stays:
            raise Refused(finding.stays, hint="Nothing was changed.")
    plan = plan_of(_every(stamp for finding in findings for stamp in finding.stamps))

    async def purging(advance: Advance) -> Outcome:
        return await remove_memories(library, plan, "purge", advance=advance)

    async def shown(copies: Sequence[Copy]) -> list[Line]:
        return await plan_lines(library, plan, "purge", forever=False, copies=copies)

    return await _done(library, given, plan, "purge", ("Purging", "Purged ", "."), shown, purging)


async def _merge(library: Library, given: argparse.Namespace, findings: Sequence[Finding]) -> int:
    merges = [plan_merge(finding, given.merge) for finding in findings]
    groups = tuple(group for plan in merges for group in plan.groups)
    plan = MergePlan(groups, plan_of(_every(stamp for one in merges for stamp in one.going.stamps)))

    async def merging(advance: Advance) -> Outcome:
        return await merge(library, plan, advance)

    async def shown(copies: Sequence[Copy]) -> list[Line]:
        lines = await plan_lines(library, plan.going, "merge away", forever=False, copies=copies)
        return [*lines, *(_group_line(*group) for group in groups[:GROUPS_SHOWN])]

    return await _done(library, given, plan.going, "merge", ("Merging", "Merged away ", "."), shown, merging)


async def _recategorise(library: Library, given: argparse.Namespace, findings: Sequence[Finding]) -> int:
    category = category_meant(given.recategorise)
    can = library.memory.capabilities
    if "category" not in can.editable and not given.dry_run:
        raise Refused(
            can.why_not.get("category") or "This store has no category that can be changed.",
            hint="Nothing was changed.",
        )
    every = _every(stamp for finding in findings for stamp in finding.stamps)
    plan = plan_of(stamp for stamp in every if stamp.category != category)

    async def changing(advance: Advance) -> Outcome:
        return await recategorise(library, plan.stamps, category, advance)

    async def shown(copies: Sequence[Copy]) -> list[Line]:
        lines = await what_lines(library, plan, f"Give {counted(plan.count)} the category {one_line(category)}?")
        lost = await loss_lines(library, PlannedChange(category=(plan.stamps, category)))
        return [*lines, ("  `zeroclaw memory undo` brings the old categories back.",), *lost]

    return await _done(
        library,
        given,
        plan,
        "recategorise",
        ("Changing", "Gave ", f" the category {one_line(category)}."),
        shown,
        changing,
    )


async def _done(
    library: Library,
    given: argparse.Namespace,
    plan: PurgePlan,
    verb: Verb,
    words: tuple[str, str, str],
    shown: Callable[[Sequence[Copy]], Awaitable[list[Line]]],
    change: Change,
) -> int:
    """One action from its plan to its report; `words` say what it does, and what it did around the number."""
    removes = verb != "recategorise"
    if given.dry_run or not plan.count:
        if not given.dry_run:
            await note_nothing(library, verb)
        return await _planned(library, given, plan, verb, shown)
    if not given.yes:
        lines = await shown(await _copies(library, plan, verb))
        doing = "merge them away" if verb == "merge" else f"{verb} them"
        if not (confirm_count(plan.count, doing, lines) if plan.is_typed else confirm("Go on?", lines)):
            return REFUSED
    with Progress(words[0], plan.count) as progress:
        outcome = await with_triggers(library, given, lambda: change(progress.advance), asks=True)
    if outcome is None:
        return REFUSED

    async def look() -> Copies:
        copies = await copies_left(library, given, outcome) if removes else Copies()
        return replace(copies, found=_elsewhere(copies.found)) if verb == "merge" else copies

    done = (Styled("✓", GREEN), f" {words[1]}{counted(outcome.count)}{words[2]}")
    way_back = ("`zeroclaw memory undo` brings the old categories back.",) if verb == "recategorise" else None
    return await tell_done(library, given, plan, outcome, look, done, way_back=way_back)


async def _planned(
    library: Library,
    given: argparse.Namespace,
    plan: PurgePlan,
    verb: Verb,
    shown: Callable[[Sequence[Copy]], Awaitable[list[Line]]],
) -> int:
    copies = await _copies(library, plan, verb)
    if given.json:
        entries = [stamp_as_json(stamp) for stamp in plan.stamps[:MOST_ENTRIES]]
        tell_document(library, Outcome(verb, plan.count), dry_run=given.dry_run, entries=entries, copies=copies)
    elif not plan.count:
        write_lines([("Nothing of that was found: there is nothing to do.",)])
    else:
        write_lines(await shown(copies))
        note(NOTHING_DONE)
    return DONE


async def _copies(library: Library, plan: PurgePlan, verb: Verb) -> tuple[Copy, ...]:
    if not plan.count or verb == "recategorise":
        return ()
    copies = await copies_of_plan(library, plan)
    return _elsewhere(copies) if verb == "merge" else copies


def _elsewhere(copies: Sequence[Copy]) -> tuple[Copy, ...]:
    """Without those in other memories: that one stays which says the same is what a merge is for."""
    return tuple(copy for copy in copies if copy.kind != "memories")


def _group_line(stays: Sample, going: Sequence[Sample]) -> Line:
    names = first_names([_key(sample) for sample in going], most=GROUPS_SHOWN)
    stamp = stays.stamp
    return (f"  Keeps {_key(stays)} ({date_shown(stamp.updated_at or stamp.when)}) in the place of {names}",)


def _key(sample: Sample) -> str:
    return cut(one_line(masked(sample.stamp.key)) or "(no key)", _KEY_CELLS)


def _every(stamps: Iterable[Stamp]) -> list[Stamp]:
    """Each memory once."""
    found: dict[Handle, Stamp] = {}
    for stamp in stamps:
        found.setdefault(stamp.handle, stamp)
    return list(found.values())
