"""The verbs that check and repair a store: doctor and reindex."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.health import store_place
from zeroclaw_tui.cli.options import add_dry_run
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Styled,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.plans import NOTHING_DONE, Progress, check_can_ask, check_writable, confirm
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, NOT_REACHABLE, REFUSED, InspectorError, Unreadable, UsageError
from zeroclaw_tui.memory.text import cells, counted, mask_secrets, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.doctor import DoctorReport
    from zeroclaw_tui.curation.doctor_checks import DoctorFinding, Risk
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.repairs import RepairOutcome


ALL = "all"
_GLYPHS: dict[Risk, tuple[str, str]] = {"serious": ("✗", RED), "worth knowing": ("!", YELLOW), "fine": ("✓", GREEN)}
_INDENT = "    "
MOST_FAILED_SHOWN = 10


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="Also check every page, on a copy of the database")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--compact", action="store_true", help="Only rewrite the database without free pages, after a backup"
    )
    instead.add_argument(
        "--repair", action="append", metavar="FINDING", help="Repair this finding, or all, after a backup (repeatable)"
    )
    add_dry_run(parser)


@verb(
    "doctor",
    "Check the store for problems and repair them",
    "{backend, location, deep, healthy, findings, notes, repaired, dry_run}",
    _doctor_options,
    opens="config",
    concerns=("file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"),
    tells_facts=True,
)
async def doctor(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Check the store, also one that does not open, and repair it.

    Its document: {"backend", "location", "deep", "healthy", "findings", "notes", "dry_run", "repaired"}. Each finding
    is {"id", "title", "risk", "risk_sentence", "repair", "repair_steps", "by_hand", "target", "details"}; each of
    `repaired` {"id", "done", "backup"}. With --repair the findings are those that stay. Exit code 1 while something
    serious stays, and after a no.
    """
    from zeroclaw_tui.curation.doctor import examine

    config = configs[0]
    if given.compact:
        return await _compact(config, given, now)
    if given.repair and not given.dry_run:
        check_can_ask("doctor --repair", yes=given.yes)
    library = await _opened(config, given.profile)
    try:
        report = await examine(config, library, deep=given.deep)
        chosen = _chosen(report, given.repair or ())
        repaired: dict[str, RepairOutcome] = {}
        code = DONE
        if given.repair and not given.dry_run:
            repaired, code = await _repair(config, library, given, now, chosen)
            report = await examine(config, library, deep=given.deep)
        _print_report(config, library, given, report, chosen, repaired)
        return max(code, DONE if report.is_healthy else REFUSED)
    finally:
        if library is not None:
            await library.close()


async def _opened(config: MemoryConfig, profile: str | None) -> Library | None:
    """The library; None where it does not open, which is a finding of its own."""
    from zeroclaw_tui.curation.library import open_library

    try:
        return await open_library(config, profile)
    except InspectorError as error:
        if error.exit_code != NOT_REACHABLE:
            raise
        return None


async def _repair(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    now: datetime,
    chosen: Sequence[DoctorFinding],
) -> tuple[dict[str, RepairOutcome], int]:
    """What was done by finding, and an exit code after a no or a failure. A repair that fails does not stop others."""
    from zeroclaw_tui.curation.doctor import repair_finding

    done: dict[str, RepairOutcome] = {}
    code = DONE
    for finding in chosen:
        if not given.yes and not confirm("Repair it?", plan_lines([finding])):
            code = max(code, REFUSED)
            continue
        try:
            with Progress("Repairing", None) as progress:
                done[finding.id] = await repair_finding(config, library, finding, now, progress.advance)
        except InspectorError as error:
            note(f"zeroclaw: {finding.id}: {error.message} {error.hint}".rstrip())
            code = max(code, error.exit_code)
            continue
        if not given.json:
            _print_outcome(done[finding.id])
    return done, code


def _chosen(report: DoctorReport, names: Sequence[str]) -> list[DoctorFinding]:
    """The findings to repair, of several with the same repair the first.

    Raises UsageError for a name that no finding has, and Unreadable if the store does not open to look for it.
    """
    chosen: dict[tuple[str, str], DoctorFinding] = {}
    for name in names:
        found = [finding for finding in report.findings if finding.id == name]
        if name == ALL:
            # Texts are sent to a provider only by a command that shows what it sends.
            found = [finding for finding in report.findings if finding.repair not in (None, "fill vectors")]
            if any(finding.repair == "fill vectors" for finding in report.findings):
                note("zeroclaw: `all` creates no embeddings; `zeroclaw memory reindex` first shows what it sends.")
        elif not found:
            closed = next((finding for finding in report.findings if finding.id == "not-open"), None)
            if closed is not None:
                raise Unreadable(closed.title, hint=closed.by_hand)
            names_known = ", ".join(one_line(finding.id) for finding in report.findings) or "none"
            raise UsageError(f"Unknown finding {name!r}.", hint=f"Findings: {names_known}.")
        for finding in found:
            if finding.repair is None:
                note(f"zeroclaw: {finding.id} cannot be repaired here. {finding.by_hand or 'It is fine.'}")
            else:
                chosen.setdefault((finding.repair, finding.target), finding)
    return list(chosen.values())


def _print_report(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    report: DoctorReport,
    chosen: Sequence[DoctorFinding],
    repaired: Mapping[str, RepairOutcome],
) -> None:
    """Print the findings; of a dry run what the repairs would do."""
    backend, location = store_place(config, library)
    location = mask_secrets(location or str(config.install.root))
    is_plan = bool(given.repair and given.dry_run)
    if given.json:
        done = [{"id": name, **outcome.as_json()} for name, outcome in repaired.items()]
        planned = {"would_repair": [finding.id for finding in chosen]} if is_plan else {}
        place = {"backend": backend, "location": location}
        document({**place, **report.as_json(), "repaired": done, "dry_run": is_plan, **planned})
    elif is_plan:
        write_lines(plan_lines(chosen))
        note(NOTHING_DONE)
    else:
        write_lines(report_lines(report, backend, location))


def _print_outcome(repaired: RepairOutcome) -> None:
    write_lines([(Styled("✓", GREEN), " ", mask_secrets(sentence)) for sentence in repaired.sentences()])
    if sentence := repaired.backup_sentence():
        note(f"zeroclaw: {sentence}")


def report_lines(report: DoctorReport, backend: str, location: str) -> Iterator[Line]:
    """A sentence on all, where it is, and a block for each finding; the fine ones in a line each."""
    yield (Styled(report.headline(), BOLD),)
    yield (Styled(f"{backend} · {one_line(location)}", DIM),)
    yield ()
    for finding in report.findings:
        yield from _finding_lines(finding)
    for sentence in report.notes:
        yield (Styled(_clean(sentence), YELLOW),)


def plan_lines(findings: Sequence[DoctorFinding]) -> Iterator[Line]:
    """What the repairs would do, step by step."""
    if not findings:
        yield ("Nothing to repair.",)
    for finding in findings:
        yield _head(finding)
        for number, step in enumerate(finding.repair_steps, 1):
            yield from _wrapped(step, f"{number}. ")


def _finding_lines(finding: DoctorFinding) -> Iterator[Line]:
    yield _head(finding)
    if finding.risk == "fine":
        return
    yield from _wrapped(finding.risk_sentence)
    left = max((cells(_clean(name)) for name, _ in finding.details), default=0)
    for name, value in finding.details:
        yield (_INDENT, Styled(padded(_clean(name), left), DIM), "  ", _clean(value))
    if finding.repair is not None:
        yield (_INDENT, Styled(runnable(f"repair: `zeroclaw memory doctor --repair {_clean(finding.id)}`"), DIM))
    if finding.by_hand:
        yield from _wrapped(finding.by_hand)
    yield ()


def _head(finding: DoctorFinding) -> Line:
    glyph, colour = _GLYPHS[finding.risk]
    title = _clean(finding.title)
    return (Styled(glyph, colour), " ", title if finding.risk == "fine" else Styled(title, BOLD))


def _wrapped(sentence: str, lead: str = "") -> Iterator[Line]:
    import textwrap

    room = max(40, min(width(), 100))
    beginning = _INDENT + lead
    text = _clean(sentence)
    for line in textwrap.wrap(
        text, room, initial_indent=beginning, subsequent_indent=" " * len(beginning), break_on_hyphens=False,
        break_long_words=False,
    ):  # fmt: skip
        yield (line,)


def _clean(text: str) -> str:
    return one_line(mask_secrets(text))


async def _compact(config: MemoryConfig, given: argparse.Namespace, now: datetime) -> int:
    """Rewrite the database file without its free pages, also where the store does not open.

    Its document: {"backend", "location", "dry_run", "before", "after", "free", "open_in", "backup", "done"}, sizes in
    bytes, `open_in` the programs that have the database open. Exit code 1 after a no, 3 while another program has it
    open.
    """
    from zeroclaw_tui.curation.repairs import compact, plan_compact

    if not given.dry_run:
        check_can_ask("doctor --compact", yes=given.yes)
    plan = await plan_compact(config)
    facts = {"backend": config.backend, "dry_run": bool(given.dry_run), **plan.as_json()}
    lines = [(sentence,) for sentence in plan.sentences()]
    if given.dry_run:
        if given.json:
            document({**facts, "after": None, "done": [], "backup": None})
        else:
            write_lines(lines)
            note(NOTHING_DONE)
        return NOT_REACHABLE if plan.open_in else DONE
    if not plan.open_in and not given.yes and not confirm("Rewrite it?", lines):
        return REFUSED
    note("zeroclaw: Compacting …")
    outcome = await compact(config, now)
    if given.json:
        document({**facts, "after": (await plan_compact(config)).size, **outcome.as_json()})
    else:
        _print_outcome(outcome)
    return DONE


def _reindex_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", action="append", metavar="ID", help="Only the memory with this id (repeatable)")
    add_dry_run(parser)


@verb(
    "reindex",
    "Create missing or outdated embeddings",
    "{backend, location, dry_run, model, remote, missing, wrong, characters, tokens, filled, left, failed, stopped}",
    _reindex_options,
    changes=True,
    concerns=("store", "vectors"),
)
async def reindex(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Create the embeddings that memories lack.

    Its document: {"backend", "location", "dry_run", "model", "remote", "missing", "wrong", "characters", "tokens",
    "filled", "left", "failed", "stopped"}. Exit code 1 after a failure and after a no, 130 after ctrl-c.
    """
    from zeroclaw_tui.curation.reindex import ReindexOutcome, announce, plan_reindex
    from zeroclaw_tui.curation.reindex import reindex as create_embeddings

    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("reindex", yes=given.yes)
    plan = await plan_reindex(library, ids=given.id or ())
    facts = {"backend": library.memory.name, "location": library.memory.about.location}
    lines = [(sentence,) for sentence in plan.sentences()]
    if given.dry_run or not plan.count:
        if given.json:
            document({**facts, "dry_run": True, **plan.as_json(), **ReindexOutcome().as_json()})
        else:
            write_lines(lines)
            if plan.count:
                note(NOTHING_DONE)
        return DONE
    if given.yes:
        announce(library, plan)
    elif not confirm("Create them?", lines):
        return REFUSED
    with Progress("Creating embeddings", plan.count) as progress:
        outcome = await create_embeddings(library, plan, on_progress=progress.advance)
    if given.json:
        document({**facts, "dry_run": False, **plan.as_json(), **outcome.as_json()})
    else:
        first, *more = outcome.sentences(plan.count)
        write_lines([(Styled("✓ ", GREEN), first), *((sentence,) for sentence in more)])
    for sentence in outcome.failed[:MOST_FAILED_SHOWN]:
        note(f"zeroclaw: {one_line(mask_secrets(sentence))}")
    if len(outcome.failed) > MOST_FAILED_SHOWN:
        note(f"zeroclaw: … {len(outcome.failed) - MOST_FAILED_SHOWN:,} more.")
    if outcome.stopped:
        done = f"{outcome.filled:,} of {counted(plan.count)}"
        note(f"zeroclaw: Stopped after {done}; run `zeroclaw memory reindex` to continue.")
        return INTERRUPTED
    return REFUSED if outcome.failed else DONE
