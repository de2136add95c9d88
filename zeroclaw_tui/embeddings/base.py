"""What turns a text into a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


class Embedder(Protocol):
    """One embedding model. `is_remote` says that a text leaves this machine."""

    name: str
    dimensions: int
    is_remote: bool

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32. Raises EmbeddingFailed."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
