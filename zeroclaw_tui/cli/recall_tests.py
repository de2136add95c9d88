"""`memory test`: run recall tests, which say what must and must not be in the prompt for a message."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import options, output
from zeroclaw_tui.cli.options import option
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, RED, Line, Styled
from zeroclaw_tui.cli.recall import build_trial, print_notes
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory import errors
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.recall_tests import RecallTestResult, RecallTestRun


_TEST_FILES = """\
FILE is TOML (or - for stdin):

  [[query]]
  query = "what does she like to eat?"
  expected = ["food", "food_allergy"]  # keys; a single key needs no brackets

  [[query]]
  name = "May trip, in the chat"  # the name in reports
  query = "what is planned for May?"
  expected = "trip_may"
  rejected = ["old_trip"]  # keys that must not be in the prompt
  session = "tg_1"

A test passes if every expected key is in the prompt and no rejected key is.
The figures: hit rate, MRR and nDCG@N among the first N of --limit."""


@verb(
    "test",
    "{file, tests, passed, failed, k, profile, weights, threshold, search_mode, as_of, hit_rate, mrr, ndcg,"
    " notes, results}",
    options=[
        option(
            "file", nargs="?", metavar="FILE", help="TOML file of tests; without FILE: tests.toml next to settings.toml"
        ),
        options.LAYER,
        *options.RECALL_SCOPE,
    ],
    agents=options.READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    epilog=_TEST_FILES,
    examples=("test", "test FILE --set memory.vector_weight=0"),
)
async def test(library: Library, args: argparse.Namespace) -> int:
    """Run recall tests and print their results and measures.

    The document: {"file", "tests", "passed", "failed", "k", "profile", "weights", "threshold", "search_mode", "as_of",
    "hit_rate", "mrr", "ndcg", "notes", "results": [{"name", "query", "session", "expected", "rejected", "recalled",
    "injected", "hit", "reciprocal_rank", "ndcg", "passed", "missing", "unwanted"}]}. Exit code 1 if a test fails, 3 if
    the embedding endpoint returned no vectors.
    """
    import asyncio
    from pathlib import Path

    from zeroclaw_tui.curation.recall_tests import STDIN, read_tests, run_tests, tests_file

    file = Path(args.file) if args.file else tests_file(library)
    if not args.file and not file.exists():
        raise errors.NotFound(
            f"There are no recall tests yet: {one_line(str(file))} does not exist.",
            hint="`zeroclaw memory help queries` shows how to write them.",
        )
    tests = await asyncio.to_thread(read_tests, file)
    trial = build_trial(library, args)
    name = "stdin" if str(file) == STDIN else str(file)
    run = await run_tests(library, name, tests, trial)
    output.print_result(args, run.as_json(), _run_lines(run))
    print_notes(library, run.notes)
    if run.lacks_vectors:
        output.note("zeroclaw: Some tests ran by keywords alone, because the agent gets nothing without vectors.")
        return errors.NOT_REACHABLE
    return errors.DONE if run.passed == len(run.results) else errors.REFUSED


def _run_lines(run: RecallTestRun) -> Iterator[Line]:
    """Yield the number of passed tests, a row per test, the worst first, and the measures."""
    headline, settings, passed = run.sentences()
    verdict, _, count = passed.partition(",")
    yield Styled(headline, BOLD)
    yield Styled(settings, DIM)
    yield (Styled(verdict, GREEN if run.passed == len(run.results) else RED), f",{count}")
    yield ()
    results = sorted(run.results, key=lambda result: (result.passed, result.ndcg or 0))
    yield from output.table(map(_result_row, results), ("", "rank", f"nDCG@{run.k}", "test"))
    yield ()
    measures = [
        (name, Styled(f"{measure:.2f}", BOLD), Styled(meaning, DIM)) for name, measure, meaning in run.measure_rows()
    ]
    yield from output.table(measures)


def _result_row(result: RecallTestResult) -> tuple[Line, ...]:
    return (
        Styled("✓ pass", GREEN) if result.passed else Styled("✗ fail", RED),
        f"{round(1 / result.reciprocal_rank)}" if result.reciprocal_rank else NOTHING,
        NOTHING if result.ndcg is None else f"{result.ndcg:.2f}",
        [result.test.name or "a blank query", "  ", Styled(result.failure, DIM)],
    )
