"""Advice for the what-if: measured on the recall tests with progress, shown, and taken into the settings by a yes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.content import Content

from zeroclaw_tui.curation.evaluation import read_queries, tests_file
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.text import cells, counted, display_text, one_line, padded
from zeroclaw_tui.scoring.settings import ScoringSettings, Trial
from zeroclaw_tui.tui.dialogs import Answer, Question
from zeroclaw_tui.tui.progress import with_progress
from zeroclaw_tui.tui.themes import MUTED, STRONG

if TYPE_CHECKING:
    from zeroclaw_tui.curation.evaluation.advice import LeverWorth, MeasuredAdvice
    from zeroclaw_tui.curation.library import Library

MOST_LEVERS = 6
_PATIENCE = 0.1


def why_no_advice(library: Library) -> str | None:
    """Why nothing can be measured here, in a sentence; None when it can."""
    if library.memory.program is not None or library.memory.not_read_because is not None:
        return "Advice is for stores that ZeroClaw reads."
    file = tests_file(library)
    if not file.exists():
        return f"Advice is measured on recall tests, and there are none yet: {one_line(str(file))} is not there."
    return None


async def advised_settings(
    app: App[Any], library: Library, before: Trial, patience: float | None
) -> ScoringSettings | None:
    """Measure, show what is advised, and give its settings when they are taken; None when they are not, or nothing is.

    Runs in a worker. Raises InspectorError kinds, WrongUse for a file of tests that cannot be read.
    """
    from zeroclaw_tui.curation.evaluation.advice import advise

    tests = await asyncio.to_thread(read_queries, tests_file(library))
    # What a message is asked with here is no part of a test: it names its own session, agent and channel.
    request = replace(before.request, query="", session_id=None, further_sessions=(), since=None, until=None)
    plain = replace(before, request=replace(request, layer="agent"))
    sentence = f"Measuring hundreds of settings on {counted(len(tests), 'recall test')} …"
    try:
        measured = await with_progress(
            app, sentence, len(tests), patience or _PATIENCE, partial(advise, library, tests, plain)
        )
    except SearchInterrupted:
        app.notify("Stopped: nothing is advised.", severity="warning", markup=False)
        return None
    advice = measured.advice
    is_taken = await app.push_screen_wait(advice_question(measured))
    return advice.trial.settings if is_taken and advice is not None else None


def advice_question(measured: MeasuredAdvice) -> Question[bool]:
    """What was measured, and whether to take what is advised into the settings; gives True for yes."""
    has_advice = measured.advice is not None
    answer = Answer("", "Take it into the settings" if has_advice else "Back to the settings", has_advice)
    remark = "W writes it then, after the diff" if has_advice else ""
    title = f"{measured.today.passed:,} of {counted(measured.tests, 'recall test')} pass today"
    return Question(title, _measured_content(measured), None, [replace(answer, remark=remark)])


def _measured_content(measured: MeasuredAdvice) -> Content:
    from zeroclaw_tui.curation.evaluation.advice import advice_sentences, ceiling_sentences

    first, *others = map(_clean, advice_sentences(measured))
    parts: list[str | tuple[str, str]] = [(f"{first}\n", STRONG), *(f"{sentence}\n" for sentence in others)]
    levers = sorted(measured.levers, key=lambda each: -each.gain.held_out)[:MOST_LEVERS]
    if levers:
        parts += ["\n", *_lever_lines(levers), "\n"]
    parts += [(f"{_clean(sentence)}\n", MUTED) for sentence in ceiling_sentences(measured)]
    return Content.assemble(*parts)


def _lever_lines(levers: list[LeverWorth]) -> list[str | tuple[str, str]]:
    """What each lever alone gains on the held-out half, the best of them first."""
    rows = [("alone", "today", "best"), *((each.lever, each.today, each.best) for each in levers)]
    wide = [max(cells(_clean(row[at])) for row in rows) for at in range(3)]
    told = ["  ".join(padded(_clean(value), room) for value, room in zip(row, wide, strict=True)) for row in rows]
    lines: list[str | tuple[str, str]] = [(f"{told[0]}   gain  95 % range\n", MUTED)]
    for each, line in zip(levers, told[1:], strict=True):
        gain = each.gain
        lines.append(f"{line}  {gain.held_out:+.2f}  {gain.low:+.2f} to {gain.high:+.2f}")
        lines.append("\n" if each.is_setting else ("  no setting\n", MUTED))
    return lines


def _clean(text: str) -> str:
    return display_text(one_line(text))
