"""`memory test`: recall tests as test runners have them, held against a baseline where one is given.

Its document: {"file", "tests", "passed", "failed", "profile", "as_of", "keys_nobody_has", "gate": null or {"file",
"lost": [{"name", "query", "missing", "unwanted"}], "new", "not_asked"}, "notes", "results": as those of `evaluate`}.
`import-queries`: {"file", "written", "known", "unanswered"}. Exit code 1 where a test fails; with --gate only where one
lost an answer; 0 where only a baseline was asked for.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from zeroclaw_tui.cli.evaluating import RecallCount, unknown_sentence
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, RED, YELLOW, Line, Styled, document, note, width, write_lines
from zeroclaw_tui.cli.recall import tell_notes, trial_given
from zeroclaw_tui.curation.evaluation import (
    STDIN,
    Evaluation,
    Gate,
    Loss,
    QueryFigures,
    evaluate,
    failure_words,
    held_against,
    junit_xml,
    keys_nobody_has,
    read_baseline,
    read_queries,
    save_baseline,
    tests_file,
    trial_of_test,
    with_queries_together,
    write_file,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import DONE, REFUSED, NotThere, WrongUse
from zeroclaw_tui.memory.text import cells, counted, cut, one_line

IMPORT = "import-queries"
_LEAST_ROOM = 20


async def test(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    names: list[str] = given.file
    if names[:1] == [IMPORT]:
        return await _import(library, given, names[1:], now)
    if len(names) > 1:
        raise WrongUse("One file of tests at a time.", hint=f"`{IMPORT} [FILE]` writes tests into a file.")
    file = Path(names[0]) if names else tests_file(library)
    if not names and not file.exists():
        raise NotThere(
            f"There are no recall tests yet: {one_line(str(file))} is not there.",
            hint=f"`zeroclaw memory test {IMPORT}` makes them of what was asked; `zeroclaw memory help queries` "
            "tells how to write them.",
        )
    queries = await asyncio.to_thread(read_queries, file)
    baseline = None if given.gate is None else await asyncio.to_thread(read_baseline, Path(given.gate))
    trial = trial_given(library, given, now, set())
    unknown = await keys_nobody_has(library, queries)
    sharing = with_queries_together(library, [asked.query for asked in queries])
    with RecallCount(len(queries)) as counter:
        run = await evaluate(sharing, queries, partial(trial_of_test, library, trial), "as it is", counter.advance)
    gate = None if baseline is None else held_against(run, baseline, given.gate)
    shown = "stdin" if str(file) == STDIN else str(file)
    if given.save_baseline is not None:
        await asyncio.to_thread(save_baseline, Path(given.save_baseline), run)
    if given.junit is not None:
        await asyncio.to_thread(write_file, Path(given.junit), junit_xml(run, shown, gate))
    if unknown:
        note(f"zeroclaw: {unknown_sentence(unknown)}")
    if given.json:
        document(_document(shown, run, gate, unknown))
    else:
        write_lines(test_lines(shown, run, gate))
    tell_notes(library, run.notes, set())
    if gate is not None:
        return REFUSED if gate.lost else DONE
    return DONE if given.save_baseline is not None or run.passed == len(run.queries) else REFUSED


async def _import(library: Library, given: argparse.Namespace, names: Sequence[str], now: datetime) -> int:
    from zeroclaw_tui.curation.evaluation.history import import_queries

    if len(names) > 1:
        raise WrongUse("One file to write the tests into.", hint="Leave it out for tests.toml beside the settings.")
    if given.read_only:
        raise WrongUse("--read-only refuses every write.", hint="Leave it out.")
    file = Path(names[0]) if names else tests_file(library)
    done = await import_queries(library, file, now, given.most)
    if given.json:
        found = {"written": len(done.tests), "known": done.known, "unanswered": done.unanswered}
        document({"file": str(file), **found})
        return DONE
    if not done.tests:
        write_lines([("No message is recorded that is no test yet and recalls something.",)])
        return DONE
    lines: list[Line] = [
        (Styled("✓", GREEN), f" {counted(len(done.tests), 'test')} written to {one_line(str(file))}, as it was today.")
    ]
    left = [(done.known, "stood there already"), (done.unanswered, "left out: nothing reaches the prompt for them")]
    lines += [(Styled(f"  {number:,} {words}", DIM),) for number, words in left if number]
    write_lines(lines)
    return DONE


def _document(file: str, run: Evaluation, gate: Gate | None, unknown: Sequence[str]) -> dict[str, object]:
    return {
        "file": file,
        "tests": len(run.queries),
        "passed": run.passed,
        "failed": len(run.queries) - run.passed,
        "profile": run.profile,
        "as_of": run.as_of,
        "keys_nobody_has": list(unknown),
        "gate": None if gate is None else gate.as_json(),
        "notes": list(run.notes),
        "results": [figures.as_json() for figures in run.queries],
    }


def test_lines(file: str, run: Evaluation, gate: Gate | None) -> Iterator[Line]:
    """How many pass, each that does not, and against a baseline each that lost its answer."""
    failed = [figures for figures in run.queries if not figures.passed]
    yield (Styled(f"{counted(len(run.queries), 'recall test')} of {one_line(file)}", BOLD),)
    parts = [f"scoring {run.profile}", f"{run.passed:,} pass", *([f"{len(failed):,} fail"] if failed else [])]
    yield (Styled(one_line(" · ".join(parts)), DIM),)
    for figures in failed:
        yield _failed_line(Styled("✗", RED), figures.asked.name, figures)
    if not failed:
        yield (Styled("✓", GREEN), " All pass.")
    if gate is None:
        return
    yield ()
    if gate.lost:
        verb = "loses its answer" if len(gate.lost) == 1 else "lose their answer"
        yield (Styled(f"{len(gate.lost):,} {verb} against {one_line(gate.file)}:", BOLD),)
        for loss in gate.lost:
            yield _failed_line(Styled("✗", RED), loss.name, loss)
    else:
        yield (Styled("✓", GREEN), f" None loses its answer against {one_line(gate.file)}.")
    for number, words in ((len(gate.new), "not in the baseline"), (gate.not_asked, "of the baseline not asked")):
        if number:
            yield (Styled(f"  {number:,} {words}", YELLOW),)


def _failed_line(mark: Styled, name: str, what: QueryFigures | Loss) -> Line:
    room = max(_LEAST_ROOM, width() - 4)
    shown = cut(one_line(name) or "a blank query", room)
    words = cut(one_line(failure_words(what)), max(_LEAST_ROOM, room - cells(shown)))
    return (mark, f" {shown}  ", Styled(words, DIM))
