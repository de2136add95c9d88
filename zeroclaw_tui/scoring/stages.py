"""How the stages of a recall search: mode and session scopes, FTS5 and LIKE expressions of a query, exact cosines."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import ScoringProfile, SearchMode, Trial

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.memory.recall import RecallRequest

    Cosines = tuple[np.ndarray, np.ndarray]
    """Handles, int64, and their cosines, float32, shapes (hits,)."""

LIKE_WORDS = 8
"""The maximum number of words that the LIKE fall-back searches for."""
MAX_PATTERN_BYTES = 50_000
"""The maximum length of a pattern for SQLite's LIKE, unless it was built with another limit."""
LIKE_FAILS = (
    "ZeroClaw's own recall fails for this message: a word is longer than SQLite's LIKE takes"
    f" ({MAX_PATTERN_BYTES:,} bytes)."
)

# Python's str.split() would also split at U+001C to U+001F.
_WORD = re.compile(f"[^{WHITE_SPACE}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PREFIX_FACTOR = 8
_PREFIX_EXTRA = 512
_CACHED_QUERIES = 64
_CIRCLED_LETTERS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)
_UNIT_ROUNDOFF = 2.0**-24
_FLOAT64_EPSILON = 2.0**-52
# For vector lengths in this range, squares and products of 32-bit numbers do not underflow or overflow.
_MIN_SURE_NORM = 1e-12
_MAX_SURE_NORM = 1e18
_BLOCK_ROWS = 512


def search_mode(trial: Trial) -> SearchMode:
    """The stages that search; versions before 0.6.3 do not read the setting."""
    return trial.settings.search_mode if trial.profile.search_modes else "hybrid"


def session_scopes(request: RecallRequest) -> tuple[str | None, ...]:
    """The session scopes of a request, in order; None is the scope without a session."""
    return (request.session_id, *request.extra_sessions)


# Keywords.


def words(query: str) -> list[str]:
    """Split a query at Unicode white space; lone surrogates, which Rust strings cannot have, become U+FFFD."""
    return _WORD.findall(_SURROGATE.sub("\ufffd", query))


def lists_recent(query: str, profile: ScoringProfile) -> bool:
    """Whether the query lists the newest rows: blank, or from 0.7.5 on a lone `*`."""
    found = words(query)
    return (not found and profile.blank_lists_recent) or (found == ["*"] and profile.star_lists_recent)


@lru_cache(maxsize=_CACHED_QUERIES)
def match_expression(query: str, profile: ScoringProfile) -> str:
    """The FTS5 expression for MATCH: each word as a quoted string, joined by OR; empty for a blank query.

    Before 0.7.5 quotes inside a word are not escaped, so the result may be an invalid FTS5 expression.
    """
    return " OR ".join(_term(word, profile) for word in words(query))


def word_expressions(query: str, profile: ScoringProfile) -> dict[str, str]:
    """The FTS5 expression for each distinct word of a query, by the word as typed."""
    return {word: _term(word, profile) for word in words(query)}


class LikeSearch(NamedTuple):
    """The LIKE fall-back: patterns joined by OR, and a condition on the rows that match.

    `escapes` means that the patterns need ESCAPE `\\`. If a word is a prefix search, each row must also satisfy
    `accepts`, and more rows than the limit are selected.
    """

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    escapes: bool
    has_prefix_word: bool

    @property
    def fails(self) -> bool:
        """Whether SQLite rejects a pattern, and so the whole statement."""
        return any(len(pattern.encode()) > MAX_PATTERN_BYTES for pattern in self.patterns)

    def sql_limit(self, limit: int) -> int:
        """The limit of the SQL statement: 0 if SQLite rejects it."""
        if self.fails:
            return 0
        return min(_PREFIX_FACTOR * limit, limit + _PREFIX_EXTRA) if self.has_prefix_word else limit

    def accepts(self, key: str, content: str) -> bool:
        """Whether a word is in key or content; a prefix word must be at the beginning of a token."""
        if not self.has_prefix_word:
            return True
        texts = (key.lower(), content.lower())
        return any(_found(word.lower(), text) for word in self.words for text in texts)


@lru_cache(maxsize=_CACHED_QUERIES)
def like_search(query: str, profile: ScoringProfile) -> LikeSearch | None:
    """The LIKE fall-back for a query, None for a blank one."""
    looked_for = tuple(words(query)[:LIKE_WORDS])
    if not looked_for:
        return None
    return LikeSearch(
        words=looked_for,
        patterns=tuple(_pattern(word, profile) for word in looked_for),
        escapes=profile.escapes_like,
        has_prefix_word=profile.prefix_words and any(_is_prefix(word) for word in looked_for),
    )


def _term(word: str, profile: ScoringProfile) -> str:
    star = ""
    if profile.prefix_words and _is_prefix(word):
        word, star = word[:-1], "*"
    if profile.escapes_quotes:
        word = word.replace('"', '""')
    return f'"{word}"{star}'


def _pattern(word: str, profile: ScoringProfile) -> str:
    if profile.prefix_words and _is_prefix(word):
        word = word[:-1]
    if profile.escapes_like:
        word = re.sub(r"[%_\\]", r"\\\g<0>", word)
    return f"%{word}%"


def _is_prefix(word: str) -> bool:
    return len(word) > 1 and word.endswith("*")


def _found(word: str, text: str) -> bool:
    return _begins_token(word[:-1], text) if _is_prefix(word) else word in text


def _begins_token(prefix: str, text: str) -> bool:
    """Whether a token begins with the prefix. Tokens are runs of alphanumeric characters and `_`."""
    if not all(map(_in_token, prefix)):
        return False
    at = text.find(prefix)
    while at >= 0:
        if at == 0 or not _in_token(text[at - 1]):
            return True
        at = text.find(prefix, at + 1)
    return False


def _in_token(character: str) -> bool:
    return character == "_" or is_alphanumeric(character)


def is_alphanumeric(character: str) -> bool:
    """Rust's `char::is_alphanumeric`.

    It uses Unicode's Alphabetic property, which Python lacks: vowel signs and circled letters have it.
    """
    if character.isalnum():
        return True
    if character.isascii():
        return False
    code = ord(character)
    if any(first <= code <= last for first, last in _CIRCLED_LETTERS):
        return True
    is_mark = unicodedata.category(character) in ("Mc", "Mn") and unicodedata.combining(character) == 0
    return is_mark and code not in _VARIATION_SELECTORS


# Vectors.


def plain_cosines(query: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Compute the cosine of each vector and the query, dot / (|a| * |b|), rounding every step to 32 bits, in order.

    The result is bit-identical to a loop over f32 in Rust. Shapes (numbers,) and (rows, numbers), float32; the result
    has shape (rows,), 0.0 for vectors of length 0. Nothing is clamped.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        dots = _summed(vectors * query)
        lengths = np.sqrt(_summed(vectors * vectors))
        length = np.sqrt(_summed((query * query)[None, :]))
        cosines: np.ndarray = dots / (length * lengths)
        cosines[(lengths == 0) | (length == 0)] = 0.0
    return cosines


def _summed(products: np.ndarray) -> np.ndarray:
    """Sum each row from left to right: NumPy's own sum adds in another order."""
    import numpy as np

    if not products.shape[1]:
        return np.zeros(len(products), dtype=np.float32)
    summed: np.ndarray = np.cumsum(products, axis=1, dtype=np.float32)[:, -1]
    return summed


class QueryVector:
    """A query's vector with precomputed values for comparisons.

    Products in 32 bits and in any order only select candidates. The scores are those of ZeroClaw's loop, which adds in
    64 bits from the first number to the last, clamps to 0..1 and rounds to 32 bits.
    """

    def __init__(self, vector: np.ndarray) -> None:
        import numpy as np

        self._wide = np.asarray(vector, dtype=np.float32).astype(np.float64)
        self.dimensions = len(self._wide)
        self._norm = float(_length_in_order(self._wide[None, :])[0]) if self.dimensions else 0.0
        self.can_score = self._norm != 0.0 and math.isfinite(self._norm)
        """False if no row can have a cosine above 0."""
        self._direction = (self._wide / self._norm).astype(np.float32) if self.can_score else None
        # The error of a dot product of n terms is at most n u / (1 - n u), in any order; of a length, half of that.
        self._margin = 2 * _error_of(self.dimensions, _UNIT_ROUNDOFF)
        # With a very short query vector a short row scores 0, whatever its direction.
        self._min_sure_norm = max(_MIN_SURE_NORM, 2 * _FLOAT64_EPSILON / self._norm) if self.can_score else 0.0

    def rough_cosines(self, vectors: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """Compute cosines to within a margin, shape (rows,); NaN where 32 bits are too coarse."""
        import numpy as np

        with np.errstate(all="ignore"):
            rough: np.ndarray = vectors @ self._direction
            rough /= norms
        if self._min_sure_norm > _MIN_SURE_NORM:
            rough[norms <= self._min_sure_norm] = np.nan
        return rough

    def candidates(self, rough: np.ndarray, count: int, floor: float = 0.0) -> np.ndarray:
        """Find the positions of rows that may be among the `count` best above `floor`, in ascending order."""
        import numpy as np

        # A comparison with NaN is false, so such a row remains a candidate.
        chosen = np.flatnonzero(~(rough < floor - self._margin))
        if len(chosen) > count:
            # np.nan_to_num would take ten times as long, because it also looks for infinities.
            sure = np.where(np.isnan(rough[chosen]), np.float32(-2.0), rough[chosen])
            cut = float(np.partition(sure, len(sure) - count)[len(sure) - count])
            chosen = chosen[~(rough[chosen] < cut - 2 * self._margin)]
        return chosen

    def cosines(self, vectors: np.ndarray) -> np.ndarray:
        """Compute the scores of at most a few hundred rows, shape (rows,), float32."""
        import numpy as np

        wide = vectors.astype(np.float64)
        margin = 2 * _error_of(self.dimensions, _FLOAT64_EPSILON)
        with np.errstate(all="ignore"):
            product = self._norm * np.sqrt(np.einsum("ij,ij->i", wide, wide))
            is_sure = np.isfinite(product) & (product >= 2 * _FLOAT64_EPSILON)
            cosine = np.where(is_sure, (wide @ self._wide) / product, np.nan)
            scores, high = (np.clip(cosine + off, 0.0, 1.0).astype(np.float32) for off in (-margin, margin))
            # Only for these rows could the order of the sum change a bit; NaN is not equal to anything.
            unsure = np.flatnonzero(scores != high)
            if len(unsure):
                scores[unsure] = self._cosines_in_order(wide[unsure])
        return scores

    def _cosines_in_order(self, wide: np.ndarray) -> np.ndarray:
        import numpy as np

        product = self._norm * _length_in_order(wide)
        cosine = np.cumsum(wide * self._wide, axis=1)[:, -1] / product
        is_usable = np.isfinite(product) & (product >= _FLOAT64_EPSILON) & np.isfinite(cosine)
        scores: np.ndarray = np.where(is_usable, np.clip(cosine, 0.0, 1.0), 0.0)
        return scores


def _error_of(terms: int, unit: float) -> float:
    roundings = (terms + 16) * unit
    return roundings / (1 - min(roundings, 0.5))


def _length_in_order(wide: np.ndarray) -> np.ndarray:
    """Compute the length of each row. `cumsum` adds in the order of a loop, unlike NumPy's sum."""
    import numpy as np

    with np.errstate(all="ignore"):
        lengths: np.ndarray = np.sqrt(np.cumsum(wide * wide, axis=1)[:, -1])
    return lengths


def _rough_norms(vectors: np.ndarray) -> np.ndarray:
    """Compute the length of each row, float32; NaN where 32 bits are too coarse."""
    import numpy as np

    with np.errstate(all="ignore"):
        # A product of each row with itself takes half as long as einsum("ij,ij->i").
        norms: np.ndarray = np.sqrt(np.matmul(vectors[:, None, :], vectors[:, :, None])[:, 0, 0])
        norms[~((norms > _MIN_SURE_NORM) & (norms < _MAX_SURE_NORM))] = np.nan
    return norms


class Nearest:
    """Finds the best rows of vectors that come in blocks, and keeps none of the vectors in memory."""

    def __init__(self, query: QueryVector, count: int) -> None:
        import numpy as np

        self._query = query
        self._count = count
        self._handles: np.ndarray = np.zeros(0, dtype=np.int64)
        self._scores: np.ndarray = np.zeros(0, dtype=np.float32)
        self._floor = 0.0

    def add(self, handles: np.ndarray, vectors: np.ndarray) -> None:
        """Add a few hundred rows; shapes (rows,), int64, and (rows, dimensions), float32."""
        import numpy as np

        if self._count <= 0 or not self._query.can_score:
            return
        rough = self._query.rough_cosines(vectors, _rough_norms(vectors))
        chosen = self._query.candidates(rough, self._count, self._floor)
        if not len(chosen):
            return
        self._handles = np.concatenate([self._handles, handles[chosen]])
        self._scores = np.concatenate([self._scores, self._query.cosines(vectors[chosen])])
        if len(self._scores) > self._count:
            best = _best(self._scores, self._count)
            self._handles, self._scores = self._handles[best], self._scores[best]
            if len(best) == self._count:
                self._floor = float(self._scores[-1])

    def hits(self) -> Cosines:
        """The rows with a cosine above 0, best first; equal scores keep the order in which they were added."""
        best = _best(self._scores, self._count)
        return self._handles[best], self._scores[best]


class VectorIndex:
    """The stored vectors of one length by ascending handle, for many searches."""

    def __init__(self, dimensions: int, capacity: int) -> None:
        import numpy as np

        self.dimensions = dimensions
        self._count = 0
        self._matrix: np.ndarray = np.empty((capacity, dimensions), dtype="<f4")
        self._norms: np.ndarray = np.empty(capacity, dtype=np.float32)
        self._handles: np.ndarray = np.empty(capacity, dtype=np.int64)

    def __len__(self) -> int:
        return self._count

    def append(self, handles: np.ndarray, vectors: np.ndarray) -> None:
        """Add rows after all others; shapes (rows,), int64, and (rows, dimensions), float32."""
        start, self._count = self._count, self._count + len(handles)
        self._matrix[start : self._count] = vectors
        self._norms[start : self._count] = _rough_norms(vectors)
        self._handles[start : self._count] = handles

    def positions(self, handles: np.ndarray) -> np.ndarray:
        """Find the positions of rows, in the order of `handles`, int64; rows that are not in the index are skipped."""
        import numpy as np

        known = self._handles[: self._count]
        positions = np.searchsorted(known, handles)
        is_known = positions < self._count
        is_known[is_known] = known[positions[is_known]] == handles[is_known]
        return positions[is_known]

    def search(self, vector: np.ndarray, count: int, among: np.ndarray | None = None) -> Cosines:
        """Find the `count` best rows with a cosine above 0, best first; equal scores keep the order of the scan.

        `among` are the allowed `positions`, in the order of the scan; None means all rows by handle. A vector of
        another length finds nothing.
        """
        import numpy as np

        query = QueryVector(vector)
        if query.dimensions != self.dimensions or not query.can_score or count <= 0:
            return self._handles[:0], self._norms[:0]
        rough = query.rough_cosines(self._matrix[: self._count], self._norms[: self._count])
        chosen = query.candidates(rough if among is None else rough[among], count)
        positions = chosen if among is None else among[chosen]
        scores = np.empty(len(positions), dtype=np.float32)
        for start in range(0, len(positions), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            scores[block] = query.cosines(self._matrix[positions[block]])
        best = _best(scores, count)
        return self._handles[positions[best]], scores[best]


def _best(scores: np.ndarray, count: int) -> np.ndarray:
    """Find the positions of the `count` best scores above 0, best first; equal ones keep their order."""
    import numpy as np

    above = np.flatnonzero(scores > 0.0)
    best: np.ndarray = above[np.argsort(-scores[above], kind="stable")][:count]
    return best
