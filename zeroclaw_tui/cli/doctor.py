"""The verbs that check and repair a store: doctor and reindex."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import plans
from zeroclaw_tui.cli.health import store_place
from zeroclaw_tui.cli.options import DRY_RUN, one_of, option
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Line,
    Styled,
    note,
    notes,
    place_of,
    runnable,
    write_lines,
)
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE, NOT_REACHABLE, REFUSED, InspectorError, Unreadable, UsageError
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.doctor import DoctorFinding, DoctorReport, RepairOutcome, Risk
    from zeroclaw_tui.curation.library import Library


_GLYPHS: dict[Risk, tuple[str, str]] = {"serious": ("✗", RED), "worth knowing": ("!", YELLOW), "fine": ("✓", GREEN)}
_MOST_FAILED_SHOWN = 10


@verb(
    "doctor",
    "{backend, location, deep, healthy, findings, notes, repaired, dry_run}; --repair --dry-run adds would_repair",
    options=[
        option("--deep", action="store_true", help="Also check every page, on a copy of the database"),
        one_of(
            option(
                "--compact", action="store_true", help="Only rewrite the database without free pages, after a backup"
            ),
            option(
                "--repair",
                action="append",
                metavar="FINDING",
                help="Repair this finding, or all, after a backup (repeatable)",
            ),
        ),
        DRY_RUN,
    ],
    opens="config",
    concerns=("file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"),
    examples=("doctor --deep", "doctor --repair all --dry-run"),
)
async def doctor(configs: Sequence[MemoryConfig], args: argparse.Namespace) -> int:
    """Check the store, even if it does not open, and repair it. Exit code 1 while a serious finding remains."""
    from zeroclaw_tui.curation.doctor import examine

    config = configs[0]
    if args.compact:
        return await _compact(config, args)
    if args.repair and not args.dry_run:
        plans.check_can_ask("zeroclaw memory doctor --repair", yes=args.yes)
    library = await _open_library(config, args.profile)
    try:
        report = await examine(config, library, deep=args.deep)
        chosen = _choose_findings(report, args.repair or ())
        repaired: dict[str, RepairOutcome] = {}
        code = DONE
        if chosen and not args.dry_run:
            code = await _repair(config, library, args, chosen, repaired)
            report = await examine(config, library, deep=args.deep)
    finally:
        if library is not None:
            await library.close()
    backend, location = store_place(config, library)
    facts = {"backend": backend, "location": location, **report.as_json()}
    facts["repaired"] = [{"id": name, **outcome.as_json()} for name, outcome in repaired.items()]
    facts["dry_run"] = bool(args.repair and args.dry_run)
    lines = _report_lines(report, backend, location)
    if facts["dry_run"]:
        facts["would_repair"] = [finding.id for finding in chosen]
        lines = _repair_lines(chosen)
    plans.print_plan(args, lines, facts)
    return max(code, DONE if report.is_healthy else REFUSED)


async def _open_library(config: MemoryConfig, profile: str | None) -> Library | None:
    """Open the store; None if it does not open, which the doctor reports as a finding."""
    from zeroclaw_tui.curation.library import open_library

    try:
        return await open_library(config, profile)
    except InspectorError as error:
        if error.exit_code != NOT_REACHABLE:
            raise
        return None


def _choose_findings(report: DoctorReport, names: Sequence[str]) -> list[DoctorFinding]:
    """The findings to repair, only the first of several with the same repair.

    Raises UsageError for an unknown name, and Unreadable if the store does not open and so cannot be checked.
    """
    chosen: dict[tuple[str, str], DoctorFinding] = {}
    for name in names:
        # Only `reindex` sends texts to a provider, because it shows what it sends.
        repairable = [finding for finding in report.findings if finding.repair not in (None, "fill vectors")]
        named = repairable if name == "all" else [finding for finding in report.findings if finding.id == name]
        if not named and name != "all":
            closed = next((finding for finding in report.findings if finding.id == "not-open"), None)
            if closed is not None:
                raise Unreadable(closed.title, hint=closed.by_hand)
            known = ", ".join(one_line(finding.id) for finding in report.findings) or "none"
            raise UsageError(f"Unknown finding {name!r}.", hint=f"Findings: {known}.")
        for finding in named:
            if finding.repair is None:
                note(f"zeroclaw: {finding.id} cannot be repaired here. {finding.by_hand}")
            else:
                chosen.setdefault((finding.repair, finding.target), finding)
    return list(chosen.values())


async def _repair(
    config: MemoryConfig,
    library: Library | None,
    args: argparse.Namespace,
    chosen: Sequence[DoctorFinding],
    repaired: dict[str, RepairOutcome],
) -> int:
    """Repair findings after confirmation; return the exit code. A failed repair does not stop the others."""
    from zeroclaw_tui.curation.doctor import repair_finding

    code = DONE
    if not args.yes and not plans.confirm("Repair all of this?", _repair_lines(chosen)):
        return REFUSED
    for finding in chosen:
        try:
            outcome = await repair_finding(config, library, finding, args.now)
        except InspectorError as error:
            note(f"zeroclaw: {finding.id}: {error.message} {error.hint}".rstrip())
            code = max(code, error.exit_code)
            continue
        repaired[finding.id] = outcome
        if not args.json:
            write_lines(_outcome_lines(outcome))
    return code


def _outcome_lines(repaired: RepairOutcome) -> Iterator[Line]:
    sentence, backup = repaired.sentences()
    yield (Styled("✓", GREEN), " ", _clean(sentence))
    yield _clean(backup)


def _repair_lines(findings: Sequence[DoctorFinding]) -> Iterator[Line]:
    """Yield the steps of the repairs."""
    if not findings:
        yield "Nothing to repair."
    for finding in findings:
        yield _head(finding)
        yield from (f"    {number}. {_clean(step)}" for number, step in enumerate(finding.repair_steps, 1))


def _report_lines(report: DoctorReport, backend: str, location: str) -> Iterator[Line]:
    """Yield a headline, the location, and a block for each finding, or a line if it is fine."""
    yield Styled(report.headline(), BOLD)
    yield Styled(f"{backend} · {one_line(location)}", DIM)
    yield ()
    for finding in report.findings:
        yield _head(finding)
        if finding.risk == "fine":
            continue
        yield f"    {_clean(finding.risk_sentence)}"
        if finding.repair is not None:
            yield Styled(runnable(f"    repair: `zeroclaw memory doctor --repair {_clean(finding.id)}`"), DIM)
        if finding.by_hand:
            yield f"    {_clean(finding.by_hand)}"
        yield ()
    yield from (Styled(_clean(sentence), YELLOW) for sentence in report.notes)


def _head(finding: DoctorFinding) -> Line:
    title = _clean(finding.title)
    return (Styled(*_GLYPHS[finding.risk]), " ", Styled(title, "" if finding.risk == "fine" else BOLD))


def _clean(text: str) -> str:
    return runnable(one_line(mask_secrets(text)))


async def _compact(config: MemoryConfig, args: argparse.Namespace) -> int:
    """Rewrite the database file without its free pages, even if the store does not open.

    Exit code 3 while another program has the database open.
    """
    from zeroclaw_tui.curation.doctor import compact, plan_compact

    if not args.dry_run:
        plans.check_can_ask("zeroclaw memory doctor --compact", yes=args.yes)
    plan = await plan_compact(config)
    facts = {"backend": config.backend, "dry_run": bool(args.dry_run), **plan.as_json()}
    if args.dry_run:
        plans.print_plan(args, plan.sentences(), {**facts, "after": None, "done": [], "backup": None})
        return NOT_REACHABLE if plan.open_in else DONE
    if not plan.open_in and not args.yes and not plans.confirm("Rewrite it?", plan.sentences()):
        return REFUSED
    outcome = await compact(config, args.now)
    document = {**facts, "after": (await plan_compact(config)).size, **outcome.as_json()}
    return plans.print_plan(args, _outcome_lines(outcome), document)


@verb(
    "reindex",
    "{backend, location, dry_run, model, remote, missing, wrong, characters, tokens, filled, left, failed, stopped}",
    options=[option("--id", action="append", metavar="ID", help="Only the memory with this id (repeatable)"), DRY_RUN],
    concerns=("store", "vectors"),
    examples=("reindex --dry-run", "reindex --yes"),
)
async def reindex(library: Library, args: argparse.Namespace) -> int:
    """Create missing embeddings. Exit code 1 after a failure, 130 after Ctrl-C."""
    from zeroclaw_tui.curation.reindex import ReindexOutcome, announce, plan_reindex
    from zeroclaw_tui.curation.reindex import reindex as create_embeddings

    plans.check_can_change(library, args)
    plan = await plan_reindex(library, ids=args.id or ())
    facts = place_of(library)
    if args.dry_run or not plan.count:
        planned = {**facts, "dry_run": True, **plan.as_json(), **ReindexOutcome().as_json()}
        return plans.print_plan(args, plan.sentences(), planned)
    if args.yes:
        announce(library, plan)
    elif not plans.confirm("Create them?", plan.sentences()):
        return REFUSED
    with plans.Progress("Creating embeddings", plan.count) as progress:
        outcome = await create_embeddings(library, plan, on_progress=progress.advance)
    first, *more = outcome.sentences(plan.count)
    document = {**facts, "dry_run": False, **plan.as_json(), **outcome.as_json()}
    mark = Styled("✓ ", GREEN) if outcome.filled or not outcome.failed else Styled("✗ ", RED)
    plans.print_plan(args, [(mark, first), *more], document)
    notes(_clean(sentence) for sentence in outcome.failed[:_MOST_FAILED_SHOWN])
    if outcome.stopped:
        return plans.note_stopped(outcome.filled, counted(plan.count))
    return REFUSED if outcome.failed else DONE
