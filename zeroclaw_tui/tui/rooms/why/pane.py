"""What the three tabs have in common, so that the room can ask any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from textual.containers import Container
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.tui.rooms.why.trial import Inquiry
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint

Tab = Literal["stages", "what_if", "prompt"]
EmptyWords = tuple[str, str, Sequence[KeyHint]]
"""A fact, a sentence, and the keys that help."""
WAITING: EmptyWords = ("Reading the store …", "", ())
NO_MESSAGE: EmptyWords = (
    "For which message?",
    "Type a message to see why this memory is or is not in the prompt.",
    (("/", "type the message"), ("esc", "out")),
)


class Pane(Container):
    """A tab. It is hidden while another one is shown."""

    tab: ClassVar[Tab]

    class Changed(Message):
        """The modified settings or their results have changed."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(id=self.tab)
        self.inquiry = inquiry
        self.answered: Any = None
        """The question that the answer on the screen is to; None without one."""
        self.notes: tuple[str, ...] = ()
        """Remarks on the answer."""

    @property
    def missing(self) -> EmptyWords | None:
        """What has to be chosen or typed before anything can be asked; None when nothing has."""
        return None if self.inquiry.request.query.strip() else NO_MESSAGE

    @property
    def question(self) -> Any:
        """What the answer depends on; None where nothing can be asked."""
        raise NotImplementedError

    @property
    def is_answered(self) -> bool:
        """Whether what is shown answers what would be asked now."""
        return self.answered is not None and self.answered == self.question

    async def ask(self) -> None:
        """Ask the store and show the answer. Raises InspectorError kinds, SearchInterrupted."""
        raise NotImplementedError

    def paint(self) -> None:
        """Show what is known without asking."""
        raise NotImplementedError

    @property
    def reader(self) -> Widget | None:
        """What takes the focus when the message is typed; None while there is nothing to read."""
        raise NotImplementedError

    def show_missing(self, words: EmptyWords) -> None:
        """Forget the answer, and say what has to be chosen or typed."""
        self.answered, self.notes = None, ()
        self.paint()
        self.show_empty(words)

    def show_empty(self, words: EmptyWords) -> None:
        """Say why there is nothing to read."""
        focused = self.screen.focused
        if focused is not None and focused in self.query("*"):
            # A widget that is hidden with the focus would pass it on to the message, and never get it back.
            self.screen.set_focus(None)
        self.add_class("-empty")
        self.query_one(Empty).show(*words)
