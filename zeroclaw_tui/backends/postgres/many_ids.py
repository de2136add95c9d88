"""The ids of very many rows in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import overload


class ManyIds(Sequence[str]):
    """Ids in order, as long texts cut where one ends: a text object for each would take twice the room.

    A million of ZeroClaw's ids take 40 MB.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._ends: list[array[int]] = []
        self._starts: list[int] = []
        self._count = 0

    def add(self, ids: Sequence[str]) -> None:
        """More of them, some thousand at a time."""
        if not ids:
            return
        self._starts.append(self._count)
        self._texts.append("".join(ids))
        self._ends.append(array("I", accumulate(map(len, ids))))
        self._count += len(ids)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self._count))]
        number = at + self._count if at < 0 else at
        if not 0 <= number < self._count:
            raise IndexError(at)
        part = bisect_right(self._starts, number) - 1
        ends, within = self._ends[part], number - self._starts[part]
        return self._texts[part][ends[within - 1] if within else 0 : ends[within]]
