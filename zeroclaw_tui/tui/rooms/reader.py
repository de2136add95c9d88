"""Reading on the whole screen: one memory with its scores, or the talk that it came of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from zeroclaw_tui.curation.turns.conversations import LONGEST_MESSAGE
from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line
from zeroclaw_tui.tui.commands import LOOK, PROGRAM, Command, bindings, say_why_not
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.help import HelpScreen
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.detail import MemoryDetail, ReadingPane
from zeroclaw_tui.tui.widgets.lines import KeyLine

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.turns.conversations import Conversation, FoundBy, Message
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
    Command("reader.next", "j", "go(1)", "next", "The next memory of the list", LOOK, True, True),
    Command("reader.previous", "k", "go(-1)", "previous", "The memory before it in the list", LOOK, True, True),
    *(
        command if command.id in _OWN else replace(command, action=f'in_list("{command.action}")')
        for command in BROWSER_COMMANDS
        if command.id in _AS_IN_LIST
    ),
    Command("reader.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command("reader.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command", PROGRAM,
            in_palette=False),
    Command("reader.out", "escape,q", "leave", "out", "Back to the list, on the memory read last", PROGRAM, True,
            in_palette=False),
)  # fmt: skip
TALK_COMMANDS = (
    Command("conversation.here", "c", "go_here", "here", "Back to the message it came from", LOOK, True),
    Command("conversation.copy", "y", "copy", "copy", "Copy what is shown of the conversation", LOOK, True),
    Command("conversation.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command("conversation.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command", PROGRAM,
            in_palette=False),
    Command("conversation.out", "escape,q", "leave", "out", "Back to where you came from", PROGRAM, True,
            in_palette=False),
)  # fmt: skip
_TIED: dict[FoundBy, str] = {
    "tool call": "by the call that stored it",
    "text": "by its words",
    "session": "the last said before it in its session",
    "time": "by nothing but its time: not certain",
}
_ROLES = {"user": "user", "assistant": "agent", "tool": "tool"}
_LONGEST_TOOL = 600
"""Characters that are shown of what a tool answered."""
_LONGEST_ROLE = 12


class ReaderRoom(Screen[None]):
    """Reads what is under the cursor of a browser's list, and moves that cursor; what is changed is changed there."""

    CSS_PATH = "reader.tcss"
    AUTO_FOCUS = "#text"
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)

    def __init__(self, browser: BrowserRoom) -> None:
        super().__init__()
        self._browser = browser

    def compose(self) -> ComposeResult:
        """Which one of how many, the memory, keys."""
        yield Static("", id="place", markup=False)
        yield MemoryDetail(id="text")
        yield KeyLine()

    def on_mount(self) -> None:
        """Show what the list shows."""
        detail = self.query_one(MemoryDetail)
        detail.now = self._browser.clock()
        detail.as_markdown = self._browser.panes.detail.as_markdown
        self._browser.panes.show_selected()

    def show(self, entry: MemoryEntry, result: ScoredEntry | None, norm: float | None) -> None:
        """Show this memory, which the list has under its cursor now; an excerpt until the whole is there."""
        if not self.is_mounted:
            return
        detail, theirs = self.query_one(MemoryDetail), self._browser.panes.detail
        detail.lights = theirs.lights
        detail.show(entry, result, self._browser.panes.recalled, norm)
        rows = self._browser.rows
        place = f"{count_text(rows.cursor + 1)} of {count_text(rows.row_count)}"
        marked = " · ● marked" if entry.id in rows.marks else ""
        self.query_one("#place", Static).update(Content.styled(f"{place}{marked}", MUTED))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done in the list is dimmed here too."""
        bound = f'{action}("{parameters[0]}")' if parameters else action
        return None if self._why_dimmed(bound) else True

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self._why_dimmed(command.action)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense here."""
        return [command for command in COMMANDS if command.in_palette]

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_not(self, event, self._why_dimmed)

    def action_go(self, rows: int) -> None:
        """To a neighbour in the list."""
        self._browser.rows.action_move(rows)

    def action_leave(self) -> None:
        """Back to the list."""
        self.dismiss()

    def action_toggle_markdown(self) -> None:
        """Render the content, or show it as it is."""
        detail = self.query_one(MemoryDetail)
        detail.as_markdown = not detail.as_markdown

    def action_delete(self) -> None:
        """Delete this memory, and none that is marked in the list."""
        self._browser.changes.begin(self._delete)

    async def action_in_list(self, action: str) -> None:
        """What the list does to the memory under its cursor, which is the one that is read."""
        await self._browser.run_action(action)

    def action_show_help(self) -> None:
        """The keys that work here."""
        self.app.push_screen(HelpScreen(self, COMMANDS, (("In the text", self.query_one(MemoryDetail)),)))

    def _why_dimmed(self, action: str) -> str | None:
        return self._browser.why_action_dimmed(action.removeprefix('in_list("').removesuffix('")'))

    async def _delete(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import plan_of

        entry = self._browser.rows.selected_entry
        if entry is not None:
            stamps = await library.memory.stamps_of([entry.handle])
            await self._browser.changes.remove(library, await asyncio.to_thread(plan_of, stamps))


class ConversationRoom(Screen[None]):
    """Reads one conversation; `what` is what it is the source of, in a few words."""

    CSS_PATH = "reader.tcss"
    AUTO_FOCUS = "#talk"
    BINDINGS: ClassVar[list[BindingType]] = bindings(TALK_COMMANDS)

    def __init__(self, conversation: Conversation, what: str, now: datetime) -> None:
        super().__init__()
        self._conversation = conversation
        self._what = what
        self._now = now

    def compose(self) -> ComposeResult:
        """What it is, the messages, keys."""
        talk = self._conversation
        yield Static(title_content(talk, self._what), id="title", markup=False)
        yield Static(facts_content(talk), id="facts", markup=False)
        with ReadingPane(id="talk"):
            if talk.before:
                yield Static(Content.styled(f"… {count_text(talk.before)} before", MUTED), classes="more")
            for at, message in enumerate(talk.messages):
                is_here = at == talk.place
                said = Static(message_content(message, self._now, is_here=is_here), classes="message", markup=False)
                yield said.set_class(is_here, "-here")
            if talk.after:
                yield Static(Content.styled(f"… {count_text(talk.after)} after", MUTED), classes="more")
        yield KeyLine()

    def on_mount(self) -> None:
        """Start where the memory came from."""
        self.call_after_refresh(self.action_go_here)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense here."""
        return [command for command in TALK_COMMANDS if command.in_palette]

    def action_go_here(self) -> None:
        """The message it came from, with what was said before it in sight."""
        self.query_one(ReadingPane).scroll_to_center(self.query_one(".-here"), animate=False)

    async def action_copy(self) -> None:
        """Copy what is shown."""
        said = [f"{message.role} {message.at}\n{message.content}" for message in self._conversation.messages]
        self.notify(await copy_text(self.app, "\n\n".join(said)), markup=False)

    def action_show_help(self) -> None:
        """The keys that work here."""
        self.app.push_screen(HelpScreen(self, TALK_COMMANDS, (("In the talk", self.query_one(ReadingPane)),)))

    def action_leave(self) -> None:
        """Back to where one came from."""
        self.dismiss()


def title_content(talk: Conversation, what: str) -> Content:
    """What is read, and how it was found."""
    return Content.assemble((f"The talk that {_shown(what)} came of", STRONG), (f" · {_TIED[talk.by]}", MUTED))


def facts_content(talk: Conversation) -> Content:
    """Session, agent, channel, and which file it lies in."""
    parts = [f"session {_shown(talk.session)}"]
    parts += [f"agent {_shown(talk.agent)}"] if talk.agent else []
    parts += [_shown(talk.channel)] if talk.channel else []
    whole = talk.before + len(talk.messages) + talk.after
    parts += ["1 message" if whole == 1 else f"{count_text(whole)} messages", talk.file.name]
    return Content.styled(" · ".join(parts), MUTED)


def message_content(message: Message, now: datetime, *, is_here: bool = False) -> Content:
    """Who, when, and what was said."""
    role = _ROLES.get(message.role) or _shown(message.role)[:_LONGEST_ROLE] or "?"
    longest = _LONGEST_TOOL if message.role == "tool" else LONGEST_MESSAGE
    said = display_text(mask_secrets(message.content[:longest]))
    more = message.length - min(len(message.content), longest)
    look = MUTED if message.role == "tool" else ""
    return Content.assemble(
        ("▶ " if is_here else "  ", ACCENT),
        (role, STRONG_ACCENT if is_here else STRONG),
        (f"  {local_time(message.at, now)}", MUTED),
        "\n",
        (said or "(blank)", look),
        (f" … {count_text(more)} characters more" if more > 0 else "", MUTED),
    )


def local_time(at: str, now: datetime) -> str:
    """A moment by the clock of `now`, with its seconds; what is no moment is shown as it is."""
    then = moment(at)
    return absolute_time(at) if then is None else then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M:%S")


def _shown(text: str) -> str:
    return one_line(mask_secrets(text[:200]))[:80]
