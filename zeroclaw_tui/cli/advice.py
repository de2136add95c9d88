"""`memory advise`: which settings pass more of the recall tests, and what no setting can.

Its document: {"file", "tests": how many, "held_out": how many of them nothing is chosen by, "settings_tried", "today":
the figures of `evaluate` without its queries, "levers": [{"lever", "today", "best", "chosen", "held_out", "low",
"high", "setting"}], "advice": {"settings": by name, "chosen", "held_out", "low", "high", "held_out_passed": {"today",
"advised"}, "injected": {"today", "advised"}, "won", "lost"} or null, "why_none", "ceiling": {"tests", "tried",
"reachable", "out_of_reach": [{"because", "tests", "keys", "lift"}]}, "notes"}. Gains are shares of the tests, -1..1;
`low` and `high` are the 95 % range of the one on the held-out half. Exit code 0 whether something is advised or not,
1 after a no to --write, 130 after ctrl-c.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.cli.guard import Progress, check_can_ask, confirm
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, RED, Line, Styled, document, note, width, write_lines
from zeroclaw_tui.cli.recall import readable_agents, tell_notes
from zeroclaw_tui.cli.selection import moment_meant
from zeroclaw_tui.curation.evaluation import STDIN, TestQuery, plain_trial, read_queries, tests_file
from zeroclaw_tui.curation.evaluation.advice import (
    AdvisedSettings,
    LeverWorth,
    MeasuredAdvice,
    advice_sentences,
    ceiling_sentences,
    toml_lines,
)
from zeroclaw_tui.curation.evaluation.advice import advise as measured_advice
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.setting_change import plan_settings_change, save_settings_change
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, NotThere, SearchInterrupted
from zeroclaw_tui.memory.text import cells, counted, cut, one_line, padded
from zeroclaw_tui.scoring.profiles import Trial

_SIGNS = {"+": GREEN, "-": RED}
_LONGEST_VALUE = 16


async def advise(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    if given.write:
        check_can_ask("advise --write", yes=given.yes, dry_run="without --write nothing is asked")
    shown, tests = _tests(library, given.file)
    with Progress("Measuring advice:", len(tests), library.memory.interrupt) as progress:
        try:
            measured = await measured_advice(library, tests, _plain(library, given, now), progress.advance)
        except SearchInterrupted:
            return INTERRUPTED
    if given.json:
        document({"file": shown} | measured.as_json())
    else:
        write_lines(advice_lines(library, measured))
    tell_notes(library, measured.notes, set())
    if given.write and measured.advice is not None:
        return await _write(library, measured.advice, given, now)
    return DONE


def _tests(library: Library, given: str | None) -> tuple[str, Sequence[TestQuery]]:
    """The file as it is called, and its tests."""
    if given is not None:
        return "stdin" if given == STDIN else given, read_queries(Path(given))
    file = tests_file(library)
    if not file.exists():
        raise NotThere(
            f"There are no recall tests yet: {one_line(str(file))} is not there.",
            hint="Give a FILE of queries and the keys they should recall; `zeroclaw memory help queries` shows how.",
        )
    return str(file), read_queries(file)


def _plain(library: Library, given: argparse.Namespace, now: datetime) -> Trial:
    plain = plain_trial(library)
    as_of = moment_meant(given.as_of, now) if given.as_of is not None else now.isoformat()
    agents = readable_agents(library, agents_given(given) or None, "agent")
    return plain._replace(request=replace(plain.request, as_of=as_of, agents=agents))


async def _write(library: Library, advice: AdvisedSettings, given: argparse.Namespace, now: datetime) -> int:
    # The moment ages count to is no part of what is written.
    trial = advice.trial._replace(request=replace(advice.trial.request, as_of=now.isoformat()))
    change = await asyncio.to_thread(plan_settings_change, library, trial, now)
    lines: list[Line] = [(Styled(f"{sign} {one_line(text)}", _SIGNS.get(sign, DIM)),) for sign, text in change.lines]
    lines += [(f"▲ {warning}",) for warning in change.warnings]
    if not given.yes and not confirm("Write this to config.toml?", lines):
        return REFUSED
    await save_settings_change(library, change, now)
    note("zeroclaw: config.toml is changed; the one of before is kept as a backup.")
    return DONE


def advice_lines(library: Library, measured: MeasuredAdvice) -> Iterator[Line]:
    """What was measured, for people: today, each lever alone, the advice, the ceiling."""
    choice = library.profile
    by = measured.tests - measured.held_out
    yield (
        Styled(
            f"{counted(measured.tests, 'test')}: {by:,} to choose by, {measured.held_out:,} held out · "
            f"{measured.settings:,} settings · scoring {choice.profile.version} ({choice.source})",
            DIM,
        ),
    )
    figures = measured.today.in_all
    yield (
        Styled(f"Today {measured.today.passed:,} of {measured.tests:,} pass", BOLD),
        f" · hit rate {figures['hit_rate']:.2f} · MRR {figures['mrr']:.2f} · nDCG {figures['ndcg']:.2f} · "
        f"prompt rate {figures['prompt_rate']:.2f}",
    )
    if measured.levers:
        yield ()
        yield from _lever_lines(measured.levers)
    yield ()
    first, *others = advice_sentences(measured)
    yield (Styled(one_line(first), BOLD),)
    yield from ((one_line(sentence),) for sentence in others)
    if measured.advice is not None:
        yield from ((Styled(f"  {line}", GREEN),) for line in toml_lines(measured.advice.values))
        yield (Styled("--write writes it to config.toml, after the diff.", DIM),)
    yield ()
    yield from ((one_line(sentence),) for sentence in ceiling_sentences(measured))


def _lever_lines(levers: Sequence[LeverWorth]) -> Iterator[Line]:
    heads = ("lever alone", "today", "best")
    rows = [
        (each.lever, *(cut(one_line(value), _LONGEST_VALUE) for value in (each.today, each.best))) for each in levers
    ]
    wide = [max(cells(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    gains = [f"{each.gain.held_out:+.2f}" for each in levers]
    head = "  ".join(padded(one, room) for one, room in zip(heads, wide, strict=True))
    yield (Styled(f"{head}   gain  95 % range", DIM),)
    room = width() - sum(wide) - 34
    for each, row, gain in zip(levers, rows, gains, strict=True):
        told = "  ".join(padded(one, size) for one, size in zip(row, wide, strict=True))
        colour = GREEN if each.gain.low > 0 else RED if each.gain.high < 0 else DIM
        line: list[str | Styled] = [
            f"{told}  ",
            Styled(padded(gain, 5, right=True), colour),
            f"  {each.gain.low:+.2f} to {each.gain.high:+.2f}",
        ]
        if not each.is_setting and room >= 0:
            line.append(Styled("  no setting", DIM))
        yield tuple(line)
