"""What turns a text into a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.embeddings.remote_calls import Tell


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


@runtime_checkable
class Persistent(Protocol):
    """An embedder that asks another one, `plain`, again and again until it answers."""

    plain: Embedder


@runtime_checkable
class AsksEndpoint(Protocol):
    """What asks an embedding endpoint by itself: an embedder, or a store that embeds."""

    def tell_before_first_call(self, tell: Tell) -> None:
        """Tell once, before the first text leaves this machine."""
        ...

    def ask_again_at_once(self) -> None:
        """Ask an endpoint that has just failed again, at the next text."""
        ...
