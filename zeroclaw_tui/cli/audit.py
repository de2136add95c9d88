"""`memory audit`: the report, and what is done about its findings.

`memory audit`: what pollutes the memory, and doing something about it.

Its document:

    {"backend", "location", "rows", "superseded", "size", "findings": [{"kind", "count", "size", "won", "remark",
     "whole", "groups", "samples": [{"id", "key", "category", "agent", "timestamp", "updated_at", "size", "excerpt",
     "remark", "spelled"}]}], "notes"}

`superseded` is how many of the rows a newer memory replaced. `size` is in bytes of content, `won` what a purge (of
duplicates a merge) would free of it. `groups` are lists of ids that are alike, all of them; `samples` are the first
--limit memories: `excerpt` has secrets masked and is else exact, `spelled` is what hidden characters say, null where
nothing. With an action it is the document of every change (see `report`).

What `memory audit` does about findings: to the trash, another category, or one in the place of several.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from zeroclaw_tui.cli.guard import (
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    confirm_count,
    with_triggers,
)
from zeroclaw_tui.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    YELLOW,
    Line,
    Part,
    Styled,
    date_shown,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.plans import loss_lines, plan_lines, what_lines
from zeroclaw_tui.cli.report import (
    MOST_ENTRIES,
    Copies,
    copies_left,
    copies_of_plan,
    stamp_as_json,
    tell_document,
    tell_done,
)
from zeroclaw_tui.curation.audit.audit import (
    KINDS,
    AuditReport,
    Finding,
    FindingKind,
    MergePlan,
    Sample,
    audit_memories,
    merge,
    plan_merge,
    recategorise,
)
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, note_nothing, plan_of, remove_memories
from zeroclaw_tui.curation.copies.places import Copy
from zeroclaw_tui.curation.evaluation import PlannedChange
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.journal import Verb
from zeroclaw_tui.curation.words import among_fact
from zeroclaw_tui.memory.change import Advance, Stamp, category_meant
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, Refused, SearchInterrupted, WrongUse
from zeroclaw_tui.memory.text import cells, counted, cut, first_names, one_line, padded, size_shown

DUPLICATES: tuple[FindingKind, ...] = ("exact duplicates", "near duplicates")


async def audit(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    kinds = _kinds(given)
    acts = bool(given.purge or given.merge or given.recategorise is not None)
    if acts and not given.dry_run:
        check_writable(library, given)
        check_can_ask("audit", yes=given.yes)
    report = await _looked_at(library)
    if report is None:
        note("zeroclaw: Stopped; nothing was changed.")
        return INTERRUPTED
    findings = [finding for finding in report.findings if finding.kind in kinds]
    if acts:
        for sentence in report.notes:
            note(f"zeroclaw: {sentence}")
        return await carry_out(library, given, findings)
    if given.json:
        document(report_as_json(library, report, findings, given.limit))
        return DONE
    write_lines(report_lines(library, report, findings, given.limit, chosen=bool(given.only)))
    for sentence in report.notes:
        note(f"zeroclaw: {sentence}")
    return DONE


async def _looked_at(library: Library) -> AuditReport | None:
    """The report; None after a ctrl-c."""
    with Progress("Looking at memory", await library.memory.count()) as progress:
        try:
            return await audit_memories(library, progress.advance)
        except SearchInterrupted:
            if progress.stopped:
                return None
            raise


def _kinds(given: argparse.Namespace) -> Sequence[FindingKind]:
    """The kinds of findings that are meant. Raises WrongUse where an action does not go with them."""
    kinds = KINDS if not given.only else tuple(dict.fromkeys(map(_kind, given.only)))
    if given.recategorise is not None:
        category_meant(given.recategorise)
    if given.merge:
        others = [kind for kind in kinds if kind not in DUPLICATES]
        if given.only and others:
            raise WrongUse(
                f"Only duplicates can be merged, not {others[0]}.",
                hint="Name exact-duplicates, near-duplicates or none.",
            )
        return [kind for kind in DUPLICATES if kind in kinds]
    if (given.purge or given.recategorise is not None) and not given.only:
        raise WrongUse("Which findings? Name each with --only.", hint=f"There are {', '.join(map(spelled, KINDS))}.")
    return kinds


def _kind(typed: str) -> FindingKind:
    """The kind of this name or unique beginning, with blanks or hyphens. Raises WrongUse with the names."""
    wanted = " ".join(typed.lower().replace("-", " ").replace("_", " ").split())
    found = [kind for kind in KINDS if kind == wanted] or [kind for kind in KINDS if wanted and kind.startswith(wanted)]
    if len(found) != 1:
        why = "could be several kinds of findings" if found else "is no kind of finding"
        raise WrongUse(f"{one_line(typed)!r} {why}.", hint=f"There are {', '.join(map(spelled, found or KINDS))}.")
    return found[0]


def spelled(kind: FindingKind) -> str:
    """A kind as it is typed."""
    return kind.replace(" ", "-")


LONGEST_KEY, LONGEST_REMARK = 24, 30
_COUNT, _BYTES, _SHARE = 10, 9, 7
_MERGED = ("exact duplicates", "near duplicates")


def report_lines(
    library: Library, report: AuditReport, findings: Sequence[Finding], limit: int, *, chosen: bool
) -> Iterator[Line]:
    """A line of totals, a table of the findings, then each with its first memories and what can be done."""
    among = f", {among_fact(len(report.superseded))}" if report.superseded else ""
    yield (Styled(f"{counted(report.rows)}{among}, {size_shown(report.size)}", BOLD),)
    yield (Styled(f"{library.memory.name} · {one_line(library.memory.location)}", DIM),)
    yield ()
    if not findings:
        nothing = "Nothing of that was found." if chosen and report.rows else "Nothing was found that pollutes it."
        yield (nothing if report.rows else "Nothing is remembered here yet.",)
        return
    yield from _table(report, findings)
    for finding in findings:
        yield ()
        yield from _finding_lines(finding, limit)


def report_as_json(library: Library, report: AuditReport, findings: Sequence[Finding], limit: int) -> dict[str, Any]:
    """The document; its names stand at the head of this module."""
    return {
        "backend": library.memory.name,
        "location": library.memory.location,
        "rows": report.rows,
        "superseded": len(report.superseded),
        "size": report.size,
        "findings": [
            {
                "kind": finding.kind,
                "count": finding.count,
                "size": finding.size,
                "won": _won(finding),
                "remark": finding.remark,
                "whole": finding.is_whole,
                "groups": [[finding.samples[at].stamp.id for at in group] for group in finding.groups],
                "samples": [
                    {
                        **stamp_as_json(sample.stamp),
                        "excerpt": sample.excerpt,
                        "remark": sample.remark,
                        "spelled": sample.spelled or None,
                    }
                    for sample in finding.samples[:limit]
                ],
            }
            for finding in findings
        ],
        "notes": list(report.notes),
    }


def _table(report: AuditReport, findings: Sequence[Finding]) -> Iterator[Line]:
    left = max(cells(finding.kind) for finding in findings)
    head = ("memories", _COUNT), ("bytes", _BYTES), ("share", _SHARE)
    yield (Styled(padded("finding", left) + "".join(f"  {padded(name, to, right=True)}" for name, to in head), DIM),)
    for finding in findings:
        share = 100 * finding.size / report.size if report.size else 0.0
        shown = "<0.1 %" if 0 < share < 0.05 else f"{share:.1f} %"
        yield (
            Styled(padded(finding.kind, left), YELLOW if finding.kind in ("secrets", "hidden text") else BOLD),
            f"  {padded(f'{finding.count:,}', _COUNT, right=True)}",
            f"  {padded(size_shown(finding.size), _BYTES, right=True)}",
            f"  {padded(shown, _SHARE, right=True)}",
        )


def _finding_lines(finding: Finding, limit: int) -> Iterator[Line]:
    groups = f" in {counted(len(finding.groups), 'group')}" if finding.groups else ""
    yield (Styled(finding.kind, BOLD), f"  {counted(finding.count)}{groups}, {size_shown(finding.size)}")
    yield from _wrapped(finding.remark)
    shown = _shown(finding, limit)
    if shown:
        keys = [_key(sample) for sample in shown]
        left = max(map(cells, keys))
        remarks = min(LONGEST_REMARK, max(cells(sample.remark) for sample in shown))
        room = max(20, width() - left - remarks - (6 if remarks else 4))
        for sample, key in zip(shown, keys, strict=True):
            remark: list[Part] = [Styled(padded(cut(sample.remark, remarks), remarks), CYAN), "  "] if remarks else []
            yield ("  ", padded(key, left), "  ", *remark, cut(one_line(sample.excerpt), room))
            if sample.spelled:
                yield from _wrapped(f"it says: {one_line(sample.spelled)}", "      ")
    if finding.count > len(shown):
        yield (Styled(f"  … {finding.count - len(shown):,} more; --limit N and --json show them", DIM),)
    yield from _remedy(finding)


def _shown(finding: Finding, limit: int) -> list[Sample]:
    """The first ones; of duplicates group after group, so that what is alike stands together."""
    order = [at for group in finding.groups for at in group] if finding.groups else range(finding.count)
    return [finding.samples[at] for at in [*order][:limit]]


def _remedy(finding: Finding) -> Iterator[Line]:
    """What would be won, and the command for it."""
    only = f"`zeroclaw memory audit --only {finding.kind.replace(' ', '-')}"
    if finding.kind == "stale vectors" or finding.stays:
        # Its remark names the way, or why there is none.
        return
    if finding.kind in _MERGED:
        yield (Styled(f"  Keeping one of each group wins {size_shown(_won(finding))}: {only} --merge newest`", DIM),)
    else:
        if finding.kind == "hidden text":
            yield (
                Styled("  `zeroclaw memory get KEY` shows one, `zeroclaw memory edit KEY --content` cleans it.", DIM),
            )
        yield (Styled(f"  Letting them go wins {size_shown(_won(finding))}: {only} --purge`", DIM),)


def _won(finding: Finding) -> int:
    """Bytes of content."""
    if finding.kind in _MERGED:
        return plan_merge(finding, "newest").going.size
    return 0 if finding.kind == "stale vectors" or finding.stays else finding.size


def _key(sample: Sample) -> str:
    return cut(one_line(masked(sample.stamp.key)) or "(no key)", LONGEST_KEY)


def _wrapped(text: str, indent: str = "  ") -> Iterator[Line]:
    import textwrap

    for line in textwrap.wrap(text, max(40, min(width(), 100) - len(indent))):
        yield (indent, line)


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
    names = first_names([_short_key(sample) for sample in going], most=GROUPS_SHOWN)
    stamp = stays.stamp
    return (f"  Keeps {_short_key(stays)} ({date_shown(stamp.updated_at or stamp.when)}) in the place of {names}",)


def _short_key(sample: Sample) -> str:
    return cut(one_line(masked(sample.stamp.key)) or "(no key)", _KEY_CELLS)


def _every(stamps: Iterable[Stamp]) -> list[Stamp]:
    """Each memory once."""
    found: dict[Handle, Stamp] = {}
    for stamp in stamps:
        found.setdefault(stamp.handle, stamp)
    return list(found.values())
