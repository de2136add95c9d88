"""What stands where a list would be: why it is empty, and what would fill it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.themes import MUTED, STRONG, STRONG_ACCENT

KeyHint = tuple[str, str]


class Empty(Static):
    """A fact, a sentence, and the keys that help."""

    DEFAULT_CSS = """
    Empty { padding: 1 3; height: 1fr; width: 1fr; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)

    def show(self, fact: str, sentence: str = "", keys: Sequence[KeyHint] = ()) -> None:
        """Say why nothing is here."""
        self.update(help_content(fact, sentence, keys))


def help_content(fact: str, sentence: str, keys: Sequence[KeyHint]) -> Content:
    """A fact in bold, a sentence, and a line for each key."""
    parts: list[str | tuple[str, str]] = [(display_text(mask_secrets(fact)), STRONG)]
    if sentence:
        parts += ["\n\n", (display_text(mask_secrets(sentence)), MUTED)]
    widest = max((len(key) for key, _ in keys), default=0)
    for number, (key, does) in enumerate(keys):
        parts += ["\n" if number else "\n\n", (key.ljust(widest), STRONG_ACCENT), f"  {does}"]
    return Content.assemble(*parts)
