"""`memory erase`: a text gone from every place of the install, with a report that never repeats it.

With --dry-run its document is {"verb", "dry_run", "backend", "location", "texts", "places", "near", "not_looked_at",
"looked_into"}, and "losses" where there are recall tests: `texts` is how many, `places` hold {"kind", "place", "found",
"takes", "why", "open_in"}, `found` being rows or hits, `near` {"id", "key", "score", "spelling"}, `looked_into`
{"files", "bytes"}.

Of a run it is {"verb", "dry_run", "at", "backend", "location", "texts", "complete", "stopped", "erased", "left",
"near", "not_looked_at", "scanned", "copy"}: `erased` holds {"kind", "place", "found", "why", "open_in"}, `left`
{"kind", "place", "count", "why"} with a `count` of null where it cannot be counted, `scanned` {"files", "bytes",
"hits"}.

What a server keeps beyond its rows (logs, replicas, backups) is named in `not_looked_at`, and nothing that is left.

Exit code 0 where all within reach is gone, 1 where something is left or after a no, 2 for wrong use, 3 where the store
is locked, 130 after ctrl-c.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from zeroclaw_tui.cli.edits import text_given
from zeroclaw_tui.cli.export import expanded
from zeroclaw_tui.cli.guard import NOTHING_DONE, Progress, check_can_ask, check_writable, confirm_typed
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Line, Styled, document, note, write_lines
from zeroclaw_tui.cli.plans import loss_lines, losses_as_json
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.erase.database_erasure import Chosen
from zeroclaw_tui.curation.erase.erase import (
    ErasePlan,
    EraseReport,
    NearMemory,
    erase_texts,
    plan_erase,
    rows_to_erase,
    write_copy,
)
from zeroclaw_tui.curation.erase.spellings import Spellings
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, until_it_holds
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, WrongUse
from zeroclaw_tui.memory.text import counted, cut, one_line, padded

STDIN = "-"
TYPED = "erase"
_KIND_CELLS, _KEY_CELLS, _NEAR_CELLS = 16, 24, 40
_FOR_EVER = "Nothing brings it back: erasing also empties the trash of these rows, and of every change that held it."
_HISTORY = "The text also stands in the history of your shell, if that keeps one; with - it is read from stdin."


async def erase(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Find the text everywhere, show where, ask, erase it, and prove it."""
    if agents_given(given):
        raise WrongUse("A text is erased from the whole install, not for one agent.", hint="Leave --agent out.")
    spellings = Spellings(text_given(text, "The text") for text in (given.text, *given.also))
    if not given.dry_run:
        check_writable(library, given)
        _check_can_ask(given)
    report_file = _report_file(given)
    plan = await plan_erase(library, Chosen(spellings, also_files=given.also_files))
    if given.dry_run:
        return await _tell_plan(library, given, plan)
    if plan.taken and not given.yes:
        lost = await loss_lines(library, await rows_to_erase(library, plan))
        shown = [*plan_lines(plan), *lost, (Styled(f"  {_FOR_EVER}", YELLOW),)]
        if not confirm_typed(f"Type {TYPED} to do it:", (TYPED,), shown):
            return REFUSED
    copy = None
    if given.export is not None:
        copy = expanded(given.export)
        count = await write_copy(library, plan, copy)
        note(f"zeroclaw: A copy of {counted(count)} was written to {one_line(str(copy))}.")
    with Progress("Erasing", len(plan.taken)) as progress:
        report = await erase_texts(library, plan, progress.advance, copy)
    _write_report(report, report_file, as_json=given.json)
    _tell_report(given, report)
    if given.text != STDIN and not given.json:
        note(f"zeroclaw: {_HISTORY}")
    if report.is_stopped:
        return INTERRUPTED
    return DONE if report.is_complete else REFUSED


def plan_lines(plan: ErasePlan) -> Iterator[Line]:
    """Where the text lies, what of that is taken, what only is named, and which program is in the way."""
    where = f"in {counted(len(plan.places), 'place')}" if plan.places else "nowhere"
    yield (Styled(f"The text lies {where}; {counted(plan.files, 'file')} looked into.", BOLD),)
    if plan.places:
        yield (Styled(f"  {padded('what', _KIND_CELLS)} {'found':>7}  where", DIM),)
    for place in plan.places:
        kind, where = padded(place.kind, _KIND_CELLS), one_line(place.place)
        why = (Styled(f"  {place.why}", DIM),) if place.why else ()
        stays = () if place.takes else (Styled("  stays:", YELLOW),)
        yield ("  ", kind, f" {place.found:>7,}  ", where, *stays, *why)
    for programs in dict.fromkeys(place.open_in for place in plan.taken if place.open_in):
        sentence = f"{programs} is at work: its rows go, but bytes stay in the files until it is stopped."
        yield (Styled(f"  {sentence}", YELLOW),)
    yield from _near_lines(plan.near)
    for one in plan.unseen:
        yield (Styled(f"  Not looked into: {one_line(one.place)}: {one_line(one.why)}", DIM),)


def _near_lines(near: tuple[NearMemory, ...]) -> Iterator[Line]:
    if near:
        yield ("  Near it, and only listed (--also SPELLING takes what is spelled so, `forget` one memory):",)
    for one in near:
        key = padded(cut(one_line(masked(one.key)), _KEY_CELLS), _KEY_CELLS)
        yield ("    ", key, "  ", cut(one_line(masked(one.text)), _NEAR_CELLS), "  ", Styled(one.how, DIM))


def _check_can_ask(given: argparse.Namespace) -> None:
    if STDIN in (given.text, *given.also) and not given.yes:
        raise WrongUse(
            "The text comes from stdin, so nothing can be asked there.",
            hint="--yes erases without asking; --dry-run only shows what would happen.",
        )
    check_can_ask(TYPED, yes=given.yes)


def _report_file(given: argparse.Namespace) -> Path | None:
    """Where the report goes. Raises WrongUse for what it cannot go to, before anything is done."""
    if given.report is None:
        return None
    path = expanded(given.report)
    if path.is_dir() or not path.parent.is_dir():
        raise WrongUse(f"{path} is no file that can be written.", hint="Name a file in a folder that is there.")
    return path


def _write_report(report: EraseReport, path: Path | None, *, as_json: bool) -> None:
    if path is None:
        return
    if as_json or path.suffix == ".json":
        text = json.dumps(report_as_json(report), ensure_ascii=False, indent=2)
    else:
        text = "\n".join(report.sentences())
    data = f"{text}\n".encode("utf-8", "backslashreplace")
    until_it_holds(lambda: replace_bytes(path, read_bytes(path), data), path)


def report_as_json(report: EraseReport) -> dict[str, Any]:
    """The document of a run."""
    return {"verb": TYPED, "dry_run": False, **report.as_json()}


def _tell_report(given: argparse.Namespace, report: EraseReport) -> None:
    if given.json:
        document(report_as_json(report))
        return
    *lines, end = report.sentences()
    write_lines([(one_line(line),) for line in lines])
    sign = Styled("✓", GREEN) if report.is_complete else Styled("!", YELLOW)
    write_lines([(sign, f" {end}")])
    sys.stdout.flush()


async def _tell_plan(library: Library, given: argparse.Namespace, plan: ErasePlan) -> int:
    if given.json:
        document(
            {
                "verb": TYPED,
                "dry_run": True,
                "backend": library.memory.name,
                "location": library.memory.location,
                "texts": len(plan.chosen.spellings.texts),
                "places": [place.as_json() for place in plan.places],
                "near": [near.as_json() for near in plan.near],
                "not_looked_at": [{"place": one.place, "why": one.why} for one in plan.unseen],
                "looked_into": {"files": plan.files, "bytes": plan.size},
            }
            | await losses_as_json(library, await rows_to_erase(library, plan))
        )
    else:
        write_lines([*plan_lines(plan), *await loss_lines(library, await rows_to_erase(library, plan))])
        note(NOTHING_DONE)
    return DONE
