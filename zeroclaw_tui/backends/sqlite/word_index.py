"""The keyword index as a count of words: what is near a text by rare words, without reading every memory."""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.scoring.neighbours import LEAST, LOOKED_AT, WordNeighbours, compared_text_of, cosine, weight, words_of

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray

_AT_ONCE = 400
_ROWIDS_AT_ONCE = 2000
_READ_AT_FIRST = 100
_DEAR = 32
"""Reading a memory and weighing its words takes as long as fetching so many rowids from the index."""
_MOST_READ, _MOST_READ_SHARE = 20_000, 8
_MOST_COUNTED = 10_000
"""Words, which takes half a second; others are taken for as rare as can be until the best texts are known."""
_MOST_GUESSED = 10_000
"""Texts read where that is so."""
_COUNTED = 20
"""Of so many texts more than are asked for all words are counted after all."""
FEW = 50_000
"""So many texts are sooner read all."""
_MOST_UNLIKE, _MOST_UNLIKE_SHARE = 20_000, 4
_ROUNDING = 1e-9
# Signs that are no part of a word, neither to FTS5's unicode61 nor here: dashes, quotation marks, arrows, emoji.
_LIKE_ASCII = re.compile(r"[\0-\x7f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u257f\U0001f300-\U0001faff]*\Z")
_UNLIKE = f"""
    SELECT rowid, key, content, {{superseded}} IS NULL FROM memories
    WHERE {{superseded}} IS NOT NULL OR typeof(content) <> 'text' OR length(content) > {LOOKED_AT}
        OR length(content) <> length(CAST(content AS BLOB)) OR content NOT GLOB '*[0-9A-Za-z]*'"""
_PRESENT = "SELECT rowid, key, content FROM memories WHERE rowid IN ({})"


def nearest_by_index(
    connection: sqlite3.Connection,
    schema: Schema,
    asked: str,
    limit: int,
    without: Handle | None,
    going: Callable[[], None],
) -> WordNeighbours | None:
    """What `RareWords` over all current memories would answer; None where the index cannot tell it, or not sooner.

    Approximate where of more than FEW texts too many or too many words would have to be looked at. In one consistent
    read. `going` is called in between, and may raise.
    """
    if not (schema.has_fts and schema.has_triggers):
        return None
    connection.execute("BEGIN")
    try:
        index = _WordIndex(connection, schema, going)
        return index.nearest(asked, limit, without) if index.can_tell(asked) else None
    except sqlite3.DatabaseError as error:
        # A damaged index is no reason not to answer.
        if getattr(error, "sqlite_errorname", "") != "SQLITE_CORRUPT_VTAB":
            raise
        return None
    finally:
        connection.execute("ROLLBACK")


class _WordIndex:
    """What FTS5 counted, put right for the memories whose words it takes apart otherwise, or that are not compared."""

    def __init__(self, connection: sqlite3.Connection, schema: Schema, going: Callable[[], None]) -> None:
        self._connection, self._schema, self._going = connection, schema, going
        self._counts: dict[str, int] = {}
        self._more = Counter[str]()
        self.squares: dict[str, float] = {}
        """What each word that was counted weighs, squared."""
        self.unlike: dict[int, tuple[str, ...]] = {}
        """The texts that the index does not tell about, with the words of the text asked about that they have."""
        self.texts = 0

    def can_tell(self, asked: str) -> bool:
        """Count what is unlike what the index holds of it; False where that is too much, or the index is not usual."""
        connection = self._connection
        (made,) = connection.execute("SELECT lower(sql) FROM sqlite_master WHERE name = 'memories_fts'").fetchone()
        if "tokenize" in made or "detail" in made:
            return False
        (rows,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        if connection.execute("SELECT count(*) FROM memories_fts_docsize").fetchone() != (rows,):
            return False
        connection.execute("PRAGMA query_only = OFF")
        connection.execute("CREATE VIRTUAL TABLE temp.counted USING fts5vocab(main, memories_fts, col)")
        connection.execute("PRAGMA query_only = ON")
        most = max(_MOST_UNLIKE, rows // _MOST_UNLIKE_SHARE)
        wanted = frozenset(words_of(asked))
        self.texts = rows
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as beside:
            beside.execute("CREATE VIRTUAL TABLE unlike USING fts5(content, content='', detail=none)")
            beside.execute("CREATE VIRTUAL TABLE counted USING fts5vocab(unlike, row)")
            for done, (rowid, key, content, is_current) in enumerate(self._rows_unlike()):
                if done == most:
                    return False
                beside.execute("INSERT INTO unlike (rowid, content) VALUES (?, ?)", (rowid, content))
                self.texts -= not is_current
                words = words_of(compared_text_of(as_text(key), as_text(content))) if is_current else ()
                self._more.update(words)
                self.unlike[rowid] = tuple(word for word in words if word in wanted)
            # Of other words the index is not asked how many there are.
            counted = beside.execute("SELECT term, doc FROM counted")
            self._more.subtract({term: texts for term, texts in counted if term.isascii()})
        return True

    def _rows_unlike(self) -> Iterator[tuple[int, object, object, bool]]:
        superseded = "superseded_by" if self._schema.has("superseded_by") else "NULL"
        with closing(self._connection.execute(_UNLIKE.format(superseded=superseded))) as found:
            while batch := found.fetchmany(_AT_ONCE):
                self._going()
                for rowid, key, content, is_current in batch:
                    is_plain = is_current and isinstance(content, str) and len(content) <= LOOKED_AT
                    if not (is_plain and _LIKE_ASCII.match(content) and words_of(content)):
                        yield rowid, key, content, is_current
                batch.clear()

    def nearest(self, asked: str, limit: int, without: Handle | None) -> WordNeighbours | None:
        """The texts nearest to one; None where all texts are read as soon."""
        counted = self.count(words_of(asked))
        counts = {word: counted[word] for word in words_of(asked)}
        search = _Search(self, counts, limit, without)
        return WordNeighbours(search.best, self.texts, counts, search.is_approximate) if search.is_done() else None

    def having(self, word: str) -> Numbers:
        """The rowids of the texts that the index knows a word in, ascending; those it does not tell about left out."""
        import numpy as np

        rowids = array("q")
        if word.isascii():
            statement = "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ?"
            with closing(self._connection.execute(statement, (f'content : "{word}"',))) as found:
                while batch := found.fetchmany(_ROWIDS_AT_ONCE):
                    self._going()
                    rowids.extend([rowid for (rowid,) in batch])
        known = np.array(rowids, dtype=np.int64)
        return known[~np.isin(known, np.fromiter(self.unlike, np.int64, len(self.unlike)))] if self.unlike else known

    def read(self, rowids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """The words of these texts."""
        found: dict[int, tuple[str, ...]] = {}
        for start in range(0, len(rowids), _AT_ONCE):
            self._going()
            some = rowids[start : start + _AT_ONCE]
            for rowid, key, content in self._connection.execute(_PRESENT.format(", ".join("?" * len(some))), some):
                found[rowid] = words_of(compared_text_of(as_text(key), as_text(content)))
        return found

    @property
    def has_counted_many(self) -> bool:
        """Whether words shall no longer be counted that need not be."""
        return len(self._counts) > _MOST_COUNTED

    def count(self, words: Iterable[str]) -> Mapping[str, int]:
        """How many texts have each of these words, and of those counted before."""
        new = {word for word in words if word not in self._counts}
        plain = [word for word in new if word.isascii()]
        self._counts |= {word: self._more[word] for word in new}
        for start in range(0, len(plain), _AT_ONCE):
            self._going()
            some = plain[start : start + _AT_ONCE]
            statement = (
                f"SELECT term, doc FROM temp.counted WHERE col = 'content' AND term IN ({', '.join('?' * len(some))})"
            )
            for word, texts in self._connection.execute(statement, some):
                self._counts[word] += texts
        self.squares |= {word: weight(self.texts, self._counts[word]) ** 2 for word in new}
        return self._counts


class _Search:
    """Looks for the best scores, reading only texts that may have one.

    A text's words weigh at least what it shares, so its score is at most the root of that over the length of the text
    asked about. Words are looked up from the rarest on, until what is left of them makes no text good enough.
    Where that is too much, it is approximate: those that share most are read, with words not counted taken for as rare
    as can be, and all words are counted of the best.
    """

    def __init__(self, index: _WordIndex, counts: Mapping[str, int], limit: int, without: Handle | None) -> None:
        import numpy as np

        self._np, self._index, self._limit, self._without = np, index, limit, without
        self._known = sorted((word for word in counts if counts[word] > 0), key=counts.__getitem__)
        self._counts = counts
        self._squares = {word: index.squares[word] for word in counts}
        self._own = sum(self._squares.values())
        self._scores: dict[int, float] = {}
        unlike = {rowid: sum(self._squares[word] for word in words) for rowid, words in index.unlike.items() if words}
        self._rowids: Numbers = np.array(sorted(unlike), dtype=np.int64)
        self._shared: Numbers = np.array([unlike[rowid] for rowid in sorted(unlike)])
        self._read = np.zeros(len(unlike), dtype=bool)
        self._rarest = weight(index.texts, 1) ** 2
        self.is_approximate = False

    @property
    def best(self) -> Sequence[tuple[Handle, float]]:
        """The best scores found, best first, those stored later first among equals."""
        return [(rowid, score) for rowid, score in self._ordered() if score >= LEAST][: self._limit]

    def is_done(self) -> bool:
        """Find them; False where all texts are read as soon."""
        words = iter(self._known)
        word = next(words, None)
        rest = sum(self._squares[word] for word in self._known)
        while True:
            good = self._good_enough()
            open_ = self._np.flatnonzero(~self._read & (self._shared + rest >= good))
            if word is not None and (rest >= good or len(open_) > self._counts[word] // _DEAR):
                self._add(word)
                rest -= self._squares[word]
                word = next(words, None)
                rest = max(rest, 0.0) if word is not None else 0.0
                self._look(self._np.flatnonzero(~self._read), _READ_AT_FIRST)
            elif not len(open_):
                break
            else:
                done, most = int(self._read.sum()), max(_MOST_READ, self._index.texts // _MOST_READ_SHARE)
                self.is_approximate = self.is_approximate or len(open_) + done > most
                if self.is_approximate and (self._index.texts <= FEW or done >= _MOST_GUESSED):
                    break
                self._look(open_, _AT_ONCE)
        if self.is_approximate and self._index.texts <= FEW:
            return False
        if self.is_approximate:
            self._count_best()
        return True

    def _good_enough(self) -> float:
        """What a text has to share, squared weights added up, to be among the best; a hair less, for rounding."""
        least = LEAST
        if len(self._scores) >= self._limit:
            least = max(least, sorted(self._scores.values(), reverse=True)[self._limit - 1])
        return least**2 * self._own * (1 - _ROUNDING)

    def _add(self, word: str) -> None:
        np = self._np
        having = self._index.having(word)
        # Both are ascending, which a stable sort merges in one go.
        rowids = np.concatenate((self._rowids, having))
        rowids.sort(kind="stable")
        rowids = rowids[np.flatnonzero(np.append(True, rowids[1:] != rowids[:-1])[: len(rowids)])]
        shared, read = np.zeros(len(rowids)), np.zeros(len(rowids), dtype=bool)
        earlier = np.searchsorted(rowids, self._rowids)
        shared[earlier], read[earlier] = self._shared, self._read
        shared[np.searchsorted(rowids, having)] += self._squares[word]
        self._rowids, self._shared, self._read = rowids, shared, read

    def _look(self, places: Numbers, most: int) -> None:
        """Read those of these texts that share the most, and score them."""
        chosen = places[self._np.argsort(-self._shared[places], kind="stable")[:most]]
        self._read[chosen] = True
        texts = self._index.read(self._rowids[chosen].tolist())
        if isinstance(self._without, int):
            texts.pop(self._without, None)
        shared = self._shared_by(texts)
        # What is known of their weight already may tell that they are not good enough.
        good, squares = self._good_enough(), self._index.squares
        for rowid, words in list(texts.items()):
            if shared[rowid] ** 2 < good * sum(squares.get(word, 0.0) for word in words):
                del texts[rowid]
        if self._index.has_counted_many:
            self.is_approximate = True
        else:
            self._index.count(word for words in texts.values() for word in words)
        self._score(texts, shared)

    def _score(self, texts: Mapping[int, Sequence[str]], shared: Mapping[int, float]) -> None:
        squares, rarest = self._index.squares, self._rarest
        for rowid, words in texts.items():
            square = sum([squares.get(word, rarest) for word in words])
            self._scores[rowid] = cosine(shared[rowid], square, self._own)

    def _ordered(self) -> list[tuple[int, float]]:
        return sorted(self._scores.items(), key=lambda pair: (-pair[1], -pair[0]))

    def _count_best(self) -> None:
        """Leave only the best scores, with all words of their texts counted."""
        texts = self._index.read([rowid for rowid, _ in self._ordered()[: self._limit + _COUNTED]])
        self._index.count(word for words in texts.values() for word in words)
        self._scores = {}
        self._score(texts, self._shared_by(texts))

    def _shared_by(self, texts: Mapping[int, Sequence[str]]) -> dict[int, float]:
        return {rowid: sum(self._squares.get(word, 0.0) for word in words) for rowid, words in texts.items()}
