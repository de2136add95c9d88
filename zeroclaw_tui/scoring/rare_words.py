"""How near texts are by the rare words they share: what similarity falls back on where there are no vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class RareWords:
    """Counts words over a store in one pass, then tells who shares the rarest words with a text.

    The score is the cosine of TF-IDF vectors, 0..1 (Salton and Buckley, 1988). Words are as FTS5's unicode61 would cut
    them, and single characters and pairs of CJK text, which that tokenizer leaves whole.
    """

    def add(self, handle: int | str, text: str) -> None:
        """One memory; its text is not kept."""
        raise NotImplementedError

    def nearest(self, text: str, limit: int, without: int | str | None = None) -> Sequence[tuple[int | str, float]]:
        """The nearest memories, best first, none with a score of 0."""
        raise NotImplementedError

    def shared(self, text: str, other: str, most: int = 5) -> tuple[str, ...]:
        """The words both have, the rarest first."""
        raise NotImplementedError


Frequencies = Mapping[str, int]
