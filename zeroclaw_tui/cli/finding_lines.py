"""Findings of the doctor, for people and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, RED, YELLOW, Line, Styled, width
from zeroclaw_tui.curation.doctor.database import DoctorFinding, DoctorReport, Risk
from zeroclaw_tui.memory.text import cells, mask_secrets, one_line, padded

_GLYPHS: dict[Risk, tuple[str, str]] = {"serious": ("✗", RED), "worth knowing": ("!", YELLOW), "fine": ("✓", GREEN)}
_INDENT = "    "


def report_lines(report: DoctorReport, backend: str, location: str) -> Iterator[Line]:
    """A sentence on all, where it is, and a block for each finding; the fine ones in a line each."""
    yield (Styled(_headline(report), BOLD),)
    yield (Styled(f"{backend} · {one_line(location)}", DIM),)
    yield ()
    for finding in report.findings:
        yield from _finding_lines(finding)
    for note in report.notes:
        yield (Styled(_clean(note), YELLOW),)


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
