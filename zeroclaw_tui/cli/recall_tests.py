"""What recall does for queries with known answers, and what it really did: evaluate, test and tail."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
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
from zeroclaw_tui.cli.recall import WHAT_IF_OPTIONS, tell_complaints, tell_notes, trial_given
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.errors import (
    DONE,
    NOT_REACHABLE,
    REFUSED,
    NotFound,
    Refused,
    UsageError,
)
from zeroclaw_tui.memory.text import cells, counted, cut, first_names, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from zeroclaw_tui.cli.output import Line, Part
    from zeroclaw_tui.curation.evaluation.figures import Evaluation, QueryFigures
    from zeroclaw_tui.curation.evaluation.queries import TestQuery
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.turns.prediction import ComparedTurn
    from zeroclaw_tui.curation.turns.recording import Turn, TurnLog
    from zeroclaw_tui.scoring.profiles import Trial


_EVALUATE_FILES = """\
FILE as TOML, or as JSONL with such an object on each line; - reads it from stdin:

  [[query]]
  query = "what does she like to eat?"
  expected = ["food", "food_allergy"]  # keys; one alone needs no brackets

  [[query]]
  name = "time zone, in the chat"  # what reports call it
  query = "what time is it there?"
  expected = "tz"
  session = "tg_1"

  {"query": "what time is it there?", "expected": "tz"}

Measured among the first N of --limit: hit rate, MRR, nDCG@N, and how often an expected memory reaches the prompt.
With a what-if option the figures stand before and after it, with --against by the rules of both versions."""
_TEST_FILES = """\
A test passes when every expected key reaches the prompt and no rejected one does. It ends with 1 where one fails. Files
are those of `evaluate`, with:

  [[query]]
  query = "what is planned for May?"
  expected = "trip_may"
  rejected = ["old_trip"]  # what must not reach the prompt
  agent = "ann"  # session, agent and channel are those of the turn
  channel = "telegram"

zeroclaw memory test import-queries [FILE] puts tests behind those of FILE, made of what was really asked (audit log,
traces, chats): each message once, with what reaches the prompt for it today, noted as it was."""


MOST_KEYS_SHOWN = 10
_SHOW_EVERY = 0.1
_LEAST_ROOM = 20
_MOST_DECIMALS = 6
_LONGEST_NAME = 400
ARROW = " → "
IMPORT = "import-queries"
SHOWN_AT_START = 10
"""Turns that are shown before what comes, where neither --since nor --once asks for more."""
_LONGEST_QUERY = 400
_INDENT = "    "


def _evaluate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="TOML or JSONL: queries with the keys they should recall (below)")
    parser.add_argument("--against", metavar="VERSION", help="beside the scoring of this ZeroClaw version")
    add_recall_scope(parser)
    add_what_if(parser)


@verb(
    "evaluate",
    "hit rate, MRR and nDCG of a file of test queries",
    "{file, k, queries, keys_nobody_has, runs, difference}",
    _evaluate_options,
    agents=READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    epilog=_EVALUATE_FILES,
)
async def evaluate(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Tell how well the queries of a file recall what they should.

    Its document: {"file", "k", "queries": how many, "keys_nobody_has", "runs": [{"label", "profile", "weights",
    "threshold", "search_mode", "as_of", "hit_rate", "mrr", "ndcg", "prompt_rate", "passed": how many, "notes",
    "queries": [{"name", "query", "session", "agent", "channel", "expected", "rejected", "recalled", "injected", "hit",
    "reciprocal_rank", "ndcg", "in_prompt", "passed", "missing", "unwanted"}]}], "difference": {"hit_rate", "mrr",
    "ndcg", "prompt_rate"} or null}. Exit code 0 whatever the figures are.
    """
    from pathlib import Path

    from zeroclaw_tui.curation.evaluation.figures import keys_nobody_has
    from zeroclaw_tui.curation.evaluation.queries import STDIN, read_queries

    trials = _trials(library, given, now)
    queries = read_queries(Path(given.file))
    unknown = await keys_nobody_has(library, queries)
    if unknown:
        note(f"zeroclaw: {unknown_sentence(unknown)}")
    runs = await _runs(library, queries, trials)
    if given.json:
        document(_document(given.file, runs, unknown))
    else:
        write_lines(evaluation_lines("stdin" if given.file == STDIN else given.file, runs))
    told: set[str] = set()
    for run in runs:
        tell_notes(library, run.notes, told)
    return DONE


def _trials(library: Library, given: argparse.Namespace, now: datetime) -> list[tuple[str, Trial]]:
    """The one setting that is to be measured, or the two, each with its label."""
    from zeroclaw_tui.scoring.profiles import profile_for

    has_changes = any(getattr(given, name) is not None for name in WHAT_IF_OPTIONS)
    if given.against is not None and has_changes:
        raise UsageError(
            "--against and other numbers would change two things at once.", hint="Try one after the other."
        )
    without = argparse.Namespace(**vars(given) | dict.fromkeys(WHAT_IF_OPTIONS))
    told: set[str] = set()
    plain = trial_given(library, without, now, told)
    if has_changes:
        return [("as it is", plain), ("what if", trial_given(library, given, now, told))]
    if given.against is None:
        return [("as it is", plain)]
    other = plain._replace(profile=profile_for(given.against))
    tell_complaints(library, other, (), told)
    return [(f"scoring {trial.profile.version}", trial) for trial in (plain, other)]


async def _runs(
    library: Library, queries: Sequence[TestQuery], trials: Sequence[tuple[str, Trial]]
) -> list[Evaluation]:
    from zeroclaw_tui.curation.evaluation.figures import evaluate as evaluated
    from zeroclaw_tui.curation.evaluation.figures import trial_of_test, with_batched_queries

    sharing = with_batched_queries(library, [asked.query for asked in queries])
    runs = []
    with RecallCount(len(queries) * len(trials)) as counter:
        for label, trial in trials:
            runs.append(
                await evaluated(sharing, queries, partial(trial_of_test, library, trial), label, counter.advance)
            )
            counter.next_run(len(queries))
    return runs


def _document(file: str, runs: Sequence[Evaluation], unknown: Sequence[str]) -> dict[str, object]:
    from zeroclaw_tui.curation.evaluation.figures import difference

    return {
        "file": file,
        "k": runs[0].k,
        "queries": len(runs[0].queries),
        "keys_nobody_has": list(unknown),
        "runs": [run.as_json() for run in runs],
        "difference": difference(*runs) if len(runs) == 2 else None,
    }


def unknown_sentence(unknown: Sequence[str]) -> str:
    """That no memory has these expected keys."""
    named = first_names([f'"{key}"' for key in unknown], most=MOST_KEYS_SHOWN)
    has = "Expected, but no memory has this key" if len(unknown) == 1 else "Expected, but no memory has these keys"
    return f"{has}: {named}. The figures count that as missed."


class RecallCount:
    """How many recalls are done, on stderr if that is a terminal."""

    def __init__(self, total: int) -> None:
        import time

        self._total = total
        self._before = 0
        self._shows = sys.stderr.isatty()
        self._due = time.monotonic() + _SHOW_EVERY

    def __enter__(self) -> RecallCount:
        waiting.end()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shows:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    async def advance(self, done: int) -> None:
        """Show how many of this run are done, a few times a second."""
        import time

        if self._shows and time.monotonic() >= self._due:
            self._due = time.monotonic() + _SHOW_EVERY
            sys.stderr.write(f"\rRecalling {self._before + done:,} of {self._total:,} …")
            sys.stderr.flush()

    def next_run(self, queries: int) -> None:
        """Go on counting after the run that has ended."""
        self._before += queries


def evaluation_lines(file: str, runs: Sequence[Evaluation]) -> Iterator[Line]:
    """What was asked, a row for each query, and the figures in all; `runs` are one, or one before and one after."""
    before, after = runs[0], runs[-1]
    order = "worst first"
    if len(runs) > 1:
        order = "what got worse, what got better, then worst first"
    yield (Styled(f"{counted(len(before.queries), 'query')} of {one_line(file)}", BOLD),)
    yield (Styled(f"the first {before.k} of each · {order}", DIM),)
    for run in runs:
        yield (Styled(_setting(run, tells_moment=before.as_of != after.as_of), DIM),)
    yield ()
    pairs = list(zip(before.queries, after.queries, strict=True))
    yield from _query_table(sorted(pairs, key=_order), before.k)
    yield ()
    yield from _totals(runs)


def _setting(run: Evaluation, *, tells_moment: bool) -> str:
    scoring = f"scoring {run.profile}"
    vector, keyword = run.weights
    parts = [scoring if run.label == scoring else f"{run.label}: {scoring}"]
    parts += [f"weights {vector:g} / {keyword:g}"] * run.is_weighed
    parts += [f"threshold {run.threshold:g}"]
    parts += [f"search mode {run.search_mode}"] * (run.search_mode != "hybrid")
    parts += [f"decay to {date_shown(run.as_of)}"] * tells_moment
    return one_line(" · ".join(parts))


def _order(pair: tuple[QueryFigures, QueryFigures]) -> tuple[bool, float, bool, float, bool]:
    """What got worse, what got better, and then the worst; a prompt won or lost weighs as much as a rank."""
    was, is_now = pair
    gain = (is_now.ndcg - was.ndcg) + (is_now.in_prompt - was.in_prompt)
    is_same = (was.hit, was.ndcg, was.in_prompt) == (is_now.hit, is_now.ndcg, is_now.in_prompt)
    return is_same, 0.0 if is_same else gain, is_now.hit, is_now.ndcg, is_now.in_prompt


def _query_table(pairs: Sequence[tuple[QueryFigures, QueryFigures]], k: int) -> Iterator[Line]:
    rows = [(_hit(*pair), _rank(*pair), _ndcg(*pair), _prompt(*pair)) for pair in pairs]
    names = ("", "rank", f"nDCG@{k}", "prompt")
    wide = [max(len(name), *(map(_cells, column))) for name, column in zip(names, zip(*rows, strict=True), strict=True)]
    room = max(_LEAST_ROOM, width() - sum(wide) - 2 * len(wide))
    head = "  ".join(padded(name, cell) for name, cell in zip(names, wide, strict=True))
    yield (Styled(f"{head}  query", DIM),)
    for row, (_, is_now) in zip(rows, pairs, strict=True):
        parts: list[Part] = []
        for cell, wanted in zip(row, wide, strict=True):
            parts += [*cell, " " * (wanted - _cells(cell) + 2)]
        yield (*parts, *_asked(is_now, room))


def _cells(parts: Sequence[Part]) -> int:
    return sum(cells(part if isinstance(part, str) else part.text) for part in parts)


def _hit(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    if not is_now.asked.expected:
        return [NOTHING]
    marks = [Styled("✓ hit", GREEN) if figures.hit else Styled("✗ miss", RED) for figures in (was, is_now)]
    return [marks[1]] if was.hit == is_now.hit else [marks[0], ARROW, marks[1]]


def _rank(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    """The place of the first expected one."""
    before, after = (f"{round(1 / each.reciprocal_rank)}" if each.hit else NOTHING for each in (was, is_now))
    return _changed(before, after)


def _changed(was: str, is_now: str) -> list[Part]:
    return [is_now if was == is_now else f"{was}{ARROW}{is_now}"]


def _ndcg(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    if not is_now.asked.expected:
        return [NOTHING]
    before, after, gain = _compared(was.ndcg, is_now.ndcg)
    return [after] if not gain.text else [f"{before}{ARROW}{after} ", gain]


def _prompt(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    if not is_now.asked.expected:
        return _changed(
            *(f"{NOTHING} {len(each.unwanted)} unwanted" if each.unwanted else NOTHING for each in (was, is_now))
        )
    return _changed("yes" if was.in_prompt else "no", "yes" if is_now.in_prompt else "no")


def _asked(figures: QueryFigures, room: int) -> list[Part]:
    """The query's name and, where something is left to wish for, what was expected."""
    name = cut(one_line(figures.asked.name[:_LONGEST_NAME]) or "a blank query", room)
    left = room - cells(name) - 2
    if figures.hit or left < _LEAST_ROOM or not figures.asked.expected:
        return [name]
    expected = ", ".join(one_line(key[:_LONGEST_NAME]) or '""' for key in figures.asked.expected[:_LEAST_ROOM])
    return [name, "  ", Styled(cut(f"expected {expected}", left), DIM)]


def _totals(runs: Sequence[Evaluation]) -> Iterator[Line]:
    from zeroclaw_tui.curation.evaluation.figures import MEASURES

    before, after = runs[0].in_all, runs[-1].in_all
    k = runs[0].k
    says = {
        "hit_rate": ("hit rate", f"an expected key is among the first {k}"),
        "mrr": ("MRR", "1 / rank of the first expected key"),
        "ndcg": (f"nDCG@{k}", "1.00: all expected keys come first"),
        "prompt_rate": ("prompt rate", "an expected key is in the prompt"),
    }
    left = max(len(name) for name, _ in says.values())
    labels = [*(one_line(run.label) for run in runs), "difference"] if len(runs) > 1 else [""]
    wide = [max(6, cells(label)) for label in labels]
    room = width() - left - sum(wide) - 2 * len(wide) - 3
    is_explained = all(len(meaning) <= room for _, meaning in says.values())
    if len(runs) > 1:
        heads = (padded(label, wanted, right=True) for label, wanted in zip(labels, wide, strict=True))
        yield (Styled("  ".join([" " * left, *heads]), DIM),)
    for measure in MEASURES:
        name, meaning = says[measure]
        was, is_now, gain = _compared(before[measure], after[measure])
        shown = [Styled(was, BOLD), Styled(is_now, BOLD), gain][: len(wide)]
        parts: list[Part] = [padded(name, left)]
        for cell, wanted in zip(shown, wide, strict=True):
            parts += ["  ", Styled(padded(cell.text or "0.00", wanted, right=True), cell.code)]
        yield (*parts, "   ", Styled(meaning, DIM)) if is_explained else parts


def _compared(was: float, is_now: float) -> tuple[str, str, Styled]:
    """Both with two decimals, or as many more as it takes to tell them apart, and the gain; "" where they are equal."""
    if was == is_now:
        return f"{was:.2f}", f"{is_now:.2f}", Styled("", DIM)
    decimals = next((some for some in range(2, _MOST_DECIMALS) if f"{was:.{some}f}" != f"{is_now:.{some}f}"), 2)
    gain = is_now - was
    return f"{was:.{decimals}f}", f"{is_now:.{decimals}f}", Styled(f"{gain:+.{decimals}f}", GREEN if gain > 0 else RED)


def _test_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="*", metavar="FILE", help="TOML or JSONL of tests, tests.toml beside the settings unless given"
    )
    add_recall_scope(parser)
    add_what_if(parser)


@verb(
    "test",
    "recall tests: what should reach the prompt and what must not",
    "{file, tests, passed, failed, profile, as_of, keys_nobody_has, notes, results}",
    _test_options,
    agents=READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    epilog=_TEST_FILES,
)
async def test(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Run recall tests as test runners do.

    Its document: {"file", "tests", "passed", "failed", "profile", "as_of", "keys_nobody_has", "notes", "results": as
    those of `evaluate`}. `import-queries`: {"file", "written", "known", "unanswered"}. Exit code 1 where a test fails,
    3 where the endpoint of the embeddings gave no vectors, so that words alone were asked.
    """
    import asyncio
    from pathlib import Path

    from zeroclaw_tui.curation.evaluation.figures import evaluate as evaluated
    from zeroclaw_tui.curation.evaluation.figures import keys_nobody_has, trial_of_test, with_batched_queries
    from zeroclaw_tui.curation.evaluation.queries import STDIN, read_queries, tests_file
    from zeroclaw_tui.curation.recall import why_by_words

    names: list[str] = given.file
    if names[:1] == [IMPORT]:
        return await _import(library, given, names[1:], now)
    if len(names) > 1:
        raise UsageError("One file of tests at a time.", hint=f"`{IMPORT} [FILE]` writes tests into a file.")
    file = Path(names[0]) if names else tests_file(library)
    if not names and not file.exists():
        raise NotFound(
            f"There are no recall tests yet: {one_line(str(file))} is not there.",
            hint=f"`zeroclaw memory test {IMPORT}` makes them of what was asked; `zeroclaw memory help queries` "
            "tells how to write them.",
        )
    queries = await asyncio.to_thread(read_queries, file)
    trial = trial_given(library, given, now, set())
    unknown = await keys_nobody_has(library, queries)
    sharing = with_batched_queries(library, [asked.query for asked in queries])
    with RecallCount(len(queries)) as counter:
        run = await evaluated(sharing, queries, partial(trial_of_test, library, trial), "as it is", counter.advance)
    shown = "stdin" if str(file) == STDIN else str(file)
    because = why_by_words(run.notes)
    if unknown:
        note(f"zeroclaw: {unknown_sentence(unknown)}")
    if given.json:
        document(_test_document(shown, run, unknown))
    else:
        write_lines(test_lines(shown, run))
    tell_notes(library, run.notes, set())
    if because is not None:
        note("zeroclaw: Tests asked by words alone tell nothing of what the agent gets.")
        return NOT_REACHABLE
    return DONE if run.passed == len(run.queries) else REFUSED


async def _import(library: Library, given: argparse.Namespace, names: Sequence[str], now: datetime) -> int:
    from pathlib import Path

    from zeroclaw_tui.curation.evaluation.history import import_queries
    from zeroclaw_tui.curation.evaluation.queries import tests_file

    if len(names) > 1:
        raise UsageError("One file to write the tests into.", hint="Leave it out for tests.toml beside the settings.")
    if given.read_only:
        raise UsageError("--read-only refuses every write.", hint="Leave it out.")
    file = Path(names[0]) if names else tests_file(library)
    done = await import_queries(library, file, now)
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


def _test_document(file: str, run: Evaluation, unknown: Sequence[str]) -> dict[str, object]:
    return {
        "file": file,
        "tests": len(run.queries),
        "passed": run.passed,
        "failed": len(run.queries) - run.passed,
        "profile": run.profile,
        "as_of": run.as_of,
        "keys_nobody_has": list(unknown),
        "notes": list(run.notes),
        "results": [figures.as_json() for figures in run.queries],
    }


def test_lines(file: str, run: Evaluation) -> Iterator[Line]:
    """How many pass, and each that does not."""
    failed = [figures for figures in run.queries if not figures.passed]
    yield (Styled(f"{counted(len(run.queries), 'recall test')} of {one_line(file)}", BOLD),)
    parts = [f"scoring {run.profile}", f"{run.passed:,} pass", *([f"{len(failed):,} fail"] if failed else [])]
    yield (Styled(one_line(" · ".join(parts)), DIM),)
    for figures in failed:
        yield _failed_line(figures)
    if not failed:
        yield (Styled("✓", GREEN), " All pass.")


def _failed_line(figures: QueryFigures) -> Line:
    room = max(_LEAST_ROOM, width() - 4)
    shown = cut(one_line(figures.asked.name) or "a blank query", room)
    words = cut(one_line(figures.failure), max(_LEAST_ROOM, room - cells(shown)))
    return (Styled("✗", RED), f" {shown}  ", Styled(words, DIM))


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
    from zeroclaw_tui.curation.turns.recording import follow, recorded
    from zeroclaw_tui.curation.turns.trace import moment_of

    agent = agent_given(given)
    since = None
    if given.since is not None:
        since = moment_of(moment_meant(given.since, now))
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
        from zeroclaw_tui.curation.turns.prediction import compare
        from zeroclaw_tui.curation.turns.trace import OLD_TRACE

        for sentence in log.problems:
            self._tell(sentence)
        if log.broken_lines:
            self._tell(f"{counted(log.broken_lines, 'line')} of the trace could not be read.")
        if log.has_old_calls:
            self._tell(OLD_TRACE)
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
        from zeroclaw_tui.curation.turns.recording import recording_change, recording_state

        version = self._library.profile.profile.version
        if not recording_state(self._library.config, version).keys:
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
    turn = compared.turn
    if compared.equal:
        return Styled(f"✓ {_memories(turn.sent or '')} sent, as predicted{_named(turn.sent or '')}", GREEN)
    if compared.equal is False:
        return Styled(f"✗ not as predicted: {compared.why_not_equal}", RED)
    why = compared.why_not_equal or ""
    if compared.changed_since:
        named = ", ".join(cut(one_line(key), 40) for key in compared.changed_since[:5])
        why = f"{why}: {named}"
    if compared.predicted is None:
        return Styled(f"– not predicted: {one_line(why)}", YELLOW)
    would, named = _memories(compared.predicted), "" if compared.changed_since else _named(compared.predicted)
    was = f"{_memories(turn.sent)} sent, " if turn.sent is not None else ""
    return Styled(f"– {was}{would} predicted{named}, not compared: {one_line(why)}", YELLOW)


def _memories(block: str) -> str:
    from zeroclaw_tui.curation.turns.prediction import keys_of_block

    return counted(len(keys_of_block(block)))


def _named(block: str) -> str:
    """The keys of a block that is not shown itself."""
    from zeroclaw_tui.curation.turns.prediction import keys_of_block

    keys = keys_of_block(block)
    return f" ({first_names(keys, longest=40)})" if keys else ""


def difference_of_blocks(sent: str, predicted: str) -> Iterator[Line]:
    """What was sent and not predicted as +, what was predicted and not sent as -, what is in both without a sign."""
    from zeroclaw_tui.memory.text_difference import diff_lines

    room = max(20, width() - len(_INDENT) - 2)
    for line in diff_lines(predicted, sent, whole=True):
        if text := cut(one_line(line.text), room):
            yield (_INDENT, Styled(f"{line.sign} {text}", {"+": GREEN, "-": RED}.get(line.sign, DIM)))
