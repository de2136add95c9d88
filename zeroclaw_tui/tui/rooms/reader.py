"""Reading on the whole screen: one memory with its scores, or the talk that it came of."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import versions_at
from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH
from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.commands import Command, Room, common_commands
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.detail import MemoryDetail, ReadingPane
from zeroclaw_tui.tui.widgets.lines import TitleLine

if TYPE_CHECKING:
    from zeroclaw_tui.curation.conversations import Conversation, Message
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.tui.rooms.browser import BrowserRoom
    from zeroclaw_tui.tui.rooms.panes import Shown

_AS_IN_LIST = (
    "explain", "what_if", "prompt", "similar", "edit", "edit_in_editor", "undo", "redo", "history", "conversation",
    "copy", "re_embed", "show_again", "copies",
)  # fmt: skip
"""The commands that do in the list, to the memory under its cursor, what they do here."""
COMMANDS = (
    # With priority, since in the text these keys would scroll.
    Command("next", "j", "next", "The next memory of the list", True, priority=True),
    Command("previous", "k", "previous", "The previous memory of the list", True, priority=True),
    *(replace(command, target="list") for command in BROWSER_COMMANDS if command.id in _AS_IN_LIST),
    *(command for command in BROWSER_COMMANDS if command.id == "delete"),
    *common_commands(out="Back to the list, on the memory read last"),
)
_ROLES = {"assistant": "agent"}
_LONGEST_ROLE, _LONGEST_FACT = 12, 80


class ReaderRoom(Room[None]):
    """Reads what is under the cursor of a browser's list, and moves that cursor; what is changed is changed there."""

    CSS_PATH = "reader.tcss"
    AUTO_FOCUS = "#text"
    KEYS = COMMANDS

    def __init__(self, browser: BrowserRoom) -> None:
        super().__init__()
        self._browser = browser

    def compose(self) -> ComposeResult:
        yield Static("", id="place", markup=False)
        yield MemoryDetail(id="text")

    def on_mount(self) -> None:
        self.query_one(MemoryDetail).now = self._browser.clock()
        self.watch(self._browser.panes, "shown", self._show)

    def _show(self, shown: Shown | None) -> None:
        """Show what the list has under its cursor now; leave where it is empty."""
        if shown is None:
            self.action_leave()
            return
        rows = self._browser.rows
        self.query_one(MemoryDetail).show(*shown)
        place = f"{rows.cursor + 1:,} of {rows.row_count:,}"
        marked = " · ● marked" if shown.entry.id in rows.marked else ""
        self.query_one("#place", Static).update(Content.styled(f"{place}{marked}", MUTED))
        self.refresh_bindings()

    def shell_facts(self) -> dict[str, str]:
        """Those of the list but for its filter: it is about one memory here, the one under its cursor."""
        return {name: fact for name, fact in self._browser.shell_facts().items() if name != "filter"}

    def why_dimmed(self, command: str) -> str | None:
        """What cannot be done in the list is dimmed here too."""
        return self._browser.why_dimmed(command)

    async def action_in_list(self, command: str) -> None:
        """What the list does to the memory under its cursor, which is the one that is read."""
        await self._browser.run_command(command)

    def action_next(self) -> None:
        self._browser.rows.action_move(1)

    def action_previous(self) -> None:
        self._browser.rows.action_move(-1)

    def action_delete(self) -> None:
        self._browser.begin(self._delete)

    async def _delete(self, library: Library) -> None:
        from zeroclaw_tui.curation.purge_plan import plan_of

        entry = self._browser.rows.selected_entry
        if entry is not None:
            stamps = await versions_at(library.memory, [entry.handle])
            await self._browser.delete(library, await asyncio.to_thread(plan_of, stamps))


class ConversationRoom(Room[None]):
    """Reads one conversation; `what` is what it is the source of, in a few words."""

    CSS_PATH = "reader.tcss"
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
