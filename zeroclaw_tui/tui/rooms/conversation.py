"""The conversation that a memory came from, as a page to read."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content

from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH, Conversation, Message
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.dialogs import Page
from zeroclaw_tui.tui.format import local_time, shown_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT

_MAX_ROLE, _MAX_FACT = 12, 80


def conversation_page(talk: Conversation, key: str, now: datetime) -> Page:
    """The messages of a conversation; the one that the memory of this key came from is marked."""
    title = f"The conversation that {shown_line(key, _MAX_FACT) or 'this memory'} came from"
    session = Content.styled(f"session {shown_line(talk.session, _MAX_FACT)}", MUTED)
    messages = [_message(one, now, is_source=at == talk.position) for at, one in enumerate(talk.messages)]
    return Page(title, Content("\n\n").join([session, *messages]))


def _message(message: Message, now: datetime, *, is_source: bool) -> Content:
    """Who, when, and what was said."""
    role = "agent" if message.role == "assistant" else shown_line(message.role, _MAX_ROLE) or "?"
    shown_text = display_text(mask_secrets(message.content[:MAX_MESSAGE_LENGTH]))
    return Content.assemble(
        ("▶ " if is_source else "  ", ACCENT),
        (role, STRONG_ACCENT if is_source else STRONG),
        (f"  {local_time(message.at, now)}", MUTED),
        f"\n{shown_text or '(blank)'}",
        (" …" if len(message.content) >= MAX_MESSAGE_LENGTH else "", MUTED),
    )
