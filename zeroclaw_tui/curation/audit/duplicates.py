"""Which memories are there more than once: to the letter, or nearly."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

from zeroclaw_tui.curation.audit.alike import ByWords
from zeroclaw_tui.curation.audit.groups import Groups
from zeroclaw_tui.curation.audit.vectors import Vectors
from zeroclaw_tui.curation.audit.words import WordPairs


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
        self._written = array("d")
        self._words = WordPairs()
        self._known_owners: dict[str, int] = {}

    def add(self, owner: str, digest: bytes, content: str, written: float) -> None:
        """One more memory; its vector is added to `vectors`. `written` are seconds, 0 where nobody knows."""
        self._written.append(written)
        self.owners.append(self._known_owners.setdefault(owner, len(self._known_owners)))
        self._digests.frombytes(digest)
        self._words.add(content)

    def duplicates(self, going: Callable[[], None]) -> Duplicates:
        """Compare all. Of exact ones only the newest is compared further: they are one to a person."""
        import numpy

        self._words.finish()
        self.vectors.finish()
        chosen = numpy.ones(len(self.owners), dtype=bool)
        exact = self._exact()
        for group in exact:
            chosen[group] = False
            chosen[max(group, key=lambda number: (self._written[number], number))] = True
        # Nothing more is asked of them, and they are three numbers for each memory.
        self._digests, self._written = array("Q"), array("d")
        groups = Groups(len(self.owners))
        self.vectors.join_alike(groups, self.owners, chosen, going)
        by_words = ByWords(self._words, self.vectors, groups, going)
        by_words.join_alike(self.owners, chosen)
        near = groups.found(chosen)
        alike = {number: groups.likeness(number) for group in near for number in group}
        return Duplicates(exact, near, alike, self._left_out(by_words))

    def _exact(self) -> list[list[int]]:
        """The groups of one digest, in the order of their first."""
        import numpy

        if not self.owners:
            return []
        halves = numpy.frombuffer(self._digests, dtype=numpy.uint64).reshape(-1, 2)
        order = numpy.lexsort((halves[:, 1], halves[:, 0]))
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
            told.append(f"{self.vectors.left_out:,} vectors beyond the first were left out: those go by their words.")
        if not by_words.is_whole:
            told.append("So many are half alike that not all could be compared.")
        return " ".join(told)
