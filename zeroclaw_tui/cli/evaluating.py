"""`memory evaluate`: how well the queries of a file recall what they should.

Its document: {"file", "k", "queries": how many, "keys_nobody_has", "runs": [{"label", "profile", "weights",
"threshold", "search_mode", "as_of", "hit_rate", "mrr", "ndcg", "prompt_rate", "notes", "queries": [{"name", "query",
"session", "expected", "recalled", "injected", "hit", "reciprocal_rank", "ndcg", "in_prompt"}]}], "difference":
{"hit_rate", "mrr", "ndcg", "prompt_rate"} or null}. Exit code 0 whatever the figures are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType

from zeroclaw_tui.cli.evaluation_lines import evaluation_lines
from zeroclaw_tui.cli.output import document, note, write_lines
from zeroclaw_tui.cli.recalling import tell_notes
from zeroclaw_tui.cli.trials import WHAT_IF_OPTIONS, tell_complaints, trial_given
from zeroclaw_tui.curation.evaluation import (
    STDIN,
    Evaluation,
    TestQuery,
    difference,
    keys_nobody_has,
    read_queries,
    with_queries_together,
)
from zeroclaw_tui.curation.evaluation import evaluate as measured
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import DONE, WrongUse
from zeroclaw_tui.memory.text import first_names
from zeroclaw_tui.scoring.profiles import profile_for
from zeroclaw_tui.scoring.settings import Trial

MOST_KEYS_SHOWN = 10
_SHOW_EVERY = 0.1


async def evaluate(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    trials = _trials(library, given, now)
    queries = read_queries(Path(given.file))
    unknown = await keys_nobody_has(library, queries)
    if unknown:
        note(f"zeroclaw: {_unknown_sentence(unknown)}")
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
    other = replace(plain, profile=profile_for(given.against))
    tell_complaints(library, other, (), told)
    return [(f"scoring {trial.profile.version}", trial) for trial in (plain, other)]


async def _runs(
    library: Library, queries: Sequence[TestQuery], trials: Sequence[tuple[str, Trial]]
) -> list[Evaluation]:
    sharing = with_queries_together(library, [asked.query for asked in queries])
    runs = []
    with _Counter(len(queries) * len(trials)) as counter:
        for label, trial in trials:
            runs.append(await measured(sharing, queries, _asking(trial), label, counter.advance))
            counter.next_run(len(queries))
    return runs


def _asking(trial: Trial) -> Callable[[TestQuery], Trial]:
    def trial_for(asked: TestQuery) -> Trial:
        request = replace(trial.request, query=asked.query)
        if asked.session_id is not None:
            request = replace(request, session_id=asked.session_id, further_sessions=())
        return replace(trial, request=request)

    return trial_for


def _document(file: str, runs: Sequence[Evaluation], unknown: Sequence[str]) -> dict[str, object]:
    return {
        "file": file,
        "k": runs[0].k,
        "queries": len(runs[0].queries),
        "keys_nobody_has": list(unknown),
        "runs": [run.as_json() for run in runs],
        "difference": difference(*runs) if len(runs) == 2 else None,
    }


def _unknown_sentence(unknown: Sequence[str]) -> str:
    named = first_names([f'"{key}"' for key in unknown], most=MOST_KEYS_SHOWN)
    has = "Expected, but no memory has this key" if len(unknown) == 1 else "Expected, but no memory has these keys"
    return f"{has}: {named}. The figures count that as missed."


class _Counter:
    """How many recalls are done, on stderr if that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._before = 0
        self._shows = sys.stderr.isatty()
        self._due = time.monotonic() + _SHOW_EVERY

    def __enter__(self) -> _Counter:
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
