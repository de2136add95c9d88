"""The talk around what a memory was made of: what was said before it and after it, the message itself marked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from zeroclaw_tui.curation.turns.conversations import LONGEST_MESSAGE
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line
from zeroclaw_tui.tui.commands import LOOK, PROGRAM, Command, bindings
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import absolute_time, count_text
from zeroclaw_tui.tui.help import HelpScreen
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.reading_pane import ReadingPane

if TYPE_CHECKING:
    from zeroclaw_tui.curation.turns.conversations import Conversation, FoundBy, Message

COMMANDS = (
    Command("conversation.here", "c", "go_here", "here", "Back to the message it came from", LOOK, True),
    Command("conversation.copy", "y", "copy", "copy", "Copy what is shown of the conversation", LOOK, True),
    Command("conversation.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command("conversation.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command", PROGRAM,
            in_palette=False),
    Command("conversation.out", "escape,q", "leave", "back", "Back to where you came from", PROGRAM, True,
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


class ConversationRoom(Screen[None]):
    """Reads one conversation; `what` is what it is the source of, in a few words."""

    CSS_PATH = "conversation.tcss"
    AUTO_FOCUS = "#talk"
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)

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
        return [command for command in COMMANDS if command.in_palette]

    def action_go_here(self) -> None:
        """The message it came from, with what was said before it in sight."""
        self.query_one(ReadingPane).scroll_to_center(self.query_one(".-here"), animate=False)

    async def action_copy(self) -> None:
        """Copy what is shown."""
        said = [f"{message.role} {message.at}\n{message.content}" for message in self._conversation.messages]
        self.notify(await copy_text(self.app, "\n\n".join(said)), markup=False)

    def action_show_help(self) -> None:
        """The keys that work here."""
        self.app.push_screen(HelpScreen(self, COMMANDS, (("In the talk", self.query_one(ReadingPane)),)))

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
