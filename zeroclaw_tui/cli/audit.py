"""`memory audit`: find duplicates, junk, secrets and hidden text, and delete or merge them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import options, output, plans
from zeroclaw_tui.cli.edits import remove_planned
from zeroclaw_tui.cli.options import one_of, option
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, GREEN, Line, Styled, runnable
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, shell_word, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.clean_up import CleanUpReport, Finding, FindingKind, Sample
    from zeroclaw_tui.curation.library import Library


_KEY_CELLS, _REMARK_CELLS, _SESSION_CELLS = 24, 30, 32
_GROUPS_SHOWN = 3
KINDS = (
    "assistant-replies", "recall-blobs", "tool-results", "heartbeat-and-cron", "too-short", "too-long", "empty-keys",
    "exact-duplicates", "near-duplicates", "secrets", "hidden-text",
)  # fmt: skip
DUPLICATES = ("exact-duplicates", "near-duplicates")


@verb(
    "audit",
    "{backend, location, rows, size, findings}; with --purge or --merge that of `purge`",
    options=[
        option(
            "--only", action="append", choices=KINDS, metavar="KIND", help="Only this kind (repeatable): %(choices)s"
        ),
        option("--limit", type=options.count, default=5, metavar="N", help="Show at most N memories of each kind [5]"),
        one_of(
            option("--purge", action="store_true", help="Move the memories of the named findings to the trash"),
            option("--merge", action="store_true", help="Delete duplicates and keep the most durable copy"),
        ),
        option("--clean-copies", action="store_true", help="Also remove other copies of the deleted texts"),
        options.DRY_RUN,
    ],
    agents=options.OWN_MEMORIES,
    examples=("audit --only secrets", "audit --merge --dry-run"),
)
async def audit(library: Library, args: argparse.Namespace) -> int:
    """Show duplicates, junk, secrets and hidden text, and delete or merge them.

    The document is that of `CleanUpReport`; with --purge or --merge it is that of all changes.
    """
    from zeroclaw_tui.curation.clean_up import check_memories

    kinds = _kinds(args)
    if args.purge or args.merge:
        plans.check_can_change(library, args)
    with plans.Progress("Checking memories") as progress:
        report = await check_memories(library, progress.advance, options.agent_names(args))
    findings = [finding for finding in report.findings if finding.kind in kinds]
    if args.merge:
        return await _merge(library, args, findings)
    if args.purge:
        from zeroclaw_tui.curation.outcome import PurgePlan

        versions = {version.handle: version for finding in findings for version in finding.versions}
        return await remove_planned(library, args, PurgePlan(tuple(versions.values())), "purge")
    document = {**output.place_of(library), **report.as_json(kinds, args.limit)}
    return output.print_result(args, document, _report_lines(library, report, findings, args))


def _kinds(args: argparse.Namespace) -> list[FindingKind]:
    """The kinds of findings to handle. Raises UsageError if the action does not fit them."""
    from zeroclaw_tui.curation import clean_up

    kinds = args.only or (DUPLICATES if args.merge else KINDS)
    if args.merge and not set(kinds) <= set(DUPLICATES):
        raise UsageError("Only duplicates can be merged.", hint=f"Pass --only {' or --only '.join(DUPLICATES)}.")
    if args.purge and not args.only:
        raise UsageError("No findings named.", hint=f"Name each kind with --only: {', '.join(KINDS)}.")
    return [kind for kind in clean_up.KINDS if kind.replace(" ", "-") in kinds]


def _report_lines(
    library: Library, report: CleanUpReport, findings: Sequence[Finding], args: argparse.Namespace
) -> Iterator[Line]:
    """Yield the totals, then each finding with its first memories and the command to fix it."""
    yield Styled(report.headline(), BOLD)
    yield Styled(f"{library.memory.name} · {one_line(library.memory.about.location)}", DIM)
    if not findings:
        yield "No findings." if report.rows else "This store has no memories yet."
    agents = "".join(f" --agent {shell_word(agent)}" for agent in options.agent_names(args))
    for finding in findings:
        yield ()
        yield from _finding_lines(finding, args.limit)
        what, way = ("Merging", "--merge") if finding.groups else ("Deleting them", "--purge")
        command = f"`zeroclaw memory audit --only {finding.kind.replace(' ', '-')} {way}{agents}`"
        yield Styled(runnable(f"  {what}: {command}"), DIM)


def _finding_lines(finding: Finding, limit: int) -> Iterator[Line]:
    groups = f" in {counted(len(finding.groups), 'group')}" if finding.groups else ""
    yield (Styled(finding.kind, BOLD), f"  {counted(finding.count)}{groups}, {size_shown(finding.size)}")
    yield f"  {finding.remark}"
    # Duplicates are shown by group.
    order = [index for group in finding.groups for index in group] if finding.groups else range(finding.count)
    shown = [finding.samples[index] for index in [*order][:limit]]
    rows = [
        (_key(sample), Styled(cut(sample.remark, _REMARK_CELLS), CYAN), one_line(sample.excerpt)) for sample in shown
    ]
    yield from output.table(rows, indent="  ") if rows else ()
    if finding.count > len(shown):
        yield Styled(f"  … {finding.count - len(shown):,} more. Show them with --limit N or --json", DIM)


def _key(sample: Sample) -> str:
    return cut(output.masked_line(sample.version.key) or "(no key)", _KEY_CELLS)


async def _merge(library: Library, args: argparse.Namespace, findings: Sequence[Finding]) -> int:
    """Show the plan of a merge, ask, and merge."""
    from zeroclaw_tui.curation.clean_up import merge, plan_merge

    merges = plan_merge(findings)
    lines = [line for group in merges.groups[:_GROUPS_SHOWN] for line in _group_lines(*group)]
    remove = partial(merge, library, merges)
    return await remove_planned(library, args, merges.to_delete, "merge", remove=remove, lines=lines)


def _group_lines(stays: Sample, deleted: Sequence[Sample]) -> Iterator[Line]:
    """Yield the memory that stays and the first deleted ones, each with its category, session and date."""
    yield ("  ", Styled("keeps   ", GREEN), _copy_text(stays))
    yield from (f"  deletes {_copy_text(sample)}" for sample in deleted[:_GROUPS_SHOWN])
    if len(deleted) > _GROUPS_SHOWN:
        yield Styled(f"          … {len(deleted) - _GROUPS_SHOWN:,} more", DIM)


def _copy_text(sample: Sample) -> str:
    version = sample.version
    session = "no session" if version.session_id is None else f"session {output.masked_line(version.session_id)}"
    date = date_shown(version.updated_at or version.when)
    return f"{_key(sample)} ({one_line(version.category)}, {cut(session, _SESSION_CELLS)}, {date})"
