"""`memory test`: recall tests, which say what should be in the prompt for a message and what must not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import options, output
from zeroclaw_tui.cli.plans import Progress
from zeroclaw_tui.cli.recall import print_notes, trial_given
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory import errors
from zeroclaw_tui.memory.text import cells, cut, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.recall_tests import RecallTestRun


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
  session = "tg_1"  # session, agent and channel of the turn
  agent = "ann"
  channel = "telegram"

A test passes if every expected key is in the prompt and no rejected key is. The figures: hit rate, MRR and nDCG@N
among the first N of --limit."""


_LEAST_ROOM = 20
_LONGEST_NAME = 400


def _test_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="TOML file of tests; without FILE: tests.toml beside settings.toml"
    )
    options.add_recall_scope(parser)
    options.add_what_if(parser)


@verb(
    "test",
    "Run recall tests: which memories must be in the prompt, and which must not",
    "{file, tests, passed, failed, k, profile, weights, threshold, search_mode, as_of, hit_rate, mrr, ndcg,"
    " notes, results}",
    _test_options,
    agents=options.READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    epilog=_TEST_FILES,
    examples=("test", "test FILE --set memory.vector_weight=0"),
)
async def test(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Run recall tests and measure how well they recall what they should.

    Its document: {"file", "tests", "passed", "failed", "k", "profile", "weights", "threshold", "search_mode", "as_of",
    "hit_rate", "mrr", "ndcg", "notes", "results": [{"name", "query", "session",
    "agent", "channel", "expected", "rejected", "recalled", "injected", "hit", "reciprocal_rank", "ndcg",
    "passed", "missing", "unwanted"}]}. Exit code 1 where a test fails, 3 where the endpoint of the embeddings gave no
    vectors.
    """
    import asyncio
    from pathlib import Path

    from zeroclaw_tui.curation.recall import keyword_only_note
    from zeroclaw_tui.curation.recall_tests import STDIN, read_tests, run_tests, tests_file

    file = Path(given.file) if given.file else tests_file(library)
    if not given.file and not file.exists():
        raise errors.NotFound(
            f"There are no recall tests yet: {one_line(str(file))} does not exist.",
            hint="`zeroclaw memory help queries` shows how to write them; in the inspector space on a recorded turn"
            " makes one.",
        )
    tests = await asyncio.to_thread(read_tests, file)
    trial = trial_given(library, given, now)
    name = "stdin" if str(file) == STDIN else str(file)
    try:
        with Progress("Recalling", len(tests), cancels_task=True) as progress:
            run = await run_tests(library, name, tests, trial, progress.advance)
    except asyncio.CancelledError:
        output.note("zeroclaw: Cancelled.")
        return errors.INTERRUPTED
    if given.json:
        output.document(run.as_json())
    else:
        output.write_lines(run_lines(run))
    print_notes(library, run.notes)
    if keyword_only_note(run.notes) is not None:
        output.note("zeroclaw: Some tests ran without vectors, so these results are not what the agent gets.")
        return errors.NOT_REACHABLE
    return errors.DONE if run.passed == len(run.results) else errors.REFUSED


def run_lines(run: RecallTestRun) -> Iterator[output.Line]:
    """How many tests pass, a row for each, the worst first, and the measures of all."""
    headline, settings, passed = run.sentences()
    verdict, _, count = passed.partition(",")
    yield (output.Styled(headline, output.BOLD),)
    yield (output.Styled(settings, output.DIM),)
    yield (output.Styled(verdict, output.GREEN if run.passed == len(run.results) else output.RED), f",{count}")
    yield ()
    yield from _result_table(run)
    yield ()
    rows = run.measure_rows()
    left = max(len(name) for name, _, _ in rows)
    has_room = all(left + 9 + len(meaning) <= output.width() for _, _, meaning in rows)
    for name, measure, meaning in rows:
        parts: list[output.Part] = [padded(name, left), "  ", output.Styled(f"{measure:.2f}", output.BOLD)]
        yield (*parts, "   ", output.Styled(meaning, output.DIM)) if has_room else parts


def _result_table(run: RecallTestRun) -> Iterator[output.Line]:
    heads = ("", "rank", f"nDCG@{run.k}")
    widths = [len("✗ fail"), len(heads[1]), len(heads[2])]
    room = max(_LEAST_ROOM, output.width() - sum(widths) - 2 * len(widths))
    yield (output.Styled("  ".join([*map(padded, heads, widths), "test"]), output.DIM),)
    for result in sorted(run.results, key=lambda result: (result.passed, result.ndcg or 0)):
        mark = output.Styled("✓ pass", output.GREEN) if result.passed else output.Styled("✗ fail", output.RED)
        rank = f"{round(1 / result.reciprocal_rank)}" if result.reciprocal_rank else output.NOTHING
        ndcg = output.NOTHING if result.ndcg is None else f"{result.ndcg:.2f}"
        name = cut(one_line(result.test.name[:_LONGEST_NAME]) or "a blank query", room)
        left = room - cells(name) - 2
        has_room = result.failure and left >= _LEAST_ROOM
        failure = ("  ", output.Styled(cut(one_line(result.failure), left), output.DIM)) if has_room else ()
        yield (mark, "  ", padded(rank, widths[1]), "  ", padded(ndcg, widths[2]), "  ", name, *failure)
