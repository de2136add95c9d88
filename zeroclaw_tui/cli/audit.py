"""`memory audit`: find duplicates, junk, secrets and hidden text, and delete or merge them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.options import OWN_MEMORIES, add_dry_run, agents_given, count
from zeroclaw_tui.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    YELLOW,
    Styled,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.plans import (
    MOST_ENTRIES,
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    confirm_count,
    named_as_json,
    plan_lines,
    print_change,
    print_done,
    with_triggers,
)
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, SearchInterrupted, UsageError
from zeroclaw_tui.memory.text import cells, counted, cut, one_line, padded, size_shown

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.cli.output import Line, Part
    from zeroclaw_tui.curation.clean_up import CleanUpReport, Finding, FindingKind, Sample
    from zeroclaw_tui.curation.library import Library


LONGEST_KEY, LONGEST_REMARK = 24, 30
_COUNT, _BYTES, _SHARE = 10, 9, 7
GROUPS_SHOWN = 3
_SESSION_CELLS = 32


def _audit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", metavar="KIND", help="Only findings of this kind (repeatable)")
    parser.add_argument("--limit", type=count, default=5, metavar="N", help="Show at most N memories of each kind [5]")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--purge", action="store_true", help="Move the memories of the named findings to the trash")
    action.add_argument("--merge", action="store_true", help="Delete duplicates and keep the most durable copy")
    parser.add_argument("--clean-copies", action="store_true", help="Also remove other copies of the deleted texts")
    parser.set_defaults(forever=False)
    add_dry_run(parser)


@verb(
    "audit",
    "Find duplicates, junk, secrets and hidden text",
    "{backend, location, rows, superseded, size, findings}",
    _audit_options,
    agents=OWN_MEMORIES,
)
async def audit(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Report what pollutes the memory, and do something about it.

    Its document:

        {"backend", "location", "rows", "superseded", "size", "findings": [{"kind", "count", "size", "won", "remark",
         "groups", "samples": [{"id", "key", "category", "agent", "timestamp", "updated_at", "size", "excerpt",
         "remark", "spelled"}]}]}

    `superseded` is how many of the rows a newer memory replaced. `size` is in bytes of content, `won` what a purge (of
    duplicates a merge) would free of it. `groups` are lists of ids that are alike, all of them; `samples` are the first
    --limit memories: `excerpt` has secrets masked and is else exact, `spelled` is what hidden characters say, null
    where nothing. With an action it is the document of every change (see `print_change`).
    """
    kinds = _kinds(given)
    acts = given.purge or given.merge
    if acts and not given.dry_run:
        check_writable(library, given)
        check_can_ask("audit", yes=given.yes)
    report = await _check(library, agents_given(given))
    if report is None:
        note("zeroclaw: Cancelled. Nothing was changed.")
        return INTERRUPTED
    findings = [finding for finding in report.findings if finding.kind in kinds]
    if acts:
        return await (_merge if given.merge else _purge)(library, given, findings)
    if given.json:
        place = {"backend": library.memory.name, "location": library.memory.about.location}
        document({**place, **report.as_json(kinds, given.limit)})
        return DONE
    write_lines(report_lines(library, report, findings, given.limit, chosen=bool(given.only)))
    return DONE


async def _check(library: Library, agents: Sequence[str]) -> CleanUpReport | None:
    """Check the memories; None after Ctrl-C."""
    from zeroclaw_tui.curation.clean_up import check_memories

    with Progress("Checking memories", None if agents else await library.memory.count()) as progress:
        try:
            return await check_memories(library, progress.advance, agents)
        except SearchInterrupted:
            if progress.stopped:
                return None
            raise


def _kinds(given: argparse.Namespace) -> Sequence[FindingKind]:
    """The kinds of findings that are meant. Raises UsageError where an action does not go with them."""
    from zeroclaw_tui.curation.clean_up import DUPLICATES, KINDS

    kinds = KINDS if not given.only else tuple(dict.fromkeys(map(_kind, given.only)))
    if given.merge:
        others = [kind for kind in kinds if kind not in DUPLICATES]
        if given.only and others:
            raise UsageError(
                f"Only duplicates can be merged, not {others[0]}.",
                hint="Pass --only exact-duplicates, --only near-duplicates or neither.",
            )
        return [kind for kind in DUPLICATES if kind in kinds]
    if given.purge and not given.only:
        raise UsageError(
            "No findings named. Name each kind with --only.", hint=f"Kinds: {', '.join(map(spelled, KINDS))}."
        )
    return kinds


def _kind(typed: str) -> FindingKind:
    """The kind of this name or unique beginning, with blanks or hyphens. Raises UsageError with the names."""
    from zeroclaw_tui.curation.clean_up import KINDS

    wanted = " ".join(typed.lower().replace("-", " ").replace("_", " ").split())
    found = [kind for kind in KINDS if kind == wanted] or [kind for kind in KINDS if wanted and kind.startswith(wanted)]
    if len(found) != 1:
        why = "matches several kinds of findings" if found else "is not a kind of finding"
        raise UsageError(f"{one_line(typed)!r} {why}.", hint=f"Kinds: {', '.join(map(spelled, found or KINDS))}.")
    return found[0]


def spelled(kind: FindingKind) -> str:
    """A kind as it is typed."""
    return kind.replace(" ", "-")


def report_lines(
    library: Library, report: CleanUpReport, findings: Sequence[Finding], limit: int, *, chosen: bool
) -> Iterator[Line]:
    """A line of totals, a table of the findings, then each with its first memories and what can be done."""
    yield (Styled(report.headline(), BOLD),)
    yield (Styled(f"{library.memory.name} · {one_line(library.memory.about.location)}", DIM),)
    yield ()
    if not findings:
        nothing = "No findings of this kind." if chosen and report.rows else "No findings."
        yield (nothing if report.rows else "This store has no memories yet.",)
        return
    yield from _table(report, findings)
    for finding in findings:
        yield ()
        yield from _finding_lines(finding, limit)


def _table(report: CleanUpReport, findings: Sequence[Finding]) -> Iterator[Line]:
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
                yield from _wrapped(f"hidden text: {one_line(sample.spelled)}", "      ")
    if finding.count > len(shown):
        yield (Styled(f"  … {finding.count - len(shown):,} more. Show them with --limit N or --json", DIM),)
    yield from _remedy(finding)


def _shown(finding: Finding, limit: int) -> list[Sample]:
    """The first ones; of duplicates group after group, so that what is alike stands together."""
    order = [at for group in finding.groups for at in group] if finding.groups else range(finding.count)
    return [finding.samples[at] for at in [*order][:limit]]


def _remedy(finding: Finding) -> Iterator[Line]:
    """What would be won, and the command for it."""
    only = runnable(f"`zeroclaw memory audit --only {finding.kind.replace(' ', '-')}")
    if finding.groups:
        yield (Styled(f"  Merging frees {size_shown(finding.freed)}. Run {only} --merge`", DIM),)
    else:
        if finding.kind == "hidden text":
            yield (
                Styled(
                    runnable(
                        "  Show one with `zeroclaw memory get KEY`, clean it with `zeroclaw memory edit KEY --content`."
                    ),
                    DIM,
                ),
            )
        yield (Styled(f"  Deleting them frees {size_shown(finding.freed)}. Run {only} --purge`", DIM),)


def _key(sample: Sample) -> str:
    from zeroclaw_tui.memory.secret_text import masked

    return cut(one_line(masked(sample.version.key)) or "(no key)", LONGEST_KEY)


def _wrapped(text: str, indent: str = "  ") -> Iterator[Line]:
    import textwrap

    for line in textwrap.wrap(text, max(40, min(width(), 100) - len(indent))):
        yield (indent, line)


async def _purge(library: Library, given: argparse.Namespace, findings: Sequence[Finding]) -> int:
    """Move the memories of findings to the trash, each once."""
    from zeroclaw_tui.cli.edits import remove_planned
    from zeroclaw_tui.curation.purge_plan import plan_of

    versions = {version.handle: version for finding in findings for version in finding.versions}
    return await remove_planned(library, given, plan_of(versions.values()), "purge")


async def _merge(library: Library, given: argparse.Namespace, findings: Sequence[Finding]) -> int:
    """Show what a merge would do, ask, do it, and give the exit code."""
    from zeroclaw_tui.curation.clean_up import merge, plan_merge
    from zeroclaw_tui.curation.outcome import Outcome

    merges = plan_merge(findings)
    plan = merges.to_delete
    lines = await plan_lines(library, plan, "merge", forever=False, copies=())
    lines += [line for group in merges.groups[:GROUPS_SHOWN] for line in _group_lines(*group)]
    if given.dry_run or not plan.count:
        if given.json:
            entries = [named_as_json(version) for version in plan.stamps[:MOST_ENTRIES]]
            print_change(library, Outcome("merge", plan.count), dry_run=given.dry_run, entries=entries)
        else:
            write_lines(lines if plan.count else [("There is nothing to merge.",)])
            note(NOTHING_DONE)
        return DONE
    if not given.yes and not (confirm_count(plan.count, "merge", lines) if plan.is_typed else confirm("Go on?", lines)):
        return REFUSED
    with Progress("Merging", plan.count) as progress:
        outcome = await with_triggers(library, given, lambda: merge(library, merges, progress.advance), asks=True)
    if outcome is None:
        return REFUSED
    done = (Styled("✓", GREEN), f" {outcome.headline('', counted(len(merges.groups)))}")
    # The memory that stays has the same text.
    return await print_done(library, given, plan, outcome, done, texts=None)


def _group_lines(stays: Sample, deleted: Sequence[Sample]) -> Iterator[Line]:
    """The memory that stays and the first that are deleted, each with its category, session and date."""
    yield ("  ", Styled("keeps   ", GREEN), _copy_text(stays))
    for sample in deleted[:GROUPS_SHOWN]:
        yield ("  deletes ", _copy_text(sample))
    if len(deleted) > GROUPS_SHOWN:
        yield (Styled(f"          … {len(deleted) - GROUPS_SHOWN:,} more", DIM),)


def _copy_text(sample: Sample) -> str:
    from zeroclaw_tui.memory.secret_text import masked

    version = sample.version
    session = "no session" if sample.session is None else f"session {one_line(masked(sample.session))}"
    date = date_shown(version.updated_at or version.when)
    facts = (one_line(version.category), cut(session, _SESSION_CELLS), date)
    return f"{_key(sample)} ({', '.join(facts)})"
