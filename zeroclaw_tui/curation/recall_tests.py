"""Recall tests: the memories that must, or must not, be in the prompt for a message."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.memory.text import counted, cut, one_line
from zeroclaw_tui.scoring.measures import is_hit, ndcg, reciprocal_rank
from zeroclaw_tui.scoring.profiles import Trial

STDIN = "-"
_FILE_NAME = "tests.toml"
_TEXT_FIELDS = ("name", "query", "session", "note")
_KEY_FIELDS = ("expected", "rejected")
_EXAMPLE = (
    "A test looks like this. Optional: rejected (keys that must not be in the prompt; expected may then be left out), "
    "name, session and note; --agent and --rule apply to all tests. `zeroclaw memory help queries` has more.\n"
    '[[query]]\nquery = "what does she eat?"\nexpected = ["food_allergy"]'
)
_MAX_SHOWN = 180


class RecallTest(NamedTuple):
    """A message with the keys that must and must not be in its prompt; `session` defaults to that of the run."""

    query: str
    expected: tuple[str, ...]
    name: str
    session: str | None = None
    rejected: tuple[str, ...] = ()


def tests_file(library: Library) -> Path:
    """The path of the recall tests, in the directory of this program's settings. The file may not exist."""
    return library.config.install.own_dir / _FILE_NAME


def read_tests(file: Path) -> tuple[RecallTest, ...]:
    """Read the tests of a TOML file, or of stdin for `-`. Raises UsageError with the position of a mistake."""
    shown = "stdin" if str(file) == STDIN else one_line(str(file))
    try:
        data = sys.stdin.buffer.read() if str(file) == STDIN else file.expanduser().read_bytes()
        document = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror or error}.", hint="FILE is TOML; - is stdin."
        ) from error
    except (ValueError, RecursionError) as error:
        reason = cut(one_line(str(error)), _MAX_SHOWN).rstrip(".")
        raise UsageError(f"{shown} is not TOML in UTF-8: {reason}.", hint=_EXAMPLE) from error
    tables: Any = document.get("query")
    are_tables = isinstance(tables, list) and tables and all(isinstance(table, dict) for table in tables)
    if not are_tables or document.keys() != {"query"}:
        raise UsageError(f"{shown} is not a list of tests.", hint=_EXAMPLE)
    for number, table in enumerate(tables, 1):
        if mistake := _mistake(table):
            raise UsageError(f"[[query]] {number:,} of {shown}: {mistake}.", hint=_EXAMPLE)
    return tuple(
        RecallTest(
            query=table["query"],
            expected=_keys(table, "expected"),
            name=table.get("name") or table["query"],
            rejected=_keys(table, "rejected"),
            session=table.get("session") or None,
        )
        for table in tables
    )


def _mistake(table: Mapping[str, Any]) -> str:
    """Check a [[query]] table, and return its mistake; "" if there is none."""
    for name, value in table.items():
        if name in _KEY_FIELDS:
            keys = [value] if isinstance(value, str) else value
            if not (isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys)):
                return f'"{name}" must be a key or a list of keys'
        elif name not in _TEXT_FIELDS:
            return f'unknown field "{cut(one_line(name), _MAX_SHOWN)}"'
        elif not isinstance(value, str):
            return f'"{name}" must be a string'
    if "query" not in table:
        return '"query" is missing'
    if table.keys().isdisjoint(_KEY_FIELDS):
        return '"expected" is missing'
    if both := set(_keys(table, "expected")) & set(_keys(table, "rejected")):
        return f'"{one_line(min(both))}" is both expected and rejected'
    return ""


def _keys(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    return tuple(dict.fromkeys([value] if isinstance(value, str) else value))


class RecallTestResult(NamedTuple):
    """The measures of one test at k, each 0..1 or None without expected keys. `recalled` has the keys in order.

    Expected keys must be in the prompt, and rejected keys must not; without a prompt, the first k recalled keys count.
    """

    test: RecallTest
    recalled: tuple[str, ...]
    injected: tuple[str, ...]
    missing: tuple[str, ...]
    unwanted: tuple[str, ...]
    hit: bool | None = None
    reciprocal_rank: float | None = None
    ndcg: float | None = None

    @classmethod
    def from_recall(cls, test: RecallTest, result: RecallResult) -> RecallTestResult:
        k = result.request.limit
        # Where ZeroClaw reranks, the reranked order counts; the recall is only its pool of candidates.
        recalled = tuple(scored.entry.key for scored in result.ranked)
        injected = tuple(scored.entry.key for scored in result.results if scored.injected)
        has_prompt = result.not_read_because is None and result.program is None
        reached = injected if has_prompt else recalled[:k]
        missing = tuple(key for key in test.expected if key not in reached)
        unwanted = tuple(key for key in test.rejected if key in reached)
        checked = cls(test, recalled, injected, missing, unwanted)
        if not test.expected:
            return checked
        hit, rank = is_hit(recalled, test.expected, k), reciprocal_rank(recalled, test.expected, k)
        return checked._replace(hit=hit, reciprocal_rank=rank, ndcg=ndcg(recalled, test.expected, k))

    @property
    def passed(self) -> bool:
        return not self.missing and not self.unwanted

    @property
    def failure(self) -> str:
        missing = [f"missing: {', '.join(self.missing)}"] if self.missing else []
        unwanted = [f"rejected but in the prompt: {', '.join(self.unwanted)}"] if self.unwanted else []
        return "; ".join(missing + unwanted)

    def as_json(self) -> dict[str, Any]:
        measured = self._asdict()
        return {**measured.pop("test")._asdict(), **measured, "passed": self.passed}


class RecallTestRun(NamedTuple):
    """The results of all tests of a file. `first` is the recall of the first test; all tests share its settings."""

    file: str
    results: tuple[RecallTestResult, ...]
    first: RecallResult
    search_mode: str
    notes: tuple[str, ...]
    lacks_vectors: bool
    """Whether the vector of at least one message could not be made."""

    @property
    def measures(self) -> Mapping[str, float]:
        """The means over the tests with expected keys, each 0..1; 0 if there are no such tests."""
        return {
            "hit_rate": _mean(result.hit for result in self.results),
            "mrr": _mean(result.reciprocal_rank for result in self.results),
            "ndcg": _mean(result.ndcg for result in self.results),
        }

    @property
    def k(self) -> int:
        return self.first.request.limit

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    def as_json(self) -> dict[str, Any]:
        recall = self.first.as_json()
        return {
            "file": self.file,
            "tests": len(self.results),
            "passed": self.passed,
            "failed": len(self.results) - self.passed,
            "k": self.k,
            **{name: recall[name] for name in ("profile", "weights", "threshold")},
            "search_mode": self.search_mode,
            "as_of": self.first.request.as_of,
            **self.measures,
            "notes": list(self.notes),
            "results": [result.as_json() for result in self.results],
        }

    def sentences(self) -> tuple[str, str, str]:
        (vector, keyword), failed = self.first.weights, len(self.results) - self.passed
        settings = [f"scoring {self.first.profile}"]
        if self.first.mode != self.first.backend:
            # A store with its own ranking has no weights.
            settings.append(f"weights {vector:g} / {keyword:g}")
        settings.append(f"threshold {self.first.threshold:g}")
        if self.search_mode != "hybrid":
            settings.append(f"search mode {self.search_mode}")
        return (
            f"{counted(len(self.results), 'recall test')} in {one_line(self.file)}",
            one_line(" · ".join(settings)),
            f"{f'{failed:,} failed' if failed else 'All passed'}, {self.passed:,} passed",
        )

    def measure_rows(self) -> tuple[tuple[str, float, str], ...]:
        measures = self.measures
        return (
            ("hit rate", measures["hit_rate"], f"share with an expected key among the first {self.k}"),
            ("MRR", measures["mrr"], "mean of 1 / rank of the first expected key"),
            (f"nDCG@{self.k}", measures["ndcg"], "1.00: all expected keys come first"),
        )


def _mean(measures: Iterable[float | None]) -> float:
    return fmean([measure for measure in measures if measure is not None] or [0.0])


async def run_tests(library: Library, file: str, tests: Sequence[RecallTest], trial: Trial) -> RecallTestRun:
    """Recall the message of every test with the parameters of `trial`, and measure the results."""
    recalls = list[RecallResult]()
    for test in tests:
        request = replace(trial.request, query=test.query)
        if test.session is not None:
            request = replace(request, session_id=test.session, extra_sessions=())
        recalls.append(await recall_memories(library, trial._replace(request=request)))
    return RecallTestRun(
        file=file,
        results=tuple(map(RecallTestResult.from_recall, tests, recalls)),
        first=recalls[0],
        search_mode=trial.settings.search_mode,
        notes=tuple(dict.fromkeys(note for recall in recalls for note in recall.notes)),
        lacks_vectors=any(recall.lacks_vector_because is not None for recall in recalls),
    )
