"""The conversation that a memory came from."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content

from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH, Conversation, Message
from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.dialogs import Page
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT

_ROLES = {"assistant": "agent"}
_LONGEST_ROLE, _LONGEST_FACT = 12, 80


def conversation_page(talk: Conversation, key: str, now: datetime) -> Page:
    """The messages of a conversation; the one that the memory of this key came from is marked."""
    title = f"The conversation that {shown_line(key, _LONGEST_FACT) or 'this memory'} came from"
    session = Content.styled(f"session {shown_line(talk.session, _LONGEST_FACT)}", MUTED)
    messages = [_message(one, now, is_source=at == talk.position) for at, one in enumerate(talk.messages)]
    return Page(title, Content("\n\n").join([session, *messages]))


def _message(message: Message, now: datetime, *, is_source: bool) -> Content:
    """Who, when, and what was said."""
    role = _ROLES.get(message.role) or shown_line(message.role, _LONGEST_ROLE) or "?"
    shown_text = display_text(mask_secrets(message.content[:MAX_MESSAGE_LENGTH]))
    return Content.assemble(
        ("▶ " if is_source else "  ", ACCENT),
        (role, STRONG_ACCENT if is_source else STRONG),
        (f"  {local_time(message.at, now)}", MUTED),
        f"\n{shown_text or '(blank)'}",
        (" …" if len(message.content) >= MAX_MESSAGE_LENGTH else "", MUTED),
    )


def local_time(at: str, now: datetime) -> str:
    """A moment by the clock of `now`, with its seconds; what is no moment is shown as it is."""
    then = moment(at)
    return absolute_time(at) if then is None else then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M:%S")
