"""R-Mem's own recall, its faults included, by the rule of the version that made the file.

As in R-Mem's src/memory.rs, src/store.rs and src/graph.rs: `search` embeds the query, picks memories by keywords, ranks
what it picked by cosine, falls back on the archive where all of that is weak, and adds relations at a fixed score.
0.1.x has neither keywords nor archive. The numbers are R-Mem's defaults: its rustmem.toml may say others, and is not
opened since it holds keys.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.backends.rmem.tables import Shape, relation_handle, shown_user
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, cut, is_unicode, one_line
from zeroclaw_tui.scoring.keywords import LONGEST_PATTERN
from zeroclaw_tui.scoring.profiles import float32
from zeroclaw_tui.scoring.vectors import plain_cosines

if TYPE_CHECKING:
    import numpy as np

Source = Literal["active", "archive", "graph"]
Row = tuple[int, bytes, str]
"""A rowid, its vector as it is stored, and the text."""

LIMIT = 10
"""How many `rustmem search` returns; its server and its MCP tools have 20."""
MOST = 1000
GRAPH_SCORE = float32(0.9)
ARCHIVE_BELOW = 0.4
MOST_RELATIONS = 20
SCALE = "cosine; relations 0.9"

_LEAST_BYTES = 3
"""A word of so many bytes of UTF-8 is looked for among the memories: any letter of Chinese, "the", but not "hi"."""
_IGNORED = str.maketrans("", "", "，。？！,.?!")
_WINDOW = 3
"""How many times the limit the keyword stage passes on."""
_NOT_THE_QUERY = ("SQLITE_INTERRUPT", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_NOMEM", "SQLITE_IOERR")
"""SQLite's codes for what lies neither in the query nor in the keyword index; R-Mem takes every other for no hits."""
_AT_ONCE = 500
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of the answer. `score` is a cosine, or that of every relation; None where the query has no vector."""

    handle: Handle
    text: str
    score: float | None
    source: Source

    @property
    def cosine(self) -> float | None:
        """The cosine it was ranked by."""
        return None if self.source == "graph" else self.score


@dataclass(slots=True)
class Answer:
    """What R-Mem returns for one user, best first, and how it came to that.

    `picked` are the rowids that the keyword stage left, in the order it took them; None where it left all.
    `ranked` is each row's place and cosine before any cut. `fault` is what SQLite said of the query.
    """

    user: str
    limit: int
    expression: str = ""
    fault: str | None = None
    hits: Sequence[Hit] = ()
    picked: Sequence[int] | None = None
    ranked: Mapping[Handle, tuple[int, float]] = field(default_factory=dict)
    has_vector: bool = False
    best: float | None = None
    looked_at_archive: bool = False
    doubles: frozenset[Handle] = frozenset()
    """Left out because the row before them has the same text."""

    def notes(self, *, is_one_of_several: bool) -> Iterator[str]:
        """Sentences on the stages."""
        of = f" for {shown_user(self.user)}" if is_one_of_several else ""
        if self.fault is not None:
            yield f"The keyword stage fails{of}, as it does in R-Mem, which tells nobody: {self.fault}."
        elif self.picked is not None:
            count = counted(len(self.picked))
            yield f"The keyword stage ({_shown(self.expression)}) picks {count}{of}: only those are ranked."
        if self.looked_at_archive:
            yield (
                f"The best active score{of} is {self.best or 0.0:.3f}, under {ARCHIVE_BELOW:g}, so R-Mem brings back "
                "archived texts."
            )

    def told(self, entry: MemoryEntry) -> str:
        """How the rule came to a memory of this user, or why not, in a clause."""
        hit = next((hit for hit in self.hits if hit.handle == entry.handle), None)
        if hit is not None:
            return self._found(hit)
        if entry.handle in self.doubles:
            return "the row before it has the same text, so it is dropped"
        if isinstance(entry.handle, int):
            return self._not_active(entry)
        if str(entry.handle).startswith("archive:"):
            return self._not_archived(entry)
        if entry.superseded_by is not None:
            return "a newer relation made it invalid"
        return "no word of the query stands in its source or its destination, or there are more that do"

    def _found(self, hit: Hit) -> str:
        if hit.source == "graph":
            return "from the graph: a word of the query stands in it, and every such relation scores 0.9"
        if hit.source == "archive":
            return f"from the archive, since the best active score is under {ARCHIVE_BELOW:g}"
        if self.picked is None:
            return "active; every memory of this user was ranked"
        words = f"active; the keyword stage ({_shown(self.expression)}) picks it"
        return words if hit.score is not None else f"{words}, and the query has no vector to rank it by"

    def _not_active(self, entry: MemoryEntry) -> str:
        if self.picked is not None and entry.handle not in self.picked:
            rest = f"only what the keyword stage ({_shown(self.expression)}) picks is ranked"
            if len(self.picked) >= self.limit * _WINDOW:
                return f"{rest}, and it stops after the oldest {self.limit * _WINDOW:,}"
            return f"{rest}, and by the keyword index it has none of these words"
        if not self.has_vector and self.picked is not None:
            return f"the keyword stage picks it, and {self.limit:,} are returned in all"
        if not self.has_vector:
            return "the query has no vector, and the keyword stage picks nothing"
        return self._behind(entry, "it has no vector or no date, so R-Mem never recalls it")

    def _not_archived(self, entry: MemoryEntry) -> str:
        if not self.has_vector:
            return "the archive is ranked by vectors alone, and the query has none"
        if not self.looked_at_archive:
            return (
                f"the archive is not looked at: the best active score, {self.best or 0.0:.3f}, is not under "
                f"{ARCHIVE_BELOW:g}"
            )
        return self._behind(entry, "its archived copy has no vector")

    def _behind(self, entry: MemoryEntry, otherwise: str) -> str:
        if entry.handle not in self.ranked:
            return otherwise
        place, cosine = self.ranked[entry.handle]
        return f"its cosine is {cosine:.3f}, place {place:,} among them, and {self.limit:,} are returned in all"


def expression_of(query: str) -> str:
    """What R-Mem asks FTS5 for, nothing in it quoted; "" where no word is long enough."""
    words = query.translate(dict.fromkeys(map(ord, WHITE_SPACE), " ")).split(" ")
    return " OR ".join(word for word in words if len(_bytes(word)) >= _LEAST_BYTES)


def searched(
    connection: sqlite3.Connection, shape: Shape, user: str, query: str, vector: np.ndarray | None, limit: int
) -> Answer:
    """What R-Mem returns for one user; `vector` is the query's, float32, None where it could not be had."""
    limit = max(0, min(limit, MOST))
    query = query.encode("utf-8", "replace").decode()
    answer = Answer(user, limit, has_vector=vector is not None)
    if shape.archive and shape.has_index:
        answer.expression = expression_of(query)
        answer.picked, answer.fault = _picked(connection, user, answer.expression, limit)
    active = _active(connection, shape, answer, vector)
    answer.best = active[0].score if active else None
    found = [*active]
    if shape.archive and vector is not None and _is_weak(answer.best):
        archived = _archived(connection, answer, vector)
        answer.looked_at_archive = bool(archived)
        found += archived
    ordered = _best_first([*found, *_related(connection, user, query)])
    if shape.archive:
        ordered, doubles = _without_doubles(ordered)
        answer.doubles = frozenset(hit.handle for hit in doubles)
    answer.hits = ordered[:limit]
    return answer


def merged(answers: Sequence[Answer], limit: int) -> list[Hit]:
    """The hits of several users by score; R-Mem leaves that to its caller."""
    return _best_first([hit for answer in answers for hit in answer.hits])[: max(0, limit)]


def _picked(
    connection: sqlite3.Connection, user: str, expression: str, limit: int
) -> tuple[Sequence[int] | None, str | None]:
    """The rowids of the keyword stage, None where it picks nothing, and SQLite's words on an error.

    R-Mem names no order; SQLite walks the index on user_id, so it is the oldest hits that it takes.
    """
    if not expression:
        return None, None
    statement = (
        "SELECT m.rowid FROM memories m JOIN memories_fts f ON m.rowid = f.rowid "
        "WHERE m.user_id = CAST(?1 AS TEXT) AND memories_fts MATCH ?2 ORDER BY m.rowid LIMIT ?3"
    )
    try:
        rows = connection.execute(statement, (_bytes(user), expression, limit * _WINDOW)).fetchall()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith(_NOT_THE_QUERY):
            raise
        return None, cut(one_line(str(error)), _LONGEST_SHOWN)
    return [rowid for (rowid,) in rows] or None, None


def _active(connection: sqlite3.Connection, shape: Shape, answer: Answer, vector: np.ndarray | None) -> list[Hit]:
    """The ranked memories, cut to the limit."""
    if vector is None:
        return _unranked(connection, answer)
    created = shape.column("memories", "created_at")
    # What R-Mem cannot read as text or as bytes it drops without a word.
    wanted = f"user_id = CAST(?1 AS TEXT) AND typeof(embedding) = 'blob' AND {created} IS NOT NULL"
    if answer.picked is None:
        statements = [f"SELECT rowid, embedding, text FROM memories WHERE {wanted} ORDER BY rowid"]
    else:
        statements = [
            f"SELECT rowid, embedding, text FROM memories WHERE {wanted} AND rowid IN ({', '.join(map(str, some))}) "
            "ORDER BY rowid"
            for some in _parts(answer.picked)
        ]
    rows = (row for statement in statements for row in connection.execute(statement, (_bytes(answer.user),)))
    hits = _best_first([Hit(rowid, text, score, "active") for rowid, text, score in _scored(rows, vector)])
    answer.ranked = {hit.handle: (place, hit.score or 0.0) for place, hit in enumerate(hits, 1)}
    return hits[: answer.limit]


def _unranked(connection: sqlite3.Connection, answer: Answer) -> list[Hit]:
    """What the keyword stage picks, in its order, where there is nothing to rank it by."""
    hits: list[Hit] = []
    for some in _parts(answer.picked or ()):
        statement = f"SELECT rowid, text FROM memories WHERE rowid IN ({', '.join(map(str, some))}) ORDER BY rowid"
        hits += [Hit(rowid, str(text), None, "active") for rowid, text in connection.execute(statement)]
    return hits


def _archived(connection: sqlite3.Connection, answer: Answer, vector: np.ndarray) -> list[Hit]:
    wanted = "user_id = CAST(?1 AS TEXT) AND typeof(embedding) = 'blob'"
    statement = f"SELECT rowid, embedding, text FROM archive WHERE {wanted} ORDER BY rowid"
    scored = _scored(connection.execute(statement, (_bytes(answer.user),)), vector)
    hits = _best_first([Hit(f"archive:{rowid}", text, score, "archive") for rowid, text, score in scored])
    answer.ranked = {
        **answer.ranked,
        **{hit.handle: (place, hit.score or 0.0) for place, hit in enumerate(hits, 1)},
    }
    return hits[: answer.limit]


def _related(connection: sqlite3.Connection, user: str, query: str) -> list[Hit]:
    """The relations that a word of the query stands in; `%` and `_` of the query are wildcards."""
    blank = query.translate(dict.fromkeys(map(ord, WHITE_SPACE), " "))
    lowered = (word.lower().translate(_IGNORED) for word in blank.split(" "))
    # R-Mem itself fails on a longer query: SQLite takes no longer pattern, and so many conditions in one statement.
    words = [word for word in lowered if 1 < len(_bytes(word)) <= LONGEST_PATTERN - len("%%")]
    if not words:
        return []
    hits: list[Hit] = []
    places = range(2, 2 + min(len(words), _AT_ONCE))
    conditions = " OR ".join(f"(LOWER(source) LIKE ?{at} OR LOWER(destination) LIKE ?{at})" for at in places)
    statement = (
        "SELECT rowid, source, relation, destination FROM relations "
        f"WHERE user_id = CAST(?1 AS TEXT) AND valid = 1 AND ({conditions}) "
        f"ORDER BY mentions DESC, rowid LIMIT {MOST_RELATIONS}"
    )
    values = (_bytes(user), *(f"%{word}%" for word in words[: len(places)]))
    for rowid, *texts in connection.execute(statement, values):
        hits.append(Hit(relation_handle(rowid), " ".join(map(str, texts)), GRAPH_SCORE, "graph"))
    return hits


def _scored(rows: Iterable[Any], vector: np.ndarray) -> Iterator[tuple[int, str, float]]:
    """Each row with its cosine; a vector of another length, or one that ends within a number, scores 0."""
    import numpy as np

    waiting: list[Row] = []

    def ranked() -> Iterator[tuple[int, str, float]]:
        for length, some in groupby(waiting, key=lambda row: len(row[1])):
            alike = [*some]
            scores = [0.0] * len(alike)
            if length == 4 * len(vector):
                matrix = np.frombuffer(b"".join(blob for _, blob, _ in alike), dtype="<f4")
                scores = plain_cosines(vector, matrix.reshape(len(alike), len(vector))).tolist()
            yield from ((rowid, text, score) for (rowid, _, text), score in zip(alike, scores, strict=True))

    for rowid, blob, text in rows:
        if not is_unicode(str(text)):
            continue
        waiting.append((rowid, blob, str(text)))
        if len(waiting) >= _AT_ONCE:
            yield from ranked()
            waiting.clear()
    yield from ranked()


def _best_first(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=cmp_to_key(_compared))


def _compared(one: Hit, other: Hit) -> int:
    """By score, falling; what is no number is equal to all, and what has no score comes last."""
    if one.score is None or other.score is None:
        return (one.score is None) - (other.score is None)
    return (other.score > one.score) - (other.score < one.score)


def _without_doubles(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """What is left, and what goes because the row kept just before it has the same text."""
    kept: list[Hit] = []
    dropped: list[Hit] = []
    for hit in hits:
        (dropped if kept and kept[-1].text == hit.text else kept).append(hit)
    return kept, dropped


def _is_weak(best: float | None) -> bool:
    return (0.0 if best is None else best) < float32(ARCHIVE_BELOW)


def _parts(rowids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(rowids), _AT_ONCE):
        yield rowids[start : start + _AT_ONCE]


def _bytes(text: str) -> bytes:
    """As the database holds it, what is no UTF-8 too; bound as a text such a one is refused."""
    return text.encode("utf-8", "surrogateescape")


def _shown(expression: str) -> str:
    return f"“{cut(one_line(expression), _LONGEST_SHOWN)}”"
