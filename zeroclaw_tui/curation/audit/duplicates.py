"""Which memories are there more than once: to the letter, by the direction of their vectors, or by their word pairs."""

from __future__ import annotations

import random
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

LOOKED_AT = 20_000
"""Characters: of longer contents only the beginning is compared."""
BANDS, ROWS = 16, 4
"""Two texts that share 80 % of their pairs have a band in common in 99.98 of 100 cases, at 90 % practically always."""
_BATCH = 50_000
"""Bytes of words that are hashed together."""
_SIGNED_AT_ONCE = 2_000
_MIX = 0x9E3779B97F4A7C15
_BASE = 0xD1342543DE82EF95
"""A word's hash is its bytes as the coefficients of a polynomial at this number, modulo 2**64."""
_BLANK = 32
_SEED = 20260101

# Scripts that put no blanks between words are taken letter by letter.
_UNSPACED = "぀-ヿ㐀-䶿一-鿿豈-﫿가-힯"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ASCII_WORDS = bytes(ord(chr(code).lower()) if _WORD.match(chr(code)) else ord(" ") for code in range(128)) + bytes(128)
"""Each byte of ASCII in lower case, or a blank where it is of no word: thrice as quick as the pattern."""

ALIKE_BY_COSINE = 0.95
"""Cosine from which on two memories are near duplicates."""
MOST_COMPARED = 20_000
"""Vectors: each is compared with each."""
_BLOCK = 1024
_NONE, _EMPTY, _CUT, _ZERO, _BROKEN = -1, 0, -2, -3, -4
_WHAT = {_EMPTY: "an empty vector", _CUT: "a truncated vector", _ZERO: "all zeros", _BROKEN: "invalid numbers"}

ALIKE_BY_WORDS = 0.8
"""Share of common word pairs from which on two memories are near duplicates."""
MOST_WORK = 100_000_000
"""Word pairs looked at in comparing, some ten seconds' worth; a look at two memories costs ten more."""
_HELD_PAIRS = 100_000
_HELD_UNLIKE = 100_000
_LEADERS = 8
_GOING_AFTER = 1_000_000


class Groups:
    """Memories by their number from 0; two that were joined, over others or not, are in one group."""

    def __init__(self, count: int) -> None:
        self._above = array("i", range(count))
        self._best = array("f", bytes(4 * count))

    def root(self, number: int) -> int:
        """The number that stands for its group."""
        above = self._above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    def join(self, one: int, other: int, likeness: float) -> None:
        """Both are alike, 1 for the same."""
        self.note(one, likeness)
        self.note(other, likeness)
        first, second = sorted((self.root(one), self.root(other)))
        self._above[second] = first

    def note(self, number: int, likeness: float) -> None:
        """How much it is like the one it is most like."""
        self._best[number] = max(self._best[number], likeness)

    def likeness(self, number: int) -> float:
        """To the one in its group it was found to be most like."""
        return self._best[number]

    def found(self, chosen: Numbers) -> list[list[int]]:
        """The groups of two and more among the chosen numbers (a bool for each), in their order."""
        import numpy

        roots = numpy.frombuffer(self._above, dtype=numpy.int32)
        while True:
            above = roots[roots]
            if (above == roots).all():
                break
            roots = above
        several = numpy.bincount(roots[chosen], minlength=len(roots)) > 1 if len(roots) else chosen
        groups: dict[int, list[int]] = {}
        for number in numpy.flatnonzero(chosen & several[roots]).tolist():
            groups.setdefault(int(roots[number]), []).append(number)
        return list(groups.values())


class WordPairs:
    """For each text, in the order added, the pairs of words next to each other; a text of one word has that.

    Held as sorted 32-bit hashes, four bytes a pair; the bands of the MinHash signatures are made as they are asked for.
    """

    def __init__(self) -> None:
        import numpy

        self._numpy = numpy
        self._texts: list[bytes] = []
        self._size = 0
        self._powers = self._inverses = numpy.ones(0, dtype=numpy.uint64)
        self._pairs = array("I")
        self._starts = array("q", [0])
        chance = random.Random(_SEED)
        self._factors = [(chance.getrandbits(32) | 1, chance.getrandbits(32)) for _ in range(BANDS * ROWS)]

    def add(self, content: str) -> None:
        """One more text."""
        text = content[:LOOKED_AT]
        if text.isascii():
            words = text.encode().translate(_ASCII_WORDS)
        else:
            words = b" ".join([word.encode("utf-8", "surrogatepass") for word in _WORD.findall(text.lower())])
        self._texts.append(words)
        self._size += len(words) + 1
        if self._size >= _BATCH:
            self.settle()

    def of(self, number: int) -> array[int]:
        """The pairs of one text, sorted, each once."""
        return self._pairs[self._starts[number] : self._starts[number + 1]]

    def band(self, number: int) -> Numbers:
        """One band of the signature of each text, uint32; those of texts without a word mean nothing."""
        numpy = self._numpy
        starts = numpy.frombuffer(self._starts, dtype=numpy.int64)
        pairs = numpy.frombuffer(self._pairs, dtype=numpy.uint32)
        band: Numbers = numpy.zeros(len(starts) - 1, dtype=numpy.uint32)
        for first in range(0, len(band), _SIGNED_AT_ONCE):
            begins = starts[first : first + _SIGNED_AT_ONCE + 1]
            held = pairs[begins[0] : begins[-1]]
            filled = numpy.flatnonzero(numpy.diff(begins))
            if len(filled):
                places = (begins - begins[0])[filled]
                signed = numpy.zeros(len(filled), dtype=numpy.uint64)
                hashed = numpy.empty_like(held)
                for factor, offset in self._factors[number * ROWS : (number + 1) * ROWS]:
                    numpy.multiply(held, numpy.uint32(factor), out=hashed)
                    hashed += numpy.uint32(offset)
                    least = numpy.minimum.reduceat(hashed, places)
                    signed = signed * numpy.uint64(_MIX) + least + numpy.uint64(1)
                band[first + filled] = _mixed(numpy, signed)
        return band

    def counts(self) -> Numbers:
        """How many pairs each text has."""
        starts = self._numpy.frombuffer(self._starts, dtype=self._numpy.int64)
        return self._numpy.subtract(starts[1:], starts[:-1], dtype=self._numpy.uint32, casting="unsafe")

    def settle(self) -> None:
        """Turn the words gathered so far into pairs, many texts at once."""
        numpy = self._numpy
        if not self._texts:
            return
        words, lengths = self._hashed()
        owners = numpy.repeat(numpy.arange(len(lengths)), lengths)
        following = numpy.roll(words, -1)
        ends = numpy.append(owners[1:] != owners[:-1], True) if len(words) else numpy.zeros(0, bool)
        keeps = ~ends | (lengths[owners] == 1)
        following[ends] = 0
        hashes = _mixed(numpy, words * numpy.uint64(_MIX) + following)[keeps].astype(numpy.uint64)
        # The texts are in order already, which this kind of sorting makes use of.
        keyed = numpy.sort((owners[keeps].astype(numpy.uint64) << numpy.uint64(32)) | hashes, kind="stable")
        is_new = numpy.ones(len(keyed), dtype=bool)
        is_new[1:] = keyed[1:] != keyed[:-1]
        keyed = keyed[is_new]
        texts, pairs = (keyed >> numpy.uint64(32)).astype(numpy.int64), keyed.astype(numpy.uint32)
        counts = numpy.bincount(texts, minlength=len(lengths))
        self._pairs.frombytes(pairs.tobytes())
        starts = numpy.cumsum(counts) + self._starts[-1]
        self._starts.frombytes(starts.astype(numpy.int64).tobytes())
        self._texts, self._size = [], 0

    def _hashed(self) -> tuple[Numbers, Numbers]:
        """The words gathered so far as hashes of 64 bits, and how many of them are of each text."""
        numpy = self._numpy
        data = numpy.frombuffer(b" ".join([b"", *self._texts, b""]), dtype=numpy.uint8)
        if len(data) > len(self._powers):
            self._powers, self._inverses = (
                numpy.cumprod(numpy.full(len(data) + _BATCH // 2, base, dtype=numpy.uint64))
                for base in (_BASE, pow(_BASE, -1, 1 << 64))
            )
        is_word = data != _BLANK
        borders = numpy.flatnonzero(is_word[1:] != is_word[:-1])
        begins, ends = borders[::2], borders[1::2]
        # From a blank to the last letter: what all bytes up to there have in common cancels out.
        sums = numpy.cumsum(data * self._powers[: len(data)])
        words = (sums[ends] - sums[begins]) * self._inverses[begins]
        texts = numpy.cumsum([len(text) + 1 for text in self._texts])
        return words, numpy.bincount(numpy.searchsorted(texts, begins, side="right"), minlength=len(texts))


def likeness(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of the pairs that both have in those that either has (Jaccard)."""
    common = len(one & other)
    return common / ((len(one) + len(other) - common) or 1)


def _mixed(numpy: Any, numbers: Numbers) -> Numbers:
    """Each 64-bit number as a well mixed 32-bit one."""
    mixed = numbers ^ (numbers >> numpy.uint64(31))
    mixed = mixed * numpy.uint64(0xBF58476D1CE4E5B9)
    least: Numbers = ((mixed ^ (mixed >> numpy.uint64(29))) >> numpy.uint64(16)).astype(numpy.uint32)
    return least


class Vectors:
    """The vector of each memory, in the order added. Only the first MOST_COMPARED that are good are held."""

    def __init__(self) -> None:
        self._lengths = array("i")
        self._slots = array("i")
        self._waiting: dict[int, list[tuple[int, bytes]]] = {}
        self._blocks: dict[int, list[tuple[list[int], Numbers]]] = {}
        self._held = 0
        self.left_out = 0
        """How many good ones came after that."""

    def add(self, vector: object, dimensions: int | None) -> None:
        """The vector of one more memory, float32 little-endian; where the store only tells its length, that."""
        number = len(self._lengths)
        if not isinstance(vector, bytes):
            self._lengths.append(_NONE if dimensions is None else dimensions)
            return
        if len(vector) % 4:
            self._lengths.append(_CUT)
            return
        length = len(vector) // 4
        self._lengths.append(length)
        if length:
            waiting = self._waiting.setdefault(length, [])
            waiting.append((number, vector))
            if len(waiting) >= _BLOCK:
                self._settle(length)

    def finish(self) -> None:
        """All vectors have been added."""
        for length in list(self._waiting):
            self._settle(length)
        if self._blocks:
            self._slots = array("i", bytes(4 * len(self._lengths)))
        for length, blocks in self._blocks.items():
            for numbers, _ in blocks:
                for number in numbers:
                    self._slots[number] = length

    def compared_as(self, number: int) -> int:
        """The length of a vector that is compared by cosine; 0 for a memory that has none such."""
        return self._slots[number] if self._slots else 0

    @property
    def lengths(self) -> Counter[int]:
        """How many memories have a good vector of each length."""
        return Counter(length for length in self._lengths if length > 0)

    def wrong(self, expected: int | None) -> dict[int, str]:
        """What is wrong with whose vector, where good ones have `expected` numbers (None: any count will do)."""
        import numpy

        lengths = numpy.frombuffer(self._lengths, dtype=numpy.int32)
        is_wrong = (lengths == _EMPTY) | (lengths < _NONE)
        if expected is not None:
            is_wrong |= (lengths > 0) & (lengths != expected)
        others = f"{{:,}} numbers instead of {expected:,}" if expected is not None else ""
        found = ((number, self._lengths[number]) for number in numpy.flatnonzero(is_wrong).tolist())
        return {number: _WHAT.get(length) or others.format(length) for number, length in found}

    def join_alike(self, groups: Groups, owners: array[int], chosen: Numbers, going: Callable[[], None]) -> None:
        """Join what is alike among the chosen memories (a bool for each) of one owner. `going` is called in between."""
        import numpy

        owned = numpy.frombuffer(owners, dtype=numpy.int32)
        for blocks in self._blocks.values():
            kept = [(numpy.array(numbers), vectors) for numbers, vectors in blocks]
            kept = [(numbers[chosen[numbers]], vectors[chosen[numbers]]) for numbers, vectors in kept]
            for first in range(len(kept)):
                for second in range(first, len(kept)):
                    going()
                    self._join_blocks(groups, owned, kept[first], kept[second], same=first == second)

    def _join_blocks(
        self,
        groups: Groups,
        owned: Numbers,
        one: tuple[Numbers, Numbers],
        other: tuple[Numbers, Numbers],
        *,
        same: bool,
    ) -> None:
        import numpy

        (left, left_vectors), (right, right_vectors) = one, other
        cosines = left_vectors @ right_vectors.T
        if same:
            numpy.fill_diagonal(cosines, 0)
        alike = cosines >= ALIKE_BY_COSINE
        if not alike.any():
            return
        alike &= owned[left][:, None] == owned[right][None, :]
        likeness = numpy.where(alike, numpy.minimum(cosines, 1), 0)
        for numbers, best in ((left, likeness.max(axis=1)), (right, likeness.max(axis=0))):
            for at in numpy.flatnonzero(best):
                groups.note(int(numbers[at]), float(best[at]))
        while True:
            roots = [numpy.array([groups.root(int(number)) for number in numbers]) for numbers in (left, right)]
            apart = alike & (roots[0][:, None] != roots[1][None, :])
            rows = numpy.flatnonzero(apart.any(axis=1))
            if not len(rows):
                return
            for row, column in zip(rows, apart[rows].argmax(axis=1), strict=True):
                groups.join(int(left[row]), int(right[column]), float(likeness[row, column]))

    def _settle(self, length: int) -> None:
        """Look at the vectors that wait, and hold the good ones with a length of 1."""
        import numpy

        waiting = self._waiting.pop(length)
        numbers = [number for number, _ in waiting]
        vectors = numpy.frombuffer(b"".join(vector for _, vector in waiting), dtype="<f4").reshape(-1, length)
        with numpy.errstate(all="ignore"):
            norms = numpy.linalg.norm(vectors.astype(numpy.float64), axis=1)
        for at in numpy.flatnonzero(~numpy.isfinite(norms)):
            self._lengths[numbers[at]] = _BROKEN
        for at in numpy.flatnonzero(norms == 0):
            self._lengths[numbers[at]] = _ZERO
        good = numpy.flatnonzero(numpy.isfinite(norms) & (norms > 0))
        taken = good[: MOST_COMPARED - self._held]
        self.left_out += len(good) - len(taken)
        self._held += len(taken)
        if len(taken):
            unit = (vectors[taken] / norms[taken][:, None]).astype(numpy.float32)
            self._blocks.setdefault(length, []).append(([numbers[at] for at in taken], unit))


class ByWords:
    """Joins memories that share a band of their signatures and then truly share 80 % of their word pairs."""

    def __init__(self, texts: WordPairs, vectors: Vectors, groups: Groups, going: Callable[[], None]) -> None:
        self._texts, self._vectors, self._groups, self._going = texts, vectors, groups, going
        self._counts = texts.counts()
        self._sets: dict[int, frozenset[int]] = {}
        self._held = 0
        self._work = self._told = 0
        self._unlike: set[int] = set()

    @property
    def is_whole(self) -> bool:
        """False where there was too much to compare."""
        return self._work <= MOST_WORK

    def join_alike(self, owners: array[int], chosen: Numbers) -> None:
        """Join what is alike among the chosen memories (a bool for each) of one owner."""
        for bucket in _buckets(self._texts, owners, chosen & (self._counts > 0)):
            if len(bucket) > 2:
                self._join(bucket)
            elif not self._are_one(*bucket):
                self._compare(*bucket)
            if not self.is_whole:
                return

    def _join(self, bucket: Sequence[int]) -> None:
        """Join a bucket. One comparison with each of a few leaders does it where all are alike, however many."""
        if len({self._groups.root(number) for number in bucket}) == 1:
            return
        lengths = {self._vectors.compared_as(number) for number in bucket}
        if len(lengths) == 1 and 0 not in lengths:
            # All have vectors of one length: the cosine has told.
            return
        leaders: list[int] = []
        for number in bucket:
            is_joined = any(self._are_one(number, leader) or self._compare(number, leader) for leader in leaders)
            if not is_joined and len(leaders) < _LEADERS:
                leaders.append(number)
        groups: dict[int, list[int]] = {}
        for number in bucket:
            groups.setdefault(self._groups.root(number), []).append(number)
        apart = list(groups.values())
        for at, one in enumerate(apart):
            for other in apart[at + 1 :]:
                if not self.is_whole:
                    return
                if not self._are_one(one[0], other[0]):
                    self._join_groups(one, other)

    def _are_one(self, one: int, other: int) -> bool:
        return self._groups.root(one) == self._groups.root(other)

    def _join_groups(self, one: Sequence[int], other: Sequence[int]) -> None:
        for first in one:
            for second in other:
                if self._compare(first, second) or not self.is_whole:
                    return

    def _compare(self, one: int, other: int) -> bool:
        """Join two that are alike; True for these."""
        self._work += 10
        if self._work - self._told > _GOING_AFTER:
            self._told = self._work
            self._going()
        pair = min(one, other) << 32 | max(one, other)
        if pair in self._unlike:
            return False
        length = self._vectors.compared_as(one)
        if length and length == self._vectors.compared_as(other):
            return False
        shorter, longer = sorted((int(self._counts[one]), int(self._counts[other])))
        if shorter >= ALIKE_BY_WORDS * longer:
            self._work += shorter
            how = likeness(self._set(one), self._set(other))
            if how >= ALIKE_BY_WORDS:
                self._groups.join(one, other, how)
                return True
        if len(self._unlike) >= _HELD_UNLIKE:
            self._unlike.clear()
        self._unlike.add(pair)
        return False

    def _set(self, number: int) -> frozenset[int]:
        found = self._sets.get(number)
        if found is None:
            found = frozenset(self._texts.of(number))
            self._work += len(found)
            self._held += len(found)
            if self._held > _HELD_PAIRS:
                self._sets.clear()
                self._held = len(found)
            self._sets[number] = found
        return found


def _buckets(texts: WordPairs, owners: array[int], chosen: Numbers) -> Iterator[list[int]]:
    """Memories of one owner that have a band in common, band after band, two and more at a time."""
    import numpy

    numbers = numpy.flatnonzero(chosen).astype(numpy.uint32)
    owned = numpy.frombuffer(owners, dtype=numpy.int32)[numbers]
    own = [numbers[owned == owner] for owner in numpy.unique(owned)]
    del numbers, owned
    half = numpy.uint64(32)
    for number in range(BANDS):
        band = texts.band(number)
        for numbers in own:
            # The memory's number stands behind its band, so that sorting the numbers sorts the memories.
            keys = band[numbers].astype(numpy.uint64)
            keys <<= half
            keys |= numbers
            keys.sort()
            found = keys.astype(numpy.uint32)
            keys >>= half
            is_same = numpy.zeros(len(keys) + 1, dtype=bool)
            is_same[1:-1] = keys[1:] == keys[:-1]
            begins = numpy.flatnonzero(is_same[1:] & ~is_same[:-1])
            ends = numpy.flatnonzero(is_same[:-1] & ~is_same[1:]) + 1
            del keys, is_same
            for begin, end in zip(begins, ends, strict=True):
                yield found[begin:end].tolist()


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of memories by their numbers, two and more, and how much each of the near ones is like another.

    `left_out` says what was not compared, "" when all was.
    """

    exact: list[list[int]]
    near: list[list[int]]
    likeness: dict[int, float]
    left_out: str = ""


class Contents:
    """What is held of every content for finding duplicates: hashes, never the text."""

    def __init__(self) -> None:
        self.owners = array("i")
        self.vectors = Vectors()
        self._digests = array("Q")
        self._durability = array("B")
        self._written = array("d")
        self._compared = array("B")
        self._words = WordPairs()
        self._known_owners: dict[str, int] = {}

    def add(
        self, owner: str, digest: bytes, content: str, durability: int, written: float, *, is_compared: bool = True
    ) -> None:
        """One more memory; its vector is added to `vectors`.

        `written` are seconds, 0 where the store has no time. A memory that is not compared is no duplicate of any.
        """
        self._durability.append(durability)
        self._written.append(written)
        self._compared.append(is_compared)
        self.owners.append(self._known_owners.setdefault(owner, len(self._known_owners)))
        self._digests.frombytes(digest)
        self._words.add(content)

    def duplicates(self, going: Callable[[], None]) -> Duplicates:
        """Compare all. Of exact duplicates only the most durable, then newest, is compared further."""
        import numpy

        words, self._words = self._words, WordPairs()
        words.settle()
        self.vectors.finish()
        chosen = numpy.array(self._compared, dtype=bool)
        exact = self._exact(chosen)
        for group in exact:
            chosen[group] = False
            chosen[max(group, key=lambda number: (self._durability[number], self._written[number], number))] = True
        # Nothing more is asked of them, and they are several numbers for each memory.
        self._digests, self._written, self._durability, self._compared = array("Q"), array("d"), array("B"), array("B")
        groups = Groups(len(self.owners))
        self.vectors.join_alike(groups, self.owners, chosen, going)
        by_words = ByWords(words, self.vectors, groups, going)
        by_words.join_alike(self.owners, chosen)
        near = groups.found(chosen)
        alike = {number: groups.likeness(number) for group in near for number in group}
        return Duplicates(exact, near, alike, self._left_out(by_words))

    def _exact(self, compared: Numbers) -> list[list[int]]:
        """The groups of one digest among the compared memories, in the order of their first."""
        import numpy

        if not compared.any():
            return []
        halves = numpy.frombuffer(self._digests, dtype=numpy.uint64).reshape(-1, 2)
        order = numpy.flatnonzero(compared)
        # Most differ in their first half.
        order = order[numpy.argsort(halves[order, 0])]
        firsts = halves[order, 0]
        is_again = numpy.zeros(len(firsts) + 1, dtype=bool)
        is_again[1:-1] = firsts[1:] == firsts[:-1]
        order = order[is_again[1:] | is_again[:-1]]
        if not len(order):
            return []
        order = order[numpy.lexsort((order, halves[order, 1], halves[order, 0]))]
        ordered = halves[order]
        is_first = numpy.ones(len(ordered), dtype=bool)
        is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        borders = numpy.append(numpy.flatnonzero(is_first), len(ordered))
        several = numpy.flatnonzero(numpy.diff(borders) > 1)
        parts = zip(borders[several].tolist(), borders[several + 1].tolist(), strict=True)
        return sorted(sorted(order[begin:end].tolist()) for begin, end in parts)

    def _left_out(self, by_words: ByWords) -> str:
        told = []
        if self.vectors.left_out:
            told.append(
                f"{self.vectors.left_out:,} vectors beyond the first {MOST_COMPARED:,} were not compared. Those "
                "memories were compared by words."
            )
        if not by_words.is_whole:
            told.append("Not all memories were compared, because too many are similar.")
        return " ".join(told)
