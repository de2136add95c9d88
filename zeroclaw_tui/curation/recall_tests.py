"""Recall tests: which memories must be in the prompt for a message, and which must not."""

from __future__ import annotations

import math
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.recall import keyword_only, recall_memories, turn_limit, uses_vector, waits_for_vector
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.query import EXCERPTS, Query
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, Rule
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line
from zeroclaw_tui.scoring.measures import is_hit, ndcg, reciprocal_rank
from zeroclaw_tui.scoring.profiles import Trial

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

STDIN = "-"
_FILE_NAME = "tests.toml"
_TEXT_FIELDS = ("name", "query", "session", "agent", "channel", "note")
_KEY_FIELDS = ("expected", "rejected")
_TABLE = '[[query]]\nquery = "what does she eat?"\nexpected = ["food_allergy"]'
_EXAMPLE = (
    "A test looks like this. Optional: rejected (keys that must not be in the prompt; expected may then be left out), "
    f"name, session, agent, channel and note.\n{_TABLE}"
)
_RULES: Mapping[str, Rule] = {
    "": "cli",
    "cli": "cli",
    "cron": "cron",
    "heartbeat": "cron",
    **dict.fromkeys(("web", "websocket", "ws", "gateway", "rpc", "acp", "library"), "library"),
}
"""The rules of turns by the name of their channel; every other channel is a chat."""
_MAX_SHOWN = 60
_MAX_KEYS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RecallTest:
    """A message, the keys that must be in the prompt for it, and those that must not; at least one of either.

    `name` is its name in reports. Where `session_id`, `agent` (an alias) and `channel` are None, those of the run
    count. `note` is a remark for people.
    """

    query: str
    expected: tuple[str, ...]
    name: str
    session_id: str | None = None
    rejected: tuple[str, ...] = ()
    agent: str | None = None
    channel: str | None = None
    note: str = ""

    @property
    def rule(self) -> Rule | None:
        """The rule by which a turn of the channel builds the prompt block; None without a channel."""
        if self.channel is None:
            return None
        return _RULES.get(self.channel.strip().lower().partition(".")[0], "channel")


def tests_file(library: Library) -> Path:
    """The path of the recall tests, in the directory of this program's settings. The file may not exist."""
    return library.config.install.own_dir / _FILE_NAME


def read_tests(file: Path) -> tuple[RecallTest, ...]:
    """Read the tests of a TOML file, `-` for stdin. Raises UsageError with the place of a mistake."""
    shown = "stdin" if str(file) == STDIN else one_line(str(file))
    try:
        data = sys.stdin.buffer.read() if str(file) == STDIN else file.expanduser().read_bytes()
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror or error}.", hint="FILE is a TOML file of tests; - reads stdin."
        ) from error
    if not data.strip():
        raise UsageError(f"{shown} is empty.", hint=_EXAMPLE)
    tests = _parse(data, file, shown)
    if not tests:
        raise UsageError(f"{shown} has no tests.", hint=_EXAMPLE)
    return tests


def _parse(data: bytes, file: Path, shown: str) -> tuple[RecallTest, ...]:
    data = data.removeprefix(b"\xef\xbb\xbf")
    if file.suffix.lower() in (".jsonl", ".ndjson", ".json") or data.lstrip().startswith(b"{"):
        raise UsageError(
            f"{shown} is not TOML: recall tests in JSON or JSONL are no longer read.",
            hint="Write the tests as TOML. See `zeroclaw memory help queries`.",
        )
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        reason = "its values are nested too deeply" if deep else cut(one_line(str(error)), 3 * _MAX_SHOWN).rstrip(".")
        raise UsageError(f"{shown} is not TOML: {reason[:1].lower()}{reason[1:]}.", hint=_EXAMPLE) from error
    if unknown := document.keys() - {"query"}:
        raise UsageError(f"{shown} has an unknown entry {_quoted(min(unknown))}.", hint=_EXAMPLE)
    tables = document.get("query", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise UsageError(f"query in {shown} is not a list of tables.", hint=f"Write each test as [[query]].\n{_TABLE}")
    tests = []
    for number, table in enumerate(tables, 1):
        if mistake := next(_mistakes(table), None):
            raise UsageError(f"[[query]] {number:,} of {shown}: {mistake}.", hint=_EXAMPLE)
        tests.append(_test_of(table))
    return tuple(tests)


def _mistakes(table: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a [[query]] table."""
    names = (*_TEXT_FIELDS, *_KEY_FIELDS)
    for name, value in table.items():
        if name in _TEXT_FIELDS and not isinstance(value, str):
            yield f'"{name}" must be a string'
        elif name in _KEY_FIELDS:
            keys = [value] if isinstance(value, str) else value
            if not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
                yield f'"{name}" must be a key or a list of keys'
            elif not keys:
                yield f'"{name}" names no key'
        elif name not in names:
            near = get_close_matches(name, names, 1)
            yield f"unknown field {_quoted(name)}" + (f' (did you mean "{near[0]}"?)' if near else "")
    if "query" not in table:
        yield '"query" is missing'
    if "expected" not in table and "rejected" not in table:
        yield '"expected" is missing'
    if both := set(_keys(table, "expected")) & set(_keys(table, "rejected")):
        yield f"{_quoted(min(both))} is both expected and rejected"


def _test_of(table: Mapping[str, Any]) -> RecallTest:
    return RecallTest(
        query=table["query"],
        expected=_keys(table, "expected"),
        name=table.get("name") or table["query"],
        session_id=table.get("session") or None,
        rejected=_keys(table, "rejected"),
        agent=table.get("agent") or None,
        channel=table.get("channel") or None,
        note=table.get("note", ""),
    )


def _keys(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    return tuple(dict.fromkeys([value] if isinstance(value, str) else value))


def _quoted(name: str) -> str:
    return f'"{cut(one_line(name), _MAX_SHOWN)}"'


@dataclass(frozen=True, slots=True)
class RecallTestResult:
    """The measures of one test at k, each 0..1; `recalled` are the keys in order, `injected` those in the prompt.

    The test passes if no expected key is `missing` and no rejected key is `unwanted` in the prompt. Where ZeroClaw puts
    the store's memories in no prompt, it is enough that they are recalled.
    """

    test: RecallTest
    recalled: tuple[str, ...]
    injected: tuple[str, ...]
    hit: bool
    reciprocal_rank: float
    ndcg: float
    in_prompt: bool
    """Whether an expected key is in the prompt."""
    missing: tuple[str, ...]
    unwanted: tuple[str, ...]

    @classmethod
    def of(cls, test: RecallTest, result: RecallResult) -> RecallTestResult:
        """Measure a recall at its limit."""
        k = result.request.limit
        # Where ZeroClaw reranks, that is the order in which memories compete; what it recalls is only the pool.
        recalled = tuple(scored.entry.key for scored in result.ranked)
        injected = tuple(scored.entry.key for scored in result.results if scored.injected)
        has_prompt = result.not_read_because is None and result.program is None
        reached = injected if has_prompt else recalled[:k]
        return cls(
            test=test,
            recalled=recalled,
            injected=injected,
            hit=is_hit(recalled, test.expected, k),
            reciprocal_rank=reciprocal_rank(recalled, test.expected, k),
            ndcg=ndcg(recalled, test.expected, k),
            in_prompt=not set(injected).isdisjoint(test.expected),
            missing=tuple(key for key in test.expected if key not in reached),
            unwanted=tuple(key for key in test.rejected if key in reached),
        )

    @property
    def passed(self) -> bool:
        """Whether every expected key reaches the prompt and no rejected key does."""
        return not self.missing and not self.unwanted

    @property
    def failure(self) -> str:
        """Why the test fails; "" if it passes."""
        missing = [f"missing: {', '.join(self.missing)}"] if self.missing else []
        unwanted = [f"rejected but in the prompt: {', '.join(self.unwanted)}"] if self.unwanted else []
        return "; ".join(missing + unwanted)

    def as_json(self) -> dict[str, Any]:
        """The result as the command prints it."""
        test = self.test
        # Where nothing is expected there is nothing to measure.
        is_measured = bool(test.expected)
        return {
            "name": test.name,
            "query": test.query,
            "session": test.session_id,
            "agent": test.agent,
            "channel": test.channel,
            "expected": list(test.expected),
            "rejected": list(test.rejected),
            "recalled": list(self.recalled),
            "injected": list(self.injected),
            "hit": self.hit if is_measured else None,
            "reciprocal_rank": self.reciprocal_rank if is_measured else None,
            "ndcg": self.ndcg if is_measured else None,
            "in_prompt": self.in_prompt if is_measured else None,
            "passed": self.passed,
            "missing": list(self.missing),
            "unwanted": list(self.unwanted),
        }


@dataclass(frozen=True, slots=True)
class RecallTestRun:
    """The results of all tests of a file. `weights` are those of vector and keyword score."""

    file: str
    results: tuple[RecallTestResult, ...]
    keys_nobody_has: tuple[str, ...] = ()
    """The expected keys that no memory of the store has, superseded or not."""
    notes: tuple[str, ...] = ()
    k: int = 0
    profile: str = ""
    weights: tuple[float, float] = (0.0, 0.0)
    threshold: float = 0.0
    search_mode: str = "hybrid"
    as_of: str = ""
    """The time to which decay counts."""
    uses_weights: bool = True
    """False if the store ranks by a rule of its own, without weights."""

    @property
    def measures(self) -> Mapping[str, float]:
        """The means over the tests that expect something, each 0..1; 0 if there is none."""
        results = [result for result in self.results if result.test.expected]
        return {
            "hit_rate": _mean(result.hit for result in results),
            "mrr": _mean(result.reciprocal_rank for result in results),
            "ndcg": _mean(result.ndcg for result in results),
            "prompt_rate": _mean(result.in_prompt for result in results),
        }

    @property
    def passed(self) -> int:
        """How many tests pass."""
        return sum(result.passed for result in self.results)

    def as_json(self) -> dict[str, Any]:
        """The run as the command prints it."""
        vector, keyword = self.weights
        return {
            "file": self.file,
            "keys_nobody_has": list(self.keys_nobody_has),
            "tests": len(self.results),
            "passed": self.passed,
            "failed": len(self.results) - self.passed,
            "k": self.k,
            "profile": self.profile,
            "weights": {"vector": vector, "keyword": keyword},
            "threshold": self.threshold,
            "search_mode": self.search_mode,
            "as_of": self.as_of,
            **self.measures,
            "notes": list(self.notes),
            "results": [result.as_json() for result in self.results],
        }

    def sentences(self) -> tuple[str, str, str]:
        """The file, the settings, and how many tests pass."""
        failed = len(self.results) - self.passed
        vector, keyword = self.weights
        settings = [f"scoring {self.profile}"]
        settings += [f"weights {vector:g} / {keyword:g}"] if self.uses_weights else []
        settings += [f"threshold {self.threshold:g}"]
        settings += [f"search mode {self.search_mode}"] if self.search_mode != "hybrid" else []
        return (
            f"{counted(len(self.results), 'recall test')} in {one_line(self.file)}",
            one_line(" · ".join(settings)),
            f"{f'{failed:,} failed' if failed else 'All passed'}, {self.passed:,} passed",
        )

    def measure_rows(self) -> tuple[tuple[str, float, str], ...]:
        """Each measure with its name and its meaning."""
        found = self.measures
        return (
            ("hit rate", found["hit_rate"], f"share with an expected key among the first {self.k}"),
            ("MRR", found["mrr"], "mean of 1 / rank of the first expected key"),
            (f"nDCG@{self.k}", found["ndcg"], "1.00: all expected keys come first"),
            ("prompt rate", found["prompt_rate"], "share with an expected key in the prompt"),
        )

    def unknown_keys_sentence(self) -> str:
        """The expected keys that no memory has; "" if there are none."""
        keys = self.keys_nobody_has
        named = first_names([f'"{key}"' for key in keys], most=_MAX_KEYS_SHOWN)
        key = "key" if len(keys) == 1 else "keys"
        return f"No memory has the expected {key} {named}, so these tests fail." if keys else ""


def _mean(values: Iterable[float]) -> float:
    each = list(values)
    return math.fsum(each) / len(each) if each else 0.0


async def run_tests(
    library: Library,
    file: str,
    tests: Sequence[RecallTest],
    trial: Trial,
    on_progress: Callable[[int], object] | None = None,
) -> RecallTestRun:
    """Recall the message of every test by the rules of `trial`, and measure the recalls.

    `on_progress` gets the number of tests done. The vectors of all messages are fetched by few requests.
    """
    keys = list(dict.fromkeys(key for test in tests for key in test.expected))
    known = {entry.key for entry in await library.memory.rows(Query(EXCERPTS, keys=keys))}
    run = RecallTestRun(file, (), tuple(key for key in keys if key not in known))
    trials = [_trial_of_test(library, trial, test) for test in tests]
    failures = await _fetch_vectors(library, trials)
    results: list[RecallTestResult] = []
    notes: Counter[str] = Counter()
    for test, own_trial in zip(tests, trials, strict=True):
        result = await recall_memories(failures.get(test.query, library), own_trial)
        if not results:
            run = replace(
                run, k=result.request.limit, profile=result.profile, weights=result.weights, as_of=result.request.as_of,
                threshold=result.threshold, search_mode=trial.settings.search_mode,
                uses_weights=result.mode != result.backend,
            )  # fmt: skip
        results.append(RecallTestResult.of(test, result))
        notes.update(set(result.notes))
        if on_progress is not None:
            on_progress(len(results))
    sentences = tuple(
        note if count == len(results) else f"{note} (In {count:,} of {len(results):,} tests.)"
        for note, count in notes.items()
    )
    return replace(run, results=tuple(results), notes=sentences)


def _trial_of_test(library: Library, trial: Trial, test: RecallTest) -> Trial:
    """The recall of a test: `trial` with the message, session, agent and channel of the test.

    If the limit of `trial` is the one of its turn, the limit is that of the new turn.
    """
    request = trial.request
    changed = replace(request, query=test.query)
    if test.session_id is not None:
        changed = replace(changed, session_id=test.session_id, further_sessions=())
    if test.agent is not None:
        own = (test.agent,)
        changed = replace(changed, agents=library.config.readable_by(own) if request.layer == "agent" else own)
    if test.rule is not None:
        changed = replace(changed, rule=test.rule)
    if (changed.agents, changed.rule) != (request.agents, request.rule):
        limit = _turn_limit(library, trial, changed)
        changed = replace(
            changed, limit=limit if request.limit == request.turn_limit else request.limit, turn_limit=limit
        )
    return trial._replace(request=changed)


async def _fetch_vectors(library: Library, trials: Iterable[Trial]) -> dict[str, Library]:
    """Fetch the vectors of all messages by few requests. A message without one gets a library that asks for none."""
    queries = dict.fromkeys(trial.request.query for trial in trials if uses_vector(library, trial))
    missing = [query for query in queries if await waits_for_vector(library, query)]
    if library.embedder is None or not missing:
        return {}
    failures = await library.embedder.prefetch(missing)
    return {
        query: replace(library, embedder=None, no_embedder_because=keyword_only(failure))
        for query, failure in failures.items()
    }


def _turn_limit(library: Library, trial: Trial, request: RecallRequest) -> int:
    of_program = library.memory.about.recall_limit
    return of_program or turn_limit(library.config, trial.profile, request.rule, request.agents)
