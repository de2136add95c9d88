"""The kinds of failure of an embedding endpoint that are dealt with differently."""

from __future__ import annotations

from zeroclaw_tui.memory.errors import EmbeddingFailed

_A_DAY = 86_400.0
AGENT_GETS_NOTHING = "Until it answers, ZeroClaw's own recall fails as a whole and the agent gets no memories."


class WrongDimension(EmbeddingFailed):
    """A vector of another length than the configured one; `found` is its length."""

    def __init__(self, message: str, *, hint: str, found: int) -> None:
        super().__init__(message, hint=hint)
        self.found = found


class KeyRefused(EmbeddingFailed):
    """An endpoint that wants a key, or another one."""


class Busy(EmbeddingFailed):
    """An endpoint that may well answer later; `after` is how many seconds it asks to wait, None where it does not."""

    def __init__(self, message: str, *, hint: str, after: float | None) -> None:
        super().__init__(message, hint=hint)
        self.after = after

    def given_up(self, tries: int) -> Busy:
        """The same, telling how often it was asked and how long it asks to wait."""
        message, hint = self.message, self.hint
        if tries > 1:
            message = f"{message.rstrip('.')}, asked {tries} times."
        if self.after:
            wait = f"{self.after:.0f} s" if self.after <= _A_DAY else "more than a day"
            hint = f"It asks to wait {wait}. {hint}"
        return Busy(message, hint=hint, after=self.after)


class TextRefused(EmbeddingFailed):
    """An endpoint that does not take these texts: too long, too many at once, or empty."""
