"""What a person is told before a text leaves this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zeroclaw_tui.embeddings.prices import price, tokens_of
from zeroclaw_tui.memory.text import mask_secrets, one_line

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A request that is about to be sent: so many `texts` of so many `characters` to the host `place`.

    `is_query` says that they are what somebody searches for, not what is remembered.
    """

    place: str
    provider: str
    model: str
    texts: int
    characters: int
    is_query: bool = True

    @property
    def words(self) -> str:
        """One sentence: who is asked for what, about how much that is and costs, and that it leaves this machine."""
        host, model = one_line(mask_secrets(self.place)), one_line(mask_secrets(self.model))[:_LONGEST_NAME]
        what = "the texts leave" if self.texts > 1 else "the text leaves"
        return f"Asking {host} ({model}) for {self._wanted}: {self.size_words}; {what} this machine."

    @property
    def size_words(self) -> str:
        """About how many tokens that is, and what it costs where that is known."""
        tokens = max(1, tokens_of(self.characters))
        told = f"about {tokens:,} {'token' if tokens == 1 else 'tokens'}"
        dollars = price(self.provider, self.model, tokens)
        if dollars is None:
            return told
        return f"{told}, under $0.01" if dollars < 0.01 else f"{told}, about ${dollars:,.2f}"

    @property
    def _wanted(self) -> str:
        if self.texts > 1:
            return f"the vectors of {self.texts:,} {'queries' if self.is_query else 'texts'}"
        return "the query's vector" if self.is_query else "the vector of a text"


Tell = Callable[[RemoteCall], None]
