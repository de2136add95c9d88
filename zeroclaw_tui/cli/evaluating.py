"""`memory evaluate`: how well the queries of a file recall what they should.

Its document: {"file", "k", "queries": how many, "keys_nobody_has", "runs": [{"label", "profile", "weights",
"threshold", "search_mode", "as_of", "hit_rate", "mrr", "ndcg", "prompt_rate", "passed": how many, "notes", "queries":
[{"name", "query", "session", "agent", "channel", "expected", "rejected", "recalled", "injected", "hit",
"reciprocal_rank", "ndcg", "in_prompt", "passed", "missing", "unwanted"}]}], "difference": {"hit_rate", "mrr", "ndcg",
"prompt_rate"} or null}. Exit code 0 whatever the figures are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType

from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    NOTHING,
    RED,
    Line,
    Part,
    Styled,
    date_shown,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.recall import WHAT_IF_OPTIONS, tell_complaints, tell_notes, trial_given
from zeroclaw_tui.curation.evaluation import (
    MEASURES,
    STDIN,
    Evaluation,
    QueryFigures,
    TestQuery,
    difference,
    keys_nobody_has,
    read_queries,
    trial_of_test,
    with_queries_together,
)
from zeroclaw_tui.curation.evaluation import evaluate as measured
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import DONE, WrongUse
from zeroclaw_tui.memory.text import cells, counted, cut, first_names, one_line, padded
from zeroclaw_tui.scoring.profiles import Trial, profile_for

MOST_KEYS_SHOWN = 10
_SHOW_EVERY = 0.1


async def evaluate(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
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
    has_changes = any(getattr(given, name) is not None for name in WHAT_IF_OPTIONS)
    if given.against is not None and has_changes:
        raise WrongUse("--against and other numbers would change two things at once.", hint="Try one after the other.")
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
    sharing = with_queries_together(library, [asked.query for asked in queries])
    runs = []
    with RecallCount(len(queries) * len(trials)) as counter:
        for label, trial in trials:
            runs.append(
                await measured(sharing, queries, partial(trial_of_test, library, trial), label, counter.advance)
            )
            counter.next_run(len(queries))
    return runs


def _document(file: str, runs: Sequence[Evaluation], unknown: Sequence[str]) -> dict[str, object]:
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
        self._total = total
        self._before = 0
        self._shows = sys.stderr.isatty()
        self._due = time.monotonic() + _SHOW_EVERY

    def __enter__(self) -> RecallCount:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shows:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    async def advance(self, done: int) -> None:
        """Show how many of this run are done, a few times a second."""
        if self._shows and time.monotonic() >= self._due:
            self._due = time.monotonic() + _SHOW_EVERY
            sys.stderr.write(f"\rRecalling {self._before + done:,} of {self._total:,} …")
            sys.stderr.flush()

    def next_run(self, queries: int) -> None:
        """Count on from the run that is over."""
        self._before += queries


Pair = tuple[QueryFigures, QueryFigures]
_LEAST_ROOM = 20
_MOST_DECIMALS = 6
_LONGEST_NAME = 400
ARROW = " → "


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
    parts += [f"weights {vector:g} / {keyword:g}", f"threshold {run.threshold:g}"]
    parts += [f"search mode {run.search_mode}"] * (run.search_mode != "hybrid")
    parts += [f"decay to {date_shown(run.as_of)}"] * tells_moment
    return one_line(" · ".join(parts))


def _order(pair: Pair) -> tuple[bool, float, bool, float, bool]:
    """What got worse, what got better, and then the worst; a prompt won or lost weighs as much as a rank."""
    was, is_now = pair
    gain = (is_now.ndcg - was.ndcg) + (is_now.in_prompt - was.in_prompt)
    is_same = (was.hit, was.ndcg, was.in_prompt) == (is_now.hit, is_now.ndcg, is_now.in_prompt)
    return is_same, 0.0 if is_same else gain, is_now.hit, is_now.ndcg, is_now.in_prompt


def _query_table(pairs: Sequence[Pair], k: int) -> Iterator[Line]:
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
