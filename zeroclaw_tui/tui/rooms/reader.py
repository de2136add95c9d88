"""Reading on the whole screen: one memory with its scores, or the talk that it came of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import versions_at
from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH
from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.text import counted, display_text, mask_secrets
from zeroclaw_tui.tui.commands import Command, Room, tell, usual_commands
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.detail import MemoryDetail, ReadingPane
from zeroclaw_tui.tui.widgets.lines import KeyLine, TitleLine

if TYPE_CHECKING:
    from zeroclaw_tui.curation.conversations import Conversation, FoundBy, Message
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.recall import ScoredEntry
    from zeroclaw_tui.tui.rooms.browser import BrowserRoom

_AS_IN_LIST = (
    "explain", "what-if", "prompt", "similar", "edit", "edit.external", "delete", "undo", "redo", "history", "talk",
    "copy", "markdown", "re-embed", "show.again", "copies",
)  # fmt: skip
"""What does here, to the memory that is read, what it does in the list to the one under the cursor."""
_OWN = ("delete", "markdown")
"""Of these what is done here: without the marks of the list, and to the text that is read."""
COMMANDS = (
    # With priority, since in the text these keys would scroll.
    Command("reader.next", "j", "go(1)", "next", "The next memory of the list", "Look", True, True),
    Command("reader.previous", "k", "go(-1)", "previous", "The previous memory of the list", "Look", True, True),
    *(
        command if command.id in _OWN else replace(command, action=f'in_list("{command.action}")')
        for command in BROWSER_COMMANDS
        if command.id in _AS_IN_LIST
    ),
    *usual_commands("reader", out="Back to the list, on the memory read last"),
)  # fmt: skip
TALK_COMMANDS = (
    Command("conversation.here", "c", "go_here", "here", "Back to the message it came from", "Look", True),
    Command("conversation.copy", "y", "copy", "copy", "Copy what is shown of the conversation", "Look", True),
    *usual_commands("conversation"),
)  # fmt: skip
_TIED: dict[FoundBy, str] = {
    "text": "by its text",
    "session": "the last message before it in its session",
}
_ROLES = {"user": "user", "assistant": "agent", "tool": "tool"}
_LONGEST_TOOL = 600
"""Characters that are shown of what a tool answered."""
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
        yield KeyLine()

    def on_mount(self) -> None:
        detail = self.query_one(MemoryDetail)
        detail.now = self._browser.clock()
        detail.as_markdown = self._browser.panes.detail.as_markdown
        self._browser.panes.show_selected()

    def show(self, entry: MemoryEntry, result: ScoredEntry | None, norm: float | None) -> None:
        """Show this memory, which the list has under its cursor now; an excerpt until the whole is there."""
        if not self.children:
            return
        detail, theirs = self.query_one(MemoryDetail), self._browser.panes.detail
        detail.lights = theirs.lights
        detail.show(entry, result, self._browser.panes.recalled, norm)
        rows = self._browser.rows
        place = f"{rows.cursor + 1:,} of {rows.row_count:,}"
        marked = " · ● marked" if entry.id in rows.marks else ""
        self.query_one("#place", Static).update(Content.styled(f"{place}{marked}", MUTED))
        self.refresh_bindings()

    @property
    def with_keys(self) -> Sequence[tuple[str, Widget]]:
        """The text."""
        return (("In the text", self.query_one(MemoryDetail)),)

    def line_facts(self) -> Mapping[str, str]:
        """Those of the list but for its filter: it is about one memory here, the one under its cursor."""
        return {name: fact for name, fact in self._browser.line_facts().items() if name != "filter"}

    def why_dimmed(self, action: str) -> str | None:
        """What cannot be done in the list is dimmed here too."""
        in_list = action.removeprefix("in_list(").removesuffix(")") if action.startswith("in_list(") else action
        return self._browser.why_dimmed(in_list[1:-1] if in_list != action else action)

    def action_go(self, rows: int) -> None:
        self._browser.rows.action_move(rows)

    def action_toggle_markdown(self) -> None:
        detail = self.query_one(MemoryDetail)
        detail.as_markdown = not detail.as_markdown

    def action_delete(self) -> None:
        self._browser.changes.begin(self._delete)

    async def action_in_list(self, action: str) -> None:
        """What the list does to the memory under its cursor, which is the one that is read."""
        await self._browser.run_action(action)

    async def _delete(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import plan_of

        entry = self._browser.rows.selected_entry
        if entry is not None:
            stamps = await versions_at(library.memory, [entry.handle])
            await self._browser.changes.remove(library, await asyncio.to_thread(plan_of, stamps))


class ConversationRoom(Room[None]):
    """Reads one conversation; `what` is what it is the source of, in a few words."""

    CSS_PATH = "reader.tcss"
    AUTO_FOCUS = "#talk"
    KEYS = TALK_COMMANDS

    def __init__(self, conversation: Conversation, what: str, now: datetime) -> None:
        super().__init__()
        self._conversation = conversation
        self._what = what
        self._now = now

    def compose(self) -> ComposeResult:
        talk = self._conversation
        told = f"The conversation that {shown_line(self._what, _LONGEST_FACT)} came from"
        yield TitleLine(Content.assemble((told, STRONG), (f" · {_TIED[talk.found_by]}", MUTED)))
        yield TitleLine(facts_content(talk))
        with ReadingPane(id="talk"):
            if talk.before:
                yield Static(Content.styled(f"… {talk.before:,} before", MUTED), classes="more")
            for at, message in enumerate(talk.messages):
                is_here = at == talk.position
                said = Static(message_content(message, self._now, is_here=is_here), classes="message", markup=False)
                yield said.set_class(is_here, "-here")
            if talk.after:
                yield Static(Content.styled(f"… {talk.after:,} after", MUTED), classes="more")
        yield KeyLine()

    def on_mount(self) -> None:
        self.call_after_refresh(self.action_go_here)

    @property
    def with_keys(self) -> Sequence[tuple[str, Widget]]:
        """The talk."""
        return (("In the talk", self.query_one(ReadingPane)),)

    def action_go_here(self) -> None:
        self.query_one(ReadingPane).scroll_to_center(self.query_one(".-here"), animate=False)

    async def action_copy(self) -> None:
        said = [f"{message.role} {message.at}\n{message.content}" for message in self._conversation.messages]
        tell(self, await copy_text(self.app, "\n\n".join(said)))


def facts_content(talk: Conversation) -> Content:
    """Session, agent, channel, and how many messages it has."""
    parts = [f"session {shown_line(talk.session, _LONGEST_FACT)}"]
    parts += [f"agent {shown_line(talk.agent, _LONGEST_FACT)}"] if talk.agent else []
    parts += [shown_line(talk.channel, _LONGEST_FACT)] if talk.channel else []
    whole = talk.before + len(talk.messages) + talk.after
    parts.append(counted(whole, "message"))
    return Content.styled(" · ".join(parts), MUTED)


def message_content(message: Message, now: datetime, *, is_here: bool = False) -> Content:
    """Who, when, and what was said."""
    role = _ROLES.get(message.role) or shown_line(message.role, _LONGEST_ROLE) or "?"
    longest = _LONGEST_TOOL if message.role == "tool" else MAX_MESSAGE_LENGTH
    said = display_text(mask_secrets(message.content[:longest]))
    more = message.length - min(len(message.content), longest)
    look = MUTED if message.role == "tool" else ""
    return Content.assemble(
        ("▶ " if is_here else "  ", ACCENT),
        (role, STRONG_ACCENT if is_here else STRONG),
        (f"  {local_time(message.at, now)}", MUTED),
        "\n",
        (said or "(blank)", look),
        (f" … {more:,} characters more" if more > 0 else "", MUTED),
    )


def local_time(at: str, now: datetime) -> str:
    """A moment by the clock of `now`, with its seconds; what is no moment is shown as it is."""
    then = moment(at)
    return absolute_time(at) if then is None else then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M:%S")
