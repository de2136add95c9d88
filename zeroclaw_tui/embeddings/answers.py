"""The body of an endpoint's answer made into vectors, or into what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.embeddings.failures import AGENT_GETS_NOTHING, TextRefused, WrongDimension
from zeroclaw_tui.memory.errors import EmbeddingFailed

if TYPE_CHECKING:
    import numpy as np


class AnswerReader:
    """Reads answers of one endpoint; `shown` is how sentences call it, `dimensions` the length its vectors must have.

    Uses the processor alone, so that a big answer can be read in a thread.
    """

    def __init__(self, shown: str, dimensions: int) -> None:
        self._shown = shown
        self._dimensions = dimensions

    def one(self, answer: bytes) -> np.ndarray:
        """The vector of the only text, shape (dimensions,), float32. Raises EmbeddingFailed."""
        try:
            last = self._document(answer)["data"][-1]
        except (KeyError, IndexError, TypeError):
            last = None
        return self._vector(self._numbers_of(last))

    def many(self, answer: bytes, count: int) -> list[np.ndarray]:
        """The vectors of so many texts, in the order of the texts. Raises EmbeddingFailed and TextRefused."""
        answered = self._document(answer).get("data")
        if not isinstance(answered, list) or len(answered) != count:
            raise TextRefused(f"{self._shown} did not answer with a vector for each text.", hint=AGENT_GETS_NOTHING)
        return [self._vector(self._numbers_of(part)) for part in sorted(answered, key=_place)]

    def _document(self, answer: bytes) -> dict[str, Any]:
        try:
            document: Any = json.loads(answer)
        except (ValueError, RecursionError):
            raise self._failed("did not answer with JSON", "Is this the address of an embeddings service?") from None
        return document if isinstance(document, dict) else {}

    def _numbers_of(self, part: Any) -> list[float]:
        numbers = part.get("embedding") if isinstance(part, dict) else None
        if isinstance(numbers, list) and all(type(number) in (int, float) for number in numbers):
            return numbers
        hint = "It should be data[0].embedding, a list of numbers; is this an embeddings service?"
        if isinstance(numbers, str):
            raise self._failed("answered with JSON that holds no vector but a text in its place, base64 perhaps", hint)
        raise self._failed("answered with JSON that holds no vector", hint)

    def _vector(self, numbers: list[float]) -> np.ndarray:
        import numpy as np

        if len(numbers) != self._dimensions:
            raise WrongDimension(
                f"{self._shown} sent a vector of {len(numbers)} numbers, "
                f"but memory.embedding_dimensions is {self._dimensions}.",
                hint=f"Set memory.embedding_dimensions to {len(numbers)}, or choose another model. "
                "ZeroClaw does not check this: it then finds nothing by vector.",
                found=len(numbers),
            )
        try:
            with np.errstate(over="ignore"):
                vector = np.array(numbers, dtype=np.float64).astype(np.float32)
        except OverflowError:
            vector = np.full(1, np.inf, dtype=np.float32)
        if not np.isfinite(vector).all():
            raise self._failed("sent a vector with numbers that are not finite", "Try another model.")
        return vector

    def _failed(self, what: str, hint: str) -> EmbeddingFailed:
        return EmbeddingFailed(f"{self._shown} {what}.", hint=f"{hint} {AGENT_GETS_NOTHING}")


def _place(part: Any) -> int:
    """Where an answer's part belongs; those without an index stay in their order."""
    index = part.get("index") if isinstance(part, dict) else None
    return index if type(index) is int else 0
