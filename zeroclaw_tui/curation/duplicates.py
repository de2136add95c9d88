"""Find duplicates: memories with the same text, nearly the same vector, or nearly the same words."""

from __future__ import annotations

import hashlib
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.memory.text import WHITE_SPACE

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MIN_COSINE = 0.95
"""Cosine from which on two memories are near duplicates."""
MIN_SHARED_WORDS = 0.8
"""Share of common word pairs from which on two memories are near duplicates."""
MAX_VECTORS = 20_000
"""Each vector is compared with each other vector of its owner, so further ones are compared by words."""
MAX_COMPARISONS = 1_000_000
"""Pairs of texts that are compared word by word; about ten seconds."""
MAX_CHARACTERS = 20_000
"""Only the beginning of longer contents is compared by words."""
_BANDS, _BAND_SIZE = 16, 4
"""Two texts that share 80 % of their word pairs have a common band with a probability of 99.98 %."""
_BLOCK_SIZE = 1024
_COMPARED_IN_BUCKET = 32
"""A memory is compared with so many of the texts that share a band with it."""
_PAIRS_HASHED_AT_ONCE = 2000
_SEED = 20260101
# Scripts that put no blanks between words are compared letter by letter.
_UNSPACED = "぀-ヿ㐀-䶿一-鿿豈-﫿가-힯"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of two and more memories by number; `likeness` is how much each near duplicate is like its best match.

    `left_out` says what was not compared; "" if everything was.
    """

    exact: list[list[int]]
    near: list[list[int]]
    likeness: dict[int, float]
    left_out: str = ""


class DuplicateFinder:
    """Collects hashes and vectors of memories, numbered from 0 in the order added, and compares them.

    The texts themselves are not stored.
    """

    def __init__(self) -> None:
        import numpy

        random = numpy.random.default_rng(_SEED)
        count = _BANDS * _BAND_SIZE
        self._factors = random.integers(0, 2**31, count, dtype=numpy.uint32) * numpy.uint32(2) + numpy.uint32(1)
        self._offsets = random.integers(0, 2**32, count, dtype=numpy.uint32)
        self._ranks: list[Any] = []
        self._exact: defaultdict[bytes, list[int]] = defaultdict(list)
        self._word_pairs: list[Array] = []
        self._owners: list[str] = []
        self._signatures: list[bytes] = []
        self._vector_lengths: list[int] = []
        self._vectors: defaultdict[tuple[str, int], list[tuple[int, Array]]] = defaultdict(list)
        self._compared_vector_length: dict[int, int] = {}
        self._skipped_vectors = 0
        self._invalid: dict[int, str] = {}

    def add(
        self, owner: str, content: str, *, vector: object, dimensions: int | None, rank: Any, is_compared: bool = True
    ) -> None:
        """Add a memory. Of exact duplicates, the one of the highest `rank` is compared further.

        `vector` are bytes (float32, little-endian); a store that does not return them may give their `dimensions`. A
        memory that is not compared is no duplicate of any other, but its vector is checked.
        """
        number = len(self._ranks)
        self._ranks.append(rank)
        self._owners.append(sys.intern(owner))
        self._word_pairs.append(_word_pairs(content) if is_compared else _word_pairs(""))
        self._signatures.append(self._signature(self._word_pairs[number]))
        if is_compared:
            self._exact[_digest(owner, content)].append(number)
        self._add_vector(owner, number, vector, dimensions, is_compared=is_compared)

    def find(self, check_cancelled: Callable[[], None]) -> Duplicates:
        """Compare all memories of each owner. `check_cancelled` is called again and again and may raise."""
        exact = sorted(group for group in self._exact.values() if len(group) > 1)
        dropped = {number for group in exact for number in group}
        dropped.difference_update(max(group, key=self._rank) for group in exact)
        groups = _Groups(len(self._ranks))
        self._join_by_vectors(groups, dropped, check_cancelled)
        is_complete = self._join_by_words(groups, dropped, check_cancelled)
        near = groups.of_several()
        likeness = {number: groups.likeness[number] for group in near for number in group}
        notes = []
        if self._skipped_vectors:
            notes.append(
                f"{self._skipped_vectors:,} vectors beyond the first {MAX_VECTORS:,} were not compared. Those "
                "memories were compared by words."
            )
        if not is_complete:
            notes.append("Not all memories were compared, because too many are similar.")
        return Duplicates(exact, near, likeness, " ".join(notes))

    @property
    def most_common_length(self) -> int | None:
        """The length that most valid vectors have; None without a majority."""
        lengths = Counter(length for length in self._vector_lengths if length > 0)
        (length, count), (_, next_count) = [*lengths.most_common(2), (0, 0), (0, 0)][:2]
        return length if count > next_count else None

    def invalid_vectors(self, expected_length: int | None) -> dict[int, str]:
        """What is wrong with which vector; without an expected length, any length is valid."""
        found = dict(self._invalid)
        for number, length in enumerate(self._vector_lengths):
            if expected_length is not None and length > 0 and length != expected_length:
                found.setdefault(number, f"{length:,} numbers instead of {expected_length:,}")
        return dict(sorted(found.items()))

    def _rank(self, number: int) -> tuple[Any, int]:
        return self._ranks[number], number

    def _signature(self, pairs: Array) -> bytes:
        """The MinHash signature of a text: texts with many common word pairs share a band of it. b"" without words."""
        import numpy

        if not len(pairs):
            return b""
        least = numpy.full(len(self._factors), 0xFFFFFFFF, dtype=numpy.uint32)
        for start in range(0, len(pairs), _PAIRS_HASHED_AT_ONCE):
            hashed = pairs[start : start + _PAIRS_HASHED_AT_ONCE, None] * self._factors + self._offsets
            least = numpy.minimum(least, hashed.min(axis=0))
        return least.tobytes()

    def _buckets(self, dropped: Collection[int]) -> Iterator[list[int]]:
        """The memories of one owner whose signatures have a band in common, band by band."""
        size = 4 * _BAND_SIZE
        for start in range(0, _BANDS * size, size):
            buckets: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
            for number, signature in enumerate(self._signatures):
                if signature and number not in dropped:
                    buckets[self._owners[number], signature[start : start + size]].append(number)
            yield from (bucket for bucket in buckets.values() if len(bucket) > 1)

    def _add_vector(
        self, owner: str, number: int, vector: object, dimensions: int | None, *, is_compared: bool
    ) -> None:
        import numpy

        length = dimensions or 0
        if isinstance(vector, bytes):
            length = len(vector) // 4 if len(vector) % 4 == 0 else 0
        self._vector_lengths.append(length)
        if not isinstance(vector, bytes):
            if dimensions == 0:
                self._invalid[number] = "an empty vector"
            return
        if len(vector) % 4 or not vector:
            self._invalid[number] = "a truncated vector" if vector else "an empty vector"
            return
        numbers = numpy.frombuffer(vector, dtype="<f4")
        with numpy.errstate(all="ignore"):
            norm = float(numpy.linalg.norm(numbers.astype(numpy.float64)))
        if not numpy.isfinite(norm) or norm == 0:
            self._invalid[number] = "all zeros" if norm == 0 else "invalid numbers"
            self._vector_lengths[number] = 0
        elif is_compared and len(self._compared_vector_length) < MAX_VECTORS:
            self._compared_vector_length[number] = length
            self._vectors[owner, length].append((number, (numbers / norm).astype(numpy.float32)))
        elif is_compared:
            self._skipped_vectors += 1

    def _join_by_vectors(self, groups: _Groups, dropped: Collection[int], check_cancelled: Callable[[], None]) -> None:
        """Join the memories of an owner whose vectors have nearly the same direction."""
        import numpy

        for of_owner in self._vectors.values():
            chosen = [(number, vector) for number, vector in of_owner if number not in dropped]
            if len(chosen) < 2:
                continue
            numbers = [number for number, _ in chosen]
            matrix = numpy.array([vector for _, vector in chosen])
            labels, best = numpy.arange(len(chosen)), numpy.zeros(len(chosen))
            for start in range(0, len(chosen), _BLOCK_SIZE):
                check_cancelled()
                cosines = numpy.minimum(matrix[start : start + _BLOCK_SIZE] @ matrix.T, 1)
                rows = numpy.arange(len(cosines))
                cosines[rows, start + rows] = 0
                best[start + rows] = cosines.max(axis=1)
                for row in numpy.flatnonzero(best[start + rows] >= MIN_COSINE):
                    joined = labels[cosines[row] >= MIN_COSINE]
                    if (joined != labels[start + row]).any():
                        joined = numpy.append(joined, labels[start + row])
                        labels[numpy.isin(labels, joined)] = joined.min()
            for at in numpy.flatnonzero(best >= MIN_COSINE).tolist():
                groups.join(numbers[labels[at]], numbers[at], float(best[at]))

    def _join_by_words(self, groups: _Groups, dropped: Collection[int], check_cancelled: Callable[[], None]) -> bool:
        """Join the memories that share a band and most of their word pairs; False if there was too much to compare."""
        compared: set[tuple[int, int]] = set()
        for bucket in self._buckets(dropped):
            members: list[int] = []
            for number in bucket:
                check_cancelled()
                for other in members:
                    if (other, number) in compared or groups.are_joined(other, number):
                        continue
                    if len(compared) >= MAX_COMPARISONS:
                        return False
                    compared.add((other, number))
                    likeness = self._likeness(other, number)
                    if likeness >= MIN_SHARED_WORDS:
                        groups.join(other, number, likeness)
                if len(members) < _COMPARED_IN_BUCKET:
                    members.append(number)
        return True

    def _likeness(self, one: int, other: int) -> float:
        """The share of common word pairs (Jaccard); 0 where both vectors can be compared, because these decide."""
        import numpy

        length = self._compared_vector_length.get(one)
        if length is not None and length == self._compared_vector_length.get(other):
            return 0.0
        first, second = self._word_pairs[one], self._word_pairs[other]
        if min(len(first), len(second)) < MIN_SHARED_WORDS * max(len(first), len(second)):
            return 0.0
        common = len(numpy.intersect1d(first, second, assume_unique=True))
        return common / (len(first) + len(second) - common)


class _Groups:
    """Numbers that are joined, also through others (union-find), and the best likeness of each."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self.likeness = [0.0] * count

    def _root(self, number: int) -> int:
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def are_joined(self, one: int, other: int) -> bool:
        return self._root(one) == self._root(other)

    def join(self, one: int, other: int, likeness: float) -> None:
        for number in (one, other):
            self.likeness[number] = max(self.likeness[number], likeness)
        first, second = sorted((self._root(one), self._root(other)))
        self._parents[second] = first

    def of_several(self) -> list[list[int]]:
        """The groups of two and more."""
        groups: dict[int, list[int]] = {}
        for number in range(len(self._parents)):
            groups.setdefault(self._root(number), []).append(number)
        return [group for group in groups.values() if len(group) > 1]


def _digest(owner: str, content: str) -> bytes:
    """A hash that is the same for the same trimmed content of one owner."""
    hashed = hashlib.blake2b(f"{owner}\0".encode("utf-8", "surrogatepass"), digest_size=16)
    hashed.update(content.strip(WHITE_SPACE).encode("utf-8", "surrogatepass"))
    return hashed.digest()


def _word_pairs(content: str) -> Array:
    """Sorted 32-bit hashes of the pairs of neighbouring words, each once; a text of one word has that word."""
    import numpy

    words: Sequence[str] = _WORD.findall(content[:MAX_CHARACTERS].lower())
    pairs = [" ".join(pair) for pair in pairwise(words)] if len(words) > 1 else words
    hashes = {zlib.crc32(pair.encode("utf-8", "surrogatepass")) for pair in pairs}
    return numpy.array(sorted(hashes), dtype=numpy.uint32)
