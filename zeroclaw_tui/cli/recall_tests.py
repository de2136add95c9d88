"""What recall does for queries with known answers, and what it really did: test and tail."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.options import (
    READABLE_MEMORIES,
    add_recall_scope,
    add_what_if,
    agent_given,
    moment_meant,
)
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    Styled,
    document,
    note,
    waiting,
    width,
    write_lines,
)
from zeroclaw_tui.cli.recall import tell_notes, trial_given
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import (
    DONE,
    NOT_REACHABLE,
    REFUSED,
    NotFound,
    Refused,
    UsageError,
)
from zeroclaw_tui.memory.text import cells, counted, cut, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from zeroclaw_tui.cli.output import Line, Part
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.recall_tests import RecallTestRun
    from zeroclaw_tui.curation.turn_comparison import ComparedTurn
    from zeroclaw_tui.curation.turn_trace import Turn
    from zeroclaw_tui.curation.turns import TurnLog


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
among the first N of --limit, and how often an expected key is in the prompt (prompt rate).

`zeroclaw memory test import-queries [FILE]` adds tests to FILE from recorded turns and chats: each message once, with
the memories that are in its prompt today as the expected ones."""


_SHOW_EVERY = 0.1
_LEAST_ROOM = 20
_LONGEST_NAME = 400
IMPORT = "import-queries"
SHOWN_AT_START = 10
"""Turns that are shown before what comes, where neither --since nor --once asks for more."""
_LONGEST_QUERY = 400
_INDENT = "    "


def _test_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="*", metavar="FILE", help="TOML file of tests; without FILE: tests.toml beside settings.toml"
    )
    add_recall_scope(parser)
    add_what_if(parser)


@verb(
    "test",
    "Run recall tests: which memories must be in the prompt, and which must not",
    "{file, tests, passed, failed, k, profile, weights, threshold, search_mode, as_of, hit_rate, mrr, ndcg,"
    " prompt_rate, keys_nobody_has, notes, results}",
    _test_options,
    agents=READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    epilog=_TEST_FILES,
)
async def test(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Run recall tests and measure how well they recall what they should.

    Its document: {"file", "tests", "passed", "failed", "k", "profile", "weights", "threshold", "search_mode", "as_of",
    "hit_rate", "mrr", "ndcg", "prompt_rate", "keys_nobody_has", "notes", "results": [{"name", "query", "session",
    "agent", "channel", "expected", "rejected", "recalled", "injected", "hit", "reciprocal_rank", "ndcg", "in_prompt",
    "passed", "missing", "unwanted"}]}. `import-queries`: {"file", "written", "known", "unanswered"}. Exit code 1 where
    a test fails, 3 where the endpoint of the embeddings gave no vectors.
    """
    import asyncio
    from pathlib import Path

    from zeroclaw_tui.curation.recall import keyword_only_note
    from zeroclaw_tui.curation.recall_tests import STDIN, read_tests, run_tests, tests_file

    names: list[str] = given.file
    if names[:1] == [IMPORT]:
        return await _import(library, given, names[1:], now)
    if len(names) > 1:
        raise UsageError("More than one FILE given.", hint="Run one file of tests at a time.")
    file = Path(names[0]) if names else tests_file(library)
    if not names and not file.exists():
        raise NotFound(
            f"There are no recall tests yet: {one_line(str(file))} does not exist.",
            hint=f"Run `zeroclaw memory test {IMPORT}` to make them from recorded messages, or see "
            "`zeroclaw memory help queries`.",
        )
    tests = await asyncio.to_thread(read_tests, file)
    trial = trial_given(library, given, now, set())
    with RecallProgress(len(tests)) as progress:
        run = await run_tests(library, "stdin" if str(file) == STDIN else str(file), tests, trial, progress.show)
    if sentence := run.unknown_keys_sentence():
        note(f"zeroclaw: {sentence}")
    if given.json:
        document(run.as_json())
    else:
        write_lines(run_lines(run))
    tell_notes(library, run.notes, set())
    if keyword_only_note(run.notes) is not None:
        note("zeroclaw: Some tests ran without vectors, so these results are not what the agent gets.")
        return NOT_REACHABLE
    return DONE if run.passed == len(run.results) else REFUSED


async def _import(library: Library, given: argparse.Namespace, names: Sequence[str], now: datetime) -> int:
    from pathlib import Path

    from zeroclaw_tui.curation.recall_tests import import_tests, tests_file

    if len(names) > 1:
        raise UsageError("More than one FILE given.", hint="Without FILE the tests go to tests.toml.")
    if given.read_only:
        raise UsageError("--read-only refuses every write.", hint="Leave it out.")
    file = Path(names[0]) if names else tests_file(library)
    outcome = await import_tests(library, file, now)
    if given.json:
        document(outcome.as_json())
        return DONE
    first, *more = outcome.sentences()
    write_lines([(Styled("✓ ", GREEN), first) if outcome.tests else (first,)])
    write_lines((Styled(f"  {sentence}", DIM),) for sentence in more)
    return DONE


class RecallProgress:
    """How many recalls are done, on stderr if that is a terminal."""

    def __init__(self, total: int) -> None:
        import time

        self._total = total
        self._is_terminal = sys.stderr.isatty()
        self._next_time = time.monotonic() + _SHOW_EVERY

    def __enter__(self) -> RecallProgress:
        waiting.end()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    async def show(self, done: int) -> None:
        """Show how many are done, a few times a second."""
        import time

        if self._is_terminal and time.monotonic() >= self._next_time:
            self._next_time = time.monotonic() + _SHOW_EVERY
            sys.stderr.write(f"\rRecalling {done:,} of {self._total:,} …")
            sys.stderr.flush()


def run_lines(run: RecallTestRun) -> Iterator[Line]:
    """How many tests pass, a row for each, the worst first, and the measures of all."""
    headline, settings, passed = run.sentences()
    verdict, _, count = passed.partition(",")
    yield (Styled(headline, BOLD),)
    yield (Styled(settings, DIM),)
    yield (Styled(verdict, GREEN if run.passed == len(run.results) else RED), f",{count}")
    yield ()
    yield from _result_table(run)
    yield ()
    rows = run.measure_rows()
    left = max(len(name) for name, _, _ in rows)
    has_room = all(left + 9 + len(meaning) <= width() for _, _, meaning in rows)
    for name, measure, meaning in rows:
        parts: list[Part] = [padded(name, left), "  ", Styled(f"{measure:.2f}", BOLD)]
        yield (*parts, "   ", Styled(meaning, DIM)) if has_room else parts


def _result_table(run: RecallTestRun) -> Iterator[Line]:
    heads = ("", "rank", f"nDCG@{run.k}")
    widths = [len("✗ fail"), len(heads[1]), len(heads[2])]
    room = max(_LEAST_ROOM, width() - sum(widths) - 2 * len(widths))
    yield (Styled("  ".join([*map(padded, heads, widths), "test"]), DIM),)
    for result in sorted(run.results, key=lambda result: (result.passed, result.hit, result.ndcg)):
        mark = Styled("✓ pass", GREEN) if result.passed else Styled("✗ fail", RED)
        rank = f"{round(1 / result.reciprocal_rank)}" if result.hit else NOTHING
        ndcg = f"{result.ndcg:.2f}" if result.test.expected else NOTHING
        name = cut(one_line(result.test.name[:_LONGEST_NAME]) or "a blank query", room)
        left = room - cells(name) - 2
        has_room = result.failure and left >= _LEAST_ROOM
        failure = ("  ", Styled(cut(one_line(result.failure), left), DIM)) if has_room else ()
        yield (mark, "  ", padded(rank, widths[1]), "  ", padded(ndcg, widths[2]), "  ", name, *failure)


def _tail_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--follow", action="store_true", help="then wait for new turns, until Ctrl-C")
    parser.add_argument("--since", metavar="WHEN", help="turns since then: 12h, 30d, a date or RFC 3339")
    parser.add_argument("--mismatches", action="store_true", help="only turns for which a recall made now differs")
    parser.add_argument("--check", action="store_true", help="exit with 1 where one differs")


@verb(
    "tail",
    "Show recorded turns and compare them with a recall made now",
    "{turn, at, agent, session, channel, query, sent, predicted, equal, why_not_equal, source}, a line a turn",
    _tail_options,
    agents="only the turns of this agent",
    checks=agent_given,
    concerns=("store", "recall", "vectors"),
)
async def tail(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Show the turns that ZeroClaw recorded, each compared with a recall made now.

    With `--json` a line a turn: {"turn", "at", "agent", "session", "channel", "query", "sent", "predicted", "equal",
    "why_not_equal", "source"}. With `--follow` it starts with the newest turns and then keeps following new turns
    until Ctrl-C, or until nobody reads its output. Exit code 0; with `--check` 1 where a recall made now has other
    memories than were sent.
    """
    from zeroclaw_tui.curation.turns import follow, recorded
    from zeroclaw_tui.memory.days import moment

    agent = agent_given(given)
    since = None
    if given.since is not None:
        since = moment(moment_meant(given.since, now))
    printer = _TurnPrinter(library, given)
    if not given.follow:
        await printer.show(await recorded(library, since=since, agent=agent), is_first=True)
        return printer.exit_code
    most = None if since is not None else SHOWN_AT_START
    is_first = True
    async for log in follow(library, since=since, agent=agent, most=most):
        await printer.show(log, is_first=is_first)
        if is_first:
            note("zeroclaw: Waiting for new turns. Press Ctrl-C to end.")
        is_first = False
    return printer.exit_code


class _TurnPrinter:
    """Prints turns, and each remark on the trace once."""

    def __init__(self, library: Library, given: argparse.Namespace) -> None:
        self._library, self._given = library, given
        self._told: set[str] = set()
        self._mismatches = 0

    @property
    def exit_code(self) -> int:
        return REFUSED if self._given.check and self._mismatches else DONE

    async def show(self, log: TurnLog, *, is_first: bool) -> None:
        from zeroclaw_tui.curation.turn_comparison import compare

        for sentence in log.problems:
            self._tell(sentence)
        if log.broken_lines:
            self._tell(f"{counted(log.broken_lines, 'line')} of the trace could not be read.")
        if is_first and log.why_nothing is not None:
            self._tell(log.why_nothing)
            self._tell_switch()
        for turn in log.turns:
            compared = await compare(self._library, turn)
            self._mismatches += compared.equal is False
            if self._given.mismatches and compared.equal is not False:
                continue
            if self._given.json:
                document(compared.as_json(), compact=True)
            else:
                write_lines(turn_lines(compared))
            sys.stdout.flush()
        waiting.end()

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            note(f"zeroclaw: {one_line(sentence)}")

    def _tell_switch(self) -> None:
        """The lines of config.toml that turn recording on, where some are missing."""
        from zeroclaw_tui.curation.turn_recording import missing_settings, recording_change

        version = self._library.profile.profile.version
        if not missing_settings(self._library.config, version):
            return
        try:
            change = recording_change(self._library.config, version)
        except Refused as refused:
            self._tell(str(refused))
            return
        for sign, text in change.lines:
            note(f"  {sign} {one_line(text)}")
        for sentence in change.warnings:
            self._tell(sentence)
        self._tell("To write this, press t and then W in the inspector (`zeroclaw-tui`).")


def turn_lines(compared: ComparedTurn) -> Iterator[Line]:
    """A turn for people: the message, the agent, how many memories were sent, and what differs."""
    turn = compared.turn
    who = " · ".join(one_line(part) for part in (turn.agent, turn.channel, turn.session) if part)
    asked = cut(one_line(turn.query[:_LONGEST_QUERY]), max(20, width() - 2)) or "(no message recorded)"
    yield (Styled(_clock(turn), DIM), "  ", Styled(who or "no agent named", DIM))
    yield ("  ", Styled(asked, BOLD))
    yield ("  ", _verdict(compared))
    if compared.equal is False or (compared.equal is None and compared.changed_since):
        yield from difference_of_blocks(turn.sent or "", compared.predicted or "")


def _clock(turn: Turn) -> str:
    from datetime import datetime

    return datetime.fromisoformat(turn.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _verdict(compared: ComparedTurn) -> Styled:
    sign, colour = {True: ("✓", GREEN), False: ("✗", RED), None: ("–", YELLOW)}[compared.equal]
    return Styled(f"{sign} {one_line(compared.sentence())}", colour)


def difference_of_blocks(sent: str, predicted: str) -> Iterator[Line]:
    """What was sent and not predicted as +, what was predicted and not sent as -, what is in both without a sign."""
    from zeroclaw_tui.memory.text_difference import diff_lines

    room = max(20, width() - len(_INDENT) - 2)
    for line in diff_lines(predicted, sent, whole=True):
        if text := cut(one_line(line.text), room):
            yield (_INDENT, Styled(f"{line.sign} {text}", {"+": GREEN, "-": RED}.get(line.sign, DIM)))
