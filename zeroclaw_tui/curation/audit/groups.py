"""Which memories belong together: groups that grow as pairs are found alike."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]


class Groups:
    """Memories by their number from 0; two that were joined, over others or not, are in one group."""

    def __init__(self, count: int) -> None:
        self._above = array("q", range(count))
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

        roots = numpy.frombuffer(self._above, dtype=numpy.int64)
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
