"""Lines that come only when they have something to say: a banner under the bar, a summary under the list."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.themes import STRONG

BannerKind = Literal["error", "quiet"]


class Banner(Static):
    """One sentence with the key that helps; a click does what the key does."""

    DEFAULT_CSS = """
    Banner { display: none; height: auto; max-height: 3; padding: 0 1; pointer: pointer; }
    Banner.-quiet { display: block; color: $text-muted; }
    Banner.-error { display: block; color: $text-error; background: $error-muted; }
    """

    class Clicked(Message):
        """The banner was clicked; `action` is what its key does."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._action = ""

    def show(self, kind: BannerKind, sentence: str, key: str, does: str, action: str) -> None:
        """Say a sentence; `key` `does` something about it."""
        glyph = "✗" if kind == "error" else "●"
        words = one_line(mask_secrets(sentence))
        self.update(Content.assemble(f"{glyph} {words}  ", (key, STRONG), f" {does}"))
        self.set_classes(f"-{kind}")
        self._action = action

    def hide(self) -> None:
        """Nothing to say."""
        self.set_classes("")
        self._action = ""

    def on_click(self, event: Click) -> None:
        """Do what the key does."""
        event.stop()
        self.post_message(self.Clicked(self._action))


class StatusBar(Static):
    """What the search came to, in one line under the list."""

    DEFAULT_CSS = """
    StatusBar { display: none; height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    StatusBar.-said { display: block; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)

    def say(self, *facts: str) -> None:
        """Show the facts that are not empty, the weightiest first; none hides the line."""
        said = [one_line(mask_secrets(fact)) for fact in facts if fact]
        self.update(Content(" · ".join(said)))
        self.set_class(bool(said), "-said")
