"""`memory audit`: what pollutes the memory, and doing something about it.

Its document:

    {"backend", "location", "rows", "superseded", "size", "findings": [{"kind", "count", "size", "won", "remark",
     "whole", "groups", "samples": [{"id", "key", "category", "agent", "timestamp", "updated_at", "size", "excerpt",
     "remark", "spelled"}]}], "notes"}

`superseded` is how many of the rows a newer memory replaced. `size` is in bytes of content, `won` what a purge (of
duplicates a merge) would free of it. `groups` are lists of ids that are alike, all of them; `samples` are the first
--limit memories: `excerpt` has secrets masked and is else exact, `spelled` is what hidden characters say, null where
nothing. With an action it is the document of every change (see `told`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime

from zeroclaw_tui.cli.asking import check_can_ask
from zeroclaw_tui.cli.audit_actions import carry_out
from zeroclaw_tui.cli.audit_tables import report_as_json, report_lines
from zeroclaw_tui.cli.guarding import Progress, check_writable
from zeroclaw_tui.cli.output import document, note, write_lines
from zeroclaw_tui.curation.audit.audit import audit_memories
from zeroclaw_tui.curation.audit.findings import KINDS, AuditReport, FindingKind
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import category_meant
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, SearchInterrupted, WrongUse
from zeroclaw_tui.memory.text import one_line

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
