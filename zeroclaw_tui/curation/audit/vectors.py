"""The vectors of the memories: which are no good, and which point the same way."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.audit.groups import Groups

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

ALIKE = 0.95
"""Cosine from which on two memories are near duplicates."""
MOST_COMPARED = 20_000
"""Vectors: each is compared with each."""
_BLOCK = 1024
_NONE, _EMPTY, _CUT, _ZERO, _BROKEN = -1, 0, -2, -3, -4
_WHAT = {_EMPTY: "an empty vector", _CUT: "a cut vector", _ZERO: "all zeros", _BROKEN: "numbers that are none"}


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
        """No vector comes any more."""
        for length in list(self._waiting):
            self._settle(length)
        self._slots = array("i", bytes(4 * len(self._lengths)))
        for length, blocks in self._blocks.items():
            for numbers, _ in blocks:
                for number in numbers:
                    self._slots[number] = length

    def compared_as(self, number: int) -> int:
        """The length of a vector that is compared by cosine; 0 for a memory that has none such."""
        return self._slots[number]

    @property
    def lengths(self) -> Counter[int]:
        """How many memories have a good vector of each length."""
        return Counter(length for length in self._lengths if length > 0)

    def wrong(self, expected: int | None) -> dict[int, str]:
        """What is wrong with whose vector, where good ones have `expected` numbers (None: any count will do)."""
        found: dict[int, str] = {}
        for number, length in enumerate(self._lengths):
            if length in _WHAT:
                found[number] = _WHAT[length]
            elif length > 0 and expected is not None and length != expected:
                found[number] = f"{length:,} numbers in place of {expected:,}"
        return found

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
        alike = cosines >= ALIKE
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
