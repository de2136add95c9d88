"""Near duplicates: which memories of one owner say nearly the same."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.audit.groups import Groups
from zeroclaw_tui.curation.audit.vectors import Vectors
from zeroclaw_tui.curation.audit.words import BANDS, WordPairs, likeness

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

ALIKE = 0.8
"""Share of common word pairs from which on two memories are near duplicates."""
MOST_WORK = 100_000_000
"""Word pairs looked at in comparing, some ten seconds' worth; a look at two memories costs ten more."""
_HELD_PAIRS = 500_000
_HELD_UNLIKE = 200_000
_LEADERS = 8
_GOING_AFTER = 1_000_000


class ByWords:
    """Joins memories that share a band of their signatures and then truly share 80 % of their word pairs."""

    def __init__(self, texts: WordPairs, vectors: Vectors, groups: Groups, going: Callable[[], None]) -> None:
        self._texts, self._vectors, self._groups, self._going = texts, vectors, groups, going
        self._counts = texts.counts()
        self._sets: dict[int, frozenset[int]] = {}
        self._held = 0
        self._work = self._told = 0
        self._unlike: set[tuple[int, int]] = set()

    @property
    def is_whole(self) -> bool:
        """False where there was too much to compare."""
        return self._work <= MOST_WORK

    def join_alike(self, owners: array[int], chosen: Numbers) -> None:
        """Join what is alike among the chosen memories (a bool for each) of one owner."""
        for bucket in _buckets(self._texts, owners, chosen):
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
            if not self._joined_to_one(number, leaders) and len(leaders) < _LEADERS:
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

    def _joined_to_one(self, number: int, leaders: Sequence[int]) -> bool:
        return any(self._are_one(number, leader) or self._compare(number, leader) for leader in leaders)

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
        pair = (one, other) if one < other else (other, one)
        if pair in self._unlike:
            return False
        length = self._vectors.compared_as(one)
        if length and length == self._vectors.compared_as(other):
            return False
        shorter, longer = sorted((int(self._counts[one]), int(self._counts[other])))
        if shorter >= ALIKE * longer:
            self._work += shorter
            how = likeness(self._set(one), self._set(other))
            if how >= ALIKE:
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

    numbers = numpy.flatnonzero(chosen & (texts.counts() > 0))
    owned = numpy.frombuffer(owners, dtype=numpy.int32)[numbers].astype(numpy.uint64) << numpy.uint64(32)
    for band in range(BANDS):
        keys = owned | texts.band(band)[numbers]
        order = numpy.argsort(keys, kind="stable")
        ordered = keys[order]
        is_first = numpy.ones(len(ordered) + 1, dtype=bool)
        is_first[1:-1] = ordered[1:] != ordered[:-1]
        borders = numpy.flatnonzero(is_first)
        several = numpy.flatnonzero(numpy.diff(borders) > 1)
        found = numbers[order]
        del keys, ordered, is_first, order
        for begin, end in zip(borders[several].tolist(), borders[several + 1].tolist(), strict=True):
            yield found[begin:end].tolist()
