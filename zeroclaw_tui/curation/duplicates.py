"""Find duplicates: memories with the same text, nearly the same vector, or nearly the same words."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from zeroclaw_tui.memory.text import WHITE_SPACE

Array = np.ndarray[Any, np.dtype[Any]]

MIN_COSINE = 0.95
"""The lowest cosine of near duplicates."""
MIN_SHARED_WORDS = 0.8
"""The lowest share of common word pairs of near duplicates."""
MAX_VECTORS = 20_000
"""Vectors are compared pairwise within an owner; memories beyond this limit are compared by words only."""
_MAX_CHARACTERS = 20_000
"""Of longer contents, only the beginning is compared by words."""
_BANDS, _BAND_SIZE = 16, 4
"""Two texts that share 80 % of their word pairs have a band in common with a probability of 99.98 %."""
_MAX_LEADERS = 8
"""The number of different memories of a bucket that each memory is compared with."""
_BLOCK_SIZE = 1024
# Scripts without spaces between words are compared character by character.
_UNSPACED = "぀-ヿ㐀-䶿一-鿿豈-﫿가-힯"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


class Duplicates(NamedTuple):
    """Groups of two or more memories by number; `likeness` is how similar each near duplicate is to its best match."""

    exact: list[list[int]]
    near: list[list[int]]
    likeness: Mapping[int, float]


class _Text(NamedTuple):
    """The compared features of a memory: hashes of its word pairs, and its unit vector."""

    owner: str
    word_pairs: Array
    vector: Array | None


class DuplicateFinder:
    """Collects hashes and vectors of memories and compares them. The contents themselves are not stored."""

    def __init__(self) -> None:
        self._texts: dict[int, _Text] = {}
        self._same: defaultdict[bytes, list[int]] = defaultdict(list)
        self._vector_count = 0

    def add(self, number: int, owner: str, content: str, embedding: object) -> None:
        """Add a memory of an owner by the caller's number, with its vector (float32, little-endian), if it has one."""
        vector = _unit_vector(embedding) if self._vector_count < MAX_VECTORS else None
        self._vector_count += vector is not None
        self._texts[number] = _Text(owner, _word_pairs(content), vector)
        # The content may be many megabytes, so it is not joined to the owner.
        hashed = hashlib.blake2b(f"{owner}\0".encode("utf-8", "surrogatepass"), digest_size=16)
        hashed.update(content.strip(WHITE_SPACE).encode("utf-8", "surrogatepass"))
        self._same[hashed.digest()].append(number)

    def find(self, check_cancelled: Callable[[], None]) -> Duplicates:
        """Compare all memories, only the last of exact duplicates. `check_cancelled` is called often and may raise."""
        exact = [numbers for numbers in self._same.values() if len(numbers) > 1]
        texts = {numbers[-1]: self._texts[numbers[-1]] for numbers in self._same.values()}
        groups = _Groups()
        _join_by_vectors(texts, groups, check_cancelled)
        _join_by_words(texts, groups, check_cancelled)
        return Duplicates(sorted(exact), groups.found(), groups.likeness)


def _unit_vector(data: object) -> Array | None:
    """The vector scaled to length 1; None if it is missing, malformed, zero or not finite."""
    if not isinstance(data, bytes) or not data or len(data) % 4:
        return None
    numbers = np.frombuffer(data, dtype="<f4")
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(numbers.astype(np.float64)))
    return (numbers / norm).astype(np.float32) if np.isfinite(norm) and norm > 0 else None


def _join_by_vectors(texts: Mapping[int, _Text], groups: _Groups, check_cancelled: Callable[[], None]) -> None:
    """Join the memories of an owner whose vectors have nearly the same direction."""
    comparable: defaultdict[tuple[str, int], list[tuple[int, Array]]] = defaultdict(list)
    for number, text in texts.items():
        if text.vector is not None:
            comparable[text.owner, len(text.vector)].append((number, text.vector))
    for members in comparable.values():
        numbers, matrix = [number for number, _ in members], np.array([vector for _, vector in members])
        # Rows of a group share a label, so that a group of thousands is joined without listing all its pairs.
        labels, best = np.arange(len(numbers)), np.zeros(len(numbers))
        for start in range(0, len(numbers), _BLOCK_SIZE):
            check_cancelled()
            cosines = np.minimum(matrix[start : start + _BLOCK_SIZE] @ matrix.T, 1)
            rows = np.arange(len(cosines))
            cosines[rows, start + rows] = 0
            best[start + rows] = cosines.max(axis=1)
            for row in np.flatnonzero(best[start + rows] >= MIN_COSINE).tolist():
                joined = np.append(labels[cosines[row] >= MIN_COSINE], labels[start + row])
                if (joined != joined[0]).any():
                    labels[np.isin(labels, joined)] = joined.min()
        for row in np.flatnonzero(best >= MIN_COSINE).tolist():
            groups.join(numbers[labels[row]], numbers[row], float(best[row]))


def _join_by_words(texts: Mapping[int, _Text], groups: _Groups, check_cancelled: Callable[[], None]) -> None:
    """Join the memories of an owner that share most of their word pairs."""
    for bucket in _buckets(texts):
        leaders: list[int] = []
        for number in bucket:
            check_cancelled()
            for leader in leaders:
                if groups.are_joined(leader, number):
                    break
                likeness = _shared_words(texts[leader], texts[number])
                if likeness >= MIN_SHARED_WORDS:
                    groups.join(leader, number, likeness)
                    break
            else:
                if len(leaders) < _MAX_LEADERS:
                    leaders.append(number)


def _buckets(texts: Mapping[int, _Text]) -> Iterator[list[int]]:
    """Yield memories of one owner that probably share many word pairs: a band of their MinHash signatures is equal."""
    random = np.random.default_rng(20260101)
    factors = random.integers(0, 2**31, _BANDS * _BAND_SIZE, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    offsets = random.integers(0, 2**32, _BANDS * _BAND_SIZE, dtype=np.uint32)
    signatures = {
        number: (text.word_pairs[:, None] * factors + offsets).min(axis=0)
        for number, text in texts.items()
        if len(text.word_pairs)
    }
    for start in range(0, _BANDS * _BAND_SIZE, _BAND_SIZE):
        buckets: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
        for number, signature in signatures.items():
            buckets[texts[number].owner, signature[start : start + _BAND_SIZE].tobytes()].append(number)
        yield from (bucket for bucket in buckets.values() if len(bucket) > 1)


def _shared_words(one: _Text, other: _Text) -> float:
    """The Jaccard index of the word pairs; 0 if both have comparable vectors, because then the cosine decides."""
    if one.vector is not None and other.vector is not None and len(one.vector) == len(other.vector):
        return 0.0
    common = len(np.intersect1d(one.word_pairs, other.word_pairs, assume_unique=True))
    return common / (len(one.word_pairs) + len(other.word_pairs) - common)


def _word_pairs(content: str) -> Array:
    """Sorted, unique hashes of the pairs of adjacent words, or of the word itself if there is only one."""
    words: Sequence[str] = _WORD.findall(content[:_MAX_CHARACTERS].lower())
    pairs = [" ".join(pair) for pair in pairwise(words)] if len(words) > 1 else words
    # Unlike Python's hash(), crc32 is the same in every run.
    hashes = {zlib.crc32(pair.encode("utf-8", "surrogatepass")) for pair in pairs}
    return np.array(sorted(hashes), dtype=np.uint32)


class _Groups:
    """Numbers joined directly or transitively (union-find), and the best likeness of each."""

    def __init__(self) -> None:
        self._groups: dict[int, list[int]] = {}
        self.likeness: dict[int, float] = {}

    def are_joined(self, one: int, other: int) -> bool:
        return one in self._groups and self._groups[one] is self._groups.get(other)

    def join(self, one: int, other: int, likeness: float) -> None:
        for number in (one, other):
            self.likeness[number] = max(self.likeness.get(number, 0.0), likeness)
        small, large = sorted((self._groups.setdefault(number, [number]) for number in (one, other)), key=len)
        if small is not large:
            large += small
            self._groups |= dict.fromkeys(small, large)

    def found(self) -> list[list[int]]:
        groups = {id(group): group for group in self._groups.values()}
        return sorted(map(sorted, groups.values()))
