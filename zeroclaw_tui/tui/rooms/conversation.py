"""A page with the conversation that a memory comes from."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content

from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH, Conversation, Message
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.dialogs import Page
from zeroclaw_tui.tui.format import local_time, safe_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT

_MAX_ROLE, _MAX_FACT = 12, 80


def conversation_page(conversation: Conversation, key: str, now: datetime) -> Page:
    """The messages of a conversation, with a mark at the one that the memory with this key comes from."""
    title = f"The conversation that {safe_line(key, _MAX_FACT) or 'this memory'} came from"
    session, source = safe_line(conversation.session, _MAX_FACT), conversation.position
    messages = [
        _message(message, now, is_source=index == source) for index, message in enumerate(conversation.messages)
    ]
    return Page(title, Content("\n\n").join([Content.styled(f"session {session}", MUTED), *messages]))


def _message(message: Message, now: datetime, *, is_source: bool) -> Content:
    """The role, the time and the text of a message."""
    role = "agent" if message.role == "assistant" else safe_line(message.role, _MAX_ROLE) or "?"
    shown_text = display_text(mask_secrets(message.content[:MAX_MESSAGE_LENGTH]))
    return Content.assemble(
        ("▶ " if is_source else "  ", ACCENT),
        (role, STRONG_ACCENT if is_source else STRONG),
        (f"  {local_time(message.at, now)}", MUTED),
        f"\n{shown_text or '(blank)'}",
        (" …" if len(message.content) >= MAX_MESSAGE_LENGTH else "", MUTED),
    )
