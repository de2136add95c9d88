"""`memory doctor`: what is wrong with the store, and its repair.

Its document: {"backend", "location", "deep", "healthy", "findings", "notes", "dry_run", "repaired"}. Each finding is
{"id", "title", "risk", "risk_sentence", "repair", "repair_steps", "by_hand", "target", "details"}; each of `repaired`
{"id", "done", "backup"}. With --repair the findings are those that stay. Exit code 1 while something serious stays, and
after a no.
"""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.cli.guard import NOTHING_DONE, Progress, check_can_ask, confirm
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, RED, YELLOW, Line, Styled, document, note, width, write_lines
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.examination import DoctorFinding, DoctorReport, Risk, examine
from zeroclaw_tui.curation.doctor.repairs import Repaired, repair_finding
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.errors import DONE, NOT_REACHABLE, REFUSED, InspectorError, WrongUse
from zeroclaw_tui.memory.text import cells, mask_secrets, one_line, padded

ALL = "all"
_SENDS = "fill vectors"


async def doctor(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb, also where the store does not open; the exit code."""
    config = configs[0]
    if given.repair and not given.dry_run:
        check_can_ask("doctor --repair", yes=given.yes)
    library = await _opened(config, given.profile)
    try:
        report = await examine(config, library, deep=given.deep)
        if not given.repair:
            return _tell(config, library, given, report)
        chosen = _chosen(report, given.repair, library)
        if given.dry_run:
            return _tell_plan(config, library, given, report, chosen)
        done, refused = await _repair(config, library, given, now, chosen)
        report = await examine(config, library, deep=given.deep)
        return max(_tell(config, library, given, report, done), refused)
    finally:
        if library is not None:
            await library.close()


async def _opened(config: MemoryConfig, profile: str | None) -> Library | None:
    """The library; None where it does not open, which is a finding of its own."""
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
) -> tuple[dict[str, Repaired], int]:
    """What was done by finding, and an exit code after a no or a failure. One repair may settle the next too."""
    done: dict[str, Repaired] = {}
    refused = DONE
    for at, wanted in enumerate(chosen):
        finding: DoctorFinding | None = wanted
        if at:
            report = await examine(config, library, deep=given.deep)
            finding = next((found for found in report.findings if found.id == wanted.id and found.repair), None)
        if finding is None:
            continue
        if not given.yes and not confirm("Repair it?", plan_lines([finding])):
            refused = REFUSED
            continue
        try:
            with Progress("Repairing", None) as progress:
                done[finding.id] = await repair_finding(config, library, finding, now, progress.advance)
        except InspectorError as error:
            # What one repair meets is told, and the others are done all the same.
            note(f"zeroclaw: {finding.id}: {error.message} {error.hint}".rstrip())
            refused = max(refused, error.exit_code)
            continue
        if not given.json:
            _tell_done(finding, done[finding.id])
    return done, refused


def _chosen(report: DoctorReport, names: Sequence[str], library: Library | None) -> list[DoctorFinding]:
    """The findings to repair, each once. Raises WrongUse for a name that no finding has."""
    chosen: dict[str, DoctorFinding] = {}
    for name in names:
        if name == ALL:
            found = [finding for finding in report.findings if finding.repair and not _sends(finding, library)]
            if any(finding.repair and _sends(finding, library) for finding in report.findings):
                note("zeroclaw: Vectors are not made with all: `zeroclaw memory reindex` shows first what is sent.")
        else:
            found = [finding for finding in report.findings if name in (finding.id, finding.repair)]
            if not found:
                raise WrongUse(f"There is no finding {name!r}.", hint=f"There are: {_names(report)}.")
        for finding in found:
            if finding.repair is None:
                why = finding.by_hand or "Nothing is wrong there."
                note(f"zeroclaw: {finding.id} is not repaired here. {why}")
            else:
                chosen[finding.id] = finding
    return list(chosen.values())


def _sends(finding: DoctorFinding, library: Library | None) -> bool:
    """Whether its repair sends memories to another machine."""
    embedder = None if library is None else library.embedder
    return finding.repair == _SENDS and embedder is not None and embedder.is_remote


def _names(report: DoctorReport) -> str:
    return ", ".join(one_line(finding.id) for finding in report.findings) or "none"


def _tell(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    report: DoctorReport,
    done: dict[str, Repaired] | None = None,
) -> int:
    if given.json:
        _document(config, library, report, done or {}, dry_run=False)
    else:
        write_lines(report_lines(report, *_where(config, library)))
    return DONE if report.is_healthy else REFUSED


def _tell_plan(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    report: DoctorReport,
    chosen: Sequence[DoctorFinding],
) -> int:
    if given.json:
        _document(config, library, report, {}, dry_run=True, would_repair=[finding.id for finding in chosen])
    else:
        write_lines(plan_lines(chosen))
        note(NOTHING_DONE)
    return DONE if report.is_healthy else REFUSED


def _tell_done(finding: DoctorFinding, repaired: Repaired) -> None:
    for sentence in repaired.done:
        write_lines([(Styled("✓", GREEN), " ", one_line(mask_secrets(sentence)))])
    if repaired.backup is not None:
        note(f"zeroclaw: The backup is {repaired.backup}.")


def _document(
    config: MemoryConfig, library: Library | None, report: DoctorReport, done: dict[str, Repaired], **more: Any
) -> None:
    backend, location = _where(config, library)
    document(
        {
            "backend": backend,
            "location": location,
            "deep": report.is_deep,
            "healthy": report.is_healthy,
            "findings": [finding_as_json(finding) for finding in report.findings],
            "notes": list(report.notes),
            "repaired": [
                {"id": name, "done": list(each.done), "backup": str(each.backup) if each.backup else None}
                for name, each in done.items()
            ],
            **more,
        }
    )


def _where(config: MemoryConfig, library: Library | None) -> tuple[str, str]:
    if library is not None:
        return library.memory.name, library.memory.location
    place = str(config.database) if has_database(config.backend) else config.location or config.install.root
    return config.backend, mask_secrets(str(place))


_GLYPHS: dict[Risk, tuple[str, str]] = {"serious": ("✗", RED), "worth knowing": ("!", YELLOW), "fine": ("✓", GREEN)}
_INDENT = "    "


def report_lines(report: DoctorReport, backend: str, location: str) -> Iterator[Line]:
    """A sentence on all, where it is, and a block for each finding; the fine ones in a line each."""
    yield (Styled(_headline(report), BOLD),)
    yield (Styled(f"{backend} · {one_line(location)}", DIM),)
    yield ()
    for finding in report.findings:
        yield from _finding_lines(finding)
    for sentence in report.notes:
        yield (Styled(_clean(sentence), YELLOW),)


def plan_lines(findings: Sequence[DoctorFinding]) -> Iterator[Line]:
    """What the repairs would do, step by step."""
    if not findings:
        yield ("There is nothing to repair.",)
    for finding in findings:
        yield _head(finding)
        for number, step in enumerate(finding.repair_steps, 1):
            yield from _wrapped(step, f"{number}. ")


def finding_as_json(finding: DoctorFinding) -> dict[str, Any]:
    """A finding by the names of its fields."""
    return {
        "id": finding.id,
        "title": mask_secrets(finding.title),
        "risk": finding.risk,
        "risk_sentence": finding.risk_sentence,
        "repair": finding.repair,
        "repair_steps": list(finding.repair_steps),
        "by_hand": mask_secrets(finding.by_hand),
        "target": mask_secrets(finding.target),
        "details": [{"name": name, "value": mask_secrets(value)} for name, value in finding.details],
    }


def _headline(report: DoctorReport) -> str:
    counts = Counter(finding.risk for finding in report.findings)
    if not counts["serious"] and not counts["worth knowing"]:
        return f"Nothing is wrong: {counts['fine']:,} checks are fine."
    parts = [f"{counts[risk]:,} {risk}" for risk in _GLYPHS if counts[risk]]
    return f"{', '.join(parts)}."


def _finding_lines(finding: DoctorFinding) -> Iterator[Line]:
    yield _head(finding)
    if finding.risk == "fine":
        return
    yield from _wrapped(finding.risk_sentence)
    left = max((cells(_clean(name)) for name, _ in finding.details), default=0)
    for name, value in finding.details:
        yield (_INDENT, Styled(padded(_clean(name), left), DIM), "  ", _clean(value))
    if finding.repair is not None:
        yield (_INDENT, Styled(f"repair: zeroclaw memory doctor --repair {_clean(finding.id)}", DIM))
    if finding.by_hand:
        yield from _wrapped(finding.by_hand)
    yield ()


def _head(finding: DoctorFinding) -> Line:
    glyph, colour = _GLYPHS[finding.risk]
    title = _clean(finding.title)
    return (Styled(glyph, colour), " ", title if finding.risk == "fine" else Styled(title, BOLD))


def _wrapped(sentence: str, lead: str = "") -> Iterator[Line]:
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
