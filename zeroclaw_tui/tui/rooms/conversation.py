"""The conversation that a memory came from."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH
from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.commands import Room, common_commands
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.detail import ReadingPane
from zeroclaw_tui.tui.widgets.lines import TitleLine

if TYPE_CHECKING:
    from zeroclaw_tui.curation.conversations import Conversation, Message

_ROLES = {"assistant": "agent"}
_LONGEST_ROLE, _LONGEST_FACT = 12, 80


class ConversationRoom(Room[None]):
    """Reads one conversation; `what` is what it is the source of, in a few words."""

    CSS_PATH = "conversation.tcss"
    AUTO_FOCUS = "#talk"
    KEYS = tuple(common_commands())

    def __init__(self, conversation: Conversation, what: str, now: datetime) -> None:
        super().__init__()
        self._conversation = conversation
        self._what = what
        self._now = now

    def compose(self) -> ComposeResult:
        talk = self._conversation
        title = f"The conversation that {shown_line(self._what, _LONGEST_FACT)} came from"
        yield TitleLine(Content.styled(title, STRONG))
        yield TitleLine(Content.styled(f"session {shown_line(talk.session, _LONGEST_FACT)}", MUTED))
        with ReadingPane(id="talk"):
            for at, message in enumerate(talk.messages):
                is_here = at == talk.position
                block = Static(message_content(message, self._now, is_here=is_here), classes="message", markup=False)
                yield block.set_class(is_here, "-here")

    def on_mount(self) -> None:
        self.call_after_refresh(self._go_to_source)

    def _go_to_source(self) -> None:
        self.query_one(ReadingPane).scroll_to_center(self.query_one(".-here"), animate=False)


def message_content(message: Message, now: datetime, *, is_here: bool = False) -> Content:
    """Who, when, and what was said."""
    role = _ROLES.get(message.role) or shown_line(message.role, _LONGEST_ROLE) or "?"
    shown_text = display_text(mask_secrets(message.content[:MAX_MESSAGE_LENGTH]))
    return Content.assemble(
        ("▶ " if is_here else "  ", ACCENT),
        (role, STRONG_ACCENT if is_here else STRONG),
        (f"  {local_time(message.at, now)}", MUTED),
        f"\n{shown_text or '(blank)'}",
        (" …" if len(message.content) >= MAX_MESSAGE_LENGTH else "", MUTED),
    )


def local_time(at: str, now: datetime) -> str:
    """A moment by the clock of `now`, with its seconds; what is no moment is shown as it is."""
    then = moment(at)
    return absolute_time(at) if then is None else then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M:%S")
