"""What is near a text by rare words, told by the server's word index or by passes that keep little.

ZeroClaw's index on the content holds PostgreSQL's words (configuration "simple"), which are those compared here but for
numbers with signs, addresses, paths, marks in angle brackets and scripts without blanks. What it tells is approximate.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.connect import (
    NOT_SUPPORTED,
    PASS_SECONDS,
    Connections,
    expected,
    in_batches,
    patience,
)
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.sql import IDS_AT_ONCE, ROWS_AT_ONCE, Parameters, can_hold, conditions, ids_are
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.scoring.neighbours import (
    LEAST,
    LOOKED_AT,
    WordNeighbours,
    compared_text_of,
    cosine,
    is_cut_in_twos,
    weight,
    words_of,
)

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

FEW = 20_000
"""A table of so many rows is read whole."""
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '64MB'; SET LOCAL jit = off"
_TSVECTOR = "to_tsvector('simple', m.content)"
_SAMPLE = "TABLESAMPLE"
_SAMPLED = 20_000
_OFTEN = 20
"""A word met so often in the sample is not counted, but taken for as frequent as it is there."""
_EVERYWHERE = 20
"""The same for a word of the text asked about that is in every so manieth text."""
_MOST_WORDS = 400
"""A text asked about that has more words is compared by reading."""
_MOST_HAVING = 20_000
_MOST_READ = 5_000
_READ_AT_FIRST = 100
_WORDS_AT_ONCE = 500
_DEEPEST = 3
_LONGEST_QUERY = 20_000
_KEPT = 2_000
"""Of so many texts, the best by the weights of the sample, all words are counted in a pass."""
_COUNTED = 20
"""Of so many texts more than are asked for all words are counted by the index."""
_DEVIATIONS = 3
_ROUNDING = 1e-9

Read = Mapping[str, tuple[float, tuple[str, ...]]]
"""For ids the moment of the last store, and the words of the text."""


async def nearest_by_words(
    connections: Connections, table: Table, asked: str, limit: int, without: Handle | None
) -> WordNeighbours | None:
    """The texts nearest to one; None where the rows are so few that reading them all is sooner.

    `is_approximate` where the index has told them. Without one, or for a long text or one of a script without
    blanks, all rows are read twice. Raises SearchInterrupted.
    """
    samples = _SAMPLE not in connections.refused
    async with connections.reading(seconds=PASS_SECONDS) as connection:
        with expected(*(NOT_SUPPORTED if samples else ())):
            table_words = _TableWords(connection, table, limit, without)
            if not await table_words.look(samples=samples):
                return None
            words = words_of(asked)
            if table.has_word_indexes and len(words) <= _MOST_WORDS and not any(map(is_cut_in_twos, words)):
                await connection.execute(_BY_INDEX)
                return await _Index(table_words, words, asked).nearest()
            return await _Passes(table_words, words).nearest()
    connections.refused.add(_SAMPLE)
    return await nearest_by_words(connections, table, asked, limit, without)


class _TableWords:
    """The rows, a sample of their words, and the scores of those that were read."""

    def __init__(self, connection: asyncpg.Connection, table: Table, limit: int, without: Handle | None) -> None:
        self.connection, self.table, self.limit, self._without = connection, table, limit, without
        self.texts = self.sampled = 0
        self.seen = Counter[str]()
        """In how many texts of the sample each word is."""
        self.condition, self.values = conditions(MemoryFilter(), table)
        self.columns = f"m.id::text, m.key::text, left(m.content, {LOOKED_AT})"

    async def look(self, *, samples: bool) -> bool:
        """Count the rows, and the words of a few; False where they are few altogether.

        Without `samples`, for servers that cannot choose rows by lot, and of views the first ones are taken.
        """
        counting = f"SELECT count(*) FROM {self.table.quoted} AS m WHERE {self.condition}"
        self.texts = int(await self.fetchval(counting, *self.values))
        if self.texts <= FEW:
            return False
        sample = f"{_SAMPLE} SYSTEM ({100 * _SAMPLED / self.texts}) REPEATABLE (1)"
        if not samples or self.table.kind not in ("r", "p"):
            sample = ""
        statement = f"SELECT {self.columns} FROM {self.table.quoted} AS m {sample} WHERE {self.condition} LIMIT {FEW}"

        def count(records: Sequence[Any]) -> None:
            for _, key, content in records:
                self.seen.update(words_of(compared_text_of(key or "", content or "")))
                self.sampled += 1

        await self.each(statement, count)
        return True

    async def each(self, statement: str, see: Callable[[Sequence[Any]], None]) -> None:
        """Show what a statement without values but the condition's selects, on a thread."""
        stop = threading.Event()

        def show(records: Sequence[Any]) -> None:
            if stop.is_set():
                raise SearchInterrupted
            see(records)

        try:
            async for records in in_batches(self.connection, statement, self.values, IDS_AT_ONCE, PASS_SECONDS):
                await asyncio.to_thread(show, records)
            await self.connection.execute("CLOSE each_row")
        finally:
            stop.set()

    async def fetch(self, statement: str, *values: Any) -> Sequence[Any]:
        rows: Sequence[Any] = await self.connection.fetch(statement, *values, timeout=patience(PASS_SECONDS))
        return rows

    async def fetchval(self, statement: str, *values: Any) -> Any:
        return await self.connection.fetchval(statement, *values, timeout=patience(PASS_SECONDS))

    async def read(self, ids: Sequence[str]) -> Read:
        """The words of these texts, that of the memory asked about left out."""
        table, found = self.table, dict[str, tuple[float, tuple[str, ...]]]()
        moment = f"coalesce(extract(epoch FROM m.{table.updated}), 'Infinity')::float8"

        def take_apart(records: Sequence[Any]) -> None:
            for id_, key, content, stored in records:
                found[id_] = (stored, words_of(compared_text_of(key or "", content or "")))

        for start in range(0, len(ids), ROWS_AT_ONCE):
            given = Parameters()
            condition = ids_are(table, ids[start : start + ROWS_AT_ONCE], given)
            statement = f"SELECT {self.columns}, {moment} FROM {table.quoted} AS m WHERE {condition}"
            await asyncio.to_thread(take_apart, await self.fetch(statement, *given.values))
        if self._without is not None:
            found.pop(str(self._without), None)
        return found

    def guessed(self, word: str, deviations: float = 0.0) -> float:
        """The squared weight of a word by the sample, with a count so many standard deviations off."""
        seen = self.seen[word]
        likely = seen + deviations * math.sqrt(seen) + max(deviations, 0.0) ** 2
        return weight(self.texts, max(1, math.ceil(likely * self.texts / max(self.sampled, 1)))) ** 2

    def score(self, words: Iterable[str], squares: Mapping[str, float], other: Callable[[str], float]) -> float:
        """The score of a text by the squared weights of the words asked about, and by what another word has."""
        shared = square = 0.0
        for word in words:
            if word in squares:
                shared += squares[word]
                square += squares[word]
            else:
                square += other(word)
        return cosine(shared, square, sum(squares.values()))

    def best(self, read: Read, squares: Mapping[str, float], counts: Mapping[str, int]) -> list[tuple[Handle, float]]:
        """The best of these texts by how many have each of their words, those stored later first among equals."""
        scores = [
            (self.score(words, squares, lambda word: weight(self.texts, counts[word]) ** 2), stored, id_)
            for id_, (stored, words) in read.items()
        ]
        return [(id_, score) for score, _, id_ in heapq.nlargest(self.limit, scores) if score >= LEAST]


class _Index:
    """Looks the words up from the rarest on, until what is left of them makes no text good enough.

    A text's words weigh at least what it shares, so its score is at most the root of that over the length of the text
    asked about. Where too many texts have what is left, those that have most of it are read.
    """

    def __init__(self, table_words: _TableWords, words: Sequence[str], asked: str) -> None:
        self._all, self._words, self._asked = table_words, words, asked
        self._counts: dict[str, int] = {}
        self._squares: dict[str, float] = {}
        self._lexemes: dict[str, set[str]] = {}
        self._shared: dict[str, float] = {}
        self._scores: dict[str, float] = {}
        """Of the texts that were read, by the sample."""
        self._read: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def nearest(self) -> WordNeighbours:
        """The nearest texts."""
        all_ = self._all
        await self._learn_lexemes()
        await self._count(self._words, all_.sampled // _EVERYWHERE)
        counts = {word: self._counts[word] for word in self._words}
        squares = self._squares = {word: weight(all_.texts, having) ** 2 for word, having in counts.items()}
        left = sorted((word for word in counts if counts[word]), key=counts.__getitem__)
        rest, fetched = sum(squares[word] for word in left), 0
        while left and rest >= self._good_enough():
            fetched += counts[left[0]]
            if fetched > _MOST_HAVING:
                await self._add_having_enough(left, rest)
                break
            word = left.pop(0)
            await self._add(word)
            rest = max(rest - squares[word], 0.0)
            await self._look(self._unread(0.0)[:_READ_AT_FIRST])
        while (unread := self._unread(self._good_enough() - rest)) and len(self._scores) < _MOST_READ:
            await self._look(unread[:ROWS_AT_ONCE])
        likely = heapq.nlargest(all_.limit + _COUNTED, self._read, key=self._scores.__getitem__)
        read = {id_: self._read[id_] for id_ in likely}
        await self._count((word for _, words in read.values() for word in words), _OFTEN)
        return WordNeighbours(all_.best(read, squares, self._counts), all_.texts, counts, is_approximate=True)

    def _good_enough(self) -> float:
        """What a text has to share, squared weights added up, to be among the best; a hair less, for rounding."""
        least, limit = LEAST, self._all.limit
        if len(self._scores) >= limit:
            least = max(least, heapq.nlargest(limit, self._scores.values())[-1])
        return least**2 * sum(self._squares.values()) * (1 - _ROUNDING)

    def _unread(self, least: float) -> list[str]:
        """The ids not yet read that are known to share so much, those that share most first."""
        unread = [id_ for id_, shared in self._shared.items() if id_ not in self._scores and shared >= least]
        return sorted(unread, key=self._shared.__getitem__, reverse=True)

    async def _learn_lexemes(self) -> None:
        """For each word the server's words of the text asked about that hold it: addresses are one word there."""
        statement = "SELECT unnest(tsvector_to_array(to_tsvector('simple', $1::text)))"
        text = self._asked[:LOOKED_AT]
        for (lexeme,) in await self._all.fetch(statement, text) if can_hold(text) else ():
            for word in words_of(lexeme):
                self._lexemes.setdefault(word, set()).add(lexeme)

    def _query(self, word: str) -> str:
        lexemes = {word, *self._lexemes.get(word, ())}
        if word.isdigit():
            lexemes.add(f"-{word}")
        quoted = ("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in sorted(lexemes))
        return f"({' | '.join(quoted)})"

    async def _count(self, words: Iterable[str], most_seen: int) -> None:
        """How many texts have each of these words: as the sample has it where it has met it more often than that."""
        new = [word for word in dict.fromkeys(words) if word not in self._counts]
        seen, share = self._all.seen, self._all.texts / max(self._all.sampled, 1)
        self._counts |= {word: round(seen[word] * share) for word in new}
        rare = [word for word in new if seen[word] <= most_seen]
        statement = f"""
            SELECT word.place, (SELECT count(*) FROM {self._all.table.quoted} AS m
                                WHERE {_TSVECTOR} @@ word.query::tsquery) AS having
            FROM unnest($1::text[]) WITH ORDINALITY AS word(query, place)"""
        for start in range(0, len(rare), _WORDS_AT_ONCE):
            some = rare[start : start + _WORDS_AT_ONCE]
            for place, having in await self._all.fetch(statement, list(map(self._query, some))):
                word = some[place - 1]
                # What the server takes apart otherwise it knows too few of.
                if seen[word] < _OFTEN // 2 or having * 2 > self._counts[word]:
                    self._counts[word] = max(having, min(seen[word], 1))

    async def _add(self, word: str) -> None:
        """Learn which texts have this word."""
        statement = f"SELECT m.id::text FROM {self._all.table.quoted} AS m WHERE {_TSVECTOR} @@ $1::text::tsquery"
        for (id_,) in await self._all.fetch(statement, self._query(word)):
            self._shared[id_] = self._shared.get(id_, 0.0) + self._squares[word]

    async def _add_having_enough(self, words: Sequence[str], rest: float) -> None:
        """Learn which texts share enough by these words alone; where those are too many, which share more."""
        pairs = [(word, self._squares[word]) for word in words]
        statement = f"""
            SELECT m.id::text FROM {self._all.table.quoted} AS m WHERE {_TSVECTOR} @@ $1::text::tsquery
            LIMIT {_MOST_READ}"""
        good = self._good_enough()
        for need in (good, max(good, rest / 2), max(good, rest * (1 - _ROUNDING))):
            query = self._enough(pairs, need, len(pairs) if need > rest / 2 else _DEEPEST)
            if not query or len(query) > _LONGEST_QUERY:
                continue
            found = await self._all.fetch(statement, query)
            for (id_,) in found:
                self._shared[id_] = max(self._shared.get(id_, 0.0), need)
            if len(found) < _MOST_READ:
                return

    def _enough(self, words: Sequence[tuple[str, float]], need: float, deep: int) -> str:
        """A query that holds for all texts whose words among these weigh so much, and for some others.

        The rarest word such a text has is one of the first, since those after them weigh too little together.
        """
        rest = sum(square for _, square in words)
        parts = []
        for at, (word, square) in enumerate(words):
            if rest < need:
                break
            rest -= square
            if square >= need or deep == 1:
                parts.append(self._query(word))
            elif more := self._enough(words[at + 1 :], need - square, deep - 1):
                parts.append(f"{self._query(word)} & ({more})")
        return " | ".join(parts)

    async def _look(self, ids: Sequence[str]) -> None:
        """Read these texts, and score them by the sample."""
        read = await self._all.read(ids)
        self._scores |= dict.fromkeys(ids, 0.0)
        self._scores |= {
            id_: self._all.score(words, self._squares, self._all.guessed) for id_, (_, words) in read.items()
        }
        self._read |= read


class _Passes:
    """Goes through the rows twice: for the texts that may be best, then for how many have the words of those."""

    def __init__(self, table_words: _TableWords, words: Sequence[str]) -> None:
        self._all, self._words = table_words, words
        self._most = {word: table_words.guessed(word, -_DEVIATIONS) for word in words}
        self._least: dict[str, float] = {}

    async def nearest(self) -> WordNeighbours:
        """The nearest texts; approximate where one of those not kept might have been nearer."""
        all_ = self._all
        statement = f"SELECT {all_.columns} FROM {all_.table.quoted} AS m WHERE {all_.condition}"
        likely, left_out, counted = await self._likely(statement)
        counts = {word: counted[word] for word in self._words}
        squares = {word: weight(all_.texts, having) ** 2 for word, having in counts.items()}
        read = await all_.read(likely)
        wanted = frozenset(word for _, words in read.values() for word in words)
        having = Counter[str]()

        def count(records: Sequence[Any]) -> None:
            for _, key, content in records:
                having.update(wanted.intersection(words_of(compared_text_of(key or "", content or ""))))

        if read:
            await all_.each(statement, count)
        best = await asyncio.to_thread(all_.best, read, squares, having)
        least = best[-1][1] if len(best) == all_.limit else LEAST
        return WordNeighbours(best, all_.texts, counts, is_approximate=left_out >= least)

    async def _likely(self, statement: str) -> tuple[Sequence[str], float, Counter[str]]:
        """The ids of the texts that may score best by the sample, what the others may score at most, and how many
        texts have each word."""
        kept: list[tuple[float, str]] = []
        left_out = 0.0
        counts = Counter[str]()
        asked = frozenset(self._words)
        own = sum(self._all.guessed(word, _DEVIATIONS) for word in self._words)

        def look(records: Sequence[Any]) -> None:
            nonlocal left_out
            for id_, key, content in records:
                words = words_of(compared_text_of(key or "", content or ""))
                common = asked.intersection(words)
                if not common:
                    continue
                counts.update(common)
                shared = sum(map(self._most.__getitem__, common))
                # What is shared alone cannot be enough for most.
                if len(kept) == _KEPT and shared / own <= left_out**2:
                    continue
                pair = (shared / math.sqrt(own * self._length(words)), id_)
                if len(kept) < _KEPT:
                    heapq.heappush(kept, pair)
                else:
                    left_out = max(left_out, heapq.heappushpop(kept, pair)[0])

        await self._all.each(statement, look)
        return [id_ for _, id_ in kept], left_out, counts

    def _length(self, words: Iterable[str]) -> float:
        """What the words of a text weigh together, squared, at least."""
        seen, least, total = self._all.seen, self._least, 0.0
        for word in words:
            # So many words are met once only that they are not remembered.
            name = word if word in seen else ""
            if name not in least:
                least[name] = self._all.guessed(name, _DEVIATIONS)
            total += least[name]
        return total
