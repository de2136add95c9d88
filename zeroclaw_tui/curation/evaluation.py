"""Test queries: which keys should be recalled, and how well they are."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.embeddings.patient import PatientEmbedder
from zeroclaw_tui.memory.errors import EmbeddingFailed, WrongUse
from zeroclaw_tui.memory.text import cut, is_unicode, one_line
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.measures import is_hit, ndcg, reciprocal_rank

STDIN = "-"
MOST_TOML_BYTES = 8 * 1024**2
"""A TOML file is read as a whole; longer ones belong in JSONL."""
MOST_LINE_BYTES = 1024**2
MOST_QUERIES = 100_000
_NAMES = ("query", "expected", "name", "session")
_MARK = b"\xef\xbb\xbf"
_LONGEST_SHOWN = 60
_TABLE = '[[query]]\nquery = "what does she eat?"\nexpected = ["food_allergy"]'
_LINE = '{"query": "what does she eat?", "expected": ["food_allergy"]}'
_OPTIONAL = "name and session may stand beside query and expected."
_AS_TABLES = f"A query looks like this; {_OPTIONAL}\n{_TABLE}"
_AS_LINES = f"A line looks like this; {_OPTIONAL}\n{_LINE}"


def read_queries(file: Path) -> tuple[TestQuery, ...]:
    """The queries of a TOML ([[query]] tables) or JSONL file. Raises WrongUse in one sentence with the place.

    A name that ends in .toml, .jsonl, .ndjson or .json says which it is; of others, `-` for stdin included, one that
    begins with a brace is JSONL. JSONL is read line by line.
    """
    shown = "stdin" if str(file) == STDIN else one_line(str(file))
    try:
        with _opened(file) as stream:
            blanks, first = _first_line(stream)
            if not first:
                raise WrongUse(f"{shown} is empty.", hint=_AS_TABLES)
            if _is_jsonl(file, first):
                queries = tuple(_of_lines(_numbered(stream, blanks, first), shown))
            else:
                queries = tuple(_of_toml(stream, blanks, first, shown))
    except OSError as error:
        raise WrongUse(
            f"{shown} cannot be read: {error.strerror or error}.", hint="FILE is a file of test queries, - is stdin."
        ) from error
    if not queries:
        raise WrongUse(f"{shown} holds no queries.", hint=_AS_TABLES)
    return queries


def _opened(file: Path) -> AbstractContextManager[BinaryIO]:
    if str(file) == STDIN:
        return nullcontext(cast(BinaryIO, sys.stdin.buffer))
    return file.expanduser().open("rb")


def _first_line(stream: BinaryIO) -> tuple[int, bytes]:
    """How many blank lines there are ahead, and the first that is none; b"" where all are."""
    blanks = 0
    line = stream.readline(MOST_LINE_BYTES + 1).removeprefix(_MARK)
    while line and not line.strip():
        blanks += 1
        line = stream.readline(MOST_LINE_BYTES + 1)
    return blanks, line


def _is_jsonl(file: Path, first: bytes) -> bool:
    if str(file) != STDIN and file.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        return True
    if str(file) != STDIN and file.suffix.lower() == ".toml":
        return False
    return first.lstrip().startswith(b"{")


def _numbered(stream: BinaryIO, blanks: int, first: bytes) -> Iterator[tuple[int, bytes]]:
    number, line = blanks + 1, first
    while line:
        yield number, line
        number, line = number + 1, stream.readline(MOST_LINE_BYTES + 1)


def _of_lines(lines: Iterator[tuple[int, bytes]], shown: str) -> Iterator[TestQuery]:
    count = 0
    for number, line in lines:
        place = f"Line {number:,} of {shown}"
        if len(line) > MOST_LINE_BYTES:
            raise WrongUse(f"{place} is longer than {MOST_LINE_BYTES // 1024**2} MB.", hint=_AS_LINES)
        if not line.strip():
            continue
        count += 1
        _refuse_too_many(count, shown)
        asked = _json(line, place)
        if not isinstance(asked, dict):
            raise WrongUse(f"{place} is no JSON object.", hint=_AS_LINES)
        yield _query(asked, place, _AS_LINES)


def _json(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.decode("utf-8").rstrip())
    except UnicodeDecodeError as error:
        raise WrongUse(f"{place} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise WrongUse(
            f"{place} is no JSON: {_lowered(error.msg)} at column {error.colno:,}.",
            hint=f"Each line is an object of its own.\n{_LINE}",
        ) from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{place} is JSON that cannot be read: {_reason(error)}.", hint=_AS_LINES) from error


def _of_toml(stream: BinaryIO, blanks: int, first: bytes, shown: str) -> Iterator[TestQuery]:
    data = first + stream.read(max(0, MOST_TOML_BYTES + 1 - len(first)))
    if len(data) + blanks > MOST_TOML_BYTES:
        raise WrongUse(
            f"{shown} is longer than {MOST_TOML_BYTES // 1024**2} MB, the most that is read of TOML.",
            hint=f"JSONL may be longer, a query on each line:\n{_LINE}",
        )
    tables = _toml(b"\n" * blanks + data, shown).get("query", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise WrongUse(f"query in {shown} is no list of tables.", hint=f"Write each query as [[query]].\n{_TABLE}")
    _refuse_too_many(len(tables), shown)
    for number, table in enumerate(tables, 1):
        yield _query(table, f"[[query]] {number:,} of {shown}", _AS_TABLES)


def _toml(data: bytes, shown: str) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WrongUse(f"Line {line:,} of {shown} is not UTF-8.", hint="Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{shown} is no TOML: {_reason(error)}.", hint=_AS_TABLES) from error
    for name in document:
        if name != "query":
            raise WrongUse(f"{shown} has {_quoted(name)}, which is no query.", hint=_AS_TABLES)
    return document


def _refuse_too_many(count: int, shown: str) -> None:
    if count > MOST_QUERIES:
        raise WrongUse(f"{shown} holds more than {MOST_QUERIES:,} queries.", hint="Split it into several files.")


def _query(given: Mapping[str, Any], place: str, shape: str) -> TestQuery:
    fault = _fault(given)
    if fault:
        raise WrongUse(f"{place}: {fault}.", hint=shape)
    expected = given["expected"]
    return TestQuery(
        query=given["query"],
        expected=tuple(dict.fromkeys([expected] if isinstance(expected, str) else expected)),
        name=given.get("name") or given["query"],
        session_id=given.get("session"),
    )


def _fault(given: Mapping[str, Any]) -> str | None:
    for name in given:
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 1)
            return f"there is no {_quoted(name)}" + (f', but "{near[0]}"' if near else "")
    for name in ("query", "expected"):
        if name not in given:
            return f'"{name}" is missing'
    for name in ("query", "name", "session"):
        value = given.get(name)
        if not isinstance(value, str) and (value is not None or name == "query"):
            return f'"{name}" must be a text'
        if isinstance(value, str) and not is_unicode(value):
            return f'"{name}" has half a character (a lone surrogate)'
    return _fault_of_expected(given["expected"])


def _fault_of_expected(expected: Any) -> str | None:
    keys = [expected] if isinstance(expected, str) else expected
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return '"expected" must be a key or a list of keys'
    if not keys:
        return '"expected" names no key'
    return None if all(map(is_unicode, keys)) else '"expected" has half a character (a lone surrogate)'


def _quoted(name: str) -> str:
    return f'"{cut(one_line(name), _LONGEST_SHOWN)}"'


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its values lie too deep in one another"
    return _lowered(cut(one_line(str(error)), 3 * _LONGEST_SHOWN)).rstrip(".")


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library


class QueriesTogether:
    """An embedder that, at the first query it is asked for, has the vectors of all of them fetched, and keeps them.

    Vectors the store has cached are not asked for. What failed stays failed: in runs that are compared a query must not
    have a vector in one and none in the other because the endpoint came back between them.
    """

    def __init__(self, embedder: PatientEmbedder, memory: Memory, texts: Iterable[str]) -> None:
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.is_remote = embedder.is_remote
        self._embedder = embedder
        self._memory = memory
        self._texts = dict.fromkeys(text for text in texts if words(text))
        self._known: dict[str, np.ndarray | EmbeddingFailed] | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a query, shape (dimensions,), float32. Raises EmbeddingFailed."""
        if self._known is None:
            missing = [each for each in self._texts if not await self._is_cached(each)]
            self._known = await self._embedder.queries(missing)
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = await self._embedder.query(text)
        if isinstance(found, EmbeddingFailed):
            # Raised again and again, the same exception would collect every place it was raised at.
            raise found.with_traceback(None)
        return found

    async def close(self) -> None:
        """Nothing to let go of: the embedder belongs to whoever made it."""

    async def _is_cached(self, text: str) -> bool:
        vector = await self._memory.cached_vector(text)
        return vector is not None and len(vector) == self.dimensions


def with_queries_together(library: Library, texts: Iterable[str]) -> Library:
    """The same open library, whose recalls of these texts ask an embedding endpoint for all of them at once."""
    if not isinstance(library.embedder, PatientEmbedder):
        return library
    return replace(library, embedder=QueriesTogether(library.embedder, library.memory, texts))


if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.recall import RecallResult
    from zeroclaw_tui.scoring.settings import Trial

MEASURES = ("hit_rate", "mrr", "ndcg", "prompt_rate")
"""The figures of all queries together, each 0..1, by the names they have in documents."""


@dataclass(frozen=True, slots=True)
class TestQuery:
    """One query of the file with the keys that should be recalled; `name` is how it is called in reports."""

    __test__ = False

    query: str
    expected: tuple[str, ...]
    name: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """One query's measures at k, each 0..1; `recalled` are the keys in order, `injected` those in the prompt."""

    asked: TestQuery
    recalled: tuple[str, ...]
    injected: tuple[str, ...]
    hit: bool
    reciprocal_rank: float
    ndcg: float
    in_prompt: bool
    """Whether an expected one reaches the prompt."""

    def as_json(self) -> dict[str, Any]:
        """The query's part of the document."""
        return {
            "name": self.asked.name,
            "query": self.asked.query,
            "session": self.asked.session_id,
            "expected": list(self.asked.expected),
            "recalled": list(self.recalled),
            "injected": list(self.injected),
            "hit": self.hit,
            "reciprocal_rank": self.reciprocal_rank,
            "ndcg": self.ndcg,
            "in_prompt": self.in_prompt,
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of all queries with one setting; `label` says which. `weights` are those of vector and keyword."""

    label: str
    k: int
    queries: tuple[QueryFigures, ...]
    notes: tuple[str, ...] = ()
    profile: str = ""
    weights: tuple[float, float] = (0.0, 0.0)
    threshold: float = 0.0
    search_mode: str = "hybrid"
    as_of: str = ""
    """The moment time decay counts to."""

    @property
    def in_all(self) -> Mapping[str, float]:
        """The mean of each of MEASURES over the queries; 0 where there is none."""
        return {
            "hit_rate": _mean(figures.hit for figures in self.queries),
            "mrr": _mean(figures.reciprocal_rank for figures in self.queries),
            "ndcg": _mean(figures.ndcg for figures in self.queries),
            "prompt_rate": _mean(figures.in_prompt for figures in self.queries),
        }

    def as_json(self) -> dict[str, Any]:
        """Per query and in all: hit_rate, mrr, ndcg, prompt_rate."""
        vector, keyword = self.weights
        return {
            "label": self.label,
            "profile": self.profile,
            "weights": {"vector": vector, "keyword": keyword},
            "threshold": self.threshold,
            "search_mode": self.search_mode,
            "as_of": self.as_of,
            **self.in_all,
            "notes": list(self.notes),
            "queries": [figures.as_json() for figures in self.queries],
        }


def difference(before: Evaluation, after: Evaluation) -> dict[str, float]:
    """What each of MEASURES gains from one run to the other, -1..1."""
    was, is_now = before.in_all, after.in_all
    return {name: is_now[name] - was[name] for name in MEASURES}


def figures_of(asked: TestQuery, result: RecallResult) -> QueryFigures:
    """The measures of one recall at the limit it was asked with."""
    k = result.request.limit
    # Where ZeroClaw reranks, that is the order in which memories compete; what it recalls is only the pool.
    recalled = tuple(scored.entry.key for scored in result.ranked)
    injected = tuple(scored.entry.key for scored in result.results if scored.injected)
    return QueryFigures(
        asked=asked,
        recalled=recalled,
        injected=injected,
        hit=is_hit(recalled, asked.expected, k),
        reciprocal_rank=reciprocal_rank(recalled, asked.expected, k),
        ndcg=ndcg(recalled, asked.expected, k),
        in_prompt=not set(injected).isdisjoint(asked.expected),
    )


async def evaluate(
    library: Library,
    queries: Sequence[TestQuery],
    trial_for: Callable[[TestQuery], Trial],
    label: str,
    advance: Callable[[int], Awaitable[None]] | None = None,
) -> Evaluation:
    """Recall every query and measure it. Raises InspectorError kinds; `advance` is told how many are done.

    Rules and numbers of the first query's trial are told as those of the run.
    """
    figures: list[QueryFigures] = []
    notes: Counter[str] = Counter()
    of_run = Evaluation(label, 0, ())
    for done, asked in enumerate(queries, 1):
        trial = trial_for(asked)
        result = await recall_memories(library, trial)
        if done == 1:
            of_run = _empty_run(label, trial, result)
        figures.append(figures_of(asked, result))
        notes.update(dict.fromkeys(result.notes, 1))
        if advance is not None:
            await advance(done)
    return replace(of_run, queries=tuple(figures), notes=tuple(_told(notes, len(figures))))


def _told(notes: Counter[str], queries: int) -> Iterator[str]:
    """The notes of all recalls, with how many they are about where it is not all of them."""
    for note, count in notes.items():
        yield note if count == queries else f"{note} (This is about {count:,} of the {queries:,} queries.)"


async def keys_nobody_has(library: Library, queries: Iterable[TestQuery]) -> tuple[str, ...]:
    """The expected keys that no memory of the store has, superseded or not, in the order of the file."""
    keys = list(dict.fromkeys(key for asked in queries for key in asked.expected))
    found = {entry.key for entry in await library.memory.get_batch(keys)}
    missing = [key for key in keys if key not in found]
    # A Markdown store's `get` is also content with a text that holds the key.
    return tuple([key for key in missing if not await _is_there(library, key)])


async def _is_there(library: Library, key: str) -> bool:
    return any(entry.key == key for entry in await library.memory.with_key(key))


def _empty_run(label: str, trial: Trial, result: RecallResult) -> Evaluation:
    return Evaluation(
        label=label,
        k=result.request.limit,
        queries=(),
        profile=result.profile,
        weights=result.weights,
        threshold=result.threshold,
        search_mode=trial.settings.search_mode,
        as_of=result.request.as_of,
    )


def _mean(values: Iterable[float]) -> float:
    each = list(values)
    return math.fsum(each) / len(each) if each else 0.0
